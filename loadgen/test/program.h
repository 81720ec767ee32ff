/* SPDX-License-Identifier: MIT */
/* Runs the built programs as processes of their own. */
#ifndef LOADGEN_TEST_PROGRAM_H
#define LOADGEN_TEST_PROGRAM_H

#include "base/test/scratch.h"

#include <sys/types.h>

/* The path of a program, which is in the same folder as the tests. */
void program_find(const char *name, char path[SCRATCH_PATH_BYTES]);

/*
 * Start loadgen with `args`, a list that ends with NULL.  Its output goes to
 * the files stdout and stderr in `scratch`.
 */
pid_t program_start(const struct scratch *scratch, const char *const *args);

/* Wait until the program ends, and return its exit status. */
int program_wait(pid_t pid);

/* Run loadgen with these arguments.  Returns the exit status. */
#define PROGRAM_RUN(scratch, ...)                                              \
	program_wait(program_start(                                            \
		scratch, (const char *const[]){ __VA_ARGS__, NULL }))

#endif
