/* SPDX-License-Identifier: MIT */
/*
 * Sixteen rows of the result are made at a time, as two bands.  Their input is
 * read in strips of some columns, so that its light stays in the first cache.
 */
#include "imgops/resample/light.h"

#include "imgops/colour/colour.h"
#include "imgops/image.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
	ROWS = 2 * BAND_ROWS,
	TILE = 64, /* columns of the result */
	/*
	 * Of a tile in which chroma varies, the largest Cb or Cr less the
	 * least.
	 */
	VARIES = 48,
	STRIP_LIGHTS = 1 << 14,
	STRIP_COLUMNS_MIN = 64,
	STRIP_COLUMNS_MAX = 256,
	PAUSE_ROWS = 64,
	CHANNELS = 3,
};

/* What is scaled. */
enum channel {
	CHANNEL_RED, /* these three are made from Y'CbCr */
	CHANNEL_GREEN,
	CHANNEL_BLUE,
	CHANNEL_PLANE, /* a plane's own samples */
	CHANNEL_ALPHA, /* the same, which are multiplied by those of plane 3 */
};

/*
 * Which inputs lie under each output along an axis: from `from` to before `to`,
 * counted from the first of the weights.
 */
struct cover {
	uint32_t *from, *to;
};

struct part {
	uint32_t from, end;
};

/* A plane of Cb or Cr. */
struct chroma {
	struct part x, y; /* what is shown of it */
	bool is_like_luma;
	uint8_t *least, *most; /* of each column, in the rows in work */
};

struct light {
	const struct bands *bands;
	const struct plan *p;
	const struct memory *memory;
	struct image *dst;
	const struct image *src;
	uint32_t i;      /* the plane */
	uint8_t *levels; /* of BAND_LIGHTS */
	struct cover across, down;
	uint32_t columns; /* of a band */
	uint32_t width;   /* of a row of light */
	int16_t *band[ROWS / BAND_ROWS];
	uint16_t *light;  /* BAND_ROWS rows, counted from black */
	uint8_t *darkest; /* ROWS rows: the least level under each output row */
	uint8_t *other;   /* room for such a row */
	/*
	 * A power of two; each output covers as many inputs, and at most twice.
	 */
	uint32_t wide;
	uint8_t *rows[CHANNELS]; /* ROWS rows of the result */
	/* For a strip: its light, and a row of it. */
	uint32_t strip_columns;
	int16_t *strip;
	uint8_t *made[CHANNELS]; /* the channel, Cb, Cr */
	uint16_t *mixed;         /* Cb or Cr between two rows */
	uint32_t mixed_count;
	struct chroma chroma[CHANNELS - 1];
	/* The rows of the result in work, and their inputs. */
	uint32_t y, from, to;
	uint32_t first[ROWS]; /* of the down weights, from `from` on */
};

/* --- Levels of light --- */

/* A level has the light up to half way to the next one. */
static void make_levels(uint8_t *levels)
{
	uint32_t at = 0;

	for (uint32_t level = 0; level <= UINT8_MAX; level++) {
		uint32_t end = BAND_LIGHTS;

		if (level < UINT8_MAX)
			end = (uint32_t)(band_light(level * 256 + 128) -
					 BAND_BLACK) +
			      1;
		memset(levels + at, (int)level, end - at);
		at = end;
	}
}

/* --- Places --- */

static void make_cover(const struct cover *c, const struct axis *a,
		       const struct filter_weights *w)
{
	double step = a->in_span / a->out_span;

	for (uint32_t i = 0; i < a->out; i++) {
		double from =
			a->start +
			(a->mirrored ? a->in_span - (i + 1) * step : i * step);
		/* One that only rounding touches does not count. */
		double first = floor(from + 1e-6);
		double end = ceil(from + step - 1e-6);

		first = fmin(fmax(first, w->from), w->from + w->reach - 1.0);
		end = fmin(fmax(end, first + 1), w->from + w->reach);
		c->from[i] = (uint32_t)first - w->from;
		c->to[i] = (uint32_t)end - w->from;
	}
}

/* The largest power of two that is not more than any output covers. */
static uint32_t wide_of(const struct cover *c, uint32_t count)
{
	uint32_t least = UINT32_MAX, wide = 1;

	for (uint32_t i = 0; i < count; i++)
		least = min_u32(least, c->to[i] - c->from[i]);
	while (wide <= least / 2)
		wide *= 2;
	return wide;
}

