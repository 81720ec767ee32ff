/* SPDX-License-Identifier: MIT */
/*
 * A picture drawn over results.
 *
 * It is kept with alpha, and also at half of its size, a quarter, and so on.  A
 * result gets it from the smallest of these that is large enough, so the work
 * depends only on the size that it has in the result.  Its colours are
 * multiplied by alpha, and Y', Cb - 128 and Cr - 128 are linear in them.  So it
 * is put over planes of Y'CbCr as over those of RGB: what is there is
 * multiplied by the rest of alpha, and the watermark's own samples are added.
 */
#include "imgops/watermark.h"

#include "imgops/blur/rows.h"
#include "imgops/colour/colour.h"
#include "imgops/estimate.h"
#include "imgops/formats/format.h"
#include "imgops/image.h"
#include "imgops/pad.h"
#include "imgops/resample/scale.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { LEVELS_MAX = 14, NEUTRAL = 128 };

struct img_watermark {
	struct image levels[LEVELS_MAX]; /* RGBA; each half of the one before */
	uint32_t level_count;
	const struct memory *memory;
};

static const struct img_limits load_limits = {
	.side_px_max = 1 << 13,
	.pixels_max = IMG_WATERMARK_PIXELS_MAX,
	.scans_max = 64,
	.decode_bytes_max = 256 << 20,
};

_Static_assert(1 << (LEVELS_MAX - 1) >= 1 << 13, "down to a pixel");

static struct img_view whole(struct img_size size)
{
	return (struct img_view){
		.width = 1, .height = 1, .size = size, .orientation = 1
	};
}

static struct img_size size_of(const struct image *img)
{
	return (struct img_size){ img->planes[0].width, img->planes[0].height };
}

/* False: no memory. */
static bool add_level(struct img_watermark *w)
{
	const struct image *last = &w->levels[w->level_count - 1];
	struct image *next = &w->levels[w->level_count];
	struct img_size size = size_of(last);
	struct img_view view = whole((struct img_size){
		(size.width_px + 1) / 2, (size.height_px + 1) / 2 });

	image_shape(next, view.size, IMG_RGBA, true);
	if (!image_alloc(next, w->memory))
		return false;
	w->level_count++;
	return scale_planes(next, last, &view, IMG_LANCZOS3, w->memory);
}

/* A format that keeps the alpha of a file that has some, else any in RGB. */
static enum img_format_number format_for(enum img_space space)
{
	for (uint32_t i = 0; space == IMG_RGBA && i < IMG_RESULT_FORMATS; i++)
		if (img_formats[i]->codec->holds_alpha)
			return (enum img_format_number)i;
	return IMG_FORMAT_PPM;
}

static enum img_err decode(struct image *dst, const uint8_t *bytes,
			   size_t count, const struct memory *memory)
{
	struct img_transform t = { .background = 0xffffff };
	struct image decoded = { 0 };
	struct img_header header;
	struct img_view view;
	enum img_err err = img_probe(&header, bytes, count, &load_limits);

	if (err != IMG_OK)
		return err;
	t.format = format_for(header.space);
	view = img_fit(&header, &t);
	err = img_decode_any(&decoded, bytes, count, &header, &view, &t,
			     &load_limits, memory);
	if (err == IMG_OK)
		err = img_scale(dst, &decoded, &view, &t, memory);
	img_release(&decoded);
	if (err == IMG_OK && dst->space != IMG_RGBA)
		err = pad_add_alpha(dst, memory);
	return err;
}

enum img_err img_watermark_load(struct img_watermark **out,
				const uint8_t *bytes, size_t count,
				const struct memory *memory)
{
	struct img_watermark *w = memory_alloc(memory, sizeof(*w));
	enum img_err err;
	bool ok = true;

	if (w == NULL)
		return IMG_ERR_NO_MEMORY;
	*w = (struct img_watermark){ .memory = memory };
	err = decode(&w->levels[0], bytes, count, memory);
	w->level_count = err == IMG_OK;
	while (err == IMG_OK && ok) {
		struct img_size size = size_of(&w->levels[w->level_count - 1]);

		if (size.width_px == 1 && size.height_px == 1)
			break;
		ok = add_level(w);
	}
	if (err == IMG_OK && ok) {
		*out = w;
		return IMG_OK;
	}
	img_release(&w->levels[0]); /* decode() may have failed half-way */
	img_watermark_free(w);
	return err != IMG_OK ? err : IMG_ERR_NO_MEMORY;
}

