/* SPDX-License-Identifier: MIT */
/*
 * Promises: every segment of a JPEG is found once, at its place; entropy-coded
 * data and garbage are skipped; any bytes are walked in linear time, without
 * reading outside of them.
 */
#include "base/test/check.h"
#include "imgops/formats/jpeg/markers.h"
#include "imgops/test/support.h"

#include <stdlib.h>
#include <string.h>

#define BYTES(text) (const uint8_t *)(text), sizeof(text) - 1

/* The codes found in `count` bytes, in hexadecimal, spaced. */
static const char *walk(const uint8_t *data, size_t count)
{
	static char codes[1000];
	uint8_t *copy = malloc(count + 1); /* sanitizers notice overruns */
	struct markers w;
	struct marker m;
	size_t length = 0;

	CHECK(copy != NULL);
	memcpy(copy + 1, data, count);
	codes[0] = '\0';
	if (!markers_start(&w, copy + 1, count))
		strcpy(codes, "none");
	else
		while (markers_next(&w, &m)) {
			CHECK_NUMBER(m.bytes, <=, count);
			length += (size_t)snprintf(codes + length,
						   sizeof(codes) - length,
						   "%02x ", m.code);
		}
	free(copy);
	return codes;
}

static bool finds(const char *expected, const uint8_t *data, size_t count)
{
	return strcmp(walk(data, count), expected) == 0;
}

static void test_a_jpeg_begins_with_soi(void)
{
	CHECK(finds("none", BYTES("")));
	CHECK(finds("none", BYTES("\xff")));
	CHECK(finds("none", BYTES("\xff\xd9\xff\xd8")));
	CHECK(finds("none", BYTES("\xfe\xd8\xff\xd8")));
	CHECK(finds("", BYTES("\xff\xd8")));
	CHECK(finds("d9 ", BYTES("\xff\xd8\xff\xd9")));
}

static void test_segments_are_skipped_by_their_length(void)
{
	CHECK(finds("e0 fe d9 ", BYTES("\xff\xd8\xff\xe0\0\4\xff\xd9"
				       "\xff\xfe\0\2\xff\xd9")));
	/* Markers that stand alone have no length. */
	CHECK(finds("01 d3 d8 d9 ",
		    BYTES("\xff\xd8\xff\x01\xff\xd3\xff\xd8\xff\xd9")));
	/* A length below 2 is taken as no data. */
	CHECK(finds("e1 e2 d9 ", BYTES("\xff\xd8\xff\xe1\0\0\xff\xe2\0\1"
				       "\xff\xd9")));
}

static void test_nothing_follows_eoi(void)
{
	CHECK(finds("d9 ", BYTES("\xff\xd8\xff\xd9\xff\xd8\xff\xd9")));
}

static void test_a_cut_segment_is_not_seen(void)
{
	CHECK(finds("", BYTES("\xff\xd8\xff\xe0")));
	CHECK(finds("", BYTES("\xff\xd8\xff\xe0\0")));
	CHECK(finds("", BYTES("\xff\xd8\xff\xe0\0\3")));
	CHECK(finds("e0 ", BYTES("\xff\xd8\xff\xe0\0\3a")));
	CHECK(finds("e0 ", BYTES("\xff\xd8\xff\xe0\0\3a\xff")));
	/*
	 * The bytes end within a segment: nothing is found, although it
	 * contains an EOI.
	 */
	CHECK(finds("", BYTES("\xff\xd8\xff\xe0\0\7\xff\xd9")));
}

static void test_garbage_and_fill_bytes_are_skipped(void)
{
	CHECK(finds("e0 d9 ", BYTES("\xff\xd8  \xff\0 \xff\xff\xff\xe0\0\2"
				    "\0\xff\xff\xff\0\xff\xd9")));
}

static void test_entropy_coded_data_are_skipped(void)
{
	CHECK(finds("da c4 da d9 ",
		    BYTES("\xff\xd8\xff\xda\0\3\1 data \xff\0\xff\xd0 more"
			  "\xff\xff\0\xff\xd7\xff\xff\xc4\0\2\xff\xda\0\2"
			  "\xff\xd9")));
	/* RSTn is data only after SOS. */
	CHECK(finds("c4 d0 d9 ", BYTES("\xff\xd8\xff\xc4\0\2\xff\xd0"
				       "\xff\xd9")));
	CHECK(finds("da c4 d0 d9 ", BYTES("\xff\xd8\xff\xda\0\2\xff\xc4\0\2"
					  "\xff\xd0\xff\xd9")));
	CHECK(finds("da ", BYTES("\xff\xd8\xff\xda\0\2data\xff")));
}

