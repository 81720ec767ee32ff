/* SPDX-License-Identifier: MIT */
/* Manifest: the files that a file lists, added to a dataset (dataset.h). */
#ifndef LOADGEN_MANIFEST_H
#define LOADGEN_MANIFEST_H

#include "loadgen/dataset.h"

/* False: `error` names the line at fault. */
MUST_CHECK bool manifest_load(struct dataset *d, const char *path,
			      struct error *error);

#endif
