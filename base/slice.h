/* SPDX-License-Identifier: MIT */
/*
 * Slice: how long the kernel lets a thread run while others wait.
 *
 * A thread that wakes up takes the core from one with a longer slice at once;
 * one with an equal slice may run to its end first (Linux 6.12 and later).  So
 * a short slice is for threads that wait for sockets and do little at a time,
 * beside threads that compute.  It is not a priority: over a longer time all
 * get the same share.
 */
#ifndef BASE_SLICE_H
#define BASE_SLICE_H

#include <stdint.h>

/* The shortest that the kernel knows. */
#define SLICE_SHORT_NS UINT64_C(100000)

/*
 * Set that of the calling thread, and of those that it starts from now on.  0:
 * the usual one.  Where the kernel cannot, nothing changes.
 */
void slice_set(uint64_t ns);

#endif
