/* SPDX-License-Identifier: MIT */
/*
 * A libFuzzer target: the whole pipeline under every transform; and, with
 * FUZZ_WORD as a format's word, one for that format: files of others are
 * skipped, and results are small PPMs that are easily made, so that the time
 * goes into the decoder.
 *
 * The first bytes of the input are the transform, the rest is the file.  For
 * any input, each step succeeds or returns an error, memory stays within the
 * limits, and all memory is freed.
 */
#include "imgops/imgops.h"
#include "imgops/test/support.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#ifdef IMG_PNG
#include <zlib.h>
#endif

#ifndef FUZZ_WORD
#define FUZZ_WORD ""
#endif

enum {
	OPTION_BYTES = 8,
	DECODE_BYTES_MAX = 64 << 20,
	LIVE_BYTES_MAX = 512 << 20,
};

struct counted_heap {
	uint64_t live_bytes;
};

/* The size of a block is kept before it. */
static void *heap_alloc(void *arg, size_t bytes)
{
	struct counted_heap *h = arg;
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
	struct counted_heap *h = arg;
	size_t *start = (size_t *)(void *)((char *)block - 64);

	h->live_bytes -= *start;
	free(start);
}

static struct img_transform transform_of(const uint8_t *o)
{
	return (struct img_transform){
		.trim = o[4] % 8 == 2 ? o[5] : 0,
		.box = { o[0] * 4u, o[1] * 4u },
		.fit = o[2] % 3 + (o[7] & 8 ? 1 : 0),
		.gravity = o[2] / 3 % 10,
		.pad = { o[5] / 8 % 4, o[6] / 8 % 4, o[5] / 32 % 4,
			 o[6] / 32 % 4 },
		.focus = { (o[5] - 128) * 39, (o[6] - 128) * 39 },
		.rotation = o[5] % 4,
		.flip = o[6] % 3,
		.crop = { o[4] % 16, o[5] % 16, o[6] % 4 * (o[1] + 1u),
			  o[0] + 1u },
		.greyscale = o[7] & 64,
		.filter = (o[3] >> 7) * (o[6] / 100 + o[4] % 4),
		.light = o[2] / 30 % 4 == 3,
		.enlarge = o[3] & 1,
		.as_stored = o[3] & 2,
		.keep_profile = o[3] & 4,
		.chroma = o[3] & 8 ? 1 + (o[6] & 1) : 0,
		.progressive = o[3] & 16,
		.optimize = o[3] & 32,
		.lenient = o[3] & 64,
		.keep_gainmap = o[2] & 128,
		.metadata = o[1] % 3,
		.blur_sigma_px = o[4] < 128 ? 0 : 0.3 + o[5] * 0.39,
		.sharpen_sigma_px = o[4] % 4 == 1 ? 0.3 + o[6] * 0.038 : 0,
		.quality = o[6] % 100 + 1,
		.score = o[5] % 16 == 2 ? 1 + o[6] % 100 : 0,
		.bytes_max = o[5] % 4 == 1 ? o[4] * 20u : 0,
		.lossless = o[7] & 128,
		.effort = o[7] / 16 % 5,
		.background = o[2] & 1 ? IMG_TRANSPARENT : o[2] * 0x10102u,
		.format = o[7] % IMG_RESULT_FORMATS,
	};
}

static const struct img_limits limits = {
	.side_px_max = 65500,
	.pixels_max = 4 << 20,
	.scans_max = 20,
	.decode_bytes_max = DECODE_BYTES_MAX,
};

/* A walk in two parts finds what one walk over all bytes finds. */
static void check_two_parts(const struct img_header *whole,
			    enum img_err whole_err, const uint8_t *jpeg,
			    size_t jpeg_bytes)
{
	struct img_header h = { 0 };
	enum img_err err = img_probe_more(&h, jpeg, jpeg_bytes / 2, &limits);

	if (err != IMG_OK && err != IMG_ERR_TRUNCATED)
		return;
	err = img_probe_more(&h, jpeg, jpeg_bytes, &limits);
	assert(err == whole_err);
	if (err == IMG_OK)
		assert(headers_agree(&h, whole));
}

/* The result can be read, and is what was asked for. */
static void check_result(const uint8_t *bytes, size_t count,
			 struct img_size size,
			 const struct img_transform *transform)
{
	struct img_header h;
	enum img_err err = img_probe(&h, bytes, count, &limits);

	assert(err == IMG_OK && h.format == img_formats[transform->format]);
	assert(h.stored.width_px == size.width_px &&
	       h.stored.height_px == size.height_px);
}

