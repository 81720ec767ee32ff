/* SPDX-License-Identifier: MIT */
#include "loadgen/dataset/picture_header.h"

#include <string.h>

enum {
	MARKER_SOF0 = 0xc0, /* SOF0 to SOF15, except three markers among them */
	MARKER_DHT = 0xc4,
	MARKER_JPG = 0xc8,
	MARKER_DAC = 0xcc,
	MARKER_SOF15 = 0xcf,
	MARKER_SOI = 0xd8,
	MARKER_EOI = 0xd9,
	MARKER_SOS = 0xda,
	MARKER_APP1 = 0xe1,
	TIFF_BIG_ENDIAN = 0x4d4d,    /* "MM" */
	TIFF_LITTLE_ENDIAN = 0x4949, /* "II" */
	TIFF_VERSION = 42,
	TIFF_ORIENTATION = 0x0112,
	TIFF_ENTRY_BYTES = 12,
	TIFF_INLINE_BYTES = 4, /* larger values are elsewhere */
	PNG_EXTRA = 12,        /* bytes of a chunk besides its data */
	PNG_IEND = 0x49454e44,
};

/* The types of TIFF 6.0, section 2. */
enum {
	TIFF_BYTE = 1,
	TIFF_SHORT = 3,
	TIFF_LONG = 4,
	TIFF_SBYTE = 6,
	TIFF_SSHORT = 8,
	TIFF_SLONG = 9,
};

/*
 * A part of the file.  Reading a byte outside of it gives 0 and sets
 * `is_short`.
 */
struct span {
	const uint8_t *bytes;
	size_t count;
	bool is_little_endian; /* possible in TIFF, not in JPEG */
	bool is_short;
};

static uint32_t get_byte(struct span *s, size_t at)
{
	if (at < s->count)
		return s->bytes[at];
	s->is_short = true;
	return 0;
}

static uint32_t get_u16(struct span *s, size_t at)
{
	uint32_t first = get_byte(s, at);
	uint32_t second = get_byte(s, at + 1);

	return s->is_little_endian ? second << 8 | first : first << 8 | second;
}

static uint32_t get_u32(struct span *s, size_t at)
{
	uint32_t first = get_u16(s, at);
	uint32_t second = get_u16(s, at + 2);

	return s->is_little_endian ? second << 16 | first :
				     first << 16 | second;
}

/*
 * The first value of the entry at `entry`, if it is an integer; otherwise 0.  A
 * negative value becomes a large one.
 */
static uint32_t tiff_integer(struct span *tiff, size_t entry)
{
	uint32_t type = get_u16(tiff, entry + 2);
	uint64_t count = get_u32(tiff, entry + 4), bytes = 4;
	size_t at = entry + 8;

	if (type == TIFF_BYTE || type == TIFF_SBYTE)
		bytes = 1;
	else if (type == TIFF_SHORT || type == TIFF_SSHORT)
		bytes = 2;
	else if (type != TIFF_LONG && type != TIFF_SLONG)
		return 0;
	if (count * bytes > TIFF_INLINE_BYTES)
		at = get_u32(tiff, at);
	if (bytes == 1)
		return get_byte(tiff, at);
	return bytes == 2 ? get_u16(tiff, at) : get_u32(tiff, at);
}

/* The orientation in IFD 0 of a TIFF.  0: none, or not valid. */
static uint32_t tiff_orientation(struct span tiff)
{
	uint32_t order = get_u16(&tiff, 0);
	size_t ifd;
	uint32_t entries;

	if (order != TIFF_BIG_ENDIAN && order != TIFF_LITTLE_ENDIAN)
		return 0;
	tiff.is_little_endian = order == TIFF_LITTLE_ENDIAN;
	if (get_u16(&tiff, 2) != TIFF_VERSION)
		return 0;
	ifd = get_u32(&tiff, 4);
	entries = get_u16(&tiff, ifd);
	for (size_t i = 0; i < entries && !tiff.is_short; i++) {
		size_t entry = ifd + 2 + i * TIFF_ENTRY_BYTES;
		uint32_t value;

		/* To its end, because a small value may end before that. */
		(void)get_byte(&tiff, entry + TIFF_ENTRY_BYTES - 1);
		if (get_u16(&tiff, entry) != TIFF_ORIENTATION)
			continue;
		value = tiff_integer(&tiff, entry);
		return value <= 8 && !tiff.is_short ? value : 0;
	}
	return 0;
}

