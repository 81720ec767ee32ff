/* SPDX-License-Identifier: MIT */
/*
 * BlurHash and dominant colour.
 *
 * The algorithm is that of https://blurha.sh and its encoder in C, but the sums
 * over x are computed once for all components of a row.  The encoder of
 * blurha.sh takes a cosine at the left edge of a cell, not in its middle.  So
 * even a flat picture has components other than the mean; with more cells they
 * are smaller.  Therefore a picture smaller than the grid is enlarged to it.
 */
#include "imgops/imgops.h"

#include "imgops/colour/colour.h"
#include "imgops/image.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

enum {
	SIDE = 32, /* side of the grid, in cells */
	CELLS = SIDE * SIDE,
	SPREAD_MAX = 4, /* most samples of a cell, along each side */
	AXIS_MAX = 4,   /* components along a side */
	BOX_BITS = 3,
	BOX_COUNT = 1 << (3 * BOX_BITS),
};

struct grid {
	uint8_t rgb[3][CELLS]; /* cells row by row, from the top */
};

/* Which samples of a plane a cell averages, along one side. */
struct spread {
	uint32_t first, count, step;
};

static struct spread spread_of(uint32_t cell, uint32_t samples)
{
	uint32_t first = cell * samples / SIDE;
	uint32_t end = (cell + 1) * samples / SIDE;
	/* There may be fewer samples than cells. */
	uint32_t length = end > first ? end - first : 1;
	uint32_t step = (length + SPREAD_MAX - 1) / SPREAD_MAX;
	uint32_t count = (length + step - 1) / step;

	/* Centre the samples in the cell. */
	first += (length - 1 - (count - 1) * step) / 2;
	return (struct spread){ first, count, step };
}

static uint8_t cell_mean(const struct img_plane *p, struct spread x,
			 struct spread y)
{
	uint32_t total = 0, count = x.count * y.count;

	for (uint32_t j = 0; j < y.count; j++) {
		const uint8_t *row = p->samples + x.first +
				     (y.first + j * y.step) * p->stride_bytes;

		for (uint32_t i = 0; i < x.count; i++)
			total += row[i * x.step];
	}
	return (uint8_t)((total + count / 2) / count);
}

static void plane_shrink(uint8_t cells[CELLS], const struct img_plane *p)
{
	struct spread columns[SIDE];

	for (uint32_t x = 0; x < SIDE; x++)
		columns[x] = spread_of(x, p->width);
	for (uint32_t y = 0; y < SIDE; y++) {
		struct spread rows = spread_of(y, p->height);

		for (uint32_t x = 0; x < SIDE; x++)
			cells[y * SIDE + x] = cell_mean(p, columns[x], rows);
	}
}

static void grid_make(struct grid *g, const struct image *img)
{
	uint8_t cells[IMG_PLANES_MAX][CELLS];

	/* A grey picture has neutral chroma. */
	memset(cells, 128, sizeof(cells));
	for (uint32_t c = 0; c < img->plane_count; c++)
		plane_shrink(cells[c], &img->planes[c]);
	if (img->space == IMG_GREY || img->space == IMG_YCBCR) {
		colour_rgb_from_ycc(
			(uint8_t *const[]){ g->rgb[0], g->rgb[1], g->rgb[2] },
			(const uint8_t *const[]){ cells[0], cells[1],
						  cells[2] },
			CELLS);
		return;
	}
	if (img->space == IMG_RGB)
		memset(cells[3], 255, CELLS);
	for (uint32_t i = 0; i < 3; i++)
		for (uint32_t x = 0; x < CELLS; x++) {
			uint32_t on_white = cells[i][x] + 255u - cells[3][x];

			g->rgb[i][x] = (uint8_t)min_u32(on_white, 255);
		}
}

static uint32_t level_of(double light)
{
	return (uint32_t)(srgb_encode(light) * 255 + 0.5);
}

/* Mean light times a cosine along each side: [along y][along x][R, G, B]. */
struct factors {
	uint32_t across, down; /* number of components along x and along y */
	double at[AXIS_MAX][AXIS_MAX][3];
};

/* The cosines of each component along a side. */
struct waves {
	double at[SIDE][AXIS_MAX];
};

static void waves_make(struct waves *waves)
{
	for (uint32_t n = 0; n < AXIS_MAX; n++)
		for (uint32_t i = 0; i < SIDE; i++)
			waves->at[i][n] = cos(M_PI * n * i / SIDE);
}

/* Multiply one row of cells, in one colour, by each wave, and sum. */
static void sum_row(double sums[AXIS_MAX], const uint8_t *cells,
		    const double light[256], const struct waves *waves)
{
	memset(sums, 0, AXIS_MAX * sizeof(sums[0]));
	for (uint32_t x = 0; x < SIDE; x++)
		for (uint32_t i = 0; i < AXIS_MAX; i++)
			sums[i] += light[cells[x]] * waves->at[x][i];
}

