/* SPDX-License-Identifier: MIT */
#include "service/config/memory_limit.h"

#include "stages/cgroup.h"

#include <unistd.h>

/* "max" is no number, and sets no limit. */
static void take_least(void *arg, const char *dir)
{
	uint64_t *least = arg;
	long long bytes;

	if ((cgroup_read_numbers(dir, "memory.max", &bytes, 1) ||
	     cgroup_read_numbers(dir, "memory.limit_in_bytes", &bytes, 1)) &&
	    bytes > 0 && (uint64_t)bytes < *least)
		*least = (uint64_t)bytes;
}

uint64_t memory_limit_of_groups(const char *root)
{
	uint64_t least = UINT64_MAX;

	cgroup_visit(root, "memory", take_least, &least);
	return least;
}

uint64_t memory_limit_bytes(void)
{
	uint64_t groups = memory_limit_of_groups("");
	uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) *
			   (uint64_t)sysconf(_SC_PAGESIZE);

	return groups < machine ? groups : machine;
}

uint64_t memory_budget_bytes(uint64_t limit_bytes, uint32_t connections_max)
{
	uint64_t most = limit_bytes / 8 * 7;
	uint64_t own = MEMORY_OWN_BYTES +
		       (uint64_t)connections_max * MEMORY_CONNECTION_BYTES;
	uint64_t left = most > own ? most - own : 0;

	return left > limit_bytes / 4 ? left : limit_bytes / 4;
}
