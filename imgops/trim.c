/* SPDX-License-Identifier: MIT */
/*
 * The search goes from each edge inwards, so only the border is looked at, and
 * of a picture without one a few rows.  Of each row it makes a mask, which says
 * which pixels differ from the background.
 */
#include "imgops/trim.h"

#include "imgops/estimate.h"
#include "imgops/image.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	MASK_PAD = 1, /* zeros at the ends of a mask, which are only read */
	MASKS = 2,
	ROWS = MASKS + IMG_PLANES_MAX,
	ROWS_PER_PAUSE = 64,
	LINE_PIXELS_MAX = 256, /* of a line that are compared with another */
};

/* A line at an edge that differs less than this share of the next is pale. */
#define PALE 0.75

struct search {
	const struct image *src;
	const struct memory *memory;
	uint32_t width, height; /* of the largest plane */
	int tolerance;
	int background[IMG_PLANES_MAX];
	uint8_t *block; /* of what follows */
	/* Masks of a row, and of the one that was looked at before. */
	uint8_t *row, *before;
	/* Rows of planes that are narrower than the picture, widened. */
	uint8_t *wide[IMG_PLANES_MAX];
	/* What is known to count: columns `left` to before `end`, and rows. */
	uint32_t left, end, top, bottom;
};

/* --- Which border --- */

static uint32_t corner_of(const struct img_header *h,
			  const struct img_transform *t)
{
	uint32_t orientation = t->as_stored ? 1 : h->orientation;

	return (image_mirrors_x(orientation) ? 1u : 0u) |
	       (image_mirrors_y(orientation) ? 2u : 0u);
}

static int tolerance_of(const struct img_transform *t)
{
	return t->trim == 1 ? IMG_TRIM_USUAL : t->trim;
}

bool trim_is_same(const struct img_header *header,
		  const struct img_transform *a, const struct img_transform *b)
{
	return tolerance_of(a) == tolerance_of(b) &&
	       corner_of(header, a) == corner_of(header, b);
}

/* border_count: it has not been looked for. */
static uint32_t index_of(const struct img_header *header,
			 const struct img_transform *transform)
{
	int tolerance = tolerance_of(transform);
	uint32_t corner = corner_of(header, transform), i = 0;

	while (i < header->border_count &&
	       (header->borders[i].tolerance != tolerance ||
		header->borders[i].corner != corner))
		i++;
	return i;
}

const struct img_border *trim_known(const struct img_header *header,
				    const struct img_transform *transform)
{
	uint32_t i = index_of(header, transform);

	return i < header->border_count ? &header->borders[i] : NULL;
}

/* --- Masks --- */

static bool has_any(const uint8_t *mask, uint32_t width)
{
	return memchr(mask, 1, width) != NULL;
}

/* Mark what differs in one plane; `mask` has 1 for it. */
static void mark_levels(uint8_t *restrict mask, const uint8_t *restrict row,
			int background, int tolerance, uint32_t count)
{
	int low = background > tolerance ? background - tolerance : 0;
	int high = background + tolerance < 255 ? background + tolerance : 255;
	uint8_t first = (uint8_t)low, span = (uint8_t)(high - low);

	for (size_t x = 0; x < count; x++)
		mask[x] |= (uint8_t)(row[x] - first) > span;
}

/* The matrix of JFIF, times this. */
enum {
	MATRIX_ONE = 32,
	CR_TO_R = 45,
	CB_TO_G = 11,
	CR_TO_G = 23,
	CB_TO_B = 57
};

/*
 * Mark what differs in red, green or blue.  These are sums of differences, so
 * they are not clipped; all fit into 16 bits.
 */
