/* SPDX-License-Identifier: MIT */
/* Report: the measurements, for people and for programs. */
#ifndef IMGOPS_BENCH_REPORT_H
#define IMGOPS_BENCH_REPORT_H

#include "imgops/bench/measure.h"

#include <stdio.h>

/* The spread of a figure over files.  A struct of zeros is empty. */
struct spread {
	/* spread_init() makes room for all; spread_finish() sorts them. */
	double *values;
	size_t count;
	double least, most;
	const char *least_path, *most_path; /* not owned */
};

void spread_init(struct spread *s, size_t count_max);
void spread_release(struct spread *s);

/* Add the value of the file `path`, which must outlive `s`. */
void spread_add(struct spread *s, double value, const char *path);

/* Call it after the last value. */
void spread_finish(struct spread *s);

/* After spread_finish() of at least one value. */
double spread_quantile(const struct spread *s, double share);

void report_print(FILE *out, const struct measure *m,
		  const struct bench_options *o);

/* The caller checks for errors by ferror(). */
void report_write_json(FILE *out, const struct measure *m,
		       const struct bench_options *o);

#endif
