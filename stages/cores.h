/* SPDX-License-Identifier: MIT */
/*
 * Cores: the CPUs that workers run on, in the order of their use, found by
 * hwloc.  And the limits of this process that its control groups set, version 1
 * and 2; one of them is how many CPUs it may use.
 *
 * Threads    One thread calls cores_new() and cores_free(); any number may call
 *            the others at the same time.
 */
#ifndef STAGES_CORES_H
#define STAGES_CORES_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct cores;

/*
 * `list` names CPUs by the system's numbers, each once, in the order of their
 * use: "0,2,4-7".  NULL: all CPUs that this process may use, first one of each
 * physical core, then their siblings, but no more than the CPU quota of its
 * cgroup.
 *
 * NULL on failure; then `error` continues a sentence that began with the list:
 * "names a CPU twice".
 */
struct cores *cores_new(const char *list, struct error *error);
void cores_free(struct cores *c);

uint32_t cores_count(const struct cores *c);

/* The system's number of core `i`. */
uint32_t cores_cpu(const struct cores *c, uint32_t i);

/*
 * Bind the calling thread to cores `first` .. `first + count - 1`.  False: the
 * system refused, and nothing has changed.
 */
bool cores_bind(const struct cores *c, uint32_t first, uint32_t count);

/* --- Control groups. --- */

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
