/* SPDX-License-Identifier: MIT */
#include "imgops/formats/heic/hevc.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

enum {
	NAL_BYTES_MAX = 1 << 30,
	/* In an item.  A picture of the highest level has 600 slices. */
	UNITS_MAX = 1024,
	STUFFING_BYTES_MAX = 1000, /* of a unit */
	/* Before and after its last filter: all that one picture needs. */
	BUFFERS_MAX = 2,
	MORE_PX = 64,       /* to whole blocks */
	PADDING_BYTES = 16, /* as libde265 itself allocates it */
};

bool heic_start(void)
{
	/*
	 * libde265 compares memory that it has not written, and shows it if
	 * data are missing; so no block is handed out as another file has left
	 * it.
	 */
	(void)mallopt(M_PERTURB, 1);
	return de265_init() == DE265_OK;
}

/* --- Memory --- */

/*
 * Luma begins as a pattern that no picture has.  It is looked for in the middle
 * of each block of 16 x 16, the smallest that is coded by itself: where a
 * neighbour is coded, filters change up to 3 samples at its edges.
 */
enum { BLOCK_PX = 16, EDGE_PX = 3 };

static uint8_t pattern_at(uint32_t x)
{
	static const uint8_t levels[] = { 90, 167, 195, 46, 121, 212, 61, 150 };

	return levels[x % ARRAY_SIZE(levels)];
}

/* Little-endian samples of one or two bytes. */
static void put_pattern(uint8_t *row, uint32_t width, uint32_t sample_bytes)
{
	for (uint32_t x = 0; x < width; x++)
		row[x * sample_bytes] = pattern_at(x);
}

static bool is_pattern(const uint8_t *row, uint32_t first, uint32_t end,
		       uint32_t sample_bytes)
{
	for (uint32_t x = first; x < end; x++)
		if (row[x * sample_bytes] != pattern_at(x) ||
		    (sample_bytes == 2 && row[x * sample_bytes + 1] != 0))
			return false;
	return true;
}

static uint32_t sample_bytes(const struct de265_image *img, int plane)
{
	return de265_get_bits_per_pixel(img, plane) > 8 ? 2 : 1;
}

static bool add_plane(struct de265_image *img, int plane, uint32_t width,
		      uint32_t height, uint32_t align)
{
	uint32_t sample = sample_bytes(img, plane);
	size_t stride = (size_t)(width + align - 1) / align * align * sample;
	size_t bytes = stride * height + PADDING_BYTES;
	uint8_t *samples =
		aligned_alloc(align, (bytes + align - 1) / align * align);

	if (samples == NULL)
		return false;
	memset(samples, 0, bytes);
	for (uint32_t y = 0; plane == 0 && y < height; y++)
		put_pattern(samples + y * stride, width, sample);
	de265_set_image_plane(img, plane, samples, (int)stride, samples);
	return true;
}

static void release_buffer(de265_decoder_context *context,
			   struct de265_image *img, void *arg)
{
	struct hevc *v = arg;

	(void)context;
	v->buffers--;
	for (int i = 0; i < 3; i++)
		free(de265_get_image_plane_user_data(img, i));
}

/*
 * The picture's data may say another size than its properties.  All buffers are
 * of one size, as those of one picture.
 */
static int get_buffer(de265_decoder_context *context,
		      struct de265_image_spec *spec, struct de265_image *img,
		      void *arg)
{
	struct hevc *v = arg;
	bool is_grey = spec->format == de265_image_format_mono8;
	bool is_full = spec->format == de265_image_format_YUV444P8;
	uint32_t width = (uint32_t)spec->width, height = (uint32_t)spec->height;
	uint32_t align = (uint32_t)spec->alignment;
	uint32_t chroma_width = is_full ? width : width / 2;
	uint32_t chroma_height = spec->format == de265_image_format_YUV420P8 ?
					 height / 2 :
					 height;

	if (spec->width < 0 || spec->height < 0 ||
	    width > v->size.width_px + MORE_PX ||
	    height > v->size.height_px + MORE_PX || v->buffers == BUFFERS_MAX ||
	    (v->width != 0 && (width != v->width || height != v->height)))
		return 0;
	v->width = width;
	v->height = height;
	v->buffers++;
	for (int i = 0; i < 3; i++)
		de265_set_image_plane(img, i, NULL, 0, NULL);
	if (add_plane(img, 0, width, height, align) &&
	    (is_grey ||
	     (add_plane(img, 1, chroma_width, chroma_height, align) &&
	      add_plane(img, 2, chroma_width, chroma_height, align))))
		return 1;
	release_buffer(context, img, arg);
	return 0;
}

