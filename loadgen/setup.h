/* SPDX-License-Identifier: MIT */
/*
 * Setup: what all runs of one command line share, made once and before
 * anything is sent: the files to send, where results go, and the server's
 * processes.
 *
 * All that can be wrong with the options comes out here.
 *
 * Ownership  The setup owns what it holds; runs are lent it.
 */
#ifndef LOADGEN_SETUP_H
#define LOADGEN_SETUP_H

#include "loadgen/arrivals.h"
#include "loadgen/dataset.h"
#include "loadgen/error.h"
#include "loadgen/options.h"
#include "loadgen/processes.h"
#include "loadgen/params.h"
#include "loadgen/save.h"
#include "loadgen/targets.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct setup {
	struct dataset dataset;
	struct params params;   /* empty without --params */
	struct targets targets; /* of the URL, the dataset and the params */
	char *api_key;          /* a line of each head; NULL: none */
	struct trace trace;     /* empty without --arrivals trace=FILE */
	struct save *save;      /* NULL: do not save */
	FILE *json;             /* NULL: do not write; so the next two */
	FILE *csv;
	FILE *percentiles;
	struct processes server; /* none: not of this machine, or not found */
	uint64_t *unloaded_ns;   /* by file; NULL before calibrate() */
};

/*
 * Fill the empty `s`, and the rate if it is the trace's own.  False: `error`
 * names the option at fault, and setup_finish() is due all the same.
 */
MUST_CHECK bool setup_init(struct setup *s, struct options *o,
			   struct error *error);

/*
 * Finish what the runs have written and make `s` empty; an empty one is fine.
 * False: something could not be written to its end, and `error` says what.
 */
bool setup_finish(struct setup *s, struct error *error);

#endif
