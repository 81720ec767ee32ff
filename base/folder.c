/* SPDX-License-Identifier: MIT */
#include "base/folder.h"

#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIST_FIRST = 64 };

struct folder_walk {
	struct folder_list *list;
	size_t room;
	FTS *tree;
	const char *dir;
	enum folder_kind kind;
	const char *mark;
	struct error *error;
};

static bool has_wanted_name(const char *name, enum folder_kind kind)
{
	/* Those of FOLDER_JPEGS first. */
	static const char *const endings[] = { ".jpg",  ".jpeg", ".png",
					       ".webp", ".avif", ".heic",
					       ".heif", ".jxl",  ".gif",
					       ".ppm",  ".pgm",  ".pnm" };
	enum { JPEG_ENDINGS = 2 };
	size_t count =
		kind == FOLDER_JPEGS ? JPEG_ENDINGS : ARRAY_SIZE(endings);
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot != NULL && i < count; i++)
		if (strcasecmp(dot, endings[i]) == 0)
			return true;
	return kind == FOLDER_ALL_FILES;
}

static int compare_paths(const void *a, const void *b)
{
	const struct folder_file *x = a, *y = b;

	return strcmp(x->path, y->path);
}

static bool walk_fail(struct folder_walk *w, const char *path, const char *why)
{
	return error_fail(w->error, "%s: %s", path, why);
}

static bool walk_add_file(struct folder_walk *w, const FTSENT *entry)
{
	struct folder_list *list = w->list;
	char *path = strdup(entry->fts_path);

	if (path != NULL && list->count == w->room) {
		size_t room = w->room == 0 ? LIST_FIRST : 2 * w->room;
		struct folder_file *files =
			reallocarray(list->files, room, sizeof(*files));

		if (files == NULL) {
			free(path);
			path = NULL;
		} else {
			list->files = files;
			w->room = room;
		}
	}
	if (path == NULL)
		return walk_fail(w, entry->fts_path, strerror(ENOMEM));

	const char *name = path + strlen(w->dir);

	list->files[list->count++] = (struct folder_file){
		.path = path,
		.name = name + strspn(name, "/"),
		.bytes = (uint64_t)entry->fts_statp->st_size,
	};
	return true;
}

static bool has_mark(const struct folder_walk *w, const FTSENT *folder)
{
	char path[PATH_MAX];
	int length;

	if (w->mark == NULL)
		return false;
	length = snprintf(path, sizeof(path), "%s/%s", folder->fts_path,
			  w->mark);
	return length < (int)sizeof(path) && access(path, F_OK) == 0;
}

/* False: the walk has failed. */
static bool walk_visit(struct folder_walk *w, FTSENT *entry)
{
	bool is_root = entry->fts_level == FTS_ROOTLEVEL;
	bool is_wanted = has_wanted_name(entry->fts_name, w->kind);

	if (!is_root && entry->fts_name[0] == '.') {
		(void)fts_set(w->tree, entry, FTS_SKIP);
		return true;
	}
	switch (entry->fts_info) {
	case FTS_D:
		if (has_mark(w, entry))
			(void)fts_set(w->tree, entry, FTS_SKIP);
		return true;
	case FTS_F:
		if (is_root)
			return walk_fail(w, w->dir, strerror(ENOTDIR));
		return !is_wanted || walk_add_file(w, entry);
	case FTS_SLNONE:
		return !is_wanted ||
		       walk_fail(w, entry->fts_path, "a link to nothing");
	case FTS_DC:
		return walk_fail(w, entry->fts_path,
				 "a link to a folder above it");
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		return walk_fail(w, entry->fts_path,
				 strerror(entry->fts_errno));
	default: /* devices, sockets and the like */
		return true;
	}
}

static bool walk_all(struct folder_walk *w)
{
	FTSENT *entry;

	/* At the end fts_read() sets errno to 0. */
	while ((entry = fts_read(w->tree)) != NULL)
		if (!walk_visit(w, entry))
			return false;
	return errno == 0 || walk_fail(w, w->dir, strerror(errno));
}

bool folder_list_read(struct folder_list *list, const char *dir,
		      enum folder_kind kind, const char *mark,
		      struct error *error)
{
	/* fts_open() does not change `dir` */
	char *roots[] = { (char *)dir, NULL };
	struct folder_walk w = {
		.list = list,
		.tree = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, NULL),
		.dir = dir,
		.kind = kind,
		.mark = mark,
		.error = error,
	};

	*list = (struct folder_list){ 0 };
	if (w.tree == NULL)
		return walk_fail(&w, dir, strerror(errno));

	bool is_read = walk_all(&w);

	(void)fts_close(w.tree);
	if (!is_read)
		folder_list_release(list);
	else if (list->count > 0)
		qsort(list->files, list->count, sizeof(*list->files),
		      compare_paths);
	return is_read;
}

void folder_list_release(struct folder_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->files[i].path);
	free(list->files);
	*list = (struct folder_list){ 0 };
}
