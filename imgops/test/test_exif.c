/* SPDX-License-Identifier: MIT */
/*
 * Promise: exif_app1_orientation() finds the orientation in either byte order,
 * and answers 0 to everything else, in time bounded by the marker's length; so
 * does exif_orientation() without the marker's name.  Adobe RGB is found as DCF
 * says it.
 */
#include "base/test/check.h"
#include "imgops/formats/exif.h"
#include "imgops/test/support.h"

#include <stdlib.h>
#include <string.h>

enum { AT_VALUE_BIG = 25, AT_VALUE_LITTLE = 24, AT_TYPE = 19, AT_TAG = 17 };

#define BIG                                                                    \
	"Exif\0\0MM\0*\0\0\0\10\0\1"                                           \
	"\1\22\0\3\0\0\0\1\0\6\0\0\0\0\0\0"
#define LITTLE                                                                 \
	"Exif\0\0II*\0\10\0\0\0\1\0"                                           \
	"\22\1\3\0\1\0\0\0\6\0\0\0\0\0\0\0"

/* Copies to the heap, so that the sanitizers see a read past the end. */
static uint32_t look(const char *data, size_t bytes)
{
	uint8_t *copy = malloc(bytes + 1);
	uint32_t value;

	CHECK(copy != NULL);
	memcpy(copy + 1, data, bytes);
	value = exif_app1_orientation(copy + 1, bytes);
	if (bytes >= 6 && memcmp(copy + 1, "Exif\0", 6) == 0)
		CHECK_NUMBER(exif_orientation(copy + 7, bytes - 6), ==, value);
	free(copy);
	return value;
}

static void test_all_values_in_both_byte_orders(void)
{
	char big[] = BIG, little[] = LITTLE;

	for (int value = 0; value < 256; value++) {
		uint32_t expected = value <= 8 ? (uint32_t)value : 0;

		big[AT_VALUE_BIG] = little[AT_VALUE_LITTLE] = (char)value;
		CHECK_NUMBER(look(big, sizeof(big) - 1), ==, expected);
		CHECK_NUMBER(look(little, sizeof(little) - 1), ==, expected);
	}
}

static void test_a_later_entry_is_found(void)
{
	static const char two[] = "Exif\0\0MM\0*\0\0\0\10\0\2"
				  "\1\17\0\2\0\0\0\1A\0\0\0"
				  "\1\22\0\3\0\0\0\1\0\3\0\0\0\0\0\0";

	CHECK_NUMBER(look(two, sizeof(two) - 1), ==, 3);
}

static void test_a_far_directory_is_found(void)
{
	static const char far[] = "Exif\0\0MM\0*\0\0\0\13xyz\0\1"
				  "\1\22\0\3\0\0\0\1\0\5\0\0";

	CHECK_NUMBER(look(far, sizeof(far) - 1), ==, 5);
}

/* Writes orientation 6 as `bytes` bytes of type `type`. */
static void set_value(char *data, bool is_big, uint8_t type, int bytes)
{
	char *value = data + 24;

	data[is_big ? AT_TYPE : AT_TYPE - 1] = (char)type;
	memset(value, 0, 4);
	value[is_big ? bytes - 1 : 0] = 6;
}

/* TIFF 6.0, section 2; 0: not an integer. */
static const uint8_t sizes[] = {
	[1] = 1, [3] = 2, [4] = 4, [6] = 1, [8] = 2, [9] = 4, [13] = 0
};

static void test_an_integer_of_any_type_is_read_as_its_value(void)
{
	for (uint8_t type = 0; type < ARRAY_SIZE(sizes); type++) {
		char big[] = BIG, little[] = LITTLE;
		int bytes = sizes[type];

		set_value(big, true, type, bytes > 0 ? bytes : 2);
		set_value(little, false, type, bytes > 0 ? bytes : 2);
		CHECK_NUMBER(look(big, sizeof(big) - 1), ==,
			     (bytes > 0 ? 6 : 0));
		CHECK_NUMBER(look(little, sizeof(little) - 1), ==,
			     (bytes > 0 ? 6 : 0));
	}
}

