/* SPDX-License-Identifier: MIT */
/* Process stat: what /proc/PID/stat tells of a process (proc(5)). */
#ifndef LOADGEN_PROCESS_STAT_H
#define LOADGEN_PROCESS_STAT_H

#include "loadgen/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process_stat {
	pid_t parent; /* 0: not in this process's container, or none */

	/* User and system, with those of children that ended. */
	uint64_t cpu_ticks;
};

/* False: there is no such process to be seen, and `out` is untouched. */
MUST_CHECK bool process_stat_read(pid_t pid, struct process_stat *out);

#endif
