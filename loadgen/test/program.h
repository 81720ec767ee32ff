/* SPDX-License-Identifier: MIT */
/* The programs that were built, run by a test in processes of their own. */
#ifndef LOADGEN_TEST_PROGRAM_H
#define LOADGEN_TEST_PROGRAM_H

#include "loadgen/test/scratch.h"

#include <sys/types.h>

/* The path of a program: those and tests are built into one folder. */
void program_find(const char *name, char path[SCRATCH_PATH_BYTES]);

/*
 * Start loadgen with `args`, which NULL ends; its output goes to the files
 * stdout and stderr of `scratch`.
 */
pid_t program_start(const struct scratch *scratch, const char *const *args);

/* The exit status, once it has ended. */
int program_wait(pid_t pid);

/* Start loadgen with these arguments, and wait for its exit status. */
#define PROGRAM_RUN(scratch, ...)                                              \
	program_wait(program_start(                                            \
		scratch, (const char *const[]){ __VA_ARGS__, NULL }))

#endif
