/* SPDX-License-Identifier: MIT */
#include "loadgen/dataset/dataset.h"

#include "base/file.h"
#include "base/folder.h"
#include "base/random.h"
#include "base/text.h"
#include "loadgen/dataset/lines.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { BOUNDARY_BYTES = 40 };

struct boundary {
	char text[BOUNDARY_BYTES];
};

/* The size of a regular file.  False: `why` says why it cannot be added. */
static bool find_file_size(const struct dataset *d, const char *location,
			   size_t *size_bytes, struct error *why)
{
	struct stat status;

	if (stat(location, &status) != 0) {
		error_set(why, "%s", strerror(errno));
		return false;
	}
	if (!S_ISREG(status.st_mode)) {
		error_set(why, "not a regular file");
		return false;
	}
	*size_bytes = (size_t)status.st_size;
	if (*size_bytes <= d->bytes_max - d->bytes_total)
		return true;
	error_set(why, "now more than %" PRIu64 " bytes in all", d->bytes_max);
	return false;
}

static struct dataset_file *dataset_append(struct dataset *d)
{
	struct dataset_file *files =
		reallocarray(d->files, d->count + 1, sizeof(*files));

	if (files == NULL)
		return NULL;
	d->files = files;
	files[d->count] = (struct dataset_file){ 0 };
	return &files[d->count++]; /* from now on dataset_release() frees it */
}

/*
 * Read the file `location` and add it as `path`, with `query` or NULL.  False:
 * `why` gives the reason, without the file's name.
 */
static bool dataset_add(struct dataset *d, const char *location,
			const char *path, const char *query, struct error *why)
{
	const char *read_error = NULL;
	struct dataset_file *file;
	size_t size_bytes;

	if (!find_file_size(d, location, &size_bytes, why))
		return false;
	file = dataset_append(d);
	if (file != NULL) {
		file->path = strdup(path);
		file->query = query == NULL ? NULL : strdup(query);
		file->body = file_read_bytes(location, size_bytes,
					     &file->size_bytes, &read_error);
		if (file->body != NULL && file->size_bytes != size_bytes)
			read_error = "it changed while it was read";
	}
	if (file == NULL || file->path == NULL || file->body == NULL ||
	    (query != NULL && file->query == NULL) ||
	    file->size_bytes != size_bytes) {
		error_set(why, "%s",
			  read_error != NULL ? read_error :
					       strerrordesc_np(ENOMEM));
		return false;
	}
	file->bytes = file->body;
	file->body_bytes = size_bytes;
	if (picture_header_read(&file->image, file->bytes, size_bytes))
		file->content_type = file->image.media_type;
	d->bytes_total += size_bytes;
	return true;
}

bool query_is_clean(const char *query)
{
	if (*query == '\0' || *query == '?')
		return false;
	for (; *query != '\0'; query++)
		if (*query <= ' ' || *query > '~' || *query == '#')
			return false;
	return true;
}

/* Add the files below a folder.  False: `error` names the file at fault. */
static bool folder_load(struct dataset *d, const char *dir, bool all_files,
			struct error *error)
{
	struct folder_list list = { 0 };
	struct error why;
	bool is_good = folder_list_read(
		&list, dir, all_files ? FOLDER_ALL_FILES : FOLDER_PICTURES,
		NULL, error);

	if (is_good && list.count == 0) {
		error_set(
			error, "%s: no %s in this folder", dir,
			all_files ?
				"file" :
				"*.jpg, *.jpeg, *.png, *.webp, *.avif, *.heic, "
				"*.heif, *.jxl, *.gif, *.ppm, *.pgm or *.pnm "
				"file");
		is_good = false;
	}
	for (size_t i = 0; is_good && i < list.count; i++) {
		is_good = dataset_add(d, list.files[i].path, list.files[i].name,
				      NULL, &why);
		if (!is_good)
			error_set(error, "%s: %s", list.files[i].path,
				  why.text);
	}
	folder_list_release(&list);
	return is_good;
}

/* `path`, relative to the folder of `list`.  NULL: out of memory. */
static char *list_locate(const char *list, const char *path)
{
	const char *slash = strrchr(list, '/');
	int folder_bytes = slash == NULL ? 0 : (int)(slash + 1 - list);
	char *location;

	if (*path == '/')
		folder_bytes = 0;
	if (asprintf(&location, "%.*s%s", folder_bytes, list, path) < 0)
		return NULL;
	return location;
}

/* False: lines_fail() has set the error. */
static bool list_add_line(struct dataset *d, struct lines *lines, char *line)
{
	const char *path = strsep(&line, "\t");
	const char *query = line; /* NULL: no TAB */
	char *location;
	struct error why;

	if (query != NULL && !query_is_clean(query)) {
		lines_fail(lines, "'%s': not a query", query);
		return false;
	}
	location = list_locate(lines->path, path);
	if (location == NULL)
		lines_fail(lines, "%s", strerror(ENOMEM));
	else if (!dataset_add(d, location, path, query, &why))
		lines_fail(lines, "%s: %s", path, why.text);
	free(location);
	return !lines->failed;
}

