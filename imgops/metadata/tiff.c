/* SPDX-License-Identifier: MIT */
/*
 * Exif: a TIFF file, with directories for the picture, the camera (Exif) and
 * the place (GPS).
 *
 * What is kept stays where it is in the file, since makers' notes may point to
 * themselves: what belongs to an entry that is kept is copied, and all else is
 * zeros.  So nothing remains of other directories, such as that of a thumbnail.
 */
#include "imgops/metadata/metadata.h"

#include "imgops/formats/tiff.h"

#include <string.h>

enum tag {
	TAG_WIDTH = 0x100,
	TAG_HEIGHT = 0x101,
	TAG_ORIENTATION = 0x112,
	TAG_ARTIST = 0x13b,
	TAG_COPYRIGHT = 0x8298,
	TAG_EXIF = 0x8769,
	TAG_GPS = 0x8825,
	TAG_MAKER_NOTE = 0x927c,
	TAG_COLOUR_SPACE = 0xa001,
	TAG_PIXELS_X = 0xa002,
	TAG_PIXELS_Y = 0xa003,
	TAG_INTEROPERABILITY = 0xa005,
};

enum {
	HEAD_BYTES = 8,
	NEXT_BYTES = 4, /* the place of the next directory */
	INLINE_BYTES = 4,
	TYPE_ASCII = 2,
	TYPE_UTF8 = 129,
	TYPE_SHORT = 3,
	TYPE_LONG = 4,
	SRGB = 1,
	UNCALIBRATED = 0xffff,
};

/* Bytes of a value of each type: TIFF 6.0, and Exif 3.0 for text in UTF-8. */
static uint32_t type_bytes(uint32_t type)
{
	static const uint8_t bytes[] = { 0, 1, 1, 2, 4, 8, 1,
					 1, 2, 4, 8, 4, 8, 4 };

	if (type == TYPE_UTF8)
		return 1;
	return type < sizeof(bytes) ? bytes[type] : 0;
}

/* The value of an entry.  False: it has none in the file. */
static bool entry_value(size_t *at, size_t *count, const struct tiff *t,
			size_t entry)
{
	uint64_t bytes = (uint64_t)type_bytes(tiff_read16(t, entry + 2)) *
			 tiff_read32(t, entry + 4);

	*at = bytes <= INLINE_BYTES ? entry + 8 : tiff_read32(t, entry + 8);
	if (bytes == 0 || *at > t->bytes || bytes > t->bytes - *at)
		return false;
	*count = (size_t)bytes;
	return true;
}

/* --- The record --- */

static bool is_text(uint32_t type)
{
	return type == TYPE_ASCII || type == TYPE_UTF8;
}

static void read_text(struct metadata_record *r, enum metadata_field field,
		      const struct tiff *t, size_t directory, enum tag tag)
{
	size_t entry = directory > 0 ? tiff_find(t, directory, tag) : 0;
	size_t at, count, length;

	if (entry == 0 || !entry_value(&at, &count, t, entry) ||
	    !is_text(tiff_read16(t, entry + 2)))
		return;
	/* The copyrights of photographer and editor have a zero between. */
	for (; count > 0; at += length, count -= length) {
		const uint8_t *zero = memchr(t->data + at, 0, count);

		length = zero == NULL ? count : (size_t)(zero - t->data) - at;
		metadata_record_add(r, field, t->data + at, length);
		if (length < count)
			length++;
	}
}

void metadata_tiff_read(struct metadata_record *r, struct metadata_span tiff)
{
	struct tiff t;
	size_t directory = tiff_open(&t, tiff.bytes, tiff.count);

	read_text(r, METADATA_CREATOR, &t, directory, TAG_ARTIST);
	read_text(r, METADATA_RIGHTS, &t, directory, TAG_COPYRIGHT);
}

static void put_number(struct metadata_out *o, size_t value, uint32_t bytes)
{
	while (bytes-- > 0)
		metadata_put(o, &(uint8_t){ (uint8_t)(value >> 8 * bytes) }, 1);
}

