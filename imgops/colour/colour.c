/* SPDX-License-Identifier: MIT */
/*
 * A row is converted in these steps:
 *
 *	planes -> RGB or CMYK -> [profile] -> sRGB -> [background]
 *	       -> Y'CbCr -> chroma halved
 *
 * Each step is a loop over plain arrays that the compiler can vectorise: it has
 * no tables and computes in fixed point of 16 bits.
 */
#include "imgops/colour/colour.h"

#include "imgops/chroma.h"
#include "imgops/formats/format.h"
#include "imgops/image.h"

#include <assert.h>
#include <string.h>

enum {
	FIX_BITS = 16,
	FIX_HALF = 1 << (FIX_BITS - 1),
	CHROMA_ZERO = 128,
	CHROMA_BIAS = (CHROMA_ZERO << FIX_BITS) + FIX_HALF - 1,
};

#define FIX(x) ((int32_t)((x) * (1 << FIX_BITS) + 0.5))

static uint8_t *plane_row(const struct image *img, uint32_t plane, uint32_t y)
{
	const struct img_plane *p = &img->planes[plane];

	return p->samples + y * p->stride_bytes;
}

/* Only one channel: compilers do not vectorise a loop over more arrays. */
static void mix_light(uint8_t *restrict out, const uint8_t *const ycc[3],
		      int32_t of_cb, int32_t of_cr, size_t width)
{
	const uint8_t *y = ycc[0], *cb = ycc[1], *cr = ycc[2];

	for (size_t x = 0; x < width; x++) {
		int32_t colour = of_cb * (cb[x] - CHROMA_ZERO) +
				 of_cr * (cr[x] - CHROMA_ZERO) + FIX_HALF;
		int32_t light = y[x] + (colour >> FIX_BITS);

		light = light < 0 ? 0 : light;
		out[x] = (uint8_t)(light > 255 ? 255 : light);
	}
}

void colour_channel_from_ycc(uint8_t *out, const uint8_t *const ycc[3],
			     uint32_t channel, size_t width)
{
	static const int32_t factors[][2] = {
		{ 0, FIX(1.402) },
		{ -FIX(0.34414), -FIX(0.71414) },
		{ FIX(1.772), 0 },
	};

	mix_light(out, ycc, factors[channel][0], factors[channel][1], width);
}

void colour_rgb_from_ycc(uint8_t *const rgb[3], const uint8_t *const ycc[3],
			 size_t width)
{
	for (uint32_t i = 0; i < 3; i++)
		colour_channel_from_ycc(rgb[i], ycc, i, width);
}

/* The colour of which `alpha` has left `c`. */
static inline uint8_t undo_share(uint8_t c, float reciprocal)
{
	float whole = (float)c * reciprocal + 0.5f;

	return (uint8_t)(whole > 255 ? 255 : whole);
}

static inline float reciprocal_of(uint8_t alpha)
{
	return alpha > 0 ? 255.0f / (float)alpha : 0;
}

void colour_write_row(uint8_t *to, const struct image *src, uint32_t y)
{
	uint32_t width = src->planes[0].width;
	const uint8_t *from[IMG_PLANES_MAX];

	for (uint32_t i = 0; i < src->plane_count; i++)
		from[i] = plane_row(src, i, y);
	if (src->space == IMG_GREY)
		memcpy(to, from[0], width);
	for (uint32_t x = 0; src->space == IMG_RGB && x < width; x++, to += 3) {
		to[0] = from[0][x];
		to[1] = from[1][x];
		to[2] = from[2][x];
	}
	for (uint32_t x = 0; src->space == IMG_RGBA && x < width;
	     x++, to += 4) {
		float r = reciprocal_of(from[3][x]);

		for (uint32_t i = 0; i < 3; i++)
			to[i] = undo_share(from[i][x], r);
		to[3] = from[3][x];
	}
}

/* The sums are always within 0..255. */
static void mix_channels(uint8_t *restrict out, const uint8_t *const rgb[3],
			 const int32_t weights[3], int32_t bias, size_t width)
{
	const uint8_t *r = rgb[0], *g = rgb[1], *b = rgb[2];
	int32_t of_r = weights[0], of_g = weights[1], of_b = weights[2];

	for (size_t x = 0; x < width; x++) {
		int32_t sum = of_r * r[x] + of_g * g[x] + of_b * b[x] + bias;

		out[x] = (uint8_t)(sum >> FIX_BITS);
	}
}

