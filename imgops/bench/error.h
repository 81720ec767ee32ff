/* SPDX-License-Identifier: MIT */
/*
 * Errors: one English sentence, for main.c to print.
 *
 * A function that can fail for a reason the user must know takes one, and
 * writes it only when it fails.
 */
#ifndef IMGOPS_BENCH_ERROR_H
#define IMGOPS_BENCH_ERROR_H

#include <stdarg.h>
#include <stdio.h>

#define MUST_CHECK __attribute__((warn_unused_result))

struct error {
	char text[512]; /* longer is cut */
};

__attribute__((format(printf, 2, 3))) static inline void
error_set(struct error *error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
}

#endif
