/* SPDX-License-Identifier: MIT */
/*
 * Server usage: the processes of a server on this machine, and what they used
 * during a run.
 *
 *	processes_add_listeners() or processes_add_pid()
 *	server_watch_begin() -> the run -> server_watch_end() -> usage
 *
 * The processes of a server are those that hold the socket that listens at its
 * address, and all their descendants, such as the workers of nginx and node.
 * This process is never one of them.  Process 1 holds sockets for services
 * that have not started yet; it is added only by its number, which is right
 * within a container.
 *
 * All figures are sums over the processes.  Processes that the server starts
 * during the run count too.
 *  - CPU time: user and system, by the kernel's clock tick (10 ms).  CPU time
 *    of a process that ended counts if a parent in the server waited for it.
 *  - Peak memory: resident pages (VmHWM); a page that two processes share
 *    counts twice.  The kernel resets the peak at the beginning of the run if
 *    the processes belong to the same user.  If it does not, or if a process
 *    starts during the run, the peak is since the start of that process.
 *  - Context switches of the threads that live at the end.  The switches of a
 *    thread that ended are lost.  If the server has a thread for each
 *    connection, end the watch before the connections are closed.
 *
 * Limits     A process that /proc does not show to this user is not found.  A
 *            proxy that listens for the server, such as Docker's, is taken for
 *            the server.
 */
#ifndef LOADGEN_REPORT_SERVER_USAGE_H
#define LOADGEN_REPORT_SERVER_USAGE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PROCESSES_MAX = 512 }; /* more are left out */

/* Zero one to begin. */
struct processes {
	pid_t pids[PROCESSES_MAX];
	size_t count;
};

struct server_usage {
	struct processes processes; /* none: the rest means nothing */
	double cpu_s;
	uint64_t peak_memory_bytes;
	bool peak_was_reset; /* of all processes at the beginning */
	uint64_t voluntary_switches;
	uint64_t involuntary_switches;
};

struct server_watch {
	struct server_usage before; /* since the processes started */
};

/*
 * Add the processes that listen at `port` of `host`, if `host` is this machine,
 * and their descendants.  There may be none.
 */
void processes_add_listeners(struct processes *p, const char *host,
			     uint16_t port);

/* Add `pid` and its descendants.  False: there is no such process. */
MUST_CHECK bool processes_add_pid(struct processes *p, pid_t pid);

/* Begin to watch `processes`, of which there may be none. */
void server_watch_begin(struct server_watch *w,
			const struct processes *processes);

void server_watch_end(const struct server_watch *w, struct server_usage *out);

#endif
