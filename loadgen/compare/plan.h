/* SPDX-License-Identifier: MIT */
/*
 * Plan: what to compare, and how; read from JSON and checked as a whole.
 *
 *	{ "title": "Two schedules", "dataset": "photos", "query": "w=640",
 *	  "closed": { "connections": 16, "passes": 10 },
 *	  "open": { "percent_of_capacity": [50, 80], "duration_s": 10 },
 *	  "arms": [
 *	    { "name": "Cohort", "url": "http://127.0.0.1:{port}/",
 *	      "command": ["darkroom", "--listen", "127.0.0.1:{port}"] },
 *	    { "name": "There", "url": "http://192.0.2.1/" } ] }
 *
 * plan_keys says what each key is.  {port} is a free port of 127.0.0.1, chosen
 * for each start.
 *
 * The servers of all arms run at the same time, but only one is awake:
 * the others are stopped by SIGSTOP.  So each arm needs its own port.  The
 * shorter a slice is, the more alike is the machine for all arms.
 *
 * A request that is not answered 2xx ends the comparison, except in an open
 * loop, and except a 503 that is counted ("refusals").
 *
 * Ownership  The plan owns its strings.  A string that a caller puts into a
 *            member stays the caller's.
 */
#ifndef LOADGEN_COMPARE_PLAN_H
#define LOADGEN_COMPARE_PLAN_H

#include "base/options.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLAN_PORT "{port}"

enum {
	PLAN_ARMS_MAX = 16,
	PLAN_ARGUMENTS_MAX = 64,
	PLAN_RATES_MAX = 16,
	PLAN_CONNECTIONS_MAX = 100000,
	PLAN_REPETITIONS_MAX = 100, /* what a struct sample can hold */
	PLAN_SLICES_MAX = 100,
	PLAN_NAME_BYTES_MAX = 48, /* of an arm's name, a table cell */
};

struct arm {
	const char *name; /* unique */
	const char *url;
	const char *directory; /* NULL: the current one */
	const cJSON *command;  /* list of texts; NULL: do not start a server */
	const cJSON *environment; /* object of texts to add; NULL: none */
	uint64_t connections;     /* 0: as the plan says */
};

enum plan_verify { PLAN_VERIFY_SIZE, PLAN_VERIFY_DECODE, PLAN_VERIFY_NONE };

enum plan_refusals { PLAN_REFUSALS_FAIL, PLAN_REFUSALS_COUNT };

struct closed_loop {
	uint64_t connections;
	uint64_t passes;   /* 0: as many as fit in duration_s */
	double duration_s; /* 0: as long as the passes take */
	uint64_t slices;   /* runs of an arm in a repetition */
};

struct open_loop {
	/* Of the first arm's median rate in the repetition's closed loops. */
	double percents[PLAN_RATES_MAX];
	size_t rate_count; /* 0: no open loop */
	double duration_s;
	uint64_t connections;
};

struct plan {
	const char *title;
	const char *dataset;        /* NULL: not given */
	const char *query;          /* may be empty */
	const char *params;         /* NULL: none */
	const char *cacert;         /* NULL: none */
	const char *server_counter; /* NULL: none */
	enum plan_verify verify;
	enum plan_refusals refusals;
	uint64_t repetitions;
	double disturbed_percent;
	double left_out_percent; /* see plan_left_out_percent() */
	struct closed_loop closed;
	struct open_loop open;
	struct arm arms[PLAN_ARMS_MAX];
	size_t arm_count;
	cJSON *json; /* the parsed JSON; owns the strings */
};

/* The keys of a plan and of its objects, as the man page lists them. */
extern const struct flag_group plan_keys[];

/*
 * Fill `plan` from JSON.  The plan then owns `json`, also if the result is
 * false.  False: the error says what is wrong, and where.
 */
MUST_CHECK bool plan_read(struct plan *plan, cJSON *json, struct error *error);

/*
 * Keep only the arms named in `names`, separated by commas, in the plan's
 * order.
 * False: the plan has no arm of that name.
 */
MUST_CHECK bool plan_choose_arms(struct plan *plan, const char *names,
				 struct error *error);

/*
 * The connections of the closed loop, also in the JSON; those of an arm with a
 * number of its own stay.
 */
void plan_set_connections(struct plan *plan, uint64_t count);

/* The arm's own number of connections or, if it has none, the plan's. */
uint64_t plan_connections(const struct arm *arm, uint64_t of_plan);

/*
 * A run that others disturbed by more than this counts in no figure: at least
 * disturbed_percent, also by default.
 */
double plan_left_out_percent(const struct plan *plan);

/* Can a run be disturbed?  Not by more than 100 %. */
bool plan_judges(const struct plan *plan);

/* Free what it owns.  An empty plan is fine. */
void plan_release(struct plan *plan);

#endif
