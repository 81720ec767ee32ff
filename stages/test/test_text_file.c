/* SPDX-License-Identifier: MIT */
/* Promise: a file is read whole, or not at all and with a reason. */
#include "stages/text_file.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/test_text_file-XXXXXX";

/* `bytes` of `data` in a file.  NULL: its text is `data`; else why not. */
static const char *fault(const char *data, size_t bytes, size_t bytes_max)
{
	const char *why = NULL;
	FILE *f = fopen(path, "w");
	bool ok = f != NULL && fwrite(data, 1, bytes, f) == bytes;

	assert(ok && fclose(f) == 0);

	char *text = text_file_read(path, bytes_max, &why);

	assert((text == NULL) == (why != NULL));
	assert(text == NULL || strcmp(text, data) == 0);
	free(text);
	return why;
}

int main(void)
{
	const char *why;
	int fd = mkstemp(path);

	assert(fd >= 0 && close(fd) == 0);
	assert(fault("a\nb\n", 4, 5) == NULL);
	assert(fault("a\nb\n", 4, 4) == NULL);
	assert(fault("", 0, 4) == NULL);
	assert(strstr(fault("a\nb\n", 4, 3), "too large") != NULL);
	assert(strstr(fault("a\0b", 3, 9), "zero byte") != NULL);
	assert(strstr(fault("a\0", 2, 9), "zero byte") != NULL);
	(void)unlink(path);
	assert(text_file_read(path, 9, &why) == NULL);
	assert(strcmp(why, strerror(ENOENT)) == 0);
	assert(text_file_read("/", 9, &why) == NULL);
	assert(strcmp(why, strerror(EISDIR)) == 0);
	return 0;
}
