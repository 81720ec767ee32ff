/* SPDX-License-Identifier: MIT */
#include "imgops/skim_tables.h"

bool skim_used_find(struct skim_used *used,
		    const struct jpeg_decompress_struct *jpeg)
{
	*used = (struct skim_used){ 0, 0 };
	for (int i = 0; i < jpeg->comps_in_scan; i++) {
		const jpeg_component_info *c = jpeg->cur_comp_info[i];
		uint32_t dc = (uint32_t)c->dc_tbl_no;
		uint32_t ac = (uint32_t)c->ac_tbl_no;

		if (dc >= NUM_HUFF_TBLS || ac >= NUM_HUFF_TBLS)
			return false;
		used->dc |= 1u << dc;
		if (!jpeg->progressive_mode)
			used->ac |= 1u << ac;
	}
	return true;
}

size_t skim_tables_bytes(struct skim_used used)
{
	size_t dc = (size_t)__builtin_popcount(used.dc);
	size_t ac = (size_t)__builtin_popcount(used.ac);

	return dc * sizeof(struct huffman) + ac * sizeof(struct ac_table);
}

bool skim_tables_make(struct skim_tables *t, void *room, struct skim_used used,
		      const struct jpeg_decompress_struct *jpeg)
{
	size_t dc_count = (size_t)__builtin_popcount(used.dc);
	struct huffman *dc = room;
	struct ac_table *ac = (struct ac_table *)(dc + dc_count);

	*t = (struct skim_tables){ 0 };
	for (uint32_t i = 0; i < NUM_HUFF_TBLS; i++) {
		const JHUFF_TBL *of_dc = jpeg->dc_huff_tbl_ptrs[i];
		const JHUFF_TBL *of_ac = jpeg->ac_huff_tbl_ptrs[i];

		if (used.dc >> i & 1) {
			if (of_dc == NULL ||
			    !huffman_make(dc, of_dc->bits, of_dc->huffval,
					  VALUE_BITS_MAX))
				return false;
			t->dc[i] = dc++;
		}
		if (used.ac >> i & 1) {
			if (of_ac == NULL ||
			    !ac_table_make(ac, of_ac->bits, of_ac->huffval))
				return false;
			t->ac[i] = ac++;
		}
	}
	return true;
}