void colour_chroma_from_rgb(uint8_t *const chroma[2],
			    const uint8_t *const rgb[3], size_t width)
{
	static const int32_t weights[][3] = {
		{ -FIX(0.168736), -FIX(0.331264), FIX(0.5) },
		{ FIX(0.5), -FIX(0.418688), -FIX(0.081312) },
	};

	for (int i = 0; i < 2; i++)
		mix_channels(chroma[i], rgb, weights[i], CHROMA_BIAS, width);
}

void colour_ycc_from_rgb(uint8_t *const ycc[3], const uint8_t *const rgb[3],
			 size_t width)
{
	static const int32_t weights[] = { FIX(0.299), FIX(0.587), FIX(0.114) };

	mix_channels(ycc[0], rgb, weights, FIX_HALF, width);
	colour_chroma_from_rgb(ycc + 1, rgb, width);
}

void colour_of_background(uint8_t samples[IMG_PLANES_MAX], enum img_space space,
			  const struct img_transform *transform)
{
	bool is_transparent = transform->background == IMG_TRANSPARENT;
	uint32_t colour = is_transparent ? 0xffffff : transform->background;
	uint8_t rgb[3], ycc[3];
	const uint8_t *const from[] = { &rgb[0], &rgb[1], &rgb[2] };
	uint8_t *const to[] = { &ycc[0], &ycc[1], &ycc[2] };

	for (int i = 0; i < 3; i++)
		rgb[i] = (uint8_t)(colour >> (16 - 8 * i));
	colour_ycc_from_rgb(to, from, 1);
	if (transform->greyscale) {
		memset(rgb, ycc[0], sizeof(rgb));
		ycc[1] = ycc[2] = CHROMA_ZERO;
	}
	memcpy(samples, space == IMG_RGB || space == IMG_RGBA ? rgb : ycc, 3);
	samples[3] = 255;
	if (space == IMG_RGBA && is_transparent)
		memset(samples, 0, IMG_PLANES_MAX);
}

/*
 * RGB from CMYK inks without a profile: each ink absorbs its share of the
 * light.  `flip` of a plane is 255 if a sample of 255 means no ink, and 0 if it
 * means full ink.
 */
static void rgb_from_cmyk(uint8_t *const rgb[3], const uint8_t *const cmyk[4],
			  const uint8_t flip[4], size_t width)
{
	const uint8_t *restrict k = cmyk[3];
	uint8_t black = flip[3] ^ 255;

	for (int i = 0; i < 3; i++) {
		uint8_t *restrict out = rgb[i];
		const uint8_t *restrict in = cmyk[i];
		uint8_t ink = flip[i] ^ 255;

		for (size_t x = 0; x < width; x++)
			out[x] = colour_share(in[x] ^ ink, k[x] ^ black);
	}
}

void colour_halve_row(uint8_t *half, const uint8_t *upper, const uint8_t *lower,
		      size_t width)
{
	size_t pairs = width / 2;

	for (size_t x = 0; x < pairs; x++) {
		int32_t sum = upper[2 * x] + upper[2 * x + 1] + lower[2 * x] +
			      lower[2 * x + 1];

		half[x] = (uint8_t)((sum + 2) / 4);
	}
	if (width % 2 != 0)
		half[pairs] =
			(uint8_t)((upper[width - 1] + lower[width - 1] + 1) /
				  2);
}

enum { GREY_LEVELS = 256 };

uint32_t colour_channels(enum img_space space)
{
	return space == IMG_RGBA ? 3 : image_planes_of(space);
}

static bool is_inks(enum img_space space)
{
	return space == IMG_CMYK || space == IMG_YCCK;
}

uint64_t colour_lcms_pixels(enum img_space space, struct img_size size,
			    bool may_keep)
{
	if (may_keep)
		return 0;
	if (space == IMG_GREY)
		return GREY_LEVELS;
	return img_pixels(size);
}

