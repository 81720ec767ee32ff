/* SPDX-License-Identifier: MIT */
/* A folder for one test, below /tmp.  What fails here fails the test. */
#ifndef LOADGEN_TEST_SCRATCH_H
#define LOADGEN_TEST_SCRATCH_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

enum { SCRATCH_PATH_BYTES = 256 };

struct scratch {
	char dir[64];
};

void scratch_init(struct scratch *s);

/* Remove the folder and all in it. */
void scratch_release(struct scratch *s);

/* The full path of `name`, in `path`, which is returned. */
const char *scratch_path(const struct scratch *s, const char *name,
			 char path[SCRATCH_PATH_BYTES]);

void scratch_mkdir(const struct scratch *s, const char *name);
void scratch_write(const struct scratch *s, const char *name, const void *bytes,
		   size_t size_bytes);

/* The whole file as a string.  The caller frees it. */
char *scratch_read(const struct scratch *s, const char *name);

/* The whole file, which is JSON.  The caller deletes it. */
cJSON *scratch_read_json(const struct scratch *s, const char *name);

/* `part` stands in the file. */
void scratch_expect(const struct scratch *s, const char *name,
		    const char *part);

bool scratch_has(const struct scratch *s, const char *name);

#endif
