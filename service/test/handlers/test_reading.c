/* SPDX-License-Identifier: MIT */
/* What reads may take: turns in order, and memory of their own. */
#include "service/http/handlers/images/reading.h"

#include "base/test/check.h"
#include "base/util.h"

enum { MIB = 1 << 20, MANY = 1000 };

/* How many turns there are for this number of threads. */
static uint32_t count_turns(uint32_t store_threads)
{
	struct read_turn turns[40];
	struct reading g;
	uint32_t count = 0;

	reading_init(&g, MIB, store_threads, MANY);
	while (count < ARRAY_SIZE(turns) && reading_enter(&g, &turns[count]))
		count++;
	reading_release(&g);
	return count;
}

static void test_threads_are_kept_from_reads(void)
{
	CHECK_NUMBER(count_turns(1), ==, 1); /* the only one */
	CHECK_NUMBER(count_turns(2), ==, 1);
	CHECK_NUMBER(count_turns(4), ==, 3);
	CHECK_NUMBER(count_turns(32), ==, 24);
	CHECK_NUMBER(count_turns(0), ==,
		     40); /* reads have threads of their own */
}

static void test_turns_are_in_order(void)
{
	struct read_turn turns[4];
	struct reading g;

	reading_init(&g, MIB, 2, MANY);
	for (uint32_t i = 0; i < 4; i++) {
		CHECK(reading_admit(&g, false));
		CHECK_NUMBER(reading_enter(&g, &turns[i]), ==, (i == 0));
	}
	for (uint32_t i = 1; i < 4; i++)
		CHECK_NUMBER(reading_leave(&g), ==, &turns[i]);
	CHECK(reading_leave(&g) == NULL);
	CHECK(reading_enter(&g, &turns[0]));
	reading_release(&g);
}

/* Half of the connections are kept from reads, whether these run or wait. */
static void test_reads_do_not_take_all_connections(void)
{
	struct read_turn turns[5];
	struct reading g;

	reading_init(&g, MIB, 2, 9);
	for (uint32_t i = 0; i < 4; i++) {
		CHECK(reading_admit(&g, false));
		CHECK_NUMBER(reading_enter(&g, &turns[i]), ==, (i == 0));
	}
	CHECK(!reading_admit(&g, false));
	CHECK(reading_admit(&g, true)); /* a reply goes on */
	CHECK(!reading_enter(&g, &turns[4]));
	CHECK_NUMBER(reading_leave(&g), ==, &turns[1]);
	CHECK(!reading_admit(&g, false));
	CHECK_NUMBER(reading_leave(&g), ==, &turns[2]);
	CHECK(reading_admit(&g, false));
	reading_release(&g);
}

/* Half of the memory is not for whole pictures. */
static void test_whole_pictures_leave_memory_for_pieces(void)
{
	struct reading g;
	struct charge whole = { .budget = &g.budget },
		      more = { .budget = &g.budget },
		      piece = { .budget = &g.budget };

	reading_init(&g, 8 * MIB, 4, MANY);
	CHECK(!reading_charge_whole(&whole, 4 * MIB + 1));
	CHECK(reading_charge_whole(&whole, 3 * MIB));
	CHECK(!reading_charge_whole(&more, 2 * MIB));
	CHECK_NUMBER(more.bytes, ==, 0);
	CHECK_NUMBER(budget_charge(&piece, reading_piece_bytes(&g)), ==,
		     BUDGET_OK);
	budget_lower(&whole, 0);
	CHECK(reading_charge_whole(&more, 2 * MIB));
	budget_lower(&more, 0);
	budget_lower(&piece, 0);
	reading_release(&g);
}

static uint64_t piece_of(uint64_t bytes_max)
{
	struct reading g;
	uint64_t bytes;

	reading_init(&g, bytes_max, 4, MANY);
	bytes = reading_piece_bytes(&g);
	reading_release(&g);
	return bytes;
}

static void test_pieces_of_a_small_memory_are_small(void)
{
	CHECK_NUMBER(piece_of(128 << 10), ==, 16 << 10);
	CHECK_NUMBER(piece_of(64 * MIB), ==, 128 << 10);
	CHECK_NUMBER(piece_of(512 * MIB), ==, 256 << 10);
}

int main(void)
{
	test_threads_are_kept_from_reads();
	test_turns_are_in_order();
	test_reads_do_not_take_all_connections();
	test_whole_pictures_leave_memory_for_pieces();
	test_pieces_of_a_small_memory_are_small();
	return 0;
}