bool colour_may_keep_profile(enum img_space space, size_t profile_bytes,
			     const struct img_transform *transform)
{
	/* Background may have colours, and a profile of grey has none. */
	bool stays_grey = !format_may_pad(transform) ||
			  format_padded_space(transform, space) == space;

	return transform->keep_profile && !transform->greyscale &&
	       format_of_result(transform)->holds_profile && !is_inks(space) &&
	       (space != IMG_GREY || stays_grey) &&
	       profile_bytes <= PROFILE_KEPT_BYTES_MAX;
}

bool colour_open(struct colour *c, const struct image *src,
		 struct img_size size, const struct img_transform *transform,
		 const struct memory *memory)
{
	bool may_keep = colour_may_keep_profile(src->space, src->profile_bytes,
						transform);
	enum icc_verdict verdict = ICC_SRGB;

	icc_init(&c->icc);
	c->to = format_result_space(transform, src->space);
	c->background = transform->background & 0xffffff;
	if (transform->background == IMG_TRANSPARENT)
		c->background = 0xffffff;
	c->keeps_profile = false;
	c->notes = src->notes;
	if (src->profile == NULL)
		return true;
	if (!src->is_srgb)
		verdict = icc_open(
			&c->icc, src->profile, src->profile_bytes, src->space,
			colour_lcms_pixels(src->space, size, may_keep), memory);
	if (verdict == ICC_NO_MEMORY)
		return false;
	if (verdict == ICC_BAD) {
		c->notes |= IMG_NOTE_BAD_PROFILE;
		return true;
	}
	/* An RGB profile has no meaning in a grey picture. */
	c->keeps_profile =
		may_keep && (src->space != IMG_GREY || c->icc.channels == 1);
	if (c->keeps_profile) {
		if (icc_is_hdr(&c->icc))
			c->notes |= IMG_NOTE_HDR;
		icc_close(&c->icc);
	}
	return true;
}

bool colour_needs_pixels(const struct colour *c, const struct image *src)
{
	return src->space != c->to ||
	       (src->space != IMG_GREY && c->icc.channels != 0);
}

/* Rows between the steps of the conversion, all in one block. */
struct rows {
	uint8_t *rgb[3];
	uint8_t *srgb[3];
	uint8_t *chroma[2][2]; /* Cb and Cr of an even row and of an odd row */
	uint8_t flip[IMG_PLANES_MAX];
};

enum { ROWS_WIDTHS = 3 + 3 + 2 * 2 }; /* bytes of all rows, per pixel */

size_t colour_convert_bytes(uint32_t width_px)
{
	return (size_t)width_px * ROWS_WIDTHS;
}

static uint8_t *take_row(uint8_t **next, size_t bytes)
{
	uint8_t *taken = *next;

	*next += bytes;
	return taken;
}

static void rows_init(struct rows *rows, uint8_t *block, size_t width)
{
	uint8_t *next = block;

	for (int i = 0; i < 3; i++) {
		rows->rgb[i] = take_row(&next, width);
		rows->srgb[i] = take_row(&next, width);
	}
	for (int i = 0; i < 2; i++) {
		rows->chroma[0][i] = take_row(&next, width);
		rows->chroma[1][i] = take_row(&next, width);
	}
	assert(next == block + ROWS_WIDTHS * width);
}

/*
 * After XOR with `flip`, 255 means full ink.  CMYK is stored inverted, so its
 * planes are flipped.  Of YCCK only the K plane is flipped: converting its
 * Y'CbCr gives 255 minus the stored C, M and Y (libjpeg's ycck_cmyk_convert),
 * and that is already the amount of ink.
 */
static void set_flip(struct rows *rows, const struct image *src)
{
	memset(rows->flip, 0, sizeof(rows->flip));
	if (src->space == IMG_CMYK)
		memset(rows->flip, 255, 3);
	if (is_inks(src->space))
		rows->flip[3] = 255;
}

static void undo_alpha(uint8_t *const rgb[3],
		       const uint8_t *const rgba[IMG_PLANES_MAX], size_t width)
{
	for (size_t x = 0; x < width; x++) {
		float r = reciprocal_of(rgba[3][x]);

		for (int i = 0; i < 3; i++)
			rgb[i][x] = undo_share(rgba[i][x], r);
	}
}

static void apply_alpha(uint8_t *const rgb[3], const uint8_t *alpha,
			size_t width)
{
	for (int i = 0; i < 3; i++)
		for (size_t x = 0; x < width; x++)
			rgb[i][x] = colour_share(rgb[i][x], alpha[x]);
}

