/* SPDX-License-Identifier: MIT */
/*
 * Encode planes as they are with libjpeg-turbo.  As in reader.c, libjpeg's
 * longjmp ends here, and all state is in one struct.
 *
 * Memory besides the result: some rows of blocks; if progressive or optimised,
 * 2 bytes for each sample, as both begin with all coefficients.  The result is
 * written where there is room for nearly any, and leaves in a block of its own
 * size: so what it takes is known before, and a photo is copied once, when
 * libjpeg's memory is back.
 */
#include "imgops/encode.h"

#include "imgops/imgops.h"
#include "imgops/jpeg_memory.h"
#include "imgops/planes.h"
#include "imgops/profile.h"

#include <assert.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>

enum {
	ROOM_BYTES_MIN = 4096,
	FINE_QUALITY = 85,
	FINEST_QUALITY = 96,
};

struct encoder {
	struct jpeg_compress_struct jpeg;
	struct jpeg_error_mgr errors;
	struct jpeg_destination_mgr destination;
	struct jpeg_memory working;
	jmp_buf failed;
	bool done;

	const struct img_memory *memory;
	uint8_t *out;
	size_t room_bytes; /* of `out` */
	size_t out_bytes;  /* at the end: written */

	struct image *src;
	const struct img_recipe *recipe;
};

/* Nothing but memory can fail: sizes and settings are ours. */
static void on_error(j_common_ptr jpeg)
{
	struct encoder *e = jpeg->client_data;

	longjmp(e->failed, 1);
}

static void on_message(j_common_ptr jpeg, int level)
{
	(void)jpeg;
	(void)level;
}

/* Make room for `bytes` in all, keep the first `used`. */
static void grow(struct encoder *e, size_t bytes, size_t used)
{
	uint8_t *out = e->memory->alloc(e->memory->arg, bytes);

	if (out == NULL)
		longjmp(e->failed, 1);
	if (used > 0)
		memcpy(out, e->out, used);
	if (e->out != NULL)
		e->memory->free(e->memory->arg, e->out);
	e->out = out;
	e->room_bytes = bytes;
	e->destination.next_output_byte = out + used;
	e->destination.free_in_buffer = bytes - used;
}

size_t encode_room_bytes(const struct image *img, size_t profile_bytes,
			 int quality)
{
	size_t samples = 0;

	for (uint32_t i = 0; i < img->plane_count; i++)
		samples += (size_t)img->planes[i].width * img->planes[i].height;
	if (quality >= FINEST_QUALITY)
		samples *= 2;
	else if (quality < FINE_QUALITY)
		samples -= samples / 3;
	return ROOM_BYTES_MIN + profile_bytes + samples;
}

static void destination_init(j_compress_ptr jpeg)
{
	struct encoder *e = jpeg->client_data;

	grow(e,
	     encode_room_bytes(e->src, e->src->profile_bytes,
			       e->recipe->quality),
	     0);
}

static boolean destination_full(j_compress_ptr jpeg)
{
	struct encoder *e = jpeg->client_data;

	grow(e, e->room_bytes * 2, e->room_bytes);
	return TRUE;
}

static void destination_end(j_compress_ptr jpeg)
{
	struct encoder *e = jpeg->client_data;

	e->out_bytes = e->room_bytes - e->destination.free_in_buffer;
}

static void set_up(struct encoder *e)
{
	struct jpeg_compress_struct *jpeg = &e->jpeg;

	jpeg->image_width = e->src->planes[0].width;
	jpeg->image_height = e->src->planes[0].height;
	jpeg->input_components = (int)e->src->plane_count;
	jpeg->in_color_space =
		e->src->plane_count == 1 ? JCS_GRAYSCALE : JCS_YCbCr;
	jpeg_set_defaults(jpeg); /* samples Y' 2x2, which makes 4:2:0 */
	if (image_has_full_chroma(e->src)) {
		jpeg->comp_info[0].h_samp_factor = 1;
		jpeg->comp_info[0].v_samp_factor = 1;
	}
	jpeg_set_quality(jpeg, e->recipe->quality, TRUE);
	jpeg->dct_method = JDCT_ISLOW;
	jpeg->raw_data_in = TRUE;
	jpeg->optimize_coding = e->recipe->optimize;
	if (e->recipe->progressive)
		jpeg_simple_progression(jpeg); /* optimises as well */
}

