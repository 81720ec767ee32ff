/* SPDX-License-Identifier: MIT */
#include "service/pipeline/upload.h"

#include "imgops/pool.h"

uint64_t upload_result_bytes(const struct upload *u)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < u->variant_count; i++)
		bytes += img_pool_block_count(u->variants[i].jpeg);
	return bytes;
}

void upload_free_results(struct upload *u)
{
	for (uint32_t i = 0; i < u->variant_count; i++) {
		img_pool_block_free(u->variants[i].jpeg);
		u->variants[i].jpeg = NULL;
		u->variants[i].jpeg_bytes = 0;
	}
}
