/* SPDX-License-Identifier: MIT */
/*
 * Encode planes as they are with libjpeg-turbo.  As in decode.c, libjpeg's
 * longjmp ends here, and all state is in one struct.
 */
#include "imgops/imgops.h"
#include "imgops/planes.h"

#include <assert.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>

enum {
	MCU_PX = 16, /* 4:2:0: two blocks of luma, one of chroma */
	FIRST_BYTES_MIN = 4096,
};

struct encoder {
	struct jpeg_compress_struct jpeg;
	struct jpeg_error_mgr errors;
	struct jpeg_destination_mgr destination;
	jmp_buf failed;
	bool done;

	const struct img_memory *memory;
	uint8_t *out;
	size_t out_bytes; /* allocated; at the end: written */

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
	e->out_bytes = bytes;
	e->destination.next_output_byte = out + used;
	e->destination.free_in_buffer = bytes - used;
}

static void destination_init(j_compress_ptr jpeg)
{
	struct encoder *e = jpeg->client_data;
	const struct img_plane *luma = &e->src->planes[0];

	/* A quarter byte per pixel is enough for most photos. */
	grow(e, FIRST_BYTES_MIN + (size_t)luma->width * luma->height / 4, 0);
}

static boolean destination_full(j_compress_ptr jpeg)
{
	struct encoder *e = jpeg->client_data;

	grow(e, e->out_bytes * 2, e->out_bytes);
	return TRUE;
}

static void destination_end(j_compress_ptr jpeg)
{
	struct encoder *e = jpeg->client_data;

	e->out_bytes -= e->destination.free_in_buffer;
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
	jpeg_set_quality(jpeg, e->recipe->quality, TRUE);
	jpeg->dct_method = JDCT_ISLOW;
	jpeg->raw_data_in = TRUE;
}

/* Repeat the last sample of each row to the end of its last block. */
static void pad_rows(struct img_plane *p, uint32_t block_px)
{
	uint32_t whole = (p->width + block_px - 1) / block_px * block_px;

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
	JSAMPROW rows[IMG_PLANES_MAX][MCU_PX];
	JSAMPARRAY planes[IMG_PLANES_MAX] = { rows[0], rows[1], rows[2] };
	/* libjpeg takes grey in groups of one block. */
	uint32_t group_px = src->plane_count == 1 ? MCU_PX / 2 : MCU_PX;

	set_up(e);
	for (uint32_t i = 0; i < src->plane_count; i++)
		pad_rows(&src->planes[i], i == 0 ? MCU_PX : MCU_PX / 2);
	jpeg_start_compress(jpeg, TRUE);
	while (jpeg->next_scanline < jpeg->image_height) {
		uint32_t y = jpeg->next_scanline;

		point_rows(rows[0], &src->planes[0], y, group_px);
		for (uint32_t i = 1; i < src->plane_count; i++)
			point_rows(rows[i], &src->planes[i], y / 2, MCU_PX / 2);
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
		e->jpeg.dest = &e->destination;
		encode_planes(e);
		e->done = true;
	}
	jpeg_destroy_compress(&e->jpeg);
	return e->done;
}

enum img_err img_encode(uint8_t **jpeg, size_t *jpeg_bytes, struct image *src,
			const struct img_recipe *recipe,
			const struct img_memory *memory)
{
	struct encoder e = { .memory = memory, .src = src, .recipe = recipe };

	assert(image_is_shaped(src));
	assert(recipe->quality >= 1 && recipe->quality <= 100);
	if (!encoder_run(&e)) {
		if (e.out != NULL)
			memory->free(memory->arg, e.out);
		return IMG_ERR_NO_MEMORY;
	}
	*jpeg = e.out;
	*jpeg_bytes = e.out_bytes;
	return IMG_OK;
}
