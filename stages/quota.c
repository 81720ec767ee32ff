/* SPDX-License-Identifier: MIT */
#include "stages/quota.h"

#include "stages/cgroup.h"

static uint32_t cpus(long long quota_us, long long period_us)
{
	if (quota_us <= 0 || period_us <= 0 ||
	    quota_us / period_us >= UINT32_MAX)
		return UINT32_MAX;
	return (uint32_t)(quota_us / period_us + (quota_us % period_us > 0));
}

/* "max 100000" or "150000 100000" in v2; two files of one number in v1. */
static void take_least(void *arg, const char *dir)
{
	uint32_t *least = arg, here = UINT32_MAX;
	long long n[2];

	if (cgroup_read_numbers(dir, "cpu.max", n, 2) ||
	    (cgroup_read_numbers(dir, "cpu.cfs_quota_us", &n[0], 1) &&
	     cgroup_read_numbers(dir, "cpu.cfs_period_us", &n[1], 1)))
		here = cpus(n[0], n[1]);
	if (here < *least)
		*least = here;
}

uint32_t quota_cpus_under(const char *root)
{
	uint32_t least = UINT32_MAX;

	cgroup_visit(root, "cpu", take_least, &least);
	return least;
}

uint32_t quota_cpus(void)
{
	return quota_cpus_under("");
}
