/* SPDX-License-Identifier: MIT */
/*
 * Promises: with a helper, a scan gives the same samples as without, or is
 * refused as without, whether the helper is prompt, late, on another thread, or
 * has no time; with all sampling factors and restart intervals, and also of
 * damaged files.  What a helper has read is not read again.
 */
#include "base/memory.h"
#include "base/random.h"
#include "base/test/check.h"
#include "imgops/test/reduced.h"
#include "imgops/test/support.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* --- Helpers --- */

enum kind {
	HELP_PROMPT, /* it has read before begin() returns */
	HELP_NEVER,  /* it is always taken back */
	HELP_ONCE,   /* only the first part is read */
	HELP_THREAD, /* another thread reads */
	HELP_LATE,   /* it reads when the reader has paused `late` times */
	HELP_KINDS,
};

struct test_helper {
	struct helper helper;
	enum kind kind;
	uint32_t begun, ended;
	bool is_waiting, has_run;
	uint32_t late, pauses;
	pthread_t thread;
	void (*run)(void *work);
	void *work;
	/* Called after the first part was read.  Or NULL. */
	void (*then)(struct test_helper *h);
	uint8_t *spoil;       /* for it */
	struct memory memory; /* with this helper */
};

static struct test_helper *late_helper;

static void *run_in_thread(void *arg)
{
	struct test_helper *h = arg;

	h->run(h->work);
	return NULL;
}

static bool help_begin(struct helper *helper, void (*run)(void *work),
		       void *work)
{
	struct test_helper *h =
		container_of(helper, struct test_helper, helper);

	CHECK_NUMBER(h->begun, ==, h->ended);
	if (h->kind == HELP_ONCE && h->begun > 0)
		return false;
	h->begun++;
	h->run = run;
	h->work = work;
	h->is_waiting = h->kind == HELP_LATE;
	h->pauses = 0;
	h->has_run = h->kind != HELP_NEVER && !h->is_waiting;
	if (h->kind == HELP_THREAD)
		CHECK_NUMBER(pthread_create(&h->thread, NULL, run_in_thread, h),
			     ==, 0);
	else if (h->has_run)
		run(work);
	if (h->then != NULL && h->begun == 1)
		h->then(h);
	return true;
}

/* The `pause` of its struct memory. */
static void help_late(void *arg)
{
	struct test_helper *h = late_helper;

	(void)arg;
	if (h == NULL || !h->is_waiting || ++h->pauses < h->late)
		return;
	h->is_waiting = false;
	h->has_run = true;
	h->run(h->work);
}

static bool help_end(struct helper *helper)
{
	struct test_helper *h =
		container_of(helper, struct test_helper, helper);
	h->ended++;
	h->is_waiting = false;
	CHECK_NUMBER(h->begun, ==, h->ended);
	if (h->kind == HELP_THREAD)
		CHECK_NUMBER(pthread_join(h->thread, NULL), ==, 0);
	return h->has_run;
}

static struct test_helper make_helper(enum kind kind)
{
	return (struct test_helper){
		.helper = { help_begin, help_end },
		.kind = kind,
	};
}

static const struct memory *use_helper(struct test_helper *h,
				       const struct heap *heap)
{
	h->memory = heap->memory;
	h->memory.helper = &h->helper;
	h->memory.pause = help_late;
	late_helper = h;
	return &h->memory;
}

/* --- Pictures --- */

static double noisy(uint32_t component, double x, double y)
{
	double noise = sin(x * 12.9898 + y * 78.233 + component) * 43758.5453;

	return waves(component, x, y) + 40 * (noise - floor(noise)) - 20;
}

static const struct jpeg_spec specs[] = {
	{ .width = 801, .height = 603, .h = { 2, 1, 1 }, .v = { 2, 1, 1 } },
	{ .width = 640, .height = 483, .h = { 1, 1, 1 }, .v = { 1, 1, 1 } },
	{ .width = 800, .height = 550, .h = { 2, 1, 1 }, .v = { 1, 1, 1 } },
	{ .width = 800, .height = 550, .h = { 1, 1, 1 }, .v = { 2, 1, 1 } },
	{ .width = 800, .height = 600, .h = { 4, 1, 1 }, .v = { 1, 1, 1 } },
	{ .width = 900, .height = 700, .space = JCS_GRAYSCALE },
	{ .width = 500, .height = 400, .space = JCS_CMYK },
	{ .width = 800, .height = 600, .restart_interval = 1 },
	{ .width = 800, .height = 600, .restart_interval = 37 },
	{ .width = 800, .height = 600, .restart_interval = 700 },
	{ .width = 800, .height = 600, .restart_interval = 60000 },
	{ .width = 800, .height = 600, .optimize = true },
};

