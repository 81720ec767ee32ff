/* SPDX-License-Identifier: MIT */
/*
 * Which part of a picture is shown, at which size, and at which scale it is
 * decoded for that.
 */
#include "imgops/imgops.h"

#include "imgops/formats/format.h"
#include "imgops/image.h"
#include "imgops/trim.h"

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

double image_end_kept(enum img_gravity gravity, bool is_height)
{
	static const double ends[][2] = {
		[IMG_CENTRE] = { 0.5, 0.5 }, [IMG_NORTH] = { 0.5, 0 },
		[IMG_NORTHEAST] = { 1, 0 },  [IMG_EAST] = { 1, 0.5 },
		[IMG_SOUTHEAST] = { 1, 1 },  [IMG_SOUTH] = { 0.5, 1 },
		[IMG_SOUTHWEST] = { 0, 1 },  [IMG_WEST] = { 0, 0.5 },
		[IMG_NORTHWEST] = { 0, 0 },  [IMG_SMART] = { 0.5, 0.5 },
	};

	return ends[gravity][is_height];
}

/*
 * Where the `share` of a side begins that is kept: its middle is at `focus`, or
 * as near as the ends allow.
 */
static double begin_at_focus(double share, int32_t focus)
{
	double middle = 0.5 + (double)focus / IMG_POINT_PARTS;

	return fmin(fmax(middle - share / 2, 0), 1 - share);
}

/*
 * Show the largest part of a picture of `full` that has the aspect of
 * view->size.
 */
static void cut_to_aspect(struct img_view *view, struct img_size full,
			  const struct img_transform *t)
{
	double x = (double)view->size.width_px / full.width_px;
	double y = (double)view->size.height_px / full.height_px;

	if (x < y)
		view->width = x / y;
	else
		view->height = y / x;
	view->left = (1 - view->width) * image_end_kept(t->gravity, false);
	view->top = (1 - view->height) * image_end_kept(t->gravity, true);
	if (t->gravity == IMG_CENTRE && (t->focus.x != 0 || t->focus.y != 0)) {
		view->left = begin_at_focus(view->width, t->focus.x);
		view->top = begin_at_focus(view->height, t->focus.y);
	}
}

/*
 * EXIF's orientations as turns: `mirrored` changes left and right first, and
 * then the picture is rotated clockwise by `quarters`.
 */
static const struct turn {
	bool mirrored;
	uint32_t quarters;
} turns[] = {
	[1] = { false, 0 }, [2] = { true, 0 },  [3] = { false, 2 },
	[4] = { true, 2 },  [5] = { true, 3 },  [6] = { false, 1 },
	[7] = { true, 1 },  [8] = { false, 3 },
};

/* The orientation of a file that is then rotated and flipped, in this order. */
static uint32_t turned(uint32_t orientation, const struct img_transform *t)
{
	struct turn turn = turns[orientation];

	turn.quarters = (turn.quarters + t->rotation) % 4;
	/* To mirror after a rotation is to do it before the opposite one. */
	if (t->flip != IMG_FLIP_NONE) {
		turn.mirrored = !turn.mirrored;
		turn.quarters = (4 - turn.quarters) % 4;
	}
	if (t->flip == IMG_FLIP_V)
		turn.quarters = (turn.quarters + 2) % 4;
	for (orientation = 1; turns[orientation].mirrored != turn.mirrored ||
			      turns[orientation].quarters != turn.quarters;)
		orientation++;
	return orientation;
}

static uint32_t orientation_of(const struct img_header *h,
			       const struct img_transform *t)
{
	return turned(t->as_stored ? 1 : h->orientation, t);
}

static struct img_size turned_size(const struct img_header *h,
				   const struct img_transform *t)
{
	struct img_size size = t->as_stored ? h->stored : h->upright;

	if (t->rotation == IMG_ROTATE_90 || t->rotation == IMG_ROTATE_270)
		size = (struct img_size){ size.height_px, size.width_px };
	return size;
}

/* The displayed picture, or what is inside of its border if that is known. */
static struct img_rect inside_of(const struct img_header *h,
				 const struct img_transform *t)
{
	const struct img_border *b = trim_known(h, t);
	struct img_size all = turned_size(h, t);
	uint32_t orientation = orientation_of(h, t);
	struct img_rect in;

	if (b == NULL)
		return (struct img_rect){ 0, 0, all.width_px, all.height_px };
	in = b->inside;
	if (image_mirrors_x(orientation))
		in.left_px = h->stored.width_px - in.left_px - in.width_px;
	if (image_mirrors_y(orientation))
		in.top_px = h->stored.height_px - in.top_px - in.height_px;
	if (orientation < 5)
		return in;
	return (struct img_rect){ in.top_px, in.left_px, in.height_px,
				  in.width_px };
}

static bool is_cropped(const struct img_transform *t)
{
	return t->crop.width_px > 0;
}

bool img_crop_fits(const struct img_header *header,
		   const struct img_transform *transform, struct img_size *size)
{
	struct img_rect all = inside_of(header, transform);

	if (size != NULL)
		*size = (struct img_size){ all.width_px, all.height_px };
	return !is_cropped(transform) ||
	       (transform->crop.left_px < all.width_px &&
		transform->crop.top_px < all.height_px);
}

/* The part of the displayed picture that is asked for. */
static struct img_rect part_of(const struct img_header *h,
			       const struct img_transform *t)
{
	struct img_rect all = inside_of(h, t), part = t->crop;

	if (!is_cropped(t))
		return all;
	assert(part.left_px < all.width_px && part.top_px < all.height_px);
	part.width_px = min_u32(part.width_px, all.width_px - part.left_px);
	part.height_px = min_u32(part.height_px, all.height_px - part.top_px);
	part.left_px += all.left_px;
	part.top_px += all.top_px;
	return part;
}