static void mark_colours(uint8_t *restrict mask, const uint8_t *const rows[3],
			 const int background[3], int tolerance, uint32_t count)
{
	const uint8_t *restrict luma = rows[0];
	const uint8_t *restrict blue = rows[1], *restrict red = rows[2];
	const int16_t most = (int16_t)(tolerance * MATRIX_ONE + MATRIX_ONE / 2);
	const int16_t at_luma = (int16_t)background[0];
	const int16_t at_blue = (int16_t)background[1];
	const int16_t at_red = (int16_t)background[2];

	for (size_t x = 0; x < count; x++) {
		int16_t y = (int16_t)((luma[x] - at_luma) * MATRIX_ONE);
		int16_t cb = (int16_t)(blue[x] - at_blue);
		int16_t cr = (int16_t)(red[x] - at_red);
		int16_t r = (int16_t)(y + CR_TO_R * cr);
		int16_t g = (int16_t)(y - CB_TO_G * cb - CR_TO_G * cr);
		int16_t b = (int16_t)(y + CB_TO_B * cb);

		mask[x] |= (uint8_t)((r > most) | (r < -most) | (g > most) |
				     (g < -most) | (b > most) | (b < -most));
	}
}

/*
 * Could a pixel differ in red, green or blue?  Not if luma and chroma are
 * within half of the tolerance; in most borders all are.  `scratch` is zero,
 * and stays so if the answer is no.
 */
static bool may_differ(uint8_t *scratch, const uint8_t *const rows[3],
		       const int background[3], int tolerance, uint32_t count)
{
	int luma = tolerance / 2, chroma = luma * MATRIX_ONE / CB_TO_B;

	mark_levels(scratch, rows[0], background[0], luma, count);
	mark_levels(scratch, rows[1], background[1], chroma, count);
	mark_levels(scratch, rows[2], background[2], chroma, count);
	return has_any(scratch, count);
}

/* Transparent pixels are border. */
static void unmark_transparent(uint8_t *restrict mask,
			       const uint8_t *restrict alpha, int tolerance,
			       uint32_t count)
{
	uint8_t most = (uint8_t)tolerance;

	for (size_t x = 0; x < count; x++)
		mask[x] &= alpha[x] > most;
}

static void widen(uint8_t *restrict out, const uint8_t *restrict row,
		  uint32_t from, uint32_t to, uint32_t width, uint32_t wide)
{
	/* There is room for one more. */
	if (wide == 2 * width || wide + 1 == 2 * width) {
		for (size_t i = from / 2; 2 * i < to; i++)
			out[2 * i] = out[2 * i + 1] = row[i];
		return;
	}
	for (size_t x = from; x < to; x++)
		out[x] = row[x * width / wide];
}

/* Columns `from` to before `to` of a plane's row, as if it had full size. */
static const uint8_t *row_of(const struct search *s, uint32_t plane, uint32_t y,
			     uint32_t from, uint32_t to)
{
	const struct img_plane *p = &s->src->planes[plane];
	uint32_t at = (uint32_t)((uint64_t)y * p->height / s->height);
	const uint8_t *row = p->samples + at * p->stride_bytes;

	if (p->width == s->width)
		return row + from;
	widen(s->wide[plane], row, from, to, p->width, s->width);
	return s->wide[plane] + from;
}

/* Set the mask of row `y` in columns `from` to before `to`. */
static void make_mask(const struct search *s, uint32_t y, uint32_t from,
		      uint32_t to)
{
	enum img_space space = s->src->space;
	const uint8_t *rows[IMG_PLANES_MAX];
	uint32_t count = to - from, i = 0;
	uint8_t *mask = s->row + from;

	memset(mask, 0, count);
	for (uint32_t k = 0; k < s->src->plane_count; k++)
		rows[k] = row_of(s, k, y, from, to);
	if (space == IMG_YCBCR || space == IMG_YCCK) {
		if (may_differ(mask, rows, s->background, s->tolerance,
			       count)) {
			memset(mask, 0, count);
			mark_colours(mask, rows, s->background, s->tolerance,
				     count);
		}
		i = 3;
	}
	for (; i < s->src->plane_count; i++)
		mark_levels(mask, rows[i], s->background[i], s->tolerance,
			    count);
	if (space == IMG_RGBA)
		unmark_transparent(mask, rows[3], s->tolerance, count);
}

/* --- The search --- */

static bool has_pair_across(const uint8_t *row, const uint8_t *before,
			    uint32_t width)
{
	const uint8_t *beside = before - 1;
	uint8_t found = 0;

	for (size_t x = 0; x < width; x++)
		found |= row[x] & (beside[x] | beside[x + 1] | beside[x + 2]);
	return found != 0;
}