/* Are all blocks of the picture there? */
static bool is_whole(const struct hevc *v)
{
	const uint8_t *luma = de265_get_image_plane_user_data(v->img, 0);
	uint32_t sample = sample_bytes(v->img, 0), end;
	int stride;

	(void)de265_get_image_plane(v->img, 0, &stride);
	for (uint32_t y = EDGE_PX; y + EDGE_PX < v->height; y += BLOCK_PX)
		for (uint32_t x = 0; x < v->width; x += BLOCK_PX) {
			const uint8_t *row = luma + (size_t)y * (size_t)stride;

			end = min_u32(x + BLOCK_PX, v->width) - EDGE_PX;
			if (is_pattern(row, x + EDGE_PX, end, sample) &&
			    is_pattern(row + stride, x + EDGE_PX, end, sample))
				return false;
		}
	return true;
}

/* --- Data --- */

/*
 * Has it no more bytes of stuffing, the 3 after two zeros, than a picture may
 * have by chance?  libde265 moves all that is behind each.
 */
static bool has_few_stuffing(const uint8_t *at, size_t bytes)
{
	uint32_t count = 0;

	for (size_t i = 2; i < bytes; i++)
		if (at[i] == 3 && at[i - 1] == 0 && at[i - 2] == 0)
			count++;
	return count <= STUFFING_BYTES_MAX;
}

/* Slices and parameters alone: messages and the like are left out. */
static bool push(struct hevc *v, struct isobmff_span *s, uint32_t length_bytes)
{
	enum { HEAD_BYTES = 2, PPS = 34 };
	size_t bytes = (size_t)isobmff_number(s, length_bytes);
	const uint8_t *at = s->at;

	isobmff_skip(s, bytes);
	if (s->is_bad || bytes > NAL_BYTES_MAX)
		return false;
	if (bytes < HEAD_BYTES || (at[0] >> 1 & 63) > PPS)
		return true;
	return ++v->units <= UNITS_MAX && has_few_stuffing(at, bytes) &&
	       de265_push_NAL(v->decoder, at, (int)bytes, 0, NULL) == DE265_OK;
}

/* The decoder's own parameters, of the property. */
static bool push_config(struct hevc *v, const struct heic_config *c)
{
	struct isobmff_span s = c->at;

	for (uint32_t i = 0; i < c->arrays; i++) {
		uint64_t count;

		isobmff_skip(&s, 1); /* of which type */
		count = isobmff_number(&s, 2);
		for (uint64_t k = 0; k < count; k++)
			if (!push(v, &s, 2))
				return false;
	}
	return !s.is_bad;
}

static bool push_data(struct hevc *v, struct isobmff_span s,
		      uint32_t length_bytes)
{
	while (s.left > 0)
		if (!push(v, &s, length_bytes))
			return false;
	return true;
}

static enum img_err error_of(de265_error err)
{
	switch (err) {
	case DE265_ERROR_OUT_OF_MEMORY:
		return IMG_ERR_NO_MEMORY;
	case DE265_ERROR_NOT_IMPLEMENTED_YET:
		return IMG_ERR_UNSUPPORTED;
	default:
		return IMG_ERR_CORRUPT;
	}
}

/* Decode what was pushed. */
static enum img_err decode_pushed(struct hevc *v)
{
	de265_error err = de265_flush_data(v->decoder);
	int more = 1;

	while (err == DE265_OK && more != 0 && v->img == NULL) {
		err = de265_decode(v->decoder, &more);
		v->img = de265_get_next_picture(v->decoder);
	}
	if (err == DE265_OK)
		err = de265_get_warning(v->decoder);
	if (err != DE265_OK)
		return error_of(err);
	return v->img != NULL && is_whole(v) ? IMG_OK : IMG_ERR_CORRUPT;
}

enum img_err hevc_decode(struct hevc *v, const struct heic_config *c,
			 struct isobmff_span data, struct img_size size)
{
	struct de265_image_allocation buffers = { get_buffer, release_buffer };

	*v = (struct hevc){ .decoder = de265_new_decoder(), .size = size };
	if (v->decoder == NULL)
		return IMG_ERR_NO_MEMORY;
	de265_set_image_allocation_functions(v->decoder, &buffers, v);
	de265_set_parameter_bool(
		v->decoder, DE265_DECODER_PARAM_SUPPRESS_FAULTY_PICTURES, 1);
	if (!push_config(v, c) || !push_data(v, data, c->length_bytes))
		return IMG_ERR_CORRUPT;
	return decode_pushed(v);
}

void hevc_end(struct hevc *v)
{
	if (v->decoder != NULL)
		(void)de265_free_decoder(v->decoder);
	*v = (struct hevc){ 0 };
}
