/* SPDX-License-Identifier: MIT */
/*
 * Scaling by Lanczos-3: every output sample is a weighted sum of the input
 * samples around its place.  Planes are done in bands of eight output rows:
 * sums of columns into a band that stays in the cache, then along its rows.
 *
 * The places come from the spans of the two planes, so chroma stays where
 * JPEG puts it (centred between luma samples) for any pair of subsamplings.
 * Mirroring is a matter of places too, and turning aside one of storing.
 *
 * libswscale's Lanczos takes five times as long on the same plane, at no better
 * quality; libyuv is as fast, but averages boxes, ten levels off and more.
 */
#include "imgops/scale.h"

#include "imgops/bands.h"
#include "imgops/colour.h"
#include "imgops/planes.h"
#include "imgops/taps.h"

#include <assert.h>
#include <string.h>

/* How one plane becomes another. */
struct plan {
	struct axis x, y; /* of the source */
	bool aside;       /* they change places on the way out */
	bool is_copy;     /* of samples as they are; the rest is not needed */
	struct taps along, down;
	int16_t *band;
};

static uint32_t round_up(uint32_t n, uint32_t step)
{
	return (n + step - 1) / step * step;
}

/*
 * The part of a source axis of `span` samples that is shown, of which `from`
 * and `share` are given as displayed.
 */
static void show(struct axis *a, double span, double from, double share)
{
	a->in_span = span * share;
	a->start = span * (a->mirrored ? 1 - from - share : from);
}

/* EXIF 2.32, 4.6.4: how the file's rows and columns lie in the display. */
static void set_axes(struct plan *p, const struct img_plane *dst,
		     const struct img_plane *src, const struct img_view *view)
{
	uint32_t orientation = view->orientation;
	bool aside = orientation >= 5;

	p->aside = aside;
	p->x = (struct axis){
		.in = src->width,
		.out = aside ? dst->height : dst->width,
		.out_span = aside ? dst->span_y : dst->span_x,
		.mirrored = orientation == 2 || orientation == 3 ||
			    orientation == 7 || orientation == 8,
	};
	p->y = (struct axis){
		.in = src->height,
		.out = aside ? dst->width : dst->height,
		.out_span = aside ? dst->span_x : dst->span_y,
		.mirrored = orientation == 3 || orientation == 4 ||
			    orientation == 6 || orientation == 7,
	};

	struct axis *across = aside ? &p->y : &p->x;
	struct axis *down = aside ? &p->x : &p->y;

	show(across, aside ? src->span_y : src->span_x, view->left,
	     view->width);
	show(down, aside ? src->span_x : src->span_y, view->top, view->height);
}

static void plan_release(struct plan *p, const struct img_memory *memory)
{
	taps_release(&p->along, memory);
	taps_release(&p->down, memory);
	if (p->band != NULL)
		memory->free(memory->arg, p->band);
	*p = (struct plan){ 0 };
}

static uint32_t band_columns(const struct plan *p)
{
	return round_up(p->along.reach, BAND_COLUMNS);
}

/* False: no memory, and `p` is empty. */
static bool plan_make(struct plan *p, const struct img_plane *dst,
		      const struct img_plane *src, const struct img_view *view,
		      const struct img_memory *memory)
{
	*p = (struct plan){ 0 };
	set_axes(p, dst, src, view);
	p->is_copy = !p->aside && axis_is_copy(&p->x) && axis_is_copy(&p->y);
	if (p->is_copy)
		return true;
	if (taps_make(&p->along, &p->x, 2, memory) &&
	    taps_make(&p->down, &p->y, 1, memory)) {
		p->band = memory->alloc(memory->arg, (size_t)band_columns(p) *
							     BAND_ROWS *
							     sizeof(*p->band));
	}
	if (p->band == NULL)
		plan_release(p, memory);
	return p->band != NULL;
}

