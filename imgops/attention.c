/* SPDX-License-Identifier: MIT */
/*
 * The weights are in the manner of libvips's `attention` and of smartcrop.js.
 * A part of the aspect of the box can only move along one axis of the picture,
 * so what is found is added up across that axis.
 */
#include "imgops/attention.h"

#include "imgops/image.h"

#include <math.h>
#include <string.h>

#define EDGE_MOST 100.0 /* a hard edge counts as this */
#define SATURATION_WEIGHT 0.6
#define SKIN_WEIGHT 30.0

/* How much less what is at the end of a part counts than in its middle. */
#define END_LOSS 0.6

/*
 * How much less a part at the end of the picture counts than the middle one:
 * subjects are mostly near the middle, so there must be a reason to leave it.
 */
#define MIDDLE_BONUS 0.15

/* Less than this part of a cell is nothing to move for. */
#define SMALL 1e-9

enum { SAMPLES_MAX = 4 }; /* of a cell, along each axis */

struct grid {
	uint32_t width, height;
	uint8_t means[3][ATTENTION_CELLS][ATTENTION_CELLS]; /* of planes */
	uint8_t luma[ATTENTION_CELLS][ATTENTION_CELLS];
	/* Cb and Cr, less 128. */
	int8_t colour[2][ATTENTION_CELLS][ATTENTION_CELLS];
	double found[ATTENTION_CELLS][ATTENTION_CELLS];
	/* Columns or rows of a plane that are read, along each axis. */
	uint32_t across[ATTENTION_CELLS * SAMPLES_MAX];
	uint32_t down[ATTENTION_CELLS * SAMPLES_MAX];
};

uint64_t attention_bytes(void)
{
	return sizeof(struct grid);
}

/* The part of the displayed picture in which the view may move. */
struct part {
	double left, top, width, height;
};

static struct part room_of(const struct img_view *view)
{
	return (struct part){
		view->cut_left,
		view->cut_top,
		1 - view->cut_left - view->cut_right,
		1 - view->cut_top - view->cut_bottom,
	};
}

/* `count` places along an axis of a plane, of which a share is displayed. */
static void set_places(uint32_t *places, uint32_t count, double from,
		       double share, bool is_mirrored, double span,
		       uint32_t samples)
{
	for (uint32_t i = 0; i < count; i++) {
		double at = from + share * (i + 0.5) / count;

		if (is_mirrored)
			at = 1 - at;
		places[i] = min_u32((uint32_t)fmax(at * span, 0), samples - 1);
	}
}

/* The mean of n x n samples; see set_places(). */
static uint8_t mean_of(const struct img_plane *p, bool aside,
		       const uint32_t *across, const uint32_t *down, uint32_t n)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < n; k++) {
			uint32_t row = aside ? across[k] : down[i];
			uint32_t column = aside ? down[i] : across[k];

			sum += p->samples[row * p->stride_bytes + column];
		}
	return (uint8_t)((sum + n * n / 2) / (n * n));
}

static int8_t signed_byte(double value)
{
	return (int8_t)fmin(fmax(nearbyint(value), -128), 127);
}

/* Set a cell by the means of the planes; the inks of CMYK are as light. */
static void set_cell(struct grid *g, uint32_t x, uint32_t y,
		     enum img_space space)
{
	const double means[3] = { g->means[0][y][x], g->means[1][y][x],
				  g->means[2][y][x] };
	double luma = means[0], cb = 0, cr = 0;

	if (space == IMG_YCBCR || space == IMG_YCCK) {
		cb = means[1] - 128.0;
		cr = means[2] - 128.0;
	} else if (space != IMG_GREY) {
		luma = 0.299 * means[0] + 0.587 * means[1] + 0.114 * means[2];
		cb = (means[2] - luma) / 1.772;
		cr = (means[0] - luma) / 1.402;
	}
	g->luma[y][x] = (uint8_t)fmin(nearbyint(luma), 255);
	g->colour[0][y][x] = signed_byte(cb);
	g->colour[1][y][x] = signed_byte(cr);
}

/* Cells of the displayed picture, read from a plane as it is stored. */
static void read_plane(struct grid *g, uint32_t index,
		       const struct img_plane *p, uint32_t n,
		       uint32_t orientation, struct part room)
{
	bool aside = orientation >= 5;
	bool mirrored_x = image_mirrors_x(orientation);
	bool mirrored_y = image_mirrors_y(orientation);

	set_places(g->across, g->width * n, room.left, room.width,
		   aside ? mirrored_y : mirrored_x,
		   aside ? p->span_y : p->span_x, aside ? p->height : p->width);
	set_places(g->down, g->height * n, room.top, room.height,
		   aside ? mirrored_x : mirrored_y,
		   aside ? p->span_x : p->span_y, aside ? p->width : p->height);
	for (uint32_t y = 0; y < g->height; y++)
		for (uint32_t x = 0; x < g->width; x++)
			g->means[index][y][x] =
				mean_of(p, aside, g->across + x * n,
					g->down + y * n, n);
}

