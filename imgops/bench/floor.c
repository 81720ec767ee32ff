/* SPDX-License-Identifier: MIT */
#include "imgops/bench/floor.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

enum {
	DECODE_SCALE_FULL = 8,
	ROW_ALIGN = 64,
};

static void floor_on_message(j_common_ptr jpeg, int level)
{
	(void)jpeg;
	(void)level;
}

static uint32_t floor_round_up(uint32_t n, int step)
{
	return (n + (uint32_t)step - 1) / (uint32_t)step * (uint32_t)step;
}

/*
 * Set the shape of plane `i` to what libjpeg is about to return.  Returns its
 * number of rows.
 */
static uint32_t floor_shape_plane(struct floor *f, const jpeg_component_info *c,
				  uint32_t i)
{
	uint32_t px = (uint32_t)c->DCT_scaled_size;
	uint32_t blocks = floor_round_up(c->width_in_blocks, c->h_samp_factor);

	f->planes[i] = (struct img_plane){
		.width = c->downsampled_width,
		.height = c->downsampled_height,
		.stride_bytes = floor_round_up(px * blocks, ROW_ALIGN),
		.span_x = c->downsampled_width,
		.span_y = c->downsampled_height,
	};
	f->h_factors[i] = c->h_samp_factor;
	f->v_factors[i] = c->v_samp_factor;
	f->group_rows[i] = px * (uint32_t)c->v_samp_factor;
	return px * floor_round_up(c->height_in_blocks, c->v_samp_factor);
}

/* Lay out the planes that libjpeg is about to fill. */
static void floor_shape(struct floor *f,
			const struct jpeg_decompress_struct *jpeg)
{
	uint32_t row_counts[IMG_PLANES_MAX];
	size_t bytes = 0;

	f->plane_count = (uint32_t)jpeg->num_components;
	f->size = (struct img_size){ jpeg->output_width, jpeg->output_height };
	f->has_luma = jpeg->jpeg_color_space == JCS_YCbCr ||
		      jpeg->jpeg_color_space == JCS_GRAYSCALE;
	assert(f->plane_count <= IMG_PLANES_MAX);
	for (uint32_t i = 0; i < f->plane_count; i++) {
		row_counts[i] = floor_shape_plane(f, &jpeg->comp_info[i], i);
		bytes += f->planes[i].stride_bytes * row_counts[i];
	}
	if (bytes > f->samples_room) {
		free(f->samples);
		f->samples = malloc(bytes);
		f->samples_room = bytes;
	}
	assert(f->samples != NULL);

	uint8_t *next = f->samples;

	for (uint32_t i = 0; i < f->plane_count; i++) {
		f->planes[i].samples = next;
		f->rows[i] = reallocarray(f->rows[i], row_counts[i],
					  sizeof(*f->rows[i]));
		assert(f->rows[i] != NULL);
		for (uint32_t y = 0; y < row_counts[i]; y++) {
			f->rows[i][y] = next;
			next += f->planes[i].stride_bytes;
		}
	}
}

/*
 * Point `planes` at the rows of each plane that belong to row of MCUs `group`.
 */
static void floor_point(JSAMPARRAY planes[IMG_PLANES_MAX],
			const struct floor *f, uint32_t group)
{
	for (uint32_t i = 0; i < f->plane_count; i++)
		planes[i] = f->rows[i] + (size_t)group * f->group_rows[i];
}

void floor_decode(struct floor *f, const uint8_t *jpeg_data, size_t jpeg_bytes,
		  uint32_t dct_scale)
{
	struct jpeg_decompress_struct jpeg;
	struct jpeg_error_mgr errors;
	JSAMPARRAY planes[IMG_PLANES_MAX];

	jpeg.err = jpeg_std_error(&errors);
	errors.emit_message = floor_on_message;
	jpeg_create_decompress(&jpeg);
	jpeg_mem_src(&jpeg, jpeg_data, jpeg_bytes);
	(void)jpeg_read_header(&jpeg, TRUE);
	jpeg.scale_num = dct_scale;
	jpeg.scale_denom = DECODE_SCALE_FULL;
	jpeg.dct_method = JDCT_ISLOW;
	jpeg.do_block_smoothing = FALSE;
	jpeg.raw_data_out = TRUE;
	jpeg.out_color_space = jpeg.jpeg_color_space;
	(void)jpeg_start_decompress(&jpeg);
	floor_shape(f, &jpeg);
	for (uint32_t group = 0; jpeg.output_scanline < jpeg.output_height;
	     group++) {
		floor_point(planes, f, group);
		(void)jpeg_read_raw_data(
			&jpeg, planes,
			(JDIMENSION)(jpeg.max_v_samp_factor *
				     jpeg.min_DCT_scaled_size));
	}
	jpeg_destroy_decompress(&jpeg);
}

static void floor_set_parameters(struct jpeg_compress_struct *jpeg,
				 const struct floor *f, int quality)
{
	assert(f->plane_count == 1 || f->plane_count == 3);
	jpeg->image_width = f->size.width_px;
	jpeg->image_height = f->size.height_px;
	jpeg->input_components = (int)f->plane_count;
	jpeg->in_color_space = f->plane_count == 1 ? JCS_GRAYSCALE : JCS_YCbCr;
	jpeg_set_defaults(jpeg);
	jpeg_set_quality(jpeg, quality, TRUE);
	jpeg->dct_method = JDCT_ISLOW;
	jpeg->raw_data_in = TRUE;
	for (uint32_t i = 0; i < f->plane_count; i++) {
		jpeg->comp_info[i].h_samp_factor = f->h_factors[i];
		jpeg->comp_info[i].v_samp_factor = f->v_factors[i];
	}
}

size_t floor_encode(struct floor *f, int quality)
{
	struct jpeg_compress_struct jpeg;
	struct jpeg_error_mgr errors;
	JSAMPARRAY planes[IMG_PLANES_MAX];
	uint8_t *before = f->jpeg;
	unsigned long bytes = f->jpeg_room;

	jpeg.err = jpeg_std_error(&errors);
	jpeg_create_compress(&jpeg);
	jpeg_mem_dest(&jpeg, &f->jpeg, &bytes);
	floor_set_parameters(&jpeg, f, quality);
	jpeg_start_compress(&jpeg, TRUE);
	for (uint32_t group = 0; jpeg.next_scanline < jpeg.image_height;
	     group++) {
		floor_point(planes, f, group);
		(void)jpeg_write_raw_data(
			&jpeg, planes,
			(JDIMENSION)(jpeg.max_v_samp_factor * DCTSIZE));
	}
	jpeg_finish_compress(&jpeg);
	jpeg_destroy_compress(&jpeg);
	/*
	 * If the caller's block was too small, libjpeg has allocated a new one
	 * and not freed the old one.
	 */
	if (f->jpeg != before) {
		free(before);
		f->jpeg_room = bytes;
	}
	return bytes;
}

void floor_release(struct floor *f)
{
	for (uint32_t i = 0; i < IMG_PLANES_MAX; i++)
		free(f->rows[i]);
	free(f->samples);
	free(f->jpeg);
	*f = (struct floor){ 0 };
}
