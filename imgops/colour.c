/* SPDX-License-Identifier: MIT */
/*
 * A row goes
 *
 *	planes -> RGB or CMYK -> [profile] -> sRGB -> Y'CbCr -> chroma halved
 */
#include "imgops/colour.h"

#include "imgops/colour_rows.h"
#include "imgops/planes.h"

#include <assert.h>
#include <string.h>

enum { GREY_LEVELS = 256 };

static bool is_inks(enum img_space space)
{
	return space == IMG_CMYK || space == IMG_YCCK;
}

/* How many will be converted, which decides about tables. */
static uint64_t pixels_left(const struct image *src, struct img_size size,
			    bool may_keep)
{
	if (may_keep)
		return 0;
	if (src->space == IMG_GREY)
		return GREY_LEVELS;
	return img_pixels(size);
}

bool colour_open(struct colour *c, const struct image *src,
		 struct img_size size, const struct img_recipe *recipe)
{
	bool may_keep = recipe->keep_profile && !is_inks(src->space);
	enum icc_verdict verdict;

	icc_init(&c->icc);
	c->keeps_profile = false;
	c->notes = src->notes;
	if (src->profile == NULL)
		return true;
	verdict = icc_open(&c->icc, src->profile, src->profile_bytes,
			   src->space, pixels_left(src, size, may_keep));
	if (verdict == ICC_NO_MEMORY)
		return false;
	if (verdict == ICC_BAD) {
		c->notes |= IMG_NOTE_BAD_PROFILE;
		return true;
	}
	/* A profile for RGB says nothing to readers of a grey picture. */
	c->keeps_profile =
		may_keep && (src->space != IMG_GREY || c->icc.channels == 1);
	if (c->keeps_profile)
		icc_close(&c->icc);
	return true;
}

bool colour_needs_pixels(const struct colour *c, const struct image *src)
{
	switch (src->space) {
	case IMG_GREY:
		return false;
	case IMG_YCBCR:
		return c->icc.channels != 0;
	default:
		return true;
	}
}

/* Rows on their way, all of one block. */
struct rows {
	uint8_t *from_ycc[3];
	uint8_t *srgb[3];
	uint8_t *chroma[2][2]; /* of an even row and an odd one: Cb, Cr */
	uint8_t flip[IMG_PLANES_MAX];
};

enum { ROWS_WIDTHS = 3 + 3 + 2 * 2 }; /* bytes of all, per pixel */

static uint8_t *take(uint8_t **next, size_t bytes)
{
	uint8_t *taken = *next;

	*next += bytes;
	return taken;
}

static void rows_init(struct rows *rows, uint8_t *block, size_t width)
{
	uint8_t *next = block;

	for (int i = 0; i < 3; i++) {
		rows->from_ycc[i] = take(&next, width);
		rows->srgb[i] = take(&next, width);
	}
	for (int i = 0; i < 2; i++) {
		rows->chroma[0][i] = take(&next, width);
		rows->chroma[1][i] = take(&next, width);
	}
	assert(next == block + ROWS_WIDTHS * width);
}

/*
 * What makes 255 full ink.  YCCK is Y'CbCr of red, green and blue light, and
 * ink takes the rest of it (libjpeg's ycck_cmyk_convert); so YCCK that Adobe
 * inverted already is what a plain reader sees as ink.
 */
static void set_flip(struct rows *rows, const struct image *src)
{
	uint8_t inverted = src->inks_inverted ? 255 : 0;

	memset(rows->flip, 0, sizeof(rows->flip));
	if (!is_inks(src->space))
		return;
	memset(rows->flip, src->space == IMG_YCCK ? 255 ^ inverted : inverted,
	       3);
	rows->flip[3] = inverted;
}

/* Point `rgb` to row `y` as RGB. */
static void make_rgb(const uint8_t *rgb[IMG_PLANES_MAX], struct rows *rows,
		     const struct image *src, const struct icc *icc, uint32_t y)
{
	uint32_t width = src->planes[0].width;

	for (uint32_t i = 0; i < src->plane_count; i++)
		rgb[i] = src->planes[i].samples +
			 y * src->planes[i].stride_bytes;
	if (src->space == IMG_YCBCR || src->space == IMG_YCCK) {
		colour_rgb_from_ycc(rows->from_ycc, rgb, width);
		memcpy(rgb, rows->from_ycc, sizeof(rows->from_ycc));
	}
	if (icc->channels != 0) {
		assert(icc->channels == src->plane_count);
		icc_convert(icc, rows->srgb, rgb, rows->flip, width);
	} else if (is_inks(src->space)) {
		colour_rgb_from_cmyk(rows->srgb, rgb, rows->flip, width);
	} else {
		return;
	}
	memcpy(rgb, rows->srgb, sizeof(rows->srgb));
}

