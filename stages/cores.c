/* SPDX-License-Identifier: MIT */
#include "stages/stage.h"

#include "base/cgroup.h"
#include "base/error.h"
#include "base/util.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwloc.h>

enum { CPU_MAX = 1 << 20 }; /* more than any system has */

static uint32_t quota_cpus(long long quota_us, long long period_us)
{
	if (quota_us <= 0 || period_us <= 0 ||
	    quota_us / period_us >= UINT32_MAX)
		return UINT32_MAX;
	return (uint32_t)(quota_us / period_us + (quota_us % period_us > 0));
}

/* "max 100000" or "150000 100000" in v2; two files of one number in v1. */
static void find_least_quota(void *arg, const char *dir)
{
	uint32_t *least = arg, here = UINT32_MAX;
	long long n[2];

	if (cgroup_read_numbers(dir, "cpu.max", n, 2) ||
	    (cgroup_read_numbers(dir, "cpu.cfs_quota_us", &n[0], 1) &&
	     cgroup_read_numbers(dir, "cpu.cfs_period_us", &n[1], 1)))
		here = quota_cpus(n[0], n[1]);
	if (here < *least)
		*least = here;
}

/*
 * How many CPUs the cgroup of this process allows, rounded up: the least quota
 * / period of all groups on the way to the root, in cgroup v2 and v1.
 * UINT32_MAX: no limit, or none that can be read.  /proc and /sys are below
 * `root`.
 */
static uint32_t quota_cpus_under(const char *root)
{
	uint32_t least = UINT32_MAX;

	cgroup_visit(root, "cpu", find_least_quota, &least);
	return least;
}

struct cores {
	hwloc_topology_t topology;
	/* The CPUs that the process was allowed to use at its start. */
	hwloc_bitmap_t allowed;
	uint32_t count;
	uint32_t *cpus;
};

static void append(struct cores *c, unsigned cpu)
{
	c->cpus[c->count++] = cpu;
}

static void list_set(struct cores *c, hwloc_const_bitmap_t set)
{
	int cpu = -1;

	while ((cpu = hwloc_bitmap_next(set, cpu)) >= 0)
		append(c, (unsigned)cpu);
}

/* The first hardware thread of every physical core, then the second, ... */
static void list_all(struct cores *c)
{
	uint32_t before = UINT32_MAX;

	for (unsigned sibling = 0; c->count != before; sibling++) {
		hwloc_obj_t core = NULL;

		before = c->count;
		while ((core = hwloc_get_next_obj_by_type(
				c->topology, HWLOC_OBJ_CORE, core)) != NULL) {
			int cpu = -1;

			for (unsigned i = 0; i <= sibling; i++)
				cpu = hwloc_bitmap_next(core->cpuset, cpu);
			if (cpu >= 0)
				append(c, (unsigned)cpu);
		}
	}
}

/* Remove the CPUs that the process may not use from the list. */
static void keep_allowed(struct cores *c)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < c->count; i++)
		if (hwloc_bitmap_isset(c->allowed, c->cpus[i]))
			c->cpus[kept++] = c->cpus[i];
	c->count = kept;
}

static bool parse_number(const char **at, uint32_t *number)
{
	char *end;

	/* strtoul() would accept blanks and a sign. */
	if (!isdigit((unsigned char)**at))
		return false;
	unsigned long n = strtoul(*at, &end, 10);

	*number = n < CPU_MAX ? (uint32_t)n : CPU_MAX;
	*at = end;
	return true;
}

/* False: the CPU cannot be used. */
static bool use(struct cores *c, uint32_t cpu, struct error *error)
{
	if (!hwloc_bitmap_isset(c->allowed, cpu))
		return error_fail(error, "names CPUs this process may not use");
	for (uint32_t i = 0; i < c->count; i++)
		if (c->cpus[i] == cpu)
			return error_fail(error, "names a CPU twice");
	append(c, cpu);
	return true;
}

