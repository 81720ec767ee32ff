/* SPDX-License-Identifier: MIT */
/* Options: the command line of stages_sim, checked. */
#ifndef STAGES_SIM_OPTIONS_H
#define STAGES_SIM_OPTIONS_H

#include "base/error.h"
#include "base/options.h"
#include "base/util.h"
#include "stages/sim/sim.h"

struct sim_options {
	struct model model;       /* owned */
	struct schedule schedule; /* complete */
	struct sim_config config;
	double *gaps_s;              /* owned */
	struct size_classes classes; /* none: by the percentiles of sizes */
	const char *json; /* file to write; "-": standard output; or NULL */
	/* If one is set, other members may be unset. */
	struct flags_asked asked;
	bool wants_policies;
};

/*
 * Read the command line and the files it names.  False: `error` is a sentence
 * that says what is wrong.  In both cases call sim_options_release(o) later.
 * `o` must not be copied.
 */
MUST_CHECK bool sim_options_parse(struct sim_options *o, int argc, char **argv,
				  struct error *error);

void sim_options_release(struct sim_options *o);

/* The flags of stages_sim, for its --help. */
extern const struct program sim_program;

#endif
