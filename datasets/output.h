/* SPDX-License-Identifier: MIT */
/*
 * Output: the folder of a set: its files, manifest.tsv and LICENSES.
 *
 * A hidden file, OUTPUT_MARK, marks the folder as ours, so that no other is
 * ever written into or cleaned, and none of ours is taken for photos.
 *
 * Limits  False anywhere: errno says why.
 */
#ifndef DATASETS_OUTPUT_H
#define DATASETS_OUTPUT_H

#include "datasets/make.h"

#include <stdbool.h>
#include <stdint.h>

#define OUTPUT_MARK ".mkset"

/* Make `dir`, or empty it if it is ours.  EEXIST: it is somebody else's. */
bool output_open(const char *dir);

/* "00042.jpg" */
enum { OUTPUT_NAME_BYTES = 16 };
void output_name(char *name, uint32_t number);

bool output_write(const char *dir, uint32_t number, const struct jpeg *jpeg);

/*
 * Write manifest.tsv: a line per upload.  `photos` is cut from the front of
 * the sources' paths.
 */
bool output_manifest(const char *dir, const char *photos,
		     const struct source *sources, const struct upload *uploads,
		     uint32_t count);

/* Write LICENSES, with that of the folder of photos if it has one. */
bool output_licenses(const char *dir, const char *photos);

#endif
