/* SPDX-License-Identifier: MIT */
/*
 * Output file: written beside its place, and put there when it is whole; it is
 * never seen half written.
 */
#ifndef LOADGEN_COMPARE_OUTPUT_FILE_H
#define LOADGEN_COMPARE_OUTPUT_FILE_H

#include "loadgen/error.h"

#include <stdbool.h>
#include <stdio.h>

/* All zero: not open. */
struct output_file {
	FILE *out; /* to be written to; errors may be left in it */
	char *path;
	char *draft; /* where it is until then */
};

MUST_CHECK bool output_file_open(struct output_file *f, const char *folder,
				 const char *name, struct error *error);

/*
 * Put what was written in its place.  False: something was not written, and
 * there is what was there before.  Either way it is closed.
 */
MUST_CHECK bool output_file_finish(struct output_file *f, struct error *error);

/* Close it and forget what was written.  One that is not open is fine. */
void output_file_drop(struct output_file *f);

#endif
