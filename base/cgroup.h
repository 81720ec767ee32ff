/* SPDX-License-Identifier: MIT */
/*
 * Control groups: the limits of this process that they set, version 1 and 2.
 *
 * Threads    Any number.
 */
#ifndef BASE_CGROUP_H
#define BASE_CGROUP_H

#include <stdbool.h>

/* `dir` is the directory of one group. */
typedef void cgroup_visit_fn(void *arg, const char *dir);

/*
 * Call `visit` for the group of this process and all groups above it, up to the
 * root, in every hierarchy that has `controller` ("cpu", "memory").  A
 * container may have a path that exists only on its host, so a directory may be
 * missing.  `root` is the folder that contains /proc and /sys: "" except in
 * tests.
 */
void cgroup_visit(const char *root, const char *controller,
		  cgroup_visit_fn *visit, void *arg);

/* The first `wanted` numbers of a file in `dir`.  False: it has fewer. */
bool cgroup_read_numbers(const char *dir, const char *file, long long *numbers,
			 int wanted);

#endif
