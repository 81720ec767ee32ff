/* SPDX-License-Identifier: MIT */
#include "imgops/image.h"

#include <assert.h>

enum {
	SIDE_PX_MAX = 65500,  /* libjpeg's */
	ROW_ALIGN_BYTES = 32, /* a vector register */
};

static uint64_t plane_stride(const struct img_plane *p)
{
	uint64_t bytes = (uint64_t)p->width + IMAGE_BLOCK_PX;

	return (bytes + ROW_ALIGN_BYTES - 1) & ~(uint64_t)(ROW_ALIGN_BYTES - 1);
}

/* Sides below 2^16: no sum or product of them comes near 64 bits. */
static uint64_t plane_bytes(const struct img_plane *p)
{
	assert(p->width > 0 && p->width <= SIDE_PX_MAX);
	assert(p->height > 0 && p->height <= SIDE_PX_MAX);
	return plane_stride(p) * ((uint64_t)p->height + IMAGE_ROW_GROUP_MAX);
}

uint64_t image_bytes(const struct image *img)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < img->plane_count; i++)
		bytes += plane_bytes(&img->planes[i]);
	return bytes;
}

bool image_alloc(struct image *img, const struct img_memory *memory)
{
	uint64_t bytes = image_bytes(img);
	uint8_t *next = NULL;

	assert(img->plane_count == 1 || img->plane_count == IMG_PLANES_MAX);
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
	return true;
}

void image_shape(struct image *img, struct img_size size, uint32_t plane_count)
{
	*img = (struct image){ .plane_count = plane_count };
	for (uint32_t i = 0; i < plane_count; i++) {
		uint32_t step = i == 0 ? 1 : 2;

		img->planes[i] = (struct img_plane){
			.width = (size.width_px + step - 1) / step,
			.height = (size.height_px + step - 1) / step,
			.span_x = (double)size.width_px / step,
			.span_y = (double)size.height_px / step,
		};
	}
}

bool image_is_shaped(const struct image *img)
{
	const struct img_plane *luma = &img->planes[0];
	struct image shape;

	image_shape(&shape, (struct img_size){ luma->width, luma->height },
		    img->plane_count);
	for (uint32_t i = 0; i < img->plane_count; i++) {
		const struct img_plane *a = &img->planes[i];
		const struct img_plane *b = &shape.planes[i];

		if (a->width != b->width || a->height != b->height)
			return false;
	}
	return img->block != NULL;
}

void img_release(struct image *img)
{
	if (img->block != NULL)
		img->memory->free(img->memory->arg, img->block);
	*img = (struct image){ 0 };
}

/* round(a * b / c), at least 1. */
static uint32_t share(uint32_t a, uint32_t b, uint32_t c)
{
	uint64_t n = ((uint64_t)a * b * 2 + c) / ((uint64_t)c * 2);

	return n > 0 ? (uint32_t)n : 1;
}

struct img_size img_fit(struct img_size size, struct img_size box)
{
	uint32_t w = box.width_px, h = box.height_px;

	assert(size.width_px > 0 && size.width_px <= SIDE_PX_MAX);
	assert(size.height_px > 0 && size.height_px <= SIDE_PX_MAX);
	if (w == 0 || w > size.width_px)
		w = size.width_px;
	if (h == 0 || h > size.height_px)
		h = size.height_px;
	/* The side that must shrink more decides. */
	if ((uint64_t)w * size.height_px <= (uint64_t)h * size.width_px)
		h = share(size.height_px, w, size.width_px);
	else
		w = share(size.width_px, h, size.height_px);
	return (struct img_size){ w, h };
}

const char *img_strerror(enum img_err err)
{
	static const char *const text[] = {
		[IMG_OK] = "no error",
		[IMG_ERR_NOT_JPEG] = "not a JPEG",
		[IMG_ERR_UNSUPPORTED] = "a kind of JPEG that is not read",
		[IMG_ERR_CORRUPT] = "corrupt JPEG",
		[IMG_ERR_TRUNCATED] = "the JPEG ends too early",
		[IMG_ERR_TOO_LARGE] = "the picture is too large",
		[IMG_ERR_TOO_MANY_SCANS] = "the JPEG has too many scans",
		[IMG_ERR_NO_MEMORY] = "out of memory",
	};

	assert((size_t)err < sizeof(text) / sizeof(text[0]));
	return text[err];
}
