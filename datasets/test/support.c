/* SPDX-License-Identifier: MIT */
#include "datasets/test/support.h"

#include "base/test/check.h"

#include <stdbool.h>
#include <stdio.h>
#include <jpeglib.h>
#include <stdlib.h>
#include <string.h>

static void stop_at_warning(j_common_ptr c, int level)
{
	if (level < 0) {
		c->err->output_message(c);
		abort();
	}
}

void decode_strictly(struct picture *out, const uint8_t *bytes,
		     size_t size_bytes)
{
	struct jpeg_decompress_struct d;
	struct jpeg_error_mgr errors;

	d.err = jpeg_std_error(&errors);
	errors.emit_message = stop_at_warning;
	jpeg_create_decompress(&d);
	jpeg_mem_src(&d, bytes, size_bytes);
	jpeg_read_header(&d, TRUE);
	d.out_color_space = JCS_RGB;
	jpeg_start_decompress(&d);
	picture_init(out, d.output_width, d.output_height);
	while (d.output_scanline < d.output_height) {
		JSAMPROW row =
			out->rgb + (size_t)d.output_scanline * out->width * 3;

		jpeg_read_scanlines(&d, &row, 1);
	}
	jpeg_finish_decompress(&d);
	jpeg_destroy_decompress(&d);
}

void draw(struct picture *out, uint32_t width, uint32_t height)
{
	picture_init(out, width, height);
	for (uint32_t y = 0; y < height; y++)
		for (uint32_t x = 0; x < width; x++) {
			uint8_t *to = out->rgb + ((size_t)y * width + x) * 3;

			to[0] = (uint8_t)(255 * x / width);
			to[1] = (uint8_t)(255 * y / height);
			to[2] = (x / 8 + y / 16) % 2 ? 200 : 40;
		}
}

/*
 * TIFF defines an orientation by where row 0 and column 0 of the stored picture
 * are shown.
 */
void view(struct picture *out, const struct picture *in, int orientation)
{
	uint32_t w = in->width, h = in->height;
	bool sideways = orientation == 6 || orientation == 8;

	picture_init(out, sideways ? h : w, sideways ? w : h);
	for (uint32_t y = 0; y < h; y++)
		for (uint32_t x = 0; x < w; x++) {
			uint32_t to_x = x, to_y = y;

			if (orientation == 3) {
				/* Row 0 at the bottom, column 0 right. */
				to_x = w - 1 - x;
				to_y = h - 1 - y;
			} else if (orientation == 6) {
				/* Row 0 at the right, column 0 at the top. */
				to_x = h - 1 - y;
				to_y = x;
			} else if (orientation == 8) {
				/* Row 0 at the left, column 0 at the bottom. */
				to_x = y;
				to_y = w - 1 - x;
			}
			memcpy(out->rgb +
				       ((size_t)to_y * out->width + to_x) * 3,
			       in->rgb + ((size_t)y * w + x) * 3, 3);
		}
}

double mean_difference(const struct picture *a, const struct picture *b)
{
	size_t bytes = (size_t)a->width * a->height * 3;
	double sum = 0;

	CHECK_NUMBER(a->width, ==, b->width);
	CHECK_NUMBER(a->height, ==, b->height);
	for (size_t i = 0; i < bytes; i++)
		sum += abs(a->rgb[i] - b->rgb[i]);
	return sum / (double)bytes;
}
