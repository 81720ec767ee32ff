/* SPDX-License-Identifier: MIT */
#include "datasets/encode.h"

#include <assert.h>
#include <stdio.h>
#include <jpeglib.h>
#include <stdlib.h>

const char *sampling_name(enum sampling sampling)
{
	static const char *const names[] = { "4:2:0", "4:2:2", "4:4:4" };

	return names[sampling];
}

static void choose(struct jpeg_compress_struct *c, const struct encoding *e)
{
	jpeg_set_defaults(c);
	jpeg_set_quality(c, e->quality, TRUE);
	c->optimize_coding = e->optimised;
	if (e->grey) {
		jpeg_set_colorspace(c, JCS_GRAYSCALE);
	} else {
		c->comp_info[0].h_samp_factor =
			e->sampling == SAMPLING_444 ? 1 : 2;
		c->comp_info[0].v_samp_factor =
			e->sampling == SAMPLING_420 ? 2 : 1;
	}
	if (e->progressive)
		jpeg_simple_progression(c);
	for (uint32_t i = 0; i < e->segment_count; i++)
		if (e->segments[i].marker == JPEG_APP0 + 1)
			c->write_JFIF_header = FALSE; /* as cameras do */
}

void encode_picture(struct jpeg *out, const struct picture *p,
		    const struct encoding *e)
{
	struct jpeg_compress_struct c;
	struct jpeg_error_mgr errors;
	unsigned long size_bytes = 0;

	*out = (struct jpeg){ 0 };
	c.err = jpeg_std_error(&errors); /* an error ends the program */
	jpeg_create_compress(&c);
	jpeg_mem_dest(&c, &out->bytes, &size_bytes);
	c.image_width = p->width;
	c.image_height = p->height;
	c.input_components = 3;
	c.in_color_space = JCS_RGB;
	choose(&c, e);
	jpeg_start_compress(&c, TRUE);
	for (uint32_t i = 0; i < e->segment_count; i++) {
		assert(e->segments[i].size_bytes <= SEGMENT_BYTES_MAX);
		jpeg_write_marker(&c, e->segments[i].marker,
				  e->segments[i].bytes,
				  (unsigned)e->segments[i].size_bytes);
	}
	while (c.next_scanline < c.image_height) {
		JSAMPROW row = p->rgb + (size_t)c.next_scanline * p->width * 3;

		jpeg_write_scanlines(&c, &row, 1);
	}
	jpeg_finish_compress(&c);
	jpeg_destroy_compress(&c);
	out->size_bytes = size_bytes;
}

void jpeg_release(struct jpeg *j)
{
	free(j->bytes);
	*j = (struct jpeg){ 0 };
}
