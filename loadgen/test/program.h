/* SPDX-License-Identifier: MIT */
/* The program itself, run by a test in a process of its own. */
#ifndef LOADGEN_TEST_PROGRAM_H
#define LOADGEN_TEST_PROGRAM_H

#include "loadgen/test/scratch.h"

#include <sys/types.h>

/*
 * Start loadgen with `args`, which NULL ends; its output goes to the files
 * stdout and stderr of `scratch`.
 */
pid_t program_start(const struct scratch *scratch, const char *const *args);

/* The exit status, once it has ended. */
int program_wait(pid_t pid);

#endif
