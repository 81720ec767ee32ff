/* SPDX-License-Identifier: MIT */
/*
 * PPM: netpbm's binary pictures, P6 in RGB and P5 in grey.
 *
 *	P6 <width> <height> <white> <samples>
 *
 * Numbers are decimal, after white space or comments (# to CR or LF); one white
 * space, and no comment, is before the samples.  A sample has 1 byte, or 2 if
 * white is over 255.  Colours are sRGB.  Pictures after the first are ignored.
 */
#include "imgops/formats/format.h"

#include "imgops/colour/colour.h"
#include "imgops/estimate.h"
#include "imgops/image.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum {
	HEADER_BYTES_MAX = 4096, /* comments are not endless */
	HEADER_BYTES = 32,       /* of a result, at most */
	WHITE = 255,
	MISSING = 128, /* samples of the rows that a damaged file lacks */
};

struct FORMAT_OWN ppm_own {
	size_t offset;  /* of the samples; 0: not known yet */
	uint32_t white; /* 1 .. 65535 */
};

FORMAT_OWN_FUNCTIONS(PPM, ppm)

static bool ppm_recognise(const uint8_t *b, size_t count)
{
	return b[0] == 'P' && (b[1] == '5' || b[1] == '6') &&
	       (count == 2 || isspace(b[2]) || b[2] == '#');
}

/* Move *at past a number.  One that is too large becomes UINT32_MAX. */
static enum img_err read_number(uint32_t *number, const uint8_t **at,
				const uint8_t *end)
{
	const uint8_t *p = *at, *digits;
	bool in_comment = false;
	uint64_t n = 0;

	for (; p < end && (in_comment || *p == '#' || isspace(*p)); p++)
		in_comment =
			(in_comment || *p == '#') && *p != '\n' && *p != '\r';
	for (digits = p; p < end && *p >= '0' && *p <= '9'; p++)
		n = min_u64(n * 10 + (uint64_t)(*p - '0'), UINT32_MAX);
	*number = (uint32_t)n;
	*at = p;
	if (p == end)
		return IMG_ERR_TRUNCATED;
	return p == digits || n == 0 ? IMG_ERR_CORRUPT : IMG_OK;
}

static enum img_err ppm_probe_more(struct img_header *h, const uint8_t *bytes,
				   const struct img_limits *limits)
{
	struct ppm_own *own = ppm_own_change(h);
	const uint8_t *end = bytes + min_u64(h->bytes, HEADER_BYTES_MAX);
	const uint8_t *at = bytes + 2;
	enum img_err err;

	if (own->offset > 0)
		return IMG_OK;
	err = read_number(&h->stored.width_px, &at, end);
	if (err == IMG_OK)
		err = read_number(&h->stored.height_px, &at, end);
	if (err == IMG_OK)
		err = read_number(&own->white, &at, end);
	if (err == IMG_ERR_TRUNCATED && h->bytes < HEADER_BYTES_MAX)
		return err;
	if (err != IMG_OK || !isspace(*at) || own->white > UINT16_MAX)
		return IMG_ERR_CORRUPT;
	err = format_set_full(h, bytes[1] == '5' ? IMG_GREY : IMG_RGB, limits);
	if (err == IMG_OK)
		own->offset = (size_t)(at + 1 - bytes);
	return err;
}

/* The samples of one plane are `step` bytes apart in the file. */
static void read_row(uint8_t *to, uint32_t width, const uint8_t *from,
		     size_t step, uint32_t white)
{
	for (uint32_t x = 0; x < width; x++, from += step) {
		uint32_t v = from[0];

		if (white > WHITE)
			v = v << 8 | from[1];
		if (white != WHITE)
			v = (min_u32(v, white) * WHITE + white / 2) / white;
		to[x] = (uint8_t)v;
	}
}

static enum img_err ppm_decode(struct image *dst, const uint8_t *bytes,
			       size_t count, const struct img_header *h,
			       const struct img_view *view,
			       const struct img_transform *transform,
			       const struct img_limits *limits,
			       const struct memory *memory)
{
	const struct ppm_own *own = ppm_own(h);
	size_t bytes_each = own->white > WHITE ? 2 : 1;
	size_t step = h->component_count * bytes_each;
	size_t row_bytes = h->stored.width_px * step;
	size_t rows;
	enum img_err err;

	(void)view; /* there is only one size */
	assert(own->offset > 0 && count >= own->offset);
	rows = min_u64((count - own->offset) / row_bytes, h->stored.height_px);
	if (rows < h->stored.height_px && (!transform->lenient || rows == 0))
		return IMG_ERR_TRUNCATED;
	err = format_alloc(dst, h, limits, memory);
	if (err != IMG_OK)
		return err;
	if (rows < h->stored.height_px)
		dst->notes = IMG_NOTE_DAMAGED;
	bytes += own->offset;
	for (size_t y = 0; y < h->stored.height_px; y++) {
		for (uint32_t i = 0; i < dst->plane_count; i++) {
			struct img_plane *p = &dst->planes[i];
			uint8_t *to = p->samples + y * p->stride_bytes;

			if (y < rows)
				read_row(to, p->width, bytes + i * bytes_each,
					 step, own->white);
			else
				(void)memset(to, MISSING, p->width);
		}
		bytes += y < rows ? row_bytes : 0;
		memory_pause(memory);
	}
	return IMG_OK;
}