static void add_row(struct factors *f, uint32_t colour,
		    const double sums[AXIS_MAX], const struct waves *waves,
		    uint32_t y)
{
	for (uint32_t j = 0; j < f->down; j++)
		for (uint32_t i = 0; i < f->across; i++)
			f->at[j][i][colour] += sums[i] * waves->at[y][j];
}

static void factors_make(struct factors *f, const struct grid *g)
{
	double light[256];
	struct waves waves;

	for (uint32_t value = 0; value < 256; value++)
		light[value] = srgb_decode(value / 255.0) / CELLS;
	waves_make(&waves);
	memset(f->at, 0, sizeof(f->at));
	for (uint32_t colour = 0; colour < 3; colour++) {
		for (uint32_t y = 0; y < SIDE; y++) {
			double sums[AXIS_MAX];

			sum_row(sums, g->rgb[colour] + y * SIDE, light, &waves);
			add_row(f, colour, sums, &waves, y);
		}
	}
}

static char *put_base83(char *to, uint32_t value, uint32_t digits)
{
	static const char alphabet[] =
		"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"abcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~";

	for (uint32_t n = digits; n-- > 0; value /= 83)
		to[n] = alphabet[value % 83];
	return to + digits;
}

static uint32_t quantise(double value, uint32_t most)
{
	return (uint32_t)fmin(fmax(floor(value), 0), most);
}

/*
 * The code of a factor that is relative to the largest, -1..1: its signed
 * square root, in 19 steps.
 */
static uint32_t share_code(double share)
{
	return quantise(copysign(sqrt(fabs(share)), share) * 9 + 9.5, 18);
}

static char *put_first(char *to, const double factor[3])
{
	return put_base83(to,
			  level_of(factor[0]) << 16 | level_of(factor[1]) << 8 |
				  level_of(factor[2]),
			  4);
}

static void hash_make(char hash[IMG_BLURHASH_CHARS + 1],
		      const struct factors *f)
{
	uint32_t count = f->across * f->down;
	double most = 0;

	/* In the hash, all factors except the first are twice the mean. */
	for (uint32_t n = 1; n < count; n++)
		for (uint32_t c = 0; c < 3; c++)
			most = fmax(most, 2 * fabs(f->at[n / f->across]
							[n % f->across][c]));
	uint32_t most_code = quantise(most * 166 - 0.5, 82);
	double unit = (most_code + 1) / 166.0 / 2;
	char *to = put_base83(hash, f->across - 1 + (f->down - 1) * 9, 1);

	to = put_base83(to, most_code, 1);
	to = put_first(to, f->at[0][0]);
	for (uint32_t n = 1; n < count; n++) {
		const double *factor = f->at[n / f->across][n % f->across];
		uint32_t code = 0;

		for (uint32_t c = 0; c < 3; c++)
			code = code * 19 + share_code(factor[c] / unit);
		to = put_base83(to, code, 2);
	}
	*to = '\0';
	assert(to == hash + IMG_BLURHASH_CHARS);
}

static uint32_t box_of(const struct grid *g, uint32_t cell)
{
	uint32_t box = 0;

	for (uint32_t c = 0; c < 3; c++)
		box = box << BOX_BITS | g->rgb[c][cell] >> (8 - BOX_BITS);
	return box;
}

static void dominant_find(uint8_t dominant[3], const struct grid *g)
{
	uint16_t counts[BOX_COUNT] = { 0 };
	uint32_t fullest = 0;
	uint32_t totals[3] = { 0 };

	for (uint32_t cell = 0; cell < CELLS; cell++)
		counts[box_of(g, cell)]++;
	for (uint32_t box = 1; box < BOX_COUNT; box++)
		if (counts[box] > counts[fullest])
			fullest = box;
	for (uint32_t cell = 0; cell < CELLS; cell++)
		for (uint32_t c = 0; c < 3 && box_of(g, cell) == fullest; c++)
			totals[c] += g->rgb[c][cell];
	for (uint32_t c = 0; c < 3; c++)
		dominant[c] = (uint8_t)((totals[c] + counts[fullest] / 2) /
					counts[fullest]);
}

void img_placeholder(struct img_placeholder *out, const struct image *scaled)
{
	bool is_high = scaled->planes[0].height > scaled->planes[0].width;
	struct factors factors = { .across = is_high ? 3 : 4,
				   .down = is_high ? 4 : 3 };
	struct grid grid;

	assert(image_is_shaped(scaled));
	grid_make(&grid, scaled);
	factors_make(&factors, &grid);
	hash_make(out->blurhash, &factors);
	dominant_find(out->dominant, &grid);
}