/* --- Input --- */

/*
 * A sample of chroma, in 65536ths, at sample `at` of luma; both planes have the
 * spans of the same picture.
 */
static int64_t chroma_at(uint32_t at, double chroma_span, double luma_span)
{
	return (int64_t)floor(((at + 0.5) * chroma_span / luma_span - 0.5) *
			      65536);
}

/* The nearest from `from` to before `end`. */
static uint32_t limited(int64_t at, uint32_t from, uint32_t end)
{
	return at < from ? from : at < end ? (uint32_t)at : end - 1;
}

/*
 * The samples along a side of a plane of chroma that belong to `count` samples
 * of luma from `first` on.
 */
static struct part part_of(uint32_t first, uint32_t count, double chroma_span,
			   double luma_span, uint32_t in)
{
	double ratio = chroma_span / luma_span;
	uint32_t from = min_u32((uint32_t)(first * ratio + 1e-6), in - 1);
	uint32_t end = (uint32_t)ceil((first + count) * ratio - 1e-6);

	return (struct part){ from, min_u32(end > from ? end : from + 1, in) };
}

static void find_parts(struct light *l)
{
	const struct img_plane *luma = &l->src->planes[0];
	const struct plan *p = l->p;

	for (uint32_t i = 1; i < CHANNELS; i++) {
		const struct img_plane *c = &l->src->planes[i];
		struct chroma *to = &l->chroma[i - 1];

		to->x = part_of(p->left, p->x.in, c->span_x, luma->span_x,
				c->width);
		to->y = part_of(p->top, p->y.in, c->span_y, luma->span_y,
				c->height);
		to->is_like_luma =
			c->span_x == luma->span_x && c->span_y == luma->span_y;
	}
}

/* Between two rows, of which `b` has a share of `part` / 256. */
static void mix_rows(uint16_t *restrict out, const uint8_t *a, const uint8_t *b,
		     int32_t part, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		out[i] = (uint16_t)(a[i] * (256 - part) + b[i] * part);
}

static inline uint8_t mix_values(uint16_t a, uint16_t b, int32_t part)
{
	return (uint8_t)((a * (256 - part) + b * part + 32768) >> 16);
}

/* Between the values of a row, in steps of a half, from 3/4 on. */
static void mix_halves(uint8_t *restrict out, const uint16_t *restrict in,
		       size_t pairs)
{
	for (size_t i = 0; i < pairs; i++) {
		out[2 * i] = mix_values(in[i], in[i + 1], 192);
		out[2 * i + 1] = mix_values(in[i + 1], in[i + 2], 64);
	}
}

/* `at`, of the first value, and `step` are in 65536ths. */
static void mix_columns(uint8_t *restrict out, const uint16_t *restrict in,
			uint32_t at, uint32_t step, uint32_t count)
{
	bool is_halves = step == 32768 && at == 3 * 16384;
	uint32_t i = is_halves ? count / 2 * 2 : 0;

	if (is_halves)
		mix_halves(out, in, count / 2);
	for (at += i * step; i < count; i++, at += step)
		out[i] = mix_values(in[at >> 16], in[(at >> 16) + 1],
				    (int32_t)(at >> 8 & 255));
}

/*
 * Cb or Cr of a part of row `y` of luma, from column `x` on, by linear
 * interpolation.  Beyond the part that is shown, its edge is repeated.
 */
static const uint8_t *read_chroma(const struct light *l, uint32_t i, uint32_t x,
				  uint32_t y, uint32_t count)
{
	const struct img_plane *p = &l->src->planes[i];
	const struct img_plane *luma = &l->src->planes[0];
	const struct part *down = &l->chroma[i - 1].y;
	const struct part *across = &l->chroma[i - 1].x;
	int64_t row = chroma_at(y, p->span_y, luma->span_y) >> 8;
	int64_t at = chroma_at(x, p->span_x, luma->span_x), first = at >> 16;
	uint32_t step = (uint32_t)(p->span_x / luma->span_x * 65536);
	uint32_t part = (uint32_t)(at & 65535);
	uint32_t needed =
		(uint32_t)((part + (uint64_t)step * count) / 65536) + 2;
	uint32_t from = limited(first, across->from, across->end);
	/* Those before the first column are like it, and so are those after. */
	uint32_t before = first < from ? (uint32_t)(from - first) : 0;
	uint32_t known = min_u32(needed - before, across->end - from);
	uint16_t *mixed = l->mixed + before;

	assert(before < needed && needed <= l->mixed_count);
	mix_rows(
		mixed,
		image_row(l->src, i, limited(row >> 8, down->from, down->end)) +
			from,
		image_row(l->src, i,
			  limited((row >> 8) + 1, down->from, down->end)) +
			from,
		(int32_t)(row & 255), known);
	for (uint32_t k = 0; k < before; k++)
		l->mixed[k] = mixed[0];
	for (; before + known < needed; known++)
		mixed[known] = mixed[known - 1];
	mix_columns(l->made[i], l->mixed, part, step, count);
	return l->made[i];
}

