/* SPDX-License-Identifier: MIT */
/*
 * Models: a stage graph to simulate or to bench, read from a JSON file.
 *
 *	{
 *	  "about": "what it is",
 *	  "size": DISTRIBUTION,            of a request; if it has one
 *	  "entries": {"decode": 1},        where requests begin, how likely;
 *	                                   without it, at the first stage
 *	  "stages": [                      in pipeline order
 *	    {"name": "decode",
 *	     "us_per_size": 0.066,         work of a request's size, and
 *	     "service_us": DISTRIBUTION,   work drawn anew; one or both
 *	     "routes": {"scale": 0.9}}     to whom, how likely; else the end
 *	  ]
 *	}
 *
 * A stage may send to any, itself and earlier ones too.  All that a request
 * will do is drawn when it begins, so that its work is known.
 *
 * Threads    A loaded model is only read: any.
 * Limits     STAGES_MAX stages; a path ends after MODEL_STEPS_MAX steps.
 */
#ifndef STAGES_SIM_MODEL_H
#define STAGES_SIM_MODEL_H

#include "stages/graph.h"
#include "stages/sim/distribution.h"

enum { MODEL_STEPS_MAX = 64 };

struct model_stage {
	char *name; /* owned */
	double ns_per_size;
	struct distribution service_us;
	double routes[STAGES_MAX]; /* by stage; the rest of 1 is the end */
};

struct model {
	bool has_size;
	struct distribution size;
	double entries[STAGES_MAX]; /* by stage; they come to 1 */
	uint32_t stage_count;       /* >= 1 */
	struct model_stage stages[STAGES_MAX];
};

struct model_step {
	uint32_t stage;
	uint64_t service_ns;
};

/* What one request will do. */
struct model_path {
	double size; /* without sizes: its work, in us */
	uint32_t step_count;
	struct model_step steps[MODEL_STEPS_MAX];
};

/*
 * False: *why says what is wrong with the file, and `m` is good only for
 * model_release().
 */
__attribute__((warn_unused_result)) bool
model_load(struct model *m, const char *path, const char **why);

/* The same from text; relative files are looked for in `folder`. */
__attribute__((warn_unused_result)) bool model_read(struct model *m,
						    const char *json,
						    const char *folder,
						    const char **why);

void model_release(struct model *m);

void model_draw(const struct model *m, struct random *r,
		struct model_path *out);

/* Mean work of a request at each stage; returns the sum. */
double model_work_ns(const struct model *m, double by_stage[STAGES_MAX]);

/* What a million requests do, as graph_cut() wants it. */
void model_weigh(const struct model *m, struct stage_graph *out);

#endif
