/* SPDX-License-Identifier: MIT */
/*
 * Server usage: how much CPU time and memory the processes of a server used
 * during a run, if the server is on this machine.
 *
 *	processes_add_listeners() or processes_add_pid()    find the processes
 *	server_watch_begin()                                read /proc
 *	... the run ...
 *	server_watch_end()                                  read it again
 *
 * Which processes: those that hold the socket that listens at the server's
 * address, and all their descendants, such as the workers of nginx and node.
 * Processes that the server starts during the run count too.  This program is
 * never counted.  Process 1 is counted only if it was added by its number.  It
 * may be systemd, which holds the sockets of services that it has not started
 * yet; within a container it may be the server.
 *
 * What is read, summed over the processes:
 *  - CPU time, user and system, in the kernel's clock ticks of 10 ms.  The CPU
 *    time of a process that ended counts if its parent belongs to the server
 *    and waited for it.
 *  - Peak memory: the most resident pages of each process (VmHWM).  A page that
 *    two processes share counts twice.  At the beginning of a run the peaks are
 *    reset, which the kernel allows only for processes of the same user.  If a
 *    peak was not reset, it is the peak since the process started.
 *  - Context switches of the threads that still exist when the watch ends;
 *    those of threads that have ended are lost.  A server with a thread for
 *    each connection ends its threads when the connections are closed: end the
 *    watch before that.
 *
 * If the process that listens only forwards connections to a server elsewhere,
 * as docker-proxy and ssh do, it is not measured, but named; such programs are
 * known by their names.  Other proxies, such as nginx, are measured and named.
 *
 * Limits     A process that /proc hides from this user is not found.
 */
#ifndef LOADGEN_REPORT_SERVER_USAGE_H
#define LOADGEN_REPORT_SERVER_USAGE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	PROCESSES_MAX = 512, /* further processes are not counted */
	PROCESS_NAME_BYTES = 16,
};

/* All zero: empty. */
struct processes {
	pid_t pids[PROCESSES_MAX];
	size_t count;
	char name[PROCESS_NAME_BYTES]; /* of the first; "": not known */
	/*
	 * If there are none: the name of the one that listens, and forwards
	 * connections; "": there is none.
	 */
	char forwarder[PROCESS_NAME_BYTES];
};

struct server_usage {
	/* If there are none, the other members have no meaning. */
	struct processes processes;
	double cpu_s;
	uint64_t peak_memory_bytes;
	/* The peaks of all processes were reset at the beginning. */
	bool peak_was_reset;
	uint64_t voluntary_switches;
	uint64_t involuntary_switches;
};

struct server_watch {
	/* Usage before the watch, since the processes started. */
	struct server_usage before;
};

/*
 * If `host` is this machine, add the processes that listen at its `port`, and
 * their descendants.  There may be no such processes.
 */
void processes_add_listeners(struct processes *p, const char *host,
			     uint16_t port);

/* Add `pid` and its descendants.  False: there is no such process. */
MUST_CHECK bool processes_add_pid(struct processes *p, pid_t pid);

/* Begin to watch `processes`, which may be empty. */
void server_watch_begin(struct server_watch *w,
			const struct processes *processes);

void server_watch_end(const struct server_watch *w, struct server_usage *out);

#endif
