/* SPDX-License-Identifier: MIT */
/*
 * Sandbox: takes from the process what a server does not need once its files
 * are open, so that whoever gets control of it by a picture gets little.
 *
 *	no new privileges  nothing that is executed gains any
 *	Landlock           no file but those beneath a few folders (Linux 5.19)
 *	seccomp            no system call but those of a server that runs: no
 *	                   programs, processes, sockets, or executable memory
 *
 * What is refused fails with an error, and the process goes on.
 *
 * Threads    Binds the thread that enters and those that are started later: so
 *            enter before there are others.  A thread gives its name to itself
 *            alone, as the name of another one is a file.
 * Limits     None of it where sanitizers are built in: they read /proc and
 *            trace their own threads.
 */
#ifndef SERVICE_SANDBOX_H
#define SERVICE_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Of --sandbox, in the order of its words. */
enum sandbox_mode { SANDBOX_AUTO, SANDBOX_REQUIRE, SANDBOX_OFF };

/* What is in force. */
struct sandbox {
	bool no_new_privileges;
	uint32_t landlock_abi; /* the kernel's; 0: not in force */
	bool seccomp;
};

/*
 * As far as the kernel can.  Files beneath `folders`, which end with NULL, may
 * be read, written, made and removed.
 */
void sandbox_enter(struct sandbox *s, const char *const *folders);

/* Is all of it in force? */
bool sandbox_is_whole(const struct sandbox *s);

/* "no new privileges, Landlock (ABI 7), seccomp", or "none" */
void sandbox_print(const struct sandbox *s, FILE *to);

#endif
