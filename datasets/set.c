/* SPDX-License-Identifier: MIT */
#include "datasets/set.h"

#include "base/file.h"
#include "base/folder.h"
#include "datasets/xalloc.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A hidden file that marks a folder as made by mkset. */
static const char output_mark[] = ".mkset";

enum { OUTPUT_NAME_BYTES = 16 };

/* Uploads of one photo: [first .. first + count - 1]. */
struct stage_group {
	uint32_t first;
	uint32_t count;
	uint64_t bytes;
};

/* Called once per index, by any thread. */
typedef void parallel_fn(void *arg, uint32_t index);

struct parallel_work {
	atomic_uint next;
	uint32_t count;
	parallel_fn *fn;
	void *arg;
};

static void *parallel_thread(void *arg)
{
	struct parallel_work *w = arg;
	uint32_t index;

	while ((index = atomic_fetch_add(&w->next, 1)) < w->count)
		w->fn(w->arg, index);
	return NULL;
}

/* Call `fn` for 0 .. count-1 from `jobs` threads; calls begin in this order. */
static void parallel_run(uint32_t jobs, uint32_t count, parallel_fn *fn,
			 void *arg)
{
	struct parallel_work w = { .count = count, .fn = fn, .arg = arg };
	pthread_t *threads = xcalloc(jobs, sizeof(*threads));
	uint32_t started = 0;

	/*
	 * The caller is one of the threads, so the work is done even if no
	 * other thread can start.
	 */
	while (started + 1 < jobs && pthread_create(&threads[started], NULL,
						    parallel_thread, &w) == 0)
		started++;
	parallel_thread(&w);
	for (uint32_t i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}

static FILE *output_create(const char *dir, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return fopen(path, "wb");
}

/* True: everything was written. */
static bool output_finish(FILE *file)
{
	bool failed = ferror(file);

	return fclose(file) == 0 && !failed;
}

/* "00042.jpg" */
static void output_name(char *name, uint32_t number)
{
	snprintf(name, OUTPUT_NAME_BYTES, "%05" PRIu32 ".jpg", number);
}

/* A name of output_name(), or of a file that is written at the end. */
static bool is_output_name(const char *name)
{
	size_t digits = strspn(name, "0123456789");

	return (digits >= 5 && strcmp(name + digits, ".jpg") == 0) ||
	       strcmp(name, "manifest.tsv") == 0 ||
	       strcmp(name, "LICENSES") == 0 || strcmp(name, output_mark) == 0;
}

/* Remove the files of mkset, and no others, if the folder has the mark. */
static bool output_empty(DIR *listing)
{
	struct dirent *e;
	bool marked = faccessat(dirfd(listing), output_mark, F_OK, 0) == 0;
	bool done = true;

	while (done && (e = readdir(listing)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (!marked) {
			errno = EEXIST;
			done = false;
		} else if (is_output_name(e->d_name)) {
			done = unlinkat(dirfd(listing), e->d_name, 0) == 0;
		}
	}
	return done;
}

/*
 * Make the folder `dir`, or empty it if mkset made it.  False: errno says why;
 * EEXIST: it is not empty, and mkset did not make it.
 */
static bool output_open(const char *dir)
{
	FILE *mark;
	DIR *listing;
	bool is_empty;

	if (mkdir(dir, 0777) != 0 && errno != EEXIST)
		return false;
	listing = opendir(dir);
	if (listing == NULL)
		return false;
	is_empty = output_empty(listing);
	closedir(listing);
	if (!is_empty)
		return false;
	mark = output_create(dir, output_mark);
	if (mark == NULL)
		return false;
	fputs("Made by mkset, which may empty this folder.\n", mark);
	return output_finish(mark);
}

static bool output_write(const char *dir, uint32_t number,
			 const struct jpeg *jpeg)
{
	char name[OUTPUT_NAME_BYTES];
	FILE *file;

	output_name(name, number);
	file = output_create(dir, name);
	if (file == NULL)
		return false;
	fwrite(jpeg->bytes, 1, jpeg->size_bytes, file);
	return output_finish(file);
}

/* `path` without `photos` in front. */
static const char *path_within(const char *photos, const char *path)
{
	size_t length = strlen(photos);

	if (strncmp(path, photos, length) != 0)
		return path;
	return path + length + strspn(path + length, "/");
}

static bool output_manifest(const char *dir, const char *photos,
			    const struct source *sources,
			    const struct upload *uploads, uint32_t count)
{
	FILE *f = output_create(dir, "manifest.tsv");

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
			path_within(photos, sources[p->source].path),
			m->quality,
			p->grey ? "grey" : sampling_name(p->sampling),
			p->progressive, p->orientation, p->exif, p->thumbnail,
			icc_name(p->icc), m->enlarged);
	}
	return output_finish(f);
}

static bool output_licenses(const char *dir, const char *photos)
{
	char path[PATH_MAX];
	const char *why;
	size_t size_bytes;
	char *theirs;
	FILE *f = output_create(dir, "LICENSES");

	if (f == NULL)
		return false;
	fputs("These pictures are crops, scaled and recompressed, of the "
	      "photos that manifest.tsv\nnames as their sources.  Each is "
	      "under the licence of its source.\n\n",
	      f);
	snprintf(path, sizeof(path), "%s/LICENSES", photos);
	theirs = file_read_bytes(path, SIZE_MAX / 4, &size_bytes, &why);
	if (theirs != NULL) {
		fwrite(theirs, 1, size_bytes, f);
		free(theirs);
	} else {
		fprintf(f, "The folder of photos had no file LICENSES.\n");
	}
	return output_finish(f);
}