static void add_background(uint8_t *const out[3], const uint8_t *const rgb[3],
			   const uint8_t *alpha, uint32_t background,
			   size_t width)
{
	for (int i = 0; i < 3; i++) {
		uint8_t level = (uint8_t)(background >> (16 - 8 * i));

		for (size_t x = 0; x < width; x++) {
			uint32_t sum = (uint32_t)rgb[i][x] +
				       colour_share(level, 255 - alpha[x]);

			/* Scaling may leave more colour than alpha. */
			out[i][x] = (uint8_t)(sum > 255 ? 255 : sum);
		}
	}
}

/* Convert a row to sRGB and point `rgb` to it; alpha is left applied. */
static void make_srgb(const uint8_t *rgb[IMG_PLANES_MAX], struct rows *rows,
		      enum img_space space, const struct icc *icc, size_t width)
{
	if (icc->channels == 0) {
		rgb_from_cmyk(rows->srgb, rgb, rows->flip, width);
	} else {
		assert(icc->channels == colour_channels(space));
		icc_convert(icc, rows->srgb, rgb, rows->flip, (uint32_t)width);
	}
	if (space == IMG_RGBA)
		apply_alpha(rows->srgb, rgb[3], width);
	memcpy(rgb, rows->srgb, sizeof(rows->srgb));
}

/*
 * Convert row `y` to RGB, or RGBA if the result has that, and point `rgb` to
 * it.
 */
static void make_rgb(const uint8_t *rgb[IMG_PLANES_MAX], struct rows *rows,
		     const struct image *src, const struct colour *c,
		     uint32_t y)
{
	uint32_t width = src->planes[0].width;

	for (uint32_t i = 0; i < src->plane_count; i++)
		rgb[i] = plane_row(src, i, y);
	if (src->space == IMG_YCBCR || src->space == IMG_YCCK) {
		colour_rgb_from_ycc(rows->rgb, rgb, width);
		memcpy(rgb, rows->rgb, sizeof(rows->rgb));
	} else if (src->space == IMG_RGBA && c->icc.channels != 0) {
		undo_alpha(rows->rgb, rgb, width);
		memcpy(rgb, rows->rgb, sizeof(rows->rgb));
	}
	if (c->icc.channels != 0 || is_inks(src->space))
		make_srgb(rgb, rows, src->space, &c->icc, width);
	if (src->space == IMG_RGBA && c->to != IMG_RGBA) {
		add_background(rows->srgb, rgb, rgb[3], c->background, width);
		memcpy(rgb, rows->srgb, sizeof(rows->srgb));
	}
}

static void halve_chroma(struct image *dst, struct rows *rows, uint32_t y,
			 bool is_last)
{
	uint32_t width = dst->planes[0].width;

	if (y % 2 == 0 && !is_last)
		return;
	for (uint32_t i = 0; i < 2; i++)
		colour_halve_row(plane_row(dst, 1 + i, y / 2),
				 rows->chroma[0][i], rows->chroma[y % 2][i],
				 width);
}

static void write_ycc_row(struct image *dst, const uint8_t *const rgb[3],
			  struct rows *rows, uint32_t y)
{
	const struct img_plane *p = &dst->planes[0];
	bool is_halved = !image_has_full_chroma(dst);
	uint8_t *ycc[3] = { plane_row(dst, 0, y), rows->chroma[y % 2][0],
			    rows->chroma[y % 2][1] };

	if (!is_halved) {
		ycc[1] = plane_row(dst, 1, y);
		ycc[2] = plane_row(dst, 2, y);
	}
	colour_ycc_from_rgb(ycc, rgb, p->width);
	if (is_halved)
		halve_chroma(dst, rows, y, y == p->height - 1);
}

/* Convert some rows: would colours be lost if chroma was halved? */
static bool is_sharp(const struct image *src, const struct colour *c,
		     struct rows *rows, const struct memory *memory)
{
	uint32_t width = src->planes[0].width, height = src->planes[0].height;
	const uint8_t *const upper[] = { rows->chroma[0][0],
					 rows->chroma[0][1] };
	const uint8_t *const lower[] = { rows->chroma[1][0],
					 rows->chroma[1][1] };
	struct chroma_count count = { 0 };

