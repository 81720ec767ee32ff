/* SPDX-License-Identifier: MIT */
/*
 * Run: one measurement, from its first request to its last reply; and what all
 * runs of one command line share.
 *
 *	options --> setup_init() --> [calibrate()] --> run_once() --> outcome
 *
 * The setup holds the files to send, where results go, and the server's
 * processes.  It is made before anything is uploaded, so that a wrong option,
 * such as a file that cannot be opened, is reported first.
 *
 *	setup, options --> client --result--+--> record, checks     } outcome
 *	                                    +--> saved replies, CSV
 *	                                    '--> progress line
 *
 * Runs of one setup do not depend on each other: each has its own order,
 * arrivals, client and record, and no request is left when it ends.  So a sweep
 * is several runs with different options.
 *
 * Ownership  The setup owns what it holds and lends it to runs.
 * Threads    One.
 */
#ifndef LOADGEN_RUN_H
#define LOADGEN_RUN_H

#include "base/error.h"
#include "loadgen/client/arrivals.h"
#include "loadgen/client/request.h"
#include "loadgen/dataset/dataset.h"
#include "loadgen/options.h"
#include "loadgen/report/record.h"
#include "loadgen/report/saved_replies.h"
#include "loadgen/report/server_usage.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct setup {
	struct dataset dataset;
	struct request_source source;
	struct trace trace; /* empty without --arrivals trace=FILE */
	struct save *save;  /* NULL: do not save */
	FILE *json;         /* the output files; NULL: do not write */
	FILE *csv;
	FILE *percentiles;
	struct processes server; /* empty: on another machine, or not found */
	/* Time without load of each file; NULL before calibrate(). */
	uint64_t *unloaded_ns;
};

/*
 * Fill the empty `s`.  If there is a trace but no rate, set the rate to the
 * trace's.  False: `error` names the option at fault, and setup_finish() must
 * still be called.
 */
MUST_CHECK bool setup_init(struct setup *s, struct load_options *o,
			   struct error *error);

/*
 * Finish what the runs have written and make `s` empty; an empty one is fine.
 * False: something could not be written to its end, and `error` says what.
 */
bool setup_finish(struct setup *s, struct error *error);

/*
 * Measure how long the server takes for each file when it has nothing else to
 * do: send every file three times over one connection, each request after the
 * last reply. setup->unloaded_ns becomes the median of the three times of each
 * file, from the first byte sent to the last byte received, or 0 if the file
 * was not answered 2xx three times.  False: `error` says what ended the
 * calibration early; this may be `*stop`.
 */
MUST_CHECK bool calibrate(struct setup *setup, const struct load_options *o,
			  const volatile sig_atomic_t *stop,
			  struct error *error);

/*
 * Send for --warm-up seconds.  Nothing is kept of it.  False: `error` says what
 * broke it off.
 */
MUST_CHECK bool warm_up(const struct setup *setup, const struct load_options *o,
			const volatile sig_atomic_t *stop, struct error *error);

/*
 * Run once, until all is sent and answered or `*stop` is not 0, and fill the
 * empty `out`.  False: `error` says what broke off the run; `out` has the
 * results until then.
 */
MUST_CHECK bool run_once(const struct setup *setup,
			 const struct load_options *o,
			 const volatile sig_atomic_t *stop, struct outcome *out,
			 struct error *error);

#endif