static void survey_photo(void *arg, uint32_t index)
{
	struct set *set = arg;
	struct source *s = &set->sources[index];
	char reason[REASON_BYTES];

	if (!source_survey(s, reason)) {
		s->capacity_bytes = 0;
		fprintf(stderr, "mkset: left out %s: %s\n", s->path, reason);
	}
}

/*
 * Find out what can be made from each photo.  False: `error` says which folder
 * or file cannot be read.
 */
static bool set_survey(struct set *set, struct error *error)
{
	struct folder_list *photos = &set->folder;
	uint32_t count;

	if (!folder_list_read(photos, set->photos, FOLDER_JPEGS, output_mark,
			      error))
		return false;
	count = (uint32_t)photos->count;
	set->sources = xcalloc(count + 1u, sizeof(*set->sources));
	for (uint32_t i = 0; i < count; i++)
		set->sources[i].path = photos->files[i].path;
	parallel_run(set->jobs, count, survey_photo, set);
	for (uint32_t i = 0; i < count; i++)
		if (set->sources[i].capacity_bytes > 0)
			set->sources[set->source_count++] = set->sources[i];
	return true;
}

static int compare_numbers(const void *a, const void *b)
{
	const struct plan *x = &((const struct upload *)a)->plan;
	const struct plan *y = &((const struct upload *)b)->plan;

	return (x->number > y->number) - (x->number < y->number);
}

static int compare_sources(const void *a, const void *b)
{
	const struct plan *x = &((const struct upload *)a)->plan;
	const struct plan *y = &((const struct upload *)b)->plan;

	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	return compare_numbers(a, b);
}

static int compare_groups(const void *a, const void *b)
{
	const struct stage_group *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

/*
 * Sort the groups so that those with the most work come first: then all threads
 * end at about the same time.
 */
static void group_uploads(struct set *set)
{
	struct stage_group *g = NULL;

	qsort(set->uploads, set->count, sizeof(*set->uploads), compare_sources);
	set->groups = xcalloc(set->count, sizeof(*set->groups));
	for (uint32_t i = 0; i < set->count; i++) {
		const struct plan *plan = &set->uploads[i].plan;

		if (g == NULL ||
		    plan->source != set->uploads[g->first].plan.source) {
			g = &set->groups[set->group_count++];
			g->first = i;
		}
		g->count++;
		g->bytes += plan->target_bytes;
	}
	qsort(set->groups, set->group_count, sizeof(*set->groups),
	      compare_groups);
}

static void show_progress(struct set *set)
{
	uint32_t done = atomic_fetch_add(&set->done, 1) + 1;

	if (set->show_progress)
		fprintf(stderr, "\r%u of %u files%s", done, set->count,
			done == set->count ? "\n" : "");
}

static void make_group(void *arg, uint32_t index)
{
	struct set *set = arg;
	const struct stage_group *g = &set->groups[index];
	const struct source *s =
		&set->sources[set->uploads[g->first].plan.source];
	struct pyramid pyramid;
	char reason[REASON_BYTES];

	/* It was readable when it was surveyed. */
	if (!pyramid_load(&pyramid, s->path, reason)) {
		fprintf(stderr, "mkset: %s: %s\n", s->path, reason);
		set->failure = EIO;
		return;
	}
	for (uint32_t i = 0; i < g->count && set->failure == 0; i++) {
		struct upload *upload = &set->uploads[g->first + i];
		struct jpeg jpeg;

		make_upload(upload, &jpeg, s, &pyramid, &set->icc_profiles);
		if (!output_write(set->out, upload->plan.number, &jpeg))
			set->failure = errno;
		jpeg_release(&jpeg);
		show_progress(set);
	}
	pyramid_release(&pyramid);
}

/* False: errno says why not all uploads are made and written. */
static bool make_all(struct set *set)
{
	set->uploads = xcalloc(set->count, sizeof(*set->uploads));
	icc_profiles_init(&set->icc_profiles);
	plan_uploads(set->uploads, set->count, set->profile, set->seed,
		     set->sources, set->source_count);
	group_uploads(set);
	parallel_run(set->jobs, set->group_count, make_group, set);
	qsort(set->uploads, set->count, sizeof(*set->uploads), compare_numbers);
	if (set->failure == 0 &&
	    output_manifest(set->out, set->photos, set->sources, set->uploads,
			    set->count) &&
	    output_licenses(set->out, set->photos))
		return true;
	if (set->failure != 0)
		errno = set->failure;
	return false;
}

bool set_make(struct set *set, struct error *error)
{
	struct error why;

	assert(set->count >= 1);
	if (!set_survey(set, &why)) {
		error_set(error,
			  "cannot read photos: %s; datasets/fetch gets some",
			  why.text);
		return false;
	}
	if (set->source_count == 0) {
		error_set(error,
			  "no usable photos in %s; datasets/fetch gets some",
			  set->photos);
		return false;
	}
	if (!output_open(set->out)) {
		error_set(error, "%s: %s", set->out,
			  errno == EEXIST ? "not empty, and not made by mkset" :
					    strerror(errno));
		return false;
	}
	if (make_all(set))
		return true;
	error_set(error, "%s: %s", set->out, strerror(errno));
	return false;
}

void set_release(struct set *set)
{
	folder_list_release(&set->folder);
	icc_profiles_release(&set->icc_profiles);
	free(set->sources);
	free(set->uploads);
	free(set->groups);
}