/* A byte after the value is no part of it. */
static void test_only_the_bytes_of_the_type_are_read(void)
{
	for (uint8_t type = 0; type < ARRAY_SIZE(sizes); type++) {
		char big[] = BIG, little[] = LITTLE;

		if (sizes[type] == 0 || sizes[type] == 4)
			continue;
		set_value(big, true, type, sizes[type]);
		set_value(little, false, type, sizes[type]);
		memset(big + 24 + sizes[type], 0x55, 4u - sizes[type]);
		memset(little + 24 + sizes[type], 0x55, 4u - sizes[type]);
		CHECK_NUMBER(look(big, sizeof(big) - 1), ==, 6);
		CHECK_NUMBER(look(little, sizeof(little) - 1), ==, 6);
	}
}

static void test_negative_and_large_values_are_not_orientations(void)
{
	for (uint8_t type = 0; type < ARRAY_SIZE(sizes); type++) {
		char data[] = BIG;

		data[AT_TYPE] = (char)type;
		memset(data + 24, 0xff, 4);
		CHECK_NUMBER(look(data, sizeof(data) - 1), ==, 0);
		/* The lowest byte alone would be 6. */
		memset(data + 24, 0, 4);
		if (sizes[type] > 1) {
			data[24] = 1;
			data[24 + sizes[type] - 1] = 6;
		}
		CHECK_NUMBER(look(data, sizeof(data) - 1), ==, 0);
	}
}

/* Several values that do not fit into the entry are elsewhere. */
static void test_the_first_of_several_values_is_read(void)
{
	static const char inside[] = "Exif\0\0MM\0*\0\0\0\10\0\1"
				     "\1\22\0\3\0\0\0\2\0\6\0\3\0\0\0\0";
	static const char outside[] = "Exif\0\0MM\0*\0\0\0\10\0\1"
				      "\1\22\0\4\0\0\0\2\0\0\0\32\0\0\0\0"
				      "\0\0\0\5\0\0\0\3";
	static const char nowhere[] = "Exif\0\0MM\0*\0\0\0\10\0\1"
				      "\1\22\0\4\0\0\0\2\377\0\0\6\0\0\0\0";

	CHECK_NUMBER(look(inside, sizeof(inside) - 1), ==, 6);
	CHECK_NUMBER(look(outside, sizeof(outside) - 1), ==, 5);
	for (size_t bytes = 28; bytes < 36; bytes++)
		CHECK_NUMBER(look(outside, bytes), ==, 0);
	CHECK_NUMBER(look(nowhere, sizeof(nowhere) - 1), ==, 0);
}

static void test_other_tags_are_not_orientation(void)
{
	char data[] = BIG;

	data[AT_TAG]++;
	CHECK_NUMBER(look(data, sizeof(data) - 1), ==, 0);
}

static void test_other_markers_are_not_exif(void)
{
	static const char *const heads[] = { "Exig\0\0MM\0*", "Exif\0\1MM\0*",
					     "Exif\0\0MI\0*", "Exif\0\0MM*\0",
					     "Exif\0\0II\0*" };

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		char data[] = BIG;

		memcpy(data, heads[i], 10);
		CHECK_NUMBER(look(data, sizeof(data) - 1), ==, 0);
	}
}

static void test_a_cut_marker_is_never_read_past_its_end(void)
{
	static const char big[] = BIG;

	for (size_t bytes = 0; bytes < sizeof(big) - 1; bytes++) {
		uint32_t value = look(big, bytes);

		/* An entry counts only if all of its 12 bytes are there. */
		CHECK_NUMBER(value, ==, (bytes >= 28 ? 6 : 0));
	}
}

static void test_damaged_markers_are_never_read_past_their_end(void)
{
	for (uint32_t i = 0; i < 100000; i++) {
		char data[] = BIG;
		uint32_t r = scramble(i);

		data[6 + r % 26] = (char)(r >> 8);
		data[6 + (r >> 16) % 26] = (char)(r >> 24);
		CHECK_NUMBER(look(data, sizeof(data) - 1), <=, 8);
	}
}

