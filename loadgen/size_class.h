/* SPDX-License-Identifier: MIT */
/*
 * Size classes: uploads by the size of their file and by that of their image,
 * to see what the small ones suffer from the large.
 *
 * Pure.  The tables are in size_class.c.
 */
#ifndef LOADGEN_SIZE_CLASS_H
#define LOADGEN_SIZE_CLASS_H

#include <stdint.h>

enum { SIZE_CLASS_COUNT = 4, MEGAPIXEL_CLASS_COUNT = 4 };

struct size_class {
	const char *name;     /* with its unit; a KB is 1000 bytes */
	uint64_t bytes_below; /* sizes are less; UINT64_MAX: the last class */
};

/* A megapixel is 1,000,000 pixels, as cameras are sold. */
struct megapixel_class {
	const char *name;
	double megapixels_below; /* INFINITY: the last class */
};

/* The smallest first. */
extern const struct size_class size_classes[SIZE_CLASS_COUNT];
extern const struct megapixel_class megapixel_classes[MEGAPIXEL_CLASS_COUNT];

/* An index into size_classes. */
unsigned size_class_of(uint64_t size_bytes);

/* An index into megapixel_classes. */
unsigned megapixel_class_of(double megapixels);

#endif
