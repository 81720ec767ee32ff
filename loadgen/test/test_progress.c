/* SPDX-License-Identifier: MIT */
#include "base/test/check.h"
/* The progress line is due once a second, and shows the last seconds. */
#include "loadgen/run.c" /* for progress_show() */

struct screen {
	struct progress progress;
	char *text;
	size_t size;
};

static void open_screen(struct screen *s)
{
	*s = (struct screen){ .progress = { .request_goal = 159,
					    .began_ns = 7 * NS_PER_S,
					    .shown_ns = 7 * NS_PER_S } };
	s->progress.out = open_memstream(&s->text, &s->size);
	CHECK(s->progress.out != NULL);
}

static void close_screen(struct screen *s)
{
	fclose(s->progress.out);
	free(s->text);
}

/*
 * Show the progress `at_s` after the beginning, and compare what this call
 * wrote.
 */
static void expect_shown(struct screen *s, const struct record *r,
			 uint64_t at_s, const char *expected)
{
	long before = ftell(s->progress.out);

	progress_show(&s->progress, r, 16, (7 + at_s) * NS_PER_S);
	CHECK_TEXT(s->text + before, expected);
}

static void note(struct screen *s, int status, uint64_t at_s, uint64_t ms)
{
	struct result result = { .status = status,
				 .ended_ns = at_s * NS_PER_S,
				 .response_ns = ms * NS_PER_MS };

	progress_note(&s->progress, &result);
}

static void test_lines(void)
{
	struct record r = { .request_count = 30, .ok_count = 28 };
	struct screen s;

	open_screen(&s);
	note(&s, 503, 1, 1000);
	expect_shown(&s, &r, 2,
		     "\r\033[K2 s, 30/159 requests, 14.0 responses/s, "
		     "16 in flight, p90 -, 2 errors");
	for (uint64_t ms = 1; ms <= 100; ms++)
		note(&s, 200, 2, ms);
	r.request_count = r.ok_count = 38;
	expect_shown(&s, &r, 4,
		     "\r\033[K4 s, 38/159 requests, 5.0 responses/s, "
		     "16 in flight, p90 90.0 ms, 0 errors");
	note(&s, 200, 6, 50); /* alone it has no p90 */
	s.progress.request_goal = 0;
	expect_shown(&s, &r, 8, /* the first 100 replies are too old */
		     "\r\033[K8 s, 38 requests, 0.0 responses/s, "
		     "16 in flight, p90 -, 0 errors");
	close_screen(&s);
}

static void test_last_replies(void)
{
	struct record r = { 0 };
	struct screen s;

	open_screen(&s);
	for (int i = 0; i < PROGRESS_RECENT; i++)
		note(&s, 200, 1, 100);
	for (int i = 0; i < PROGRESS_RECENT; i++)
		note(&s, 200, 1, 3);
	progress_show(&s.progress, &r, 0, 8 * NS_PER_S);
	CHECK_PART(s.text, "p90 3.0 ms");
	close_screen(&s);
}

static void test_due_once_a_second(void)
{
	struct record r = { 0 };
	struct screen s;

	open_screen(&s);
	CHECK(!progress_is_due(&s.progress, 8 * NS_PER_S - 1));
	CHECK(progress_is_due(&s.progress, 8 * NS_PER_S));
	progress_show(&s.progress, &r, 0, 8 * NS_PER_S);
	CHECK(!progress_is_due(&s.progress, 9 * NS_PER_S - 1));
	CHECK(progress_is_due(&s.progress, 9 * NS_PER_S));
	close_screen(&s);
}

static void test_nowhere(void)
{
	struct progress p = { .out = NULL };

	CHECK(!progress_is_due(&p, 5 * NS_PER_S));
	progress_clear(&p);
}

int main(void)
{
	test_lines();
	test_last_replies();
	test_due_once_a_second();
	test_nowhere();
	return 0;
}