/* 10^6 of these would take minutes if each caused 65,535 rounds. */
static void test_a_false_entry_count_costs_nothing(void)
{
	char data[] = BIG;
	uint32_t found = 0;

	data[14] = data[15] = (char)0xff;
	data[AT_TAG]++;
	for (int i = 0; i < 1000000; i++)
		found += exif_app1_orientation((const uint8_t *)data,
					       sizeof(data) - 1);
	CHECK_NUMBER(found, ==, 0);
}

enum { R03_AT_SPACE = 42, R03_AT_INDEX = 72 };

/* Directories: the first, EXIF's and that of interoperability. */
#define R03_BIG                                                                \
	"Exif\0\0MM\0*\0\0\0\10\0\1"                                           \
	"\207\151\0\4\0\0\0\1\0\0\0\32\0\0\0\0"                                \
	"\0\2\240\1\0\3\0\0\0\1\377\377\0\0"                                   \
	"\240\5\0\4\0\0\0\1\0\0\0\70\0\0\0\0"                                  \
	"\0\1\0\1\0\2\0\0\0\4R03\0\0\0\0\0"
#define R03_LITTLE                                                             \
	"Exif\0\0II*\0\10\0\0\0\1\0"                                           \
	"\151\207\4\0\1\0\0\0\32\0\0\0\0\0\0\0"                                \
	"\2\0\1\240\3\0\1\0\0\0\377\377\0\0"                                   \
	"\5\240\4\0\1\0\0\0\70\0\0\0\0\0\0\0"                                  \
	"\1\0\1\0\2\0\4\0\0\0R03\0\0\0\0\0"

static bool is_adobe_rgb(const char *data, size_t bytes)
{
	uint8_t *copy = malloc(bytes + 1);
	bool is;

	CHECK(copy != NULL);
	memcpy(copy + 1, data, bytes);
	is = exif_app1_is_adobe_rgb(copy + 1, bytes);
	free(copy);
	return is;
}

static void test_adobe_rgb_is_found(void)
{
	static const char *const files[] = { R03_BIG, R03_LITTLE };
	char changed[sizeof(R03_BIG) - 1];

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		memcpy(changed, files[i], sizeof(changed));
		CHECK(is_adobe_rgb(changed, sizeof(changed)));
		/* R98 is sRGB; so is ColorSpace 1, whatever the index. */
		changed[R03_AT_INDEX + 1] = '9';
		CHECK(!is_adobe_rgb(changed, sizeof(changed)));
		memcpy(changed, files[i], sizeof(changed));
		changed[R03_AT_SPACE] = (char)(i == 0 ? 0 : 1);
		changed[R03_AT_SPACE + 1] = (char)(i == 0 ? 1 : 0);
		CHECK(!is_adobe_rgb(changed, sizeof(changed)));
	}
	CHECK(!is_adobe_rgb(BIG, sizeof(BIG) - 1));
}

/* Of all bytes that may be wrong or missing. */
static void test_damaged_directories_end(void)
{
	char changed[sizeof(R03_BIG) - 1];

	for (size_t i = 0; i < sizeof(changed); i++)
		CHECK(!is_adobe_rgb(R03_BIG, i) || i + 4 >= sizeof(changed));
	for (size_t i = 0; i < sizeof(changed); i++)
		for (int value = 0; value < 256; value++) {
			memcpy(changed, R03_LITTLE, sizeof(changed));
			changed[i] = (char)value;
			(void)is_adobe_rgb(changed, sizeof(changed));
		}
}

int main(void)
{
	test_adobe_rgb_is_found();
	test_damaged_directories_end();
	test_all_values_in_both_byte_orders();
	test_a_later_entry_is_found();
	test_a_far_directory_is_found();
	test_an_integer_of_any_type_is_read_as_its_value();
	test_only_the_bytes_of_the_type_are_read();
	test_negative_and_large_values_are_not_orientations();
	test_the_first_of_several_values_is_read();
	test_other_tags_are_not_orientation();
	test_other_markers_are_not_exif();
	test_a_cut_marker_is_never_read_past_its_end();
	test_damaged_markers_are_never_read_past_their_end();
	test_a_false_entry_count_costs_nothing();
	return 0;
}
