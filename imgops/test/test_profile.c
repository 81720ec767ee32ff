/* SPDX-License-Identifier: MIT */
/*
 * Promises: a profile is put together correctly from its chunks in any order.
 * If chunks are missing or contradict each other, the profile is broken, and no
 * memory is allocated for it.
 */
#include "imgops/formats/jpeg/header.h"

#include "base/test/check.h"
#include "imgops/image.h"
#include "imgops/test/support.h"

#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 20 << 20 };

static struct bytes file_begin(void)
{
	struct bytes f = { malloc(FILE_BYTES_MAX), 2 };

	CHECK(f.data != NULL);
	memcpy(f.data, "\xff\xd8", 2);
	return f;
}

/* Data of `n` bytes, all `value`. */
static void put_chunk(struct bytes *f, uint32_t number, uint32_t count,
		      uint8_t value, size_t n)
{
	uint8_t *to = f->data + f->count;

	CHECK_NUMBER(n + 16, <=, 0xffff);
	CHECK_NUMBER(f->count + n + 18, <=, FILE_BYTES_MAX);
	memcpy(to, "\xff\xe2..ICC_PROFILE", 16);
	to[2] = (uint8_t)((n + 16) >> 8);
	to[3] = (uint8_t)(n + 16);
	to[16] = (uint8_t)number;
	to[17] = (uint8_t)count;
	memset(to + 18, value, n);
	f->count += n + 18;
}

static void put(struct bytes *f, const char *data, size_t count)
{
	memcpy(f->data + f->count, data, count);
	f->count += count;
}

/* The state of `f`, which is freed; only PROFILE_READ may take memory. */
static enum profile_state end_state(struct bytes f)
{
	struct heap h;
	uint8_t *profile = NULL, *whole = realloc(f.data, f.count);
	size_t bytes = 0;
	enum profile_state state;

	CHECK(whole != NULL);
	heap_init(&h);
	state = profile_read(&profile, &bytes, whole, f.count, &h.memory);
	CHECK_NUMBER(h.alloc_count, ==, (state == PROFILE_READ));
	CHECK_NUMBER((profile != NULL), ==, (state == PROFILE_READ));
	if (profile != NULL)
		h.memory.free(h.memory.arg, profile);
	CHECK_NUMBER(h.live_count, ==, 0);
	free(whole);
	return state;
}

static void test_chunks_come_in_any_order(void)
{
	static const uint8_t orders[][3] = {
		{ 1, 2, 3 }, { 3, 1, 2 }, { 2, 3, 1 }, { 3, 2, 1 }
	};

	for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
		struct bytes f = file_begin();
		struct heap h;
		uint8_t *profile;
		size_t bytes;

		heap_init(&h);
		for (uint32_t k = 0; k < 3; k++) {
			put(&f, "\xff\xe1\0\4..", 6); /* others between them */
			put_chunk(&f, orders[i][k], 3,
				  (uint8_t)('a' + orders[i][k]), orders[i][k]);
		}
		enum profile_state state = profile_read(
			&profile, &bytes, f.data, f.count, &h.memory);

		CHECK_NUMBER(state, ==, PROFILE_READ);
		CHECK_NUMBER(bytes, ==, 6);
		CHECK(memcmp(profile, "bccddd", 6) == 0);
		h.memory.free(h.memory.arg, profile);
		free(f.data);
	}
}

static void test_other_markers_are_no_profile(void)
{
	struct bytes f = file_begin();

	put(&f, "\xff\xe2\0\x0fICC_PROFILE\0\1", 17); /* no count */
	put(&f, "\xff\xe2\0\x14ICC-PROFILE\0\1\1....", 22);
	put(&f, "\xff\xe1\0\x14ICC_PROFILE\0\1\1....", 22);
	put(&f, "\xff\xda\0\2", 4);
	put_chunk(&f, 1, 1, 0, 10); /* not in the header */
	CHECK_NUMBER(end_state(f), ==, PROFILE_NONE);
	f = file_begin();
	f.data[1] = 0;
	put_chunk(&f, 1, 1, 0, 10);
	CHECK_NUMBER(end_state(f), ==, PROFILE_NONE);
}

static void test_contradictions_are_broken(void)
{
	static const uint8_t cases[][4] = {
		/* two chunks: number, count, number, count */
		{ 1, 2, 1, 2 }, /* twice */
		{ 1, 3, 2, 3 }, /* one is missing */
		{ 1, 3, 2, 2 }, /* counts differ */
		{ 0, 2, 1, 2 }, { 1, 0, 2, 0 }, { 1, 2, 3, 2 },
		{ 1, 1, 2, 1 }, { 1, 1, 1, 1 }, { 255, 2, 255, 255 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bytes f = file_begin();

		put_chunk(&f, cases[i][0], cases[i][1], 0, 10);
		put_chunk(&f, cases[i][2], cases[i][3], 0, 10);
		CHECK_NUMBER(end_state(f), ==, PROFILE_BROKEN);
	}
	struct bytes f = file_begin();

	put_chunk(&f, 1, 1, 0, 0); /* a chunk of no bytes */
	CHECK_NUMBER(end_state(f), ==, PROFILE_BROKEN);
}

static void test_all_255_chunks_are_read(void)
{
	struct bytes f = file_begin();

	for (uint32_t i = 255; i > 0; i--)
		put_chunk(&f, i, 255, 7, 10000);
	CHECK_NUMBER(end_state(f), ==, PROFILE_READ);
}

static void test_a_profile_has_a_largest_size(void)
{
	for (size_t over = 0; over < 2; over++) {
		struct bytes f = file_begin();

		for (uint32_t i = 1; i <= 128; i++)
			put_chunk(&f, i, 128, 7,
				  PROFILE_BYTES_MAX / 128 + (i == 9) * over);
		CHECK_NUMBER(end_state(f), ==,
			     (over ? PROFILE_BROKEN : PROFILE_READ));
	}
}

static void test_a_cut_chunk_is_missing(void)
{
	struct bytes f = file_begin();

	put_chunk(&f, 1, 2, 0, 10);
	put_chunk(&f, 2, 2, 0, 10);
	f.count--;
	CHECK_NUMBER(end_state(f), ==, PROFILE_BROKEN);
}

static void test_no_memory_is_told(void)
{
	struct bytes f = file_begin();
	struct heap h;
	uint8_t *profile = NULL;
	size_t bytes = 0;

	put_chunk(&f, 1, 1, 0, 10);
	heap_init(&h);
	h.fail_at = 1;
	enum profile_state state =
		profile_read(&profile, &bytes, f.data, f.count, &h.memory);

	CHECK_NUMBER(state, ==, PROFILE_NO_MEMORY);
	CHECK(profile == NULL);
	CHECK_NUMBER(bytes, ==, 0);
	CHECK_NUMBER(h.live_count, ==, 0);
	free(f.data);
}

int main(void)
{
	test_chunks_come_in_any_order();
	test_other_markers_are_no_profile();
	test_contradictions_are_broken();
	test_all_255_chunks_are_read();
	test_a_profile_has_a_largest_size();
	test_a_cut_chunk_is_missing();
	test_no_memory_is_told();
	return 0;
}
