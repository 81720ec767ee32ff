/* SPDX-License-Identifier: MIT */
/*
 * A plane is made in tiles, each from the part of the source that its filter
 * reaches.  No sample depends on where a tile ends.  For a whole plane,
 * stb_image_resize has four problems, which tiles keep small: its memory grows
 * with the product of the result's width and the filter's height, making its
 * tables takes quadratic time, it counts in int, and it computes positions in
 * float.
 */
#include "imgops/resample/stb.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* The memory of resample_plane(), used for one tile after another. */
struct scratch {
	void *data;
	size_t bytes;
};

static void *take_scratch(size_t bytes, const struct scratch *s)
{
	return bytes <= s->bytes ? s->data : NULL;
}

/*
 * stb reports its progress only after each row that it has made.  It asserts
 * something for each row of the source when it shrinks, of the result when it
 * enlarges; a pause takes that assertion's place.  There, `stbir_info` is a
 * local variable with stb's state; elsewhere, the name is the NULL below.
 *
 * The other assertions are left out.  Two of them fail for good pictures: they
 * expect weights to sum to 1 within a tenth before stb normalises them.  Tests
 * run it under sanitizers.
 */
static void pause_in_tile(const void *info);
static const void *const stbir_info;
#define ROW_FITS(first, last)                                                  \
	sizeof(#last " - " #first " + 1 <= "                                   \
		     "stbir_info->ring_buffer_num_entries")
/* Compared by length, which costs nothing. */
#define STBIR_ASSERT(condition)                                                \
	(sizeof(#condition) == ROW_FITS(in_first_scanline,                     \
					in_last_scanline) ||                   \
			 sizeof(#condition) == ROW_FITS(out_first_scanline,    \
							out_last_scanline) ?   \
		 pause_in_tile(stbir_info) :                                   \
		 (void)0)

#define STBIR_MALLOC(bytes, context) take_scratch(bytes, context)
#define STBIR_FREE(data, context) ((void)(data), (void)(context))
#define STB_IMAGE_RESIZE_STATIC
#define STB_IMAGE_RESIZE_IMPLEMENTATION
#include <stb_image_resize.h>

/* What lies before the memory that stb has for a tile. */
struct scratch_head {
	_Alignas(64) const struct memory *memory;
};

static void pause_in_tile(const void *info)
{
	const stbir__info *tile = info;

	/*
	 * stb puts its contributors at the start of its memory, right after the
	 * struct scratch_head.
	 */
	if (tile != NULL)
		memory_pause(((const struct scratch_head *)(const void *)
				      tile->horizontal_contributors -
			      1)
				     ->memory);
}

enum {
	TILE = 256, /* outputs of a tile along each axis */
	/*
	 * How far the widest filter reaches: in outputs when shrinking, in
	 * inputs when enlarging.
	 */
	REACH = 2,
	RING_VALUES_MAX = 1 << 22,
};

/* One axis of a tile. */
struct side {
	uint32_t out_from, out_count; /* in the order of the file */
	uint32_t in_from, in_count;   /* all inputs that these outputs need */
	/* Inputs per output, and the position of out_from. */
	float scale, shift;
};

/* Inputs for each output. */
static double step_of(const struct axis *a)
{
	return a->in_span / a->out_span;
}

/* How many inputs may be needed on each side of an output, plus one. */
static double reach_of(const struct axis *a)
{
	return REACH * fmax(1, step_of(a)) + 1;
}

static struct side side_of(const struct axis *a, uint32_t from, uint32_t tile)
{
	double step = step_of(a), reach = reach_of(a), start = a->start;
	struct side s = { .out_from = from,
			  .out_count = min_u32(tile, a->out - from),
			  .scale = (float)(1 / step) };
	double first, end;

	/* Count outputs backwards, from the last one. */
	if (a->mirrored)
		start += a->in_span - a->out * step;
	first = floor(start + from * step - reach);
	end = ceil(start + (from + s.out_count) * step + reach);
	first = fmin(fmax(first, 0), a->in - 1.0);
	end = fmin(fmax(end, first + 1), a->in);
	s.in_from = (uint32_t)first;
	s.in_count = (uint32_t)(end - first);
	s.shift = (float)((start - first) / step + from);
	return s;
}

/* A tile side that takes at least as much memory as any other on the axis. */
static struct side widest_side(const struct axis *a, uint32_t tile)
{
	uint32_t count = min_u32(tile, a->out);
	double inputs = count * step_of(a) + 2 * reach_of(a) + 2;

	return (struct side){
		.out_count = count,
		.in_count = (uint32_t)ceil(fmin(inputs, a->in)),
		.scale = (float)(1 / step_of(a)),
	};
}

/*
 * The width of a tile.  stb keeps as many of its rows as the filter covers, so
 * a tile for a tall filter is narrow.
 */
static uint32_t tile_columns(const struct axis *y)
{
	double rows = 2 * reach_of(y);

	return (uint32_t)fmin(TILE, fmax(1, RING_VALUES_MAX / rows));
}

static stbir_filter stb_filter(enum img_filter filter)
{
	switch (filter) {
	case IMG_BOX:
		return STBIR_FILTER_BOX;
	case IMG_TRIANGLE:
		return STBIR_FILTER_TRIANGLE;
	case IMG_BSPLINE:
		return STBIR_FILTER_CUBICBSPLINE;
	case IMG_CATMULL_ROM:
		return STBIR_FILTER_CATMULLROM;
	default:
		assert(filter == IMG_MITCHELL);
		return STBIR_FILTER_MITCHELL;
	}
}