/* ThreadSanitizer is slow; without threads there is nothing for it to find. */
#ifdef __SANITIZE_THREAD__
enum {
	SPECS = 2,
	HAS_ONLY_THREADS = true,
	FIRST_KIND = HELP_THREAD,
	LAST_KIND = HELP_THREAD
};
#else
enum {
	SPECS = ARRAY_SIZE(specs),
	HAS_ONLY_THREADS = false,
	FIRST_KIND = 0,
	LAST_KIND = HELP_KINDS - 1
};
#endif

static struct bytes make(const struct jpeg_spec *from)
{
	struct jpeg_spec spec = *from;

	spec.picture = noisy;
	return jpeg_make(&spec);
}

static bool decode(struct image *img, uint32_t n, struct bytes jpeg,
		   struct heap *heap, struct test_helper *h)
{
	const struct memory *memory = &heap->memory;

	if (h != NULL)
		memory = use_helper(h, heap);
	return reduced_by_ours(img, n, jpeg.data, jpeg.count, &no_limits,
			       memory);
}

/* The promise, for one helper.  Returns how often it was asked. */
static uint32_t check_same_late(struct bytes jpeg, uint32_t n, enum kind kind,
				uint32_t late)
{
	struct test_helper h = make_helper(kind);
	struct image alone, helped;
	struct heap heap;
	bool is_read;
	h.late = late;
	heap_init(&heap);
	is_read = decode(&alone, n, jpeg, &heap, NULL);
	CHECK(decode(&helped, n, jpeg, &heap, &h) == is_read);
	CHECK(is_same(&alone, &helped));
	CHECK_NUMBER(h.begun, ==, h.ended);
	img_release(&alone);
	img_release(&helped);
	CHECK_NUMBER(heap.live_count, ==, 0);
	return h.begun;
}

static uint32_t check_same(struct bytes jpeg, uint32_t n, enum kind kind)
{
	return check_same_late(jpeg, n, kind, 5);
}

static void test_all_kinds_of_scans(void)
{
	for (size_t i = 0; i < SPECS; i++) {
		struct bytes jpeg = make(&specs[i]);

		for (uint32_t n = 1; n <= IDCT_MAX; n++)
			for (int kind = FIRST_KIND; kind <= LAST_KIND; kind++) {
				check_case("%zu at %u/8, helper %d", i, n,
					   kind);
				CHECK_NUMBER(check_same(jpeg, n, kind), >, 0);
			}
		free(jpeg.data);
	}
}

/* A file that takes no time is read by one core. */
static void test_short_scans_need_no_help(void)
{
	struct jpeg_spec spec = { .width = 320, .height = 240 };
	struct bytes jpeg = make(&spec);

	CHECK_NUMBER(check_same(jpeg, 1, HELP_PROMPT), ==, 0);
	CHECK_NUMBER(check_same(jpeg, 8, HELP_PROMPT), ==, 0);
	free(jpeg.data);
}

static void test_damaged_scans(void)
{
	uint64_t random = 7;

	for (size_t i = 0; i < SPECS; i++) {
		struct bytes jpeg = make(&specs[i]);

		for (int j = 0; j < 12; j++) {
			size_t at = (size_t)random_between(
				&random, 1000, (double)jpeg.count - 2);
			uint8_t was = jpeg.data[at];
			uint32_t n = 1 + (uint32_t)j % IDCT_MAX;

			jpeg.data[at] =
				(uint8_t)random_between(&random, 0, 256);
			check_case("%zu at %u/8, byte %zu", i, n, at);
			(void)check_same(jpeg, n, HELP_PROMPT);
			(void)check_same_late(jpeg, n, HELP_LATE,
					      1 + (uint32_t)j * 3);
			jpeg.data[at] = was;
		}
		check_case("%zu, cut", i);
		jpeg.count = jpeg.count * 2 / 3;
		(void)check_same(jpeg, 2, HELP_PROMPT);
		free(jpeg.data);
	}
}

static double flat(uint32_t component, double x, double y)
{
	(void)component;
	(void)x;
	(void)y;
	return 128;
}

/*
 * Before a marker, a word of bits has several MCUs; the reader may come there
 * at any of them.  With TEST_ALL in the environment, at more.
 */
