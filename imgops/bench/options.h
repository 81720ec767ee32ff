/* SPDX-License-Identifier: MIT */
/* Options: the command line of imgops_bench, checked. */
#ifndef IMGOPS_BENCH_OPTIONS_H
#define IMGOPS_BENCH_OPTIONS_H

#include "imgops/imgops.h"
#include "base/options.h"

struct bench_options {
	const char *dataset;
	uint64_t max_bytes; /* only files of fewer bytes */
	struct img_transform transform;
	uint64_t passes;
	double margin; /* decode at least this many times the result's size */
	bool floor;
	bool verify;
	const char *score; /* folder of another program's results, or NULL */
	const char *save;  /* NULL: nowhere */
	const char *json;  /* NULL: none */
	bool per_file;
	struct flags_asked asked; /* if any, the rest is not complete */
};

/*
 * Read the command line.  Its strings are lent to `o`.  False: `error` names
 * the option and its value.
 */
MUST_CHECK bool bench_options_parse(struct bench_options *o, int argc,
				    char **argv, struct error *error);

/* Its flags, for --help. */
extern const struct program bench_program;

#endif
