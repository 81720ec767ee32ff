/* SPDX-License-Identifier: MIT */
/*
 * Promise: the CPU quota is the least of those from the process's cgroup up to
 * the root, in either version of cgroups; an invalid file sets no quota.
 *
 * /proc and /sys are files of a temporary directory here.
 */
#include "stages/cores.c"

#include "base/test/check.h"
#include "base/util.h"
#include "base/test/scratch.h"

#include <string.h>

static struct scratch scratch;

/* Write `text` to `path`, below the folder that stands for the root. */
static void put(const char *path, const char *text)
{
	scratch_write_text(&scratch, path + 1, text);
}

static void test_v2_reads_cpu_max(void)
{
	static const struct {
		const char *text;
		uint32_t cpus;
	} cases[] = {
		{ "max 100000\n", UINT32_MAX },
		{ "100000 100000\n", 1 },
		{ "200000 100000\n", 2 },
		{ "150000 100000\n", 2 }, /* rounded up */
		{ "1000 100000\n", 1 },
		{ "", UINT32_MAX },
		{ "100000\n", UINT32_MAX },
		{ "0 100000\n", UINT32_MAX },
		{ "-1 100000\n", UINT32_MAX },
		{ "100000 0\n", UINT32_MAX },
		{ "100000 -5\n", UINT32_MAX },
		{ "two cpus\n", UINT32_MAX },
		{ "9223372036854775807 9223372036854775807\n", 1 },
		{ "9223372036854775807 1\n", UINT32_MAX },
		{ "99999999999999999999999 1\n", UINT32_MAX },
	};

	scratch_clear(&scratch);
	put("/proc/self/cgroup", "0::/a\n");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		check_case("cases[%zu]: %s", i, cases[i].text);
		put("/sys/fs/cgroup/a/cpu.max", cases[i].text);
		CHECK_NUMBER(quota_cpus_under(scratch.dir), ==, cases[i].cpus);
	}
}

static void test_v2_takes_the_least_on_the_way_up(void)
{
	scratch_clear(&scratch);
	put("/proc/self/cgroup", "0::/a/b/c\n");
	put("/sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
	put("/sys/fs/cgroup/a/cpu.max", "300000 100000\n");
	CHECK_NUMBER(quota_cpus_under(scratch.dir), ==, 3);
	put("/sys/fs/cgroup/a/b/cpu.max", "200000 100000\n");
	CHECK_NUMBER(quota_cpus_under(scratch.dir), ==, 2);
	put("/sys/fs/cgroup/cpu.max", "100000 100000\n");
	CHECK_NUMBER(quota_cpus_under(scratch.dir), ==, 1);
	/*
	 * A cgroup beside the path, and a file above the mount, have no effect.
	 */
	put("/sys/fs/cgroup/cpu.max", "max 100000\n");
	put("/sys/fs/cgroup/a/x/cpu.max", "100000 100000\n");
	put("/sys/fs/cpu.max", "100000 100000\n");
	put("/cpu.max", "100000 100000\n");
	CHECK_NUMBER(quota_cpus_under(scratch.dir), ==, 2);
}

static void test_v2_reads_the_root_of_a_container(void)
{
	scratch_clear(&scratch);
	put("/proc/self/cgroup", "0::/\n");
	put("/sys/fs/cgroup/cpu.max", "250000 100000\n");
	CHECK_NUMBER(quota_cpus_under(scratch.dir), ==, 3);
	/* The host's path, which the container cannot see. */
	put("/proc/self/cgroup", "0::/docker/0123\n");
	CHECK_NUMBER(quota_cpus_under(scratch.dir), ==, 3);
}

static void test_v1_reads_quota_and_period(void)
{
	scratch_clear(&scratch);
	put("/proc/self/cgroup", "4:memory:/other\n3:cpu,cpuacct:/a/b\n");
	CHECK_NUMBER(quota_cpus_under(scratch.dir), ==, UINT32_MAX);
	put("/sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "-1\n");
	put("/sys/fs/cgroup/cpu/a/b/cpu.cfs_period_us", "100000\n");
	CHECK_NUMBER(quota_cpus_under(scratch.dir), ==, UINT32_MAX);
	put("/sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "350000\n");
	CHECK_NUMBER(quota_cpus_under(scratch.dir), ==, 4);
	put("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "50000\n");
	put("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "50000\n");
	CHECK_NUMBER(quota_cpus_under(scratch.dir), ==, 1);
	/* A quota without its period is ignored. */
	put("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "");
	CHECK_NUMBER(quota_cpus_under(scratch.dir), ==, 4);
}

static void test_v1_follows_the_cpu_controller_only(void)
{
	scratch_clear(&scratch);
	put("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "100000\n");
	put("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
	put("/proc/self/cgroup", "2:cpuacct:/a\n5:cpuset:/a\n9:name=cpu:/a\n");
	CHECK_NUMBER(quota_cpus_under(scratch.dir), ==, UINT32_MAX);
	put("/proc/self/cgroup", "2:cpuacct,cpu:/a\n");
	CHECK_NUMBER(quota_cpus_under(scratch.dir), ==, 1);
}

static void test_hybrid_takes_the_least_of_both(void)
{
	scratch_clear(&scratch);
	put("/proc/self/cgroup", "1:cpu:/a\n0::/b\n");
	put("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "300000\n");
	put("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
	CHECK_NUMBER(quota_cpus_under(scratch.dir), ==, 3);
	put("/sys/fs/cgroup/b/cpu.max", "200000 100000\n");
	CHECK_NUMBER(quota_cpus_under(scratch.dir), ==, 2);
}

static void test_nonsense_sets_no_limit(void)
{
	static const char *const lines[] = {
		"", "\n", "nonsense\n", "0:\n", "0::\n", "::\n", "0::/../..\n",
	};
	char longest[9000];

	scratch_clear(&scratch);
	CHECK_NUMBER(quota_cpus_under(scratch.dir), ==,
		     UINT32_MAX); /* no file at all */
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		put("/proc/self/cgroup", lines[i]);
		CHECK_NUMBER(quota_cpus_under(scratch.dir), ==, UINT32_MAX);
	}
	(void)memset(longest, 'a', sizeof(longest) - 1);
	(void)memcpy(longest, "0::/", 4);
	longest[sizeof(longest) - 1] = '\0';
	put("/proc/self/cgroup", longest);
	CHECK_NUMBER(quota_cpus_under(scratch.dir), ==, UINT32_MAX);
	CHECK_NUMBER(quota_cpus_under("/nowhere"), ==, UINT32_MAX);
	longest[0] = '/';
	CHECK_NUMBER(quota_cpus_under(longest), ==, UINT32_MAX);
}

static void test_this_system_pays_for_a_cpu_at_least(void)
{
	CHECK_NUMBER(quota_cpus_under(""), >=, 1);
}

int main(void)
{
	scratch_init(&scratch);
	test_v2_reads_cpu_max();
	test_v2_takes_the_least_on_the_way_up();
	test_v2_reads_the_root_of_a_container();
	test_v1_reads_quota_and_period();
	test_v1_follows_the_cpu_controller_only();
	test_hybrid_takes_the_least_of_both();
	test_nonsense_sets_no_limit();
	test_this_system_pays_for_a_cpu_at_least();
	scratch_release(&scratch);
	return 0;
}
