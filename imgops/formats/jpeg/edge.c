/* SPDX-License-Identifier: MIT */
#include "imgops/formats/jpeg/edge.h"

#include "imgops/formats/jpeg/header.h"
#include "imgops/image.h"

#include <string.h>

/* The largest mean that does not wrap around in a block of one sample. */
enum { MEAN_MAX = 511 * 8 };

/* cos(k pi / 16) / 2, for k from 1 to 7. */
#define C1 0.490392640F
#define C2 0.461939766F
#define C3 0.415734806F
#define C4 0.353553391F
#define C5 0.277785117F
#define C6 0.191341716F
#define C7 0.097545161F

/* An orthonormal DCT of 8 points: samples of coefficient u. */
static const float basis[DCTSIZE][DCTSIZE] = {
	{ C4, C4, C4, C4, C4, C4, C4, C4 },
	{ C1, C3, C5, C7, -C7, -C5, -C3, -C1 },
	{ C2, C6, -C6, -C2, -C2, -C6, C6, C2 },
	{ C3, -C7, -C1, -C5, C5, C1, C7, -C3 },
	{ C4, -C4, -C4, C4, C4, -C4, -C4, C4 },
	{ C5, -C1, C7, C3, -C3, -C7, C1, -C5 },
	{ C6, -C2, C2, -C6, -C6, C2, -C2, C6 },
	{ C7, -C5, C3, -C1, C1, -C3, C5, -C7 },
};

/*
 * Inverse DCT, repeating sample `visible` - 1, and DCT, as one matrix of which
 * only the first n rows are needed.
 */
static void make_matrix(float m[IDCT_MAX][DCTSIZE], uint32_t n,
			uint32_t visible)
{
	for (uint32_t to = 0; to < n; to++)
		for (uint32_t u = 0; u < DCTSIZE; u++) {
			float sum = 0;

			for (uint32_t x = 0; x < DCTSIZE; x++)
				sum += basis[to][x] *
				       basis[u][min_u32(x, visible - 1)];
			m[to][u] = sum;
		}
}

/* Set up one side.  Returns the column or row that is cut. */
static uint32_t make_side(float m[IDCT_MAX][DCTSIZE], uint32_t n,
			  uint32_t blocks, uint32_t visible)
{
	if (visible == DCTSIZE)
		return EDGE_NONE;
	make_matrix(m, n, visible);
	return blocks - 1;
}

void edge_make(struct edge *e, const struct jpeg_decompress_struct *jpeg,
	       const jpeg_component_info *c, uint32_t n)
{
	uint32_t visible_x =
		edge_visible(jpeg->image_width, (uint32_t)c->h_samp_factor,
			     (uint32_t)jpeg->max_h_samp_factor);
	uint32_t visible_y =
		edge_visible(jpeg->image_height, (uint32_t)c->v_samp_factor,
			     (uint32_t)jpeg->max_v_samp_factor);

	e->n = n;
	e->column = make_side(e->across, n, c->width_in_blocks, visible_x);
	e->row = make_side(e->down, n, c->height_in_blocks, visible_y);
}

/* The first n rows of `width` columns, as they are if the lower edge cuts. */
static void sum_down(float rows[IDCT_MAX][DCTSIZE], const int32_t *block,
		     const struct edge *e, uint32_t width)
{
	for (uint32_t v = 0; v < e->n; v++)
		for (uint32_t u = 0; u < width; u++) {
			float sum = 0;

			for (uint32_t k = 0; k < DCTSIZE; k++)
				sum += e->down[v][k] *
				       (float)block[k * DCTSIZE + u];
			rows[v][u] = sum;
		}
}

/* The first n values of a row, as they are if the right edge cuts. */
static void sum_across(float row[DCTSIZE], const struct edge *e)
{
	float sums[IDCT_MAX] = { 0 };

	for (uint32_t u = 0; u < e->n; u++)
		for (uint32_t k = 0; k < DCTSIZE; k++)
			sums[u] += e->across[u][k] * row[k];
	memcpy(row, sums, e->n * sizeof(*row));
}

