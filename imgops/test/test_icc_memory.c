/* SPDX-License-Identifier: MIT */
/*
 * Promise: whichever allocation of lcms2 fails, the profile is not called bad,
 * and no memory leaks.
 *
 * The linker's option --wrap redirects malloc() and realloc() of imgops to this
 * file.
 */
#include "imgops/colour/icc.h"
#include "imgops/test/profiles.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

static uint32_t left; /* allocations until one fails; 0: none does */

void *__real_malloc(size_t bytes);
void *__real_realloc(void *at, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_realloc(void *at, size_t bytes);

static bool fails(void)
{
	return left > 0 && --left == 0;
}

void *__wrap_malloc(size_t bytes)
{
	return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_realloc(void *at, size_t bytes)
{
	return fails() ? NULL : __real_realloc(at, bytes);
}

static enum icc_verdict judge(struct bytes profile, enum img_space space,
			      uint64_t pixels)
{
	struct icc icc;
	enum icc_verdict verdict =
		icc_open(&icc, profile.data, profile.count, space, pixels);

	icc_close(&icc);
	return verdict;
}

static void check(struct bytes profile, enum img_space space, uint64_t pixels)
{
	enum icc_verdict whole = judge(profile, space, pixels);
	uint32_t nth = 0;

	for (bool reached = true; reached;) {
		left = ++nth;

		enum icc_verdict verdict = judge(profile, space, pixels);

		reached = left == 0;
		left = 0;
		assert(verdict == whole ||
		       (reached && verdict == ICC_NO_MEMORY));
		assert(nth > 1 || verdict == ICC_NO_MEMORY);
	}
	(void)printf("%zu bytes: %u allocations\n", profile.count, nth - 1);
}

int main(void)
{
	struct bytes profiles[] = {
		profile_rgb(&gamuts[DISPLAY_P3], CURVE_SRGB, 0),
		profile_rgb(&gamuts[ADOBE_RGB], 2.2, 1024),
		profile_grey(2.2),
		profile_cmyk(),
	};
	static const enum img_space spaces[] = { IMG_YCBCR, IMG_YCBCR, IMG_GREY,
						 IMG_CMYK };

	for (size_t i = 0; i < ARRAY_SIZE(profiles); i++) {
		check(profiles[i], spaces[i], 1);
		/* Enough pixels for a table. */
		check(profiles[i], spaces[i], 1000000);
		free(profiles[i].data);
	}
	return 0;
}