static enum img_err run(const uint8_t *jpeg, size_t jpeg_bytes,
			const struct img_transform *transform,
			const struct memory *memory)
{
	struct image decoded = { 0 }, scaled = { 0 };
	struct img_metadata file = { .block = NULL };
	struct img_metadata metadata = { .block = NULL };
	struct img_header header;
	uint8_t *out = NULL;
	size_t out_bytes = 0;
	enum img_err err = img_probe(&header, jpeg, jpeg_bytes, &limits);

	check_two_parts(&header, err, jpeg, jpeg_bytes);
	if (err != IMG_OK)
		return err;

	if (!img_crop_fits(&header, transform, NULL))
		return IMG_ERR_OUTSIDE;

	struct img_view view = img_fit(&header, transform);

	(void)img_cost(&header, &view, transform);
	err = decode_inside_here(&decoded, jpeg, jpeg_bytes, &header, &view,
				 transform, &limits, memory);
	if (err == IMG_OK)
		err = img_scale(&scaled, &decoded, &view, transform, memory);
	if (err == IMG_OK)
		err = img_retouch(&scaled, &view, transform, NULL, memory);
	if (err == IMG_OK)
		err = img_metadata_read(&file, jpeg, jpeg_bytes, &header,
					memory);
	if (err == IMG_OK)
		err = img_metadata_make(&metadata, &file, &header, &view,
					transform, &scaled, memory);
	if (err == IMG_OK) {
		scaled.metadata = &metadata;
		err = img_encode(&out, &out_bytes, &scaled, transform, memory);
	}
	img_metadata_release(&file);
	img_metadata_release(&metadata);
	if (err == IMG_OK)
		check_result(out, out_bytes, img_result_size(&view), transform);
	if (out != NULL)
		memory->free(memory->arg, out);
	img_release(&scaled);
	img_release(&decoded);
	return err;
}

static bool is_wanted(const uint8_t *file, size_t bytes)
{
	struct img_header h = { 0 };

	if (FUZZ_WORD[0] == '\0')
		return true;
	(void)img_probe_more(&h, file, bytes, &limits);
	return h.format != NULL && strcmp(h.format->word, FUZZ_WORD) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct counted_heap h = { 0 };
	struct memory memory = { .alloc = heap_alloc,
				 .free = heap_free,
				 .arg = &h };

	if (bytes < OPTION_BYTES ||
	    !is_wanted(data + OPTION_BYTES, bytes - OPTION_BYTES))
		return -1;

	struct img_transform transform = transform_of(data);

	if (FUZZ_WORD[0] != '\0') {
		transform.format = IMG_FORMAT_PPM;
		transform.box = (struct img_size){ data[0], data[1] / 2u };
		transform.filter = IMG_LANCZOS3;
		transform.blur_sigma_px = 0;
	}
	(void)run(data + OPTION_BYTES, bytes - OPTION_BYTES, &transform,
		  &memory);
	assert(h.live_bytes == 0);
	return 0;
}

#ifdef IMG_PNG

size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t bytes_max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t bytes_max,
			       unsigned int seed);

/* Make the checksums of a PNG's chunks right. */
static void repair_png(uint8_t *file, size_t bytes)
{
	size_t at = 8;

	if (bytes < 8 || memcmp(file, "\x89PNG", 4) != 0)
		return;
	while (bytes - at >= 12) {
		uint8_t *chunk = file + at;
		size_t data = (size_t)chunk[0] << 24 | (size_t)chunk[1] << 16 |
			      (size_t)chunk[2] << 8 | chunk[3];

		if (data > bytes - at - 12)
			return;

		uint32_t crc = (uint32_t)crc32(0, chunk + 4, (uInt)(data + 4));

		for (int i = 0; i < 4; i++)
			chunk[8 + data + i] = (uint8_t)(crc >> (24 - 8 * i));
		at += data + 12;
	}
}

/* Behind a wrong checksum the decoder sees nothing, so few PNGs have one. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t bytes_max,
			       unsigned int seed)
{
	bytes = LLVMFuzzerMutate(data, bytes, bytes_max);
	if (bytes > OPTION_BYTES && seed % 8 != 0)
		repair_png(data + OPTION_BYTES, bytes - OPTION_BYTES);
	return bytes;
}

#endif
