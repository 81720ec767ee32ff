/* SPDX-License-Identifier: MIT */
#include "imgops/formats/jpeg/texture.h"

#include "imgops/formats/jpeg/edge.h"

static uint32_t weight(const JQUANT_TBL *quant, uint32_t at, uint32_t n)
{
	uint32_t step = quant != NULL ? quant->quantval[at] : 0;

	return at % DCTSIZE < n && at / DCTSIZE < n ? 0 : step * step;
}

void texture_start(struct texture *t, const jpeg_component_info *c,
		   const JQUANT_TBL *quant, uint32_t n, uint32_t step)
{
	for (uint32_t k = 0; k < DCTSIZE2; k++)
		t->weights[k] = weight(quant, idct_order[k], n);
	t->busy_count = 0;
	t->energy_max = TEXTURE_LEVELS * TEXTURE_LEVELS * DCTSIZE2;
	if (n > 1)
		t->energy_max /= 2;
	t->busy_max = (uint64_t)c->width_in_blocks * c->height_in_blocks *
		      TEXTURE_PERCENT / 100 / step;
}

static uint64_t block_energy(const JCOEF *block, const uint32_t *weights)
{
	uint64_t energy = 0;

	for (uint32_t i = 0; i < DCTSIZE2; i++)
		energy +=
			(uint64_t)weights[i] * (uint32_t)(block[i] * block[i]);
	return energy;
}

bool texture_in_arrays(struct jpeg_decompress_struct *jpeg,
		       jvirt_barray_ptr *arrays, uint32_t n,
		       const struct memory *memory)
{
	for (int i = 0; i < jpeg->num_components; i++) {
		const jpeg_component_info *c = &jpeg->comp_info[i];
		uint32_t weights[DCTSIZE2];
		struct texture t;
		struct edge edge;

		edge_make(&edge, jpeg, c, n);
		texture_start(&t, c, c->quant_table, n, 1);
		for (uint32_t k = 0; k < DCTSIZE2; k++)
			weights[idct_order[k]] = t.weights[k];
		for (JDIMENSION y = 0; y < c->height_in_blocks; y++) {
			JBLOCKARRAY row = jpeg->mem->access_virt_barray(
				(j_common_ptr)jpeg, arrays[i], y, 1, FALSE);
			uint32_t whole =
				edge_whole(&edge, c->width_in_blocks, y);

			for (uint32_t x = 0; x < whole; x++)
				texture_add(&t,
					    block_energy(row[0][x], weights));
			if (texture_is_fine(&t))
				return true;
			memory_pause(memory);
		}
	}
	return false;
}
