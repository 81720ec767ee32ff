/* SPDX-License-Identifier: MIT */
#include "loadgen/dataset/lines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool lines_open(struct lines *l, const char *path, struct error *error)
{
	*l = (struct lines){
		.path = path,
		.in = fopen(path, "re"),
		.error = error,
	};
	if (l->in == NULL)
		error_set(error, "%s: %s", path, strerror(errno));
	return l->in != NULL;
}

static bool is_wanted(const char *line)
{
	const char *first = line + strspn(line, " \t");

	return *first != '\0' && *first != '#';
}

static void cut_end(char *line, size_t *length)
{
	while (*length > 0 && strchr("\r\n", line[*length - 1]) != NULL)
		line[--*length] = '\0';
}

char *lines_next(struct lines *l)
{
	ssize_t count;

	while ((count = getline(&l->text, &l->capacity, l->in)) >= 0) {
		size_t length = (size_t)count;

		l->number++;
		if (strlen(l->text) != length) {
			lines_fail(l, "not a line of text");
			return NULL;
		}
		cut_end(l->text, &length);
		if (is_wanted(l->text))
			return l->text;
	}
	if (!feof(l->in)) {
		error_set(l->error, "%s: %s", l->path, strerror(errno));
		l->failed = true;
	}
	return NULL;
}

void lines_fail(struct lines *l, const char *format, ...)
{
	struct error why;
	va_list args;

	va_start(args, format);
	vsnprintf(why.text, sizeof(why.text), format, args);
	va_end(args);
	error_set(l->error, "%s:%" PRIu64 ": %s", l->path, l->number, why.text);
	l->failed = true;
}

bool lines_close(struct lines *l)
{
	fclose(l->in);
	free(l->text);
	return !l->failed;
}
