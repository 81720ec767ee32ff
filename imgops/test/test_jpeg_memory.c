/* SPDX-License-Identifier: MIT */
/*
 * Promises: with jpeg_memory libjpeg decodes and encodes to the same bytes as
 * with its own manager; when memory runs out at any request, or a limit is
 * reached, error_exit is called; all memory is freed in every case.
 */
#include "base/test/check.h"
#include "imgops/formats/jpeg/memory.h"
#include "imgops/test/support.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <jerror.h>

/* One use of libjpeg, under an error handler that jumps. */
struct run {
	union {
		struct jpeg_common_struct common;
		struct jpeg_decompress_struct decoder;
		struct jpeg_compress_struct encoder;
	} jpeg;
	struct jpeg_error_mgr errors;
	jmp_buf failed;
	struct jpeg_memory memory;
	const struct memory *heap; /* NULL: libjpeg's own manager */
	uint64_t bytes_max;
	int msg_code; /* of the error; 0: none */

	/* What libjpeg reads and writes. */
	struct bytes in;
	J_COLOR_SPACE space;
	bool raw, smooth, palette, progressive, optimize;
	uint8_t *out;
	size_t out_bytes, out_used;
};

static void on_error(j_common_ptr jpeg)
{
	struct run *r = jpeg->client_data;

	r->msg_code = jpeg->err->msg_code;
	longjmp(r->failed, 1);
}

static void on_message(j_common_ptr jpeg, int level)
{
	(void)jpeg;
	(void)level;
}

static void put(struct run *r, const void *data, size_t bytes)
{
	CHECK_NUMBER(bytes, <=, r->out_bytes - r->out_used);
	memcpy(r->out + r->out_used, data, bytes);
	r->out_used += bytes;
}

static void install(struct run *r)
{
	if (r->heap != NULL)
		jpeg_memory_install(&r->memory, &r->jpeg.common, r->heap,
				    r->bytes_max);
}

static void decode_step(struct run *r)
{
	struct jpeg_decompress_struct *jpeg = &r->jpeg.decoder;

	jpeg_create_decompress(jpeg);
	install(r);
	jpeg_mem_src(jpeg, r->in.data, r->in.count);
	(void)jpeg_read_header(jpeg, TRUE);
	if (r->space != JCS_UNKNOWN)
		jpeg->out_color_space = r->space;
	jpeg->do_block_smoothing = r->smooth;
	jpeg->quantize_colors = r->palette; /* two passes: virtual samples */
	(void)jpeg_start_decompress(jpeg);
	while (jpeg->output_scanline < jpeg->output_height) {
		uint8_t row[4 * 512];
		JSAMPROW at = row;

		CHECK_NUMBER(jpeg->output_width, <=, 512);
		(void)jpeg_read_scanlines(jpeg, &at, 1);
		put(r, row,
		    (size_t)jpeg->output_width *
			    (size_t)jpeg->output_components);
	}
	(void)jpeg_finish_decompress(jpeg);
}

/* jpeg_mem_dest() cannot be used if errors jump. */
static void destination_init(j_compress_ptr jpeg)
{
	struct run *r = jpeg->client_data;

	jpeg->dest->next_output_byte = r->out;
	jpeg->dest->free_in_buffer = r->out_bytes;
}

static boolean destination_full(j_compress_ptr jpeg)
{
	(void)jpeg;
	abort();
}

static void destination_end(j_compress_ptr jpeg)
{
	struct run *r = jpeg->client_data;

	r->out_used = r->out_bytes - jpeg->dest->free_in_buffer;
}

