/* SPDX-License-Identifier: MIT */
/*
 * The calls of imgops.h that depend on a file's format: they find the format
 * and call its table.
 */
#include "imgops/formats/format.h"

#include "imgops/image.h"

#include <assert.h>
#include <stdio.h>

#define FORMAT(name, word) extern const struct img_format word##_format;
#include "imgops/formats/list.h"
#undef FORMAT

const struct img_format *const img_formats[IMG_FORMATS] = {
#define FORMAT(name, word) [IMG_FORMAT_##name] = &word##_format,
#include "imgops/formats/list.h"
#undef FORMAT
};

void img_format_names(char out[IMG_FORMAT_NAMES_CHARS], const char *and,
		      uint32_t formats)
{
	size_t at = 0;

	for (uint32_t i = 0; i < IMG_FORMATS; i++) {
		bool is_last = formats >> i >> 1 == 0 || i + 1 == IMG_FORMATS;

		if ((formats >> i & 1) == 0)
			continue;
		at += (size_t)snprintf(out + at, IMG_FORMAT_NAMES_CHARS - at,
				       "%s%s",
				       at == 0 ? "" :
				       is_last ? and :
						 ", ",
				       img_formats[i]->name);
		assert(at < IMG_FORMAT_NAMES_CHARS);
	}
}

/* --- The header --- */

/* UNKNOWN_FORMAT, or TRUNCATED: the bytes do not yet tell. */
static enum img_err recognise(const struct img_format **format,
			      const uint8_t *bytes, size_t count)
{
	enum img_err err = IMG_ERR_UNKNOWN_FORMAT;

	if (count < IMG_BEGIN_BYTES)
		return err;
	for (uint32_t i = 0; i < IMG_FORMATS; i++) {
		const struct img_codec *c = img_formats[i]->codec;
		bool is_whole = count >= c->magic_bytes;

		if (!c->recognise(bytes, is_whole ? c->magic_bytes : count))
			continue;
		if (is_whole) {
			*format = img_formats[i];
			return IMG_OK;
		}
		err = IMG_ERR_TRUNCATED;
	}
	return err;
}

enum img_err img_probe_more(struct img_header *header, const uint8_t *bytes,
			    size_t count, const struct img_limits *limits)
{
	enum img_err err = IMG_OK;

	header->bytes = count;
	if (header->format == NULL)
		err = recognise(&header->format, bytes, count);
	return err == IMG_OK ? header->format->codec->probe_more(header, bytes,
								 limits) :
			       err;
}

enum img_err img_probe(struct img_header *header, const uint8_t *bytes,
		       size_t count, const struct img_limits *limits)
{
	struct img_header h = { 0 };
	enum img_err err = img_probe_more(&h, bytes, count, limits);

	if (err == IMG_OK)
		*header = h;
	if (err == IMG_ERR_TOO_LARGE)
		*header = (struct img_header){ .format = h.format,
					       .stored = h.stored };
	return err;
}

enum img_err format_check_size(struct img_size stored,
			       const struct img_limits *limits)
{
	uint32_t side_px_max = min_u32(limits->side_px_max, IMG_SIDE_PX_MAX);

	return stored.width_px > side_px_max ||
			       stored.height_px > side_px_max ||
			       img_pixels(stored) > limits->pixels_max ?
		       IMG_ERR_TOO_LARGE :
		       IMG_OK;
}

void format_set_upright(struct img_header *header)
{
	struct img_size s = header->stored;

	if (header->orientation == 0)
		header->orientation = 1;
	header->upright = s;
	if (header->orientation >= 5)
		header->upright = (struct img_size){ s.height_px, s.width_px };
}

enum img_err format_set_full(struct img_header *header, enum img_space space,
			     const struct img_limits *limits)
{
	header->space = space;
	header->component_count = image_planes_of(space);
	for (uint32_t i = 0; i < header->component_count; i++)
		header->h_factors[i] = header->v_factors[i] = 1;
	format_set_upright(header);
	return format_check_size(header->stored, limits);
}

enum img_err format_alloc(struct image *dst, const struct img_header *header,
			  const struct img_limits *limits,
			  const struct memory *memory)
{
	image_shape(dst, header->stored, header->space, true);
	if (image_bytes(dst) <= limits->decode_bytes_max)
		return image_alloc(dst, memory) ? IMG_OK : IMG_ERR_NO_MEMORY;
	*dst = (struct image){ 0 };
	return IMG_ERR_TOO_LARGE;
}

/* Large pictures may have fewer scans, because each may visit every block. */
uint32_t img_scans_max(struct img_size stored, const struct img_limits *limits)
{
	/*
	 * For a picture with the most pixels of a result.  With 64, a JPEG of a
	 * kilobyte could take seconds.
	 */
	enum { SCANS_AT_PIXELS_MAX = 16 };
	double pixels = (double)stored.width_px * stored.height_px;
	double most =
		SCANS_AT_PIXELS_MAX * (double)img_result_pixels_max(limits);

	return most < pixels * limits->scans_max ? (uint32_t)(most / pixels) :
						   limits->scans_max;
}

