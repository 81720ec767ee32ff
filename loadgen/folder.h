/* SPDX-License-Identifier: MIT */
/* Folder: the files below a folder, added to a dataset (dataset.h). */
#ifndef LOADGEN_FOLDER_H
#define LOADGEN_FOLDER_H

#include "loadgen/dataset.h"

/* False: `error` names the file or folder at fault. */
MUST_CHECK bool folder_load(struct dataset *d, const char *dir, bool all_files,
			    struct error *error);

#endif
