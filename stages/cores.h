/* SPDX-License-Identifier: MIT */
/*
 * Cores: the CPUs that workers run on, in the order of their use, found by
 * hwloc.
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

#endif
