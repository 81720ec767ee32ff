/* SPDX-License-Identifier: MIT */
/*
 * Process: a program that was started, and all that it starts itself.
 *
 * It leads a process group of its own, so that Ctrl-C at the terminal is not
 * for it, and a signal reaches its children too.  If this program dies, it
 * gets SIGTERM.  If a process of the group is left without its parent, it
 * becomes a child of this program.
 *
 * Threads    one, the same for all calls.
 */
#ifndef LOADGEN_COMPARE_PROCESS_H
#define LOADGEN_COMPARE_PROCESS_H

#include "loadgen/compare/plan.h"
#include "loadgen/error.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct process_config {
	const char *const *command;         /* ended by NULL; found in PATH */
	const struct variable *environment; /* beside our own */
	size_t variable_count;
	const char *directory; /* NULL: ours */
	const char *log;       /* standard output and error; appended */
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
 * Has it ended?  Then `status` is as of waitpid(), and what it has left of its
 * group was killed and waited for: nothing of it runs any more.
 */
bool process_has_ended(struct process *p, int *status);

/* Wait until it has ended; when `*stop` is not 0, send it SIGINT. */
void process_wait(struct process *p, const volatile sig_atomic_t *stop,
		  int *status);

/* SIGTERM, and SIGKILL after 10 s.  Nothing runs afterwards. */
void process_stop(struct process *p, int *status);

/* Sleep between two looks at a process. */
void process_pause(void);

/* Say how a program ended: "exit status 1", "signal 9 (Killed)". */
void process_describe(int status, char *text, size_t text_bytes);

/*
 * The last lines of a log, at most `text_bytes` - 1 bytes; empty if there is
 * nothing to be read.
 */
void process_log_tail(const char *path, char *text, size_t text_bytes);

#endif
