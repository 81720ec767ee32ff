/* SPDX-License-Identifier: MIT */
#include "imgops/bench/measure.h"

#include "imgops/bench/floor.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

const char *const kind_names[KIND_COUNT] = {
	[KIND_ALL] = "all",
	[KIND_BASELINE] = "baseline",
	[KIND_PROGRESSIVE] = "progressive",
};

/*
 * Memory around another that counts what is live, in bytes as asked for.  Live
 * blocks are kept in a list beside them, not in front of them, so that the
 * other one gets the sizes and gives the alignment it would without.
 */
struct counter {
	struct memory memory; /* give this to imgops */
	const struct memory *inner;
	struct counter_block {
		void *start;
		size_t bytes;
	} * blocks; /* live, in order of allocation */
	size_t block_count;
	size_t block_room;
	uint64_t alloc_count;
	uint64_t live_bytes;
	uint64_t peak_bytes; /* the caller may set it back to live_bytes */
};

static void *counter_alloc(void *arg, size_t bytes)
{
	struct counter *c = arg;
	void *start;

	if (c->block_count == c->block_room) {
		size_t room = c->block_room * 2 + 16;
		void *more = reallocarray(c->blocks, room, sizeof(*c->blocks));

		if (more == NULL)
			return NULL;
		c->blocks = more;
		c->block_room = room;
	}
	start = c->inner->alloc(c->inner->arg, bytes);
	if (start == NULL)
		return NULL;
	c->blocks[c->block_count++] = (struct counter_block){ start, bytes };
	c->alloc_count++;
	c->live_bytes += bytes;
	if (c->live_bytes > c->peak_bytes)
		c->peak_bytes = c->live_bytes;
	return start;
}

static void counter_free(void *arg, void *start)
{
	struct counter *c = arg;
	size_t i = c->block_count;

	while (i > 0 && c->blocks[i - 1].start != start)
		i--;
	assert(i > 0); /* not ours, or freed twice */
	c->live_bytes -= c->blocks[i - 1].bytes;
	memmove(&c->blocks[i - 1], &c->blocks[i],
		(c->block_count - i) * sizeof(*c->blocks));
	c->block_count--;
	c->inner->free(c->inner->arg, start);
}

static void counter_init(struct counter *c, const struct memory *inner)
{
	*c = (struct counter){
		.memory = { counter_alloc, counter_free, c },
		.inner = inner,
	};
}

/* All blocks must have been freed. */
static void counter_release(struct counter *c)
{
	assert(c->block_count == 0 && c->live_bytes == 0);
	free(c->blocks);
	*c = (struct counter){ 0 };
}

/* Stay on the CPU that this thread is on.  Returns it, or -1. */
static int pin_thread(void)
{
	int cpu = sched_getcpu();
	cpu_set_t set;

	CPU_ZERO(&set);
	if (cpu < 0)
		return -1;
	CPU_SET((size_t)cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) == 0 ? cpu : -1;
}

static struct rusage resource_usage(int who)
{
	struct rusage u;

	getrusage(who, &u);
	return u;
}

/* Bytes that libjpeg alone reads as the result, one for each row. */
struct results {
	struct file *files; /* without path */
	struct floor_planes decoded, result;
	uint8_t *jpeg;
	size_t jpeg_room;
};

static bool results_keep(struct results *r, size_t i, const struct run *b)
{
	struct file *copy = &r->files[i];

	copy->bytes = malloc(b->jpeg_bytes);
	if (copy->bytes == NULL)
		return false;
	memcpy(copy->bytes, b->jpeg, b->jpeg_bytes);
	copy->size_bytes = b->jpeg_bytes;
	return true;
}

static void results_release(struct results *r, size_t count)
{
	for (size_t i = 0; r->files != NULL && i < count; i++)
		file_release(&r->files[i]);
	free(r->files);
	floor_release(&r->decoded);
	floor_release(&r->result);
	free(r->jpeg);
}

static bool warm_up(struct measure *m, struct results *results,
		    const struct folder *folder, const struct bench_options *o,
		    struct counter *counter, struct error *error)
{
	struct run_job job = { &o->transform, &counter->memory, o->margin };

	for (size_t i = 0; i < m->row_count; i++) {
		struct row *row = &m->rows[i];
		uint64_t allocs_before = counter->alloc_count;
		bool ok = true;

		row->file = &folder->files[i];
		counter->peak_bytes = 0;
		row->first = run_file(row->file, &job);
		row->peak_bytes = counter->peak_bytes;
		row->alloc_count = counter->alloc_count - allocs_before;
		if (row->first.err == IMG_OK)
			row->cost = row->first.cost;
		if (row->first.err == IMG_OK && o->save != NULL)
			ok = file_write(o->save, row->file->path,
					row->first.jpeg, row->first.jpeg_bytes,
					error);
		if (ok && row->first.err == IMG_OK && o->floor &&
		    !results_keep(results, i, &row->first)) {
			error_set(error, "%s", strerror(errno));
			ok = false;
		}
		run_release(&row->first, &job);
		if (!ok)
			return false;
	}
	return true;
}

