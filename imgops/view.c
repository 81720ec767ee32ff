/* SPDX-License-Identifier: MIT */
/*
 * Which part of a picture is shown, at which size, and at which scale it is
 * decoded for that.
 */
#include "imgops/imgops.h"

#include "imgops/formats/format.h"
#include "imgops/image.h"

#include <assert.h>
#include <math.h>

/*
 * A picture is decoded at least this many times larger than the result.
 * Without a margin, 159 photos took 3 % less CPU, but in a 320 box the p10 of
 * SSIM, against a full decode, was 0.9902 instead of 0.9957.
 */
#define MARGIN 1.1

/*
 * The margin for a file with fine texture (formats/jpeg/texture.h).  The false
 * stripes that a reduced decode makes are then mostly finer than the result,
 * and the last filter removes them.  Of stripes that a full decode and
 * Lanczos-3 remove, at most 5 % of the contrast is left at any period; with a
 * margin of 1.1 it is 25 to 37 %, and at 1/8 still 14 % at a ratio of 20.
 */
#define TEXTURE_MARGIN 3

/*
 * A filter that is asked for by name is expected to work on the whole file.
 * Decoding at a reduced size is a filter too, so these margins are larger: for
 * 159 photos in a 320 box, compared with the same filter on a full decode, the
 * worst PSNR is 46 dB and the p10 54 to 57.  The box filter attenuates high
 * frequencies least: with a margin of 1.1, the worst of 20 photos had 36 dB
 * with this filter, and 42 with the others.
 */
#define NAMED_MARGIN 2.2
#define BOX_MARGIN 3.3

/* round(a * b / c), at least 1. */
static uint32_t scaled_side(uint32_t a, uint32_t b, uint32_t c)
{
	uint64_t n = ((uint64_t)a * b * 2 + c) / ((uint64_t)c * 2);

	return n > 0 ? (uint32_t)n : 1;
}

/* The largest picture of the aspect of `size` that fits into `box`. */
static struct img_size fit_inside(struct img_size size, struct img_size box)
{
	uint32_t w = box.width_px, h = box.height_px;

	/* The side that must shrink more determines the scale. */
	if ((uint64_t)w * size.height_px <= (uint64_t)h * size.width_px)
		h = min_u32(h, scaled_side(size.height_px, w, size.width_px));
	else
		w = min_u32(w, scaled_side(size.width_px, h, size.height_px));
	return (struct img_size){ w, h };
}

static uint32_t bound_side(uint32_t box_px, uint32_t side_px, bool enlarge)
{
	uint32_t most = enlarge ? IMG_SIDE_PX_MAX : side_px;

	return box_px == 0 ? most : min_u32(box_px, most);
}

/*
 * If a side is too long, which end of it is kept: 0 is left or top, 1 is right
 * or bottom.
 */
static double end_kept(enum img_gravity gravity, bool is_height)
{
	static const double ends[][2] = {
		[IMG_CENTRE] = { 0.5, 0.5 }, [IMG_NORTH] = { 0.5, 0 },
		[IMG_NORTHEAST] = { 1, 0 },  [IMG_EAST] = { 1, 0.5 },
		[IMG_SOUTHEAST] = { 1, 1 },  [IMG_SOUTH] = { 0.5, 1 },
		[IMG_SOUTHWEST] = { 0, 1 },  [IMG_WEST] = { 0, 0.5 },
		[IMG_NORTHWEST] = { 0, 0 },
	};

	return ends[gravity][is_height];
}

/*
 * Show the largest part of a picture of `full` that has the aspect of
 * view->size.
 */
static void cut_to_aspect(struct img_view *view, struct img_size full,
			  enum img_gravity gravity)
{
	double x = (double)view->size.width_px / full.width_px;
	double y = (double)view->size.height_px / full.height_px;

	if (x < y)
		view->width = x / y;
	else
		view->height = y / x;
	view->left = (1 - view->width) * end_kept(gravity, false);
	view->top = (1 - view->height) * end_kept(gravity, true);
}

struct img_view img_fit(const struct img_header *header,
			const struct img_transform *transform)
{
	struct img_size full =
		transform->as_stored ? header->stored : header->upright;
	struct img_size box = transform->box;
	bool is_bounded = box.width_px > 0 && box.height_px > 0;
	/* Without a box there is no size to enlarge to. */
	bool enlarge =
		transform->enlarge && (box.width_px > 0 || box.height_px > 0);
	struct img_view view = {
		.width = 1,
		.height = 1,
		.orientation = transform->as_stored ? 1 : header->orientation,
	};

	assert(full.width_px > 0 && full.width_px <= IMG_SIDE_PX_MAX);
	assert(full.height_px > 0 && full.height_px <= IMG_SIDE_PX_MAX);
	box.width_px = bound_side(box.width_px, full.width_px, enlarge);
	box.height_px = bound_side(box.height_px, full.height_px, enlarge);
	view.size = box;
	if (!is_bounded || transform->fit == IMG_FIT_INSIDE)
		view.size = fit_inside(full, box);
	if (is_bounded && transform->fit == IMG_FIT_COVER) {
		/*
		 * If the picture is smaller than the box, only the box's aspect
		 * is used.
		 */
		view.size = fit_inside(transform->box, box);
		cut_to_aspect(&view, full, transform->gravity);
	}
	return view;
}

/*
 * The largest subsampling of a component: how many pixels of the picture, along
 * x or y, share one of its samples.
 */
static uint32_t largest_step(const struct img_header *h)
{
	struct img_size most = image_factors_max(h);
	uint32_t step = 1;

	for (uint32_t i = 0; i < h->component_count; i++) {
		uint32_t x =
			(most.width_px + h->h_factors[i] - 1) / h->h_factors[i];
		uint32_t y = (most.height_px + h->v_factors[i] - 1) /
			     h->v_factors[i];

		step = x > step ? x : step;
		step = y > step ? y : step;
	}
	return step;
}

static double margin_of(const struct img_header *h, enum img_filter filter)
{
	bool is_fine = h->texture == IMG_TEXTURE_FINE;

	switch (filter) {
	case IMG_LANCZOS3:
		return is_fine ? TEXTURE_MARGIN : MARGIN;
	case IMG_BOX:
		return BOX_MARGIN;
	default:
		return is_fine ? TEXTURE_MARGIN : NAMED_MARGIN;
	}
}

uint32_t img_decode_scale(const struct img_header *header,
			  const struct img_view *view,
			  const struct img_transform *transform)
{
	const struct img_codec *c = header->format->codec;
	bool aside = view->orientation >= 5;
	uint32_t across =
		aside ? header->stored.height_px : header->stored.width_px;
	uint32_t down =
		aside ? header->stored.width_px : header->stored.height_px;
	double x = view->size.width_px / (view->width * across);
	double y = view->size.height_px / (view->height * down);
	double share = fmax(x, y) * DECODE_SCALE_FULL;
	double n = share * margin_of(header, transform->filter);

	if (c->scale == NULL)
		return DECODE_SCALE_FULL;
	if (format_full_size(transform))
		n *= largest_step(header);
	return c->scale(header, fmax(ceil(n - 1e-6), 1),
			share * TEXTURE_MARGIN);
}
