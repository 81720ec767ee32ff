/* SPDX-License-Identifier: MIT */
#include "loadgen/api_key.h"

#include "loadgen/lines.h"

#include <stdio.h>
#include <stdlib.h>

/* Anything else could end the line, or the head. */
static bool is_key(const char *text)
{
	while (*text > ' ' && *text <= '~')
		text++;
	return *text == '\0';
}

/* NULL: the line is blamed. */
static char *make_field(struct lines *lines, const char *key)
{
	char *field;

	if (!is_key(key))
		lines_blame(lines, "not a key: it has other characters than "
				   "printable ones without spaces");
	else if (asprintf(&field, "Authorization: Bearer %s\r\n", key) < 0)
		lines_blame(lines, "out of memory");
	else
		return field;
	return NULL;
}

char *api_key_read(const char *path, struct error *error)
{
	struct lines lines;
	char *field = NULL;
	const char *key;

	if (!lines_open(&lines, path, error))
		return NULL;
	key = lines_next(&lines);
	if (key != NULL)
		field = make_field(&lines, key);
	if (lines_close(&lines) && field == NULL)
		error_set(error, "%s: no key in it", path);
	return field;
}