void metadata_tiff_write(struct metadata_out *o,
			 const struct metadata_record *r)
{
	const char *texts[] = { r->text[METADATA_CREATOR],
				r->text[METADATA_RIGHTS] };
	static const uint32_t tags[] = { TAG_ARTIST, TAG_COPYRIGHT };
	size_t entries = 0, at;

	for (int i = 0; i < 2; i++)
		entries += texts[i][0] != '\0';
	if (entries == 0)
		return;
	metadata_put(o, "MM\0*", 4);
	put_number(o, HEAD_BYTES, 4);
	put_number(o, entries, 2);
	at = HEAD_BYTES + 2 + entries * TIFF_ENTRY_BYTES + NEXT_BYTES;
	for (int i = 0; i < 2; i++) {
		size_t bytes = strlen(texts[i]) + 1;
		char own[INLINE_BYTES] = { 0 };

		if (bytes == 1)
			continue;
		put_number(o, tags[i], 2);
		put_number(o, TYPE_ASCII, 2);
		put_number(o, bytes, 4);
		if (bytes > INLINE_BYTES) {
			put_number(o, at, 4);
			at += bytes;
			continue;
		}
		memcpy(own, texts[i], bytes);
		metadata_put(o, own, INLINE_BYTES);
	}
	put_number(o, 0, NEXT_BYTES);
	for (int i = 0; i < 2; i++)
		if (strlen(texts[i]) + 1 > INLINE_BYTES)
			metadata_put(o, texts[i], strlen(texts[i]) + 1);
}

/* --- All of it --- */

enum directory {
	IN_PICTURE,
	IN_EXIF,
	IN_GPS,
	IN_INTEROPERABILITY,
	DIRECTORIES
};

struct editor {
	struct tiff from;
	struct metadata_out *to;
	const struct metadata_result *result;
	size_t directories[DIRECTORIES]; /* 0: there is none */
	/*
	 * Bytes of values that may still be copied: entries of a hostile file
	 * may all have the same value.
	 */
	size_t left;
};

/* Of the picture's directory: pictures, and other metadata in a TIFF file. */
static bool is_of_file(uint32_t tag)
{
	static const uint16_t tags[] = {
		0x0102, 0x0103, 0x0106, 0x0111, 0x0115, 0x0116,
		0x0117, 0x014a, 0x0144, 0x0145, 0x015b, 0x0201,
		0x0202, 0x02bc, 0x83bb, 0x8649, 0x8773, 0xc634,
	};

	for (size_t i = 0; i < ARRAY_SIZE(tags); i++)
		if (tags[i] == tag)
			return true;
	return false;
}

static bool is_kept(const struct editor *e, enum directory in, uint32_t tag)
{
	if (tag == TAG_EXIF || tag == TAG_GPS) {
		enum directory to = tag == TAG_EXIF ? IN_EXIF : IN_GPS;

		return in == IN_PICTURE && e->directories[to] > 0;
	}
	if (tag == TAG_INTEROPERABILITY)
		return in == IN_EXIF &&
		       e->directories[IN_INTEROPERABILITY] > 0 &&
		       e->result->has_profile;
	if (tag == TAG_MAKER_NOTE) /* it may have small pictures */
		return e->result->shows_all;
	return in != IN_PICTURE || !is_of_file(tag);
}

/* True: *value is what is true of the result, of that type. */
static bool new_value(const struct editor *e, enum directory in, uint32_t tag,
		      uint32_t *type, uint32_t *value)
{
	const struct metadata_result *r = e->result;
	bool is_size = in == IN_PICTURE ?
			       tag == TAG_WIDTH || tag == TAG_HEIGHT :
			       tag == TAG_PIXELS_X || tag == TAG_PIXELS_Y;

	*type = is_size ? TYPE_LONG : TYPE_SHORT;
	if (is_size && in <= IN_EXIF) {
		*value = tag == TAG_WIDTH || tag == TAG_PIXELS_X ?
				 r->size.width_px :
				 r->size.height_px;
		return true;
	}
	*value = in == IN_PICTURE ? r->orientation :
				    (r->has_profile ? UNCALIBRATED : SRGB);
	return (in == IN_PICTURE && tag == TAG_ORIENTATION) ||
	       (in == IN_EXIF && tag == TAG_COLOUR_SPACE);
}

static void write_number(const struct editor *e, size_t at, uint32_t value,
			 uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++) {
		uint32_t shift = e->from.little_endian ? i : bytes - 1 - i;

		e->to->bytes[at + i] = (uint8_t)(value >> 8 * shift);
	}
}

