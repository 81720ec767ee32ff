/* SPDX-License-Identifier: MIT */
#include "loadgen/golden.h"

#include "loadgen/save.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PART_BYTES = 64 << 10 };

/* False with errno 0: they differ; else it could not be read. */
static bool equals(FILE *in, const char *bytes, size_t size)
{
	char part[PART_BYTES];
	size_t place = 0;
	size_t count;

	errno = 0;
	while ((count = fread(part, 1, sizeof(part), in)) > 0) {
		if (count > size - place ||
		    memcmp(part, bytes + place, count) != 0)
			return false;
		place += count;
	}
	return !ferror(in) && place == size;
}

bool golden_compare(const char *dir, const char *path, const void *bytes,
		    size_t size, struct error *why)
{
	char *name = save_name(path);
	char *full = NULL;
	FILE *in = NULL;
	bool is_equal = false;

	if (name != NULL && asprintf(&full, "%s/%s", dir, name) >= 0)
		in = fopen(full, "re");
	if (in != NULL)
		is_equal = equals(in, bytes, size);
	if (!is_equal)
		error_set(why, "%s: %s", full != NULL ? full : dir,
			  errno != 0 ? strerror(errno) : "other bytes");
	if (in != NULL)
		fclose(in);
	free(full);
	free(name);
	return is_equal;
}