static void encode_step(struct run *r)
{
	struct jpeg_compress_struct *jpeg = &r->jpeg.encoder;
	struct jpeg_destination_mgr destination = {
		.init_destination = destination_init,
		.empty_output_buffer = destination_full,
		.term_destination = destination_end,
	};

	jpeg_create_compress(jpeg);
	install(r);
	jpeg->dest = &destination;
	jpeg->image_width = 201;
	jpeg->image_height = 133;
	jpeg->input_components = 3;
	jpeg->in_color_space = JCS_RGB;
	jpeg_set_defaults(jpeg);
	jpeg->optimize_coding = r->optimize;
	if (r->progressive)
		jpeg_simple_progression(jpeg);
	jpeg_start_compress(jpeg, TRUE);
	for (uint32_t y = 0; y < jpeg->image_height; y++) {
		uint8_t row[3 * 201];
		JSAMPROW at = row;

		for (uint32_t i = 0; i < sizeof(row); i++)
			row[i] = picture_sample(waves, i % 3, i / 3.0, y);
		(void)jpeg_write_scanlines(jpeg, &at, 1);
	}
	jpeg_finish_compress(jpeg);
}

/* Sets r->out to the result, or r->msg_code to the error. */
static void run(struct run *r, void (*step)(struct run *r))
{
	r->jpeg.common.err = jpeg_std_error(&r->errors);
	r->errors.error_exit = on_error;
	r->errors.emit_message = on_message;
	r->jpeg.common.client_data = r;
	r->out_bytes = (size_t)1 << 20;
	r->out = malloc(r->out_bytes);
	CHECK(r->out != NULL);
	if (setjmp(r->failed) == 0)
		step(r);
	jpeg_memory_release(&r->memory, &r->jpeg.common);
	jpeg_destroy(&r->jpeg.common);
}

/*
 * Run `plain` with libjpeg's own manager, then with this one, then once for
 * each allocation that can fail.
 */
static void check(const struct run *plain, void (*step)(struct run *r))
{
	struct run own = *plain, same = *plain;
	struct heap h;

	run(&own, step);
	CHECK_NUMBER(own.msg_code, ==, 0);
	CHECK_NUMBER(own.out_used, >, 100);

	heap_init(&h);
	same.heap = &h.memory;
	same.bytes_max = UINT64_MAX;
	run(&same, step);
	CHECK_NUMBER(same.msg_code, ==, 0);
	CHECK_NUMBER(same.out_used, ==, own.out_used);
	CHECK(memcmp(same.out, own.out, own.out_used) == 0);
	CHECK_NUMBER(h.alloc_count, >, 0);
	CHECK_NUMBER(h.live_count, ==, 0);
	CHECK_NUMBER(same.memory.account.bytes, ==, 0);
	free(same.out);

	for (uint32_t fail_at = 1, count = h.alloc_count; fail_at <= count;
	     fail_at++) {
		struct run failing = *plain;

		heap_init(&h);
		h.fail_at = fail_at;
		failing.heap = &h.memory;
		failing.bytes_max = UINT64_MAX;
		run(&failing, step);
		CHECK_NUMBER(failing.msg_code, ==, JERR_OUT_OF_MEMORY);
		CHECK(!failing.memory.account.over_limit);
		CHECK_NUMBER(h.live_count, ==, 0);
		free(failing.out);
	}
	free(own.out);
}

static const struct jpeg_spec sequential = {
	.width = 301, .height = 203, .h = { 2 }, .v = { 2 }
};

static const struct jpeg_spec progressive = {
	.width = 301, .height = 203, .h = { 2 }, .v = { 2 }, .progressive = true
};

static const struct jpeg_spec separate = { .width = 203,
					   .height = 301,
					   .h = { 2 },
					   .v = { 1 },
					   .separate_scans = true };

static const struct jpeg_spec arithmetic = {
	.width = 64, .height = 64, .arithmetic = true, .progressive = true
};

static void check_decode(const struct jpeg_spec *spec, struct run r)
{
	r.in = jpeg_make(spec);
	check(&r, decode_step);
	free(r.in.data);
}

static void test_decodes_to_the_same_samples(void)
{
	const struct jpeg_spec *specs[] = { &sequential, &progressive,
					    &separate, &arithmetic };

	for (uint32_t i = 0; i < ARRAY_SIZE(specs); i++) {
		check_decode(specs[i], (struct run){ .space = JCS_RGB });
		check_decode(specs[i], (struct run){ .space = JCS_YCbCr });
		check_decode(specs[i],
			     (struct run){ .space = JCS_RGB, .palette = true });
	}
}

