/* SPDX-License-Identifier: MIT */
#include "datasets/output.h"

#include "datasets/folder.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static FILE *create(const char *dir, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return fopen(path, "wb");
}

/* True: all that was written is with the system. */
static bool finish(FILE *file)
{
	bool failed = ferror(file);

	return fclose(file) == 0 && !failed;
}

void output_name(char *name, uint32_t number)
{
	snprintf(name, OUTPUT_NAME_BYTES, "%05" PRIu32 ".jpg", number);
}

/* As output_name() makes them, or written at the end. */
static bool is_ours(const char *name)
{
	size_t digits = strspn(name, "0123456789");

	return (digits >= 5 && strcmp(name + digits, ".jpg") == 0) ||
	       strcmp(name, "manifest.tsv") == 0 ||
	       strcmp(name, "LICENSES") == 0 || strcmp(name, OUTPUT_MARK) == 0;
}

/* Remove our files, if `dir` is ours; what else is in it is left alone. */
static bool empty(DIR *listing)
{
	struct dirent *e;
	bool marked = faccessat(dirfd(listing), OUTPUT_MARK, F_OK, 0) == 0;
	bool done = true;

	while (done && (e = readdir(listing)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (!marked) {
			errno = EEXIST;
			done = false;
		} else if (is_ours(e->d_name)) {
			done = unlinkat(dirfd(listing), e->d_name, 0) == 0;
		}
	}
	return done;
}

bool output_open(const char *dir)
{
	FILE *mark;
	DIR *listing;
	bool is_empty;

	if (mkdir(dir, 0777) != 0 && errno != EEXIST)
		return false;
	listing = opendir(dir);
	if (listing == NULL)
		return false;
	is_empty = empty(listing);
	closedir(listing);
	if (!is_empty)
		return false;
	mark = create(dir, OUTPUT_MARK);
	if (mark == NULL)
		return false;
	fputs("Made by mkset, which may empty this folder.\n", mark);
	return finish(mark);
}

bool output_write(const char *dir, uint32_t number, const struct jpeg *jpeg)
{
	char name[OUTPUT_NAME_BYTES];
	FILE *file;

	output_name(name, number);
	file = create(dir, name);
	if (file == NULL)
		return false;
	fwrite(jpeg->bytes, 1, jpeg->size_bytes, file);
	return finish(file);
}

/* `path` without `photos` in front. */
static const char *within(const char *photos, const char *path)
{
	size_t length = strlen(photos);

	if (strncmp(path, photos, length) != 0)
		return path;
	return path + length + strspn(path + length, "/");
}

bool output_manifest(const char *dir, const char *photos,
		     const struct source *sources, const struct upload *uploads,
		     uint32_t count)
{
	FILE *f = create(dir, "manifest.tsv");

	if (f == NULL)
		return false;
	fputs("file\tbytes\twidth\theight\tsource\tquality\tsampling\t"
	      "progressive\torientation\texif\tthumbnail\ticc\tenlarged\n",
	      f);
	for (uint32_t i = 0; i < count; i++) {
		const struct plan *p = &uploads[i].plan;
		const struct made *m = &uploads[i].made;
		char name[OUTPUT_NAME_BYTES];

		output_name(name, p->number);
		fprintf(f,
			"%s\t%" PRIu64 "\t%u\t%u\t%s\t%d\t%s\t%d\t%d\t%d\t%d\t"
			"%s\t%.2f\n",
			name, m->size_bytes, m->width, m->height,
			within(photos, sources[p->source].path), m->quality,
			p->grey ? "grey" : sampling_name(p->sampling),
			p->progressive, p->orientation, p->exif, p->thumbnail,
			icc_name(p->icc), m->enlarged);
	}
	return finish(f);
}

bool output_licenses(const char *dir, const char *photos)
{
	char path[PATH_MAX];
	struct content theirs;
	FILE *f = create(dir, "LICENSES");

	if (f == NULL)
		return false;
	fputs("These pictures are crops, scaled and recompressed, of the "
	      "photos that manifest.tsv\nnames as their sources.  Each is "
	      "under "
	      "the licence of its source.\n\n",
	      f);
	snprintf(path, sizeof(path), "%s/LICENSES", photos);
	if (content_read(&theirs, path)) {
		fwrite(theirs.bytes, 1, theirs.size_bytes, f);
		free(theirs.bytes);
	} else {
		fprintf(f, "The folder of photos had no file LICENSES.\n");
	}
	return finish(f);
}
