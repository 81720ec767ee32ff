/* SPDX-License-Identifier: MIT */
#include "loadgen/folder.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

struct walk {
	struct dataset *dataset;
	FTS *tree;
	const char *dir;
	bool all_files;
	struct error *error;
};

static bool blame(struct walk *w, const FTSENT *entry, const char *why)
{
	error_set(w->error, "%s: %s", entry->fts_path, why);
	return false;
}

static bool add_file(struct walk *w, const FTSENT *entry)
{
	const char *path = entry->fts_path + strlen(w->dir);
	struct error why;

	return dataset_add(w->dataset, entry->fts_accpath,
			   path + strspn(path, "/"), NULL, &why) ||
	       blame(w, entry, why.text);
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

bool folder_load(struct dataset *d, const char *dir, bool all_files,
		 struct error *error)
{
	char *roots[] = { (char *)dir, NULL }; /* fts only reads them */
	struct walk w = {
		.dataset = d,
		.tree = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, NULL),
		.dir = dir,
		.all_files = all_files,
		.error = error,
	};
	bool loaded;

	if (w.tree == NULL) {
		error_set(error, "%s: %s", dir, strerror(errno));
		return false;
	}
	loaded = walk(&w);
	fts_close(w.tree);
	if (loaded)
		qsort(d->files, d->count, sizeof(*d->files), compare_paths);
	return loaded;
}
