/* SPDX-License-Identifier: MIT */
/*
 * A reply is right if it decodes completely and has the size that
 * docs/http-api.md defines; the sizes here were computed by hand.
 */
#include "loadgen/report/verify.c" /* for find_expected_size() */

#include "base/test/check.h"
#include "base/util.h"

enum { WIDTH_PX = 75, HEIGHT_PX = 33 };

/* If the size of an upload is not known, any size of the reply is right. */
static const struct picture_header unknown;

struct picture {
	unsigned char *bytes;
	unsigned long size;
};

/* A picture of noise, so that every part takes many bytes. */
static struct picture make_picture(int subsampling)
{
	static unsigned char pixels[3 * WIDTH_PX * HEIGHT_PX];
	struct picture p = { 0 };
	tjhandle encoder = tjInitCompress();

	for (size_t i = 0; i < sizeof(pixels); i++)
		pixels[i] = (unsigned char)(i * i * 31 >> 3);
	CHECK_NUMBER(tjCompress2(encoder, pixels, WIDTH_PX, 0, HEIGHT_PX,
				 TJPF_RGB, &p.bytes, &p.size, subsampling, 90,
				 0),
		     ==, 0);
	tjDestroy(encoder);
	return p;
}

static void expect_wrong(struct verify *v, const void *bytes, size_t size,
			 const struct picture_header *upload, const char *part)
{
	struct error why;

	CHECK(!verify_reply(v, bytes, size, "/", upload, &why));
	CHECK_PART(why.text, part);
}

static void test_right(struct verify *v)
{
	static const int samplings[] = { TJSAMP_420, TJSAMP_444, TJSAMP_GRAY };
	struct picture_header upload = { .width_px = WIDTH_PX,
					 .height_px = HEIGHT_PX,
					 .orientation = 1 };
	struct error why;

	for (size_t i = 0; i < ARRAY_SIZE(samplings); i++) {
		struct picture p = make_picture(samplings[i]);

		CHECK(verify_reply(v, p.bytes, p.size, "/", &unknown, &why));
		CHECK(verify_reply(v, p.bytes, p.size, "/", &upload, &why));
		tjFree(p.bytes);
	}
}

static void test_wrong_size(struct verify *v)
{
	struct picture p = make_picture(TJSAMP_420);
	struct picture_header upload = { .width_px = WIDTH_PX,
					 .height_px = HEIGHT_PX + 5,
					 .orientation = 1 };

	expect_wrong(v, p.bytes, p.size, &upload, "75 x 33 instead of 75 x 38");
	tjFree(p.bytes);
}

static void test_not_whole(struct verify *v)
{
	struct picture p = make_picture(TJSAMP_420);

	expect_wrong(v, p.bytes, 0, &unknown, "empty");
	expect_wrong(v, "<html>", 6, &unknown, "not a JPEG");
	expect_wrong(v, p.bytes, p.size / 2, &unknown, "does not decode");
	expect_wrong(v, p.bytes, p.size - 2, &unknown,
		     "does not decode"); /* without EOI */
	memset(p.bytes + p.size - 200, 0xff, 100);
	expect_wrong(v, p.bytes, p.size, &unknown, "does not decode");
	tjFree(p.bytes);
}

