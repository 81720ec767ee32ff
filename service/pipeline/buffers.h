/* SPDX-License-Identifier: MIT */
/*
 * Buffers: the memory of all pictures, given back when there is no work.
 *
 * A pool (imgops/pool.h), and a thread that trims it once nobody has said that
 * there is work for a second or two.  While there is none, the thread sleeps
 * and no timer runs.
 *
 * Ownership  All blocks must be freed before buffers_free().
 * Threads    Any, at once; buffers_new() and _free() one.
 */
#ifndef SERVICE_BUFFERS_H
#define SERVICE_BUFFERS_H

#include "imgops/pool.h"

struct buffers;

/*
 * Keeps at most `kept_bytes_max` free, and maps at most `bytes_max` in all; see
 * img_pool_limit().  NULL: no memory, or no thread.
 */
struct buffers *buffers_new(size_t kept_bytes_max, size_t bytes_max);

const struct img_memory *buffers_memory(const struct buffers *b);

/* There is work: do not trim now.  Cheap; call it for every upload. */
void buffers_touch(struct buffers *b);

void buffers_read(const struct buffers *b, struct img_pool_stats *out);

void buffers_free(struct buffers *b);

#endif
