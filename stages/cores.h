/* SPDX-License-Identifier: MIT */
/*
 * Cores: the CPUs that workers run on, in the order they are used, by hwloc.
 *
 * Threads    All calls but new and free: any, at once.
 */
#ifndef STAGES_CORES_H
#define STAGES_CORES_H

#include <stdbool.h>
#include <stdint.h>

struct cores;

/*
 * `list` names CPUs as the system numbers them, none twice, to be used in that
 * order: "0,2,4-7".  NULL: all that this process may use, first one of each
 * physical core, then their siblings, but no more than the cgroup's CPU quota
 * pays for.
 *
 * On failure NULL, and *why goes on where a sentence began with the list:
 * "names a CPU twice".
 */
struct cores *cores_new(const char *list, const char **why);
void cores_free(struct cores *c);

uint32_t cores_count(const struct cores *c);

/* The system's number of core `i`. */
uint32_t cores_cpu(const struct cores *c, uint32_t i);

/*
 * Let the calling thread run on cores `first` .. `first + count - 1` only.
 * False: the system refused, and the thread runs where it did before.
 */
bool cores_bind(const struct cores *c, uint32_t first, uint32_t count);

#endif
