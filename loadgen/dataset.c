/* SPDX-License-Identifier: MIT */
#include "loadgen/dataset.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static bool is_jpeg_name(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot != NULL &&
	       (strcasecmp(dot, ".jpg") == 0 || strcasecmp(dot, ".jpeg") == 0);
}

static int compare_paths(const void *a, const void *b)
{
	const struct dataset_file *x = a;
	const struct dataset_file *y = b;

	return strcmp(x->path, y->path);
}

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

static bool read_file(struct dataset_file *file, const char *path,
		      size_t size_bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool whole;
	int saved_errno;

	if (fd < 0)
		return false;
	file->size_bytes = size_bytes;
	file->bytes = malloc(size_bytes + 1); /* an empty file has bytes too */
	whole = file->bytes != NULL && read_whole(fd, file->bytes, size_bytes);
	saved_errno = errno;
	close(fd);
	errno = saved_errno;
	return whole;
}

struct walk {
	struct dataset *dataset;
	FTS *tree;
	const char *dir;
	bool all_files;
	uint64_t bytes_max;
	struct error *error;
};

static bool blame(struct walk *w, const FTSENT *entry, const char *why)
{
	error_set(w->error, "%s: %s", entry->fts_path, why);
	return false;
}

static bool add_file(struct walk *w, const FTSENT *entry)
{
	struct dataset *d = w->dataset;
	size_t size_bytes = (size_t)entry->fts_statp->st_size;
	const char *path = entry->fts_path + strlen(w->dir);
	struct dataset_file *files;
	struct dataset_file *file;

	if (size_bytes > w->bytes_max - d->bytes_total) {
		error_set(w->error, "%s: more than %" PRIu64 " bytes in all",
			  w->dir, w->bytes_max);
		return false;
	}
	files = reallocarray(d->files, d->count + 1, sizeof(*files));
	if (files == NULL)
		return blame(w, entry, strerror(errno));
	d->files = files;
	file = &files[d->count++]; /* from here dataset_release() frees it */
	*file = (struct dataset_file){ .path = strdup(path +
						      strspn(path, "/")) };
	if (file->path == NULL ||
	    !read_file(file, entry->fts_accpath, size_bytes))
		return blame(w, entry, strerror(errno));
	jpeg_header_read(&file->image, file->bytes, size_bytes);
	d->bytes_total += size_bytes;
	return true;
}

/* One step of the walk.  False: it cannot go on. */
static bool visit(struct walk *w, FTSENT *entry)
{
	bool is_root = entry->fts_level == FTS_ROOTLEVEL;
	bool is_wanted = w->all_files || is_jpeg_name(entry->fts_name);

	if (!is_root && entry->fts_name[0] == '.') {
		fts_set(w->tree, entry, FTS_SKIP);
		return true;
	}
	switch (entry->fts_info) {
	case FTS_F:
		if (is_root)
			return blame(w, entry, strerror(ENOTDIR));
		return !is_wanted || add_file(w, entry);
	case FTS_SLNONE:
		return !is_wanted || blame(w, entry, "a link to nothing");
	case FTS_DC:
		return blame(w, entry, "a link to a folder above it");
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		return blame(w, entry, strerror(entry->fts_errno));
	default: /* folders; and devices, sockets and the like */
		return true;
	}
}

static bool walk(struct walk *w)
{
	FTSENT *entry;

	while ((entry = fts_read(w->tree)) != NULL)
		if (!visit(w, entry))
			return false;
	if (errno != 0) { /* fts_read() clears it at the end of the tree */
		error_set(w->error, "%s: %s", w->dir, strerror(errno));
		return false;
	}
	if (w->dataset->count == 0) {
		error_set(w->error, "%s: no %s in this folder", w->dir,
			  w->all_files ? "file" : "*.jpg or *.jpeg file");
		return false;
	}
	return true;
}

bool dataset_load(struct dataset *d, const char *dir, bool all_files,
		  uint64_t bytes_max, struct error *error)
{
	char *roots[] = { (char *)dir, NULL }; /* fts only reads them */
	struct walk w = {
		.dataset = d,
		.tree = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, NULL),
		.dir = dir,
		.all_files = all_files,
		.bytes_max = bytes_max,
		.error = error,
	};
	bool loaded;

	assert(d->count == 0 && d->files == NULL);
	if (w.tree == NULL) {
		error_set(error, "%s: %s", dir, strerror(errno));
		return false;
	}
	loaded = walk(&w);
	fts_close(w.tree);
	if (loaded)
		qsort(d->files, d->count, sizeof(*d->files), compare_paths);
	else
		dataset_release(d);
	return loaded;
}

void dataset_release(struct dataset *d)
{
	for (uint32_t i = 0; i < d->count; i++) {
		free(d->files[i].path);
		free(d->files[i].bytes);
	}
	free(d->files);
	*d = (struct dataset){ 0 };
}
