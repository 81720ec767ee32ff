/* SPDX-License-Identifier: MIT */
#include "imgops/planar.h"

#include <assert.h>

bool planar_prepare(struct jpeg_decompress_struct *jpeg)
{
	if (jpeg->jpeg_color_space != JCS_YCbCr &&
	    jpeg->jpeg_color_space != JCS_GRAYSCALE)
		return false;
	jpeg->raw_data_out = TRUE;
	jpeg->out_color_space = jpeg->jpeg_color_space;
	return true;
}

void planar_shape(struct image *img, const struct jpeg_decompress_struct *jpeg)
{
	assert(jpeg->num_components <= IMG_PLANES_MAX);
	*img = (struct image){
		.plane_count = (uint32_t)jpeg->num_components,
		.space = jpeg->num_components == 1 ? IMG_GREY : IMG_YCBCR,
	};
	for (uint32_t i = 0; i < img->plane_count; i++) {
		const jpeg_component_info *c = &jpeg->comp_info[i];
		double scale = c->DCT_scaled_size / (double)DCTSIZE;

		img->planes[i] = (struct img_plane){
			.width = c->downsampled_width,
			.height = c->downsampled_height,
			.span_x = jpeg->image_width * scale * c->h_samp_factor /
				  jpeg->max_h_samp_factor,
			.span_y = jpeg->image_height * scale *
				  c->v_samp_factor / jpeg->max_v_samp_factor,
		};
	}
}

/* Point `rows` at the samples of one component in row of MCUs `group`. */
static void point_rows(JSAMPROW *rows, const struct img_plane *p,
		       const jpeg_component_info *c, uint32_t group)
{
	uint32_t count = (uint32_t)(c->v_samp_factor * c->DCT_scaled_size);

	assert(count <= IMAGE_ROW_GROUP_MAX);
	assert((uint32_t)c->DCT_scaled_size <= IMAGE_BLOCK_PX);
	for (uint32_t i = 0; i < count; i++)
		rows[i] = p->samples +
			  ((size_t)group * count + i) * p->stride_bytes;
}

void planar_read(struct image *img, struct jpeg_decompress_struct *jpeg)
{
	JSAMPROW rows[IMG_PLANES_MAX][IMAGE_ROW_GROUP_MAX];
	JSAMPARRAY planes[IMG_PLANES_MAX] = { rows[0], rows[1], rows[2] };
	JDIMENSION lines = (JDIMENSION)(jpeg->max_v_samp_factor *
					jpeg->min_DCT_scaled_size);

	for (uint32_t group = 0; jpeg->output_scanline < jpeg->output_height;
	     group++) {
		for (uint32_t i = 0; i < img->plane_count; i++)
			point_rows(rows[i], &img->planes[i],
				   &jpeg->comp_info[i], group);
		(void)jpeg_read_raw_data(jpeg, planes, lines);
	}
}