/* Add the files that a list names.  False: `error` names the line at fault. */
static bool list_load(struct dataset *d, const char *path, struct error *error)
{
	struct lines lines;
	char *line;

	if (!lines_open(&lines, path,
			"a folder of photos, or a text file with the path of a "
			"photo in each line",
			error))
		return false;
	while ((line = lines_next(&lines)) != NULL)
		if (!list_add_line(d, &lines, line))
			break;
	if (!lines_close(&lines))
		return false;
	if (d->count == 0)
		error_set(error, "%s: no file is listed", path);
	return d->count > 0;
}

static bool is_file(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

bool dataset_load(struct dataset *d, const char *path, bool all_files,
		  uint64_t bytes_max, struct error *error)
{
	bool loaded;

	assert(d->count == 0 && d->files == NULL);
	d->bytes_max = bytes_max;
	strcpy(d->content_type, "image/jpeg");
	loaded = is_file(path) ? list_load(d, path, error) :
				 folder_load(d, path, all_files, error);
	if (!loaded)
		dataset_release(d);
	return loaded;
}

/* A boundary that depends only on `number`. */
static struct boundary boundary_make(uint64_t number)
{
	uint64_t state = number;
	struct boundary b;

	snprintf(b.text, sizeof(b.text), "----loadgen%016" PRIx64,
		 random_next(&state));
	return b;
}

/* Do the bytes contain the boundary?  Then a form would end there. */
static bool boundary_is_in(const struct boundary *b, const void *bytes,
			   size_t size)
{
	return memmem(bytes, size, b->text, strlen(b->text)) != NULL;
}

/* A boundary that is in no file. */
static struct boundary find_free_boundary(const struct dataset *d)
{
	struct boundary b = boundary_make(0);
	uint64_t number = 0;
	/* Consecutive files that do not contain the boundary. */
	uint32_t clean = 0;

	for (uint32_t i = 0; clean < d->count; i = (i + 1) % d->count) {
		const struct dataset_file *file = &d->files[i];

		clean++;
		if (boundary_is_in(&b, file->bytes, file->size_bytes)) {
			b = boundary_make(++number);
			clean = 0;
		}
	}
	return b;
}

/*
 * Quote `text` as browsers do: HTML standard, 4.10.21.8, multipart/form-data.
 */
static void form_print_quoted(FILE *out, const char *text)
{
	for (; *text != '\0'; text++)
		if (*text == '"' || *text == '\r' || *text == '\n')
			fprintf(out, "%%%02X", (unsigned)*text);
		else
			putc(*text, out);
}

/*
 * The part of the form before the file.  The caller frees it.  NULL: out of
 * memory.
 */
static char *form_head(const struct boundary *boundary, const char *field,
		       const struct dataset_file *file)
{
	const char *type = file->image.media_type, *path = file->path;
	const char *slash = strrchr(path, '/');
	struct text text;
	FILE *out = text_open(&text);

	if (out == NULL)
		return NULL;
	fprintf(out, "--%s\r\nContent-Disposition: form-data; name=\"",
		boundary->text);
	form_print_quoted(out, field);
	fputs("\"; filename=\"", out);
	form_print_quoted(out, slash == NULL ? path : slash + 1);
	fprintf(out, "\"\r\nContent-Type: %s\r\n\r\n",
		type != NULL ? type : "image/jpeg");
	return text_close(&text, out);
}

/*
 * Turn the body of `file` into a form.  False: out of memory, and `file` is
 * unchanged.
 */
static bool form_wrap(struct dataset_file *file,
		      const struct boundary *boundary, const char *field)
{
	char tail[BOUNDARY_BYTES + sizeof("\r\n----\r\n")];
	size_t tail_bytes = (size_t)snprintf(tail, sizeof(tail),
					     "\r\n--%s--\r\n", boundary->text);
	char *head = form_head(boundary, field, file);
	size_t head_bytes = head == NULL ? 0 : strlen(head);
	size_t body_bytes = head_bytes + file->size_bytes + tail_bytes;
	char *body = head == NULL ? NULL : malloc(body_bytes);

	if (body != NULL) {
		memcpy(body, head, head_bytes);
		memcpy(body + head_bytes, file->bytes, file->size_bytes);
		memcpy(body + head_bytes + file->size_bytes, tail, tail_bytes);
		free(file->body);
		file->body = body;
		file->content_type = NULL;
		file->body_bytes = body_bytes;
		file->bytes = body + head_bytes;
	}
	free(head);
	return body != NULL;
}

bool dataset_wrap(struct dataset *d, const char *field, struct error *error)
{
	struct boundary boundary = find_free_boundary(d);

	for (uint32_t i = 0; i < d->count; i++)
		if (!form_wrap(&d->files[i], &boundary, field)) {
			error_set(error, "%s", strerror(ENOMEM));
			return false;
		}
	snprintf(d->content_type, sizeof(d->content_type),
		 "multipart/form-data; boundary=%s", boundary.text);
	return true;
}

void dataset_release(struct dataset *d)
{
	for (uint32_t i = 0; i < d->count; i++) {
		free(d->files[i].path);
		free(d->files[i].query);
		free(d->files[i].body);
	}
	free(d->files);
	*d = (struct dataset){ 0 };
}