/* Smoothing looks at blocks of rows that are not decoded yet. */
static void test_reads_ahead_of_what_is_written(void)
{
	struct run r = { .space = JCS_RGB, .smooth = true };

	r.in = jpeg_make(&progressive);
	for (size_t keep = r.in.count / 8; keep < r.in.count;
	     keep += r.in.count / 8) {
		struct run cut = r;

		cut.in.count = keep;
		check(&cut, decode_step);
	}
	free(r.in.data);
}

static void test_encodes_to_the_same_bytes(void)
{
	check(&(struct run){ 0 }, encode_step);
	check(&(struct run){ .optimize = true }, encode_step);
	check(&(struct run){ .progressive = true }, encode_step);
}

/* The smallest limit that is enough, by trial. */
static void test_stays_within_the_limit(void)
{
	uint64_t enough = (uint64_t)1 << 24, too_little = 0;
	struct run r = { .space = JCS_RGB };
	struct heap h;

	heap_init(&h);
	r.heap = &h.memory;
	r.in = jpeg_make(&progressive);
	while (enough - too_little > 1) {
		struct run trial = r;

		trial.bytes_max = too_little + (enough - too_little) / 2;
		run(&trial, decode_step);
		CHECK_NUMBER(h.live_count, ==, 0);
		free(trial.out);
		if (trial.msg_code == 0) {
			enough = trial.bytes_max;
		} else {
			CHECK_NUMBER(trial.msg_code, ==, JERR_OUT_OF_MEMORY);
			CHECK(trial.memory.account.over_limit);
			too_little = trial.bytes_max;
		}
	}
	/* At least all coefficients; at most some rows more. */
	CHECK_NUMBER(enough, >, 304 * 208 * 3);
	CHECK_NUMBER(enough, <, 304 * 208 * 3 + (200 << 10));
	free(r.in.data);
}

/* A compressor with this memory manager, to call its methods directly. */
static void methods_init(struct run *r, struct heap *h)
{
	*r = (struct run){ 0 };
	r->jpeg.common.err = jpeg_std_error(&r->errors);
	r->errors.error_exit = on_error;
	heap_init(h);
	jpeg_create_compress(&r->jpeg.encoder);
	r->jpeg.common.client_data = r;
	jpeg_memory_install(&r->memory, &r->jpeg.common, &h->memory,
			    UINT64_MAX);
}

