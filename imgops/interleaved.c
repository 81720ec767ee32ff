/* SPDX-License-Identifier: MIT */
#include "imgops/interleaved.h"

#include <assert.h>

enum {
	YCBCR_PLANES = 3,
	FIX_BITS = 16,
	FIX_HALF = 1 << (FIX_BITS - 1),
	CHROMA_ZERO = 128 << FIX_BITS,
};

#define FIX(x) ((int32_t)((x) * (1 << FIX_BITS) + 0.5))

bool interleaved_prepare(struct jpeg_decompress_struct *jpeg)
{
	switch (jpeg->jpeg_color_space) {
	case JCS_RGB:
		jpeg->out_color_space = JCS_RGB;
		return true;
	case JCS_CMYK:
	case JCS_YCCK:
		jpeg->out_color_space = JCS_CMYK;
		return true;
	default:
		return false;
	}
}

void interleaved_shape(struct image *img,
		       const struct jpeg_decompress_struct *jpeg)
{
	double scale = jpeg->scale_num / (double)jpeg->scale_denom;

	*img = (struct image){ .plane_count = YCBCR_PLANES,
			       .space = IMG_YCBCR };
	for (uint32_t i = 0; i < YCBCR_PLANES; i++)
		img->planes[i] = (struct img_plane){
			.width = jpeg->output_width,
			.height = jpeg->output_height,
			.span_x = jpeg->image_width * scale,
			.span_y = jpeg->image_height * scale,
		};
}

/* JFIF 1.02: ITU-R BT.601 in full range.  The sums cannot leave 0..255. */
static void store(struct image *img, uint32_t x, uint32_t y, int32_t r,
		  int32_t g, int32_t b)
{
	int32_t value[YCBCR_PLANES] = {
		FIX(0.299) * r + FIX(0.587) * g + FIX(0.114) * b + FIX_HALF,
		-FIX(0.168736) * r - FIX(0.331264) * g + FIX(0.5) * b +
			CHROMA_ZERO + FIX_HALF - 1,
		FIX(0.5) * r - FIX(0.418688) * g - FIX(0.081312) * b +
			CHROMA_ZERO + FIX_HALF - 1,
	};

	for (uint32_t i = 0; i < YCBCR_PLANES; i++) {
		struct img_plane *p = &img->planes[i];

		p->samples[y * p->stride_bytes + x] =
			(uint8_t)(value[i] >> FIX_BITS);
	}
}

static int32_t times(int32_t a, int32_t b)
{
	return (a * b + 127) / 255;
}

/* `ink_flip` 255 turns plain CMYK (255: full ink) into Adobe's inverse. */
static void store_row(struct image *img, uint32_t y, const JSAMPLE *row,
		      bool is_cmyk, int ink_flip)
{
	for (uint32_t x = 0; x < img->planes[0].width; x++) {
		if (is_cmyk) {
			int32_t k = row[3] ^ ink_flip;

			store(img, x, y, times(row[0] ^ ink_flip, k),
			      times(row[1] ^ ink_flip, k),
			      times(row[2] ^ ink_flip, k));
			row += 4;
		} else {
			store(img, x, y, row[0], row[1], row[2]);
			row += 3;
		}
	}
}

void interleaved_read(struct image *img, struct jpeg_decompress_struct *jpeg)
{
	bool is_cmyk = jpeg->out_color_space == JCS_CMYK;
	int ink_flip = jpeg->saw_Adobe_marker ? 0 : 255;
	JSAMPARRAY row = jpeg->mem->alloc_sarray(
		(j_common_ptr)jpeg, JPOOL_IMAGE,
		jpeg->output_width * (JDIMENSION)jpeg->output_components, 1);

	assert(jpeg->output_width == img->planes[0].width);
	while (jpeg->output_scanline < jpeg->output_height) {
		uint32_t y = jpeg->output_scanline;

		(void)jpeg_read_scanlines(jpeg, row, 1);
		store_row(img, y, row[0], is_cmyk, ink_flip);
	}
}
