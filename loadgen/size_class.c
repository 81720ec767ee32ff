/* SPDX-License-Identifier: MIT */
#include "loadgen/size_class.h"

#include <math.h>

const struct size_class size_classes[SIZE_CLASS_COUNT] = {
	{ "< 50 KB", 50000 },
	{ "50-200 KB", 200000 },
	{ "200-800 KB", 800000 },
	{ ">= 800 KB", UINT64_MAX },
};

const struct megapixel_class megapixel_classes[MEGAPIXEL_CLASS_COUNT] = {
	{ "< 0.1 MP", 0.1 },
	{ "0.1-0.5 MP", 0.5 },
	{ "0.5-2 MP", 2 },
	{ ">= 2 MP", INFINITY },
};

unsigned size_class_of(uint64_t size_bytes)
{
	unsigned class = 0;

	while (class < SIZE_CLASS_COUNT - 1 &&
	       size_bytes >= size_classes[class].bytes_below)
		class ++;
	return class;
}

unsigned megapixel_class_of(double megapixels)
{
	unsigned class = 0;

	while (class < MEGAPIXEL_CLASS_COUNT - 1 &&
	       megapixels >= megapixel_classes[class].megapixels_below)
		class ++;
	return class;
}
