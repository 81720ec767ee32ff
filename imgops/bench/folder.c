/* SPDX-License-Identifier: MIT */
#include "imgops/bench/folder.h"

#include <assert.h>
#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static bool is_jpeg_name(const char *name)
{
	const char *dot = strrchr(name, '.');

	return name[0] != '.' && dot != NULL &&
	       (strcasecmp(dot, ".jpg") == 0 || strcasecmp(dot, ".jpeg") == 0);
}

static int compare_paths(const void *a, const void *b)
{
	const struct file *x = a;
	const struct file *y = b;

	return strcmp(x->path, y->path);
}

static char *join(const char *dir, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

static bool read_all(struct file *file, FILE *in)
{
	struct stat status;

	if (fstat(fileno(in), &status) != 0)
		return false;
	file->size_bytes = (size_t)status.st_size;
	file->bytes = malloc(file->size_bytes + 1); /* the file may be empty */
	return file->bytes != NULL &&
	       fread(file->bytes, 1, file->size_bytes, in) == file->size_bytes;
}

bool file_read(struct file *file, const char *dir, const char *name,
	       struct error *error)
{
	char *path = join(dir, name);
	FILE *in = path == NULL ? NULL : fopen(path, "re");

	*file = (struct file){ .path = strdup(name) };
	free(path);

	bool whole = in != NULL && file->path != NULL && read_all(file, in);

	if (!whole) {
		error_set(error, "%s/%s: %s", dir, name, strerror(errno));
		file_release(file);
	}
	if (in != NULL)
		fclose(in);
	return whole;
}

/* Make the folders of `path`, as `mkdir -p` does.  Errors come out at open. */
static void make_folders(char *path)
{
	for (size_t i = 1; path[i] != '\0'; i++) {
		if (path[i] != '/')
			continue;
		path[i] = '\0';
		(void)mkdir(path, 0777);
		path[i] = '/';
	}
}

bool file_write(const char *dir, const char *name, const uint8_t *bytes,
		size_t size_bytes, struct error *error)
{
	char *path = join(dir, name);
	FILE *out = NULL;
	bool written;

	if (path != NULL) {
		make_folders(path);
		out = fopen(path, "we");
	}
	free(path);
	written =
		out != NULL && fwrite(bytes, 1, size_bytes, out) == size_bytes;
	if (out != NULL && fclose(out) != 0)
		written = false;
	if (!written)
		error_set(error, "%s/%s: %s", dir, name, strerror(errno));
	return written;
}

void file_release(struct file *file)
{
	free(file->path);
	free(file->bytes);
	*file = (struct file){ 0 };
}

static bool add(struct folder *f, const char *dir, const char *name,
		struct error *error)
{
	struct file *files =
		reallocarray(f->files, f->count + 1, sizeof(*files));

	if (files == NULL) {
		error_set(error, "%s: %s", dir, strerror(errno));
		return false;
	}
	f->files = files;
	if (!file_read(&files[f->count], dir, name, error))
		return false;
	f->count++;
	return true;
}

static bool walk(struct folder *f, FTS *tree, const char *dir,
		 uint64_t max_bytes, struct error *error)
{
	FTSENT *entry;

	while ((entry = fts_read(tree)) != NULL) {
		const char *name = entry->fts_path + strlen(dir);

		if (entry->fts_level > 0 && entry->fts_name[0] == '.') {
			fts_set(tree, entry, FTS_SKIP);
			continue;
		}
		if (entry->fts_info == FTS_ERR || entry->fts_info == FTS_DNR ||
		    entry->fts_info == FTS_NS) {
			error_set(error, "%s: %s", entry->fts_path,
				  strerror(entry->fts_errno));
			return false;
		}
		if (entry->fts_info != FTS_F ||
		    !is_jpeg_name(entry->fts_name) ||
		    (uint64_t)entry->fts_statp->st_size >= max_bytes)
			continue;
		if (!add(f, dir, name + strspn(name, "/"), error))
			return false;
	}
	if (f->count == 0)
		error_set(error, "%s: no such JPEG in this folder", dir);
	return f->count > 0;
}

bool folder_load(struct folder *f, const char *dir, uint64_t max_bytes,
		 struct error *error)
{
	char *roots[] = { (char *)dir, NULL }; /* fts only reads them */
	FTS *tree = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, NULL);
	bool loaded;

	assert(f->files == NULL && f->count == 0);
	if (tree == NULL) {
		error_set(error, "%s: %s", dir, strerror(errno));
		return false;
	}
	loaded = walk(f, tree, dir, max_bytes, error);
	fts_close(tree);
	if (loaded)
		qsort(f->files, f->count, sizeof(*f->files), compare_paths);
	else
		folder_release(f);
	return loaded;
}

void folder_release(struct folder *f)
{
	for (size_t i = 0; i < f->count; i++)
		file_release(&f->files[i]);
	free(f->files);
	*f = (struct folder){ 0 };
}