static void cover(struct editor *e, size_t end)
{
	if (end > e->to->room)
		e->to->is_bad = true;
	else if (end > e->to->count)
		e->to->count = end;
}

/* Copy the values of a directory that are outside of it. */
static void copy_values(struct editor *e, enum directory in)
{
	size_t entry = e->directories[in] + 2;
	uint32_t count = tiff_read16(&e->from, e->directories[in]);

	for (; count-- > 0; entry += TIFF_ENTRY_BYTES) {
		uint32_t tag = tiff_read16(&e->from, entry), type, value;
		size_t at, bytes;

		if (!is_kept(e, in, tag) ||
		    new_value(e, in, tag, &type, &value) ||
		    !entry_value(&at, &bytes, &e->from, entry) ||
		    bytes <= INLINE_BYTES)
			continue;
		if (bytes > e->left) {
			e->to->is_bad = true;
			return;
		}
		e->left -= bytes;
		memcpy(e->to->bytes + at, e->from.data + at, bytes);
		cover(e, at + bytes);
	}
}

/* The entries that are kept move together. */
static void write_directory(struct editor *e, enum directory in)
{
	size_t entry = e->directories[in] + 2, to = entry;
	uint32_t count = tiff_read16(&e->from, e->directories[in]), kept = 0;

	cover(e, entry + (size_t)count * TIFF_ENTRY_BYTES + NEXT_BYTES);
	if (e->to->is_bad)
		return;
	for (; count-- > 0; entry += TIFF_ENTRY_BYTES) {
		uint32_t tag = tiff_read16(&e->from, entry), type, value;
		size_t at, bytes;

		if (!is_kept(e, in, tag) ||
		    !entry_value(&at, &bytes, &e->from, entry))
			continue;
		memcpy(e->to->bytes + to, e->from.data + entry,
		       TIFF_ENTRY_BYTES);
		if (new_value(e, in, tag, &type, &value)) {
			write_number(e, to + 2, type, 2);
			write_number(e, to + 4, 1, 4);
			write_number(e, to + 8, 0, 4);
			write_number(e, to + 8, value,
				     type == TYPE_SHORT ? 2 : 4);
		}
		to += TIFF_ENTRY_BYTES;
		kept++;
	}
	write_number(e, to, 0, NEXT_BYTES);
	write_number(e, e->directories[in], kept, 2);
}

/* All directories that are kept.  False: one is not in the file. */
static bool find_directories(struct editor *e, size_t first)
{
	const struct tiff *t = &e->from;
	size_t *d = e->directories;

	d[IN_PICTURE] = first;
	d[IN_EXIF] = tiff_value(t, first, TAG_EXIF);
	d[IN_GPS] = tiff_value(t, first, TAG_GPS);
	d[IN_INTEROPERABILITY] =
		tiff_value(t, d[IN_EXIF], TAG_INTEROPERABILITY);
	for (uint32_t i = 0; i < DIRECTORIES; i++) {
		size_t entries = (size_t)tiff_read16(t, d[i]);

		if (d[i] == 0)
			continue;
		if (d[i] < HEAD_BYTES || d[i] > t->bytes ||
		    2 + entries * TIFF_ENTRY_BYTES > t->bytes - d[i])
			return false;
	}
	return first > 0;
}

void metadata_tiff_keep(struct metadata_out *o, struct metadata_span tiff,
			const struct metadata_result *result)
{
	struct editor e = { .to = o, .result = result, .left = tiff.count };
	size_t first = tiff_open(&e.from, tiff.bytes, tiff.count);

	if (tiff.count > o->room || !find_directories(&e, first)) {
		o->is_bad = true;
		return;
	}
	memset(o->bytes, 0, o->room);
	memcpy(o->bytes, tiff.bytes, HEAD_BYTES);
	o->count = HEAD_BYTES;
	/* Directories last: no value is written over one. */
	for (enum directory in = 0; in < DIRECTORIES && !o->is_bad; in++)
		if (e.directories[in] > 0)
			copy_values(&e, in);
	for (enum directory in = 0; in < DIRECTORIES && !o->is_bad; in++)
		if (e.directories[in] > 0)
			write_directory(&e, in);
	memcpy(o->bytes, tiff.bytes, HEAD_BYTES);
}
