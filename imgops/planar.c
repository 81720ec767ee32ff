/* SPDX-License-Identifier: MIT */
#include "imgops/planar.h"

#include <assert.h>

bool planar_can_read(const struct jpeg_decompress_struct *jpeg)
{
	switch (jpeg->jpeg_color_space) {
	case JCS_GRAYSCALE:
	case JCS_YCbCr:
	case JCS_RGB:
	case JCS_CMYK:
	case JCS_YCCK:
		return true;
	default:
		return false;
	}
}

static enum img_space space_of(J_COLOR_SPACE space)
{
	switch (space) {
	case JCS_GRAYSCALE:
		return IMG_GREY;
	case JCS_RGB:
		return IMG_RGB;
	case JCS_CMYK:
		return IMG_CMYK;
	case JCS_YCCK:
		return IMG_YCCK;
	default:
		return IMG_YCBCR;
	}
}

static uint32_t whole(double span)
{
	uint32_t n = (uint32_t)span;

	return n < span ? n + 1 : n;
}

void planar_shape(struct image *img, const struct jpeg_decompress_struct *jpeg,
		  uint32_t eighths)
{
	assert(jpeg->num_components <= IMG_PLANES_MAX);
	*img = (struct image){
		.plane_count = (uint32_t)jpeg->num_components,
		.space = space_of(jpeg->jpeg_color_space),
		.inks_inverted = jpeg->saw_Adobe_marker,
	};
	for (uint32_t i = 0; i < img->plane_count; i++) {
		const jpeg_component_info *c = &jpeg->comp_info[i];
		double x =
			(double)jpeg->image_width * eighths * c->h_samp_factor;
		double y =
			(double)jpeg->image_height * eighths * c->v_samp_factor;
		double span_x = x / (DCTSIZE * jpeg->max_h_samp_factor);
		double span_y = y / (DCTSIZE * jpeg->max_v_samp_factor);

		img->planes[i] = (struct img_plane){
			.width = whole(span_x),
			.height = whole(span_y),
			.span_x = span_x,
			.span_y = span_y,
		};
	}
}

/* Point `rows` at the samples of one component in row of MCUs `group`. */
static void point_rows(JSAMPROW *rows, const struct img_plane *p,
		       const jpeg_component_info *c, uint32_t group)
{
	uint32_t count = (uint32_t)(c->v_samp_factor * DCTSIZE);

	assert(count <= IMAGE_ROW_GROUP_MAX);
	for (uint32_t i = 0; i < count; i++)
		rows[i] = p->samples +
			  ((size_t)group * count + i) * p->stride_bytes;
}

void planar_read(struct image *img, struct jpeg_decompress_struct *jpeg)
{
	JSAMPROW rows[IMG_PLANES_MAX][IMAGE_ROW_GROUP_MAX];
	JSAMPARRAY planes[IMG_PLANES_MAX] = { rows[0], rows[1], rows[2],
					      rows[3] };
	JDIMENSION lines = (JDIMENSION)(jpeg->max_v_samp_factor * DCTSIZE);

	for (uint32_t group = 0; jpeg->output_scanline < jpeg->output_height;
	     group++) {
		for (uint32_t i = 0; i < img->plane_count; i++)
			point_rows(rows[i], &img->planes[i],
				   &jpeg->comp_info[i], group);
		(void)jpeg_read_raw_data(jpeg, planes, lines);
	}
}
