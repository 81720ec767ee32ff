/* SPDX-License-Identifier: MIT */
/*
 * Promises: references of one item in several boxes are added up; properties
 * come in their order, from the item's entry alone; tables that would take long
 * to search are refused, and places far behind are not looked for.
 */
#include "base/test/check.h"
#include "imgops/formats/isobmff.h"

#include <string.h>

enum { DIMG = ISOBMFF_NAME('d', 'i', 'm', 'g') };

static uint8_t data[1 << 20];
static size_t count;

static void put(uint64_t number, uint32_t bytes)
{
	CHECK_NUMBER(count + bytes, <=, sizeof(data));
	while (bytes-- > 0)
		data[count++] = (uint8_t)(number >> 8 * bytes);
}

/* Where the box's size is, for end(). */
static size_t begin(const char *type)
{
	size_t at = count;

	put(0, 4);
	memcpy(data + count, type, 4);
	count += 4;
	return at;
}

static void end(size_t at)
{
	size_t all = count;

	count = at;
	put(all - at, 4);
	count = all;
}

static struct isobmff_span whole(void)
{
	return (struct isobmff_span){ data, count, false };
}

static void put_references(uint32_t from, uint32_t targets, uint32_t first)
{
	size_t box = begin("dimg");

	put(from, 2);
	put(targets, 2);
	for (uint32_t i = 0; i < targets; i++)
		put(first + i, 2);
	end(box);
}

static void test_references_are_added_up(void)
{
	struct isobmff_meta m = { 0 };

	count = 0;
	put(0, 4);
	put_references(1, 1, 10);
	put_references(2, 5, 20);
	put_references(1, 3, 11);
	m.references = whole();
	CHECK_NUMBER(isobmff_targets(&m, DIMG, 1), ==, 4);
	CHECK_NUMBER(isobmff_target(&m, DIMG, 1, 0), ==, 10);
	CHECK_NUMBER(isobmff_target(&m, DIMG, 1, 3), ==, 13);
	CHECK_NUMBER(isobmff_target(&m, DIMG, 1, 4), ==, 0);
	CHECK_NUMBER(isobmff_targets(&m, DIMG, 2), ==, 5);
	CHECK_NUMBER(isobmff_target(&m, DIMG, 2, 0), ==, 20);
	CHECK_NUMBER(isobmff_targets(&m, DIMG, 3), ==, 0);
}

/* A picture in "meta", with `properties` of eight bytes each. */
static void put_meta(uint32_t properties, const uint32_t *places,
		     uint32_t place_count, uint32_t table_bytes)
{
	size_t part, inner;

	count = 0;
	put(0, 4);
	part = begin("hdlr");
	put(0, 8);
	put(ISOBMFF_NAME('p', 'i', 'c', 't'), 4);
	end(part);
	part = begin("pitm");
	put(0, 4);
	put(7, 2);
	end(part);
	part = begin("iprp");
	inner = begin("ipco");
	for (uint32_t i = 0; i < properties; i++) {
		size_t box = begin("prop");

		put(i, 4);
		end(box);
	}
	end(inner);
	inner = begin("ipma");
	put(1, 4); /* places of two bytes */
	put(2, 4);
	put(6, 2); /* another item */
	put(1, 1);
	put(1, 2);
	put(7, 2);
	put(place_count, 1);
	for (uint32_t i = 0; i < place_count; i++)
		put(places[i] | 0x8000, 2);
	put(0, 1);
	for (uint32_t i = 0; i < table_bytes; i++)
		put(0, 1);
	end(inner);
	end(part);
}

static void test_properties_come_in_order(void)
{
	static const uint32_t places[] = { 3, 1, 2 };
	struct isobmff_places at;
	struct isobmff_box box;
	struct isobmff_meta m;

	put_meta(3, places, 3, 0);
	CHECK_NUMBER(isobmff_meta_read(&m, whole()), ==, IMG_OK);
	CHECK_NUMBER(m.primary, ==, 7);
	at = isobmff_places(&m, 7);
	for (size_t i = 0; i < 3; i++) {
		bool has = isobmff_property(&box, &m, &at);

		CHECK(has);
		CHECK_NUMBER(isobmff_number(&box.data, 4), ==, places[i] - 1);
	}
	CHECK(!isobmff_property(&box, &m, &at));
	at = isobmff_places(&m, 8);
	CHECK(!isobmff_property(&box, &m, &at));
}

static void test_long_tables_are_refused(void)
{
	static const uint32_t near[] = { 1000 }, far[] = { 1001 };
	struct isobmff_places at;
	struct isobmff_box box;
	struct isobmff_meta m;

	put_meta(1, near, 0, 300 << 10);
	CHECK_NUMBER(isobmff_meta_read(&m, whole()), ==, IMG_ERR_CORRUPT);
	put_meta(1100, near, 1, 0);
	CHECK_NUMBER(isobmff_meta_read(&m, whole()), ==, IMG_OK);
	at = isobmff_places(&m, 7);
	CHECK(isobmff_property(&box, &m, &at));
	put_meta(1100, far, 1, 0);
	CHECK_NUMBER(isobmff_meta_read(&m, whole()), ==, IMG_OK);
	at = isobmff_places(&m, 7);
	CHECK(!isobmff_property(&box, &m, &at));
}

int main(void)
{
	test_references_are_added_up();
	test_properties_come_in_order();
	test_long_tables_are_refused();
	return 0;
}