static void test_late_helpers(void)
{
	const uint32_t step = getenv("TEST_ALL") != NULL ? 1 : 3;
	struct jpeg_spec tiny = { .width = 528,
				  .height = 40000,
				  .space = JCS_GRAYSCALE,
				  .restart_interval = 66,
				  .picture = flat };
	struct bytes jpeg = jpeg_make(&tiny);

	for (uint32_t late = 1000; late < 2600; late += 97 * step) {
		check_case("flat, after %u pauses", late);
		CHECK_NUMBER(check_same_late(jpeg, 1 + late % IDCT_MAX,
					     HELP_LATE, late),
			     >, 0);
	}
	free(jpeg.data);
	for (size_t i = 0; i < SPECS; i++) {
		jpeg = make(&specs[i]);
		for (uint32_t late = 1; late < 120; late += 17 * step) {
			check_case("%zu, after %u pauses", i, late);
			(void)check_same_late(jpeg, 1 + late % IDCT_MAX,
					      HELP_LATE, late);
		}
		free(jpeg.data);
	}
}

/* Without memory to read ahead, nobody does. */
static void test_without_memory(void)
{
	struct test_helper h = make_helper(HELP_PROMPT);
	struct bytes jpeg = make(&specs[0]);
	struct image alone, helped;
	struct heap heap;
	uint32_t count;

	heap_init(&heap);
	CHECK(decode(&alone, 2, jpeg, &heap, NULL));
	count = heap.alloc_count;
	img_release(&alone);
	for (uint32_t more = 1; more <= 3; more++) {
		bool is_read;

		heap_init(&heap);
		heap.fail_at = count + more;
		is_read = decode(&helped, 2, jpeg, &heap, &h);
		CHECK(is_read);
		CHECK_NUMBER(h.begun, ==, 0);
		img_release(&helped);
		CHECK_NUMBER(heap.live_count, ==, 0);
	}
	free(jpeg.data);
}

/* Nobody may need these bytes any more: they have been read ahead. */
static void spoil(struct test_helper *h)
{
	memset(h->spoil, 0x55, 1000);
}

static void check_not_read_again(const struct jpeg_spec *spec, uint32_t n)
{
	struct test_helper h = make_helper(HELP_PROMPT);
	struct bytes jpeg = make(spec);
	struct image alone, helped;
	struct heap heap;

	heap_init(&heap);
	CHECK(decode(&alone, n, jpeg, &heap, NULL));
	/* The first part ends after a sixth of the scan, or 64 KiB. */
	h.then = spoil;
	h.spoil = jpeg.data + max_u64(jpeg.count / 6, 1 << 16) * 7 / 8;
	CHECK(decode(&helped, n, jpeg, &heap, &h));
	CHECK(is_same(&alone, &helped));
	CHECK(h.begun > 1);
	img_release(&alone);
	img_release(&helped);
	/* And they are needed. */
	CHECK(!decode(&helped, n, jpeg, &heap, NULL) ||
	      !is_same(&alone, &helped));
	img_release(&helped);
	free(jpeg.data);
}

static void test_what_was_read_ahead_is_not_read_again(void)
{
	for (uint32_t n = 1; n <= IDCT_MAX; n++) {
		check_case("at %u/8", n);
		check_not_read_again(&specs[0], n);
		check_not_read_again(&specs[8], n);
	}
}

/* By img_decode(): also with texture that is watched for. */
static void test_photos_are_the_same(void)
{
	struct bytes jpeg = make(&specs[0]);
	struct test_helper h = make_helper(HELP_PROMPT);

	for (uint32_t side = 150; side < 900; side += 150) {
		const struct img_transform t = { .quality = 80,
						 .box = { side, side } };
		struct img_header header;
		struct img_view view;
		struct image alone, helped;
		struct heap heap;

		heap_init(&heap);
		CHECK_NUMBER(
			img_probe(&header, jpeg.data, jpeg.count, &no_limits),
			==, IMG_OK);
		view = img_fit(&header, &t);
		CHECK_NUMBER(img_decode(&alone, jpeg.data, jpeg.count, &header,
					&view, &t, &no_limits, &heap.memory),
			     ==, IMG_OK);
		CHECK_NUMBER(img_decode(&helped, jpeg.data, jpeg.count, &header,
					&view, &t, &no_limits,
					use_helper(&h, &heap)),
			     ==, IMG_OK);
		CHECK(is_same(&alone, &helped));
		img_release(&alone);
		img_release(&helped);
	}
	CHECK_NUMBER(h.begun, >, 3);
	free(jpeg.data);
}

int main(void)
{
	test_all_kinds_of_scans();
	if (!HAS_ONLY_THREADS) {
		test_short_scans_need_no_help();
		test_damaged_scans();
		test_late_helpers();
		test_without_memory();
		test_what_was_read_ahead_is_not_read_again();
		test_photos_are_the_same();
	}
	return 0;
}
