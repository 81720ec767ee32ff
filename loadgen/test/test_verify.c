/* SPDX-License-Identifier: MIT */
/* A reply is right if all of it decodes and its size is the promised one. */
#include "loadgen/verify.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <turbojpeg.h>

enum { WIDTH_PX = 75, HEIGHT_PX = 33 };

struct picture {
	unsigned char *bytes;
	unsigned long size;
};

/* Of noise, so that no part of it is short. */
static struct picture make_picture(int subsampling)
{
	static unsigned char pixels[3 * WIDTH_PX * HEIGHT_PX];
	struct picture p = { 0 };
	tjhandle encoder = tjInitCompress();

	for (size_t i = 0; i < sizeof(pixels); i++)
		pixels[i] = (unsigned char)(i * i * 31 >> 3);
	assert(tjCompress2(encoder, pixels, WIDTH_PX, 0, HEIGHT_PX, TJPF_RGB,
			   &p.bytes, &p.size, subsampling, 90, 0) == 0);
	tjDestroy(encoder);
	return p;
}

static void expect_wrong(struct verify *v, const void *bytes, size_t size,
			 const struct promise *promise, const char *part)
{
	struct error why;

	assert(!verify_reply(v, bytes, size, promise, &why));
	assert(strstr(why.text, part) != NULL);
}

static void test_right(struct verify *v)
{
	static const int samplings[] = { TJSAMP_420, TJSAMP_444, TJSAMP_GRAY };
	struct promise promise = { WIDTH_PX, HEIGHT_PX };
	struct error why;

	for (size_t i = 0; i < sizeof(samplings) / sizeof(*samplings); i++) {
		struct picture p = make_picture(samplings[i]);

		assert(verify_reply(v, p.bytes, p.size, NULL, &why));
		assert(verify_reply(v, p.bytes, p.size, &promise, &why));
		tjFree(p.bytes);
	}
}

static void test_wrong_size(struct verify *v)
{
	struct picture p = make_picture(TJSAMP_420);
	struct promise promise = { WIDTH_PX, HEIGHT_PX + 5 };

	expect_wrong(v, p.bytes, p.size, &promise,
		     "75 x 33 instead of 75 x 38");
	tjFree(p.bytes);
}

static void test_not_whole(struct verify *v)
{
	struct picture p = make_picture(TJSAMP_420);

	expect_wrong(v, p.bytes, 0, NULL, "empty");
	expect_wrong(v, "<html>", 6, NULL, "not a JPEG");
	expect_wrong(v, p.bytes, p.size / 2, NULL, "does not decode");
	expect_wrong(v, p.bytes, p.size - 2, NULL, "does not decode"); /* EOI */
	memset(p.bytes + p.size - 200, 0xff, 100);
	expect_wrong(v, p.bytes, p.size, NULL, "does not decode");
	tjFree(p.bytes);
}

/* Write other sides into the frame header. */
static void resize(struct picture *p, unsigned width_px, unsigned height_px)
{
	static const unsigned char frame[] = { 0xff, 0xc0, 0, 11, 8 };
	unsigned char *at = memmem(p->bytes, p->size, frame, sizeof(frame));

	assert(at != NULL);
	at += sizeof(frame);
	at[0] = (unsigned char)(height_px >> 8);
	at[1] = (unsigned char)height_px;
	at[2] = (unsigned char)(width_px >> 8);
	at[3] = (unsigned char)width_px;
}

/* What the header says is judged before anything is decoded. */
static void test_size_comes_first(struct verify *v)
{
	struct picture p = make_picture(TJSAMP_GRAY);
	struct promise promise = { 640, 480 };

	resize(&p, 65000, 65000);
	expect_wrong(v, p.bytes, p.size, NULL,
		     "65000 x 65000: more than 100 megapixels");
	expect_wrong(v, p.bytes, p.size, &promise,
		     "65000 x 65000 instead of 640 x 480");
	resize(&p, 10000, 10001);
	expect_wrong(v, p.bytes, p.size, NULL, "more than 100 megapixels");
	resize(&p, 10000, 10000);
	expect_wrong(v, p.bytes, p.size, NULL, "does not decode");
	expect_wrong(v, p.bytes, p.size, &promise, "10000 x 10000 instead of");
	tjFree(p.bytes);
}

int main(void)
{
	struct verify *v = verify_new();

	assert(v != NULL);
	test_right(v);
	test_wrong_size(v);
	test_not_whole(v);
	test_size_comes_first(v);
	test_right(v); /* what was wrong leaves nothing behind */
	verify_free(v);
	return 0;
}
