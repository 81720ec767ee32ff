/* SPDX-License-Identifier: MIT */
#include "imgops/formats/jpeg/effort.h"

#include "imgops/formats/jpeg/idct.h"
#include "imgops/image.h"

#include <math.h>

enum { TABLES = 2, STEP_MAX = 255 };

/*
 * The steps, before part_of(): that of the mean, and the others, which grow
 * with the square of the frequency, from `least` on.
 */
struct shape {
	double mean, least, growth;
};

static const struct shape luma = { 12, 24, 1.3 };
static const struct shape half_chroma = { 9, 11, 2 };
/* The same number means twice the frequency, which is seen less. */
static const struct shape full_chroma = { 24, 32, 8 };

/* What is taken from each quotient, in parts of FDCT_SHRINK_STEP. */
enum { DEAD_ZONE = 12 };

static bool has_half_chroma(const struct jpeg_compress_struct *jpeg)
{
	return jpeg->comp_info[0].h_samp_factor == 2;
}

/*
 * What steps are multiplied by.  libjpeg multiplies its own by `part`; with the
 * other numbers photos get about the same score by these tables.  In 4:2:0 the
 * finer steps for colours gain so much that all steps can be larger than in
 * 4:4:4 and in grey.
 */
static double part_of(double quality, const struct jpeg_compress_struct *jpeg)
{
	double part = quality < 50 ? 50 / quality : 2 - quality / 50;
	double same = fmin(part, 0.75 * part + 0.03);

	if (jpeg->num_components == 1)
		return 0.86 * same;
	return has_half_chroma(jpeg) ? same : 0.77 * same;
}

/*
 * The lowest frequencies of luma are between the mean and the others: in a
 * smooth sky they are all there is, and without them blocks have edges.
 */
static double least_of(const struct shape *s, int square)
{
	enum { LOWEST = 4 }; /* below the square of two */

	if (s != &luma || square >= LOWEST)
		return s->least;
	return s->mean + (s->least - s->mean) * square / LOWEST;
}

static unsigned int step_of(const struct shape *s, int i, double part)
{
	int u = i % DCTSIZE, v = i / DCTSIZE, square = u * u + v * v;
	double step = least_of(s, square) + s->growth * square;

	return (unsigned int)fmin(fmax(part * step + 0.5, 1), STEP_MAX);
}

void effort_steps_make(struct fdct_steps *steps, const uint16_t quant[DCTSIZE2])
{
	uint8_t shrink[DCTSIZE2] = { 0 };

	/*
	 * Means are rounded to the nearest, so that flat areas keep their
	 * levels, and so is all with a step of 1, for the best quality.
	 */
	for (int i = 1; i < DCTSIZE2; i++)
		if (quant[i] > 1)
			shrink[i] = DEAD_ZONE;
	fdct_steps_make(steps, quant, shrink);
}

void effort_set_tables(struct jpeg_compress_struct *jpeg, double quality)
{
	const struct shape *shapes[TABLES] = {
		&luma,
		has_half_chroma(jpeg) ? &half_chroma : &full_chroma,
	};
	double part = part_of(quality, jpeg);

	for (int table = 0; table < TABLES; table++) {
		unsigned int steps[DCTSIZE2];

		for (int i = 0; i < DCTSIZE2; i++)
			steps[i] = step_of(shapes[table], i, part);
		jpeg_add_quant_table(jpeg, table, steps, 100, TRUE);
	}
}

static uint32_t blocks_of(uint32_t samples, int factor)
{
	uint32_t blocks = (samples + DCTSIZE - 1) / DCTSIZE;
	uint32_t f = (uint32_t)factor;

	return (blocks + f - 1) / f * f;
}

void effort_begin(struct effort_blocks *blocks, const struct image *src,
		  struct jpeg_compress_struct *jpeg)
{
	for (uint32_t i = 0; i < src->plane_count; i++) {
		const jpeg_component_info *c = &jpeg->comp_info[i];
		const struct img_plane *p = &src->planes[i];

		blocks->planes[i] = jpeg->mem->request_virt_barray(
			(j_common_ptr)jpeg, JPOOL_IMAGE, TRUE,
			blocks_of(p->width, c->h_samp_factor),
			blocks_of(p->height, c->v_samp_factor),
			(JDIMENSION)c->v_samp_factor);
	}
	jpeg_write_coefficients(jpeg, blocks->planes);
}

/* `to` is zero. */
static void set_block(JCOEFPTR to, const struct fdct_block *block)
{
	for (uint64_t left = block->nonzero; left != 0; left &= left - 1) {
		int k = __builtin_ctzll(left);

		to[idct_order[k]] = block->at[k];
	}
}

static void transform_row(JBLOCKROW out, const struct img_plane *p, uint32_t y,
			  const struct fdct_steps *steps)
{
	uint32_t across = blocks_of(p->width, 1);
	const uint8_t *from = p->samples + y * DCTSIZE * p->stride_bytes;

	for (uint32_t x = 0; x < across; x += 2) {
		uint32_t count = min_u32(across - x, 2);
		struct fdct_block pair[2];

		if (fdct_is_supported())
			fdct_row(pair, from + x * DCTSIZE, p->stride_bytes,
				 count, steps);
		else
			fdct_row_portable(pair, from + x * DCTSIZE,
					  p->stride_bytes, count, steps);
		for (uint32_t i = 0; i < count; i++)
			set_block(out[x + i], &pair[i]);
	}
}

/* The blocks of an MCU outside of the plane are libjpeg's. */
void effort_transform(struct effort_blocks *blocks, const struct image *src,
		      struct jpeg_compress_struct *jpeg,
		      const struct memory *memory)
{
	for (uint32_t i = 0; i < src->plane_count; i++) {
		int table = jpeg->comp_info[i].quant_tbl_no;
		const struct img_plane *p = &src->planes[i];
		struct fdct_steps steps;

		effort_steps_make(&steps,
				  jpeg->quant_tbl_ptrs[table]->quantval);
		for (uint32_t y = 0; y < blocks_of(p->height, 1); y++) {
			JBLOCKARRAY row = jpeg->mem->access_virt_barray(
				(j_common_ptr)jpeg, blocks->planes[i], y, 1,
				TRUE);

			transform_row(row[0], p, y, &steps);
			memory_pause(memory);
		}
	}
}