static void test_the_limit_may_be_lowered(void)
{
	struct run r;
	struct heap h;

	methods_init(&r, &h);

	j_common_ptr jpeg = &r.jpeg.common;

	(void)jpeg->mem->alloc_large(jpeg, JPOOL_IMAGE, 100000);
	CHECK_NUMBER(r.memory.account.bytes, >, 50000);
	r.memory.account.bytes_max = 50000;
	r.msg_code = 0;
	if (setjmp(r.failed) == 0)
		(void)jpeg->mem->alloc_large(jpeg, JPOOL_IMAGE, 100000);
	CHECK_NUMBER(r.msg_code, ==, JERR_OUT_OF_MEMORY);
	CHECK(r.memory.account.over_limit);
	jpeg_destroy(jpeg);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_rows_are_aligned_and_apart(void)
{
	struct run r;
	struct heap h;

	methods_init(&r, &h);
	for (JDIMENSION width = 1; width < 200; width++) {
		j_common_ptr jpeg = &r.jpeg.common;
		size_t stride = (width + 63) / 64 * 64;
		JSAMPARRAY rows =
			jpeg->mem->alloc_sarray(jpeg, (int)width % 2, width, 5);
		JBLOCKARRAY blocks =
			jpeg->mem->alloc_barray(jpeg, JPOOL_IMAGE, width, 3);

		for (uint32_t y = 0; y < 5; y++) {
			CHECK_NUMBER((uintptr_t)rows[y] % 32, ==, 0);
			memset(rows[y], (int)y, stride);
		}
		for (uint32_t y = 0; y < 3; y++) {
			CHECK_NUMBER((uintptr_t)blocks[y] % 32, ==, 0);
			memset(blocks[y], 0xff, width * sizeof(JBLOCK));
		}
		for (uint32_t y = 0; y < 5; y++)
			CHECK(rows[y][0] == y && rows[y][stride - 1] == y);
	}
	/* Permanent memory stays when that of the picture is freed. */
	JSAMPARRAY kept = r.jpeg.common.mem->alloc_sarray(
		&r.jpeg.common, JPOOL_PERMANENT, 10000, 2);

	jpeg_abort(&r.jpeg.common);
	CHECK_NUMBER(h.live_count, >, 0);
	memset(kept[1], 1, 10000);
	/* Without jpeg_memory_release(): destroying does it. */
	jpeg_destroy(&r.jpeg.common);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static bool fails_with(struct run *r, int msg_code, jvirt_barray_ptr blocks,
		       JDIMENSION start, JDIMENSION count, boolean writable)
{
	j_common_ptr jpeg = &r->jpeg.common;

	r->msg_code = 0;
	if (setjmp(r->failed) == 0)
		(void)jpeg->mem->access_virt_barray(jpeg, blocks, start, count,
						    writable);
	return r->msg_code == msg_code;
}

static void test_virtual_rows_are_zero_and_bounded(void)
{
	struct run r;
	struct heap h;
	const int bad = JERR_BAD_VIRTUAL_ACCESS;

	methods_init(&r, &h);

	j_common_ptr jpeg = &r.jpeg.common;
	jvirt_barray_ptr zeroed = jpeg->mem->request_virt_barray(
		jpeg, JPOOL_IMAGE, TRUE, 7, 10, 4);
	jvirt_barray_ptr plain = jpeg->mem->request_virt_barray(
		jpeg, JPOOL_IMAGE, FALSE, 7, 10, 4);

	/* The array was not allocated. */
	CHECK(fails_with(&r, bad, zeroed, 0, 1, TRUE));
	jpeg->mem->realize_virt_arrays(jpeg);
	CHECK(fails_with(&r, bad, zeroed, 0, 5, TRUE)); /* too many */
	CHECK(fails_with(&r, bad, zeroed, 8, 3, TRUE)); /* past the end */
	CHECK(fails_with(&r, bad, zeroed, 10, 1, FALSE));
	CHECK(fails_with(&r, bad, zeroed, UINT32_MAX, 2, FALSE));
	CHECK(fails_with(&r, bad, zeroed, 3, 1, TRUE)); /* rows skipped */
	CHECK(fails_with(&r, bad, plain, 0, 1, FALSE)); /* never written */
	CHECK(fails_with(&r, 0, plain, 0, 4, TRUE));
	CHECK(fails_with(&r, 0, plain, 0, 4, FALSE));
	CHECK(fails_with(&r, 0, zeroed, 6, 4, FALSE)); /* read ahead */

	JBLOCKARRAY rows =
		jpeg->mem->access_virt_barray(jpeg, zeroed, 0, 2, TRUE);

	memset(rows[0], 0xff, sizeof(JBLOCK) * 7);
	memset(rows[1], 0xff, sizeof(JBLOCK) * 7);
	rows = jpeg->mem->access_virt_barray(jpeg, zeroed, 1, 4, TRUE);
	for (uint32_t i = 0; i < 7; i++)
		for (uint32_t k = 0; k < DCTSIZE2; k++) {
			/* What was written is still there. */
			CHECK_NUMBER(rows[0][i][k], ==, -1);
			CHECK_NUMBER(rows[1][i][k], ==, 0);
			CHECK_NUMBER(rows[3][i][k], ==, 0);
		}
	jpeg_memory_release(&r.memory, jpeg);
	CHECK_NUMBER(h.live_count, ==, 0);
	jpeg_destroy(jpeg);
}

int main(void)
{
	test_decodes_to_the_same_samples();
	test_reads_ahead_of_what_is_written();
	test_encodes_to_the_same_bytes();
	test_stays_within_the_limit();
	test_the_limit_may_be_lowered();
	test_rows_are_aligned_and_apart();
	test_virtual_rows_are_zero_and_bounded();
	return 0;
}