static bool has_pair_along(const uint8_t *row, uint32_t width)
{
	uint8_t found = 0;

	for (size_t x = 0; x < width; x++)
		found |= row[x] & row[x + 1];
	return found != 0;
}

/* In one of two rows that follow each other. */
static bool counts(const uint8_t *row, const uint8_t *before, uint32_t x)
{
	const uint8_t *at = row + x, *above = before + x;
	uint8_t beside = at[-1] | at[1];

	return ((at[0] & (beside | above[-1] | above[0] | above[1])) |
		(above[0] & (beside | at[0]))) != 0;
}

static void swap_masks(struct search *s)
{
	uint8_t *row = s->row;

	s->row = s->before;
	s->before = row;
}

/* The first row, from an edge on, in which something counts; else `height`. */
static uint32_t find_row(struct search *s, bool is_from_below)
{
	memset(s->before, 0, s->width);
	for (uint32_t i = 0; i < s->height; i++) {
		uint32_t y = is_from_below ? s->height - 1 - i : i;

		make_mask(s, y, 0, s->width);
		if (has_any(s->row, s->width)) {
			if (has_pair_across(s->row, s->before, s->width))
				return is_from_below ? y + 1 : y - 1;
			if (has_pair_along(s->row, s->width))
				return y;
		}
		swap_masks(s);
		if (i % ROWS_PER_PAUSE == 0)
			memory_pause(s->memory);
	}
	return s->height;
}

/* The first that is marked of `from` to before `to`; else `to`. */
static uint32_t first_marked(const uint8_t *mask, uint32_t from, uint32_t to)
{
	const uint8_t *found = memchr(mask + from, 1, to - from);

	return found != NULL ? (uint32_t)(found - mask) : to;
}

static uint32_t after_last_marked(const uint8_t *mask, uint32_t from,
				  uint32_t to)
{
	const uint8_t *found = memrchr(mask + from, 1, to - from);

	return found != NULL ? (uint32_t)(found - mask) + 1 : from;
}

/* What counts left and right of the columns that are known to count. */
static void look_beside(struct search *s)
{
	const uint8_t *row = s->row, *before = s->before;
	uint32_t x = 0, end = s->width;

	for (; x < s->left; x++) {
		x = min_u32(first_marked(row, x, s->left),
			    first_marked(before, x, s->left));
		if (x == s->left || counts(row, before, x))
			break;
	}
	s->left = x;
	for (; end > s->end; end--) {
		uint32_t here = after_last_marked(row, s->end, end);
		uint32_t there = after_last_marked(before, s->end, end);

		end = here > there ? here : there;
		if (end == s->end || counts(row, before, end - 1))
			break;
	}
	s->end = end;
}

/*
 * Set the mask of a row as far as look_beside() reads it, and no further.  The
 * columns that count are apart, because they take longer: see may_differ().
 */
static void mask_beside(struct search *s, uint32_t y)
{
	if (s->left + 2 >= s->end) {
		make_mask(s, y, 0, s->width);
		return;
	}
	if (s->left > 0) {
		make_mask(s, y, 0, s->left);
		make_mask(s, y, s->left, s->left + 1);
	}
	if (s->end < s->width) {
		make_mask(s, y, s->end - 1, s->end);
		make_mask(s, y, s->end, s->width);
	}
}

/* The columns, in rows `top` to before `bottom`, in which something counts. */
static void find_columns(struct search *s)
{
	s->left = s->width;
	s->end = 0;
	/* Nothing in the row before `top` counts. */
	memset(s->before, 0, s->width);
	for (uint32_t y = s->top; y < s->bottom; y++) {
		mask_beside(s, y);
		look_beside(s);
		swap_masks(s);
		if (s->left == 0 && s->end == s->width)
			return;
		if (y % ROWS_PER_PAUSE == 0)
			memory_pause(s->memory);
	}
}

/* --- Edges of a reduced decode --- */

/* How much a pixel differs, in all planes together. */
static uint32_t difference(const struct search *s, uint32_t x, uint32_t y)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < s->src->plane_count; i++) {
		const struct img_plane *p = &s->src->planes[i];
		size_t column = (size_t)x * p->width / s->width;
		size_t row = (size_t)y * p->height / s->height;
		int level = p->samples[row * p->stride_bytes + column];

		sum += (uint32_t)abs(level - s->background[i]);
	}
	return sum;
}

