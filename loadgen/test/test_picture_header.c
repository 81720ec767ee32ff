/* SPDX-License-Identifier: MIT */
/*
 * The size and orientation of a JPEG are read, but no byte after its end.  To
 * check that, each file lies right before a page that cannot be read.
 */
#include "loadgen/dataset/picture_header.h"

#include "base/test/check.h"
#include "base/util.h"

#include <stdio.h>
#include <jpeglib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 4096 };

struct file {
	uint8_t bytes[FILE_BYTES_MAX];
	size_t size;
};

static uint8_t *wall; /* the page that cannot be read */

static void build_wall(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(pages != MAP_FAILED);
	CHECK_NUMBER(page, >=, FILE_BYTES_MAX);
	wall = pages + page;
	CHECK_NUMBER(mprotect(wall, page, PROT_NONE), ==, 0);
}

static bool read_at_wall(struct picture_header *h, const uint8_t *bytes,
			 size_t size)
{
	memcpy(wall - size, bytes, size);
	return picture_header_read(h, wall - size, size);
}

static void append(struct file *f, const void *bytes, size_t size)
{
	CHECK_NUMBER(size, <=, FILE_BYTES_MAX - f->size);
	memcpy(f->bytes + f->size, bytes, size);
	f->size += size;
}

#define APPEND(f, text) append(f, text, sizeof(text) - 1)

/* A header of 640 x 480 with this EXIF, up to the first scan. */
static struct file make_file(const void *exif, size_t exif_size)
{
	uint8_t length[2] = { 0, (uint8_t)(exif_size + 2) };
	struct file f = { .size = 0 };

	APPEND(&f, "\xff\xd8");
	APPEND(&f, "\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0");
	if (exif_size > 0) {
		APPEND(&f, "\xff\xe1");
		append(&f, length, sizeof(length));
		append(&f, exif, exif_size);
	}
	APPEND(&f, "\xff\xc4\0\3\0");
	APPEND(&f, "\xff\xc0\0\x0b\x08\x01\xe0\x02\x80\1\1\x11\0");
	APPEND(&f, "\xff\xda\0\x08\1\1\0\0\x3f\0");
	return f;
}

#define MAKE(exif) make_file(exif, sizeof(exif) - 1)

static const char big[] = "Exif\0\0MM\0*\0\0\0\x08\0\2"
			  "\1\0\0\4\0\0\0\1\0\0\2\x80"
			  "\1\x12\0\3\0\0\0\1\0\6\0\0";
static const char little[] = "Exif\0\0II*\0\x0a\0\0\0\0\0\1\0"
			     "\x12\1\3\0\1\0\0\0\x08\0\0\0";

static void expect(struct file f, uint32_t orientation)
{
	struct picture_header h;

	CHECK(read_at_wall(&h, f.bytes, f.size));
	CHECK_NUMBER(h.width_px, ==, 640);
	CHECK_NUMBER(h.height_px, ==, 480);
	CHECK_NUMBER(h.orientation, ==, orientation);
}

static void test_known_files(void)
{
	expect(MAKE(""), 1);
	expect(MAKE(big), 6);
	expect(MAKE(little), 8);
	expect(MAKE("http://ns.adobe.com/xap/1.0/"), 1);
}