/* Row `y` of the part of a plane that is shown, from its first column on. */
static const uint8_t *row_of_part(const struct light *l, uint32_t i, uint32_t y)
{
	return image_row(l->src, i, l->p->top + y) + l->p->left;
}

/*
 * The levels of `count` inputs from column `x` on in row `y` of the part; the
 * row may be one past the end.
 */
static const uint8_t *read_levels(const struct light *l, enum channel channel,
				  uint32_t x, uint32_t y, uint32_t count)
{
	const uint8_t *ycc[CHANNELS] = { row_of_part(l, l->i, y) + x };

	if (channel >= CHANNEL_PLANE)
		return ycc[0];
	for (uint32_t i = 1; i < CHANNELS; i++) {
		/* Red has nothing of Cb, and blue nothing of Cr. */
		bool is_needed = !(channel == CHANNEL_RED && i == 1) &&
				 !(channel == CHANNEL_BLUE && i == 2);

		if (l->chroma[i - 1].is_like_luma)
			ycc[i] = row_of_part(l, i, y) + x;
		else
			ycc[i] = is_needed ? read_chroma(l, i, l->p->left + x,
							 l->p->top + y, count) :
					     ycc[0];
	}
	colour_channel_from_ycc(l->made[0], ycc, (uint32_t)channel, count);
	return l->made[0];
}

/* Light that is multiplied by alpha, of levels that are. */
static void light_of_alpha(int16_t *light, const uint8_t *levels,
			   const uint8_t *alpha, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t a = alpha[i];
		uint32_t level =
			a > 0 ? min_u32((levels[i] * 65280u + a / 2) / a,
					UINT8_MAX << 8) :
				0;

		light[i] = (int16_t)((band_light(level) - BAND_BLACK) *
					     (int32_t)a / 255 +
				     BAND_BLACK);
	}
}

static void keep_darkest(uint8_t *restrict least, const uint8_t *levels,
			 uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		least[i] = levels[i] < least[i] ? levels[i] : least[i];
}

/* Read a strip of `count` columns from `x` on, and sum it down. */
static void read_strip(struct light *l, enum channel channel, uint32_t x,
		       uint32_t count)
{
	const struct filter_weights *down = &l->p->down;
	uint32_t rows = min_u32(ROWS, l->p->y.out - l->y);
	uint32_t at = x - l->p->along.from;
	int16_t *to = l->strip;

	for (uint32_t y = l->from; y < l->to; y++, to += count) {
		const uint8_t *levels = read_levels(l, channel, x, y, count);

		if (channel == CHANNEL_ALPHA)
			light_of_alpha(to, levels, row_of_part(l, 3, y) + x,
				       count);
		else
			l->bands->light(to, levels, count);
		for (uint32_t r = 0; r < rows; r++)
			if (y - down->from >= l->down.from[l->y + r] &&
			    y - down->from < l->down.to[l->y + r])
				keep_darkest(l->darkest + r * l->columns + at,
					     levels, count);
		if ((y - l->from) % PAUSE_ROWS == PAUSE_ROWS - 1)
			memory_pause(l->memory);
	}
	for (uint32_t r = 0; r < rows; r += BAND_ROWS)
		l->bands->light_down(
			l->band[r / BAND_ROWS] + (size_t)at * BAND_ROWS,
			l->strip, count, l->first + r,
			down->weights + (size_t)(l->y + r) * down->count,
			down->count, count);
}

