/* SPDX-License-Identifier: MIT */
#include "imgops/bench/measure.h"

#include "imgops/bench/counter.h"
#include "imgops/bench/floor.h"

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

/* Stay on the CPU that this thread is on.  Returns it, or -1. */
static int pin(void)
{
	int cpu = sched_getcpu();
	cpu_set_t set;

	CPU_ZERO(&set);
	if (cpu < 0)
		return -1;
	CPU_SET((size_t)cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) == 0 ? cpu : -1;
}

static struct rusage usage(int who)
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

static bool results_keep(struct results *r, size_t i, const struct bare *b)
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
		    const struct folder *folder, const struct options *o,
		    struct counter *counter, struct error *error)
{
	struct bare_job job = { &o->recipe, &counter->memory, o->margin };

	for (size_t i = 0; i < m->row_count; i++) {
		struct row *row = &m->rows[i];
		uint64_t allocs_before = counter->alloc_count;
		bool ok = true;

		row->file = &folder->files[i];
		counter->peak_bytes = 0;
		row->first = bare_run(row->file, &job);
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
		bare_release(&row->first, &job);
		if (!ok)
			return false;
	}
	return true;
}

static void pass(struct measure *m, const struct bare_job *job, size_t number)
{
	uint64_t faults = (uint64_t)usage(RUSAGE_THREAD).ru_minflt;

	for (size_t i = 0; i < m->row_count; i++) {
		struct row *row = &m->rows[i];
		struct bare b;

		if (row->first.err != IMG_OK)
			continue;
		b = bare_run(row->file, job);
		bare_release(&b, job);
		for (int s = 0; s < STEP_COUNT; s++) {
			row->cpu_s[s] += b.cpu_s[s];
			m->pass_cpu_s[number] += b.cpu_s[s];
		}
	}
	m->minor_faults += (uint64_t)usage(RUSAGE_THREAD).ru_minflt - faults;
}

static void floor_pass(struct measure *m, struct results *r, int quality)
{
	for (size_t i = 0; i < m->row_count; i++) {
		struct row *row = &m->rows[i];
		double began, decoded;

		if (row->first.err != IMG_OK)
			continue;
		began = bare_cpu_s();
		floor_decode(&r->decoded, row->file->bytes,
			     row->file->size_bytes, row->first.eighths);
		decoded = bare_cpu_s();
		row->floor_s[STEP_DECODE] += decoded - began;
		floor_decode(&r->result, r->files[i].bytes,
			     r->files[i].size_bytes, 8);
		began = bare_cpu_s();
		(void)floor_encode(&r->jpeg, &r->jpeg_room, &r->result,
				   quality);
		row->floor_s[STEP_ENCODE] += bare_cpu_s() - began;
	}
}

static bool run(struct measure *m, struct results *results,
		const struct folder *folder, const struct options *o,
		const struct img_memory *memory, struct error *error)
{
	struct bare_job job = { &o->recipe, memory, o->margin };
	struct counter counter;
	bool warm;

	counter_init(&counter, job.memory);
	warm = warm_up(m, results, folder, o, &counter, error);
	counter_release(&counter);
	for (size_t i = 0; warm && i < o->passes; i++) {
		pass(m, &job, i);
		if (o->floor)
			floor_pass(m, results, o->recipe.quality);
	}
	/* Kibibytes, whatever getrusage(2) of other systems says. */
	m->rss_max_bytes = (uint64_t)usage(RUSAGE_SELF).ru_maxrss << 10;
	return warm;
}

bool measure_run(struct measure *m, const struct folder *folder,
		 const struct options *o, const struct img_memory *memory,
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
		.cpu = pin(),
		.pass_cpu_s = calloc(o->passes, sizeof(*m->pass_cpu_s)),
	};
	ok = results.files != NULL && m->rows != NULL && m->pass_cpu_s != NULL;
	if (!ok)
		error_set(error, "%s", strerror(errno));
	ok = ok && run(m, &results, folder, o, memory, error);
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
