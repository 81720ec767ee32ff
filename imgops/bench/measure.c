/* SPDX-License-Identifier: MIT */
#include "imgops/bench/measure.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/folder.h"
#include "imgops/bench/floor.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

void *must_alloc(size_t count, size_t bytes)
{
	void *block = calloc(count, bytes);

	assert(block != NULL);
	return block;
}

bool file_read(struct file *file, const char *dir, const char *name,
	       struct error *error)
{
	const char *why = strerror(ENOMEM);
	char *path;

	*file = (struct file){ .path = strdup(name) };
	if (asprintf(&path, "%s/%s", dir, name) < 0)
		path = NULL;
	if (path != NULL && file->path != NULL)
		file->bytes = (uint8_t *)file_read_bytes(
			path, SIZE_MAX - 2, &file->size_bytes, &why);
	free(path);
	if (file->bytes != NULL) {
		/* The file was read into a buffer that grew by doubling. */
		void *exact = realloc(file->bytes, file->size_bytes + 1);

		if (exact != NULL)
			file->bytes = exact;
		return true;
	}
	error_set(error, "%s/%s: %s", dir, name, why);
	file_release(file);
	return false;
}

/*
 * Make the folders of `path`, as `mkdir -p` does.  If this fails, fopen() will
 * fail later.
 */
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
	FILE *out = NULL;
	bool is_written;
	char *path;

	if (asprintf(&path, "%s/%s", dir, name) >= 0) {
		make_folders(path);
		out = fopen(path, "we");
		free(path);
	}
	is_written =
		out != NULL && fwrite(bytes, 1, size_bytes, out) == size_bytes;
	if (out != NULL && fclose(out) != 0)
		is_written = false;
	if (!is_written)
		error_set(error, "%s/%s: %s", dir, name, strerror(errno));
	return is_written;
}

void file_release(struct file *file)
{
	free(file->path);
	free(file->bytes);
	*file = (struct file){ 0 };
}

bool folder_load(struct folder *f, const char *dir, uint64_t max_bytes,
		 struct error *error)
{
	struct folder_list list;
	bool ok = true;

	assert(f->files == NULL && f->count == 0);
	if (!folder_list_read(&list, dir, FOLDER_JPEGS, NULL, error))
		return false;
	f->files = must_alloc(list.count + 1, sizeof(*f->files));
	for (size_t i = 0; ok && i < list.count; i++) {
		if (list.files[i].bytes >= max_bytes)
			continue;
		ok = file_read(&f->files[f->count], dir, list.files[i].name,
			       error);
		f->count += ok;
	}
	if (ok && f->count == 0) {
		error_set(error, "%s: no such JPEG in this folder", dir);
		ok = false;
	}
	folder_list_release(&list);
	if (!ok)
		folder_release(f);
	return ok;
}

void folder_release(struct folder *f)
{
	for (size_t i = 0; i < f->count; i++)
		file_release(&f->files[i]);
	free(f->files);
	*f = (struct folder){ 0 };
}

const char *const step_names[STEP_COUNT] = {
	[STEP_PROBE] = "probe",   [STEP_DECODE] = "decode",
	[STEP_SCALE] = "scale",   [STEP_BLUR] = "blur",
	[STEP_ENCODE] = "encode",
};

const struct img_limits run_limits = {
	.side_px_max = IMG_SIDE_PX_MAX,
	.pixels_max = 250000000,
	.scans_max = 100,
	.decode_bytes_max = UINT64_C(1) << 30,
};

/* CPU time of this thread. */
static double thread_cpu_s(void)
{
	return (double)clock_thread_cpu_ns() / NS_PER_S;
}

static uint32_t side_times(uint32_t side_px, double margin)
{
	/* Round up, but so that a margin of 1 changes nothing. */
	double px = side_px * margin + 1 - 1e-6;

	return (uint32_t)fmin(fmax(px, 1), run_limits.side_px_max);
}

/* What a server does before it queues an upload. */
static enum img_err probe(struct run *r, const struct file *file,
			  const struct img_transform *transform)
{
	enum img_err err = img_probe(&r->header, file->bytes, file->size_bytes,
				     &run_limits);

	if (err != IMG_OK)
		return err;
	r->view = img_fit(&r->header, transform);
	r->cost = img_cost(&r->header, &r->view, transform);
	return IMG_OK;
}

