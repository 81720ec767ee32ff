/* SPDX-License-Identifier: MIT */
/*
 * Promise: the CPU quota is the least on the way from the process's cgroup to
 * the root, in either version of cgroups, and nonsense sets none.
 *
 * /proc and /sys are files of a temporary directory here.
 */
#include "stages/quota.h"

#include <assert.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char root[] = "/tmp/test_quota-XXXXXX";

static int remove_one(const char *path, const struct stat *s, int type,
		      struct FTW *ftw)
{
	(void)s;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void clear(void)
{
	assert(nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0);
	assert(mkdir(root, 0700) == 0);
}

/* Write `text` to `path` below the root, making its directories. */
static void put(const char *path, const char *text)
{
	char full[512];

	(void)snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *c = full + strlen(root) + 1; *c != '\0'; c++)
		if (*c == '/') {
			*c = '\0';
			(void)mkdir(full, 0700);
			*c = '/';
		}
	FILE *f = fopen(full, "we");

	assert(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
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

	clear();
	put("/proc/self/cgroup", "0::/a\n");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		put("/sys/fs/cgroup/a/cpu.max", cases[i].text);
		assert(quota_cpus_under(root) == cases[i].cpus);
	}
}

static void test_v2_takes_the_least_on_the_way_up(void)
{
	clear();
	put("/proc/self/cgroup", "0::/a/b/c\n");
	put("/sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
	put("/sys/fs/cgroup/a/cpu.max", "300000 100000\n");
	assert(quota_cpus_under(root) == 3);
	put("/sys/fs/cgroup/a/b/cpu.max", "200000 100000\n");
	assert(quota_cpus_under(root) == 2);
	put("/sys/fs/cgroup/cpu.max", "100000 100000\n");
	assert(quota_cpus_under(root) == 1);
	/* A group that is not on the way, and what is above the mount. */
	put("/sys/fs/cgroup/cpu.max", "max 100000\n");
	put("/sys/fs/cgroup/a/x/cpu.max", "100000 100000\n");
	put("/sys/fs/cpu.max", "100000 100000\n");
	put("/cpu.max", "100000 100000\n");
	assert(quota_cpus_under(root) == 2);
}

static void test_v2_reads_the_root_of_a_container(void)
{
	clear();
	put("/proc/self/cgroup", "0::/\n");
	put("/sys/fs/cgroup/cpu.max", "250000 100000\n");
	assert(quota_cpus_under(root) == 3);
	/* The host's path, which the container cannot see. */
	put("/proc/self/cgroup", "0::/docker/0123\n");
	assert(quota_cpus_under(root) == 3);
}

static void test_v1_reads_quota_and_period(void)
{
	clear();
	put("/proc/self/cgroup", "4:memory:/other\n3:cpu,cpuacct:/a/b\n");
	assert(quota_cpus_under(root) == UINT32_MAX);
	put("/sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "-1\n");
	put("/sys/fs/cgroup/cpu/a/b/cpu.cfs_period_us", "100000\n");
	assert(quota_cpus_under(root) == UINT32_MAX);
	put("/sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "350000\n");
	assert(quota_cpus_under(root) == 4);
	put("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "50000\n");
	put("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "50000\n");
	assert(quota_cpus_under(root) == 1);
	/* A quota without its period is none. */
	put("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "");
	assert(quota_cpus_under(root) == 4);
}

static void test_v1_follows_the_cpu_controller_only(void)
{
	clear();
	put("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "100000\n");
	put("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
	put("/proc/self/cgroup", "2:cpuacct:/a\n5:cpuset:/a\n9:name=cpu:/a\n");
	assert(quota_cpus_under(root) == UINT32_MAX);
	put("/proc/self/cgroup", "2:cpuacct,cpu:/a\n");
	assert(quota_cpus_under(root) == 1);
}

static void test_hybrid_takes_the_least_of_both(void)
{
	clear();
	put("/proc/self/cgroup", "1:cpu:/a\n0::/b\n");
	put("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "300000\n");
	put("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
	assert(quota_cpus_under(root) == 3);
	put("/sys/fs/cgroup/b/cpu.max", "200000 100000\n");
	assert(quota_cpus_under(root) == 2);
}

static void test_nonsense_sets_no_limit(void)
{
	static const char *const lines[] = {
		"", "\n", "nonsense\n", "0:\n", "0::\n", "::\n", "0::/../..\n",
	};
	char longest[9000];

	clear();
	assert(quota_cpus_under(root) == UINT32_MAX); /* no file at all */
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		put("/proc/self/cgroup", lines[i]);
		assert(quota_cpus_under(root) == UINT32_MAX);
	}
	(void)memset(longest, 'a', sizeof(longest) - 1);
	(void)memcpy(longest, "0::/", 4);
	longest[sizeof(longest) - 1] = '\0';
	put("/proc/self/cgroup", longest);
	assert(quota_cpus_under(root) == UINT32_MAX);
	assert(quota_cpus_under("/nowhere") == UINT32_MAX);
	longest[0] = '/';
	assert(quota_cpus_under(longest) == UINT32_MAX);
}

static void test_this_system_pays_for_a_cpu_at_least(void)
{
	assert(quota_cpus() >= 1);
}

int main(void)
{
	assert(mkdtemp(root) != NULL);
	test_v2_reads_cpu_max();
	test_v2_takes_the_least_on_the_way_up();
	test_v2_reads_the_root_of_a_container();
	test_v1_reads_quota_and_period();
	test_v1_follows_the_cpu_controller_only();
	test_hybrid_takes_the_least_of_both();
	test_nonsense_sets_no_limit();
	test_this_system_pays_for_a_cpu_at_least();
	clear();
	assert(remove(root) == 0);
	return 0;
}
