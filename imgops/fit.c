/* SPDX-License-Identifier: MIT */
/*
 * Which part of a picture is shown, and at which size.
 */
#include "imgops/imgops.h"

#include "imgops/planes.h"

#include <assert.h>

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* round(a * b / c), at least 1. */
static uint32_t share(uint32_t a, uint32_t b, uint32_t c)
{
	uint64_t n = ((uint64_t)a * b * 2 + c) / ((uint64_t)c * 2);

	return n > 0 ? (uint32_t)n : 1;
}

/* The largest picture of the aspect of `size` that fits into `box`. */
static struct img_size inside(struct img_size size, struct img_size box)
{
	uint32_t w = box.width_px, h = box.height_px;

	/* The side that must shrink more decides. */
	if ((uint64_t)w * size.height_px <= (uint64_t)h * size.width_px)
		h = least(h, share(size.height_px, w, size.width_px));
	else
		w = least(w, share(size.width_px, h, size.height_px));
	return (struct img_size){ w, h };
}

static uint32_t bound(uint32_t box_px, uint32_t side_px, bool enlarge)
{
	uint32_t most = enlarge ? IMAGE_SIDE_PX_MAX : side_px;

	return box_px == 0 ? most : least(box_px, most);
}

/* 0: the left or top end of what is too long is kept; 1: the other. */
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

/* Show as much of a picture of `full` as has the aspect of view->size. */
static void cut(struct img_view *view, struct img_size full,
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
			const struct img_recipe *recipe)
{
	struct img_size full =
		recipe->as_stored ? header->stored : header->upright;
	struct img_size box = recipe->box;
	bool is_bounded = box.width_px > 0 && box.height_px > 0;
	/* Nothing to enlarge to without any bound. */
	bool enlarge =
		recipe->enlarge && (box.width_px > 0 || box.height_px > 0);
	struct img_view view = {
		.width = 1,
		.height = 1,
		.orientation = recipe->as_stored ? 1 : header->orientation,
	};

	assert(full.width_px > 0 && full.width_px <= IMAGE_SIDE_PX_MAX);
	assert(full.height_px > 0 && full.height_px <= IMAGE_SIDE_PX_MAX);
	box.width_px = bound(box.width_px, full.width_px, enlarge);
	box.height_px = bound(box.height_px, full.height_px, enlarge);
	view.size = box;
	if (!is_bounded || recipe->fit == IMG_FIT_INSIDE)
		view.size = inside(full, box);
	if (is_bounded && recipe->fit == IMG_FIT_COVER) {
		/* A picture smaller than the box gives its aspect. */
		view.size = inside(recipe->box, box);
		cut(&view, full, recipe->gravity);
	}
	return view;
}
