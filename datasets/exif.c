/* SPDX-License-Identifier: MIT */
/*
 * An EXIF block: a TIFF header and three directories (of the image, of the
 * shot, of the thumbnail), each entry's longer values behind it.
 */
#include "datasets/metadata.h"

#include "datasets/random.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum type { TYPE_ASCII = 2, TYPE_SHORT = 3, TYPE_LONG = 4, TYPE_RATIONAL = 5 };

enum { PREFIX_BYTES = 6, HEADER_BYTES = 8, ENTRY_BYTES = 12 };

struct writer {
	uint8_t *tiff;
	size_t entry;  /* where the next entry goes */
	size_t values; /* where the next long value goes */
	bool big_endian;
};

static void put(struct writer *w, size_t at, uint32_t value, int bytes)
{
	for (int i = 0; i < bytes; i++) {
		int byte = w->big_endian ? bytes - 1 - i : i;

		w->tiff[at + i] = (uint8_t)(value >> (8 * byte));
	}
}

/* Begin a directory of `count` entries at the end of what is written. */
static size_t begin(struct writer *w, uint32_t count)
{
	size_t at = w->values;

	put(w, at, count, 2);
	w->entry = at + 2;
	w->values = at + 2 + count * ENTRY_BYTES + 4;
	put(w, w->values - 4, 0, 4); /* no next directory, so far */
	return at;
}

static void entry(struct writer *w, int tag, enum type type, uint32_t count)
{
	put(w, w->entry, (uint32_t)tag, 2);
	put(w, w->entry + 2, type, 2);
	put(w, w->entry + 4, count, 4);
	put(w, w->entry + 8, 0, 4);
	w->entry += ENTRY_BYTES;
}

/* Returns where the value is, so that it can be set later. */
static size_t put_number(struct writer *w, int tag, enum type type,
			 uint32_t value)
{
	entry(w, tag, type, 1);
	put(w, w->entry - 4, value, type == TYPE_SHORT ? 2 : 4);
	return w->entry - 4;
}

static void put_text(struct writer *w, int tag, const char *text)
{
	size_t bytes = strlen(text) + 1;

	entry(w, tag, TYPE_ASCII, (uint32_t)bytes);
	assert(bytes > 4);
	put(w, w->entry - 4, (uint32_t)w->values, 4);
	memcpy(w->tiff + w->values, text, bytes);
	w->values += (bytes + 1) & ~(size_t)1;
}

static void put_ratio(struct writer *w, int tag, uint32_t over, uint32_t under)
{
	entry(w, tag, TYPE_RATIONAL, 1);
	put(w, w->entry - 4, (uint32_t)w->values, 4);
	put(w, w->values, over, 4);
	put(w, w->values + 4, under, 4);
	w->values += 8;
}

static void put_image(struct writer *w, const struct exif *exif,
		      uint64_t *random, const char *time, size_t *shot)
{
	/* No maker's name: nobody shall take these for their camera's. */
	static const char *const models[] = { "Pocket 5", "Mirrorless II",
					      "Phone 12 wide", "Reflex 350" };

	begin(w, 9);
	put_text(w, 0x010f, "mkset");
	put_text(w, 0x0110, models[random_below(random, 4)]);
	put_number(w, 0x0112, TYPE_SHORT, (uint32_t)exif->orientation);
	put_ratio(w, 0x011a, 72, 1);
	put_ratio(w, 0x011b, 72, 1);
	put_number(w, 0x0128, TYPE_SHORT, 2); /* per inch */
	put_text(w, 0x0132, time);
	put_number(w, 0x0213, TYPE_SHORT, 1); /* centred chroma */
	*shot = put_number(w, 0x8769, TYPE_LONG, 0);
}

static void put_shot(struct writer *w, const struct exif *exif,
		     uint64_t *random, const char *time)
{
	static const uint32_t speeds[] = { 30, 60, 125, 250, 500, 1000 };

	begin(w, 9);
	put_ratio(w, 0x829a, 1, speeds[random_below(random, 6)]);
	put_ratio(w, 0x829d, 18 + random_below(random, 100), 10);
	put_number(w, 0x8827, TYPE_SHORT, 50U << random_below(random, 6));
	put_text(w, 0x9003, time);
	put_text(w, 0x9004, time);
	put_ratio(w, 0x920a, 42 + random_below(random, 500), 10);
	put_number(w, 0xa001, TYPE_SHORT, 1); /* sRGB */
	put_number(w, 0xa002, TYPE_LONG, exif->width_px);
	put_number(w, 0xa003, TYPE_LONG, exif->height_px);
}

static void put_thumbnail(struct writer *w, const struct segment *thumbnail)
{
	begin(w, 3);
	put_number(w, 0x0103, TYPE_SHORT, 6); /* JPEG */

	size_t offset = put_number(w, 0x0201, TYPE_LONG, 0);

	put_number(w, 0x0202, TYPE_LONG, (uint32_t)thumbnail->size_bytes);
	put(w, offset, (uint32_t)w->values, 4);
	memcpy(w->tiff + w->values, thumbnail->bytes, thumbnail->size_bytes);
	w->values += thumbnail->size_bytes;
}

size_t exif_write(uint8_t *out, const struct exif *exif)
{
	uint64_t random = exif->seed;
	char time[32];
	struct writer w = {
		.tiff = out + PREFIX_BYTES,
		.values = HEADER_BYTES,
		.big_endian = random_share(&random) < 0.5,
	};
	size_t shot;

	assert(exif->thumbnail.size_bytes < SEGMENT_BYTES_MAX - 1024);
	memset(out, 0, 1024);
	snprintf(time, sizeof(time), "2024:%02u:%02u %02u:%02u:%02u",
		 1 + random_below(&random, 12), 1 + random_below(&random, 28),
		 random_below(&random, 24), random_below(&random, 60),
		 random_below(&random, 60));
	memcpy(out, "Exif\0", PREFIX_BYTES);
	memcpy(w.tiff, w.big_endian ? "MM" : "II", 2);
	put(&w, 2, 42, 2);
	put(&w, 4, HEADER_BYTES, 4);
	put_image(&w, exif, &random, time, &shot);

	size_t next = w.entry; /* the link to the thumbnail's directory */

	put(&w, shot, (uint32_t)w.values, 4);
	put_shot(&w, exif, &random, time);
	if (exif->thumbnail.size_bytes > 0) {
		put(&w, next, (uint32_t)w.values, 4);
		put_thumbnail(&w, &exif->thumbnail);
	}
	return PREFIX_BYTES + w.values;
}