static enum format_planes ppm_planes(const struct img_transform *transform)
{
	(void)transform;
	return FORMAT_RGB;
}

static enum img_err ppm_encode(uint8_t **bytes, size_t *count,
			       struct image *src,
			       const struct img_transform *transform,
			       double quality, const struct memory *memory)
{
	struct img_plane *p = &src->planes[0];
	size_t row_bytes = (size_t)p->width * src->plane_count, n;
	uint8_t *ppm = memory->alloc(memory->arg,
				     HEADER_BYTES + row_bytes * p->height);

	(void)transform; /* no quality, no choice of coding */
	(void)quality;
	if (ppm == NULL)
		return IMG_ERR_NO_MEMORY;
	n = (size_t)snprintf((char *)ppm, HEADER_BYTES, "P%c\n%u %u\n%d\n",
			     src->space == IMG_GREY ? '5' : '6', p->width,
			     p->height, WHITE);
	for (uint32_t y = 0; y < p->height; y++, n += row_bytes) {
		colour_write_row(ppm + n, src, y);
		memory_pause(memory);
	}
	*bytes = ppm;
	*count = n;
	return IMG_OK;
}

/*
 * Measured one by one, with files of 4000 x 3000 samples and of one sample a
 * row, with white 15, 255, 1023 and 65535, on an Intel Xeon that takes 1.6
 * times as long for an ordinary JPEG as estimate.c says; these are the times
 * divided by 1.6.
 */
enum { DECODED, DIVIDED, DECODED_ROWS, DECODE_TERMS };
enum { COPIED, WOVEN, ENCODED_ROWS, ENCODE_TERMS };

static const struct estimate_term decode_terms[DECODE_TERMS] = {
	[DECODED] = { "sample", 0.3 },
	[DIVIDED] = { "sample whose white is not 255", 1.3 },
	[DECODED_ROWS] = { "row of a plane", 2 },
};

static const struct estimate_term encode_terms[ENCODE_TERMS] = {
	[COPIED] = { "sample of a grey result", 0.085 },
	[WOVEN] = { "pixel of a coloured result", 0.6 },
	[ENCODED_ROWS] = { "row", 6 },
};

static void decode_count(double *counts, const struct workload *w)
{
	const struct img_header *h = w->header;
	double samples = (double)img_pixels(h->stored) * h->component_count;

	counts[DECODED] = samples;
	if (ppm_own(h)->white != WHITE)
		counts[DIVIDED] = samples;
	counts[DECODED_ROWS] = h->stored.height_px * h->component_count;
}

static uint64_t decode_bytes(const struct workload *w)
{
	return image_bytes(&w->decoded);
}

static void encode_count(double *counts, const struct workload *w)
{
	counts[w->scaled.space == IMG_GREY ? COPIED : WOVEN] =
		(double)img_pixels(w->view->size);
	counts[ENCODED_ROWS] = w->view->size.height_px;
}

static uint64_t encode_bytes(const struct workload *w)
{
	return HEADER_BYTES + 2 * image_bytes(&w->scaled);
}

static const struct img_codec codec = {
	.magic_bytes = 3,
	.recognise = ppm_recognise,
	.probe_more = ppm_probe_more,
	.decode = ppm_decode,
	.decode_estimate =
		&(const struct step_estimate){ "decode", decode_terms,
					       DECODE_TERMS, decode_count,
					       decode_bytes },
	.encode = ppm_encode,
	.encode_estimate =
		&(const struct step_estimate){ "encode", encode_terms,
					       ENCODE_TERMS, encode_count,
					       encode_bytes },
	.planes = ppm_planes,
};

const struct img_format ppm_format = {
	.name = "PPM",
	.word = "ppm",
	.media_type = "image/x-portable-anymap",
	.suffix = "ppm",
	.codec = &codec,
};