static int16_t rounded(float value, int32_t most)
{
	int32_t v = (int32_t)(value + (value < 0 ? -0.5F : 0.5F));

	return (int16_t)(v < -most ? -most : v > most ? most : v);
}

/* The steps of coefficients that are dequantised already. */
static const uint16_t dequantised[IDCT_COEFFICIENTS] = {
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
};

void edge_block(uint8_t *out, size_t stride_bytes,
		const int32_t coefficients[DCTSIZE2], const struct edge *e,
		uint32_t column, uint32_t row)
{
	bool cut_x = column == e->column, cut_y = row == e->row;
	uint32_t n = e->n, width = cut_x ? DCTSIZE : n;
	/* A larger mean would wrap around in a block of one sample. */
	int32_t most = n == 1 ? MEAN_MAX : IDCT_LIMIT;
	int16_t low[IDCT_COEFFICIENTS] = { 0 };
	float rows[IDCT_MAX][DCTSIZE];

	if (cut_y)
		sum_down(rows, coefficients, e, width);
	for (uint32_t v = 0; v < n; v++) {
		for (uint32_t u = 0; !cut_y && u < width; u++)
			rows[v][u] = (float)coefficients[v * DCTSIZE + u];
		if (cut_x)
			sum_across(rows[v], e);
		for (uint32_t u = 0; u < n; u++)
			low[v * IDCT_MAX + u] = rounded(rows[v][u], most);
	}
	idct_block(out, stride_bytes, low, dequantised, n);
}

/* The n x n lowest of a block, for idct_block(). */
static void whole_coefficients(uint8_t *out, size_t stride, const JCOEF *block,
			       const UINT16 *quant, uint32_t n)
{
	int16_t low[IDCT_COEFFICIENTS] = { 0 };
	uint16_t steps[IDCT_COEFFICIENTS] = { 0 };

	for (uint32_t v = 0; v < n; v++)
		for (uint32_t u = 0; u < n; u++) {
			uint32_t from = v * DCTSIZE + u, to = v * IDCT_MAX + u;

			low[to] = block[from];
			steps[to] = quant[from];
			/* A product that is limited in any case. */
			if (n > 1 && steps[to] > INT16_MAX)
				steps[to] = INT16_MAX;
		}
	idct_block(out, stride, low, steps, n);
}

/* A block that the frame cuts. */
static void cut_coefficients(uint8_t *out, size_t stride, const JCOEF *block,
			     const UINT16 *quant, const struct edge *e,
			     uint32_t column, uint32_t row)
{
	int32_t all[DCTSIZE2];

	for (uint32_t k = 0; k < DCTSIZE2; k++)
		all[k] = idct_limited(block[k] * (int32_t)quant[k]);
	edge_block(out, stride, all, e, column, row);
}

void edge_arrays(struct image *img, uint32_t n,
		 struct jpeg_decompress_struct *jpeg, jvirt_barray_ptr *arrays)
{
	for (uint32_t i = 0; i < img->plane_count; i++) {
		const jpeg_component_info *c = &jpeg->comp_info[i];
		const struct img_plane *p = &img->planes[i];
		size_t stride = p->stride_bytes;

		/* A component without any scan has no table and no values. */
		const UINT16 none[DCTSIZE2] = { 0 };
		const UINT16 *quant = c->quant_table != NULL ?
					      c->quant_table->quantval :
					      none;

		struct edge edge;

		edge_make(&edge, jpeg, c, n);
		for (JDIMENSION y = 0; y < c->height_in_blocks; y++) {
			JBLOCKARRAY row = jpeg->mem->access_virt_barray(
				(j_common_ptr)jpeg, arrays[i], y, 1, FALSE);
			uint8_t *out = p->samples + y * n * stride;
			JDIMENSION x = 0;

			for (; x < edge_whole(&edge, c->width_in_blocks, y);
			     x++)
				whole_coefficients(out + x * n, stride,
						   row[0][x], quant, n);
			for (; x < c->width_in_blocks; x++)
				cut_coefficients(out + x * n, stride, row[0][x],
						 quant, &edge, x, y);
			memory_pause(img->memory);
		}
	}
}

