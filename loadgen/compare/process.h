/* SPDX-License-Identifier: MIT */
/*
 * Process: a program that this program starts, watches and stops, together with
 * all processes that it starts; and, built on it, an arm's server.
 *
 * A process leads a process group of its own, so that Ctrl-C at the terminal
 * does not reach it, and a signal reaches its children too.  If this program
 * dies, the process gets SIGTERM.  If a process of the group loses its parent,
 * it becomes a child of this program.
 *
 * Threads    one, the same for all calls.
 */
#ifndef LOADGEN_COMPARE_PROCESS_H
#define LOADGEN_COMPARE_PROCESS_H

#include "base/error.h"
#include "loadgen/compare/plan.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct process_config {
	const char *const *command;         /* ended by NULL; found in PATH */
	const struct variable *environment; /* added to ours */
	size_t variable_count;
	const char *port;      /* replaces {port} in these; NULL: none */
	const char *directory; /* NULL: ours */
	const char *log;       /* standard output and error are appended */
};

/* All zero: nothing runs. */
struct process {
	pid_t pid;
};

/* False: it could not be started, and `p` is as before. */
MUST_CHECK bool process_start(struct process *p,
			      const struct process_config *config,
			      struct error *error);

/*
 * True: it has ended, with `status` as of waitpid(), and the rest of its group
 * was killed and waited for: nothing of it runs any more.
 */
bool process_has_ended(struct process *p, int *status);

/* Wait until it has ended; when `*stop` is not 0, send it SIGINT. */
void process_wait(struct process *p, const volatile sig_atomic_t *stop,
		  int *status);

/* SIGTERM, and SIGKILL after 10 s.  Nothing runs afterwards. */
void process_stop(struct process *p, int *status);

/*
 * Set `error` to a description of the end and the last lines of the log: "WHAT:
 * exit status 1; its log, LOG, ends: ...".  `status`: how the process ended;
 * NULL: it still runs, or the reason is known.
 */
void process_explain(struct error *error, const char *what, const int *status,
		     const char *log);

/* An arm's server.  All zero: nothing runs. */
struct server_process {
	struct process process;
	char *url; /* with port and query; owned */
};

/*
 * Start the arm's server, its output appended to `log`, and wait until it
 * answers HTTP, 30 s at most, or `*stop` is not 0.  Without a command, only
 * wait for an answer.  False: nothing runs, and the error quotes the end of
 * the log.
 */
MUST_CHECK bool server_process_start(struct server_process *s,
				     const struct arm *arm, const char *query,
				     const char *log,
				     const volatile sig_atomic_t *stop,
				     struct error *error);

/* Stop the server.  A server without running processes is fine. */
void server_process_stop(struct server_process *s);

#endif
