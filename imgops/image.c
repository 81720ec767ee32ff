/* SPDX-License-Identifier: MIT */
#include "imgops/image.h"

#include "imgops/gainmap.h"

#include "base/util.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { ROW_ALIGN_BYTES = 32 }; /* the size of a vector register */

static uint64_t plane_stride(const struct img_plane *p)
{
	uint64_t bytes = (uint64_t)p->width + IMAGE_BLOCK_PX;

	return (bytes + ROW_ALIGN_BYTES - 1) & ~(uint64_t)(ROW_ALIGN_BYTES - 1);
}

/* Sides are below 2^16, so sums and products of them fit into 64 bits. */
static uint64_t plane_bytes(const struct img_plane *p)
{
	assert(p->width > 0 && p->width <= IMG_SIDE_PX_MAX);
	assert(p->height > 0 && p->height <= IMG_SIDE_PX_MAX);
	return plane_stride(p) * ((uint64_t)p->height + IMAGE_ROW_GROUP_MAX);
}

uint64_t image_bytes(const struct image *img)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < img->plane_count; i++)
		bytes += plane_bytes(&img->planes[i]);
	return bytes;
}

bool image_alloc(struct image *img, const struct memory *memory)
{
	uint64_t bytes = image_bytes(img);
	uint8_t *next = NULL;

	assert(img->plane_count > 0 && img->plane_count <= IMG_PLANES_MAX);
	assert(img->block == NULL);
	if (bytes <= SIZE_MAX)
		next = memory->alloc(memory->arg, (size_t)bytes);
	if (next == NULL) {
		*img = (struct image){ 0 };
		return false;
	}
	img->block = next;
	img->memory = memory;
	for (uint32_t i = 0; i < img->plane_count; i++) {
		struct img_plane *p = &img->planes[i];

		p->samples = next;
		p->stride_bytes = (size_t)plane_stride(p);
		next += plane_bytes(p);
	}
	memory_pause(memory);
	return true;
}

uint32_t image_planes_of(enum img_space space)
{
	static const uint32_t counts[] = {
		[IMG_GREY] = 1, [IMG_YCBCR] = 3, [IMG_RGB] = 3,
		[IMG_CMYK] = 4, [IMG_YCCK] = 4,  [IMG_RGBA] = 4,
	};

	return counts[space];
}

void image_shape(struct image *img, struct img_size size, enum img_space space,
		 bool full_chroma)
{
	*img = (struct image){
		.plane_count = image_planes_of(space),
		.space = space,
	};
	for (uint32_t i = 0; i < img->plane_count; i++) {
		bool is_chroma = space == IMG_YCBCR && i > 0;
		uint32_t step = is_chroma && !full_chroma ? 2 : 1;

		img->planes[i] = (struct img_plane){
			.width = (size.width_px + step - 1) / step,
			.height = (size.height_px + step - 1) / step,
			.span_x = (double)size.width_px / step,
			.span_y = (double)size.height_px / step,
		};
	}
}

struct img_plane image_plane_shape(struct img_size size, uint32_t n, uint32_t h,
				   uint32_t h_max, uint32_t v, uint32_t v_max)
{
	double span_x =
		(double)size.width_px * n * h / (DECODE_SCALE_FULL * h_max);
	double span_y =
		(double)size.height_px * n * v / (DECODE_SCALE_FULL * v_max);

	return (struct img_plane){
		.width = (uint32_t)ceil(span_x),
		.height = (uint32_t)ceil(span_y),
		.span_x = span_x,
		.span_y = span_y,
	};
}

struct img_size image_factors_max(const struct img_header *h)
{
	struct img_size most = { 1, 1 };

	for (uint32_t i = 0; i < h->component_count; i++) {
		if (h->h_factors[i] > most.width_px)
			most.width_px = h->h_factors[i];
		if (h->v_factors[i] > most.height_px)
			most.height_px = h->v_factors[i];
	}
	return most;
}

bool image_has_full_chroma(const struct image *img)
{
	return img->plane_count > 1 &&
	       img->planes[1].span_x == img->planes[0].span_x;
}

