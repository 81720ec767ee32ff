/* SPDX-License-Identifier: MIT */
/*
 * Buffers: the memory of all pictures, returned to the system when idle.
 *
 * A pool (base/memory.h), and a thread that trims the pool one to two seconds
 * after the last buffers_touch().  Afterwards the thread sleeps, without a
 * timer.
 *
 * Ownership  All blocks must be freed before buffers_free().
 * Threads    One thread calls buffers_new() and buffers_free(); any number may
 *            call the others at the same time.
 */
#ifndef SERVICE_BUFFERS_H
#define SERVICE_BUFFERS_H

#include "base/memory.h"

struct buffers;

/* The limits are those of memory_pool_new().  NULL: no memory, or no thread. */
struct buffers *buffers_new(size_t kept_bytes_max, size_t bytes_max);

const struct memory *buffers_memory(const struct buffers *b);

/* There is work: do not trim now.  Cheap enough for every upload. */
void buffers_touch(struct buffers *b);

void buffers_read(const struct buffers *b, struct memory_pool_stats *out);

void buffers_free(struct buffers *b);

#endif