/* The inputs for these rows of the result. */
static void start_rows(struct light *l, uint32_t y)
{
	const struct filter_weights *down = &l->p->down;
	uint32_t count = min_u32(ROWS, l->p->y.out + WEIGHTS_GROUP - 1 - y);
	uint32_t least = UINT32_MAX, most = 0;

	l->y = y;
	for (uint32_t r = 0; r < count; r++) {
		least = min_u32(least, down->first[y + r]);
		most = (uint32_t)max_u64(most, down->first[y + r]);
	}
	for (uint32_t r = 0; r < count; r++)
		l->first[r] = down->first[y + r] - least;
	l->from = down->from + least;
	l->to = down->from + most + down->count;
}

/* Read the inputs from `x` to before `end`, which is rounded up. */
static void read_inputs(struct light *l, enum channel channel, uint32_t x,
			uint32_t end)
{
	uint32_t step = l->strip_columns;

	end = x + plan_band_columns(end - x);
	for (uint32_t r = 0; r < ROWS; r++)
		memset(l->darkest + r * l->columns + x - l->p->along.from,
		       UINT8_MAX, end - x);
	for (; x < end; x += step) {
		read_strip(l, channel, x, min_u32(step, end - x));
		memory_pause(l->memory);
	}
}

/* --- Results --- */

/* The darker one of each and the one that is `by` after it. */
static void spread_by(uint8_t *restrict to, const uint8_t *restrict from,
		      size_t by, size_t count)
{
	const uint8_t *restrict next = from + by;

	for (size_t x = 0; x < count; x++)
		to[x] = next[x] < from[x] ? next[x] : from[x];
}

/* The darkest input under outputs of a row. */
struct limits {
	const uint8_t *least; /* of l->wide inputs, from each on */
	uint32_t from;        /* the first of these */
};

/*
 * Of a row of `darkest`, for outputs `x` to before `end`.  The row is not kept.
 */
static struct limits find_limits(const struct light *l, uint8_t *row,
				 uint32_t x, uint32_t end)
{
	const struct cover *c = &l->across;
	uint32_t from = min_u32(c->from[x], c->from[end - 1]);
	uint32_t count = (uint32_t)max_u64(c->to[x], c->to[end - 1]) - from;
	uint8_t *other = l->other;

	row += from;
	for (uint32_t by = 1; by < l->wide; by *= 2) {
		uint8_t *swapped = row;

		count -= by;
		spread_by(other, row, by, count);
		row = other;
		other = swapped;
	}
	return (struct limits){ row, from };
}

/* The least level of output `x`. */
static inline int32_t least_level(const struct light *l,
				  const struct limits *limits, uint32_t x)
{
	const uint8_t *least = limits->least;
	uint8_t left = least[l->across.from[x] - limits->from];
	uint8_t right = least[l->across.to[x] - l->wide - limits->from];

	return (left < right ? left : right) - LIGHT_UNDERSHOOT;
}

/* The levels of a row of light. */
static void make_row(const struct light *l, uint8_t *out, const uint16_t *light,
		     uint8_t *darkest, uint32_t x, uint32_t end)
{
	struct limits limits = find_limits(l, darkest, x, end);

	for (; x < end; x++) {
		int32_t least = least_level(l, &limits, x);
		int32_t level = l->levels[light[x]];

		out[x] = (uint8_t)(level < least ? least : level);
	}
}

/* The same of light that is multiplied by alpha, in row `y` of the result. */
static void make_alpha_row(const struct light *l, uint8_t *out,
			   const uint16_t *light, uint8_t *darkest, uint32_t y)
{
	struct limits limits = find_limits(l, darkest, 0, l->p->x.out);
	const struct img_plane *alpha = &l->dst->planes[3];
	size_t x_step = l->p->aside ? alpha->stride_bytes : 1;
	const uint8_t *a =
		alpha->samples + y * (l->p->aside ? 1 : alpha->stride_bytes);

	for (uint32_t x = 0; x < l->p->x.out; x++, a += x_step) {
		int32_t least = least_level(l, &limits, x);
		uint32_t one = *a > 0 ? light[x] * 255u / *a : 0;
		uint8_t level = l->levels[min_u32(one, BAND_LIGHTS - 1)];
		int32_t shared = colour_share(level, *a);

		out[x] = (uint8_t)(shared < least ? least : shared);
	}
}