/* --- Cut blocks of which not all coefficients are known --- */

enum {
	NEIGHBOURS = 8,     /* rows of samples beside the last one */
	NEIGHBOURS_MIN = 4, /* blocks beside it, at least */
	/*
	 * How much larger, in levels, the mean step from the last row to the
	 * one beside it may be than the largest of the steps beside it.
	 * Measured on 124 photos, with each row of blocks taken as the last
	 * one: 2 % of intact edges exceed it.  With hidden black, white or
	 * noise, 90, 97 and 83 % do; the others are as rough inside.
	 */
	TOLERANCE = 3,
};

/* Whether the frame cuts the last column, and the last row, of blocks. */
struct cuts {
	bool column, row;
};

static struct cuts cuts_of(const struct img_header *h, uint32_t component)
{
	struct img_size most = image_factors_max(h);
	uint32_t visible_x = edge_visible(
		h->stored.width_px, h->h_factors[component], most.width_px);
	uint32_t visible_y = edge_visible(
		h->stored.height_px, h->v_factors[component], most.height_px);

	return (struct cuts){ visible_x < DCTSIZE, visible_y < DCTSIZE };
}

double edge_cut_blocks(const struct img_header *h)
{
	double count = 0;

	for (uint32_t i = 0; i < h->component_count; i++) {
		struct img_size blocks = header_blocks(h, i);
		struct cuts cuts = cuts_of(h, i);

		count += cuts.column ? blocks.height_px : 0;
		count += cuts.row ? blocks.width_px : 0;
	}
	return count;
}

bool edge_has_neighbours(const struct img_header *h)
{
	for (uint32_t i = 0; i < h->component_count; i++) {
		struct img_size blocks = header_blocks(h, i);
		struct cuts cuts = cuts_of(h, i);

		if ((cuts.column && blocks.width_px <= NEIGHBOURS_MIN) ||
		    (cuts.row && blocks.height_px <= NEIGHBOURS_MIN))
			return false;
	}
	return true;
}

/* The last row or column of the samples of a plane. */
struct line {
	const uint8_t *samples; /* the first of the line */
	size_t along, inside;   /* steps along it, and to the line beside it */
	uint32_t count;         /* without those of a block that is cut twice */
	uint32_t neighbours;    /* lines beside it */
};

/*
 * The sum of differences between the line that is `depth` inside, and the next.
 */
static uint64_t step_of(const struct line *l, uint32_t depth)
{
	const uint8_t *s = l->samples - depth * l->inside;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < l->count; i++, s += l->along) {
		int32_t step = s[0] - *(s - l->inside);

		sum += (uint64_t)(step < 0 ? -step : step);
	}
	return sum;
}

static bool line_is_plain(const struct line *l)
{
	uint64_t most = 0;

	for (uint32_t depth = 1; depth <= NEIGHBOURS && depth < l->neighbours;
	     depth++)
		most = max_u64(most, step_of(l, depth));
	return step_of(l, 0) <= most + (uint64_t)TOLERANCE * l->count;
}

bool edge_is_plain(const struct image *img, uint32_t n,
		   const struct jpeg_decompress_struct *jpeg)
{
	bool is_plain = true;

	for (uint32_t i = 0; is_plain && i < img->plane_count; i++) {
		const struct img_plane *p = &img->planes[i];
		size_t stride = p->stride_bytes;
		struct edge e;

		edge_make(&e, jpeg, &jpeg->comp_info[i], n);
		struct line right = {
			p->samples + p->width - 1,
			stride,
			1,
			e.row == EDGE_NONE ? p->height : e.row * n,
			p->width - 1,
		};
		struct line lower = {
			p->samples + (p->height - 1) * stride,
			1,
			stride,
			e.column == EDGE_NONE ? p->width : e.column * n,
			p->height - 1,
		};

		is_plain = (e.column == EDGE_NONE || line_is_plain(&right)) &&
			   (e.row == EDGE_NONE || line_is_plain(&lower));
	}
	return is_plain;
}