/*
 * Is a line paler than the one inside of it, where it differs at all?  Then
 * most of it is border.  A long line is looked at here and there.
 */
static bool is_pale(const struct search *s, bool is_row, uint32_t outer,
		    uint32_t inner)
{
	uint32_t from = is_row ? s->left : s->top;
	uint32_t end = is_row ? s->end : s->bottom;
	uint32_t step = (end - from) / LINE_PIXELS_MAX + 1;
	uint64_t outside = 0, inside = 0;

	for (uint32_t i = from; i < end; i += step) {
		uint32_t here = is_row ? difference(s, i, outer) :
					 difference(s, outer, i);

		if (here <= (uint32_t)s->tolerance)
			continue;
		outside += here;
		inside += is_row ? difference(s, i, inner) :
				   difference(s, inner, i);
	}
	return (double)outside < PALE * (double)inside;
}

/* Cut off a pale line at each edge that has a border.  True: there was one. */
static bool cut_pale_line(struct search *s)
{
	uint32_t sum = s->left + s->top - s->end - s->bottom;

	if (s->left > 0 && s->left + 1 < s->end &&
	    is_pale(s, false, s->left, s->left + 1))
		s->left++;
	if (s->end < s->width && s->left + 1 < s->end &&
	    is_pale(s, false, s->end - 1, s->end - 2))
		s->end--;
	if (s->top > 0 && s->top + 1 < s->bottom &&
	    is_pale(s, true, s->top, s->top + 1))
		s->top++;
	if (s->bottom < s->height && s->top + 1 < s->bottom &&
	    is_pale(s, true, s->bottom - 1, s->bottom - 2))
		s->bottom--;
	memory_pause(s->memory);
	return s->left + s->top - s->end - s->bottom != sum;
}

/*
 * At n/8 of its size, the sample that an edge goes through is a mixture, and up
 * to n - 1 beside it have traces of the edge.  They would be a pale line around
 * the result.
 */
static void cut_pale_lines(struct search *s, uint32_t n)
{
	while (n > 0 && cut_pale_line(s))
		n--;
}

/* --- What is called --- */

static void set_background(struct search *s, uint32_t corner)
{
	uint32_t x = (corner & 1) != 0 ? s->width - 1 : 0;
	uint32_t y = (corner & 2) != 0 ? s->height - 1 : 0;

	for (uint32_t i = 0; i < s->src->plane_count; i++)
		s->background[i] = row_of(s, i, y, x, x + 1)[0];
}

/* Room for a mask or a row, which vectors may be read from. */
static size_t row_bytes(uint32_t width)
{
	return ((size_t)width + 2 * MASK_PAD + 63) / 64 * 64;
}

/* The size of the largest plane, and the whole picture in its samples. */
static void measure(struct search *s, double *span_x, double *span_y)
{
	for (uint32_t i = 0; i < s->src->plane_count; i++) {
		const struct img_plane *p = &s->src->planes[i];

		if (p->width > s->width) {
			s->width = p->width;
			*span_x = p->span_x;
		}
		if (p->height > s->height) {
			s->height = p->height;
			*span_y = p->span_y;
		}
	}
}

static bool make_rows(struct search *s)
{
	size_t bytes = row_bytes(s->width);
	uint8_t *at = memory_alloc(s->memory, ROWS * bytes);

	s->block = at;
	if (at == NULL)
		return false;
	memset(at, 0, MASKS * bytes);
	s->row = at + MASK_PAD;
	s->before = at + bytes + MASK_PAD;
	for (uint32_t i = 0; i < IMG_PLANES_MAX; i++)
		s->wide[i] = at + (MASKS + i) * bytes;
	return true;
}

/* `from` to before `end` of an axis of samples, in pixels of the file. */
static void set_part(uint32_t *from_px, uint32_t *count_px, uint32_t from,
		     uint32_t end, double span, uint32_t side_px)
{
	double step = side_px / span;
	uint32_t first = (uint32_t)floor(from * step + 1e-6);
	double last = fmin(ceil(end * step - 1e-6), side_px);

	*from_px = first;
	*count_px = (uint32_t)last - first;
}