/* Make outputs `x` to before `end` of all rows in work, from the bands. */
static void make_rows(struct light *l, enum channel channel, uint8_t *out,
		      uint32_t x, uint32_t end)
{
	const struct filter_weights *along = &l->p->along;
	uint32_t rows = min_u32(ROWS, l->p->y.out - l->y);
	uint32_t count = (end - x + BAND_ROWS - 1) / BAND_ROWS * BAND_ROWS;

	for (uint32_t r = 0; r < rows; r++) {
		const uint16_t *light = l->light + (r % BAND_ROWS) * l->width;
		uint8_t *darkest = l->darkest + r * l->columns;
		uint8_t *row = out + r * l->width;

		if (r % BAND_ROWS == 0)
			l->bands->light_across(
				l->light + x, l->width, l->band[r / BAND_ROWS],
				along->first + x,
				along->weights + (size_t)x * along->count,
				along->count, count);
		if (channel == CHANNEL_ALPHA)
			make_alpha_row(l, row, light, darkest, l->y + r);
		else
			make_row(l, row, light, darkest, x, end);
	}
}

/* Store samples of a row of the file, `count` from `x` on. */
static void store_row(struct img_plane *p, bool aside, const uint8_t *from,
		      uint32_t x, uint32_t y, uint32_t count)
{
	uint8_t *to = p->samples + (aside ? x * p->stride_bytes + y :
					    y * p->stride_bytes + x);

	if (!aside) {
		memcpy(to, from, count);
		return;
	}
	for (uint32_t i = 0; i < count; i++, to += p->stride_bytes)
		*to = from[i];
}

/* --- Colours --- */

/* The inputs of outputs `x` to before `end`, counted from along->from. */
static void inputs_of(const struct filter_weights *w, uint32_t x, uint32_t end,
		      uint32_t *from, uint32_t *to)
{
	uint32_t a = w->first[x], b = w->first[end - 1];

	*from = min_u32(a, b) / BAND_COLUMNS * BAND_COLUMNS;
	*to = (uint32_t)max_u64(a, b) + w->count;
}

/* The column, or row, of a plane of chroma that is at a sample of luma. */
static uint32_t chroma_column(const struct light *l, uint32_t i, uint32_t x)
{
	const struct part *part = &l->chroma[i - 1].x;
	int64_t at = chroma_at(x, l->src->planes[i].span_x,
			       l->src->planes[0].span_x);

	return limited(at >> 16, part->from, part->end);
}

static uint32_t chroma_row(const struct light *l, uint32_t i, uint32_t y)
{
	const struct part *part = &l->chroma[i - 1].y;
	int64_t at = chroma_at(y, l->src->planes[i].span_y,
			       l->src->planes[0].span_y);

	return limited(at >> 16, part->from, part->end);
}

static void add_range(uint8_t *restrict least, uint8_t *restrict most,
		      const uint8_t *restrict row, uint32_t count)
{
	for (uint32_t x = 0; x < count; x++) {
		least[x] = row[x] < least[x] ? row[x] : least[x];
		most[x] = row[x] > most[x] ? row[x] : most[x];
	}
}

/* Find the range of each column of Cb and Cr in the inputs of these rows. */
static void find_ranges(const struct light *l)
{
	for (uint32_t i = 1; i < CHANNELS; i++) {
		const struct chroma *r = &l->chroma[i - 1];
		uint32_t width = l->src->planes[i].width;
		uint32_t y = chroma_row(l, i, l->p->top + l->from);
		uint32_t last = chroma_row(l, i, l->p->top + l->to - 1);

		memset(r->least, UINT8_MAX, width);
		memset(r->most, 0, width);
		for (; y <= last; y++) {
			add_range(r->least, r->most, image_row(l->src, i, y),
				  width);
			if (y % PAUSE_ROWS == 0)
				memory_pause(l->memory);
		}
	}
}

static bool tile_varies(const struct light *l, uint32_t x, uint32_t end)
{
	uint32_t left = l->p->left + l->p->along.from, from, to;
	bool varies = false;

	inputs_of(&l->p->along, x, end, &from, &to);
	for (uint32_t i = 1; i < CHANNELS; i++) {
		const struct chroma *r = &l->chroma[i - 1];
		uint32_t k = chroma_column(l, i, left + from);
		uint32_t last = chroma_column(l, i, left + to - 1);
		uint8_t least = UINT8_MAX, most = 0;

		for (; k <= last; k++) {
			least = r->least[k] < least ? r->least[k] : least;
			most = r->most[k] > most ? r->most[k] : most;
		}
		varies |= most >= least + VARIES;
	}
	return varies;
}