void img_watermark_free(struct img_watermark *w)
{
	if (w == NULL)
		return;
	for (uint32_t i = 0; i < w->level_count; i++)
		img_release(&w->levels[i]);
	memory_free(w->memory, w);
}

/* round(a * b / c), at least 1. */
static uint32_t in_proportion(uint32_t a, uint32_t b, uint32_t c)
{
	double n = round((double)a * b / c);

	return n < 1 ? 1 : (uint32_t)n;
}

struct img_rect watermark_place(const struct img_watermark *w,
				struct img_size result,
				const struct img_transform *transform)
{
	struct img_size own = size_of(&w->levels[0]);
	enum img_gravity position = transform->watermark_position;
	double wanted = round(result.width_px * transform->watermark_scale);
	struct img_rect p = { .width_px = wanted < 1 ? 1 : (uint32_t)wanted };

	p.height_px = in_proportion(p.width_px, own.height_px, own.width_px);
	if (p.height_px > result.height_px) {
		p.height_px = result.height_px;
		p.width_px = min_u32(p.width_px,
				     in_proportion(p.height_px, own.width_px,
						   own.height_px));
	}
	/* Even, so that it begins with a sample of halved chroma. */
	p.left_px = (uint32_t)((result.width_px - p.width_px) *
			       image_end_kept(position, false)) &
		    ~1u;
	p.top_px = (uint32_t)((result.height_px - p.height_px) *
			      image_end_kept(position, true)) &
		   ~1u;
	return p;
}

/* The smallest level that is not enlarged, if there is one. */
static const struct image *choose_level(const struct img_watermark *w,
					struct img_size size)
{
	uint32_t i = 0;

	while (i + 1 < w->level_count &&
	       w->levels[i + 1].planes[0].width >= size.width_px &&
	       w->levels[i + 1].planes[0].height >= size.height_px)
		i++;
	return &w->levels[i];
}

/*
 * The loops below compute in 16 bits, which compilers vectorise for any CPU.
 * `part` is 256 for all of it.
 */
static void weaken_alpha(uint8_t *alpha, uint32_t part, uint32_t width)
{
	for (size_t x = 0; x < width; x++)
		alpha[x] = (uint8_t)((uint16_t)(alpha[x] * part + 128) >> 8);
}

/* A filter may have left more colour than alpha. */
static void weaken_colour(uint8_t *restrict colour,
			  const uint8_t *restrict alpha, uint32_t part,
			  uint32_t width)
{
	for (size_t x = 0; x < width; x++) {
		uint8_t c = (uint8_t)((uint16_t)(colour[x] * part + 128) >> 8);

		colour[x] = c < alpha[x] ? c : alpha[x];
	}
}

/* Multiply by the opacity. */
static void weaken(struct image *mark, double opacity)
{
	uint32_t part = (uint32_t)lround(opacity * 256);
	uint32_t width = mark->planes[0].width;

	for (uint32_t y = 0; y < mark->planes[0].height; y++) {
		uint8_t *alpha = image_row(mark, 3, y);

		weaken_alpha(alpha, part, width);
		for (uint32_t i = 0; i < 3; i++)
			weaken_colour(image_row(mark, i, y), alpha, part,
				      width);
		memory_pause(mark->memory);
	}
}

/* Put a row of samples over `to`. */
static void blend(uint8_t *restrict to, const uint8_t *restrict mark,
		  const uint8_t *restrict alpha, uint32_t width)
{
	for (size_t x = 0; x < width; x++) {
		uint16_t sum = (uint16_t)(colour_share(to[x], 255 - alpha[x]) +
					  mark[x]);

		to[x] = (uint8_t)(sum > 255 ? 255 : sum);
	}
}

