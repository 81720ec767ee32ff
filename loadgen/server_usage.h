/* SPDX-License-Identifier: MIT */
/*
 * Server usage: what the processes of a server used during a run.
 *
 *	server_watch_begin() -> the run -> server_watch_end() -> usage
 *
 * All figures are sums over the processes; those that the server starts during
 * the run count too, and CPU time of those that ended as far as a parent in the
 * server waited for them.
 *  - CPU time, user and system, by the kernel's clock tick (10 ms).
 *  - Peak memory: resident pages (VmHWM), those shared by processes once for
 *    each.  The peak is set back at the beginning, which the kernel grants for
 *    processes of the same user; where it does not, or a process of the server
 *    is new, the peak is since that process started.
 *  - Context switches of the threads that live at the end: those of a thread
 *    that ended are lost, so end the watch while connections still stand, if
 *    the server has a thread for each.
 */
#ifndef LOADGEN_SERVER_USAGE_H
#define LOADGEN_SERVER_USAGE_H

#include "loadgen/processes.h"

#include <stdbool.h>
#include <stdint.h>

struct server_usage {
	struct processes processes; /* none: the rest means nothing */
	double cpu_s;
	uint64_t peak_memory_bytes;
	bool peak_was_reset; /* of all processes there were at the beginning */
	uint64_t voluntary_switches;
	uint64_t involuntary_switches;
};

struct server_watch {
	struct server_usage before; /* since the processes started */
};

/* Begin to watch `processes`, of which there may be none. */
void server_watch_begin(struct server_watch *w,
			const struct processes *processes);

void server_watch_end(const struct server_watch *w, struct server_usage *out);

#endif
