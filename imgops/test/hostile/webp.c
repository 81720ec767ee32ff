/* SPDX-License-Identifier: MIT */
/*
 * Hostile WebPs.  The size of the container is made right after a change,
 * except where a name says otherwise.
 */
#include "imgops/test/hostile/hostile.h"

#include "base/test/check.h"
#include "imgops/test/webps.h"

#include <stdlib.h>
#include <string.h>

enum {
	RIFF_BYTES = 12,
	HEAD_BYTES = 8,
	FRAME_HEAD_BYTES = 16,
	EXTENDED_BYTES = HEAD_BYTES + 10,
};

/* Flags of VP8X. */
enum { ANIMATED = 2, XMP = 4, EXIF = 8, ALPHA = 16, ICC = 32 };

static void repair(struct bytes file)
{
	if (file.count >= HEAD_BYTES)
		bytes_put_number(file.data + 4, file.count - HEAD_BYTES, 4,
				 true);
}

/* The chunks from `at` to before `end`. */
static void find_chunks(struct seed *s, size_t at, size_t end, bool is_inner)
{
	while (at < end) {
		uint64_t bytes = bytes_number(s->file.data + at + 4, 4, true);
		char letters[5] = { 0 };
		struct part *p;

		memcpy(letters, s->file.data + at, 4);
		if (letters[3] == ' ')
			letters[3] = '\0';
		p = seed_part(s, letters, at,
			      HEAD_BYTES + (size_t)(bytes + bytes % 2));
		p->data_at = at + HEAD_BYTES;
		p->size_at = at + 4;
		p->size_bytes = 4;
		p->name_at = at;
		p->is_inner = is_inner;
		at = p->at + p->bytes;
		if (strcmp(letters, "ANMF") == 0)
			find_chunks(s, p->data_at + FRAME_HEAD_BYTES, at, true);
	}
}

static struct seed open_seed(const struct hostile *h, const char *name)
{
	struct seed s = seed_of(name, hostile_seed(h, name));
	struct part *p = seed_part(&s, "RIFF", 0, RIFF_BYTES);

	p->data_at = HEAD_BYTES;
	s.is_little_endian = true;
	s.repair = repair;
	find_chunks(&s, RIFF_BYTES, s.file.count, false);
	return s;
}

/* --- Chunks --- */

/* A chunk of a name and data. */
static struct bytes chunk_of(const char *name, const void *data, size_t count)
{
	struct bytes head, whole;
	uint8_t size[4];

	bytes_put_number(size, count, 4, true);
	head = bytes_of(name, 4);
	whole = bytes_insert(head, 4, size, 4);
	free(head.data);
	head = bytes_insert(whole, HEAD_BYTES, data, count);
	free(whole.data);
	whole = bytes_insert(head, head.count, "", count % 2);
	free(head.data);
	return whole;
}

static struct bytes joined(struct bytes first, struct bytes second)
{
	struct bytes b =
		bytes_insert(first, first.count, second.data, second.count);

	free(first.data);
	free(second.data);
	return b;
}

static struct bytes riff_of(struct bytes chunks)
{
	struct bytes b =
		joined(bytes_of("RIFF\0\0\0\0WEBP", RIFF_BYTES), chunks);

	repair(b);
	return b;
}

static struct bytes extended_of(uint8_t flags, uint32_t width, uint32_t height)
{
	uint8_t data[10] = { flags };

	bytes_put_number(data + 4, width - 1, 3, true);
	bytes_put_number(data + 7, height - 1, 3, true);
	return chunk_of("VP8X", data, sizeof(data));
}

/* The chunks of a seed behind VP8X, or all. */
static struct bytes picture_of(const struct seed *s)
{
	size_t at = RIFF_BYTES;

	if (memcmp(s->file.data + at, "VP8X", 4) == 0)
		at += EXTENDED_BYTES;
	return bytes_of(s->file.data + at, s->file.count - at);
}

static struct bytes frame_of(const uint32_t place[4], struct bytes picture)
{
	uint8_t data[FRAME_HEAD_BYTES] = { 0 };
	struct bytes inner, b;

	bytes_put_number(data, place[0] / 2, 3, true);
	bytes_put_number(data + 3, place[1] / 2, 3, true);
	bytes_put_number(data + 6, place[2] - 1, 3, true);
	bytes_put_number(data + 9, place[3] - 1, 3, true);
	inner = joined(bytes_of(data, sizeof(data)), picture);
	b = chunk_of("ANMF", inner.data, inner.count);
	free(inner.data);
	return b;
}

/* --- What VP8X says --- */

