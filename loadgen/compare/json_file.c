/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/json_file.h"

#include "loadgen/compare/output_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES_MAX = 256 << 20 };

/* All of it, ended by a 0.  NULL: errno says why. */
static char *read_text(FILE *in)
{
	char *text = NULL;
	size_t room = 0;
	size_t length = 0;

	do {
		char *more;

		if (length + 1 >= room) {
			room = room == 0 ? 1 << 16 : 2 * room;
			more = room > TEXT_BYTES_MAX ? NULL :
						       realloc(text, room);
			if (more == NULL) {
				free(text);
				errno = EFBIG;
				return NULL;
			}
			text = more;
		}
		length += fread(text + length, 1, room - length - 1, in);
	} while (!feof(in) && !ferror(in));
	text[length] = '\0';
	if (!ferror(in))
		return text;
	free(text);
	return NULL;
}

static size_t line_of(const char *text, const char *place)
{
	size_t line = 1;

	for (const char *c = text; c < place; c++)
		line += *c == '\n';
	return line;
}

cJSON *json_file_read(const char *path, struct error *error)
{
	FILE *in = fopen(path, "re");
	char *text = in != NULL ? read_text(in) : NULL;
	const char *end = NULL;
	cJSON *json;

	if (text == NULL)
		error_set(error, "%s: %s", path, strerror(errno));
	if (in != NULL)
		fclose(in);
	if (text == NULL)
		return NULL;
	json = cJSON_ParseWithOpts(text, &end, true);
	if (json == NULL)
		error_set(error, "%s: not JSON, near line %zu", path,
			  line_of(text, end));
	free(text);
	return json;
}

bool json_file_write(const char *folder, const char *name, const cJSON *json,
		     struct error *error)
{
	char *text = cJSON_Print(json);
	struct output_file file;
	bool written = false;

	if (text == NULL) {
		error_set(error, "%s: out of memory", name);
	} else if (output_file_open(&file, folder, name, error)) {
		fprintf(file.out, "%s\n", text);
		written = output_file_finish(&file, error);
	}
	cJSON_free(text);
	return written;
}

double json_number(const cJSON *object, const char *key, double missing)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(item) ? item->valuedouble : missing;
}
