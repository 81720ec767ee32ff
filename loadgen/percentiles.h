/* SPDX-License-Identifier: MIT */
/*
 * Percentiles: the distribution of response times, as HdrHistogram prints it,
 * for the tools that plot such files.
 *
 * Values are milliseconds, and exact.  HdrHistogram's last line, which tells
 * the buckets, is left out: there are none.
 */
#ifndef LOADGEN_PERCENTILES_H
#define LOADGEN_PERCENTILES_H

#include "loadgen/samples.h"

#include <stdio.h>

/* Of samples in nanoseconds, which are reordered.  False: not written. */
MUST_CHECK bool percentiles_write(FILE *out, struct samples *ns);

#endif
