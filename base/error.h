/* SPDX-License-Identifier: MIT */
/*
 * Error: why something failed, as one English sentence for the user.
 *
 * A function that can fail for a reason the user must know takes a
 * `struct error *` as its last parameter.  It writes the sentence only when it
 * fails.  Only main.c prints it.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "base/util.h" /* MUST_CHECK */

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct error {
	char text[512]; /* a longer sentence is cut */
};

__attribute__((format(printf, 2, 3))) static inline void
error_set(struct error *error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
}

/* The name of an errno, such as "ENOSPC"; "unknown" if it has none. */
static inline const char *errno_name(int number)
{
	const char *name = strerrorname_np(number);

	return name != NULL ? name : "unknown";
}

/* Set the error; the result is false, for `return error_fail(...)`. */
#define error_fail(error, ...) (error_set(error, __VA_ARGS__), false)

#endif