static void blend_chroma(uint8_t *restrict to, const uint8_t *restrict mark,
			 const uint8_t *restrict alpha, uint32_t width)
{
	for (size_t x = 0; x < width; x++) {
		/* Divided by 255, as colour_share() does it. */
		int16_t off =
			(int16_t)((to[x] - NEUTRAL) * (255 - alpha[x]) + 128);
		int16_t sum =
			(int16_t)(mark[x] + ((int16_t)(off + (off >> 8)) >> 8));

		sum = sum < 0 ? 0 : sum;
		to[x] = (uint8_t)(sum > 255 ? 255 : sum);
	}
}

/* Rows of the watermark; those of halved chroma begin on even rows. */
struct brush {
	struct image *dst;
	const struct image *mark;
	struct img_rect place;
	uint8_t *luma;
	/* Cb, Cr and alpha of an even row and of the one below, and means. */
	uint8_t *pair[2][3], *mean[3];
};

enum { BRUSH_ROWS = 1 + 2 * 3 + 3 };

static size_t brush_bytes(struct img_rect place)
{
	return (size_t)BRUSH_ROWS * (place.width_px + 2);
}

/*
 * One more sample, if the width is odd, and one more row: what a sample of
 * chroma has beyond the watermark.  It is neutral, or, if the result ends
 * there, as the last one.
 */
static void end_pair(const struct brush *b, uint32_t y)
{
	uint32_t width = b->place.width_px, height = b->place.height_px;
	const struct img_plane *whole_plane = &b->dst->planes[0];
	bool ends_x = b->place.left_px + width == whole_plane->width;
	bool ends_y = b->place.top_px + height == whole_plane->height;

	for (uint32_t i = 0; i < 3; i++) {
		uint8_t none = i == 2 ? 0 : NEUTRAL;

		b->pair[y % 2][i][width] =
			ends_x ? b->pair[y % 2][i][width - 1] : none;
		if (y % 2 == 0 && y + 1 == height && ends_y)
			memcpy(b->pair[1][i], b->pair[0][i], width + 1);
		else if (y % 2 == 0 && y + 1 == height)
			memset(b->pair[1][i], none, width + 1);
	}
}

static void blend_halved(const struct brush *b, uint32_t y)
{
	uint32_t width = (b->place.width_px + 1) / 2;

	end_pair(b, y);
	if (y % 2 == 0 && y + 1 < b->place.height_px)
		return;
	for (uint32_t i = 0; i < 3; i++) {
		const uint8_t *upper = b->pair[0][i], *lower = b->pair[1][i];

		for (uint32_t x = 0; x < width; x++)
			b->mean[i][x] =
				(uint8_t)((upper[2 * x] + upper[2 * x + 1] +
					   lower[2 * x] + lower[2 * x + 1] +
					   2) /
					  4);
	}
	for (uint32_t i = 0; i < 2; i++)
		blend_chroma(
			image_row(b->dst, 1 + i, (b->place.top_px + y) / 2) +
				b->place.left_px / 2,
			b->mean[i], b->mean[2], width);
}

static void blend_ycc(const struct brush *b, uint32_t y,
		      const uint8_t *const rgba[IMG_PLANES_MAX])
{
	uint32_t width = b->place.width_px, at = b->place.top_px + y;
	uint8_t *const *pair = b->pair[y % 2];
	uint8_t *const ycc[3] = { b->luma, pair[0], pair[1] };

	colour_ycc_from_rgb(ycc, rgba, width);
	blend(image_row(b->dst, 0, at) + b->place.left_px, b->luma, rgba[3],
	      width);
	if (image_has_full_chroma(b->dst)) {
		for (uint32_t i = 0; i < 2; i++)
			blend_chroma(image_row(b->dst, 1 + i, at) +
					     b->place.left_px,
				     pair[i], rgba[3], width);
		return;
	}
	memcpy(pair[2], rgba[3], width);
	blend_halved(b, y);
}