/* Store rows `r` and `r` + 1 of Cb or Cr, each two by two samples as one. */
static void store_halved(struct light *l, uint32_t i, uint32_t r, uint32_t x,
			 uint32_t end)
{
	const uint8_t *upper = l->rows[i] + r * l->width + x;
	bool is_last = l->y + r + 1 == l->p->y.out;
	const uint8_t *lower = is_last ? upper : upper + l->width;

	colour_halve_row(l->made[0], upper, lower, end - x);
	store_row(&l->dst->planes[i], l->p->aside, l->made[0], x / 2,
		  (l->y + r) / 2, (end - x + 1) / 2);
}

/* Make the outputs `x` to before `end` from all channels. */
static void make_colours(struct light *l, uint32_t x, uint32_t end)
{
	bool is_full = image_has_full_chroma(l->dst);
	uint32_t rows = min_u32(ROWS, l->p->y.out - l->y);
	uint32_t first = l->p->along.from, from, to;

	inputs_of(&l->p->along, x, end, &from, &to);
	for (enum channel c = CHANNEL_RED; c <= CHANNEL_BLUE; c++) {
		read_inputs(l, c, first + from, first + to);
		make_rows(l, c, l->rows[c], x, end);
	}
	for (uint32_t r = 0; r < rows; r++) {
		size_t at = r * l->width + x;
		const uint8_t *const rgb[] = { l->rows[0] + at, l->rows[1] + at,
					       l->rows[2] + at };

		colour_ycc_from_rgb(l->made, rgb, end - x);
		for (uint32_t i = 0; i < (is_full ? CHANNELS : 1); i++)
			store_row(&l->dst->planes[i], l->p->aside, l->made[i],
				  x, l->y + r, end - x);
		for (uint32_t i = 1; i < CHANNELS; i++)
			memcpy(l->rows[i] + at, l->made[i], end - x);
	}
	for (uint32_t r = 0; !is_full && r < rows; r += 2)
		for (uint32_t i = 1; i < CHANNELS; i++)
			store_halved(l, i, r, x, end);
}

/* Find the tiles in which chroma varies; neighbours are made together. */
static void find_colours(struct light *l)
{
	uint32_t out = l->p->x.out, begin = 0;

	find_ranges(l);
	for (uint32_t x = 0; x < out; x += TILE) {
		uint32_t end = min_u32(x + TILE, out);

		if (tile_varies(l, x, end))
			continue;
		if (x > begin)
			make_colours(l, begin, x);
		begin = end;
	}
	if (out > begin)
		make_colours(l, begin, out);
}

/* --- The plane --- */

/* The most rows of input for ROWS rows of the result. */
static uint32_t rows_max(const struct axis *y)
{
	double rows = ROWS * y->in_span / y->out_span + weights_window(y) + 4;

	return (uint32_t)fmin(rows, y->in + 2.0);
}

static uint32_t strip_columns(const struct axis *y)
{
	uint32_t columns = STRIP_LIGHTS / rows_max(y);

	columns = columns / BAND_COLUMNS * BAND_COLUMNS;
	return columns < STRIP_COLUMNS_MIN ?
		       STRIP_COLUMNS_MIN :
		       min_u32(columns, STRIP_COLUMNS_MAX);
}

/* Offsets in one block. */
struct room {
	uint64_t levels, covers, bands, light, darkest, rows, strip, made;
	uint64_t mixed, ranges, all;
};

static uint64_t padded(uint64_t bytes)
{
	return (bytes + 63) / 64 * 64;
}

static bool has_colours(const struct image *src)
{
	return src->space == IMG_YCBCR;
}

static uint64_t ranges_bytes(const struct image *src, uint32_t i)
{
	return padded(src->planes[i].width);
}

/* The columns of Cb or Cr that a strip needs, at most. */
static uint32_t mixed_count(const struct image *src, const struct plan *p)
{
	double luma = src->planes[0].span_x;
	double most = fmax(src->planes[1].span_x, src->planes[2].span_x);

	return (uint32_t)(strip_columns(&p->y) * most / luma) + 4;
}