static uint8_t *row_of(const struct image *img, uint32_t plane, uint32_t y)
{
	const struct img_plane *p = &img->planes[plane];

	return p->samples + y * p->stride_bytes;
}

static void halve_chroma(struct image *dst, struct rows *rows, uint32_t y,
			 bool is_last)
{
	uint32_t width = dst->planes[0].width;

	if (y % 2 == 0 && !is_last)
		return;
	for (uint32_t i = 0; i < 2; i++)
		colour_halve(row_of(dst, 1 + i, y / 2), rows->chroma[0][i],
			     rows->chroma[y % 2][i], width);
}

static void convert_rows(struct image *dst, const struct image *src,
			 const struct icc *icc, struct rows *rows,
			 bool full_chroma)
{
	uint32_t width = src->planes[0].width, height = src->planes[0].height;

	for (uint32_t y = 0; y < height; y++) {
		const uint8_t *rgb[IMG_PLANES_MAX];
		uint8_t *ycc[3] = { row_of(dst, 0, y), rows->chroma[y % 2][0],
				    rows->chroma[y % 2][1] };

		if (full_chroma) {
			ycc[1] = row_of(dst, 1, y);
			ycc[2] = row_of(dst, 2, y);
		}
		make_rgb(rgb, rows, src, icc, y);
		colour_ycc_from_rgb(ycc, rgb, width);
		if (!full_chroma)
			halve_chroma(dst, rows, y, y == height - 1);
	}
}

bool colour_convert(struct image *dst, const struct image *src,
		    const struct colour *c, bool full_chroma,
		    const struct img_memory *memory)
{
	const struct img_plane *first = &src->planes[0];
	size_t bytes = (size_t)first->width * ROWS_WIDTHS;
	struct rows rows;
	uint8_t *block;

	for (uint32_t i = 0; i < src->plane_count; i++) {
		assert(src->planes[i].width == first->width);
		assert(src->planes[i].height == first->height);
	}
	image_shape(dst, (struct img_size){ first->width, first->height },
		    IMG_YCBCR, full_chroma);
	if (!image_alloc(dst, memory))
		return false;
	block = memory->alloc(memory->arg, bytes);
	if (block == NULL) {
		img_release(dst);
		return false;
	}
	rows_init(&rows, block, first->width);
	set_flip(&rows, src);
	convert_rows(dst, src, &c->icc, &rows, full_chroma);
	memory->free(memory->arg, block);
	return true;
}

/* What each level of grey becomes: the luma of its colour. */
static void grey_levels(uint8_t levels[GREY_LEVELS], const struct icc *icc)
{
	static const uint8_t flip[IMG_PLANES_MAX];
	uint8_t grey[GREY_LEVELS], red[GREY_LEVELS], green[GREY_LEVELS];
	uint8_t blue[GREY_LEVELS], cb[GREY_LEVELS], cr[GREY_LEVELS];
	const uint8_t *const device[] = { grey, grey, grey };
	uint8_t *const rgb[] = { red, green, blue };
	uint8_t *const ycc[] = { levels, cb, cr };

	for (int i = 0; i < GREY_LEVELS; i++)
		grey[i] = (uint8_t)i;
	icc_convert(icc, rgb, device, flip, GREY_LEVELS);
	colour_ycc_from_rgb(ycc, (const uint8_t *const *)rgb, GREY_LEVELS);
}

void colour_convert_grey(struct image *img, const struct colour *c)
{
	const struct img_plane *p = &img->planes[0];
	uint8_t levels[GREY_LEVELS];

	if (c->icc.channels == 0)
		return;
	assert(img->space == IMG_GREY && c->icc.channels <= 3);
	grey_levels(levels, &c->icc);
	for (uint32_t y = 0; y < p->height; y++) {
		uint8_t *row = row_of(img, 0, y);

		for (uint32_t x = 0; x < p->width; x++)
			row[x] = levels[row[x]];
	}
}

bool colour_label(struct image *dst, const struct image *src,
		  const struct colour *c, const struct img_memory *memory)
{
	dst->notes = c->notes;
	if (!c->keeps_profile)
		return true;
	dst->profile = memory->alloc(memory->arg, src->profile_bytes);
	if (dst->profile == NULL)
		return false;
	memcpy(dst->profile, src->profile, src->profile_bytes);
	dst->profile_bytes = src->profile_bytes;
	return true;
}

void colour_close(struct colour *c)
{
	icc_close(&c->icc);
}