/* Colours at half the resolution are read at half of the places. */
static void read_cells(struct grid *g, const struct image *src,
		       uint32_t orientation, struct part room,
		       const struct memory *memory)
{
	bool is_ycc = src->space == IMG_YCBCR || src->space == IMG_YCCK;
	uint32_t planes = src->space == IMG_GREY ? 1 : 3;

	memset(g->means, 0, sizeof(g->means));
	for (uint32_t i = 0; i < planes; i++) {
		read_plane(g, i, &src->planes[i],
			   i > 0 && is_ycc ? SAMPLES_MAX / 2 : SAMPLES_MAX,
			   orientation, room);
		memory_pause(memory);
	}
	for (uint32_t y = 0; y < g->height; y++)
		for (uint32_t x = 0; x < g->width; x++)
			set_cell(g, x, y, src->space);
}

/* The second derivative of luma. */
static double edge_at(const struct grid *g, uint32_t x, uint32_t y)
{
	uint32_t right = min_u32(x + 1, g->width - 1);
	uint32_t below = min_u32(y + 1, g->height - 1);

	return fabs(4.0 * g->luma[y][x] - g->luma[y][x > 0 ? x - 1 : 0] -
		    g->luma[y][right] - g->luma[y > 0 ? y - 1 : 0][x] -
		    g->luma[below][x]);
}

/* As in most skin; very dark or light pixels tell little. */
static bool is_skin(const struct grid *g, uint32_t x, uint32_t y)
{
	int cb = g->colour[0][y][x], cr = g->colour[1][y][x];

	return g->luma[y][x] > 60 && g->luma[y][x] < 235 && cb > -45 &&
	       cb < -8 && cr > 10 && cr < 45;
}

/* What is found in each cell, above the mean. */
static void find(struct grid *g)
{
	double sum = 0, mean;

	for (uint32_t y = 0; y < g->height; y++)
		for (uint32_t x = 0; x < g->width; x++) {
			g->found[y][x] =
				fmin(edge_at(g, x, y), EDGE_MOST) +
				SATURATION_WEIGHT * hypot(g->colour[0][y][x],
							  g->colour[1][y][x]) +
				(is_skin(g, x, y) ? SKIN_WEIGHT : 0);
			sum += g->found[y][x];
		}
	mean = sum / ((double)g->width * g->height);
	for (uint32_t y = 0; y < g->height; y++)
		for (uint32_t x = 0; x < g->width; x++)
			g->found[y][x] = fmax(g->found[y][x] - mean, 0);
}

static double score(const double *profile, uint32_t begin, uint32_t count)
{
	double sum = 0;

	for (uint32_t i = 0; i < count; i++) {
		double off = (2 * i + 1.0) / count - 1; /* -1 .. 1 */

		sum += profile[begin + i] * (1 - END_LOSS * off * off);
	}
	return sum;
}

/*
 * Where `count` of `all` cells begin that have the most, as a share of the
 * others: 0 is the first place, 1 the last.  Of equal ones, the nearest to the
 * middle.
 */
static double best_place(const double *profile, uint32_t all, uint32_t count)
{
	uint32_t last = all - count;
	double best = -1, place = 0.5;

	for (uint32_t begin = 0; begin <= last; begin++) {
		double here = last > 0 ? (double)begin / last : 0.5;
		double side = 2 * here - 1;
		double got = score(profile, begin, count) *
			     (1 - MIDDLE_BONUS * side * side);
		bool is_nearer = fabs(here - 0.5) < fabs(place - 0.5);

		if (got > best * (1 + SMALL) + SMALL ||
		    (got >= best * (1 - SMALL) - SMALL && is_nearer)) {
			best = fmax(got, best);
			place = here;
		}
	}
	return best > SMALL ? place : 0.5;
}

/* Of each column, or of each row. */
static void add_up(double profile[ATTENTION_CELLS], const struct grid *g,
		   bool is_across)
{
	memset(profile, 0, ATTENTION_CELLS * sizeof(*profile));
	for (uint32_t y = 0; y < g->height; y++)
		for (uint32_t x = 0; x < g->width; x++)
			profile[is_across ? x : y] += g->found[y][x];
}

/* Cells are about as wide as they are high in the picture. */
static void choose_size(struct grid *g, const struct image *src,
			const struct img_view *view, struct part room)
{
	const struct img_plane *p = &src->planes[0];
	bool aside = view->orientation >= 5;
	double width = room.width * (aside ? p->span_y : p->span_x);
	double height = room.height * (aside ? p->span_x : p->span_y);
	double most = fmax(width, height);
	double cells = fmin(ATTENTION_CELLS, fmax(most, 1));

	g->width = (uint32_t)fmax(nearbyint(cells * width / most), 1);
	g->height = (uint32_t)fmax(nearbyint(cells * height / most), 1);
}

bool attention_move(struct img_view *view, const struct image *src,
		    const struct memory *memory)
{
	struct part room = room_of(view);
	bool is_across = view->width < room.width - SMALL;
	double share = is_across ? view->width / room.width :
				   view->height / room.height;
	double profile[ATTENTION_CELLS], place;
	uint32_t all, count;
	struct grid *g;

	if (!is_across && view->height >= room.height - SMALL)
		return true;
	g = memory_alloc(memory, sizeof(*g));
	if (g == NULL)
		return false;
	choose_size(g, src, view, room);
	read_cells(g, src, view->orientation, room, memory);
	find(g);
	add_up(profile, g, is_across);
	all = is_across ? g->width : g->height;
	count = (uint32_t)fmin(fmax(nearbyint(share * all), 1), all);
	place = best_place(profile, all, count);
	memory_free(memory, g);
	if (is_across)
		view->left = room.left + place * (room.width - view->width);
	else
		view->top = room.top + place * (room.height - view->height);
	return true;
}