/* The orientation in an APP1 segment.  0: none, or not valid. */
static uint32_t exif_orientation(struct span app1)
{
	static const char id[] = "Exif\0"; /* and the 0 that ends the string */

	if (app1.count < sizeof(id) || memcmp(app1.bytes, id, sizeof(id)) != 0)
		return 0;
	return tiff_orientation((struct span){
		.bytes = app1.bytes + sizeof(id),
		.count = app1.count - sizeof(id),
	});
}

static bool is_frame(uint32_t marker)
{
	return marker >= MARKER_SOF0 && marker <= MARKER_SOF15 &&
	       marker != MARKER_DHT && marker != MARKER_JPG &&
	       marker != MARKER_DAC;
}

static void jpeg_read_segment(struct picture_header *h, uint32_t marker,
			      struct span segment)
{
	if (is_frame(marker)) {
		h->height_px = get_u16(&segment, 1);
		h->width_px = get_u16(&segment, 3);
	} else if (marker == MARKER_APP1 && h->orientation == 0) {
		h->orientation = exif_orientation(segment);
	}
}

/*
 * The next marker; moves `at` past it.  Any number of 0xff may precede it.  0:
 * there is no marker.
 */
static uint32_t next_marker(struct span *file, size_t *at)
{
	uint32_t byte;

	if (get_byte(file, (*at)++) != 0xff)
		return 0;
	while ((byte = get_byte(file, (*at)++)) == 0xff)
		;
	return byte;
}

/* Read a decimal number after white space and comments.  0: there is none. */
static uint32_t netpbm_number(struct span *file, size_t *at)
{
	uint32_t byte, number = 0;
	bool in_comment = false;

	while ((byte = get_byte(file, *at)) == '#' || byte == ' ' ||
	       (byte >= '\t' && byte <= '\r') || (in_comment && byte != 0)) {
		in_comment = (in_comment || byte == '#') && byte != '\n' &&
			     byte != '\r';
		(*at)++;
	}
	while ((byte = get_byte(file, *at)) >= '0' && byte <= '9' &&
	       number < 100000) {
		number = number * 10 + byte - '0';
		(*at)++;
	}
	return number;
}

/* False: not a P5 or P6 with a size. */
static bool netpbm_read(struct picture_header *out, struct span file)
{
	bool is_grey = get_byte(&file, 1) == '5';
	size_t at = 2;
	uint32_t width, height, white;

	if (get_byte(&file, 0) != 'P' ||
	    (!is_grey && get_byte(&file, 1) != '6'))
		return false;
	width = netpbm_number(&file, &at);
	height = netpbm_number(&file, &at);
	white = netpbm_number(&file, &at);
	if (width == 0 || height == 0 || white == 0 || file.is_short)
		return false;
	*out = (struct picture_header){
		.width_px = width,
		.height_px = height,
		.orientation = 1,
		.media_type = "image/x-portable-anymap",
		.whole_bytes = at + 1 +
			       (uint64_t)width * height * (is_grey ? 1 : 3) *
				       (white > UINT8_MAX ? 2 : 1),
	};
	return true;
}

/* The size in bytes of a PNG whose chunks are all there; else 0. */
static uint64_t png_bytes(struct span *file, size_t at)
{
	while (!file->is_short) {
		uint64_t bytes = get_u32(file, at);
		bool is_end = get_u32(file, at + 4) == PNG_IEND;

		if (bytes > file->count || bytes + PNG_EXTRA > file->count - at)
			return 0;
		at += (size_t)bytes + PNG_EXTRA;
		if (is_end)
			return at;
	}
	return 0;
}

/* False: not a PNG with a size.  An EXIF orientation is not read. */
static bool png_read(struct picture_header *out, struct span file)
{
	static const uint8_t begin[] = { 0x89, 'P',  'N', 'G', '\r', '\n',
					 0x1a, '\n', 0,   0,   0,    13,
					 'I',  'H',  'D', 'R' };
	struct picture_header h = { .orientation = 1,
				    .media_type = "image/png" };

	if (file.count < sizeof(begin) ||
	    memcmp(file.bytes, begin, sizeof(begin)) != 0)
		return false;
	h.width_px = get_u32(&file, sizeof(begin));
	h.height_px = get_u32(&file, sizeof(begin) + 4);
	if (h.width_px == 0 || h.height_px == 0 || file.is_short ||
	    h.width_px > INT32_MAX || h.height_px > INT32_MAX)
		return false;
	h.whole_bytes = png_bytes(&file, 8);
	*out = h;
	return true;
}

static bool is_name(const struct span *s, size_t at, const char *name)
{
	return at + 4 <= s->count && memcmp(s->bytes + at, name, 4) == 0;
}

