/* SPDX-License-Identifier: MIT */
/* Reads JPEGs by libjpeg alone; tests compare results with this. */
#include "imgops/test/support.h"

#include "base/test/check.h"

#include <stdlib.h>
#include <string.h>

static void view_header(struct jpeg_view *view,
			const struct jpeg_decompress_struct *jpeg)
{
	view->components = jpeg->num_components;
	for (int i = 0; i < jpeg->num_components; i++) {
		view->h[i] = jpeg->comp_info[i].h_samp_factor;
		view->v[i] = jpeg->comp_info[i].v_samp_factor;
	}
	for (jpeg_saved_marker_ptr m = jpeg->marker_list; m != NULL;
	     m = m->next)
		if (m->marker != JPEG_APP0 || m->data_length != 14 ||
		    memcmp(m->data, "JFIF", 5) != 0)
			view->marker_count++;
}

struct bytes jpeg_component(struct bytes bytes, int index)
{
	struct jpeg_decompress_struct in;
	struct jpeg_compress_struct out;
	struct jpeg_error_mgr errors;
	unsigned char *data = NULL;
	unsigned long count = 0;

	in.err = out.err = jpeg_std_error(&errors);
	jpeg_create_decompress(&in);
	jpeg_create_compress(&out);
	jpeg_mem_src(&in, bytes.data, bytes.count);
	jpeg_mem_dest(&out, &data, &count);
	(void)jpeg_read_header(&in, TRUE);

	jvirt_barray_ptr *blocks = jpeg_read_coefficients(&in);
	const jpeg_component_info *c = &in.comp_info[index];

	out.image_width = c->downsampled_width;
	out.image_height = c->downsampled_height;
	out.input_components = 1;
	out.in_color_space = JCS_GRAYSCALE;
	jpeg_set_defaults(&out);
	out.quant_tbl_ptrs[0] = jpeg_alloc_quant_table((j_common_ptr)&out);
	*out.quant_tbl_ptrs[0] = *c->quant_table;
	jpeg_write_coefficients(&out, &blocks[index]);
	jpeg_finish_compress(&out);
	jpeg_destroy_compress(&out);
	jpeg_destroy_decompress(&in);
	return (struct bytes){ data, count };
}

struct jpeg_blocks jpeg_read_blocks(struct bytes bytes)
{
	struct jpeg_decompress_struct jpeg;
	struct jpeg_error_mgr errors;
	struct jpeg_blocks blocks;

	jpeg.err = jpeg_std_error(&errors);
	jpeg_create_decompress(&jpeg);
	jpeg_mem_src(&jpeg, bytes.data, bytes.count);
	(void)jpeg_read_header(&jpeg, TRUE);

	jvirt_barray_ptr *arrays = jpeg_read_coefficients(&jpeg);
	const jpeg_component_info *c = &jpeg.comp_info[0];

	blocks.across = c->width_in_blocks;
	blocks.down = c->height_in_blocks;
	blocks.values =
		malloc(sizeof(*blocks.values) * blocks.across * blocks.down);
	CHECK_NUMBER(jpeg.num_components, ==, 1);
	CHECK(blocks.values != NULL);
	for (uint32_t y = 0; y < blocks.down; y++) {
		JBLOCKARRAY row = jpeg.mem->access_virt_barray(
			(j_common_ptr)&jpeg, arrays[0], y, 1, FALSE);

		for (uint32_t x = 0; x < blocks.across; x++)
			for (uint32_t k = 0; k < DCTSIZE2; k++)
				blocks.values[y * blocks.across + x][k] =
					row[0][x][k] *
					c->quant_table->quantval[k];
	}
	jpeg_destroy_decompress(&jpeg);
	return blocks;
}

struct jpeg_view jpeg_read(struct bytes bytes, J_COLOR_SPACE space,
			   int dct_scale)
{
	struct jpeg_decompress_struct jpeg;
	struct jpeg_error_mgr errors;
	struct jpeg_view view = { 0 };

	jpeg.err = jpeg_std_error(&errors);
	jpeg_create_decompress(&jpeg);
	jpeg_mem_src(&jpeg, bytes.data, bytes.count);
	for (int i = 0; i < 16; i++)
		jpeg_save_markers(&jpeg, JPEG_APP0 + i, 0xffff);
	jpeg_save_markers(&jpeg, JPEG_COM, 0xffff);
	(void)jpeg_read_header(&jpeg, TRUE);
	view_header(&view, &jpeg);
	jpeg.out_color_space = space;
	jpeg.scale_num = (unsigned)dct_scale;
	jpeg.scale_denom = DCTSIZE;
	jpeg.dct_method = JDCT_ISLOW;
	jpeg.do_block_smoothing = FALSE;
	(void)jpeg_start_decompress(&jpeg);
	view.width = jpeg.output_width;
	view.height = jpeg.output_height;
	view.channels = (uint32_t)jpeg.output_components;
	view.pixels = malloc((size_t)view.width * view.height * view.channels);
	CHECK(view.pixels != NULL);
	while (jpeg.output_scanline < jpeg.output_height) {
		JSAMPROW row = view.pixels + (size_t)jpeg.output_scanline *
						     view.width * view.channels;

		(void)jpeg_read_scanlines(&jpeg, &row, 1);
	}
	(void)jpeg_finish_decompress(&jpeg);
	CHECK_NUMBER(errors.num_warnings, ==, 0);
	jpeg_destroy_decompress(&jpeg);
	return view;
}

