/* SPDX-License-Identifier: MIT */
/*
 * JSON: write it to a stream or into a buffer value by value, without a tree or
 * memory of its own; read it from a file; look up values in it.
 *
 *	json_begin(&j, out, JSON_INDENTED);
 *	json_open_object(&j, NULL);
 *	json_add_whole(&j, "passes", 3);
 *	json_open_array(&j, "files");
 *	json_add_text(&j, NULL, "a.jpg");
 *	json_close(&j);
 *	json_close(&j);
 *
 * writes { "passes": 3, "files": ["a.jpg"] }.  Members of an object have a
 * name; items of an array and the outermost value have none (NULL).  With
 * JSON_INDENTED the layout is that of cJSON_Print().
 *
 * ASCII control characters are escaped, so a text cannot end its line.
 *
 * Errors of the stream are not reported here: call ferror(out) at the end.
 *
 * Threads    One; nobody else writes to the stream meanwhile.
 * Limits     JSON_DEPTH_MAX objects and arrays can be open at a time.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct cJSON;

enum { JSON_DEPTH_MAX = 32 };

enum json_style {
	JSON_COMPACT,
	JSON_INDENTED,
	/*
	 * Compact, but a line ends after each comma of the outermost object or
	 * array.
	 */
	JSON_LINES
};

struct json {
	FILE *out;      /* NULL: a buffer is written */
	char *at, *end; /* the rest of the buffer */
	enum json_style style;
	uint32_t depth;                /* objects and arrays that are open */
	uint32_t objects, with_values; /* a bit for each open object or array */
};

void json_begin(struct json *j, FILE *out, enum json_style style);

/*
 * Write compact JSON to `to`, without a NUL; j->at is its end.  What does not
 * fit is cut off.
 */
void json_begin_bytes(struct json *j, char *to, size_t bytes);

void json_open_object(struct json *j, const char *name);
void json_open_array(struct json *j, const char *name);

/* End the object or array that was opened last. */
void json_close(struct json *j);

/* A text of NULL is written as null, and so is a number that is not finite. */
void json_add_text(struct json *j, const char *name, const char *text);
void json_add_number(struct json *j, const char *name, double number);
void json_add_whole(struct json *j, const char *name, uint64_t number);
/*
 * Rounded to at most this number of significant digits, as by "%.*g": 0.12504
 * with 3 digits is 0.125, and 1234 is 1.23e+03.
 */
void json_add_rounded(struct json *j, const char *name, double number,
		      int digits);
/* A number of 10^-decimals, written in full: 1200, 3 is 1.200. */
void json_add_decimal(struct json *j, const char *name, uint64_t number,
		      uint32_t decimals);
void json_add_bool(struct json *j, const char *name, bool value);
void json_add_null(struct json *j, const char *name);

/* `json` is a value that is already JSON text. */
void json_add_raw(struct json *j, const char *name, const char *json);

/*
 * Read a file of up to `bytes_max` bytes; free the result by cJSON_Delete().
 * NULL: `error` names the file, and the line where it is not JSON.
 */
MUST_CHECK struct cJSON *json_read_file(const char *path, size_t bytes_max,
					struct error *error);

/* Read a text; `error` names no file. */
MUST_CHECK struct cJSON *json_read_text(const char *text, struct error *error);

/*
 * Look up the value at a path of keys and indexes, such as
 * "size_classes.0.response_ms"; a key has up to 31 bytes.  `json` may be NULL.
 * If the value is missing or of another type, these return NULL, `missing` and
 * "-".
 */
const struct cJSON *json_at(const struct cJSON *json, const char *path);
double json_number(const struct cJSON *json, const char *path, double missing);

/* A member of an object.  NULL: it is not there, or null. */
const struct cJSON *json_given(const struct cJSON *json, const char *key);

/* A whole number, up to 2^53.  0: there is none, or it is another one. */
uint64_t json_whole(const struct cJSON *json, const char *path);
const char *json_text(const struct cJSON *json, const char *path);

#endif
