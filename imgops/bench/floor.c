/* SPDX-License-Identifier: MIT */
#include "imgops/bench/floor.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

enum {
	DCT_SCALE_FULL = 8,
	GROUP_ROWS_MAX = 4 * 2 * DCTSIZE, /* factor x scaled block */
	ROW_ALIGN = 64,
	FIRST_BYTES = 1 << 20,
};

void floor_release(struct floor_planes *p)
{
	free(p->block);
	*p = (struct floor_planes){ 0 };
}

static void floor_on_message(j_common_ptr jpeg, int level)
{
	(void)jpeg;
	(void)level;
}

static uint32_t floor_round_up(uint32_t n, int step)
{
	return (n + (uint32_t)step - 1) / (uint32_t)step * (uint32_t)step;
}

/* Lay out the planes that libjpeg is about to give. */
static void floor_shape(struct floor_planes *p,
			const struct jpeg_decompress_struct *jpeg)
{
	size_t bytes = 0;

	p->count = jpeg->num_components;
	p->width = jpeg->output_width;
	p->height = jpeg->output_height;
	p->has_luma = jpeg->jpeg_color_space == JCS_YCbCr ||
		      jpeg->jpeg_color_space == JCS_GRAYSCALE;
	assert(p->count <= FLOOR_PLANES_MAX);
	for (int i = 0; i < p->count; i++) {
		const jpeg_component_info *c = &jpeg->comp_info[i];
		uint32_t px = (uint32_t)c->DCT_scaled_size;

		p->planes[i] = (struct floor_plane){
			.width = c->downsampled_width,
			.height = c->downsampled_height,
			.stride = floor_round_up(
				px * floor_round_up(c->width_in_blocks,
						    c->h_samp_factor),
				ROW_ALIGN),
			.rows = px * floor_round_up(c->height_in_blocks,
						    c->v_samp_factor),
			.h_factor = c->h_samp_factor,
			.v_factor = c->v_samp_factor,
		};
		bytes += (size_t)p->planes[i].stride * p->planes[i].rows;
	}
	if (bytes > p->block_bytes) {
		free(p->block);
		p->block = malloc(bytes);
		p->block_bytes = bytes;
	}
	assert(p->block != NULL);

	uint8_t *next = p->block;

	for (int i = 0; i < p->count; i++) {
		p->planes[i].samples = next;
		next += (size_t)p->planes[i].stride * p->planes[i].rows;
	}
}

/* Point at the rows of `count` from `first`; past the end, the last again. */
static void floor_point_rows(JSAMPROW *rows, const struct floor_plane *plane,
			     uint32_t first, uint32_t count)
{
	assert(count <= GROUP_ROWS_MAX);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t y =
			first + i < plane->rows ? first + i : plane->rows - 1;

		rows[i] = plane->samples + (size_t)y * plane->stride;
	}
}

void floor_decode(struct floor_planes *p, const uint8_t *jpeg_data,
		  size_t jpeg_bytes, uint32_t dct_scale)
{
	struct jpeg_decompress_struct jpeg;
	struct jpeg_error_mgr errors;
	JSAMPROW rows[FLOOR_PLANES_MAX][GROUP_ROWS_MAX];
	JSAMPARRAY planes[] = { rows[0], rows[1], rows[2], rows[3] };

	jpeg.err = jpeg_std_error(&errors);
	errors.emit_message = floor_on_message;
	jpeg_create_decompress(&jpeg);
	jpeg_mem_src(&jpeg, jpeg_data, jpeg_bytes);
	(void)jpeg_read_header(&jpeg, TRUE);
	jpeg.scale_num = dct_scale;
	jpeg.scale_denom = DCT_SCALE_FULL;
	jpeg.dct_method = JDCT_ISLOW;
	jpeg.do_block_smoothing = FALSE;
	jpeg.raw_data_out = TRUE;
	jpeg.out_color_space = jpeg.jpeg_color_space;
	(void)jpeg_start_decompress(&jpeg);
	floor_shape(p, &jpeg);
	for (uint32_t group = 0; jpeg.output_scanline < jpeg.output_height;
	     group++) {
		for (int i = 0; i < p->count; i++) {
			const jpeg_component_info *c = &jpeg.comp_info[i];
			uint32_t count = (uint32_t)(c->v_samp_factor *
						    c->DCT_scaled_size);

			floor_point_rows(rows[i], &p->planes[i], group * count,
					 count);
		}
		(void)jpeg_read_raw_data(
			&jpeg, planes,
			(JDIMENSION)(jpeg.max_v_samp_factor *
				     jpeg.min_DCT_scaled_size));
	}
	jpeg_destroy_decompress(&jpeg);
}

static void floor_set_parameters(struct jpeg_compress_struct *jpeg,
				 const struct floor_planes *p, int quality)
{
	assert(p->count == 1 || p->count == 3);
	jpeg->image_width = p->width;
	jpeg->image_height = p->height;
	jpeg->input_components = p->count;
	jpeg->in_color_space = p->count == 1 ? JCS_GRAYSCALE : JCS_YCbCr;
	jpeg_set_defaults(jpeg);
	jpeg_set_quality(jpeg, quality, TRUE);
	jpeg->dct_method = JDCT_ISLOW;
	jpeg->raw_data_in = TRUE;
	for (int i = 0; i < p->count; i++) {
		jpeg->comp_info[i].h_samp_factor = p->planes[i].h_factor;
		jpeg->comp_info[i].v_samp_factor = p->planes[i].v_factor;
	}
}

size_t floor_encode(uint8_t **out, size_t *room, const struct floor_planes *p,
		    int quality)
{
	struct jpeg_compress_struct jpeg;
	struct jpeg_error_mgr errors;
	JSAMPROW rows[FLOOR_PLANES_MAX][GROUP_ROWS_MAX];
	JSAMPARRAY planes[] = { rows[0], rows[1], rows[2], rows[3] };
	uint8_t *before = *out;
	unsigned long bytes = *room;

	if (before == NULL) {
		*room = bytes = FIRST_BYTES;
		*out = before = malloc(FIRST_BYTES);
		assert(before != NULL);
	}
	jpeg.err = jpeg_std_error(&errors);
	jpeg_create_compress(&jpeg);
	jpeg_mem_dest(&jpeg, out, &bytes);
	floor_set_parameters(&jpeg, p, quality);
	jpeg_start_compress(&jpeg, TRUE);
	for (uint32_t group = 0; jpeg.next_scanline < jpeg.image_height;
	     group++) {
		for (int i = 0; i < p->count; i++) {
			uint32_t count =
				(uint32_t)jpeg.comp_info[i].v_samp_factor *
				DCTSIZE;

			floor_point_rows(rows[i], &p->planes[i], group * count,
					 count);
		}
		(void)jpeg_write_raw_data(
			&jpeg, planes,
			(JDIMENSION)(jpeg.max_v_samp_factor * DCTSIZE));
	}
	jpeg_finish_compress(&jpeg);
	jpeg_destroy_compress(&jpeg);
	/* libjpeg grows by a new block and leaves the caller's alone. */
	if (*out != before) {
		free(before);
		*room = bytes;
	}
	return bytes;
}