/* Decode for a result that is `margin` times as large. */
static enum img_err decode(struct run *r, struct image *dst,
			   const struct file *file, const struct run_job *job)
{
	struct img_view larger = r->view;
	enum img_err err;

	larger.size.width_px = side_times(larger.size.width_px, job->margin);
	larger.size.height_px = side_times(larger.size.height_px, job->margin);
	err = img_decode_any(dst, file->bytes, file->size_bytes, &r->header,
			     &larger, job->transform, &run_limits, job->memory);
	if (err == IMG_OK)
		r->dct_scale = (uint32_t)lround(8 * dst->planes[0].span_x /
						r->header.stored.width_px);
	return err;
}

/* Carry out r->step with `src`.  Its result goes to `dst`, `r` or r->jpeg. */
static enum img_err run_step(struct run *r, struct image *dst,
			     struct image *src, const struct file *file,
			     const struct run_job *job)
{
	const struct img_transform *transform = job->transform;

	switch (r->step) {
	case STEP_PROBE:
		return probe(r, file, transform);
	case STEP_DECODE:
		return decode(r, dst, file, job);
	case STEP_SCALE:
		if (job->moves)
			return img_scale_last(dst, src, &r->view, transform,
					      job->memory);
		return img_scale(dst, src, &r->view, transform, job->memory);
	case STEP_BLUR:
		return img_blur(dst, src, transform->blur_sigma_px,
				job->memory);
	default:
		return img_encode(&r->jpeg, &r->jpeg_bytes, src, transform,
				  job->memory);
	}
}

struct run run_file(const struct file *file, const struct run_job *job)
{
	double since = thread_cpu_s();
	struct image src = { 0 };
	struct run r = { 0 };

	for (;; r.step++) {
		struct image dst = { 0 };
		double now;

		if (r.step == STEP_BLUR && job->transform->blur_sigma_px <= 0)
			continue;
		r.err = run_step(&r, &dst, &src, file, job);
		now = thread_cpu_s();
		r.cpu_s[r.step] = now - since;
		since = now;
		if (r.err == IMG_OK && job->watch != NULL)
			job->watch(job->arg, &r, &dst, &src);
		img_release(&src); /* release it as early as a server would */
		src = dst;
		if (job->end != NULL)
			job->end(job->arg, &r);
		if (r.err != IMG_OK || r.step == STEP_ENCODE)
			return r;
	}
}

void run_release(struct run *r, const struct run_job *job)
{
	memory_free(job->memory, r->jpeg);
	r->jpeg = NULL;
}

/*
 * An allocator that passes requests on to another one and counts the bytes of
 * live blocks, as requested.  Live blocks are listed separately, not marked by
 * a header in front of each, so that the other allocator gets the same sizes
 * and gives the same alignment as without counting.
 */
struct counter {
	struct memory memory; /* give this to imgops */
	const struct memory *inner;
	struct counter_block {
		void *start;
		size_t bytes;
	} * blocks; /* live */
	size_t block_count;
	size_t block_room;
	uint64_t alloc_count;
	uint64_t live_bytes;
	/* A caller sets it to live_bytes to begin another measurement. */
	uint64_t peak_bytes;
};

