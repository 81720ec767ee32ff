/* SPDX-License-Identifier: MIT */
/* Options: the command line of stages_bench, checked. */
#ifndef STAGES_BENCH_OPTIONS_H
#define STAGES_BENCH_OPTIONS_H

#include "stages/bench/run.h"
#include "stages/cores.h"

#include <stdio.h>

enum { ARMS_MAX = 64, OPTIONS_ERROR_BYTES = 512 };

/* One of the schedules to compare. */
struct arm {
	char *name;               /* its flags; owned */
	struct schedule schedule; /* complete */
	struct cores *cores;      /* owned */
};

struct options {
	enum mode mode;
	struct model model;       /* owned */
	struct run_config config; /* all but its speed */
	uint32_t arm_count;       /* >= 1 */
	struct arm arms[ARMS_MAX];
	uint32_t round_count;
	const char *graph_path;
	const char *json_path; /* NULL: none */
	bool is_help;          /* print the help and nothing else */
};

/*
 * Read the command line and the files it names.  False: `error` is a sentence
 * that says what is wrong.  Either way `o` is good for options_release(); it
 * must not be copied.
 */
__attribute__((warn_unused_result)) bool
options_parse(struct options *o, int argc, char **argv,
	      char error[OPTIONS_ERROR_BYTES]);

void options_release(struct options *o);

void options_print_help(FILE *out);

#endif
