/* SPDX-License-Identifier: MIT */
/*
 * Promises of distribution by size: each replica gets one interval of sizes,
 * smallest first, and work in proportion to its cores; if all sizes are equal,
 * every replica gets some; the intervals follow what comes.
 */
#include "base/random.h"
#include "base/test/check.h"
#include "base/util.h"
#include "stages/stage.h"
#include "stages/visit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS_MAX = 64, EVENTS = 200000, LEARN = 20000 };

static struct visit_group group;
static const struct schedule by_size = { .distribute = DISTRIBUTE_SIZE };
static double work_ns[PARTS_MAX], all_ns;
static uint64_t least_ns[PARTS_MAX], most_ns[PARTS_MAX];
static uint32_t counts[PARTS_MAX];

static void forget(void)
{
	all_ns = 0;
	for (uint32_t p = 0; p < PARTS_MAX; p++) {
		work_ns[p] = 0;
		counts[p] = 0;
		least_ns[p] = UINT64_MAX;
		most_ns[p] = 0;
	}
}

static void begin(uint32_t parts, uint32_t cores)
{
	memset(&group, 0, sizeof(group));
	group.schedule = &by_size;
	group.part_count = parts;
	group.core_count = cores;
	forget();
}

static void send(uint64_t ns)
{
	struct event ev = { .left_ns = ns };
	uint32_t p = visit_choose_part(&group, &ev);

	CHECK_NUMBER(p, <, group.part_count);
	counts[p]++;
	all_ns += (double)ns;
	work_ns[p] += (double)ns;
	if (ns < least_ns[p])
		least_ns[p] = ns;
	if (ns > most_ns[p])
		most_ns[p] = ns;
}

/* Cores of a part, as in group.c. */
static uint32_t cores_of(uint32_t p)
{
	return (p + 1) * group.core_count / group.part_count -
	       p * group.core_count / group.part_count;
}

/* From 50 us to 500 ms; the largest quarter has nine tenths of the work. */
static uint64_t draw(struct random *r)
{
	return (uint64_t)(5e4 * pow(1e4, random_uniform(r)));
}

static void test_work_is_divided(uint32_t parts, uint32_t cores)
{
	struct random r;

	random_init(&r, 7, 0);
	begin(parts, cores);
	for (int i = 0; i < LEARN; i++)
		send(draw(&r));
	forget();
	for (int i = 0; i < EVENTS; i++)
		send(draw(&r));
	for (uint32_t p = 0; p < parts; p++) {
		double due = all_ns * cores_of(p) / cores;

		CHECK_NUMBER(work_ns[p], >, 0.75 * due);
		CHECK_NUMBER(work_ns[p], <, 1.35 * due);
		CHECK(p == 0 || least_ns[p - 1] <= least_ns[p]);
		CHECK(p == 0 || most_ns[p - 1] <= most_ns[p]);
	}
}

/* A border between two sizes that make up nearly equal work is kept. */
static void test_few_sizes_are_not_mixed(void)
{
	struct random r;

	random_init(&r, 7, 0);
	begin(2, 2);
	for (int i = 0; i < LEARN; i++)
		send(random_uniform(&r) < 0.01 ? 99000000 : 1000000);
	forget();
	for (int i = 0; i < EVENTS; i++)
		send(random_uniform(&r) < 0.01 ? 99000000 : 1000000);
	CHECK_NUMBER(most_ns[0], ==, 1000000);
	CHECK_NUMBER(least_ns[1], ==, 99000000);
}

static void test_equal_sizes_go_everywhere(void)
{
	begin(8, 8);
	for (int i = 0; i < LEARN; i++)
		send(1000000);
	for (uint32_t p = 0; p < 8; p++)
		CHECK(counts[p] > LEARN / 10 && counts[p] < LEARN / 6);
}

static void test_intervals_follow(void)
{
	begin(2, 2);
	for (int i = 0; i < LEARN; i++)
		send(1000 * (1 + (uint64_t)i % 1000));
	CHECK_NUMBER(most_ns[0], <,
		     800000); /* later than the first few, 707107 */
	for (int i = 0; i < LEARN; i++)
		send(100000 * (1 + (uint64_t)i % 1000));
	forget();
	for (int i = 0; i < LEARN; i++)
		send(100000 * (1 + (uint64_t)i % 1000));
	CHECK_NUMBER(most_ns[0], >, 60000000);
	CHECK_NUMBER(most_ns[0], <, 80000000);
}

/* Sizes of any magnitude; without a prediction, each part in turn. */
static void test_extremes(void)
{
	begin(3, 4);
	for (int i = 0; i < 300; i++)
		send(0);
	for (uint32_t p = 0; p < 3; p++)
		CHECK_NUMBER(counts[p], ==, 100);
	for (int i = 0; i < LEARN; i++)
		send(i % 2 == 0 ? 1 : UINT64_MAX / LEARN);
	forget();
	send(1);
	CHECK_NUMBER(counts[0], ==, 1);

	begin(4, 4);
	for (int i = 0; i < LEARN; i++)
		send(UINT64_MAX / LEARN / 2);
	for (uint32_t p = 0; p < 4; p++)
		CHECK_NUMBER(counts[p], >, 0);
}

int main(void)
{
	static const uint32_t sizes[][2] = { { 2, 2 },  { 2, 3 },  { 3, 4 },
					     { 8, 8 },  { 8, 64 }, { 7, 64 },
					     { 16, 16 } };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		test_work_is_divided(sizes[i][0], sizes[i][1]);
	test_few_sizes_are_not_mixed();
	test_equal_sizes_go_everywhere();
	test_intervals_follow();
	test_extremes();
	return 0;
}