static void try_canvas(struct hostile *h, const struct seed *s)
{
	static const uint32_t sides[][2] = {
		{ 1, 1 },       { 39, 24 },       { 41, 24 },
		{ 40, 23 },     { 40, 25 },       { 24, 40 },
		{ 1024, 1024 }, { 1024, 1025 },   { 65500, 16 },
		{ 65501, 1 },   { 16384, 16384 }, { 16777216, 16777216 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(sides); i++)
		hostile_try(
			h, s->name,
			riff_of(joined(extended_of(0, sides[i][0], sides[i][1]),
				       picture_of(s))),
			"canvas-of-%ux%u", sides[i][0], sides[i][1]);
}

static void try_flags(struct hostile *h, const struct seed *s)
{
	static const struct {
		const char *name;
		uint8_t flags;
	} kinds[] = {
		{ "0", 0 },
		{ "alpha", ALPHA },
		{ "animated", ANIMATED },
		{ "EXIF", EXIF },
		{ "ICC", ICC },
		{ "XMP", XMP },
		{ "all", 0xff },
		{ "reserved", 0xc1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		hostile_try(h, s->name,
			    riff_of(joined(extended_of(kinds[i].flags, 40, 24),
					   picture_of(s))),
			    "flags-%s", kinds[i].name);
	hostile_try(h, s->name, riff_of(extended_of(0, 40, 24)), "VP8X-alone");
	hostile_try(h, s->name,
		    riff_of(joined(picture_of(s), extended_of(0, 40, 24))),
		    "VP8X-last");
}

/* --- Simple files --- */

static const struct number lossy_numbers[] = {
	{ "RIFF", "WEBP", 0, 4 },      { "VP8", "tag", 0, 3 },
	{ "VP8", "start-code", 3, 3 }, { "VP8", "width", 6, 2 },
	{ "VP8", "height", 8, 2 },
};

static void try_lossy(struct hostile *h)
{
	struct seed s = open_seed(h, "lossy");
	struct seed unrepaired = s;

	mutate_nothing(h, &s);
	mutate_cuts(h, &s);
	mutate_parts(h, &s);
	mutate_numbers(h, &s, lossy_numbers, ARRAY_SIZE(lossy_numbers));
	mutate_all_bits(h, &s, "VP8", 0, 24);
	mutate_bits(h, &s, "VP8", 16);
	mutate_ends(h, &s);
	unrepaired.repair = NULL;
	unrepaired.parts[0].size_at = 4;
	unrepaired.parts[0].size_bytes = 4;
	unrepaired.part_count = 1;
	unrepaired.parts[0].is_inner = true;
	mutate_parts(h, &unrepaired);
	try_canvas(h, &s);
	try_flags(h, &s);
	seed_free(&s);
}

static void try_lossless(struct hostile *h)
{
	struct seed s = open_seed(h, "lossless");

	mutate_nothing(h, &s);
	mutate_cuts(h, &s);
	mutate_parts(h, &s);
	mutate_all_bits(h, &s, "VP8L", 0, 48);
	mutate_bits(h, &s, "VP8L", 16);
	seed_free(&s);
	hostile_try(h, "lossless", webp_of_sets(), "as-many-codes-as-can-be");
}

static const struct number alpha_numbers[] = {
	{ "VP8X", "flags", 0, 1 }, { "VP8X", "reserved", 1, 3 },
	{ "VP8X", "width", 4, 3 }, { "VP8X", "height", 7, 3 },
	{ "ALPH", "flags", 0, 1 },
};

static void try_alpha(struct hostile *h)
{
	struct seed s = open_seed(h, "alpha"), lossless;

	mutate_nothing(h, &s);
	mutate_cuts(h, &s);
	mutate_parts(h, &s);
	mutate_numbers(h, &s, alpha_numbers, ARRAY_SIZE(alpha_numbers));
	mutate_all_bits(h, &s, "ALPH", 0, 8);
	mutate_bits(h, &s, "ALPH", 8);
	mutate_bits(h, &s, "VP8", 8);
	lossless = open_seed(h, "lossless");
	hostile_try(h, "alpha",
		    riff_of(joined(picture_of(&s), picture_of(&lossless))),
		    "two-pictures");
	hostile_try(h, "alpha",
		    riff_of(joined(
			    extended_of(ALPHA, 40, 24),
			    joined(chunk_of("ALPH", "", 0), picture_of(&s)))),
		    "empty-ALPH-first");
	seed_free(&lossless);
	seed_free(&s);
}

/* --- Metadata --- */

/* A file of this picture with a chunk before or after it. */
static struct bytes with_chunk(const struct seed *s, uint8_t flags,
			       const char *name, const void *data, size_t count)
{
	struct bytes chunk = chunk_of(name, data, count);
	bool is_first = (flags & ICC) != 0;
	struct bytes rest = is_first ? joined(chunk, picture_of(s)) :
				       joined(picture_of(s), chunk);

	return riff_of(joined(extended_of(flags, 40, 24), rest));
}

static struct bytes put_exif(const struct seed *s, const void *data,
			     size_t count)
{
	return with_chunk(s, EXIF, "EXIF", data, count);
}

static struct bytes put_profile(const struct seed *s, const void *data,
				size_t count)
{
	return with_chunk(s, ICC, "ICCP", data, count);
}

static void try_metadata(struct hostile *h)
{
	struct seed s = open_seed(h, "extended"), plain;

	mutate_nothing(h, &s);
	mutate_cuts(h, &s);
	mutate_parts(h, &s);
	seed_free(&s);
	plain = open_seed(h, "lossy");
	plain.name = "metadata";
	mutate_nothing(h, &plain);
	mutate_exif(h, &plain, put_exif);
	mutate_profile(h, &plain, put_profile);
	seed_free(&plain);
}

/* --- Animations --- */

static const struct number animation_numbers[] = {
	{ "VP8X", "flags", 0, 1 },   { "VP8X", "width", 4, 3 },
	{ "VP8X", "height", 7, 3 },  { "ANIM", "background", 0, 4 },
	{ "ANIM", "loops", 4, 2 },   { "ANMF", "left", 0, 3 },
	{ "ANMF", "top", 3, 3 },     { "ANMF", "width", 6, 3 },
	{ "ANMF", "height", 9, 3 },  { "ANMF", "duration", 12, 3 },
	{ "ANMF", "flags", 15, 1 },  { "ANMF.2", "left", 0, 3 },
	{ "ANMF.2", "width", 6, 3 },
};

/* Frames in other places than an animation has them. */
static void try_frames(struct hostile *h)
{
	static const uint32_t whole[4] = { 0, 0, 40, 24 },
			      outside[4] = { 2, 2, 40, 24 },
			      far[4] = { 33554430, 33554430, 40, 24 };
	struct seed s = open_seed(h, "lossy");
	struct bytes nested = frame_of(whole, picture_of(&s));

	for (int i = 0; i < 50; i++)
		nested = frame_of(whole, nested);
	hostile_try(h, s.name,
		    riff_of(joined(extended_of(ANIMATED, 40, 24), nested)),
		    "frames-in-frames");
	hostile_try(h, s.name, riff_of(frame_of(whole, picture_of(&s))),
		    "a-frame-alone");
	hostile_try(h, s.name,
		    riff_of(joined(extended_of(0, 40, 24),
				   frame_of(whole, picture_of(&s)))),
		    "a-frame-without-the-flag");
	hostile_try(h, s.name,
		    riff_of(joined(extended_of(ANIMATED, 40, 24),
				   frame_of(outside, picture_of(&s)))),
		    "a-frame-outside");
	hostile_try(h, s.name,
		    riff_of(joined(extended_of(ANIMATED, 40, 24),
				   frame_of(far, picture_of(&s)))),
		    "a-frame-far-outside");
	hostile_try(h, s.name,
		    riff_of(joined(extended_of(ANIMATED, 40, 24),
				   frame_of(whole, bytes_of("", 0)))),
		    "an-empty-frame");
	hostile_try(
		h, s.name,
		riff_of(joined(extended_of(ANIMATED, 40, 24), picture_of(&s))),
		"no-frame-in-an-animation");
	seed_free(&s);
}

static void try_animation(struct hostile *h)
{
	struct seed s = open_seed(h, "animation");

	mutate_nothing(h, &s);
	mutate_cuts(h, &s);
	mutate_parts(h, &s);
	mutate_numbers(h, &s, animation_numbers, ARRAY_SIZE(animation_numbers));
	mutate_bits(h, &s, "VP8L", 8);
	seed_free(&s);
	try_frames(h);
}

static void try_many(struct hostile *h)
{
	static const uint32_t whole[4] = { 0, 0, 40, 24 };
	enum { MANY = 20000 };
	struct seed s = open_seed(h, "lossy");
	struct bytes empty = chunk_of("what", "", 0);
	struct bytes all = { malloc(MANY * empty.count), MANY * empty.count };
	struct bytes frames;

	CHECK(all.data != NULL);
	for (size_t i = 0; i < MANY; i++)
		memcpy(all.data + i * empty.count, empty.data, empty.count);
	frames = bytes_of(all.data, all.count);
	for (size_t i = 0; i < MANY; i++)
		memcpy(frames.data + i * empty.count, "ANMF", 4);
	hostile_try(h, s.name,
		    riff_of(joined(extended_of(0, 40, 24),
				   joined(all, picture_of(&s)))),
		    "20000-unknown-chunks");
	hostile_try(h, s.name,
		    riff_of(joined(joined(extended_of(ANIMATED, 40, 24),
					  frame_of(whole, picture_of(&s))),
				   frames)),
		    "20000-empty-frames");
	free(empty.data);
	seed_free(&s);
}

void hostile_webp(struct hostile *h)
{
	try_lossy(h);
	try_many(h);
	try_lossless(h);
	try_alpha(h);
	try_metadata(h);
	try_animation(h);
}