/* The view of `part` becomes one of the whole picture. */
static void show_part_of(struct img_view *view, struct img_rect part,
			 struct img_size all)
{
	view->left = (part.left_px + view->left * part.width_px) / all.width_px;
	view->top = (part.top_px + view->top * part.height_px) / all.height_px;
	view->cut_left = (double)part.left_px / all.width_px;
	view->cut_top = (double)part.top_px / all.height_px;
	view->cut_right =
		(double)(all.width_px - part.left_px - part.width_px) /
		all.width_px;
	view->cut_bottom =
		(double)(all.height_px - part.top_px - part.height_px) /
		all.height_px;
	view->width *= (double)part.width_px / all.width_px;
	view->height *= (double)part.height_px / all.height_px;
}

/* A side of the box in pixels of the result; one that is given is not lost. */
static uint32_t box_side(uint32_t side_px, double dpr)
{
	double side = round(side_px * dpr);

	if (side_px == 0)
		return 0;
	return (uint32_t)fmin(fmax(side, 1), IMG_SIDE_PX_MAX);
}

/* The box in pixels of the result. */
static struct img_size box_of(const struct img_transform *t)
{
	struct img_size box = t->box;

	if (t->dpr > 0) {
		box.width_px = box_side(box.width_px, t->dpr);
		box.height_px = box_side(box.height_px, t->dpr);
	}
	return box;
}

/* A side of the pad in pixels of the result. */
static uint32_t pad_side(uint32_t side_px, double dpr)
{
	double side = dpr > 0 ? round(side_px * dpr) : side_px;

	return (uint32_t)fmin(side, IMG_SIDE_PX_MAX);
}

/* Add what is left of the box beside the picture, which is inside of it. */
static void fill_box(struct img_view *view, struct img_size box,
		     enum img_gravity gravity)
{
	uint32_t across = box.width_px - view->size.width_px;
	uint32_t down = box.height_px - view->size.height_px;
	uint32_t left = (uint32_t)(across * image_end_kept(gravity, false));
	uint32_t top = (uint32_t)(down * image_end_kept(gravity, true));

	view->pad.left_px += left;
	view->pad.right_px += across - left;
	view->pad.top_px += top;
	view->pad.bottom_px += down - top;
}

/*
 * The view of a picture of `full` pixels, after trim and crop: its size and,
 * for IMG_FIT_COVER, the part.
 */
static void fit_into_box(struct img_view *view, struct img_size full,
			 const struct img_transform *transform)
{
	struct img_size wanted = box_of(transform), box = wanted;
	bool is_bounded = box.width_px > 0 && box.height_px > 0;
	/* Without a box there is no size to enlarge to. */
	bool enlarge =
		transform->enlarge && (box.width_px > 0 || box.height_px > 0);

	box.width_px = bound_side(box.width_px, full.width_px, enlarge);
	box.height_px = bound_side(box.height_px, full.height_px, enlarge);
	view->size = box;
	if (!is_bounded || transform->fit == IMG_FIT_INSIDE ||
	    transform->fit == IMG_FIT_PAD)
		view->size = fit_inside(full, box);
	if (is_bounded && transform->fit == IMG_FIT_COVER) {
		/*
		 * If the picture is smaller than the box, only the box's aspect
		 * is used.
		 */
		view->size = fit_inside(wanted, box);
		cut_to_aspect(view, full, transform);
	}
	if (is_bounded && transform->fit == IMG_FIT_PAD)
		fill_box(view, wanted, transform->gravity);
}

struct img_view img_fit(const struct img_header *header,
			const struct img_transform *transform)
{
	struct img_size all = turned_size(header, transform);
	struct img_rect part = part_of(header, transform);
	struct img_size full = { part.width_px, part.height_px };
	struct img_view view = {
		.width = 1,
		.height = 1,
		.orientation = orientation_of(header, transform),
		.pad = { pad_side(transform->pad.top_px, transform->dpr),
			 pad_side(transform->pad.right_px, transform->dpr),
			 pad_side(transform->pad.bottom_px, transform->dpr),
			 pad_side(transform->pad.left_px, transform->dpr) },
	};

	assert(full.width_px > 0 && full.width_px <= IMG_SIDE_PX_MAX);
	assert(full.height_px > 0 && full.height_px <= IMG_SIDE_PX_MAX);
	fit_into_box(&view, full, transform);
	if (part.width_px < all.width_px || part.height_px < all.height_px)
		show_part_of(&view, part, all);
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

static double margin_of(const struct img_header *h,
			const struct img_transform *t)
{
	bool is_fine = h->texture == IMG_TEXTURE_FINE;

	/* Of light, a reduced decode has only the mean. */
	if (is_fine && t->light == IMG_LIGHT_LINEAR)
		return INFINITY;
	switch (t->filter) {
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
	double n = share * margin_of(header, transform);

	if (c->scale == NULL)
		return DECODE_SCALE_FULL;
	if (format_full_size(transform))
		n *= largest_step(header);
	return c->scale(header, fmax(ceil(n - 1e-6), 1),
			share * TEXTURE_MARGIN);
}

bool img_may_be_helped(const struct img_header *header,
		       const struct img_view *view,
		       const struct img_transform *transform)
{
	enum { FILE_BYTES_MIN = 192 << 10 }; /* as formats/jpeg/ahead.c */

	return header->format == img_formats[IMG_FORMAT_JPEG] &&
	       !header->is_progressive && !header->is_irregular &&
	       header->bytes >= FILE_BYTES_MIN &&
	       transform->light == IMG_LIGHT_GAMMA &&
	       img_decode_scale(header, view, transform) < DECODE_SCALE_FULL;
}
