/* SPDX-License-Identifier: MIT */
/*
 * Promises for every step: at no pause point does its thread hold a lock; and
 * an upload that is paused at every pause point, and continued by any of three
 * workers, gets the same bytes as one that is never paused.  This shows that
 * the steps keep nothing across a pause that belongs to a thread.  A pause also
 * changes errno, so they cannot rely on that either.
 *
 * The linker puts the functions below in place of those of visit.c and libc.
 */
#include "base/error.h"
#include "service/test/pipeline/jobs.h"

#include "base/test/check.h"
#include "base/util.h"
#include "imgops/test/profiles.h"
#include "stages/flags.h"
#include "stages/queue.h"
#include "stages/test/fake_cores.h"
#include "stages/visit.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WHOLE = 5, FILES = 8, TRANSFORMS = 5, WORKERS = 3 };

static struct bytes files[FILES]; /* from WHOLE on they are damaged */
static struct job unpaused[FILES][TRANSFORMS], paused[FILES][TRANSFORMS];
/* Which visitor was last at a pause point of paused[0][i]. */
static const struct visitor *last_visitors[FILES * TRANSFORMS];

static bool is_forced;
static _Atomic uint64_t point_count, moved_count, return_count;
static _Thread_local uint32_t held_count; /* locks */

/* They have the types of the headers' declarations. */
__typeof__(visitor_should_pause) __real_visitor_should_pause,
	__wrap_visitor_should_pause;
__typeof__(visitor_may_pause) __real_visitor_may_pause,
	__wrap_visitor_may_pause;
__typeof__(queue_return) __real_queue_return, __wrap_queue_return;
int __real_pthread_mutex_lock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_lock(pthread_mutex_t *lock);
int __real_pthread_mutex_unlock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *lock);

int __wrap_pthread_mutex_lock(pthread_mutex_t *lock)
{
	int result = __real_pthread_mutex_lock(lock);

	held_count += result == 0;
	return result;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *lock)
{
	CHECK_NUMBER(held_count, >, 0);
	held_count--;
	return __real_pthread_mutex_unlock(lock);
}

/* Is it not the visitor that was last at a pause point of this event? */
static bool moves(const struct visitor *v)
{
	/* The event is a member of its job. */
	size_t offset = (size_t)((const char *)v->event - (const char *)paused);
	const struct visitor **last =
		&last_visitors[offset / sizeof(struct job)];
	bool has_moved = *last != NULL && *last != v;

	*last = v;
	return has_moved;
}

/* Called at each pause point of an event that can be paused. */
bool __wrap_visitor_may_pause(struct visitor *v)
{
	CHECK_NUMBER(held_count, ==, 0);
	errno = ENOTTY;
	if (!is_forced)
		return __real_visitor_may_pause(v);
	atomic_fetch_add(&point_count, 1);
	if (moves(v))
		atomic_fetch_add(&moved_count, 1);
	return true;
}

/* Called after __wrap_visitor_may_pause(). */
enum visit_pause __wrap_visitor_should_pause(const struct visitor *v,
					     uint64_t start_ns, uint64_t now_ns)
{
	return is_forced ? PAUSE_FOR_ANOTHER :
			   __real_visitor_should_pause(v, start_ns, now_ns);
}

/* Gives another worker the time to take the event. */
void __wrap_queue_return(struct queue *q, struct event *ev)
{
	__real_queue_return(q, ev);
	if (atomic_fetch_add(&return_count, 1) % 8 == 0)
		(void)usleep(50);
}

/* What is left of a file that lost its last third. */
static struct bytes cut(struct bytes file)
{
	struct bytes part = { malloc(file.count), file.count * 2 / 3 };

	CHECK(part.data != NULL);
	memcpy(part.data, file.data, part.count);
	return part;
}

/* As cut(), but the bytes before that are wrong. */
static struct bytes spoil(struct bytes file)
{
	struct bytes part = cut(file);

	memset(part.data + part.count * 3 / 4, 0x55, part.count / 8);
	return part;
}

static void make_files(void)
{
	static const struct jpeg_spec specs[] = {
		{ .width = 300, .height = 200, .progressive = true },
		{ .width = 333, .height = 222, .separate_scans = true },
	};
	struct jpeg_spec inks = { .width = 240,
				  .height = 160,
				  .space = JCS_CMYK };
	struct bytes cmyk = profile_cmyk(), ink = jpeg_make(&inks);
	struct bytes rgb = profile_rgb(&gamuts[DISPLAY_P3], 2.2, 0);

	files[0] = (struct bytes){ photo, photo_bytes };
	files[1] = jpeg_with_profile(files[0], rgb);
	files[2] = jpeg_with_profile(ink, cmyk);
	files[3] = jpeg_make(&specs[0]);
	files[4] = jpeg_make(&specs[1]);
	files[WHOLE] = cut(files[0]);
	files[WHOLE + 1] = cut(files[3]);
	files[WHOLE + 2] = spoil(files[0]);
	free(cmyk.data);
	free(rgb.data);
	free(ink.data);
}

