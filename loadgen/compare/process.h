/* SPDX-License-Identifier: MIT */
/*
 * Process: a program that this program runs, together with all processes that
 * it starts; and, built on it, an arm's server.
 *
 * A process leads a process group of its own.  So Ctrl-C at the terminal does
 * not reach it, and a signal to the group reaches its children too.  If this
 * program dies, the process gets SIGTERM.  If a process of the group loses its
 * parent, it becomes a child of this program.  When the leader has ended, the
 * rest of its group is killed.
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
	const cJSON *environment; /* object of texts to add; NULL: none */
	const char *port;         /* replaces {port}; NULL: replace nothing */
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
 * Set `error` to a text that says how the process ended and quotes the last
 * lines of its log: "WHAT: exit status 1; its log, LOG, ends: ...".  `status`,
 * as of waitpid(), may be NULL if the process still runs.
 */
void process_explain(struct error *error, const char *what, const int *status,
		     const char *log);

/* An arm's server.  All zero: nothing runs. */
struct server_process {
	pid_t pid;
	char *url; /* with port and query; owned */
};

/*
 * Start the arm's server, append its output to `log`, and wait until it answers
 * HTTP.  An arm without a command has nothing to start.  False: there was no
 * answer within 30 s, the server ended, or `*stop` was not 0.  Then nothing
 * runs, and if the reason may be in the log, the error quotes its end.
 */
MUST_CHECK bool server_process_start(struct server_process *s,
				     const struct arm *arm, const char *query,
				     const char *log,
				     const volatile sig_atomic_t *stop,
				     struct error *error);

/*
 * Stop all its processes at once, and let them go on.  A server that is stopped
 * uses no CPU time and answers nothing.
 */
void server_process_pause(const struct server_process *s);
void server_process_resume(const struct server_process *s);

/* End the server, if it runs: SIGTERM, and SIGKILL after 10 s. */
void server_process_stop(struct server_process *s);

#endif
