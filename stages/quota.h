/* SPDX-License-Identifier: MIT */
#ifndef STAGES_QUOTA_H
#define STAGES_QUOTA_H

#include <stdint.h>

/*
 * How many CPUs the cgroup of this process pays for, rounded up: the least
 * quota / period on the way to the root, cgroup v2 and v1.  UINT32_MAX: no
 * limit, or none that can be read.
 */
uint32_t quota_cpus(void);

/* The same for /proc and /sys as they are below `root`, "" being the real. */
uint32_t quota_cpus_under(const char *root);

#endif
