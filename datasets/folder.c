/* SPDX-License-Identifier: MIT */
#include "datasets/folder.h"

#include "datasets/memory.h"

#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static int compare_paths(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_jpeg(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot != NULL &&
	       (strcasecmp(dot, ".jpg") == 0 || strcasecmp(dot, ".jpeg") == 0);
}

static bool holds(const FTSENT *dir, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir->fts_path, name);
	return access(path, F_OK) == 0;
}

bool folder_list(struct folder *f, const char *dir, const char *mark)
{
	char *roots[] = { (char *)dir, NULL };
	FTS *walk = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, NULL);
	FTSENT *e;
	int failure = 0;

	*f = (struct folder){ 0 };
	if (walk == NULL)
		return false;
	while ((e = fts_read(walk)) != NULL) {
		bool hidden = e->fts_level > 0 && e->fts_name[0] == '.';

		if (e->fts_info == FTS_D &&
		    (hidden || (mark != NULL && holds(e, mark))))
			fts_set(walk, e, FTS_SKIP);
		if (e->fts_level == 0 &&
		    (e->fts_info == FTS_NS || e->fts_info == FTS_DNR))
			failure = e->fts_errno;
		if (e->fts_level == 0 && e->fts_info == FTS_F)
			failure = ENOTDIR;
		if (e->fts_info != FTS_F || hidden || failure != 0 ||
		    !is_jpeg(e->fts_name))
			continue;
		f->paths = memory_resize(f->paths, f->count + 1,
					 sizeof(*f->paths));
		f->paths[f->count] = memory_new(e->fts_pathlen + 1u, 1);
		strcpy(f->paths[f->count++], e->fts_path);
	}
	fts_close(walk);
	if (f->count > 0)
		qsort(f->paths, f->count, sizeof(*f->paths), compare_paths);
	errno = failure;
	return failure == 0;
}

void folder_release(struct folder *f)
{
	for (uint32_t i = 0; i < f->count; i++)
		free(f->paths[i]);
	free(f->paths);
	*f = (struct folder){ 0 };
}

bool content_read(struct content *c, const char *path)
{
	FILE *file = fopen(path, "rb");
	size_t room = 1 << 16, size = 0, got;
	uint8_t *bytes;
	bool whole;

	if (file == NULL)
		return false;
	bytes = memory_new(room, 1);
	while ((got = fread(bytes + size, 1, room - size, file)) > 0) {
		size += got;
		if (size == room)
			bytes = memory_resize(bytes, room *= 2, 1);
	}
	whole = !ferror(file);
	fclose(file);
	if (!whole)
		free(bytes);
	else
		*c = (struct content){ bytes, size };
	return whole;
}
