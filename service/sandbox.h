/* SPDX-License-Identifier: MIT */
/*
 * Sandbox: takes away rights that a server does not need once its files are
 * open.  An attacker who gains control of the process then has few rights.
 *
 *	no new privileges  no program that is executed gets more rights
 *	Landlock           only files below a few folders (Linux 5.19); nor,
 *	                   as far as the kernel's version knows them, ports,
 *	                   devices, and sockets and processes outside
 *	seccomp            only the system calls of a running server: no
 *	                   programs, processes, sockets or executable memory
 *
 * A forbidden call fails with an error, and the process continues.
 *
 * Threads    It applies to the thread that enters it and to threads that this
 *            one starts later, so enter it before there are other threads.  A
 *            thread can then set only its own name, because the name of
 *            another thread is a file.
 * Limits     Builds with sanitizers have no sandbox: sanitizers read /proc and
 *            trace their own threads.
 */
#ifndef SERVICE_SANDBOX_H
#define SERVICE_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The values of --sandbox, in this order. */
enum sandbox_mode { SANDBOX_AUTO, SANDBOX_REQUIRE, SANDBOX_OFF };

enum { SANDBOX_LACKS_BYTES = 192 };

/* Which parts are in force. */
struct sandbox {
	bool no_new_privileges;
	uint32_t landlock_abi; /* the kernel's version; 0: not in force */
	bool seccomp;
	char lacks[SANDBOX_LACKS_BYTES]; /* which parts are not, and why */
};

/*
 * Enter the sandbox, as far as the kernel supports it.  Files below `folders`
 * (a list ended by NULL) may be read, written, made and removed.  Threads may
 * use their own hardware counters only if `counts_hardware`.
 */
void sandbox_enter(struct sandbox *s, const char *const *folders,
		   bool counts_hardware);

/* Are all parts in force? */
bool sandbox_is_whole(const struct sandbox *s);

/* "no new privileges, Landlock (ABI 7), seccomp", or "none" */
void sandbox_print(const struct sandbox *s, FILE *to);

#endif
