/* SPDX-License-Identifier: MIT */
/* Options: the command line of stages_bench, checked. */
#ifndef STAGES_BENCH_OPTIONS_H
#define STAGES_BENCH_OPTIONS_H

#include "base/error.h"
#include "base/options.h"
#include "base/util.h"
#include "stages/bench/fibres.h"
#include "stages/bench/run.h"
#include "stages/stage.h"

enum { ARMS_MAX = 64 };

/* One of the schedules to compare. */
struct arm {
	char *name;               /* its flags; owned */
	struct schedule schedule; /* complete */
	struct cores *cores;      /* owned */
};

struct stages_bench_options {
	enum mode mode;
	struct model model;       /* owned */
	struct run_config config; /* everything but the speed is set */
	uint32_t arm_count;       /* >= 1 */
	struct arm arms[ARMS_MAX];
	uint32_t round_count;
	double disturbed_percent;                 /* see base/machine_usage.h */
	uint32_t fibre_counts[FIBRES_COUNTS_MAX]; /* of MODE_FIBRES */
	uint32_t fibre_count_count;
	const char *graph_path;
	const char *json_path; /* NULL: none */
	/* If any is set, other members may be unset. */
	struct flags_asked asked;
	bool wants_policies;
};

/*
 * Read the command line and the files it names.  False: `error` is a sentence
 * that says what is wrong.  In both cases call stages_bench_options_release(o)
 * later.  `o` must not be copied.
 */
MUST_CHECK bool stages_bench_options_parse(struct stages_bench_options *o,
					   int argc, char **argv,
					   struct error *error);

void stages_bench_options_release(struct stages_bench_options *o);

/* The flags of stages_bench, for its --help. */
extern const struct program stages_bench_program;

#endif
