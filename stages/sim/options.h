/* SPDX-License-Identifier: MIT */
/* Options: the command line of stages_sim, checked. */
#ifndef STAGES_SIM_OPTIONS_H
#define STAGES_SIM_OPTIONS_H

#include "stages/sim/engine.h"
#include "stages/sim/summary.h"

#include <stdio.h>

enum { OPTIONS_ERROR_BYTES = 512 };

struct options {
	struct model model;       /* owned */
	struct schedule schedule; /* complete */
	struct engine_config config;
	double *gaps_s;              /* owned */
	struct size_classes classes; /* none: by the percentiles of sizes */
	bool is_json;
	bool is_help; /* print the help and nothing else */
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
