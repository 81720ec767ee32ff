/* SPDX-License-Identifier: MIT */
/*
 * Models: a stage graph to simulate or to bench, read from a JSON file.
 *
 *	{
 *	  "about": "what it is",
 *	  "size": DISTRIBUTION,            of a request; optional
 *	  "deadline_us": DISTRIBUTION,     after its begin; optional
 *	  "memory": 160e6,                 bytes there are; optional; only for
 *	                                   --policy capriccio
 *	  "entries": {"decode": 1},        probability of each first stage;
 *	                                   without it: the first of `stages`
 *	  "stages": [                      in pipeline order
 *	    {"name": "decode",
 *	     "us_per_size": 0.066,         work of a request's size, and
 *	     "service_us": DISTRIBUTION,   work drawn for each event; or both
 *	     "takes": 4096,                bytes that a request has more after
 *	     "takes_per_size": -3,         the step, or, below 0, less; optional
 *	     "routes": {"scale": 0.9},     probability of each next stage
 *	     "routes_after": {             the same for requests that passed
 *	       "blur": {"encode": 1}},     this stage; optional
 *	     "regime": "n-gated=8",        of visits here, and of the queue, if
 *	     "discipline": "srpt",         they are not those of the others, and
 *	                                   no flag is for all
 *	     "type": "exclusive",          enum stage_type: or "partitioned"; a
 *	                                   request's key is its number; or
 *	                                   "pass-through"
 *	     "forks": {"match": 4},        children that begin at each stage
 *	                                   after this work; optional
 *	     "join_us": DISTRIBUTION,      work when all have ended, before the
 *	     "join_us_per_size": 0.01}     route: one of them, both, or none
 *	  ]
 *	}
 *
 * Other keys are refused, so that a misspelt one is not taken for a missing
 * one; so is a stage that no request comes to, or from which none ends, or that
 * takes more than the memory in the mean.  All `routes_after` of a file name
 * the same stage.  A stage may send to any stage, also to itself and to earlier
 * ones.
 *
 * A child is an event with the size, the key and the deadline of its request.
 * It goes its own way by the routes, after what its request has passed, until
 * that way ends; and it comes to no stage that forks.
 *
 * The whole path of a request is drawn when the request begins, with those of
 * its children, so that its work is known.
 *
 * Threads    Any number may use a loaded model, because it is never changed.
 * Limits     STAGES_MAX stages; a path ends after MODEL_STEPS_MAX stages; a
 *            fork has MODEL_CHILDREN_MAX children.
 */
#ifndef STAGES_SIM_MODEL_H
#define STAGES_SIM_MODEL_H

#include "base/error.h"
#include "base/random.h"
#include "base/util.h"
#include "stages/sim/distribution.h"
#include "stages/stats.h"

#include <stdbool.h>
#include <stdint.h>

enum { MODEL_STEPS_MAX = 64, MODEL_CHILDREN_MAX = 64 };

struct model_work {
	double ns_per_size;
	struct distribution us;
};

struct model_stage {
	char *name; /* owned */
	enum stage_type type;
	struct model_work work, join; /* before a fork, and after it */
	uint32_t forks[STAGES_MAX];   /* children, by their first stage */
	uint32_t child_count;         /* the sum */
	double takes, takes_per_size; /* bytes */
	/*
	 * By whether the request has passed the stage `turn`, and by stage; the
	 * remaining probability is that of the end.
	 */
	double routes[2][STAGES_MAX];
};

struct model {
	bool has_size, has_deadline;
	uint64_t memory; /* 0: no bound */
	struct distribution size;
	struct distribution deadline_us;
	double entries[STAGES_MAX]; /* by stage; their sum is 1 */
	uint32_t turn;              /* a stage; stage_count: none */
	uint32_t stage_count;       /* >= 1 */
	struct stage_rules rules;   /* for schedules of this graph */
	struct model_stage stages[STAGES_MAX];
};

/* Streams of random numbers, all from one seed. */
enum sim_stream {
	STREAM_ARRIVALS,
	STREAM_PATHS,
	STREAM_ERRORS,
	STREAM_DISPATCH
};

/*
 * A step of a request or of a child.  The children that begin after a step are
 * between it and the next step of its path, one after the other.
 */
struct model_step {
	uint32_t stage;
	uint32_t child_count;
	uint32_t next; /* so far ahead in `steps`; 0: it is the last */
	uint64_t service_ns;
	int64_t taken; /* bytes; < 0: given back */
};

/*
 * The steps of one request, drawn in advance, with those of its children.  A
 * struct of zeros; model_path_release() in the end.
 */
struct model_path {
	double size;          /* without sizes: its work, in us */
	uint64_t deadline_ns; /* since its begin; 0: none */
	uint32_t step_count, capacity;
	struct model_step *steps; /* owned */
};

/*
 * False: `error` names the stage and the key that is wrong, but not the file,
 * and `m` may only be given to model_release().
 */
MUST_CHECK bool model_load(struct model *m, const char *path,
			   struct error *error);

/* The same, from JSON text; relative file names start in `folder`. */
MUST_CHECK bool model_read(struct model *m, const char *json,
			   const char *folder, struct error *error);

void model_release(struct model *m);

/* The names of its stages; the model must outlive their use. */
void model_names(const struct model *m, const char *names[STAGES_MAX]);

/* Aborts if there is no memory. */
void model_draw(const struct model *m, struct random *r,
		struct model_path *out);
void model_path_release(struct model_path *path);

/*
 * The first step of the child after the one that begins with `child`, if there
 * is one; `left_ns` becomes the work of `child`.
 */
const struct model_step *model_next_child(const struct model_step *child,
					  uint64_t *left_ns);

/* The most children that a stage forks. */
uint32_t model_children_max(const struct model *m);

/* False: the stages' types do not fit the schedule's balance. */
MUST_CHECK bool model_check_types(const struct model *m,
				  const struct schedule *s,
				  struct error *error);

/* Mean work of a request at each stage; returns the sum. */
double model_work_ns(const struct model *m, double by_stage[STAGES_MAX]);

/*
 * The events and the work that a million requests are expected to make, as a
 * graph that graph_cut() can divide.
 */
void model_weigh(const struct model *m, struct stage_graph *out);

#endif
