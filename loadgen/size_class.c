/* SPDX-License-Identifier: MIT */
#include "loadgen/size_class.h"

const struct size_class size_classes[SIZE_CLASS_COUNT] = {
	{ "< 50 KB", 50000 },
	{ "50-200 KB", 200000 },
	{ "200-800 KB", 800000 },
	{ ">= 800 KB", UINT64_MAX },
};

unsigned size_class_of(uint64_t size_bytes)
{
	unsigned class = 0;

	while (class < SIZE_CLASS_COUNT - 1 &&
	       size_bytes >= size_classes[class].bytes_below)
		class ++;
	return class;
}