/* Each EXIF here has one wrong byte, so it sets no orientation. */
static void test_wrong_exif_is_none(void)
{
	static const struct {
		size_t at;
		char byte;
	} faults[] = {
		{ 0, 'e' },   /* not EXIF */
		{ 7, 'I' },   /* neither MM nor II */
		{ 9, '+' },   /* not a TIFF */
		{ 13, 100 },  /* the directory lies outside */
		{ 29, 0x13 }, /* another tag */
		{ 31, 2 },    /* text */
		{ 31, 5 },    /* a fraction */
		{ 31, 4 },    /* 6 as the upper half of a number */
		{ 35, 3 },    /* three values: they lie outside */
		{ 37, 9 },    /* no such orientation */
		{ 37, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		char wrong[sizeof(big)];

		check_case("faults[%zu]", i);
		memcpy(wrong, big, sizeof(big));
		CHECK_NUMBER(wrong[faults[i].at], !=, faults[i].byte);
		wrong[faults[i].at] = faults[i].byte;
		expect(make_file(wrong, sizeof(wrong) - 1), 1);
	}
}

/* An orientation of any integer type, and of two values the first. */
static void test_integers_of_any_type(void)
{
	expect(MAKE("Exif\0\0MM\0*\0\0\0\x08\0\1"
		    "\1\x12\0\1\0\0\0\1\6\0\0\0"),
	       6);
	expect(MAKE("Exif\0\0MM\0*\0\0\0\x08\0\1"
		    "\1\x12\0\4\0\0\0\1\0\0\0\6"),
	       6);
	expect(MAKE("Exif\0\0II*\0\x08\0\0\0\1\0"
		    "\x12\1\4\0\1\0\0\0\3\0\0\0"),
	       3);
	expect(MAKE("Exif\0\0II*\0\x08\0\0\0\1\0"
		    "\x12\1\6\0\1\0\0\0\3\1\1\1"),
	       3);
	expect(MAKE("Exif\0\0MM\0*\0\0\0\x08\0\1"
		    "\1\x12\0\x08\0\0\0\1\0\6\0\0"),
	       6);
	expect(MAKE("Exif\0\0MM\0*\0\0\0\x08\0\1"
		    "\1\x12\0\x09\0\0\0\1\xff\xff\xff\6"),
	       1);
	expect(MAKE("Exif\0\0MM\0*\0\0\0\x08\0\1"
		    "\1\x12\0\3\0\0\0\2\0\6\0\1"),
	       6);
	expect(MAKE("Exif\0\0MM\0*\0\0\0\x08\0\1"
		    "\1\x12\0\3\0\0\0\3\0\0\0\x16"
		    "\0\x08\0\1\0\1"),
	       8);
}

static void test_not_a_jpeg(void)
{
	struct picture_header h = { .width_px = 7 };
	struct file f = { .size = 0 };

	CHECK(!read_at_wall(&h, f.bytes, 0));
	APPEND(&f, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0");
	CHECK(!read_at_wall(&h, f.bytes, f.size));
	f = MAKE(big);
	CHECK(!read_at_wall(&h, f.bytes + 2, f.size - 2)); /* no SOI */
	CHECK_NUMBER(h.width_px, ==, 7);
}

static void test_png(void)
{
	static const char png[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
				  "\0\0\1\2\0\0\0\3\x08\0\0\0\0crc "
				  "\0\0\0\1IDATxcrc \0\0\0\0IENDcrc ";
	struct picture_header h;

	CHECK(read_at_wall(&h, (const uint8_t *)png, sizeof(png) - 1));
	CHECK_NUMBER(h.width_px, ==, 258);
	CHECK_NUMBER(h.height_px, ==, 3);
	CHECK_NUMBER(h.orientation, ==, 1);
	CHECK_TEXT(h.media_type, "image/png");
	CHECK_NUMBER(h.whole_bytes, ==, sizeof(png) - 1);
	for (size_t n = 24; n < sizeof(png) - 1; n++) {
		CHECK(read_at_wall(&h, (const uint8_t *)png, n));
		CHECK_NUMBER(h.whole_bytes, ==, 0);
	}
}

static void test_netpbm(void)
{
	struct picture_header h = { .width_px = 7 };
	static const char *const wrong[] = {
		"P6",          "P6 3",         "P6 3 4",
		"P6 3 0 255 ", "P6 3 -4 255 ", "P4 3 4 ",
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		CHECK(!read_at_wall(&h, (const uint8_t *)wrong[i],
				    strlen(wrong[i])));
	CHECK_NUMBER(h.width_px, ==, 7);
	CHECK(read_at_wall(&h, (const uint8_t *)"P6\n3 4\n255\n", 11));
	CHECK_NUMBER(h.width_px, ==, 3);
	CHECK_NUMBER(h.height_px, ==, 4);
	CHECK_NUMBER(h.orientation, ==, 1);
	CHECK_NUMBER(h.whole_bytes, ==, 11 + 36);
	CHECK(read_at_wall(&h, (const uint8_t *)"P5#x 9\n3\t4 256 ", 15));
	CHECK_NUMBER(h.width_px, ==, 3);
	CHECK_NUMBER(h.whole_bytes, ==, 15 + 24);
}

static void test_webp(void)
{
	static const char lossy[] = "RIFF\x16\0\0\0WEBPVP8 \x0a\0\0\0"
				    "\x10\0\0\x9d\1\x2a\7\0\x0b\x40";
	static const char lossless[] = "RIFF\x12\0\0\0WEBPVP8L\5\0\0\0"
				       "\x2f\6\x80\2\0";
	static const char extended[] =
		"RIFF\x40\0\0\0WEBPVP8X\x0a\0\0\0\x08\0\0\0\6\0\0\x0a\0\0"
		"EXIF\x1a\0\0\0II*\0\10\0\0\0\1\0"
		"\22\1\3\0\1\0\0\0\6\0\0\0\0\0\0\0";
	static const struct {
		const char *bytes;
		size_t count;
		uint32_t orientation;
	} files[] = {
		{ lossy, sizeof(lossy) - 1, 1 },
		{ lossless, sizeof(lossless) - 1, 1 },
		{ extended, sizeof(extended) - 1, 6 },
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		struct picture_header h = { .width_px = 0 };

		check_case("files[%zu]", i);
		for (size_t n = 0; n < files[i].count; n++)
			(void)read_at_wall(&h, (const uint8_t *)files[i].bytes,
					   n);
		CHECK(read_at_wall(&h, (const uint8_t *)files[i].bytes,
				   files[i].count));
		CHECK_NUMBER(h.width_px, ==, 7);
		CHECK_NUMBER(h.height_px, ==, 11);
		CHECK_NUMBER(h.orientation, ==, files[i].orientation);
	}
}

/* Of 7 x 11 in two cells, turned. */
static void test_heif(void)
{
#define META                                                                   \
	"\0\0\0\x3dmeta\0\0\0\0"                                               \
	"\0\0\0\x14ispe\0\0\0\0\0\0\0\4\0\0\0\x0b"                             \
	"\0\0\0\x14ispe\0\0\0\0\0\0\0\7\0\0\0\x0b"                             \
	"\0\0\0\x09irot\3"
#define DATA "\0\0\0\x14mdatirotispe\0\0\0\0"
	static const char avif[] = "\0\0\0\x10"
				   "ftypavif\0\0\0\0" META DATA;
	static const char phone[] = "\0\0\0\x18"
				    "ftypmif1\0\0\0\0mif1heic" META DATA;
	static const char at_end[] = "\0\0\0\x10"
				     "ftypheic\0\0\0\0" DATA META;
	static const char other[] = "\0\0\0\x10"
				    "ftypmif1\0\0\0\0" META DATA;
	static const struct {
		const char *bytes;
		size_t count;
		const char *media_type;
	} files[] = {
		{ avif, sizeof(avif) - 1, "image/avif" },
		{ phone, sizeof(phone) - 1, "image/heic" },
		{ at_end, sizeof(at_end) - 1, "image/heic" },
	};
	struct picture_header h = { .width_px = 0 };

	CHECK(!read_at_wall(&h, (const uint8_t *)other, sizeof(other) - 1));
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		const uint8_t *bytes = (const uint8_t *)files[i].bytes;

		check_case("files[%zu]", i);
		for (size_t n = 0; n < files[i].count; n++)
			(void)read_at_wall(&h, bytes, n);
		h = (struct picture_header){ .width_px = 0 };
		CHECK(read_at_wall(&h, bytes, files[i].count));
		CHECK_NUMBER(h.width_px, ==, 7);
		CHECK_NUMBER(h.height_px, ==, 11);
		CHECK_NUMBER(h.orientation, ==, 6);
		CHECK_TEXT(h.media_type, files[i].media_type);
		CHECK_NUMBER(h.whole_bytes, ==, files[i].count);
	}
}

/* 7 x 11 pixels, orientation 6; and 16 x 8, all the rest default. */
static void test_jxl(void)
{
	static const char bare[] = "\xff\x0a\x50\0\x0c\x58";
	static const char boxed[] = "\0\0\0\x0cJXL \r\n\x87\n"
				    "\0\0\0\x0c"
				    "free\0\0\0\0"
				    "\0\0\0\x10"
				    "jxlp\0\0\0\0\xff\x0a\xc1\x03";
	struct picture_header h = { .width_px = 0 };

	for (size_t n = 0; n < sizeof(bare) - 1; n++)
		(void)read_at_wall(&h, (const uint8_t *)bare, n);
	CHECK(read_at_wall(&h, (const uint8_t *)bare, sizeof(bare) - 1));
	CHECK_NUMBER(h.width_px, ==, 7);
	CHECK_NUMBER(h.height_px, ==, 11);
	CHECK_NUMBER(h.orientation, ==, 6);
	CHECK_TEXT(h.media_type, "image/jxl");
	CHECK_NUMBER(h.whole_bytes, ==, 0);
	for (size_t n = 0; n < sizeof(boxed) - 1; n++)
		(void)read_at_wall(&h, (const uint8_t *)boxed, n);
	CHECK(read_at_wall(&h, (const uint8_t *)boxed, sizeof(boxed) - 1));
	CHECK_NUMBER(h.width_px, ==, 16);
	CHECK_NUMBER(h.height_px, ==, 8);
	CHECK_NUMBER(h.orientation, ==, 1);
	CHECK_NUMBER(h.whole_bytes, ==, sizeof(boxed) - 1);
}

/* A JPEG of 70 x 30 by libjpeg, with fill bytes added before a marker. */
static struct file encode(bool is_progressive)
{
	struct file f = { .size = 0 };
	struct jpeg_compress_struct c;
	struct jpeg_error_mgr errors;
	unsigned char *out = NULL;
	unsigned long size = 0;
	JSAMPLE line[70 * 3] = { 0 };
	JSAMPROW row = line;

	c.err = jpeg_std_error(&errors);
	jpeg_create_compress(&c);
	jpeg_mem_dest(&c, &out, &size);
	c.image_width = 70;
	c.image_height = 30;
	c.input_components = 3;
	c.in_color_space = JCS_RGB;
	jpeg_set_defaults(&c);
	if (is_progressive)
		jpeg_simple_progression(&c);
	jpeg_start_compress(&c, TRUE);
	jpeg_write_marker(&c, JPEG_APP0 + 1, (const JOCTET *)little,
			  sizeof(little) - 1);
	while (c.next_scanline < c.image_height)
		jpeg_write_scanlines(&c, &row, 1);
	jpeg_finish_compress(&c);
	jpeg_destroy_compress(&c);
	append(&f, out, 2);
	APPEND(&f, "\xff\xff\xff");
	append(&f, out + 2, size - 2);
	free(out);
	return f;
}

static void test_real_files(void)
{
	for (int i = 0; i < 2; i++) {
		struct file f = encode(i == 1);
		struct picture_header h;

		CHECK(read_at_wall(&h, f.bytes, f.size));
		CHECK_NUMBER(h.width_px, ==, 70);
		CHECK_NUMBER(h.height_px, ==, 30);
		CHECK_NUMBER(h.orientation, ==, 8);
	}
}

static void expect_same(const struct picture_header *a,
			const struct picture_header *b)
{
	CHECK_NUMBER(a->width_px, ==, b->width_px);
	CHECK_NUMBER(a->height_px, ==, b->height_px);
	CHECK_NUMBER(a->orientation, ==, b->orientation);
	CHECK_TEXT(a->media_type, b->media_type);
	CHECK_NUMBER(a->whole_bytes, ==, b->whole_bytes);
}

/*
 * A cut file gives the right size or none.  If a cut file gives it, all longer
 * ones do.
 */
static void expect_every_truncation(struct file f)
{
	struct picture_header whole;
	bool had_size = false;

	CHECK(read_at_wall(&whole, f.bytes, f.size));
	for (size_t size = 0; size < f.size; size++) {
		struct picture_header h;
		bool has_size = read_at_wall(&h, f.bytes, size);

		CHECK(has_size || !had_size);
		if (has_size)
			expect_same(&h, &whole);
		had_size = has_size;
	}
	CHECK(had_size);
}

static void expect_every_change(struct file f)
{
	for (size_t at = 0; at < f.size; at++)
		for (int value = 0; value < 256; value++) {
			uint8_t kept = f.bytes[at];
			struct picture_header h;
			bool has_size;

			f.bytes[at] = (uint8_t)value;
			has_size = read_at_wall(&h, f.bytes, f.size);
			f.bytes[at] = kept;
			if (!has_size)
				continue;
			CHECK_NUMBER(h.width_px, >, 0);
			CHECK_NUMBER(h.width_px, <=, UINT16_MAX);
			CHECK_NUMBER(h.height_px, >, 0);
			CHECK_NUMBER(h.height_px, <=, UINT16_MAX);
			CHECK_NUMBER(h.orientation, >=, 1);
			CHECK_NUMBER(h.orientation, <=, 8);
		}
}

static void test_damage(void)
{
	struct file files[] = { MAKE(big), MAKE(little), encode(false),
				encode(true) };

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		expect_every_truncation(files[i]);
		expect_every_change(files[i]);
	}
}

int main(void)
{
	build_wall();
	test_known_files();
	test_wrong_exif_is_none();
	test_integers_of_any_type();
	test_not_a_jpeg();
	test_png();
	test_netpbm();
	test_webp();
	test_heif();
	test_jxl();
	test_real_files();
	test_damage();
	return 0;
}
