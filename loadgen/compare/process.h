/* SPDX-License-Identifier: MIT */
/*
 * Process: a program that this program runs, together with all processes that
 * it starts; and, built on it, an arm's server.
 *
 * A process leads a process group of its own, so that Ctrl-C at the terminal
 * does not reach it, and a signal reaches its children too.  If this program
 * dies, the process gets SIGTERM.  If a process of the group loses its parent,
 * it becomes a child of this program.  When a process has ended, what is left
 * of its group is killed.
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
	const cJSON *command; /* list of texts; the first is found in PATH */
	const cJSON *environment; /* object of texts, added to ours; or NULL */
	const char *port;         /* replaces {port} in these; NULL: none */
	const char *directory;    /* NULL: ours */
	const char *log;          /* standard output and error are appended */
};

/*
 * Run a program until it has ended, with `status` as of waitpid().  When
 * `*stop` is not 0, end it: SIGINT, after 10 s SIGTERM, and after 10 s SIGKILL.
 * False: it could not be started.
 */
MUST_CHECK bool process_run(const struct process_config *config,
			    const volatile sig_atomic_t *stop, int *status,
			    struct error *error);

/*
 * Set `error` to a description of the end and the last lines of the log: "WHAT:
 * exit status 1; its log, LOG, ends: ...".  `status`: how the process ended;
 * NULL: it still runs, or the reason is known.
 */
void process_explain(struct error *error, const char *what, const int *status,
		     const char *log);

/* An arm's server.  All zero: nothing runs. */
struct server_process {
	pid_t pid;
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

/*
 * Stop the server: SIGTERM, and SIGKILL after 10 s.  One that does not run is
 * fine.
 */
void server_process_stop(struct server_process *s);

#endif
