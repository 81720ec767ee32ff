/* SPDX-License-Identifier: MIT */
/*
 * JSON files: read and written as a whole, with errors that name the file; and
 * the numbers in them.
 */
#ifndef LOADGEN_COMPARE_JSON_FILE_H
#define LOADGEN_COMPARE_JSON_FILE_H

#include "loadgen/error.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

/* The caller frees it with cJSON_Delete().  NULL: see `error`. */
MUST_CHECK cJSON *json_file_read(const char *path, struct error *error);

/* Put `json` in place of the file, which is never seen half written. */
MUST_CHECK bool json_file_write(const char *folder, const char *name,
				const cJSON *json, struct error *error);

/* The number at `key` of `object`, which may be NULL; or `missing`. */
double json_number(const cJSON *object, const char *key, double missing);

#endif
