/* SPDX-License-Identifier: MIT */
#include "imgops/formats/jxl/jxl.h"

#include <stdlib.h>
#include <string.h>

/* --- Memory --- */

/* Before each block its size; blocks are aligned as those of malloc(). */
enum { BLOCK_HEAD_BYTES = 16 };

static void *take_block(void *arg, size_t bytes)
{
	struct jxl_memory *m = arg;
	uint8_t *block = NULL;

	if (bytes <= m->left_bytes)
		block = malloc(BLOCK_HEAD_BYTES + bytes);
	if (block == NULL) {
		m->was_refused = true;
		return NULL;
	}
	m->left_bytes -= bytes;
	memcpy(block, &bytes, sizeof(bytes));
	return block + BLOCK_HEAD_BYTES;
}

static void give_back(void *arg, void *block)
{
	struct jxl_memory *m = arg;
	uint8_t *whole = block;
	size_t bytes;

	if (block == NULL)
		return;
	whole -= BLOCK_HEAD_BYTES;
	memcpy(&bytes, whole, sizeof(bytes));
	m->left_bytes += bytes;
	free(whole);
}

void jxl_memory_init(struct jxl_memory *m, uint64_t bytes)
{
	*m = (struct jxl_memory){ { m, take_block, give_back }, bytes, false };
}

/* --- The format --- */

static bool jxl_recognise(const uint8_t *bytes, size_t count)
{
	if (bytes[0] == 0xff)
		return bytes[1] == 0x0a;
	return memcmp(bytes, jxl_container,
		      min_u64(count, sizeof(jxl_container))) == 0;
}

static enum format_planes jxl_planes(const struct img_transform *transform)
{
	(void)transform;
	return FORMAT_RGB;
}

static const struct img_codec codec = {
	.magic_bytes = JXL_MAGIC_BYTES,
	.recognise = jxl_recognise,
	.probe_more = jxl_probe_more,
	.decode = jxl_decode,
	.decode_estimate = &jxl_decode_estimate,
	.encode = jxl_encode,
	.encode_estimate = &jxl_encode_estimate,
	.qualities = jxl_qualities,
	.own_pixel_bytes = 72,
	.own_edge_px = 64,
	.own_bytes = 48 << 20,
	.planes = jxl_planes,
	.holds_alpha = true,
	.holds_profile = true,
	.holds_metadata = true,
	.metadata = jxl_metadata,
	.gainmap = jxl_gainmap,
};

const struct img_format jxl_format = {
	.name = "JPEG XL",
	.word = "jxl",
	.media_type = "image/jxl",
	.suffix = "jxl",
	.is_fragile = true,
	.holds_gainmap = true,
	.codec = &codec,
};
