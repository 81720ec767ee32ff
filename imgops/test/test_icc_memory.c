/* SPDX-License-Identifier: MIT */
/*
 * Promises: whichever allocation for a profile fails, the profile is not called
 * bad, and no memory leaks; all of it comes from struct memory, except lcms2's
 * context; img_probe() takes none.
 *
 * The linker's option --wrap redirects malloc() and realloc() of imgops to this
 * file.
 */
#include "base/test/check.h"
#include "imgops/colour/icc.h"
#include "imgops/test/profiles.h"

#include <stdio.h>
#include <stdlib.h>

static uint32_t malloc_count;

void *__real_malloc(size_t bytes);
void *__real_realloc(void *at, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_realloc(void *at, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
	malloc_count++;
	return __real_malloc(bytes);
}

void *__wrap_realloc(void *at, size_t bytes)
{
	malloc_count++;
	return __real_realloc(at, bytes);
}

static enum icc_verdict judge(struct bytes profile, enum img_space space,
			      uint64_t pixels, uint32_t fail_at,
			      uint32_t *alloc_count)
{
	struct heap h;
	struct icc icc;
	enum icc_verdict verdict;

	heap_init(&h);
	h.fail_at = fail_at;
	verdict = icc_open(&icc, profile.data, profile.count, space, pixels,
			   &h.memory);
	icc_close(&icc);
	CHECK_NUMBER(h.live_count, ==, 0);
	*alloc_count = h.alloc_count;
	return verdict;
}

static void check(struct bytes profile, enum img_space space, uint64_t pixels)
{
	uint32_t count, reached;
	enum icc_verdict whole = judge(profile, space, pixels, 0, &count);

	CHECK_NUMBER(count, >, 1);
	CHECK_NUMBER(whole, ==, ICC_OTHER);
	for (uint32_t nth = 1; nth <= count; nth++)
		CHECK_NUMBER(judge(profile, space, pixels, nth, &reached), ==,
			     ICC_NO_MEMORY);
	(void)printf("%zu bytes: %u allocations\n", profile.count, count);
}

static void test_lack_of_memory_is_not_a_bad_profile(void)
{
	struct bytes grey = profile_grey(2.2), cmyk = profile_cmyk();

	check(grey, IMG_GREY, 1);
	check(cmyk, IMG_CMYK, 1);
	check(cmyk, IMG_CMYK, 1000000); /* enough pixels for a table */
	free(grey.data);
	free(cmyk.data);
}

static void check_probe(struct bytes profile, enum img_profile state)
{
	struct jpeg_spec spec = { .width = 16, .height = 16 };
	struct bytes plain = jpeg_make(&spec);
	struct bytes jpeg = jpeg_with_profile(plain, profile);
	struct img_header h;
	uint32_t before = malloc_count;
	enum img_err err = img_probe(&h, jpeg.data, jpeg.count, &no_limits);

	CHECK_NUMBER(err, ==, IMG_OK);
	CHECK_NUMBER(h.icc_bytes, ==, profile.count);
	CHECK_NUMBER(h.profile, ==, state);
	CHECK_NUMBER(malloc_count, ==, before);
	free(plain.data);
	free(jpeg.data);
	free(profile.data);
}

static void test_a_header_is_read_without_memory(void)
{
	check_probe(profile_rgb(&gamuts[SRGB], CURVE_SRGB, 0),
		    IMG_PROFILE_SRGB);
	check_probe(profile_rgb(&gamuts[ADOBE_RGB], 2.2, 1024),
		    IMG_PROFILE_MATRIX);
	check_probe(profile_cmyk(), IMG_PROFILE_UNKNOWN);
	check_probe(profile_grey(2.2), IMG_PROFILE_UNKNOWN);
	check_probe(profile_bytes(cmsCreateLab4Profile(NULL)),
		    IMG_PROFILE_UNKNOWN);
}

int main(void)
{
	test_lack_of_memory_is_not_a_bad_profile();
	test_a_header_is_read_without_memory();
	return 0;
}