static struct room make_room(const struct image *src, const struct plan *p,
			     uint32_t columns)
{
	uint32_t channels = has_colours(src) ? CHANNELS : 1;
	uint64_t width = p->x.out + 2 * BAND_ROWS;
	uint64_t strip = strip_columns(&p->y);
	uint64_t of_covers =
		2 * sizeof(uint32_t) * ((uint64_t)p->x.out + p->y.out);
	struct room r = { .levels = 0, .covers = BAND_LIGHTS };

	r.bands = r.covers + padded(of_covers);
	r.light = r.bands + padded(sizeof(int16_t) * ROWS * columns);
	r.darkest = r.light + padded(sizeof(int16_t) * BAND_ROWS * width);
	r.rows = r.darkest + padded((uint64_t)(ROWS + 1) * columns);
	r.strip = r.rows + padded(channels * ROWS * width);
	r.all = r.strip + padded(sizeof(int16_t) * strip * rows_max(&p->y));
	if (!has_colours(src))
		return r;
	r.made = r.all;
	r.mixed = r.made + CHANNELS * padded(max_u64(strip, width));
	r.ranges = r.mixed + padded(sizeof(uint16_t) * mixed_count(src, p));
	r.all = r.ranges + 2 * ranges_bytes(src, 1) + 2 * ranges_bytes(src, 2);
	return r;
}

static void take_room(struct light *l, uint8_t *block, const struct room *r)
{
	const struct plan *p = l->p;
	uint32_t *cover = (uint32_t *)(block + r->covers);

	l->levels = block + r->levels;
	l->across = (struct cover){ cover, cover + p->x.out };
	cover += 2 * (size_t)p->x.out;
	l->down = (struct cover){ cover, cover + p->y.out };
	l->band[0] = (int16_t *)(block + r->bands);
	l->band[1] = l->band[0] + (size_t)BAND_ROWS * l->columns;
	l->light = (uint16_t *)(block + r->light);
	l->darkest = block + r->darkest;
	l->other = l->darkest + (size_t)ROWS * l->columns;
	l->strip = (int16_t *)(block + r->strip);
	l->mixed = (uint16_t *)(block + r->mixed);
	for (uint32_t c = 0; c < CHANNELS; c++) {
		l->rows[c] = block + r->rows + (size_t)c * ROWS * l->width;
		l->made[c] =
			block + r->made + c * ((r->mixed - r->made) / CHANNELS);
	}
	block += r->ranges;
	for (uint32_t i = 1; has_colours(l->src) && i < CHANNELS; i++) {
		l->chroma[i - 1].least = block;
		l->chroma[i - 1].most = block + ranges_bytes(l->src, i);
		block += 2 * ranges_bytes(l->src, i);
	}
}

bool light_scale(struct image *dst, const struct image *src, uint32_t i,
		 const struct plan *p, const struct memory *memory)
{
	enum channel channel =
		src->space == IMG_RGBA ? CHANNEL_ALPHA : CHANNEL_PLANE;
	struct light l = {
		.bands = bands_best(),
		.p = p,
		.memory = memory,
		.dst = dst,
		.src = src,
		.i = i,
		.columns = plan_band_columns(p->along.reach),
		.strip_columns = strip_columns(&p->y),
		.width = p->x.out + 2 * BAND_ROWS,
	};
	struct room room = make_room(src, p, l.columns);
	uint8_t *block = memory_alloc(memory, room.all);

	if (block == NULL)
		return false;
	take_room(&l, block, &room);
	make_levels(l.levels);
	if (has_colours(src)) {
		l.mixed_count = mixed_count(src, p);
		find_parts(&l);
	}
	make_cover(&l.across, &p->x, &p->along);
	make_cover(&l.down, &p->y, &p->down);
	l.wide = wide_of(&l.across, p->x.out);
	for (uint32_t y = 0; y < p->y.out; y += ROWS) {
		start_rows(&l, y);
		read_inputs(&l, channel, p->along.from,
			    p->along.from + p->along.reach);
		make_rows(&l, channel, l.rows[0], 0, p->x.out);
		for (uint32_t r = 0; r < min_u32(ROWS, p->y.out - y); r++)
			store_row(&dst->planes[i], p->aside,
				  l.rows[0] + r * l.width, 0, y + r, p->x.out);
		if (has_colours(src))
			find_colours(&l);
		memory_pause(memory);
	}
	memory_free(memory, block);
	return true;
}

uint64_t light_bytes(const struct image *src, const struct plan *p)
{
	return make_room(src, p, plan_band_columns(plan_reach_max(&p->x))).all;
}
