/* SPDX-License-Identifier: MIT */
/* Every size has one class, and a class begins where the one before ends. */
#include "loadgen/size_class.h"

#include <assert.h>
#include <math.h>

static void test_borders(void)
{
	assert(size_class_of(0) == 0);
	for (unsigned i = 0; i < SIZE_CLASS_COUNT - 1; i++) {
		uint64_t border = size_classes[i].bytes_below;

		assert(size_class_of(border - 1) == i);
		assert(size_class_of(border) == i + 1);
	}
	assert(size_classes[SIZE_CLASS_COUNT - 1].bytes_below == UINT64_MAX);
	assert(size_class_of(UINT64_MAX) == SIZE_CLASS_COUNT - 1);
}

static void test_known_sizes(void)
{
	assert(size_class_of(1800) == 0);
	assert(size_class_of(50000) == 1);
	assert(size_class_of(600000) == 2);
	assert(size_class_of(4000000) == 3);
}

static void test_megapixel_borders(void)
{
	assert(megapixel_class_of(0) == 0);
	for (unsigned i = 0; i < MEGAPIXEL_CLASS_COUNT - 1; i++) {
		double border = megapixel_classes[i].megapixels_below;

		assert(megapixel_class_of(nextafter(border, 0)) == i);
		assert(megapixel_class_of(border) == i + 1);
	}
	assert(megapixel_class_of(1e9) == MEGAPIXEL_CLASS_COUNT - 1);
}

static void test_known_images(void)
{
	assert(megapixel_class_of(0.32 * 0.24) == 0);
	assert(megapixel_class_of(0.64 * 0.48) == 1);
	assert(megapixel_class_of(1.28 * 0.96) == 2);
	assert(megapixel_class_of(4 * 3) == 3);
}

int main(void)
{
	test_megapixel_borders();
	test_known_images();
	test_borders();
	test_known_sizes();
	return 0;
}
