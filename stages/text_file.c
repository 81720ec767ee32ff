/* SPDX-License-Identifier: MIT */
#include "stages/text_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *text_file_read(const char *path, size_t bytes_max, const char **why)
{
	FILE *f = fopen(path, "re");

	if (f == NULL) {
		*why = strerrordesc_np(errno);
		return NULL;
	}
	/* One more tells that there is more, or else ends the text. */
	char *text = calloc(1, bytes_max + 1);
	size_t bytes = text != NULL ? fread(text, 1, bytes_max + 1, f) : 0;

	*why = NULL;
	if (text == NULL || ferror(f))
		*why = strerrordesc_np(errno);
	else if (bytes > bytes_max)
		*why = "too large";
	else if (strlen(text) < bytes)
		*why = "not text: it has a zero byte";
	(void)fclose(f);
	if (*why == NULL)
		return text;
	free(text);
	return NULL;
}