bool image_is_shaped(const struct image *img)
{
	const struct img_plane *luma = &img->planes[0];
	struct img_size size = { luma->width, luma->height };
	struct image shape;

	if (img->space == IMG_CMYK || img->space == IMG_YCCK)
		return false;
	image_shape(&shape, size, img->space, image_has_full_chroma(img));
	for (uint32_t i = 0; i < img->plane_count; i++) {
		const struct img_plane *a = &img->planes[i];
		const struct img_plane *b = &shape.planes[i];

		if (a->width != b->width || a->height != b->height)
			return false;
	}
	return img->block != NULL;
}

static bool is_side(uint32_t side, double span)
{
	return side > 0 && side <= IMG_SIDE_PX_MAX && span > side - 1.0 &&
	       span <= side;
}

static bool is_possible(const struct image *img)
{
	if (img->space > IMG_RGBA ||
	    img->plane_count != image_planes_of(img->space))
		return false;
	for (uint32_t i = 0; i < img->plane_count; i++) {
		const struct img_plane *p = &img->planes[i];

		if (!is_side(p->width, p->span_x) ||
		    !is_side(p->height, p->span_y))
			return false;
	}
	return true;
}

static void copy_samples(struct img_plane *to, const struct img_plane *from,
			 const struct memory *memory)
{
	for (size_t y = 0; y < to->height; y++) {
		memcpy(to->samples + y * to->stride_bytes,
		       from->samples + y * from->stride_bytes, to->width);
		memory_pause(memory);
	}
}

enum img_err img_copy(struct image *dst, const struct image *src,
		      const struct memory *memory)
{
	struct image copy = { .plane_count = src->plane_count,
			      .space = src->space,
			      .notes = src->notes,
			      .is_srgb = src->is_srgb };

	if (!is_possible(src))
		return IMG_ERR_CORRUPT;
	for (uint32_t i = 0; i < src->plane_count; i++) {
		copy.planes[i] = src->planes[i];
		copy.planes[i].samples = NULL;
	}
	if (!image_alloc(&copy, memory))
		return IMG_ERR_NO_MEMORY;
	for (uint32_t i = 0; i < src->plane_count; i++)
		copy_samples(&copy.planes[i], &src->planes[i], memory);
	if (src->profile_bytes > 0) {
		copy.profile = memory_alloc(memory, src->profile_bytes);
		if (copy.profile == NULL) {
			img_release(&copy);
			return IMG_ERR_NO_MEMORY;
		}
		memcpy(copy.profile, src->profile, src->profile_bytes);
		copy.profile_bytes = src->profile_bytes;
	}
	if (src->gainmap != NULL) {
		enum img_err err = gainmap_copy(&copy, src->gainmap, memory);

		if (err != IMG_OK) {
			img_release(&copy);
			return err;
		}
	}
	*dst = copy;
	return IMG_OK;
}

void img_release(struct image *img)
{
	if (img->block != NULL)
		img->memory->free(img->memory->arg, img->block);
	if (img->profile != NULL)
		img->memory->free(img->memory->arg, img->profile);
	if (img->gainmap != NULL)
		gainmap_free(img->gainmap, img->memory);
	*img = (struct image){ 0 };
}

const char *img_strerror(enum img_err err)
{
	static const char *const text[] = {
		[IMG_OK] = "no error",
		[IMG_ERR_UNKNOWN_FORMAT] = "of no known format",
		[IMG_ERR_UNSUPPORTED] = "a kind of its format that is not read",
		[IMG_ERR_CORRUPT] = "corrupt data",
		[IMG_ERR_TRUNCATED] = "the file ends too early",
		[IMG_ERR_TOO_LARGE] = "the picture is too large",
		[IMG_ERR_TOO_MANY_SCANS] = "the file has too many scans",
		[IMG_ERR_NO_MEMORY] = "out of memory",
		[IMG_ERR_TOO_MANY_BYTES] = "no result is as small as asked",
		[IMG_ERR_OUTSIDE] = "the part asked for is not in the picture",
		[IMG_ERR_IRREGULAR] = "an irregular file",
		[IMG_ERR_NEEDS_ALL_SCANS] = "a file that needs all scans",
		[IMG_ERR_TEXTURE] = "a file with fine texture",
		[IMG_ERR_LOST] = "its decoder crashed, or took too long",
		[IMG_ERR_NO_DECODER] = "its decoder has ended",
		[IMG_ERR_BORDER] = "a file with a border",
	};

	assert((size_t)err < ARRAY_SIZE(text));
	return text[err];
}
