/* SPDX-License-Identifier: MIT */
/* Text files, read at once: configurations and measured graphs. */
#ifndef STAGES_TEXT_FILE_H
#define STAGES_TEXT_FILE_H

#include <stddef.h>

/*
 * All of a file, for the caller to free().  NULL: it cannot be read, is larger
 * than `bytes_max` or is no text; *why says which.
 */
char *text_file_read(const char *path, size_t bytes_max, const char **why);

#endif