uint8_t *jpeg_marker(struct bytes jpeg, uint8_t code)
{
	uint8_t *at = jpeg.data + 2;

	while (at[1] != code) {
		CHECK_NUMBER(at[0], ==, 0xff);
		at += 2 + (at[2] << 8 | at[3]);
		CHECK_NUMBER(at + 4, <, jpeg.data + jpeg.count);
	}
	return at + 4;
}

/* Find the data of each row of MCUs, up to the marker after it. */
static void find_rows(struct bytes rows[JPEG_TILE_ROWS], struct bytes jpeg)
{
	uint8_t *sos = jpeg_marker(jpeg, 0xda);
	uint8_t *at = sos + (sos[-2] << 8 | sos[-1]) - 2;

	for (int i = 0; i < JPEG_TILE_ROWS; i++) {
		uint8_t *start = at;
		uint8_t after =
			i + 1 < JPEG_TILE_ROWS ? (uint8_t)(0xd0 + i) : 0xd9;

		while (at[0] != 0xff || at[1] == 0)
			at++;
		CHECK_NUMBER(at[1], ==, after);
		CHECK_NUMBER(at + 2, <=, jpeg.data + jpeg.count);
		rows[i] = (struct bytes){ start, (size_t)(at - start) };
		at += 2;
	}
}

struct bytes jpeg_of_height(struct bytes jpeg, uint32_t height)
{
	struct bytes rows[JPEG_TILE_ROWS], tall = { NULL, 0 };
	uint8_t *frame = jpeg_marker(jpeg, 0xc0);
	uint32_t tile_height = (uint32_t)(frame[1] << 8 | frame[2]);
	uint32_t row_height = tile_height / JPEG_TILE_ROWS;
	uint32_t count = (height + row_height - 1) / row_height;
	size_t head;

	find_rows(rows, jpeg);
	head = (size_t)(rows[0].data - jpeg.data);
	CHECK_NUMBER(tile_height % JPEG_TILE_ROWS, ==, 0);
	CHECK_NUMBER(height, <, 65536);
	tall.data = malloc(head + (count / JPEG_TILE_ROWS + 1) * jpeg.count);
	CHECK(tall.data != NULL);
	memcpy(tall.data, jpeg.data, head);
	tall.data[frame - jpeg.data + 1] = (uint8_t)(height >> 8);
	tall.data[frame - jpeg.data + 2] = (uint8_t)height;
	tall.count = head;
	for (uint32_t i = 0; i < count; i++) {
		struct bytes row = rows[i % JPEG_TILE_ROWS];

		memcpy(tall.data + tall.count, row.data, row.count);
		tall.count += row.count;
		tall.data[tall.count++] = 0xff;
		tall.data[tall.count++] =
			i + 1 < count ? (uint8_t)(0xd0 + i % JPEG_TILE_ROWS) :
					0xd9;
	}
	return tall;
}

struct bytes jpeg_with_scans(struct bytes jpeg, const jpeg_scan_info *script,
			     int scan_count)
{
	struct jpeg_decompress_struct from;
	struct jpeg_compress_struct to;
	struct jpeg_error_mgr errors;
	unsigned char *data = NULL;
	unsigned long count = 0;

	from.err = to.err = jpeg_std_error(&errors);
	jpeg_create_decompress(&from);
	jpeg_create_compress(&to);
	jpeg_mem_src(&from, jpeg.data, jpeg.count);
	(void)jpeg_read_header(&from, TRUE);
	jpeg_mem_dest(&to, &data, &count);
	jvirt_barray_ptr *coefficients = jpeg_read_coefficients(&from);

	jpeg_copy_critical_parameters(&from, &to);
	to.scan_info = script;
	to.num_scans = scan_count;
	to.arith_code = from.arith_code;
	to.restart_interval = from.restart_interval;
	jpeg_write_coefficients(&to, coefficients);
	jpeg_finish_compress(&to);
	jpeg_destroy_compress(&to);
	(void)jpeg_finish_decompress(&from);
	jpeg_destroy_decompress(&from);
	free(jpeg.data);
	return (struct bytes){ data, count };
}