static void test_ppm_and_png(struct verify *v)
{
	static const char ppm[] = "P6\n2 1\n255\nabcdef";
	struct picture_header upload = { .width_px = 2,
					 .height_px = 4,
					 .orientation = 1 };
	struct error why;

	CHECK(verify_reply(v, ppm, sizeof(ppm) - 1, "/", &unknown, &why));
	expect_wrong(v, ppm, sizeof(ppm) - 2, &unknown,
		     "16 bytes instead of 17");
	expect_wrong(v, ppm, sizeof(ppm), &unknown, "18 bytes instead of 17");
	expect_wrong(v, ppm, sizeof(ppm) - 1, &upload,
		     "2 x 1 instead of 2 x 4");

	static const char png[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
				  "\0\0\0\2\0\0\0\1\x08\0\0\0\0crc "
				  "\0\0\0\0IENDcrc ";

	CHECK(verify_reply(v, png, sizeof(png) - 1, "/", &unknown, &why));
	expect_wrong(v, png, sizeof(png) - 2, &unknown, "it ends too early");
	expect_wrong(v, png, sizeof(png), &unknown, "46 bytes instead of 45");
	expect_wrong(v, png, sizeof(png) - 1, &upload,
		     "2 x 1 instead of 2 x 4");
}

/* Change the size in the frame header. */
static void resize(struct picture *p, unsigned width_px, unsigned height_px)
{
	static const unsigned char frame[] = { 0xff, 0xc0, 0, 11, 8 };
	unsigned char *at = memmem(p->bytes, p->size, frame, sizeof(frame));

	CHECK(at != NULL);
	at += sizeof(frame);
	at[0] = (unsigned char)(height_px >> 8);
	at[1] = (unsigned char)height_px;
	at[2] = (unsigned char)(width_px >> 8);
	at[3] = (unsigned char)width_px;
}

/* The size in the header is checked before anything is decoded. */
static void test_size_comes_first(struct verify *v)
{
	struct picture p = make_picture(TJSAMP_GRAY);
	struct picture_header upload = { .width_px = 640,
					 .height_px = 480,
					 .orientation = 1 };

	resize(&p, 65000, 65000);
	expect_wrong(v, p.bytes, p.size, &unknown,
		     "65000 x 65000: more than 100 megapixels");
	expect_wrong(v, p.bytes, p.size, &upload,
		     "65000 x 65000 instead of 640 x 480");
	resize(&p, 10000, 10001);
	expect_wrong(v, p.bytes, p.size, &unknown, "more than 100 megapixels");
	resize(&p, 10000, 10000);
	expect_wrong(v, p.bytes, p.size, &unknown, "does not decode");
	expect_wrong(v, p.bytes, p.size, &upload, "10000 x 10000 instead of");
	tjFree(p.bytes);
}

static const struct picture_header photo = { .width_px = 2000,
					     .height_px = 1500,
					     .orientation = 1 };
static const struct picture_header turned = { .width_px = 2000,
					      .height_px = 1500,
					      .orientation = 6 };
static const struct picture_header strip = { .width_px = 3000,
					     .height_px = 2,
					     .orientation = 1 };

/* Each side of the reply may differ by one pixel, not by two. */
static void expect_size(const struct picture_header *upload, const char *target,
			int width_px, int height_px)
{
	struct expected_size size;

	CHECK(find_expected_size(&size, target, upload));
	CHECK(is_as_expected(&size, width_px, height_px));
	CHECK(is_as_expected(&size, width_px + 1, height_px - 1));
	CHECK(!is_as_expected(&size, width_px + 2, height_px));
	CHECK(!is_as_expected(&size, width_px - 2, height_px));
	CHECK(!is_as_expected(&size, width_px, height_px + 2));
}

static void expect_any_size(const char *target)
{
	struct expected_size size;

	CHECK(!find_expected_size(&size, target, &photo));
}

static void test_inside(void)
{
	expect_size(&photo, "/", 2000, 1500);
	expect_size(&photo, "/?q=80&blur=2", 2000, 1500);
	expect_size(&photo, "/?w=640&h=640&blur=2", 640, 480);
	expect_size(&photo, "/?w=640", 640, 480);
	expect_size(&photo, "/?h=640&w=16384", 853, 640);
	expect_size(&photo, "/v1/process?fit=cover&h=300", 400, 300);
	expect_size(&photo, "/?w=640&h=640&fit=inside#w=3", 640, 480);
	/* its exact height is a fifth of a pixel */
	expect_size(&strip, "/?w=300", 300, 1);
}

static void test_enlarge(void)
{
	expect_size(&photo, "/?w=4000", 2000, 1500);
	expect_size(&photo, "/?w=4000&enlarge=0", 2000, 1500);
	expect_size(&photo, "/?w=4000&enlarge=1", 4000, 3000);
	expect_size(&photo, "/?enlarge=1", 2000, 1500);
	expect_size(&photo, "/?w=100&enlarge=1", 100, 75);
}

static void test_orientation(void)
{
	expect_size(&turned, "/", 1500, 2000);
	expect_size(&turned, "/?orient=1&w=640&h=640", 480, 640);
	expect_size(&turned, "/?orient=0&w=640&h=640", 640, 480);
	expect_size(&turned, "/?rotate=90&w=640&h=640", 640, 480);
	expect_size(&turned, "/?rotate=180&w=640&h=640", 480, 640);
	expect_size(&turned, "/?rotate=270&orient=0&w=640&h=640", 480, 640);
}

static void test_cover(void)
{
	expect_size(&photo, "/?w=256&h=256&fit=cover&gravity=north", 256, 256);
	expect_size(&photo, "/?w=4000&h=1000&fit=cover", 2000, 500);
	expect_size(&photo, "/?w=1920&h=1080&fit=cover&enlarge=1", 1920, 1080);
	expect_size(&photo, "/?w=4000&h=1000&fit=cover&enlarge=1", 4000, 1000);
	expect_size(&turned, "/?w=1000&h=4000&fit=cover", 500, 2000);
}

static void test_fill(void)
{
	expect_size(&photo, "/?w=100&h=100&fit=fill", 100, 100);
	expect_size(&photo, "/?w=4000&h=100&fit=fill", 2000, 100);
	expect_size(&photo, "/?w=4000&h=100&fit=fill&enlarge=1", 4000, 100);
}

static void test_pad(void)
{
	expect_size(&photo, "/?w=100&pad=7&trim=0", 114, 89);
	expect_size(&photo, "/?w=100&pad=1,20", 140, 77);
	expect_size(&photo, "/?w=100&dpr=2&pad=1,2,3,4", 212, 158);
	expect_size(&photo, "/?w=100&h=100&fit=pad", 100, 100);
	expect_size(&photo, "/?w=4000&h=100&fit=pad&pad=1", 4002, 102);
	expect_size(&turned, "/?w=100&fit=pad", 100, 133);
}

static void test_any_size(void)
{
	expect_any_size("/?pad=1,2,3");
	expect_any_size("/?pad=x");
	expect_any_size("/?w=100&trim=1");
	expect_any_size("/?w=0");
	expect_any_size("/?w=");
	expect_any_size("/?w");
	expect_any_size("/?w=64a");
	expect_any_size("/?h=-1");
	expect_any_size("/?fit=outside");
	expect_any_size("/?w=64&enlarge=yes");
	expect_any_size("/?orient=2");
	/* the variant has its own size */
	expect_any_size("/?w=640&variant=thumb:w=320");
	expect_any_size("/?variant=page");
}

/* VERIFY_DECODE accepts any size. */
static void test_decode_only(void)
{
	static const struct picture_header upload = { .width_px = 640,
						      .height_px = 480,
						      .orientation = 1 };
	struct verify *v = verify_new(VERIFY_DECODE);
	struct picture p = make_picture(TJSAMP_420);
	struct error why;

	CHECK(v != NULL);
	CHECK(verify_reply(v, p.bytes, p.size, "/", &upload, &why));
	expect_wrong(v, p.bytes, p.size / 2, &upload, "does not decode");
	tjFree(p.bytes);
	verify_free(v);
}

int main(void)
{
	struct verify *v = verify_new(VERIFY_SIZE);

	CHECK(v != NULL);
	test_right(v);
	test_wrong_size(v);
	test_not_whole(v);
	test_ppm_and_png(v);
	test_size_comes_first(v);
	test_right(v); /* wrong replies have no effect on later ones */
	verify_free(v);
	test_decode_only();
	test_inside();
	test_enlarge();
	test_orientation();
	test_cover();
	test_fill();
	test_pad();
	test_any_size();
	return 0;
}
