/* SPDX-License-Identifier: MIT */
/*
 * Memory limit: how much memory this process may use, and which part of it is
 * a sensible budget for uploads.
 */
#ifndef SERVICE_MEMORY_LIMIT_H
#define SERVICE_MEMORY_LIMIT_H

#include <stdint.h>

/* What is left to the program, besides uploads. */
enum {
	MEMORY_OWN_BYTES = 32 << 20, /* code, heap, what stacks touch */
	/* Of libmicrohttpd's buffers, the request and its reply's head. */
	MEMORY_CONNECTION_BYTES = 144 << 10,
};

/*
 * The least of the machine's memory and the limits of this process's control
 * groups (memory.max, memory.limit_in_bytes).
 */
uint64_t memory_limit_bytes(void);

/* The same for /proc and /sys below `root`; UINT64_MAX: groups set no limit. */
uint64_t memory_limit_of_groups(const char *root);

/*
 * Seven eighths of `limit_bytes`, less what the program and its connections may
 * take; but at least a quarter of it.
 */
uint64_t memory_budget_bytes(uint64_t limit_bytes, uint32_t connections_max);

#endif
