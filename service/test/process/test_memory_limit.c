/* SPDX-License-Identifier: MIT */
/*
 * The default of --memory: the limit is the least of all groups on the way to
 * the root, in either version of cgroups; the budget leaves the program what it
 * needs.
 *
 * stages/test/test_quota.c checks how the groups on this way are found.
 */
#include "service/config/options.c"

#include "base/test/check.h"
#include "base/test/scratch.h"

#define MIB ((uint64_t)1 << 20)

static struct scratch scratch;
static const char *const files[] = {
	"proc/self/cgroup",
	"sys/fs/cgroup/memory.max",
	"sys/fs/cgroup/a/memory.max",
	"sys/fs/cgroup/memory/memory.limit_in_bytes",
	"sys/fs/cgroup/memory/a/memory.limit_in_bytes",
};
enum { FILES = ARRAY_SIZE(files) };

/* Write all files, in the order above; NULL: the file is missing. */
static void put(const char *const texts[FILES])
{
	scratch_clear(&scratch);
	for (int i = 0; i < FILES; i++)
		if (texts[i] != NULL)
			scratch_write_text(&scratch, files[i], texts[i]);
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

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		check_case("cases[%zu]", i);
		put(cases[i].texts);
		CHECK_NUMBER(memory_limit_of_groups(scratch.dir), ==,
			     cases[i].bytes);
	}
}

static void test_this_system_has_some(void)
{
	CHECK_NUMBER(memory_limit_bytes(), >, MIB);
	CHECK_NUMBER(memory_limit_bytes(), <, UINT64_MAX);
}

static void test_the_program_has_its_part(void)
{
	uint64_t large = UINT64_C(16384) * MIB;

	CHECK_NUMBER(memory_budget_bytes(large, 1024), ==,
		     (UINT64_C(14336) - 32 - 152) * MIB);
	/* More connections than there is memory for. */
	CHECK_NUMBER(memory_budget_bytes(160 * MIB, 4096), ==, 40 * MIB);
	CHECK_NUMBER(memory_budget_bytes(8 * MIB, 1), ==, 2 * MIB);
}

int main(void)
{
	scratch_init(&scratch);
	test_the_least_limit_counts();
	test_this_system_has_some();
	test_the_program_has_its_part();
	scratch_release(&scratch);
	return 0;
}