static void copy_plane(struct img_plane *dst, const struct img_plane *src,
		       const struct plan *p)
{
	const uint8_t *from = src->samples + (size_t)p->x.start +
			      (size_t)p->y.start * src->stride_bytes;

	for (uint32_t y = 0; y < dst->height; y++)
		memcpy(dst->samples + y * dst->stride_bytes,
		       from + y * src->stride_bytes, dst->width);
}

/*
 * Reads and writes whole groups of columns and rows; image_alloc() leaves room
 * for them.
 */
static void scale_plane(struct img_plane *dst, const struct img_plane *src,
			const struct plan *p)
{
	const struct bands *bands = bands_best();
	const struct taps *along = &p->along, *down = &p->down;
	const uint8_t *in =
		src->samples + along->from + down->from * src->stride_bytes;

	for (uint32_t y = 0; y < p->y.out; y += BAND_ROWS) {
		bands->down(p->band, in, src->stride_bytes, down->first + y,
			    down->weights + (size_t)y * down->count,
			    down->count, band_columns(p));
		bands->across(dst->samples +
				      (p->aside ? y : y * dst->stride_bytes),
			      dst->stride_bytes, p->aside, p->band,
			      along->first, along->weights, along->count,
			      round_up(p->x.out, BAND_ROWS));
	}
}

static bool is_same_shape(const struct img_plane *a, const struct img_plane *b)
{
	return a->width == b->width && a->height == b->height &&
	       a->span_x == b->span_x && a->span_y == b->span_y;
}

bool scale_planes(struct image *dst, const struct image *src,
		  const struct img_view *view, const struct img_memory *memory)
{
	struct plan p = { 0 };
	bool ok = true;

	assert(view->orientation >= 1 && view->orientation <= 8);
	assert(dst->plane_count == src->plane_count);
	for (uint32_t i = 0; ok && i < src->plane_count; i++) {
		struct img_plane *to = &dst->planes[i];
		const struct img_plane *from = &src->planes[i];

		if (i == 0 || !is_same_shape(to, to - 1) ||
		    !is_same_shape(from, from - 1)) {
			plan_release(&p, memory);
			ok = plan_make(&p, to, from, view, memory);
		}
		if (ok && p.is_copy)
			copy_plane(to, from, &p);
		else if (ok)
			scale_plane(to, from, &p);
	}
	plan_release(&p, memory);
	return ok;
}

static bool scale_shaped(struct image *dst, const struct image *src,
			 const struct img_view *view, bool full_chroma,
			 const struct img_memory *memory)
{
	image_shape(dst, view->size, src->space, full_chroma);
	dst->inks_inverted = src->inks_inverted;
	if (!image_alloc(dst, memory))
		return false;
	if (!scale_planes(dst, src, view, memory)) {
		img_release(dst);
		return false;
	}
	return true;
}

/* Scale to whole pixels, and only then convert: they are few. */
static bool scale_pixels(struct image *dst, const struct image *src,
			 const struct img_view *view, const struct colour *c,
			 bool full_chroma, const struct img_memory *memory)
{
	struct image pixels = { 0 };
	bool ok = scale_shaped(&pixels, src, view, true, memory) &&
		  colour_convert(dst, &pixels, c, full_chroma, memory);

	img_release(&pixels);
	return ok;
}

enum img_err img_scale(struct image *dst, const struct image *src,
		       const struct img_view *view,
		       const struct img_recipe *recipe,
		       const struct img_memory *memory)
{
	bool full_chroma = recipe->full_chroma, ok;
	struct colour c;

	if (!colour_open(&c, src, view->size, recipe))
		return IMG_ERR_NO_MEMORY;
	if (colour_needs_pixels(&c, src)) {
		ok = scale_pixels(dst, src, view, &c, full_chroma, memory);
	} else {
		ok = scale_shaped(dst, src, view, full_chroma, memory);
		if (ok)
			colour_convert_grey(dst, &c);
	}
	ok = ok && colour_label(dst, src, &c, memory);
	colour_close(&c);
	if (!ok)
		img_release(dst);
	return ok ? IMG_OK : IMG_ERR_NO_MEMORY;
}
