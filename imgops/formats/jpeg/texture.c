/* SPDX-License-Identifier: MIT */
#include "imgops/formats/jpeg/texture.h"

#include "imgops/formats/jpeg/edge.h"
#include "imgops/formats/jpeg/light.h"
#include "imgops/image.h"

static uint32_t weight(const JQUANT_TBL *quant, uint32_t at, uint32_t n)
{
	uint32_t step = quant != NULL ? quant->quantval[at] : 0;

	return at % DCTSIZE < n && at / DCTSIZE < n ? 0 : step * step;
}

/*
 * A block is busy with more than `levels`, and a file with more than `percent`.
 */
struct limit {
	uint32_t levels, percent;
};

static struct limit limit_of(bool keeps_light, bool has_light)
{
	if (!keeps_light)
		return (struct limit){ TEXTURE_LEVELS, TEXTURE_PERCENT };
	if (has_light)
		return (struct limit){ TEXTURE_LIGHT_LEVELS,
				       TEXTURE_LIGHT_PERCENT };
	return (struct limit){ TEXTURE_COLOUR_LEVELS, TEXTURE_COLOUR_PERCENT };
}

void texture_start(struct texture *t, const jpeg_component_info *c,
		   const JQUANT_TBL *quant, uint32_t n, uint32_t step,
		   bool keeps_light, bool has_light)
{
	struct limit limit = limit_of(keeps_light, has_light);

	for (uint32_t k = 0; k < DCTSIZE2; k++)
		t->weights[k] = weight(quant, idct_order[k], n);
	t->busy_count = 0;
	t->energy_max = (uint64_t)limit.levels * limit.levels * DCTSIZE2;
	if (n > 1)
		t->energy_max /= 2;
	t->busy_max = (uint64_t)c->width_in_blocks * c->height_in_blocks *
		      limit.percent / 100 / step;
}

static uint64_t block_energy(const JCOEF *block, const uint32_t *weights)
{
	uint64_t energy = 0;

	for (uint32_t i = 0; i < DCTSIZE2; i++)
		energy +=
			(uint64_t)weights[i] * (uint32_t)(block[i] * block[i]);
	return energy;
}

/* The weights of texture_start() in the order of blocks. */
static void block_weights(uint32_t weights[DCTSIZE2], const struct texture *t)
{
	for (uint32_t k = 0; k < DCTSIZE2; k++)
		weights[idct_order[k]] = t->weights[k];
}

static JBLOCKROW array_row(struct jpeg_decompress_struct *jpeg,
			   jvirt_barray_ptr array, JDIMENSION y)
{
	return jpeg->mem->access_virt_barray((j_common_ptr)jpeg, array, y, 1,
					     FALSE)[0];
}

bool texture_in_arrays(const struct image *img,
		       struct jpeg_decompress_struct *jpeg,
		       jvirt_barray_ptr *arrays, uint32_t n, bool keeps_light,
		       const struct memory *memory)
{
	for (int i = 0; i < jpeg->num_components; i++) {
		const jpeg_component_info *c = &jpeg->comp_info[i];
		uint32_t weights[DCTSIZE2];
		struct texture t;
		struct edge edge;

		edge_make(&edge, jpeg, c, n);
		texture_start(&t, c, c->quant_table, n, 1, keeps_light,
			      image_has_light(img, (uint32_t)i));
		block_weights(weights, &t);
		for (JDIMENSION y = 0; y < c->height_in_blocks; y++) {
			JBLOCKROW row = array_row(jpeg, arrays[i], y);
			uint32_t whole =
				edge_whole(&edge, c->width_in_blocks, y);

			for (uint32_t x = 0; x < whole; x++)
				texture_add(&t, block_energy(row[x], weights));
			if (texture_is_fine(&t))
				return true;
			memory_pause(memory);
		}
	}
	return false;
}

void texture_keep_light(struct image *img, struct jpeg_decompress_struct *jpeg,
			jvirt_barray_ptr *arrays, uint32_t n,
			const struct memory *memory)
{
	for (uint32_t i = 0; i < img->plane_count; i++) {
		const jpeg_component_info *c = &jpeg->comp_info[i];
		size_t stride = img->planes[i].stride_bytes;
		uint32_t weights[DCTSIZE2];
		struct texture t;
		struct edge edge;

		if (!image_has_light(img, i))
			continue;
		edge_make(&edge, jpeg, c, n);
		texture_start(&t, c, c->quant_table, n, 1, true, true);
		block_weights(weights, &t);
		for (JDIMENSION y = 0; y < c->height_in_blocks; y++) {
			JBLOCKROW row = array_row(jpeg, arrays[i], y);
			uint8_t *out = image_row(img, i, y * n);

			uint32_t whole =
				edge_whole(&edge, c->width_in_blocks, y);

			for (uint32_t x = 0; x < whole; x++)
				light_keep(out + x * n, stride, n,
					   block_energy(row[x], weights));
			memory_pause(memory);
		}
	}
}