/* A chunk of a WebP, whose data begin at `at`. */
static void webp_read_chunk(struct picture_header *h, struct span *file,
			    size_t at, size_t count)
{
	size_t name = at - 8;

	if (is_name(file, name, "VP8X")) { /* 24 bits each */
		h->width_px = (get_u32(file, at + 4) & 0xffffff) + 1;
		h->height_px = (get_u32(file, at + 7) & 0xffffff) + 1;
	} else if (is_name(file, name, "VP8 ") && h->width_px == 0) {
		h->width_px = get_u16(file, at + 6) & 0x3fff;
		h->height_px = get_u16(file, at + 8) & 0x3fff;
	} else if (is_name(file, name, "VP8L") && h->width_px == 0) {
		uint32_t bits = get_u32(file, at + 1);

		h->width_px = (bits & 0x3fff) + 1;
		h->height_px = (bits >> 14 & 0x3fff) + 1;
	} else if (is_name(file, name, "EXIF") && h->orientation == 0 &&
		   count <= file->count - at) {
		h->orientation = tiff_orientation((struct span){
			.bytes = file->bytes + at, .count = count });
	}
}

/* False: not a WebP with a size. */
static bool webp_read(struct picture_header *out, struct span file)
{
	struct picture_header h = { .media_type = "image/webp" };

	if (!is_name(&file, 0, "RIFF") || !is_name(&file, 8, "WEBP"))
		return false;
	file.is_little_endian = true;
	h.whole_bytes = (uint64_t)get_u32(&file, 4) + 8;
	for (size_t at = 20, count; at <= file.count;
	     at += count + count % 2 + 8) {
		count = get_u32(&file, at - 4);
		webp_read_chunk(&h, &file, at, count);
	}
	if (h.width_px == 0 || h.height_px == 0)
		return false;
	if (h.orientation == 0)
		h.orientation = 1;
	*out = h;
	return true;
}

/* False: not a GIF with a size.  The size is that of its screen. */
static bool gif_read(struct picture_header *out, struct span file)
{
	struct picture_header h = { .orientation = 1,
				    .media_type = "image/gif" };

	if (!is_name(&file, 0, "GIF8"))
		return false;
	file.is_little_endian = true;
	h.width_px = get_u16(&file, 6);
	h.height_px = get_u16(&file, 8);
	if (file.is_short || h.width_px == 0 || h.height_px == 0)
		return false;
	*out = h;
	return true;
}

/* The bytes of all boxes together, as far as their sizes are there. */
static uint64_t boxes_bytes(struct span *file)
{
	uint64_t at = 0;

	while (at + 8 <= file->count) {
		uint32_t bytes = get_u32(file, (size_t)at);

		if (bytes < 8) /* a large box, or to the end */
			return 0;
		at += bytes;
	}
	return at;
}

/* The media type that the brands of the first box mean.  NULL: no picture. */
static const char *heif_type(struct span *file)
{
	static const struct {
		const char *brand, *type;
	} brands[] = {
		{ "avif", "image/avif" }, { "avis", "image/avif" },
		{ "heic", "image/heic" }, { "heix", "image/heic" },
		{ "hevc", "image/heic" }, { "hevx", "image/heic" },
	};
	uint32_t end = get_u32(file, 0);

	if (!is_name(file, 4, "ftyp"))
		return NULL;
	/* After the first one is the minor version. */
	for (size_t at = 8; at + 4 <= end && at + 4 <= file->count; at += 4)
		for (size_t i = 0; i < sizeof(brands) / sizeof(*brands); i++)
			if (is_name(file, at, brands[i].brand))
				return brands[i].type;
	return NULL;
}

/*
 * False: not an AVIF or a HEIC with a size.  The largest picture in it is what
 * is shown; that it may be mirrored, or cut out, is not read.
 */
static bool heif_read(struct picture_header *out, struct span file)
{
	static const uint32_t turned[] = { 1, 8, 3, 6 };
	struct picture_header h = { .orientation = 1,
				    .media_type = heif_type(&file) };

	if (h.media_type == NULL)
		return false;
	for (size_t at = 4; at + 4 <= file.count; at++) {
		uint32_t bytes = get_u32(&file, at - 4);

		if (is_name(&file, at, "mdat")) {
			if (bytes < 8) /* a large box, or to the end */
				break;
			at += bytes - 5;
			continue;
		}
		if (is_name(&file, at, "irot"))
			h.orientation = turned[get_byte(&file, at + 4) & 3];
		if (!is_name(&file, at, "ispe") ||
		    get_u32(&file, at + 8) < h.width_px)
			continue;
		h.width_px = get_u32(&file, at + 8);
		h.height_px = get_u32(&file, at + 12);
	}
	if (h.width_px == 0 || h.height_px == 0 || h.width_px > INT32_MAX ||
	    h.height_px > INT32_MAX)
		return false;
	h.whole_bytes = boxes_bytes(&file);
	*out = h;
	return true;
}

