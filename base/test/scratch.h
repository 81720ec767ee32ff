/* SPDX-License-Identifier: MIT */
/*
 * A folder below /tmp for one test.  Any error fails the test.  If an assertion
 * ends the test, no folder is left.
 */
#ifndef BASE_TEST_SCRATCH_H
#define BASE_TEST_SCRATCH_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

enum { SCRATCH_PATH_BYTES = 256 };

struct scratch {
	char dir[64];
};

void scratch_init(struct scratch *s);

/* A folder that the test makes and removes itself goes, too, if it fails. */
void scratch_adopt(const char *dir);

/* Remove all that is in the folder. */
void scratch_clear(struct scratch *s);

/* Remove the folder and all that is in it. */
void scratch_release(struct scratch *s);

/* Write the full path of `name` to `path`, and return it. */
const char *scratch_path(const struct scratch *s, const char *name,
			 char path[SCRATCH_PATH_BYTES]);

/* Make a folder, with the folders above it. */
void scratch_mkdir(const struct scratch *s, const char *name);
void scratch_write(const struct scratch *s, const char *name, const void *bytes,
		   size_t size_bytes);
void scratch_write_text(const struct scratch *s, const char *name,
			const char *text);

/* The whole file as a string.  The caller frees it. */
char *scratch_read(const struct scratch *s, const char *name);

/* The whole file, which is JSON.  The caller deletes it. */
cJSON *scratch_read_json(const struct scratch *s, const char *name);

/* Assert that the file contains `part`. */
void scratch_expect(const struct scratch *s, const char *name,
		    const char *part);

bool scratch_has(const struct scratch *s, const char *name);

#endif