/* "4" or "4-7".  False: `at` is at no such range. */
static bool parse_range(const char **at, uint32_t *first, uint32_t *last)
{
	if (!parse_number(at, first))
		return false;
	*last = *first;
	if (**at != '-')
		return true;
	++*at;
	return parse_number(at, last) && *last >= *first;
}

/* False: something is wrong with `list`. */
static bool parse(struct cores *c, const char *list, struct error *error)
{
	for (const char *at = list;; at++) {
		uint32_t first, last;

		if (!parse_range(&at, &first, &last))
			break;
		for (uint32_t cpu = first; cpu <= last; cpu++)
			if (!use(c, cpu, error))
				return false;
		if (*at == '\0')
			return true;
		if (*at != ',')
			break;
	}
	return error_fail(error, "is not a list of CPUs such as 0,2,4-7");
}

/*
 * For a whole process, hwloc looks at its threads in /proc.  Without /proc the
 * calling thread has to do, which is the only one at a program's start.
 */
static bool read_allowed(struct cores *c)
{
	return hwloc_get_cpubind(c->topology, c->allowed,
				 HWLOC_CPUBIND_PROCESS) == 0 ||
	       hwloc_get_cpubind(c->topology, c->allowed,
				 HWLOC_CPUBIND_THREAD) == 0;
}

static bool open_topology(struct cores *c)
{
	if (hwloc_topology_init(&c->topology) != 0)
		return false;
	c->allowed = hwloc_bitmap_alloc();
	if (c->allowed == NULL || hwloc_topology_load(c->topology) != 0 ||
	    !read_allowed(c))
		return false;
	(void)hwloc_bitmap_and(c->allowed, c->allowed,
			       hwloc_topology_get_allowed_cpuset(c->topology));

	int count = hwloc_bitmap_weight(c->allowed);

	if (count < 1)
		return false;
	/* The greatest number of threads, allowed or not. */
	count = hwloc_get_nbobjs_by_type(c->topology, HWLOC_OBJ_PU);
	c->cpus = calloc((size_t)count, sizeof(*c->cpus));
	return c->cpus != NULL;
}

static struct cores *open_cores(const char *list, struct error *error)
{
	struct cores *c = calloc(1, sizeof(*c));

	if (c == NULL || !open_topology(c)) {
		error_set(error, "could not be read from the system, which has "
				 "to show its CPUs in /sys and /proc");
		cores_free(c);
		return NULL;
	}
	if (list == NULL) {
		list_all(c);
		keep_allowed(c);
		if (c->count == 0) /* the system shows no cores */
			list_set(c, c->allowed);
		c->count = min_u32(c->count, quota_cpus_under(""));
	} else if (!parse(c, list, error)) {
		cores_free(c);
		return NULL;
	}
	assert(c->count > 0);
	return c;
}

struct cores *cores_new(const char *list, char why[STAGES_WHY_BYTES])
{
	struct error error;
	struct cores *c = open_cores(list, &error);

	_Static_assert(sizeof(error.text) <= STAGES_WHY_BYTES, "it is cut");
	if (c == NULL)
		(void)memcpy(why, error.text, sizeof(error.text));
	return c;
}

void cores_free(struct cores *c)
{
	if (c == NULL)
		return;
	free(c->cpus);
	hwloc_bitmap_free(c->allowed);
	if (c->topology != NULL)
		hwloc_topology_destroy(c->topology);
	free(c);
}

uint32_t cores_count(const struct cores *c)
{
	return c->count;
}

uint32_t cores_cpu(const struct cores *c, uint32_t i)
{
	assert(i < c->count);
	return c->cpus[i];
}

bool cores_bind(const struct cores *c, uint32_t first, uint32_t count)
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc();

	assert(count > 0 && first + count <= c->count);
	if (set == NULL)
		return false;
	for (uint32_t i = 0; i < count; i++)
		(void)hwloc_bitmap_set(set, c->cpus[first + i]);
	bool ok =
		hwloc_set_cpubind(c->topology, set, HWLOC_CPUBIND_THREAD) == 0;

	hwloc_bitmap_free(set);
	return ok;
}