const int format_qualities[FORMAT_QUALITIES] = { 1,  10, 30, 50, 70,
						 80, 90, 95, 100 };

double format_quality(const double *qualities, double quality)
{
	uint32_t i = 1;
	double part;

	assert(quality >= 1 && quality <= 100);
	while (format_qualities[i] < quality)
		i++;
	part = (quality - format_qualities[i - 1]) /
	       (format_qualities[i] - format_qualities[i - 1]);
	return qualities[i - 1] * (1 - part) + qualities[i] * part;
}

bool img_result_fits(const struct img_view *view,
		     const struct img_transform *transform,
		     const struct img_limits *limits)
{
	uint32_t side_px_max = img_formats[transform->format]->side_px_max;
	struct img_size size = img_result_size(view);

	if (side_px_max == 0)
		side_px_max = IMG_SIDE_PX_MAX;
	return size.width_px <= side_px_max && size.height_px <= side_px_max &&
	       img_pixels(size) <= img_result_pixels_max(limits);
}

/* Are red, green and blue alike? */
static bool is_grey(uint32_t rgb)
{
	return rgb == IMG_TRANSPARENT || rgb == (rgb & 255) * 0x10101u;
}

enum img_space format_padded_space(const struct img_transform *transform,
				   enum img_space space)
{
	if (format_adds_alpha(transform))
		return IMG_RGBA;
	if (space != IMG_GREY || transform->greyscale ||
	    is_grey(transform->background))
		return space;
	return format_of_result(transform)->planes(transform) == FORMAT_RGB ?
		       IMG_RGB :
		       IMG_YCBCR;
}

bool img_gainmap_header(struct img_header *map, const struct img_header *header)
{
	const struct img_codec *c = header->format->codec;

	return c->gainmap != NULL && c->gainmap(map, header);
}

bool img_keeps_gainmap(const struct img_transform *transform)
{
	return transform->keep_gainmap && !format_may_pad(transform) &&
	       transform->watermark == 0 &&
	       img_formats[transform->format]->holds_gainmap;
}

/* --- The steps --- */

enum img_err img_decode(struct image *dst, const uint8_t *bytes, size_t count,
			const struct img_header *header,
			const struct img_view *view,
			const struct img_transform *transform,
			const struct img_limits *limits,
			const struct memory *memory)
{
	if (!img_result_fits(view, transform, limits))
		return IMG_ERR_TOO_LARGE;
	if (header->format->program != NULL)
		return IMG_ERR_NO_DECODER;
	return header->format->codec->decode(dst, bytes, count, header, view,
					     transform, limits, memory);
}

struct img_early *img_early_begin(const uint8_t *bytes, size_t count,
				  const struct img_header *header,
				  const struct img_view *view,
				  const struct img_transform *transform,
				  const struct img_limits *limits,
				  const struct memory *memory)
{
	const struct format_early *early = header->format->codec->early;

	return early != NULL && img_result_fits(view, transform, limits) ?
		       early->begin(bytes, count, header, view, transform,
				    limits, memory) :
		       NULL;
}

enum img_err img_early_come(struct img_early *e, const uint8_t *bytes,
			    size_t count, const _Atomic bool *stop)
{
	return e->format->come(e, bytes, count, stop);
}

/* May `e` have decoded a part of this file? */
static bool is_early(const struct img_early *e, const struct img_header *header)
{
	return e != NULL && e->format == header->format->codec->early;
}

double img_early_left(const struct img_early *e, size_t count,
		      const struct img_header *header,
		      const struct img_view *view,
		      const struct img_transform *transform)
{
	return is_early(e, header) ?
		       e->format->left(e, count, header, view, transform) :
		       1;
}

void img_early_free(struct img_early *e)
{
	if (e != NULL)
		e->format->free(e);
}

enum img_err img_decode_rest(struct image *dst, struct img_early *e,
			     const uint8_t *bytes, size_t count,
			     const struct img_header *header,
			     const struct img_view *view,
			     const struct img_transform *transform,
			     const struct img_limits *limits,
			     const struct memory *memory)
{
	if (!is_early(e, header) || !img_result_fits(view, transform, limits))
		return img_decode(dst, bytes, count, header, view, transform,
				  limits, memory);
	return e->format->rest(dst, e, bytes, count, header, view, transform,
			       limits, memory);
}

bool img_decode_again(struct img_header *header, enum img_err err)
{
	const struct img_codec *c = header->format->codec;

	if (err == IMG_ERR_BORDER) {
		header->has_findings = true;
		return true;
	}
	return c->decode_again != NULL && c->decode_again(header, err);
}

enum img_err img_decode_any(struct image *dst, const uint8_t *bytes,
			    size_t count, const struct img_header *header,
			    const struct img_view *view,
			    const struct img_transform *transform,
			    const struct img_limits *limits,
			    const struct memory *memory)
{
	struct img_header h = *header;
	enum img_err err;

	do {
		err = img_decode(dst, bytes, count, &h, view, transform, limits,
				 memory);
	} while (img_decode_again(&h, err));
	return err;
}
