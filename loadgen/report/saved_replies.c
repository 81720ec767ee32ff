/* SPDX-License-Identifier: MIT */
#include "loadgen/report/saved_replies.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char status_name[] = "status.tsv";

struct save {
	const char *dir;
	const struct dataset *dataset;
	int dir_fd;
	FILE *status;
	char **names; /* name of the reply to each file of the dataset */
};

/* 'a/b.jpg' -> 'a__b.jpg'.  The caller frees it.  NULL: out of memory. */
static char *reply_file_name(const char *path)
{
	char *name = malloc(2 * strlen(path) + 1);
	char *end = name;

	if (name == NULL)
		return NULL;
	for (; *path != '\0'; path++) {
		*end++ = *path == '/' ? '_' : *path;
		if (*path == '/')
			*end++ = '_';
	}
	*end = '\0';
	return name;
}

static bool make_names(struct save *s)
{
	s->names = calloc(s->dataset->count, sizeof(*s->names));
	if (s->names == NULL)
		return false;
	for (uint32_t i = 0; i < s->dataset->count; i++) {
		s->names[i] = reply_file_name(s->dataset->files[i].path);
		if (s->names[i] == NULL)
			return false;
	}
	return true;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/*
 * False: two uploads have the same name, such as 'a/b.jpg' and 'a__b.jpg', and
 * would overwrite each other's replies.
 */
static bool names_differ(const struct save *s, struct error *error)
{
	uint32_t count = s->dataset->count;
	const char **sorted = calloc(count + 1, sizeof(*sorted));
	bool differ = true;

	if (sorted == NULL) {
		error_set(error, "%s", strerror(errno));
		return false;
	}
	for (uint32_t i = 0; i < count; i++)
		sorted[i] = s->names[i];
	sorted[count] = status_name;
	qsort(sorted, count + 1, sizeof(*sorted), compare_names);
	for (uint32_t i = 0; i < count && differ; i++)
		if (strcmp(sorted[i], sorted[i + 1]) == 0) {
			error_set(error, "%s/%s: two files would go there",
				  s->dir, sorted[i]);
			differ = false;
		}
	free(sorted);
	return differ;
}

/* NULL: the file cannot be written; errno says why. */
static FILE *create_in(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			0666);

	return fd < 0 ? NULL : fdopen(fd, "w");
}

static bool save_error(const struct save *s, const char *name,
		       struct error *error)
{
	error_set(error, "%s/%s: %s", s->dir, name, strerror(errno));
	return false;
}

static bool save_begin(struct save *s, struct error *error)
{
	if (mkdir(s->dir, 0777) != 0 && errno != EEXIST)
		return save_error(s, "", error);
	s->dir_fd = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dir_fd < 0 || !make_names(s))
		return save_error(s, "", error);
	if (!names_differ(s, error))
		return false;
	s->status = create_in(s->dir_fd, status_name);
	return s->status != NULL || save_error(s, status_name, error);
}

struct save *save_new(const char *dir, const struct dataset *dataset,
		      struct error *error)
{
	struct save *s = calloc(1, sizeof(*s));

	if (s == NULL) {
		error_set(error, "%s: %s", dir, strerror(errno));
		return NULL;
	}
	s->dir = dir;
	s->dataset = dataset;
	s->dir_fd = -1;
	if (!save_begin(s, error)) {
		struct error ignored;

		save_free(s, &ignored);
		return NULL;
	}
	return s;
}

static bool write_body(const struct save *s, const struct result *result,
		       struct error *error)
{
	const char *name = s->names[result->file];
	FILE *out = create_in(s->dir_fd, name);
	size_t written = 0;

	if (out == NULL)
		return save_error(s, name, error);
	if (result->reply_bytes > 0)
		written = fwrite(result->reply, 1, result->reply_bytes, out);
	if (fclose(out) != 0 || written != result->reply_bytes)
		return save_error(s, name, error);
	return true;
}

static void write_status(const struct save *s, const struct result *result)
{
	const char *path = s->dataset->files[result->file].path;

	for (; *path != '\0'; path++)
		putc(iscntrl((unsigned char)*path) ? '?' : *path, s->status);
	if (result->error != NULL)
		fprintf(s->status, "\t%s", result->error);
	else
		fprintf(s->status, "\t%d", result->status);
	fprintf(s->status, "\t%zu\n", result->reply_bytes);
}

bool save_add(struct save *s, const struct result *result, struct error *error)
{
	write_status(s, result);
	if (ferror(s->status))
		return save_error(s, status_name, error);
	return !result_is_ok(result) || write_body(s, result, error);
}

bool save_free(struct save *s, struct error *error)
{
	bool whole = true;

	if (s == NULL)
		return true;
	if (s->status != NULL && fclose(s->status) != 0)
		whole = save_error(s, status_name, error);
	if (s->dir_fd >= 0)
		close(s->dir_fd);
	for (uint32_t i = 0; s->names != NULL && i < s->dataset->count; i++)
		free(s->names[i]);
	free(s->names);
	free(s);
	return whole;
}

enum { PART_BYTES = 64 << 10 };

/* False with errno 0: they differ; else the file could not be read. */
static bool file_equals(FILE *in, const char *bytes, size_t size)
{
	char part[PART_BYTES];
	size_t offset = 0;
	size_t count;

	errno = 0;
	while ((count = fread(part, 1, sizeof(part), in)) > 0) {
		if (count > size - offset ||
		    memcmp(part, bytes + offset, count) != 0)
			return false;
		offset += count;
	}
	return !ferror(in) && offset == size;
}

bool saved_reply_equals(const char *dir, const char *path, const void *bytes,
			size_t size, struct error *why)
{
	char *name = reply_file_name(path);
	char *full = NULL;
	FILE *in = NULL;
	bool is_equal = false;

	if (name != NULL && asprintf(&full, "%s/%s", dir, name) >= 0)
		in = fopen(full, "re");
	if (in != NULL)
		is_equal = file_equals(in, bytes, size);
	if (!is_equal)
		error_set(why, "%s: %s", full != NULL ? full : dir,
			  errno != 0 ? strerror(errno) : "other bytes");
	if (in != NULL)
		fclose(in);
	free(full);
	free(name);
	return is_equal;
}
