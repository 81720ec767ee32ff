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

int main(void)
{
	struct verify *v = verify_new();

	assert(v != NULL);
	test_right(v);
	test_wrong_size(v);
	test_not_whole(v);
	test_right(v); /* what was wrong leaves nothing behind */
	verify_free(v);
	return 0;
}
