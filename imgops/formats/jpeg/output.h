/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: bytes that are written one after the other into a block of
 * memory, which is doubled when it is full.
 */
#ifndef IMGOPS_FORMATS_JPEG_OUTPUT_H
#define IMGOPS_FORMATS_JPEG_OUTPUT_H

#include "base/memory.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

struct output {
	const struct memory *memory;
	uint8_t *bytes; /* NULL at first */
	size_t count;
	size_t room_bytes; /* size of `bytes` */
};

/* Make the block larger.  False: no memory, and nothing has changed. */
MUST_CHECK static inline bool output_grow(struct output *o, size_t room_bytes)
{
	uint8_t *bytes = memory_alloc(o->memory, room_bytes);

	if (bytes == NULL)
		return false;
	if (o->count > 0)
		memcpy(bytes, o->bytes, o->count);
	memory_free(o->memory, o->bytes);
	o->bytes = bytes;
	o->room_bytes = room_bytes;
	return true;
}

/* Make sure that `bytes` more can be written, after the first output_grow(). */
MUST_CHECK static inline bool output_reserve(struct output *o, size_t bytes)
{
	size_t room = o->room_bytes;

	assert(room > 0);
	if (room - o->count >= bytes)
		return true;
	while (room - o->count < bytes)
		room *= 2;
	return output_grow(o, room);
}

#endif
