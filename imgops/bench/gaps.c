/* SPDX-License-Identifier: MIT */
#include "imgops/bench/gaps.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/memory.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* More than any one photo needs. */
enum { KEPT_BYTES_MAX = 512 << 20 };

static const struct {
	const char *name, *title;
	size_t kept_bytes_max;
} memories[GAP_MEMORY_COUNT] = {
	[GAP_MEMORY_KEPT] = { "kept_memory", "memory from kept blocks",
			      KEPT_BYTES_MAX },
	[GAP_MEMORY_FRESH] = { "fresh_memory", "memory mapped and unmapped",
			       0 },
};

struct gap {
	enum step step;
	double us;
};

/* The gaps of one file in one pass, in order. */
struct gap_list {
	struct gap *gaps;
	size_t count, room;
};

/* Passes requests on to another memory, and records each call of pause(). */
struct gap_watch {
	struct memory memory; /* give this to imgops */
	const struct memory *inner;
	struct gap_list list;
	size_t step_first; /* the first gap of the current step */
	uint64_t since_ns; /* when the current gap began */
};

static void *watch_alloc(void *arg, size_t bytes)
{
	struct gap_watch *w = arg;

	return memory_alloc(w->inner, bytes);
}

static void watch_free(void *arg, void *block)
{
	struct gap_watch *w = arg;

	memory_free(w->inner, block);
}

/* A gap ends; the next begins after the recording. */
static void watch_pause(void *arg)
{
	struct gap_watch *w = arg;
	struct gap_list *l = &w->list;
	uint64_t ns = clock_thread_cpu_ns() - w->since_ns;

	if (l->count == l->room) {
		l->room = l->room * 2 + 1024;
		l->gaps = reallocarray(l->gaps, l->room, sizeof(*l->gaps));
		assert(l->gaps != NULL);
	}
	l->gaps[l->count++] = (struct gap){ STEP_PROBE, (double)ns / 1e3 };
	w->since_ns = clock_thread_cpu_ns();
}

/* A run_end_fn. */
static void watch_end_step(void *arg, const struct run *r)
{
	struct gap_watch *w = arg;

	watch_pause(w);
	for (; w->step_first < w->list.count; w->step_first++)
		w->list.gaps[w->step_first].step = r->step;
}

/* The caller frees the list's gaps. */
static struct gap_list run_once(const struct file *file,
				const struct bench_options *o,
				const struct memory *inner)
{
	struct gap_watch w = {
		.memory = { watch_alloc, watch_free, &w, watch_pause },
		.inner = inner,
		.since_ns = clock_thread_cpu_ns(),
	};
	struct run_job job = { .transform = &o->transform,
			       .memory = &w.memory,
			       .margin = o->margin,
			       .end = watch_end_step,
			       .arg = &w };
	struct run r = run_file(file, &job);

	run_release(&r, &job);
	return w.list;
}

/*
 * `lists` has the gaps of one file in each pass.  Add the least time of each
 * gap.
 */
static void add_least(struct spread *steps, const struct gap_list *lists,
		      uint64_t passes, const char *path)
{
	for (size_t i = 0; i < lists[0].count; i++) {
		double us = lists[0].gaps[i].us;

		for (uint64_t k = 1; k < passes; k++) {
			assert(lists[k].count == lists[0].count);
			us = fmin(us, lists[k].gaps[i].us);
		}
		spread_add(&steps[lists[0].gaps[i].step], us, path);
	}
}

/*
 * Returns the gaps of each file in each pass, at [file * o->passes + pass].  A
 * pass before these warms up.
 */
static struct gap_list *run_all(const struct folder *folder,
				const struct bench_options *o,
				const struct memory *memory)
{
	struct gap_list *lists =
		must_alloc(folder->count * o->passes, sizeof(*lists));

	for (size_t i = 0; i < folder->count; i++)
		free(run_once(&folder->files[i], o, memory).gaps);
	for (uint64_t pass = 0; pass < o->passes; pass++)
		for (size_t i = 0; i < folder->count; i++)
			lists[i * o->passes + pass] =
				run_once(&folder->files[i], o, memory);
	return lists;
}

static void measure_with(struct spread *steps, const struct folder *folder,
			 const struct bench_options *o, size_t kept_bytes_max)
{
	struct memory_pool *pool = memory_pool_new(kept_bytes_max, SIZE_MAX);
	size_t list_count = folder->count * o->passes, count = 0;
	struct gap_list *lists;

	assert(pool != NULL);
	lists = run_all(folder, o, memory_pool_memory(pool));
	for (size_t i = 0; i < list_count; i++)
		count += lists[i].count;
	for (int s = 0; s < STEP_COUNT; s++)
		spread_init(&steps[s], count);
	for (size_t i = 0; i < folder->count; i++)
		add_least(steps, &lists[i * o->passes], o->passes,
			  folder->files[i].path);
	for (int s = 0; s < STEP_COUNT; s++)
		spread_finish(&steps[s]);
	for (size_t i = 0; i < list_count; i++)
		free(lists[i].gaps);
	free(lists);
	memory_pool_free(pool);
}

void gaps_measure(struct gaps *g, const struct folder *folder,
		  const struct bench_options *o)
{
	for (int m = 0; m < GAP_MEMORY_COUNT; m++)
		measure_with(g->steps[m], folder, o,
			     memories[m].kept_bytes_max);
}

void gaps_release(struct gaps *g)
{
	for (int m = 0; m < GAP_MEMORY_COUNT; m++)
		for (int s = 0; s < STEP_COUNT; s++)
			spread_release(&g->steps[m][s]);
}

void gaps_print(FILE *out, const struct gaps *g, const struct bench_options *o)
{
	fprintf(out,
		"%s: CPU time between two calls of memory.pause(), in us; "
		"least of %" PRIu64 " passes\n",
		o->dataset, o->passes);
	for (int m = 0; m < GAP_MEMORY_COUNT; m++) {
		fprintf(out, "\n%-28s %8s %8s %8s %8s\n", memories[m].title,
			"gaps", "p50", "p99", "largest");
		for (int s = 0; s < STEP_COUNT; s++) {
			const struct spread *v = &g->steps[m][s];

			if (v->count > 0)
				fprintf(out,
					"  %-26s %8zu %8.1f %8.1f %8.1f  %s\n",
					step_names[s], v->count,
					spread_quantile(v, 0.5),
					spread_quantile(v, 0.99), v->most,
					v->most_path);
		}
	}
}

void gaps_write_json(FILE *out, const struct gaps *g)
{
	struct json j;

	json_begin(&j, out, JSON_INDENTED);
	json_open_object(&j, NULL);
	for (int m = 0; m < GAP_MEMORY_COUNT; m++) {
		json_open_object(&j, memories[m].name);
		for (int s = 0; s < STEP_COUNT; s++) {
			const struct spread *v = &g->steps[m][s];

			if (v->count == 0)
				continue;
			json_open_object(&j, step_names[s]);
			json_add_whole(&j, "gaps", v->count);
			json_add_number(&j, "p50_us", spread_quantile(v, 0.5));
			json_add_number(&j, "p99_us", spread_quantile(v, 0.99));
			json_add_number(&j, "largest_us", v->most);
			json_add_text(&j, "largest_path", v->most_path);
			json_close(&j);
		}
		json_close(&j);
	}
	json_close(&j);
	fputc('\n', out);
}
