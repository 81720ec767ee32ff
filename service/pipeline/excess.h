/* SPDX-License-Identifier: MIT */
/*
 * Excess: a value that is above a limit, for programs as members of a problem,
 * and for people in a sentence, rounded: 12000 x 9000 pixels are "108
 * megapixels".
 *
 * Pure.
 */
#ifndef SERVICE_EXCESS_H
#define SERVICE_EXCESS_H

#include <stddef.h>
#include <stdint.h>

/* {0}: there is none. */
struct excess {
	double value; /* NAN: not known, but above the limit */
	double limit;
	const char *unit; /* "bytes", "pixels", "seconds", "scans" ... */
};

/*
 * Write a sentence: `before`, the value, `between`, the limit, `after`.  Both
 * numbers have their unit.  The value, which must be known, has three digits,
 * and the limit ten, or as many as it takes for the value to be above the
 * limit.  Neither has an exponent.  Bytes are KiB or MiB if the limit has as
 * many.
 */
void excess_explain(char *text, size_t bytes, const struct excess *e,
		    const char *before, const char *between, const char *after);

/*
 * Write the sentence for an upload that needs more memory than all uploads
 * have.  Returns the excess.
 */
struct excess excess_explain_memory(char *text, size_t bytes,
				    uint64_t needed_bytes,
				    uint64_t limit_bytes);

#endif
