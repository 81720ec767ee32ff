/* SPDX-License-Identifier: MIT */
/*
 * Buffers: the memory of all pictures, returned to the system when idle.
 *
 * A pool (base/memory.h), and a thread that trims it one to two seconds after
 * the last buffers_touch().  Then the thread sleeps and no timer runs.
 *
 * Ownership  All blocks must be freed before buffers_free().
 * Threads    Any, at once; buffers_new() and _free() one.
 */
#ifndef SERVICE_BUFFERS_H
#define SERVICE_BUFFERS_H

#include "base/memory.h"

struct buffers;

/* The limits of memory_pool_new().  NULL: no memory, or no thread. */
struct buffers *buffers_new(size_t kept_bytes_max, size_t bytes_max);

const struct memory *buffers_memory(const struct buffers *b);

/* There is work: do not trim now.  Cheap enough for every upload. */
void buffers_touch(struct buffers *b);

void buffers_read(const struct buffers *b, struct memory_pool_stats *out);

void buffers_free(struct buffers *b);

#endif
