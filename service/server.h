/* SPDX-License-Identifier: MIT */
/*
 * Server: from the first connection to the last reply.
 *
 *	SIGTERM, SIGINT  stop; a second one ends the program at once
 *	SIGHUP           read keys and certificates again; with --balance
 *	                 partition, divide the stages by what was measured
 *	SIGUSR1          log the statistics
 */
#ifndef SERVICE_SERVER_H
#define SERVICE_SERVER_H

#include "service/config/options.h"

#include <signal.h>

/*
 * Call it before any thread is started: threads inherit the mask, so only the
 * caller receives signals.
 */
sigset_t server_hold_signals(void);

/*
 * Serve until a signal says to stop.  Messages go to the log.  Returns the
 * program's exit status.
 */
int server_run(const struct options *o, const struct pipeline_config *config,
	       const sigset_t *signals);

#endif
