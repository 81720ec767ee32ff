/* SPDX-License-Identifier: MIT */
/* Memory for mkset and stats; without memory the program ends. */
#ifndef DATASETS_MEMORY_H
#define DATASETS_MEMORY_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* Zeroed; for free(). */
static inline void *memory_new(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (memory == NULL) {
		fputs("no memory\n", stderr);
		exit(1);
	}
	return memory;
}

/* Make `memory` larger or smaller; it may move. */
static inline void *memory_resize(void *memory, size_t count, size_t size)
{
	memory = reallocarray(memory, count, size);
	if (memory == NULL) {
		fputs("no memory\n", stderr);
		exit(1);
	}
	return memory;
}

#endif
