/* SPDX-License-Identifier: MIT */
/*
 * Promises: the limit is the least of all groups on the way to the root, in
 * either version of cgroups; a budget leaves the program what it needs.
 *
 * stages/test/test_quota.c checks the way itself.
 */
#include "service/config/memory_limit.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MIB ((uint64_t)1 << 20)

static char root[] = "/tmp/test_memory_limit-XXXXXX";
static const char *const dirs[] = {
	"/proc",
	"/proc/self",
	"/sys",
	"/sys/fs",
	"/sys/fs/cgroup",
	"/sys/fs/cgroup/a",
	"/sys/fs/cgroup/memory",
	"/sys/fs/cgroup/memory/a",
};
static const char *const files[] = {
	"/proc/self/cgroup",
	"/sys/fs/cgroup/memory.max",
	"/sys/fs/cgroup/a/memory.max",
	"/sys/fs/cgroup/memory/memory.limit_in_bytes",
	"/sys/fs/cgroup/memory/a/memory.limit_in_bytes",
};
enum { DIRS = sizeof(dirs) / sizeof(*dirs) };
enum { FILES = sizeof(files) / sizeof(*files) };

static const char *below_root(const char *path)
{
	static char full[256];

	(void)snprintf(full, sizeof(full), "%s%s", root, path);
	return full;
}

/* All files, in the order above; NULL: not there. */
static void put(const char *const texts[FILES])
{
	for (int i = 0; i < FILES; i++) {
		const char *path = below_root(files[i]);

		(void)remove(path);
		if (texts[i] == NULL)
			continue;
		FILE *f = fopen(path, "we");

		assert(f != NULL && fputs(texts[i], f) >= 0 && fclose(f) == 0);
	}
}

static void test_the_least_limit_counts(void)
{
	static const struct {
		const char *texts[FILES];
		uint64_t bytes;
	} cases[] = {
		{ { "0::/a\n", "max\n", "max\n", NULL, NULL }, UINT64_MAX },
		{ { "0::/a\n", "max\n", "1048576\n", NULL, NULL }, MIB },
		{ { "0::/a\n", "1048576\n", "max\n", NULL, NULL }, MIB },
		{ { "0::/\n", "4096\n", "1024\n", NULL, NULL }, 4096 },
		{ { "0::/far\n", "4096\n", NULL, NULL, NULL }, 4096 },
		{ { "3:memory:/a\n", "5", "5", "9223372036854771712\n",
		    "2097152\n" },
		  2 * MIB },
		{ { "3:cpu:/a\n", NULL, NULL, "1\n", "1\n" }, UINT64_MAX },
		{ { "0::/a\n", NULL, "0\n", NULL, NULL }, UINT64_MAX },
		{ { "0::/a\n", NULL, "-1\n", NULL, NULL }, UINT64_MAX },
		{ { NULL, "5\n", "5\n", "5\n", "5\n" }, UINT64_MAX },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		put(cases[i].texts);
		assert(memory_limit_of_groups(root) == cases[i].bytes);
	}
}

static void test_this_system_has_some(void)
{
	assert(memory_limit_bytes() > MIB);
	assert(memory_limit_bytes() < UINT64_MAX);
}

static void test_the_program_has_its_part(void)
{
	uint64_t large = UINT64_C(16384) * MIB;

	assert(memory_budget_bytes(large, 1024) ==
	       (UINT64_C(14336) - 32 - 144) * MIB);
	/* More connections than there is memory for. */
	assert(memory_budget_bytes(160 * MIB, 4096) == 40 * MIB);
	assert(memory_budget_bytes(8 * MIB, 1) == 2 * MIB);
}

int main(void)
{
	assert(mkdtemp(root) != NULL);
	for (int i = 0; i < DIRS; i++)
		assert(mkdir(below_root(dirs[i]), 0700) == 0);
	test_the_least_limit_counts();
	test_this_system_has_some();
	test_the_program_has_its_part();
	put((const char *const[FILES]){ NULL });
	for (int i = DIRS; i-- > 0;)
		assert(remove(below_root(dirs[i])) == 0);
	assert(remove(root) == 0);
	return 0;
}
