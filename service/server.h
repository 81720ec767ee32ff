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

#include "service/config/options.h"

#include <signal.h>

/* Before any thread: they inherit the mask, and only the caller gets one. */
sigset_t server_hold_signals(void);

/*
 * Serve until a signal says to stop.  What it has to say goes to its log.
 * Returns the program's exit status.
 */
int server_run(const struct options *o, const struct pipeline_config *config,
	       const sigset_t *signals);

#endif
