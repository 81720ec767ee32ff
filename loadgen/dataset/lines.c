/* SPDX-License-Identifier: MIT */
#include "loadgen/dataset/lines.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SEEN_BYTES = 512 };

static bool is_regular(FILE *in)
{
	struct stat status;

	return fstat(fileno(in), &status) == 0 && S_ISREG(status.st_mode);
}

/*
 * What the file is, if its first bytes are no text that people write: these
 * have no control characters except at the ends of lines, and tabs.  NULL: it
 * may be text.  A pipe's bytes can be read only once, so it may be text.
 */
static const char *find_other_kind(FILE *in)
{
	unsigned char seen[SEEN_BYTES];
	size_t bytes;

	if (!is_regular(in))
		return NULL;
	bytes = fread(seen, 1, sizeof(seen), in);
	rewind(in);
	if (bytes >= 2 && seen[0] == 0xff && seen[1] == 0xd8)
		return "a JPEG";
	for (size_t i = 0; i < bytes; i++)
		if (seen[i] < ' ' && !isspace(seen[i]))
			return "no text";
	return NULL;
}

bool lines_open(struct lines *l, const char *path, const char *expected,
		struct error *error)
{
	const char *other;

	*l = (struct lines){
		.path = path,
		.in = fopen(path, "re"),
		.error = error,
	};
	if (l->in == NULL)
		return error_fail(error, "%s: %s", path, strerror(errno));
	other = find_other_kind(l->in);
	if (other == NULL)
		return true;
	fclose(l->in);
	return error_fail(error, "%s: it is %s; give %s", path, other,
			  expected);
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