static const struct img_transform transforms[TRANSFORMS] = {
	{ .box = { 160, 160 }, .blur_sigma_px = 2, .quality = 80 },
	{ .box = { 120, 90 }, .filter = IMG_MITCHELL, .quality = 90 },
	{ .progressive = true, .chroma = IMG_CHROMA_444, .quality = 80 },
	{ .box = { 130, 50 },
	  .fit = IMG_FIT_COVER,
	  .blur_sigma_px = 20,
	  .optimize = true,
	  .quality = 80 },
	{ .box = { 200, 0 },
	  .filter = IMG_BSPLINE,
	  .keep_profile = true,
	  .quality = 50 },
};

static void submit_all(struct pipeline *p, struct job jobs[FILES][TRANSFORMS])
{
	for (uint32_t i = 0; i < FILES; i++)
		for (uint32_t j = 0; j < TRANSFORMS; j++) {
			struct job *job = &jobs[i][j];

			prepare(job, 0, 0);
			job->upload.jpeg = files[i].data;
			job->upload.jpeg_bytes = files[i].count;
			job->upload.wants.placeholder = true;
			job->variants[0].transform = transforms[j];
			job->variants[0].transform.lenient = i >= WHOLE;
			CHECK(pipeline_submit(p, &job->upload));
		}
	for (uint32_t i = 0; i < FILES; i++)
		for (uint32_t j = 0; j < TRANSFORMS; j++)
			wait_done(&jobs[i][j]);
}

static void assert_same(const struct job *a, const struct job *b)
{
	const struct variant *one = &a->variants[0], *other = &b->variants[0];

	CHECK(one->jpeg != NULL);
	CHECK(other->jpeg != NULL);
	CHECK_NUMBER(one->jpeg_bytes, ==, other->jpeg_bytes);
	CHECK_NUMBER(one->notes, ==, other->notes);
	CHECK(memcmp(one->jpeg, other->jpeg, one->jpeg_bytes) == 0);
	CHECK(memcmp(&a->upload.placeholder, &b->upload.placeholder,
		     sizeof(a->upload.placeholder)) == 0);
}

static struct pipeline *start_with(const char *policy, const char *discipline,
				   const char *slice, const struct cores *cores)
{
	struct error error;
	struct schedule s;

	schedule_init(&s);
	CHECK(schedule_set(&s, "policy", policy, NULL, 0));
	CHECK(schedule_set(&s, "discipline", discipline, NULL, 0));
	CHECK(schedule_set(&s, "slice", slice, NULL, 0));
	CHECK(schedule_complete(&s, pipeline_steps(STAGES_IMAGE).count, WORKERS,
				error.text));
	return start_scheduled(&s, cores, FILES * TRANSFORMS, 1 << 24);
}

static void test_same_bytes(const char *policy, const struct cores *cores)
{
	struct pipeline *p = start_with(policy, "srpt=5", "1", cores);

	is_forced = true;
	point_count = moved_count = 0;
	memset(last_visitors, 0, sizeof(last_visitors));
	submit_all(p, paused);
	pipeline_stop(p);
	is_forced = false;
	for (uint32_t i = 0; i < FILES; i++)
		for (uint32_t j = 0; j < TRANSFORMS; j++) {
			uint32_t notes = paused[i][j].variants[0].notes;

			CHECK_NUMBER(((notes & IMG_NOTE_DAMAGED) != 0), ==,
				     (i >= WHOLE));
			assert_same(&unpaused[i][j], &paused[i][j]);
			upload_free_results(&paused[i][j].upload);
		}
	pipeline_free(p);
	(void)fprintf(stderr,
		      "%s: %llu pause points, %llu after another worker's\n",
		      policy, (unsigned long long)point_count,
		      (unsigned long long)moved_count);
	CHECK_NUMBER(moved_count, >, 0);
}

int main(int argc, char **argv)
{
	struct error why;
	struct cores *cores = cores_new(NULL, why.text);
	struct pipeline *p;

	CHECK_NUMBER(argc, ==, 2);
	CHECK(cores != NULL);
	fake_core_count = WORKERS;
	read_photo(argv[1]);
	shrink_photo(cores, 500);
	make_files();
	p = start_with("color", "srpt=5", "0", cores);
	submit_all(p, unpaused);
	pipeline_stop(p);
	test_same_bytes("color", cores);
	test_same_bytes("cohort", cores);
	for (uint32_t i = 0; i < FILES; i++)
		for (uint32_t j = 0; j < TRANSFORMS; j++)
			upload_free_results(&unpaused[i][j].upload);
	pipeline_free(p);
	cores_free(cores);
	for (uint32_t i = 0; i < FILES; i++)
		free(files[i].data);
	return 0;
}
