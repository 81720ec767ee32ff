/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: notices fine texture in a file that is decoded at n/8.
 *
 * A block at n/8 is made from its n x n lowest coefficients.  What the others
 * have does not simply vanish: stripes that are finer than the samples appear
 * as false, coarse stripes.  With a margin (view.c) of 3, the filter after the
 * decoder removes nearly all of these; with the usual margin it cannot.  For an
 * ordinary photo that makes no difference that one can see, because its fine
 * coefficients are small.
 *
 * So the energy of the coefficients that are left out is summed for each block
 * while the scan is read.  A block is busy if they change its samples by more
 * than TEXTURE_LEVELS in the quadratic mean, or by more than TEXTURE_LEVELS /
 * sqrt(2) if n > 1, because an ordinary photo has less there.  A file has fine
 * texture if more than TEXTURE_PERCENT of the blocks of a component are busy.
 * So stripes of +- 60 levels that fill a third of the picture are found.  Of
 * 159 photos, the sharpest of those over 3 megapixels has 19 to 27 % at n = 1
 * to 3.  It would look better at a larger scale, too, but its time would
 * double.
 *
 * For linear light, the mean light of luma is kept (light.h), but not its
 * contrast, and nothing of fine colours.  So fewer busy blocks are enough then:
 * of luma strongly busy ones, of which pages of black text and screens have 7
 * to 32 %, and of chroma weakly busy ones, of which pages of coloured text have
 * 17 to 33 %.  Of 99 photos over 0.4 megapixels, three have more than
 * TEXTURE_LIGHT_PERCENT, none of them over 0.5, and none has more than
 * TEXTURE_COLOUR_PERCENT.
 *
 * To watch all blocks takes 15 to 20 % more instructions, so in a picture of
 * many rows of MCUs only some are watched, eight or more.  Blocks that the
 * frame cuts are not, because what they leave out may be hidden samples
 * (edge.h).  Of a progressive file, only the scans that are read count
 * (scans.h).
 */
#ifndef IMGOPS_FORMATS_JPEG_TEXTURE_H
#define IMGOPS_FORMATS_JPEG_TEXTURE_H

#include "imgops/imgops.h"

#include <stdio.h>

#include <jpeglib.h>

enum {
	TEXTURE_LEVELS = 35,
	TEXTURE_PERCENT = 28,
	TEXTURE_LIGHT_LEVELS = 50,
	TEXTURE_LIGHT_PERCENT = 8,
	TEXTURE_COLOUR_LEVELS = 25,
	TEXTURE_COLOUR_PERCENT = 8,
	TEXTURE_ROWS_MIN = 8, /* if a picture has fewer, all are watched */
	TEXTURE_STEP_MAX = 16,
};

/* Of `rows` rows of MCUs, every how many are watched. */
static inline uint32_t texture_step(uint32_t rows)
{
	uint32_t step = rows / TEXTURE_ROWS_MIN;

	return step < 1 ? 1 : step > TEXTURE_STEP_MAX ? TEXTURE_STEP_MAX : step;
}

static inline bool texture_watches(uint32_t step, uint32_t row)
{
	return row % step == step / 2;
}

/* The blocks of one component. */
struct texture {
	/*
	 * For each coefficient in zigzag order, what a value of 1 means in the
	 * file: the square of the quantisation step, or 0 for coefficients that
	 * are not left out.
	 */
	uint32_t weights[DCTSIZE2];
	/*
	 * A block of more is busy.  The DCT is orthonormal: the squares of a
	 * block's coefficients and those of its samples have the same sum.
	 */
	uint64_t energy_max;
	uint64_t busy_count;
	uint64_t busy_max; /* more than these: fine texture */
};

/*
 * Begin to watch component `c` at n/8, in every row of `step`.  `quant` may be
 * NULL: then no block is busy.  `has_light`: the component is no chroma.
 */
void texture_start(struct texture *t, const jpeg_component_info *c,
		   const JQUANT_TBL *quant, uint32_t n, uint32_t step,
		   bool keeps_light, bool has_light);

/* The energy of coefficient k with this value in the file. */
static inline uint64_t texture_energy(const struct texture *t, uint32_t k,
				      int32_t value)
{
	return (uint64_t)t->weights[k] * (uint32_t)(value * value);
}

/* Add a block with this energy. */
static inline void texture_add(struct texture *t, uint64_t energy)
{
	t->busy_count += energy > t->energy_max;
}

static inline bool texture_is_fine(const struct texture *t)
{
	return t->busy_count > t->busy_max;
}

/*
 * True: the blocks that jpeg_read_coefficients() has returned for `img` have
 * fine texture.  Errors go to libjpeg's error handler, which does not return.
 */
bool texture_in_arrays(const struct image *img,
		       struct jpeg_decompress_struct *jpeg,
		       jvirt_barray_ptr *arrays, uint32_t n, bool keeps_light,
		       const struct memory *memory);

/* Have the samples of `img`, at n/8, keep the light of these blocks. */
void texture_keep_light(struct image *img, struct jpeg_decompress_struct *jpeg,
			jvirt_barray_ptr *arrays, uint32_t n,
			const struct memory *memory);

#endif