static size_t tile_bytes(const struct side *x, const struct side *y,
			 enum img_filter filter)
{
	float transform[] = { x->scale, y->scale, x->shift, y->shift };
	stbir_filter shape = stb_filter(filter);
	stbir__info info;

	stbir__setup(&info, (int)x->in_count, (int)y->in_count,
		     (int)x->out_count, (int)y->out_count, 1);
	stbir__calculate_transform(&info, 0, 0, 1, 1, transform);
	stbir__choose_filter(&info, shape, shape);
	return stbir__calculate_memory(&info);
}

size_t resample_bytes(const struct axis *x, const struct axis *y,
		      enum img_filter filter)
{
	struct side widest_x = widest_side(x, tile_columns(y));
	struct side widest_y = widest_side(y, TILE);

	return TILE * TILE + sizeof(struct scratch_head) +
	       tile_bytes(&widest_x, &widest_y, filter);
}

/* For each output of a tile, stb looks at each input of the tile. */
static double table_steps(const struct axis *a, uint32_t tile)
{
	struct side s = widest_side(a, tile);

	return step_of(a) > 1 ? (double)s.out_count * s.in_count : 0;
}

/* Where the filter reaches past the edge, edge samples are counted again. */
struct resample_work resample_work(const struct axis *x, const struct axis *y)
{
	double tiles_x = ceil((double)x->out / tile_columns(y));
	double tiles_y = ceil((double)y->out / TILE);

	/*
	 * All samples of a row are converted, but only the rows that are
	 * needed.
	 */
	return (struct resample_work){
		.columns = x->in_span + 4 * tiles_x * reach_of(x),
		.rows = y->in_span + 2 * tiles_y * reach_of(y),
		.tiles_x = tiles_x,
		.table_steps = tiles_x * tiles_y *
			       (table_steps(x, tile_columns(y)) +
				table_steps(y, TILE)),
	};
}

/*
 * Write a tile in the orientation of the file to `out`, with rows `stride`
 * apart.
 */
static bool make_tile(uint8_t *out, size_t stride, const struct img_plane *src,
		      const struct side *x, const struct side *y,
		      enum img_filter filter, struct scratch *scratch)
{
	const uint8_t *in =
		src->samples + y->in_from * src->stride_bytes + x->in_from;
	stbir_filter shape = stb_filter(filter);

	return stbir_resize_subpixel(
		       in, (int)x->in_count, (int)y->in_count,
		       (int)src->stride_bytes, out, (int)x->out_count,
		       (int)y->out_count, (int)stride, STBIR_TYPE_UINT8, 1,
		       STBIR_ALPHA_CHANNEL_NONE, 0, STBIR_EDGE_CLAMP,
		       STBIR_EDGE_CLAMP, shape, shape, STBIR_COLORSPACE_LINEAR,
		       scratch, x->scale, y->scale, x->shift, y->shift) == 1;
}

/*
 * The position in the picture of output `i`, which is counted as in the file.
 */
static uint32_t shown_at(const struct axis *a, uint32_t i)
{
	return a->mirrored ? a->out - 1 - i : i;
}

/* Copy a tile to its place, mirrored and turned as its axes are. */
static void place_tile(struct img_plane *dst, const uint8_t *tile,
		       const struct axis *x, const struct side *sx,
		       const struct axis *y, const struct side *sy, bool aside)
{
	size_t x_step = aside ? dst->stride_bytes : 1;
	size_t y_step = aside ? 1 : dst->stride_bytes;

	for (uint32_t j = 0; j < sy->out_count; j++, tile += TILE) {
		uint8_t *line =
			dst->samples + shown_at(y, sy->out_from + j) * y_step;

		for (uint32_t i = 0; i < sx->out_count; i++)
			line[shown_at(x, sx->out_from + i) * x_step] = tile[i];
	}
}

bool resample_plane(struct img_plane *dst, const struct img_plane *src,
		    const struct axis *x, const struct axis *y, bool aside,
		    enum img_filter filter, const struct memory *memory)
{
	bool is_direct = !aside && !x->mirrored && !y->mirrored, ok = true;
	uint32_t columns = tile_columns(y);
	size_t bytes = resample_bytes(x, y, filter);
	uint8_t *tile = memory->alloc(memory->arg, bytes);
	struct scratch_head *head;
	struct scratch scratch;

	if (tile == NULL)
		return false;
	head = (struct scratch_head *)(tile + TILE * TILE);
	head->memory = memory;
	scratch = (struct scratch){ head + 1,
				    bytes - TILE * TILE - sizeof(*head) };
	for (uint32_t j = 0; ok && j < y->out; j += TILE) {
		struct side sy = side_of(y, j, TILE);

		for (uint32_t i = 0; ok && i < x->out; i += columns) {
			struct side sx = side_of(x, i, columns);
			uint8_t *out = tile;
			size_t stride = TILE;

			if (is_direct) {
				stride = dst->stride_bytes;
				out = dst->samples + j * stride + i;
			}
			ok = make_tile(out, stride, src, &sx, &sy, filter,
				       &scratch);
			if (ok && !is_direct)
				place_tile(dst, tile, x, &sx, y, &sy, aside);
			memory_pause(memory);
		}
	}
	memory->free(memory->arg, tile);
	assert(ok); /* the block has room for the largest tile */
	return ok;
}
