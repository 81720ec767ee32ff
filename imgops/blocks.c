/* SPDX-License-Identifier: MIT */
#include "imgops/blocks.h"

#include "imgops/reduce.h"

static void reduce(uint8_t *out, size_t stride, const JCOEF *block,
		   const UINT16 *quant, uint32_t n)
{
	int32_t low[REDUCE_COEFFICIENTS];

	for (uint32_t v = 0; v < n; v++)
		for (uint32_t u = 0; u < n; u++) {
			uint32_t at = v * DCTSIZE + u;

			low[v * REDUCE_MAX + u] =
				reduce_limited(block[at] * (int32_t)quant[at]);
		}
	low[0] = reduce_dc(block[0], quant[0], n);
	reduce_block(out, stride, low, n);
}

void blocks_reduce(struct image *img, uint32_t n,
		   struct jpeg_decompress_struct *jpeg,
		   jvirt_barray_ptr *arrays)
{
	for (uint32_t i = 0; i < img->plane_count; i++) {
		const jpeg_component_info *c = &jpeg->comp_info[i];
		const struct img_plane *p = &img->planes[i];
		size_t stride = p->stride_bytes;

		/* A component that never came has no table, nor values. */
		const UINT16 none[DCTSIZE2] = { 0 };
		const UINT16 *quant = c->quant_table != NULL ?
					      c->quant_table->quantval :
					      none;

		for (JDIMENSION y = 0; y < c->height_in_blocks; y++) {
			JBLOCKARRAY row = jpeg->mem->access_virt_barray(
				(j_common_ptr)jpeg, arrays[i], y, 1, FALSE);
			uint8_t *out = p->samples + y * n * stride;

			for (JDIMENSION x = 0; x < c->width_in_blocks; x++)
				reduce(out + x * n, stride, row[0][x], quant,
				       n);
		}
	}
}
