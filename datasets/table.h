/* SPDX-License-Identifier: MIT */
/* Table: what stats knows of a folder, counted file by file, and its print. */
#ifndef DATASETS_TABLE_H
#define DATASETS_TABLE_H

#include "datasets/inspect.h"

#include <stdint.h>
#include <stdio.h>

enum { TABLE_SAMPLINGS = 6 };

struct table {
	uint64_t *sizes;  /* in bytes, of all files */
	uint64_t *pixels; /* of the JPEGs among them */
	uint64_t file_count;
	uint64_t jpeg_count;
	uint64_t progressive;
	uint64_t samplings[TABLE_SAMPLINGS];
	uint64_t turned; /* orientation 2 to 8 */
	uint64_t exif;
	uint64_t thumbnail;
	uint64_t icc;
};

/* Count a file; `facts` is NULL where its headers are not those of a JPEG. */
void table_add(struct table *t, uint64_t size_bytes, const struct facts *facts);

/*
 * Print table 4.1 of Gordon's thesis for the files counted, at least one, with
 * his column beside it, and then what his has not.
 */
void table_print(struct table *t, FILE *out);

void table_release(struct table *t);

#endif
