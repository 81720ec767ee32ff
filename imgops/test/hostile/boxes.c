/* SPDX-License-Identifier: MIT */
#include "imgops/test/hostile/boxes.h"

#include "base/test/check.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD_BYTES = 8 };

/* What is before the boxes in a box.  SIZE_MAX: it has none. */
static size_t inner_at(const char *type)
{
	static const struct {
		char type[5];
		size_t at;
	} kinds[] = { { "meta", 4 }, { "iref", 4 }, { "iinf", 6 },
		      { "iprp", 0 }, { "ipco", 0 }, { "moov", 0 },
		      { "trak", 0 }, { "mdia", 0 }, { "minf", 0 },
		      { "stbl", 0 } };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(type, kinds[i].type) == 0)
			return kinds[i].at;
	return SIZE_MAX;
}

/* Boxes within others come after these. */
static void find_boxes(struct seed *s)
{
	size_t at = 0, end = s->file.count;

	for (uint32_t outer = 0; outer == 0 || outer <= s->part_count;
	     outer++) {
		if (outer > 0) {
			const struct part *p = &s->parts[outer - 1];
			size_t inner = inner_at(p->name);

			end = p->at + p->bytes;
			at = inner == SIZE_MAX ? end : p->data_at + inner;
		}
		while (at < end) {
			size_t bytes = (size_t)bytes_number(s->file.data + at,
							    4, false);
			char type[5] = { 0 };
			struct part *p;

			memcpy(type, s->file.data + at + 4, 4);
			p = seed_part(s, type, at, bytes);
			p->data_at = at + HEAD_BYTES;
			p->size_at = at;
			p->size_bytes = 4;
			p->name_at = at + 4;
			p->is_inner = outer > 0;
			at += bytes;
		}
	}
}

struct seed boxes_seed(const char *name, struct bytes file)
{
	struct seed s = seed_of(name, file);

	find_boxes(&s);
	return s;
}

/* The sides of "ispe" together. */
static void try_sizes(struct hostile *h, const struct seed *s)
{
	static const uint32_t sides[][2] = {
		{ 16, 12 },
		{ 24, 32 },
		{ 31, 24 },
		{ 33, 24 },
		{ 64, 48 },
		{ 1024, 1024 },
		{ 1024, 1025 },
		{ 65500, 16 },
		{ 65501, 1 },
		{ 65536, 65536 },
		{ UINT32_MAX, UINT32_MAX },
	};

	for (size_t i = 0; i < ARRAY_SIZE(sides); i++) {
		uint8_t size[8];

		bytes_put_number(size, sides[i][0], 4, false);
		bytes_put_number(size + 4, sides[i][1], 4, false);
		hostile_try(h, s->name,
			    bytes_set(s->file,
				      seed_find(s, "ispe")->data_at + 4, size,
				      8),
			    "says-%ux%u", sides[i][0], sides[i][1]);
	}
}

static void add_to(struct bytes file, size_t at, size_t more)
{
	bytes_put_number(file.data + at,
			 bytes_number(file.data + at, 4, false) + more, 4,
			 false);
}

/* Insert bytes before the only picture, whose place is made right. */
static struct bytes shifted(const struct seed *s, size_t at, const void *data,
			    size_t count)
{
	size_t place = seed_find(s, "iloc")->data_at + 14;
	struct bytes b = bytes_insert(s->file, at, data, count);

	CHECK(at != place);
	add_to(b, at < place ? place + count : place, count);
	return b;
}

/* The picture's colours become a profile, at the end of "ipco". */
static struct bytes put_profile(const struct seed *s, const void *data,
				size_t count)
{
	static const uint8_t head[] = "\0\0\0\0colrprof";
	enum { PROFILE_HEAD_BYTES = 12 };
	const struct part *ipco = seed_find(s, "ipco");
	struct bytes box = bytes_of(head, PROFILE_HEAD_BYTES);
	struct bytes whole = bytes_insert(box, box.count, data, count), file;
	uint8_t *properties;

	bytes_put_number(whole.data, whole.count, 4, false);
	file = shifted(s, ipco->at + ipco->bytes, whole.data, whole.count);
	add_to(file, ipco->at, whole.count);
	add_to(file, seed_find(s, "iprp")->at, whole.count);
	add_to(file, seed_find(s, "meta")->at, whole.count);
	/* How many they are, and the place of each. */
	properties =
		file.data + seed_find(s, "ipma")->data_at + whole.count + 10;
	CHECK_NUMBER(properties[properties[0]], ==, properties[0]);
	properties[properties[0]]++;
	free(box.data);
	free(whole.data);
	return file;
}

/* Many boxes, and boxes in boxes, before "meta". */
static void try_many(struct hostile *h, const struct seed *s)
{
	enum { MANY = 30000 };
	size_t at = seed_find(s, "meta")->at, count = MANY * HEAD_BYTES;
	uint8_t *all = malloc(count);

	CHECK(all != NULL);
	for (size_t i = 0; i < MANY; i++)
		memcpy(all + i * HEAD_BYTES, "\0\0\0\10free", HEAD_BYTES);
	hostile_try(h, s->name, shifted(s, at, all, count),
		    "30000-empty-boxes");
	for (size_t i = 0; i < MANY; i++) {
		memcpy(all + i * HEAD_BYTES, "\0\0\0\0iprp", HEAD_BYTES);
		bytes_put_number(all + i * HEAD_BYTES, count - i * HEAD_BYTES,
				 4, false);
	}
	hostile_try(h, s->name, shifted(s, at, all, count),
		    "30000-boxes-in-boxes");
	for (size_t i = 0; i < MANY; i++)
		memcpy(all + i * HEAD_BYTES, "\0\0\0\10ispe", HEAD_BYTES);
	bytes_put_number(all, count, 4, false);
	memcpy(all + 4, "meta", 4);
	hostile_try(h, s->name, shifted(s, at, all, count),
		    "meta-of-30000-boxes-first");
	free(all);
}

static void try_boxes(struct hostile *h, const struct seed *s)
{
	static const struct {
		const char *name, *text;
		size_t count;
	} boxes[] = {
		{ "meta-empty-first", "\0\0\0\14meta\0\0\0\0", 12 },
		{ "free-of-64-bits", "\0\0\0\1free\0\0\0\0\0\0\0\20", 16 },
		{ "free-of-0-in-64-bits", "\0\0\0\1free\0\0\0\0\0\0\0\0", 16 },
		{ "free-of-7-bytes", "\0\0\0\7free", 8 },
		{ "free-to-the-end", "\0\0\0\0free", 8 },
		{ "moov-empty", "\0\0\0\10moov", 8 },
		{ "mdat-first", "\0\0\0\10mdat", 8 },
		{ "ftyp-again", "\0\0\0\14ftypheic", 12 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(boxes); i++)
		hostile_try(h, s->name,
			    shifted(s, seed_find(s, "meta")->at, boxes[i].text,
				    boxes[i].count),
			    "%s", boxes[i].name);
}

void boxes_mutate(struct hostile *h, const struct seed *s)
{
	struct seed profile = *s;

	try_sizes(h, s);
	try_boxes(h, s);
	try_many(h, s);
	/* Without the codes of colours, which the profile replaces. */
	profile.name = "profile";
	hostile_try(h, profile.name, put_profile(s, "", 0), "intact");
	mutate_profile(h, &profile, put_profile);
}
