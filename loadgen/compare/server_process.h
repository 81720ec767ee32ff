/* SPDX-License-Identifier: MIT */
/*
 * Server process: an arm's server, from its start until it has ended.
 *
 * A started server runs and answers HTTP.  An arm without a command is only
 * asked whether it answers.
 */
#ifndef LOADGEN_COMPARE_SERVER_PROCESS_H
#define LOADGEN_COMPARE_SERVER_PROCESS_H

#include "loadgen/compare/plan.h"
#include "loadgen/compare/process.h"
#include "loadgen/error.h"

#include <signal.h>
#include <stdbool.h>

/* All zero: nothing runs. */
struct server_process {
	struct process process;
	char *url; /* with port and query; owned */
};

/*
 * Start the arm's server, its output appended to `log`, and wait until it
 * answers, 30 s at most, or `*stop` is not 0.  False: nothing runs, and the
 * error tells the last lines of its log.
 */
MUST_CHECK bool server_process_start(struct server_process *s,
				     const struct arm *arm, const char *query,
				     const char *log,
				     const volatile sig_atomic_t *stop,
				     struct error *error);

/* Stop it.  A server of which nothing runs is fine. */
void server_process_stop(struct server_process *s);

#endif
