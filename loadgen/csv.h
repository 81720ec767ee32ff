/* SPDX-License-Identifier: MIT */
/*
 * CSV: one row for each request, as they end (RFC 4180).
 *
 * Times are from the run's begin, in seconds, and empty where there is none: an
 * intended time in a closed loop, a last byte sent that the server did not wait
 * for.  Without a whole reply, `status` is empty and `error` says why.
 */
#ifndef LOADGEN_CSV_H
#define LOADGEN_CSV_H

#include "loadgen/result.h"

#include <stdbool.h>
#include <stdio.h>

/* Errors are told by ferror(). */
void csv_write_names(FILE *out);

/* `path` is that of the upload. */
void csv_write_row(FILE *out, const struct result *r, const char *path);

#endif