static void run_pass(struct measure *m, const struct run_job *job,
		     size_t number)
{
	uint64_t faults = (uint64_t)resource_usage(RUSAGE_THREAD).ru_minflt;

	for (size_t i = 0; i < m->row_count; i++) {
		struct row *row = &m->rows[i];
		struct run b;

		if (row->first.err != IMG_OK)
			continue;
		b = run_file(row->file, job);
		run_release(&b, job);
		for (int s = 0; s < STEP_COUNT; s++) {
			row->cpu_s[s] += b.cpu_s[s];
			m->pass_cpu_s[number] += b.cpu_s[s];
		}
	}
	m->minor_faults +=
		(uint64_t)resource_usage(RUSAGE_THREAD).ru_minflt - faults;
}

static void floor_pass(struct measure *m, struct results *r, int quality)
{
	for (size_t i = 0; i < m->row_count; i++) {
		struct row *row = &m->rows[i];
		double began, decoded;

		if (row->first.err != IMG_OK)
			continue;
		began = run_cpu_s();
		floor_decode(&r->decoded, row->file->bytes,
			     row->file->size_bytes, row->first.dct_scale);
		decoded = run_cpu_s();
		row->floor_s[STEP_DECODE] += decoded - began;
		floor_decode(&r->result, r->files[i].bytes,
			     r->files[i].size_bytes, 8);
		began = run_cpu_s();
		(void)floor_encode(&r->jpeg, &r->jpeg_room, &r->result,
				   quality);
		row->floor_s[STEP_ENCODE] += run_cpu_s() - began;
	}
}

static bool measure_passes(struct measure *m, struct results *results,
			   const struct folder *folder,
			   const struct bench_options *o,
			   const struct memory *memory, struct error *error)
{
	struct run_job job = { &o->transform, memory, o->margin };
	struct counter counter;
	bool warm;

	counter_init(&counter, job.memory);
	warm = warm_up(m, results, folder, o, &counter, error);
	counter_release(&counter);
	for (size_t i = 0; warm && i < o->passes; i++) {
		run_pass(m, &job, i);
		if (o->floor)
			floor_pass(m, results, o->transform.quality);
	}
	/*
	 * In kibibytes on Linux; on other systems getrusage(2) has other units.
	 */
	m->rss_max_bytes = (uint64_t)resource_usage(RUSAGE_SELF).ru_maxrss
			   << 10;
	return warm;
}

bool measure_run(struct measure *m, const struct folder *folder,
		 const struct bench_options *o, const struct memory *memory,
		 struct error *error)
{
	struct results results = {
		.files = calloc(folder->count, sizeof(*results.files)),
	};
	bool ok;

	*m = (struct measure){
		.rows = calloc(folder->count, sizeof(*m->rows)),
		.row_count = folder->count,
		.passes = o->passes,
		.has_floor = o->floor,
		.cpu = pin_thread(),
		.pass_cpu_s = calloc(o->passes, sizeof(*m->pass_cpu_s)),
	};
	ok = results.files != NULL && m->rows != NULL && m->pass_cpu_s != NULL;
	if (!ok)
		error_set(error, "%s", strerror(errno));
	ok = ok && measure_passes(m, &results, folder, o, memory, error);
	results_release(&results, folder->count);
	if (!ok)
		measure_release(m);
	return ok;
}

void measure_release(struct measure *m)
{
	free(m->rows);
	free(m->pass_cpu_s);
	*m = (struct measure){ 0 };
}

static bool is_of_kind(const struct row *row, enum kind kind)
{
	return row->first.err == IMG_OK &&
	       (kind == KIND_ALL ||
		row->first.header.is_progressive == (kind == KIND_PROGRESSIVE));
}

struct total measure_total(const struct measure *m, enum kind kind)
{
	struct total t = { 0 };

	for (size_t i = 0; i < m->row_count; i++) {
		const struct row *row = &m->rows[i];

		if (!is_of_kind(row, kind))
			continue;
		t.images++;
		t.bytes_in += row->file->size_bytes;
		t.bytes_out += row->first.jpeg_bytes;
		for (int s = 0; s < STEP_COUNT; s++) {
			t.cpu_s[s] += row->cpu_s[s];
			t.cpu_s_all += row->cpu_s[s];
			t.floor_s[s] += row->floor_s[s];
			t.floor_s_all += row->floor_s[s];
		}
	}
	return t;
}