	for (uint32_t i = 0; i < chroma_pairs(height); i++) {
		for (uint32_t k = 0; k < 2; k++) {
			const uint8_t *rgb[IMG_PLANES_MAX];

			make_rgb(rgb, rows, src, c, chroma_pair(i, height) + k);
			colour_chroma_from_rgb(rows->chroma[k], rgb, width);
		}
		chroma_add(&count, upper, lower, width);
		memory_pause(memory);
	}
	return chroma_is_sharp(&count);
}

static void convert_rows(struct image *dst, const struct image *src,
			 const struct colour *c, struct rows *rows)
{
	uint32_t width = src->planes[0].width, height = src->planes[0].height;

	for (uint32_t y = 0; y < height; y++) {
		const uint8_t *rgb[IMG_PLANES_MAX];

		make_rgb(rgb, rows, src, c, y);
		if (dst->space == IMG_YCBCR)
			write_ycc_row(dst, rgb, rows, y);
		else
			for (uint32_t i = 0; i < dst->plane_count; i++)
				memcpy(plane_row(dst, i, y), rgb[i], width);
		memory_pause(dst->memory);
	}
}

bool colour_convert(struct image *dst, const struct image *src,
		    const struct colour *c, enum img_chroma chroma,
		    const struct memory *memory)
{
	const struct img_plane *first = &src->planes[0];
	struct img_size size = { first->width, first->height };
	uint8_t *block =
		memory_alloc(memory, colour_convert_bytes(size.width_px));
	struct rows rows;
	bool ok, is_full = chroma == IMG_CHROMA_444;

	for (uint32_t i = 0; i < src->plane_count; i++) {
		assert(src->planes[i].width == first->width);
		assert(src->planes[i].height == first->height);
	}
	if (block == NULL)
		return false;
	rows_init(&rows, block, first->width);
	set_flip(&rows, src);
	if (chroma == IMG_CHROMA_AUTO && c->to == IMG_YCBCR)
		is_full = is_sharp(src, c, &rows, memory);
	image_shape(dst, size, c->to, is_full);
	ok = image_alloc(dst, memory);
	if (ok)
		convert_rows(dst, src, c, &rows);
	memory_free(memory, block);
	return ok;
}

/* For each level of grey, the luma of its converted colour. */
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
		uint8_t *row = plane_row(img, 0, y);

		for (uint32_t x = 0; x < p->width; x++)
			row[x] = levels[row[x]];
		memory_pause(img->memory);
	}
}

/* Rec. 601, as JPEG's luma. */
static void grey_row(uint8_t *restrict red, uint8_t *restrict green,
		     uint8_t *restrict blue, uint32_t width)
{
	for (uint32_t x = 0; x < width; x++) {
		uint32_t luma = 19595 * red[x] + 38470 * green[x] +
				7471 * blue[x] + 32768;

		red[x] = green[x] = blue[x] = (uint8_t)(luma >> 16);
	}
}

void colour_drop(struct image *img)
{
	const struct img_plane *p = &img->planes[0];

	if (img->space == IMG_YCBCR) {
		img->space = IMG_GREY;
		img->plane_count = 1;
	}
	if (img->space == IMG_GREY)
		return;
	assert(img->space == IMG_RGB || img->space == IMG_RGBA);
	for (uint32_t y = 0; y < p->height; y++) {
		grey_row(plane_row(img, 0, y), plane_row(img, 1, y),
			 plane_row(img, 2, y), p->width);
		memory_pause(img->memory);
	}
}

size_t colour_used_bytes(const struct image *src)
{
	const uint8_t *p = src->profile;
	size_t bytes = (size_t)p[0] << 24 | (size_t)p[1] << 16 |
		       (size_t)p[2] << 8 | p[3];

	return bytes < src->profile_bytes ? bytes : src->profile_bytes;
}

bool colour_label(struct image *dst, const struct image *src,
		  const struct colour *c, const struct memory *memory)
{
	dst->notes = c->notes;
	if (!c->keeps_profile)
		return true;

	size_t bytes = colour_used_bytes(src);

	dst->profile = memory->alloc(memory->arg, bytes);
	if (dst->profile == NULL)
		return false;
	memcpy(dst->profile, src->profile, bytes);
	dst->profile_bytes = bytes;
	return true;
}

void colour_close(struct colour *c)
{
	icc_close(&c->icc);
}
