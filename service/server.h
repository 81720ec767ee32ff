/* SPDX-License-Identifier: MIT */
/*
 * Server: from the first connection to the last reply, and what signals ask for
 * in between.
 *
 *	SIGTERM, SIGINT  stop; a second one ends the program at once
 *	SIGHUP           divide a partitioned graph by what was measured so far
 *	SIGUSR1          print the statistics
 */
#ifndef SERVICE_SERVER_H
#define SERVICE_SERVER_H

#include "service/options.h"

#include <signal.h>

enum { EXIT_USAGE = 2 }; /* a flag, or what it names, is no good */

/* Before any thread: they inherit the mask, and only the caller gets one. */
sigset_t server_hold_signals(void);

/*
 * Serve until a signal says to stop, which stops the pipeline too.  What it has
 * to say goes to stderr.  Returns the program's exit status.
 */
int server_run(const struct options *o, struct pipeline *pipeline,
	       const struct pipeline_config *config, const sigset_t *signals);

#endif
