/* SPDX-License-Identifier: MIT */
#include "loadgen/dataset.h"

#include "loadgen/folder.h"
#include "loadgen/manifest.h"
#include "loadgen/multipart.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file that shrinks while it is read is an error: EIO. */
static bool read_whole(int fd, char *bytes, size_t size)
{
	size_t have = 0;

	while (have < size) {
		ssize_t n = read(fd, bytes + have, size - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			errno = EIO;
		if (n <= 0)
			return false;
		have += (size_t)n;
	}
	return true;
}

static bool read_file(struct dataset_file *file, const char *location,
		      size_t size_bytes)
{
	int fd = open(location, O_RDONLY | O_CLOEXEC);
	bool whole;
	int saved_errno;

	if (fd < 0)
		return false;
	file->size_bytes = file->body_bytes = size_bytes;
	file->body = malloc(size_bytes + 1); /* an empty file has bytes too */
	file->bytes = file->body;
	whole = file->bytes != NULL && read_whole(fd, file->bytes, size_bytes);
	saved_errno = errno;
	close(fd);
	errno = saved_errno;
	return whole;
}

/* The size of a regular file that still has room. */
static bool find_size(const struct dataset *d, const char *location,
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

static struct dataset_file *append(struct dataset *d)
{
	struct dataset_file *files =
		reallocarray(d->files, d->count + 1, sizeof(*files));

	if (files == NULL)
		return NULL;
	d->files = files;
	files[d->count] = (struct dataset_file){ 0 };
	return &files[d->count++]; /* from here dataset_release() frees it */
}

bool dataset_add(struct dataset *d, const char *location, const char *path,
		 const char *query, struct error *why)
{
	struct dataset_file *file;
	size_t size_bytes;

	if (!find_size(d, location, &size_bytes, why))
		return false;
	file = append(d);
	if (file != NULL) {
		file->path = strdup(path);
		file->query = query == NULL ? NULL : strdup(query);
	}
	if (file == NULL || file->path == NULL ||
	    (query != NULL && file->query == NULL) ||
	    !read_file(file, location, size_bytes)) {
		error_set(why, "%s", strerror(errno));
		return false;
	}
	jpeg_header_read(&file->image, file->bytes, size_bytes);
	d->bytes_total += size_bytes;
	return true;
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
	loaded = is_file(path) ? manifest_load(d, path, error) :
				 folder_load(d, path, all_files, error);
	if (!loaded)
		dataset_release(d);
	return loaded;
}

/* A boundary that is in no file. */
static struct boundary find_boundary(const struct dataset *d)
{
	struct boundary b = multipart_boundary(0);
	uint64_t number = 0;
	uint32_t clean = 0; /* files without it, in a row and in a circle */

	for (uint32_t i = 0; clean < d->count; i = (i + 1) % d->count) {
		const struct dataset_file *file = &d->files[i];

		clean++;
		if (multipart_has(&b, file->bytes, file->size_bytes)) {
			b = multipart_boundary(++number);
			clean = 0;
		}
	}
	return b;
}

bool dataset_wrap(struct dataset *d, const char *field, struct error *error)
{
	struct boundary boundary = find_boundary(d);

	for (uint32_t i = 0; i < d->count; i++) {
		struct dataset_file *file = &d->files[i];
		struct multipart m;

		if (!multipart_wrap(&m, &boundary, field, file->path,
				    file->bytes, file->size_bytes)) {
			error_set(error, "%s", strerror(ENOMEM));
			return false;
		}
		free(file->body);
		file->body = m.body;
		file->body_bytes = m.body_bytes;
		file->bytes = m.body + m.file_at;
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