static void test_a_marker_knows_its_place(void)
{
	static const uint8_t data[] = "\xff\xd8\xff\xff\xe2\0\5abc\xff\xd9";
	struct markers w;
	struct marker m;
	bool ok = markers_start(&w, data, sizeof(data) - 1);

	ok = ok && markers_next(&w, &m);
	CHECK(ok);
	CHECK_NUMBER(m.code, ==, MARKER_APP2);
	CHECK_NUMBER(m.start, ==, data + 3);
	CHECK_NUMBER(m.data, ==, data + 7);
	CHECK_NUMBER(m.bytes, ==, 3);
	CHECK(marker_begins(&m, "abc", 3));
	CHECK(marker_begins(&m, "", 0));
	CHECK(!marker_begins(&m, "abd", 3));
	CHECK(!marker_begins(&m, "abc\xff", 4));
	ok = markers_next(&w, &m);
	CHECK(ok);
	CHECK_NUMBER(m.code, ==, MARKER_EOI);
	CHECK_NUMBER(m.start, ==, data + 10);
	CHECK_NUMBER(m.bytes, ==, 0);
	CHECK_NUMBER(w.at, ==, data + sizeof(data) - 1);
}

/* With this number of bytes, a walk in quadratic time would not end. */
static void test_any_bytes_take_linear_time(void)
{
	static const uint8_t units[][4] = {
		{ 0xff, 0xff, 0xff, 0xff },
		{ 0xff, 0, 0xff, 0 },
		{ 0, 0, 0, 0 },
		{ 0xff, 0xd0, 0xff, 0xd7 },
		{ 0xff, 0xe1, 0, 2 },
		{ 0xff, 0xe1, 0, 0 },
		{ 0xff, 0xda, 0, 2 },
		{ 0xff, 0xda, 0xff, 0xda },
	};
	size_t count = 32 << 20;
	uint8_t *data = malloc(count);

	CHECK(data != NULL);
	for (size_t u = 0; u < ARRAY_SIZE(units); u++) {
		struct markers w;
		struct marker m;
		size_t found = 0;
		bool ok;

		for (size_t i = 0; i < count; i += 4)
			memcpy(data + i, units[u], 4);
		data[0] = 0xff;
		data[1] = 0xd8;
		ok = markers_start(&w, data, count);
		CHECK(ok);
		while (markers_next(&w, &m))
			found++;
		CHECK_NUMBER(w.at, ==, w.end);
		CHECK_NUMBER(w.at, ==, data + count);
		if (u == 4)
			CHECK_NUMBER(found, ==, count / 4 - 1);
	}
	free(data);
}

static void test_long_data_pause(void)
{
	enum { PAIRS = 1 << 20 };
	uint8_t *data = malloc(4 + 2 * PAIRS);
	struct markers w = { .at = data,
			     .end = data + 4 + 2 * PAIRS,
			     .in_scan = true };
	struct marker m;
	struct heap h;
	bool ok;

	CHECK(data != NULL);
	heap_init(&h);
	for (size_t i = 0; i < 2 * PAIRS; i += 2)
		memcpy(data + i, "\xff\xd0", 2);
	memcpy(data + 2 * PAIRS, "\xff\xd9", 2);
	w.memory = &h.memory;
	ok = markers_next(&w, &m);
	CHECK(ok);
	CHECK_NUMBER(m.code, ==, MARKER_EOI);
	CHECK_NUMBER(h.pause_count, >=, 2 * PAIRS >> 19);
	free(data);
}

int main(void)
{
	test_a_jpeg_begins_with_soi();
	test_segments_are_skipped_by_their_length();
	test_nothing_follows_eoi();
	test_a_cut_segment_is_not_seen();
	test_garbage_and_fill_bytes_are_skipped();
	test_entropy_coded_data_are_skipped();
	test_a_marker_knows_its_place();
	test_any_bytes_take_linear_time();
	test_long_data_pause();
	return 0;
}