/* Bits of a JPEG XL, the lowest of each byte first. */
struct jxl_span {
	struct span file;
	size_t at_bit;
};

static uint32_t jxl_number(struct jxl_span *s, uint32_t bits)
{
	uint32_t number = 0;

	for (uint32_t i = 0; i < bits; i++, s->at_bit++)
		number |=
			(get_byte(&s->file, s->at_bit / 8) >> (s->at_bit % 8) &
			 1u)
			<< i;
	return number;
}

static uint32_t jxl_side(struct jxl_span *s, bool is_small)
{
	static const uint8_t bits[] = { 9, 13, 18, 30 };

	return is_small ? (jxl_number(s, 5) + 1) * 8 :
			  jxl_number(s, bits[jxl_number(s, 2)]) + 1;
}

static void jxl_read_size(struct picture_header *h, struct jxl_span *s)
{
	static const uint32_t wide[] = { 1, 12, 4, 3, 16, 5, 2 };
	static const uint32_t high[] = { 1, 10, 3, 2, 9, 4, 1 };
	bool is_small = jxl_number(s, 1) != 0;
	uint32_t ratio;

	h->height_px = jxl_side(s, is_small);
	ratio = jxl_number(s, 3);
	h->width_px = ratio == 0 ?
			      jxl_side(s, is_small) :
			      (uint32_t)((uint64_t)h->height_px *
					 wide[ratio - 1] / high[ratio - 1]);
}

/* Where the codestream is, and the bytes of all boxes together.  0: nowhere. */
static size_t jxl_find(struct span *file, uint64_t *whole_bytes)
{
	size_t found = 0, at = 0;

	while (at + 8 <= file->count) {
		uint32_t bytes = get_u32(file, at);

		if (found == 0 && is_name(file, at + 4, "jxlc"))
			found = at + 8;
		if (found == 0 && is_name(file, at + 4, "jxlp"))
			found = at + 12;
		if (bytes < 8) /* a large box, or to the end */
			return found;
		at += bytes;
	}
	*whole_bytes = at;
	return found;
}

/* False: not a JPEG XL with a size. */
static bool jxl_read(struct picture_header *out, struct span file)
{
	struct picture_header h = { .orientation = 1,
				    .media_type = "image/jxl" };
	struct jxl_span s = { .file = file };

	if (is_name(&file, 4, "JXL "))
		s.at_bit = jxl_find(&file, &h.whole_bytes) * 8;
	if (jxl_number(&s, 16) != 0x0aff)
		return false;
	jxl_read_size(&h, &s);
	/* Not all is default, and there are more fields. */
	if (jxl_number(&s, 1) == 0 && jxl_number(&s, 1) != 0)
		h.orientation = jxl_number(&s, 3) + 1;
	if (s.file.is_short || h.width_px == 0 || h.width_px > INT32_MAX ||
	    h.height_px > INT32_MAX)
		return false;
	*out = h;
	return true;
}

bool picture_header_read(struct picture_header *out, const void *bytes,
			 size_t size)
{
	struct span file = { .bytes = bytes, .count = size };
	struct picture_header h = { .media_type = "image/jpeg" };
	size_t at = 0;
	uint32_t marker = next_marker(&file, &at);

	if (marker != MARKER_SOI) {
		file = (struct span){ .bytes = bytes, .count = size };
		return png_read(out, file) || webp_read(out, file) ||
		       gif_read(out, file) || heif_read(out, file) ||
		       jxl_read(out, file) || netpbm_read(out, file);
	}
	while ((marker = next_marker(&file, &at)) != 0 &&
	       marker != MARKER_SOS && marker != MARKER_EOI) {
		/* Includes its own two bytes. */
		size_t length = get_u16(&file, at);

		if (file.is_short || length < 2 || length > size - at)
			break;
		jpeg_read_segment(&h, marker,
				  (struct span){ .bytes = file.bytes + at + 2,
						 .count = length - 2 });
		at += length;
	}
	if (h.width_px == 0 || h.height_px == 0)
		return false;
	if (h.orientation == 0)
		h.orientation = 1;
	*out = h;
	return true;
}
