/* SPDX-License-Identifier: MIT */
#include "datasets/set.h"

#include "datasets/memory.h"
#include "datasets/output.h"
#include "datasets/parallel.h"
#include "datasets/quantiles.h"
#include "datasets/random.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Uploads of one photo: [first .. first + count - 1]. */
struct group {
	uint32_t first;
	uint32_t count;
	uint64_t bytes;
};

static void survey(void *arg, uint32_t index)
{
	struct set *set = arg;
	struct source *s = &set->sources[index];
	char reason[REASON_BYTES];

	if (!source_survey(s, reason)) {
		s->capacity_bytes = 0;
		fprintf(stderr, "mkset: left out %s: %s\n", s->path, reason);
	}
}

bool set_survey(struct set *set)
{
	struct folder *folder = &set->folder;

	if (!folder_list(folder, set->photos, OUTPUT_MARK))
		return false;
	set->sources = memory_new(folder->count + 1u, sizeof(*set->sources));
	for (uint32_t i = 0; i < folder->count; i++)
		set->sources[i].path = folder->paths[i];
	parallel_run(set->jobs, folder->count, survey, set);
	for (uint32_t i = 0; i < folder->count; i++)
		if (set->sources[i].capacity_bytes > 0)
			set->sources[set->source_count++] = set->sources[i];
	return true;
}

/* Ranks in an order of their own, so that names say nothing about sizes. */
static uint32_t *shuffle_ranks(uint32_t count, uint64_t seed)
{
	uint32_t *ranks = memory_new(count, sizeof(*ranks));

	for (uint32_t i = 0; i < count; i++) {
		uint32_t other = random_below(&seed, i + 1);

		ranks[i] = ranks[other];
		ranks[other] = i;
	}
	return ranks;
}

static void plan_all(struct set *set)
{
	const struct profile *profile = set->profile;
	struct quantiles bytes = profile->bytes;
	uint32_t *ranks = shuffle_ranks(set->count, set->seed);
	double least = quantiles_at(&bytes, 0);
	double most = quantiles_at(&bytes, 1);

	if (profile->mean_bytes > 0)
		quantiles_fit_mean(&bytes, set->count, profile->mean_bytes);
	for (uint32_t i = 0; i < set->count; i++) {
		struct plan *plan = &set->uploads[i].plan;

		uint64_t target =
			quantiles_target(&bytes, ranks[i], set->count);

		plan_draw(plan, profile, set->seed, i, target, set->sources,
			  set->source_count);
		/* The ends, and what could miss its target beyond them. */
		plan->exact = (double)target < 1.05 * least ||
			      (double)target > most / 1.05;
	}
	free(ranks);
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
	const struct group *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

/* The most work first, so that workers end together. */
static void group_uploads(struct set *set)
{
	struct group *g = NULL;

	qsort(set->uploads, set->count, sizeof(*set->uploads), compare_sources);
	set->groups = memory_new(set->count, sizeof(*set->groups));
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
	const struct group *g = &set->groups[index];
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

bool set_make(struct set *set)
{
	assert(set->count >= 1 && set->source_count >= 1);
	set->uploads = memory_new(set->count, sizeof(*set->uploads));
	icc_profiles_init(&set->icc_profiles);
	plan_all(set);
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

void set_release(struct set *set)
{
	folder_release(&set->folder);
	icc_profiles_release(&set->icc_profiles);
	free(set->sources);
	free(set->uploads);
	free(set->groups);
}