/* Repeat the last sample of each row to the end of its last block. */
static void pad_rows(struct img_plane *p)
{
	uint32_t whole = (p->width + DCTSIZE - 1) / DCTSIZE * DCTSIZE;

	assert(whole <= p->stride_bytes);
	for (uint32_t y = 0; y < p->height; y++) {
		uint8_t *row = p->samples + y * p->stride_bytes;

		memset(row + p->width, row[p->width - 1], whole - p->width);
	}
}

/* Pointers to `count` rows from `y`; below the picture, its last row. */
static void point_rows(JSAMPROW *rows, const struct img_plane *p, uint32_t y,
		       uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = y + i < p->height ? y + i : p->height - 1;

		rows[i] = p->samples + at * p->stride_bytes;
	}
}

static void encode_planes(struct encoder *e)
{
	struct jpeg_compress_struct *jpeg = &e->jpeg;
	struct image *src = e->src;
	JSAMPROW rows[IMG_PLANES_MAX][2 * DCTSIZE];
	JSAMPARRAY planes[IMG_PLANES_MAX] = { rows[0], rows[1], rows[2] };
	uint32_t group_px; /* rows of luma that go with a row of blocks */

	set_up(e);
	group_px = (uint32_t)jpeg->comp_info[0].v_samp_factor * DCTSIZE;
	for (uint32_t i = 0; i < src->plane_count; i++)
		pad_rows(&src->planes[i]);
	jpeg_start_compress(jpeg, TRUE);
	if (src->profile != NULL)
		jpeg_write_icc_profile(jpeg, src->profile,
				       (unsigned)src->profile_bytes);
	while (jpeg->next_scanline < jpeg->image_height) {
		uint32_t y = jpeg->next_scanline;

		point_rows(rows[0], &src->planes[0], y, group_px);
		for (uint32_t i = 1; i < src->plane_count; i++)
			point_rows(rows[i], &src->planes[i],
				   y / group_px * DCTSIZE, DCTSIZE);
		(void)jpeg_write_raw_data(jpeg, planes, group_px);
	}
	jpeg_finish_compress(jpeg);
}

/* False: out of memory. */
static bool encoder_run(struct encoder *e)
{
	e->jpeg.err = jpeg_std_error(&e->errors);
	e->errors.error_exit = on_error;
	e->errors.emit_message = on_message;
	e->jpeg.client_data = e;
	e->destination.init_destination = destination_init;
	e->destination.empty_output_buffer = destination_full;
	e->destination.term_destination = destination_end;
	if (setjmp(e->failed) == 0) {
		jpeg_create_compress(&e->jpeg);
		jpeg_memory_install(&e->working, (j_common_ptr)&e->jpeg,
				    e->memory, UINT64_MAX);
		e->jpeg.dest = &e->destination;
		encode_planes(e);
		e->done = true;
	}
	jpeg_memory_release(&e->working, (j_common_ptr)&e->jpeg);
	jpeg_destroy_compress(&e->jpeg);
	return e->done;
}

/* Into a block of its own size; where that saves little, as it is. */
static uint8_t *take_result(struct encoder *e)
{
	const struct img_memory *memory = e->memory;
	uint8_t *out = e->out;

	if (e->out_bytes <= e->room_bytes / 2) {
		out = memory->alloc(memory->arg, e->out_bytes);
		if (out != NULL)
			memcpy(out, e->out, e->out_bytes);
		memory->free(memory->arg, e->out);
	}
	return out;
}

enum img_err img_encode(uint8_t **jpeg, size_t *jpeg_bytes, struct image *src,
			const struct img_recipe *recipe,
			const struct img_memory *memory)
{
	struct encoder e = { .memory = memory, .src = src, .recipe = recipe };
	uint8_t *out;

	assert(image_is_shaped(src));
	assert(recipe->quality >= 1 && recipe->quality <= 100);
	assert((src->profile != NULL) == (src->profile_bytes > 0));
	assert(src->profile_bytes <= PROFILE_BYTES_MAX);
	if (!encoder_run(&e)) {
		if (e.out != NULL)
			memory->free(memory->arg, e.out);
		return IMG_ERR_NO_MEMORY;
	}
	out = take_result(&e);
	if (out == NULL)
		return IMG_ERR_NO_MEMORY;
	*jpeg = out;
	*jpeg_bytes = e.out_bytes;
	return IMG_OK;
}
