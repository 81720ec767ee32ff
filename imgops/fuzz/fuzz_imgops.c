/* SPDX-License-Identifier: MIT */
/*
 * A libFuzzer target: the whole pipeline under every recipe.
 *
 * The first bytes of the input are the recipe, the rest is the file.  Whatever
 * they are, each step succeeds or says why not, memory stays within the limits,
 * and all of it comes back.
 */
#include "imgops/cost.h"
#include "imgops/imgops.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	OPTION_BYTES = 8,
	DECODE_BYTES_MAX = 64 << 20,
	LIVE_BYTES_MAX = 256 << 20,
};

struct heap {
	uint64_t live_bytes;
};

/* The size of a block is kept before it. */
static void *heap_alloc(void *arg, size_t bytes)
{
	struct heap *h = arg;
	size_t *block = aligned_alloc(64, (bytes + 64 + 63) / 64 * 64);

	if (block == NULL)
		return NULL;
	*block = bytes;
	h->live_bytes += bytes;
	assert(h->live_bytes <= LIVE_BYTES_MAX);
	return (char *)block + 64;
}

static void heap_free(void *arg, void *block)
{
	struct heap *h = arg;
	size_t *start = (size_t *)(void *)((char *)block - 64);

	h->live_bytes -= *start;
	free(start);
}

static struct img_recipe recipe_of(const uint8_t *o)
{
	return (struct img_recipe){
		.box = { o[0] * 4u, o[1] * 4u },
		.fit = o[2] % 3,
		.gravity = o[2] / 3 % 9,
		.enlarge = o[3] & 1,
		.as_stored = o[3] & 2,
		.keep_profile = o[3] & 4,
		.full_chroma = o[3] & 8,
		.progressive = o[3] & 16,
		.optimize = o[3] & 32,
		.lenient = o[3] & 64,
		.blur_sigma_px = o[4] < 128 ? 0 : 0.3 + o[5] * 0.39,
		.quality = o[6] % 100 + 1,
	};
}

static enum img_err run(const uint8_t *jpeg, size_t jpeg_bytes,
			const struct img_recipe *recipe,
			const struct img_memory *memory)
{
	static const struct img_limits limits = {
		.side_px_max = 65500,
		.pixels_max = 4 << 20,
		.scans_max = 20,
		.decode_bytes_max = DECODE_BYTES_MAX,
	};
	struct image decoded = { 0 }, scaled = { 0 }, blurred = { 0 };
	struct img_header header;
	uint8_t *out = NULL;
	size_t out_bytes = 0;
	enum img_err err = img_probe(&header, jpeg, jpeg_bytes, &limits);

	if (err != IMG_OK)
		return err;

	struct img_view view = img_fit(&header, recipe);

	(void)img_cost(&header, jpeg, jpeg_bytes, &view, recipe);
	err = img_decode(&decoded, jpeg, jpeg_bytes, &header, &view, recipe,
			 &limits, memory);
	if (err == IMG_OK)
		err = img_scale(&scaled, &decoded, &view, recipe, memory);
	if (err == IMG_OK && recipe->blur_sigma_px > 0) {
		err = img_blur(&blurred, &scaled, recipe->blur_sigma_px,
			       memory);
		img_release(&scaled);
		scaled = blurred;
	}
	if (err == IMG_OK)
		err = img_encode(&out, &out_bytes, &scaled, recipe, memory);
	if (err == IMG_OK)
		assert(out_bytes > 100 && out[0] == 0xff && out[1] == 0xd8);
	if (out != NULL)
		memory->free(memory->arg, out);
	img_release(&scaled);
	img_release(&decoded);
	return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct heap h = { 0 };
	struct img_memory memory = { heap_alloc, heap_free, &h };

	if (bytes < OPTION_BYTES)
		return -1;

	struct img_recipe recipe = recipe_of(data);

	(void)run(data + OPTION_BYTES, bytes - OPTION_BYTES, &recipe, &memory);
	assert(h.live_bytes == 0);
	return 0;
}
