/* SPDX-License-Identifier: MIT */
/* Small macros and functions that every program needs. */
#ifndef BASE_UTIL_H
#define BASE_UTIL_H

#include <stddef.h>
#include <stdint.h>

/* The number of elements of an array (not of a pointer). */
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* The value of a macro as a string literal. */
#define TEXT_OF(macro) TEXT_OF_VALUE(macro)
#define TEXT_OF_VALUE(value) #value

/* The structure of which `*pointer` is the member `member`. */
#define container_of(pointer, type, member)                                    \
	((type *)((char *)(pointer)-offsetof(type, member)))

/* Is this build one of a sanitizer's? */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZERS 1
#else
#define HAS_SANITIZERS 0
#endif

/* A function whose result must not be ignored. */
#define MUST_CHECK __attribute__((warn_unused_result))

static inline uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

#endif
