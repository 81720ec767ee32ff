/* SPDX-License-Identifier: MIT */
/*
 * Allocation for mkset and stats: if there is no memory, the program prints a
 * line and ends with status 1.
 *
 * Ownership  the caller frees the memory with free().
 * Threads    any.
 */
#ifndef DATASETS_XALLOC_H
#define DATASETS_XALLOC_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

static inline void *xreallocarray(void *memory, size_t count, size_t size)
{
	memory = reallocarray(memory, count, size);
	if (memory == NULL) {
		fputs("no memory\n", stderr);
		exit(1);
	}
	return memory;
}

/* Zeroed. */
static inline void *xcalloc(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (memory == NULL) {
		fputs("no memory\n", stderr);
		exit(1);
	}
	return memory;
}

#endif
