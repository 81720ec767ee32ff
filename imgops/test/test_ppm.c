/* SPDX-License-Identifier: MIT */
/*
 * Promises: P5 and P6 are read as netpbm writes them, with comments and any
 * white space, with 1 and 2 bytes a sample and any value of white; a header
 * that is wrong, too long or over a limit is named; a file without its last
 * rows is TRUNCATED or, if `lenient`, grey below; results are P5 or P6 with
 * exact sizes and the colours of the planes.
 */
#include "imgops/test/support.h"

#include "base/test/check.h"
#include "imgops/image.h"

#include <stdlib.h>
#include <string.h>

#define TEXT(text) ((struct bytes){ (uint8_t *)(text), sizeof(text) - 1 })

static void test_headers(void)
{
	static const struct {
		const char *text;
		enum img_err err;
	} cases[] = {
		{ "P6 2 3 255 ", IMG_OK },
		{ "P6\n2 3\n255\n", IMG_OK },
		{ "P5\t2\v3\f65535\r", IMG_OK },
		{ "P6#c\n#P6 9 9\r\n 2#x\n3 #\n\n1\n", IMG_OK },
		{ "P6 0002 3 255\n", IMG_OK },
		{ "P6 #9 9\r2 3 255\n", IMG_OK },
		{ "P6 2 3 255", IMG_ERR_TRUNCATED },
		{ "P6 2 3 ", IMG_ERR_TRUNCATED },
		{ "P6 2 3", IMG_ERR_TRUNCATED },
		{ "P6 #", IMG_ERR_TRUNCATED },
		{ "P6", IMG_ERR_TRUNCATED },
		{ "P6 2 3 255#\n", IMG_ERR_CORRUPT },
		{ "P6 2 3 255x", IMG_ERR_CORRUPT },
		{ "P6 2 -3 255 ", IMG_ERR_CORRUPT },
		{ "P6 2.5 3 255 ", IMG_ERR_CORRUPT },
		{ "P6 0 3 255 ", IMG_ERR_CORRUPT },
		{ "P6 2 3 0 ", IMG_ERR_CORRUPT },
		{ "P6 2 3 65536 ", IMG_ERR_CORRUPT },
		{ "P6 65501 3 255 ", IMG_ERR_TOO_LARGE },
		{ "P6 2 4294967297 255 ", IMG_ERR_TOO_LARGE },
		{ "P6 2 99999999999999999999999 255 ", IMG_ERR_TOO_LARGE },
		{ "P6x2 3 255 ", IMG_ERR_UNKNOWN_FORMAT },
		{ "P4 2 3 ", IMG_ERR_UNKNOWN_FORMAT },
		{ "P7\nWIDTH 2\n", IMG_ERR_UNKNOWN_FORMAT },
		{ "P", IMG_ERR_UNKNOWN_FORMAT },
		{ "", IMG_ERR_UNKNOWN_FORMAT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bytes file = { (uint8_t *)cases[i].text,
				      strlen(cases[i].text) };
		struct img_header h;
		enum img_err err = probe_bytes(&h, file);

		check_case("cases[%zu]: %s", i, cases[i].text);
		CHECK_NUMBER(err, ==, cases[i].err);
		/* Asked again, the answer is the same. */
		if (err == IMG_ERR_TOO_LARGE)
			CHECK_NUMBER(img_probe_more(&h, file.data, file.count,
						    &no_limits),
				     ==, err);
		if (err == IMG_OK)
			CHECK(h.format == img_formats[IMG_FORMAT_PPM] &&
			      h.stored.width_px == 2 &&
			      h.stored.height_px == 3 &&
			      h.space == (file.data[1] == '5' ? IMG_GREY :
								IMG_RGB));
	}
}

/* Comments do not go on for ever, however slowly they come. */
static void test_long_header(void)
{
	struct bytes file = { malloc(10000), 10000 };
	struct img_header h = { 0 };

	CHECK(file.data != NULL);
	memset(file.data, '#', file.count);
	memcpy(file.data, "P6", 2);
	for (size_t n = 2; n < 4096; n += 100)
		CHECK_NUMBER(img_probe_more(&h, file.data, n, &no_limits), ==,
			     IMG_ERR_TRUNCATED);
	CHECK_NUMBER(probe_bytes(&h, file), ==, IMG_ERR_CORRUPT);
	memcpy(file.data + 4080, "\n2 3 255\n", 9);
	CHECK_NUMBER(probe_bytes(&h, file), ==, IMG_OK);
	free(file.data);
}

static void check_samples(struct bytes file, const uint8_t *samples,
			  struct img_size size)
{
	struct image img = { 0 };
	struct heap h;

	heap_init(&h);
	CHECK_NUMBER(decode_bytes(&img, file.data, file.count, &no_limits, &h),
		     ==, IMG_OK);
	CHECK_NUMBER(img.planes[0].width, ==, size.width_px);
	CHECK_NUMBER(img.planes[0].height, ==, size.height_px);
	CHECK_NUMBER(img.notes, ==, 0);
	for (uint32_t y = 0; y < size.height_px; y++)
		for (uint32_t x = 0; x < size.width_px; x++)
			for (uint32_t i = 0; i < img.plane_count; i++)
				CHECK_NUMBER(sample(&img.planes[i], x, y), ==,
					     *samples++);
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_samples(void)
{
	check_samples(TEXT("P6 2 1 255\n\1\2\3\xff\0\x80"),
		      (const uint8_t *)"\1\2\3\xff\0\x80",
		      (struct img_size){ 2, 1 });
	/* The first sample may look like white space; more may follow. */
	check_samples(TEXT("P5 1 2 255\n\n#P5 1 1 255\n "),
		      (const uint8_t *)"\n#", (struct img_size){ 1, 2 });
	/* 5 is white; more than white is white. */
	check_samples(TEXT("P5 4 1 5 \0\1\5\xff"),
		      (const uint8_t *)"\0\x33\xff\xff",
		      (struct img_size){ 4, 1 });
	check_samples(TEXT("P5 4 1 65535 \0\0\x01\x01\x80\x80\xff\xff"),
		      (const uint8_t *)"\0\1\x80\xff",
		      (struct img_size){ 4, 1 });
	check_samples(TEXT("P6 1 1 1023\n\3\xff\0\0\2\0"),
		      (const uint8_t *)"\xff\0\x80", (struct img_size){ 1, 1 });
}

static void test_damage(void)
{
	struct bytes file = TEXT("P6 1 3 255\n\1\2\3\4\5\6\7\x8");
	struct img_transform lenient = { .quality = 80, .lenient = true };
	struct image img = { 0 };
	struct heap h;

	heap_init(&h);
	CHECK_NUMBER(decode_bytes(&img, file.data, file.count, &no_limits, &h),
		     ==, IMG_ERR_TRUNCATED);
	CHECK_NUMBER(decode_transform(&img, file.data, file.count, &lenient,
				      &no_limits, &h),
		     ==, IMG_OK);
	CHECK_NUMBER(img.notes, ==, IMG_NOTE_DAMAGED);
	for (uint32_t i = 0; i < 3; i++) {
		CHECK_NUMBER(sample(&img.planes[i], 0, 0), ==, i + 1);
		CHECK_NUMBER(sample(&img.planes[i], 0, 1), ==, i + 4);
		CHECK_NUMBER(sample(&img.planes[i], 0, 2), ==, 128);
	}
	img_release(&img);
	/* Not one row. */
	CHECK_NUMBER(decode_transform(&img, file.data, file.count - 6, &lenient,
				      &no_limits, &h),
		     ==, IMG_ERR_TRUNCATED);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_limits(void)
{
	struct bytes file = TEXT("P6 10 30 255\n");
	struct img_limits l = no_limits;
	struct img_header h;

	l.side_px_max = 29;
	CHECK_NUMBER(img_probe(&h, file.data, file.count, &l), ==,
		     IMG_ERR_TOO_LARGE);
	CHECK_NUMBER(h.stored.height_px, ==, 30);
	l.side_px_max = 30;
	l.pixels_max = 299;
	CHECK_NUMBER(img_probe(&h, file.data, file.count, &l), ==,
		     IMG_ERR_TOO_LARGE);
	l.pixels_max = 300;
	CHECK_NUMBER(img_probe(&h, file.data, file.count, &l), ==, IMG_OK);

	struct bytes one = TEXT("P5 1 1 255\nx");
	struct heap heap;

	heap_init(&heap);
	l.decode_bytes_max = 100;
	CHECK_NUMBER(decode_limits(one, &l, &heap), ==, IMG_ERR_TOO_LARGE);
	CHECK_NUMBER(heap.alloc_count, ==, 0);
}

static void check_result(struct img_size size, enum img_space space)
{
	struct img_transform t = { .quality = 80, .format = IMG_FORMAT_PPM };
	char header[64];
	struct image img;
	struct heap h;
	uint8_t *out = NULL, *p;
	size_t count = 0, n;

	heap_init(&h);
	image_shape(&img, size, space, true);
	CHECK(image_alloc(&img, &h.memory));
	for (uint32_t i = 0; i < img.plane_count; i++)
		for (uint32_t y = 0; y < size.height_px; y++)
			for (uint32_t x = 0; x < size.width_px; x++)
				img.planes[i].samples
					[y * img.planes[i].stride_bytes + x] =
					(uint8_t)(7 * x + 3 * y + i);
	CHECK_NUMBER(img_encode(&out, &count, &img, &t, &h.memory), ==, IMG_OK);
	n = (size_t)snprintf(header, sizeof(header), "P%c\n%u %u\n255\n",
			     space == IMG_GREY ? '5' : '6', size.width_px,
			     size.height_px);
	CHECK_NUMBER(count, ==, n + img_pixels(size) * img.plane_count);
	CHECK(memcmp(out, header, n) == 0);
	p = out + n;
	for (uint32_t y = 0; y < size.height_px; y++)
		for (uint32_t x = 0; x < size.width_px; x++)
			for (uint32_t i = 0; i < img.plane_count; i++)
				CHECK_NUMBER(*p++, ==,
					     (uint8_t)(7 * x + 3 * y + i));
	img_release(&img);
	memory_free(&h.memory, out);
	CHECK_NUMBER(h.live_count, ==, 0);
}

int main(void)
{
	test_headers();
	test_long_header();
	test_samples();
	test_damage();
	test_limits();
	check_result((struct img_size){ 1, 1 }, IMG_GREY);
	check_result((struct img_size){ 255, 3 }, IMG_RGB);
	check_result((struct img_size){ 2, 700 }, IMG_GREY);
	return 0;
}