static void blend_row(const struct brush *b, uint32_t y)
{
	uint32_t width = b->place.width_px, at = b->place.top_px + y;
	const uint8_t *rgba[IMG_PLANES_MAX];

	for (uint32_t i = 0; i < IMG_PLANES_MAX; i++)
		rgba[i] = image_row(b->mark, i, y);
	if (b->dst->space == IMG_YCBCR) {
		blend_ycc(b, y, rgba);
		return;
	}
	if (b->dst->space == IMG_GREY) {
		blur_rows_best()->luma(b->luma, rgba[0], rgba[1], rgba[2],
				       width);
		rgba[0] = b->luma;
	}
	for (uint32_t i = 0; i < b->dst->plane_count; i++)
		blend(image_row(b->dst, i, at) + b->place.left_px, rgba[i],
		      rgba[3], width);
}

static void brush_init(struct brush *b, uint8_t *block)
{
	size_t bytes = b->place.width_px + 2;
	uint8_t *next = block + bytes;

	b->luma = block;
	for (uint32_t i = 0; i < 3; i++, next += 3 * bytes) {
		b->pair[0][i] = next;
		b->pair[1][i] = next + bytes;
		b->mean[i] = next + 2 * bytes;
	}
}

enum img_err watermark_draw(struct image *img, const struct img_watermark *w,
			    const struct img_transform *transform,
			    const struct memory *memory)
{
	struct image mark;
	struct brush b = {
		.dst = img,
		.mark = &mark,
		.place = watermark_place(w, size_of(img), transform),
	};
	struct img_view view =
		whole((struct img_size){ b.place.width_px, b.place.height_px });
	uint8_t *block;

	assert(image_is_shaped(img));
	image_shape(&mark, view.size, IMG_RGBA, true);
	if (!image_alloc(&mark, memory))
		return IMG_ERR_NO_MEMORY;
	block = memory_alloc(memory, brush_bytes(b.place));
	if (block != NULL && scale_planes(&mark, choose_level(w, view.size),
					  &view, IMG_LANCZOS3, memory)) {
		weaken(&mark, transform->watermark_opacity);
		if (transform->greyscale)
			colour_drop(&mark);
		brush_init(&b, block);
		for (uint32_t y = 0; y < b.place.height_px; y++) {
			blend_row(&b, y);
			memory_pause(memory);
		}
	} else {
		memory_free(memory, block);
		img_release(&mark);
		return IMG_ERR_NO_MEMORY;
	}
	memory_free(memory, block);
	img_release(&mark);
	return IMG_OK;
}

/* --- Estimate --- */

enum { TERM_PIXELS, TERM_ROWS, TERM_COUNT };

static const struct estimate_term watermark_terms[TERM_COUNT] = {
	[TERM_PIXELS] = { "pixel of a watermark", 6 },
	[TERM_ROWS] = { "row and column of a watermark", 100 },
};

static void watermark_count(double *counts, const struct workload *w)
{
	struct img_rect place;

	if (w->watermark == NULL)
		return;
	place = watermark_place(w->watermark, size_of(&w->result),
				w->transform);
	counts[TERM_PIXELS] = (double)place.width_px * place.height_px;
	counts[TERM_ROWS] = (double)place.width_px + place.height_px;
}

static uint64_t watermark_bytes(const struct workload *w)
{
	struct img_rect place;
	struct img_view view;
	struct image mark;

	if (w->watermark == NULL)
		return 0;
	place = watermark_place(w->watermark, size_of(&w->result),
				w->transform);
	view = whole((struct img_size){ place.width_px, place.height_px });
	image_shape(&mark, view.size, IMG_RGBA, true);
	return image_bytes(&w->result) + w->profile_bytes + image_bytes(&mark) +
	       brush_bytes(place) +
	       scale_planes_bytes(&mark, choose_level(w->watermark, view.size),
				  &view, IMG_LANCZOS3);
}

const struct step_estimate watermark_estimate = {
	.name = "watermark",
	.terms = watermark_terms,
	.term_count = TERM_COUNT,
	.count = watermark_count,
	.bytes = watermark_bytes,
};
