/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: a stack for a library that needs more of it than callers have
 * (64 KiB).
 */
#ifndef IMGOPS_FORMATS_STACK_H
#define IMGOPS_FORMATS_STACK_H

#include <stddef.h>

/* Call fn(arg) on this block, of `bytes`; it must not pause. */
void stack_call(void (*fn)(void *arg), void *arg, void *block, size_t bytes);

#endif
