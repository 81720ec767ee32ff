/* SPDX-License-Identifier: MIT */
/* Sizes as the HTTP API's document promises them, worked out by hand. */
#include "loadgen/promise.h"

#include <assert.h>

static const struct jpeg_header photo = { 2000, 1500, 1 };
static const struct jpeg_header turned = { 2000, 1500, 6 };
static const struct jpeg_header strip = { 3000, 2, 1 };

/* The reply may be one pixel off on either side, and no more. */
static void expect(const struct jpeg_header *upload, const char *target,
		   int width_px, int height_px)
{
	struct promise p;

	assert(promise_find(&p, target, upload));
	assert(promise_is_kept(&p, width_px, height_px));
	assert(promise_is_kept(&p, width_px + 1, height_px - 1));
	assert(!promise_is_kept(&p, width_px + 2, height_px));
	assert(!promise_is_kept(&p, width_px - 2, height_px));
	assert(!promise_is_kept(&p, width_px, height_px + 2));
}

static void expect_none(const char *target)
{
	struct promise p;

	assert(!promise_find(&p, target, &photo));
}

static void test_inside(void)
{
	expect(&photo, "/", 2000, 1500);
	expect(&photo, "/?q=80&blur=2", 2000, 1500);
	expect(&photo, "/?w=640&h=640&blur=2", 640, 480);
	expect(&photo, "/?w=640", 640, 480);
	expect(&photo, "/?h=640&w=16384", 853, 640);
	expect(&photo, "/v1/process?fit=cover&h=300", 400, 300);
	expect(&photo, "/?w=640&h=640&fit=inside#w=3", 640, 480);
	expect(&strip, "/?w=300", 300, 1); /* a fifth of a pixel */
}

static void test_enlarge(void)
{
	expect(&photo, "/?w=4000", 2000, 1500);
	expect(&photo, "/?w=4000&enlarge=0", 2000, 1500);
	expect(&photo, "/?w=4000&enlarge=1", 4000, 3000);
	expect(&photo, "/?enlarge=1", 2000, 1500);
	expect(&photo, "/?w=100&enlarge=1", 100, 75);
}

static void test_orientation(void)
{
	expect(&turned, "/", 1500, 2000);
	expect(&turned, "/?orient=1&w=640&h=640", 480, 640);
	expect(&turned, "/?orient=0&w=640&h=640", 640, 480);
}

static void test_cover(void)
{
	expect(&photo, "/?w=256&h=256&fit=cover&gravity=north", 256, 256);
	expect(&photo, "/?w=4000&h=1000&fit=cover", 2000, 500);
	expect(&photo, "/?w=1920&h=1080&fit=cover&enlarge=1", 1920, 1080);
	expect(&photo, "/?w=4000&h=1000&fit=cover&enlarge=1", 4000, 1000);
	expect(&turned, "/?w=1000&h=4000&fit=cover", 500, 2000);
}

static void test_fill(void)
{
	expect(&photo, "/?w=100&h=100&fit=fill", 100, 100);
	expect(&photo, "/?w=4000&h=100&fit=fill", 2000, 100);
	expect(&photo, "/?w=4000&h=100&fit=fill&enlarge=1", 4000, 100);
}

static void test_no_promise(void)
{
	expect_none("/?w=0");
	expect_none("/?w=");
	expect_none("/?w");
	expect_none("/?w=64a");
	expect_none("/?h=-1");
	expect_none("/?fit=outside");
	expect_none("/?w=64&enlarge=yes");
	expect_none("/?orient=2");
	expect_none("/?w=640&variant=thumb:w=320"); /* has its own size */
	expect_none("/?variant=page");
}

int main(void)
{
	test_inside();
	test_enlarge();
	test_orientation();
	test_cover();
	test_fill();
	test_no_promise();
	return 0;
}