/* Set border->inside.  False: no memory. */
static bool find(struct img_border *border, const struct img_header *header,
		 const struct image *decoded, const struct memory *memory)
{
	struct search s = { .src = decoded,
			    .memory = memory,
			    .tolerance = border->tolerance };
	struct img_rect *r = &border->inside;
	double span_x = 1, span_y = 1;
	uint32_t n;

	*r = (struct img_rect){ 0, 0, header->stored.width_px,
				header->stored.height_px };
	measure(&s, &span_x, &span_y);
	if (!make_rows(&s))
		return false;
	set_background(&s, border->corner);
	n = (uint32_t)lround(span_x * DECODE_SCALE_FULL / r->width_px);
	s.top = find_row(&s, false);
	if (s.top < s.height) {
		s.bottom = find_row(&s, true) + 1;
		find_columns(&s);
		if (n < DECODE_SCALE_FULL)
			cut_pale_lines(&s, n);
		set_part(&r->left_px, &r->width_px, s.left, s.end, span_x,
			 header->stored.width_px);
		set_part(&r->top_px, &r->height_px, s.top, s.bottom, span_y,
			 header->stored.height_px);
	}
	memory_free(memory, s.block);
	return true;
}

static bool is_same_rect(const struct img_rect *a, const struct img_rect *b)
{
	return a->left_px == b->left_px && a->top_px == b->top_px &&
	       a->width_px == b->width_px && a->height_px == b->height_px;
}

/* The note about a border, which begins as that of a picture without one. */
static struct img_border *note_of(struct img_header *header,
				  const struct img_transform *transform)
{
	uint32_t i = index_of(header, transform);
	struct img_border *b = &header->borders[i];

	if (i < header->border_count)
		return b;
	assert(header->border_count < IMG_BORDERS_MAX);
	header->border_count++;
	*b = (struct img_border){
		.tolerance = tolerance_of(transform),
		.corner = corner_of(header, transform),
		.inside = { 0, 0, header->stored.width_px,
			    header->stored.height_px },
	};
	return b;
}

enum img_err img_find_border(struct img_header *header,
			     const struct image *decoded,
			     const struct img_transform *transform,
			     const struct memory *memory)
{
	struct img_border *border, found;

	if (transform->trim == 0)
		return IMG_OK;
	border = note_of(header, transform);
	/* Another result, or a smaller picture, tells no more. */
	if (decoded->planes[0].width <= border->seen_px)
		return IMG_OK;
	found = *border;
	found.seen_px = decoded->planes[0].width;
	if (!find(&found, header, decoded, memory))
		return IMG_ERR_NO_MEMORY;
	if (is_same_rect(&found.inside, &border->inside)) {
		*border = found;
		return IMG_OK;
	}
	*border = found;
	return IMG_ERR_BORDER;
}

/* --- Estimate --- */

enum { TERM_PIXELS, TERM_ROWS, TERM_COUNT };

static const struct estimate_term trim_terms[TERM_COUNT] = {
	[TERM_PIXELS] = { "pixel of a border", 0.4 },
	[TERM_ROWS] = { "row with a border", 60 },
};

static struct search search_of(const struct workload *w)
{
	struct search s = { .src = &w->decoded };
	double span_x, span_y;

	measure(&s, &span_x, &span_y);
	return s;
}

/* As if all of it were border. */
static void trim_count(double *counts, const struct workload *w)
{
	struct search s = search_of(w);

	if (w->transform->trim == 0)
		return;
	counts[TERM_PIXELS] = (double)s.width * s.height;
	counts[TERM_ROWS] = s.height;
}

static uint64_t trim_bytes(const struct workload *w)
{
	struct search s = search_of(w);

	return w->transform->trim == 0 ? 0 : ROWS * row_bytes(s.width);
}

const struct step_estimate trim_estimate = {
	.name = "trim",
	.terms = trim_terms,
	.term_count = TERM_COUNT,
	.count = trim_count,
	.bytes = trim_bytes,
};