static void *counter_alloc(void *arg, size_t bytes)
{
	struct counter *c = arg;
	void *start;

	if (c->block_count == c->block_room) {
		size_t room = c->block_room * 2 + 16;

		c->blocks = reallocarray(c->blocks, room, sizeof(*c->blocks));
		assert(c->blocks != NULL);
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
	assert(i > 0); /* fails for a block that is not ours, or freed twice */
	c->live_bytes -= c->blocks[i - 1].bytes;
	c->blocks[i - 1] = c->blocks[--c->block_count];
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

/* Pin this thread to the CPU on which it runs.  Returns the CPU, or -1. */
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

/* Keep the result, for the passes of libjpeg alone, and write it to o->save. */
static bool keep_result(struct row *row, const struct bench_options *o,
			struct error *error)
{
	const struct run *r = &row->first;

	if (o->floor) {
		row->result = must_alloc(r->jpeg_bytes, 1);
		memcpy(row->result, r->jpeg, r->jpeg_bytes);
	}
	return o->save == NULL || file_write(o->save, row->file->path, r->jpeg,
					     r->jpeg_bytes, error);
}

static bool warm_up(struct measure *m, const struct folder *folder,
		    const struct bench_options *o, const struct memory *memory,
		    struct error *error)
{
	struct counter counter;
	struct run_job job = { .transform = &o->transform,
			       .moves = true,
			       .memory = &counter.memory,
			       .margin = o->margin };
	bool ok = true;

	counter_init(&counter, memory);
	for (size_t i = 0; ok && i < m->row_count; i++) {
		struct row *row = &m->rows[i];
		uint64_t allocs_before = counter.alloc_count;

		row->file = &folder->files[i];
		counter.peak_bytes = 0;
		row->first = run_file(row->file, &job);
		row->peak_bytes = counter.peak_bytes;
		row->alloc_count = counter.alloc_count - allocs_before;
		if (row->first.err == IMG_OK)
			ok = keep_result(row, o, error);
		run_release(&row->first, &job);
	}
	counter_release(&counter);
	return ok;
}

static void run_pass(struct measure *m, const struct run_job *job,
		     size_t number)
{
	uint64_t faults = (uint64_t)resource_usage(RUSAGE_THREAD).ru_minflt;

	for (size_t i = 0; i < m->row_count; i++) {
		struct row *row = &m->rows[i];
		struct run r;

		if (row->first.err != IMG_OK)
			continue;
		r = run_file(row->file, job);
		run_release(&r, job);
		for (int s = 0; s < STEP_COUNT; s++) {
			row->cpu_s[s] += r.cpu_s[s];
			m->pass_cpu_s[number] += r.cpu_s[s];
		}
	}
	m->minor_faults +=
		(uint64_t)resource_usage(RUSAGE_THREAD).ru_minflt - faults;
}

static void floor_pass(struct measure *m, struct floor *f, int quality)
{
	for (size_t i = 0; i < m->row_count; i++) {
		struct row *row = &m->rows[i];
		double began;

		if (row->first.err != IMG_OK)
			continue;
		began = thread_cpu_s();
		floor_decode(f, row->file->bytes, row->file->size_bytes,
			     row->first.dct_scale);
		row->floor_s[STEP_DECODE] += thread_cpu_s() - began;
		floor_decode(f, row->result, row->first.jpeg_bytes, 8);
		began = thread_cpu_s();
		(void)floor_encode(f, quality);
		row->floor_s[STEP_ENCODE] += thread_cpu_s() - began;
	}
}

bool measure_run(struct measure *m, const struct folder *folder,
		 const struct bench_options *o, const struct memory *memory,
		 struct error *error)
{
	struct run_job job = { .transform = &o->transform,
			       .moves = true,
			       .memory = memory,
			       .margin = o->margin };
	struct floor alone = { 0 };

	*m = (struct measure){
		.rows = must_alloc(folder->count, sizeof(*m->rows)),
		.row_count = folder->count,
		.passes = o->passes,
		.has_floor = o->floor,
		.cpu = pin_thread(),
		.pass_cpu_s = must_alloc(o->passes + 1, sizeof(*m->pass_cpu_s)),
	};
	if (!warm_up(m, folder, o, memory, error)) {
		measure_release(m);
		return false;
	}
	for (size_t i = 0; i < o->passes; i++) {
		run_pass(m, &job, i);
		if (o->floor)
			floor_pass(m, &alone, o->transform.quality);
	}
	floor_release(&alone);
	/* Linux counts it in kibibytes. */
	m->rss_max_bytes = (uint64_t)resource_usage(RUSAGE_SELF).ru_maxrss
			   << 10;
	return true;
}

void measure_release(struct measure *m)
{
	for (size_t i = 0; i < m->row_count; i++)
		free(m->rows[i].result);
	free(m->rows);
	free(m->pass_cpu_s);
	*m = (struct measure){ 0 };
}

const char *const kind_names[KIND_COUNT] = {
	[KIND_ALL] = "all",
	[KIND_BASELINE] = "baseline",
	[KIND_PROGRESSIVE] = "progressive",
};

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
