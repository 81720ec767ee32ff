/* SPDX-License-Identifier: MIT */
/*
 * Promises: a followed trace is complete, with each visit before its events,
 * unless the ring would overwrite them; overwritten spans are counted once; and
 * the first event of a request is known, wherever a trace begins.
 *
 * The pipeline has one group with one worker; the test itself writes the
 * worker's ring.
 */
/* For its static functions. */
#include "service/report/trace.c"

#include "base/test/check.h"

#include <string.h>

enum { SPANS_MAX = 3 * TRACE_SPANS };

static struct {
	struct span spans[SPANS_MAX];
	uint64_t end;   /* how many were added */
	uint64_t first; /* spans before this one are overwritten */
} ring;

uint32_t
__wrap_pipeline_worker_groups(const struct pipeline *p,
			      struct worker_group out[WORKER_GROUPS_MAX]);
uint32_t __wrap_group_track_count(const struct stage_group *g);
uint32_t __wrap_group_read_trace(const struct stage_group *g, uint32_t worker,
				 uint64_t *next, struct span *out,
				 uint32_t count, uint64_t *missed);

uint32_t
__wrap_pipeline_worker_groups(const struct pipeline *p,
			      struct worker_group out[WORKER_GROUPS_MAX])
{
	(void)p;
	out[0] = (struct worker_group){ .step_first = PIPELINE_DECODE };
	return 1;
}

uint32_t __wrap_group_track_count(const struct stage_group *g)
{
	(void)g;
	return 1;
}

uint32_t __wrap_group_read_trace(const struct stage_group *g, uint32_t worker,
				 uint64_t *next, struct span *out,
				 uint32_t count, uint64_t *missed)
{
	uint64_t first = *next > ring.first ? *next : ring.first;
	uint32_t copied = 0;

	(void)g;
	(void)worker;
	*missed += first - *next;
	while (copied < count && first + copied < ring.end) {
		out[copied] = ring.spans[first + copied];
		copied++;
	}
	*next = first + copied;
	return copied;
}

static void add(enum span_kind kind, uint32_t stage, uint64_t number,
		uint64_t start_ns, uint64_t end_ns)
{
	CHECK_NUMBER(ring.end, <, SPANS_MAX);
	ring.spans[ring.end++] = (struct span){
		.start_ns = start_ns,
		.end_ns = end_ns,
		.number = number,
		.stage = stage,
		.kind = kind,
	};
}

static void begin(struct tracks *t, bool is_followed)
{
	ring.end = ring.first = 0;
	CHECK(tracks_init(t, NULL, is_followed));
}

/*
 * `wanted` is a list such as "v2 e17* e18": v2 is a visit to stage 2, e17 the
 * event of stage 1 with number 7; a star marks the first event of a request.
 */
static void check_taken(struct tracks *t, const char *wanted)
{
	char taken[200] = "";
	size_t length = 0;

	CHECK(tracks_take(t, 0, UINT64_MAX));
	for (size_t i = 0; i < t->span_count; i++) {
		const struct track_span *s = &t->spans[i];
		const char *space = i > 0 ? " " : "";
		size_t room = sizeof(taken) - length;
		int bytes;

		if (s->span.kind == SPAN_VISIT)
			bytes = snprintf(taken + length, room, "%sv%u", space,
					 s->span.stage);
		else
			bytes = snprintf(taken + length, room, "%se%u%u%s",
					 space, s->span.stage,
					 (unsigned)s->span.number,
					 s->is_first ? "*" : "");
		length += (size_t)bytes;
		CHECK_NUMBER(length, <, sizeof(taken));
	}
	CHECK_TEXT(taken, wanted);
}

static void test_events_wait_for_their_visit(void)
{
	struct tracks t;

	begin(&t, true);
	add(SPAN_EVENT, 0, 7, 10, 20);
	add(SPAN_EVENT, 0, 8, 20, 30);
	check_taken(&t, "");
	add(SPAN_VISIT, 0, 2, 10, 30);
	add(SPAN_SLEEP, 0, 0, 30, 40);
	add(SPAN_EVENT, 1, 7, 40, 50);
	check_taken(&t, "v0 e07* e08*");
	add(SPAN_VISIT, 1, 1, 40, 50);
	check_taken(&t, "v1 e17");
	check_taken(&t, "");
	CHECK_NUMBER(t.missed_count, ==, 0);
	tracks_release(&t);
}

static void test_interruption_waits_for_what_it_interrupts(void)
{
	struct tracks t;

	begin(&t, true);
	add(SPAN_EVENT, 0, 1, 10, 20);
	add(SPAN_EVENT, 3, 2, 20, 30);
	add(SPAN_VISIT, 3, 1, 20, 30);
	check_taken(&t, "");
	add(SPAN_EVENT, 0, 3, 30, 40);
	add(SPAN_VISIT, 0, 2, 10, 40);
	check_taken(&t, "v0 e01* v3 e32 e03*");
	tracks_release(&t);
}

static void test_overwritten_is_counted_once(void)
{
	struct tracks t;

	begin(&t, true);
	for (uint64_t i = 0; i < 5; i++)
		add(SPAN_EVENT, 0, i, 10 * i, 10 * i + 10);
	check_taken(&t, "");
	ring.first = 3;
	check_taken(&t, "");
	CHECK_NUMBER(t.missed_count, ==, 3);
	check_taken(&t, "");
	add(SPAN_VISIT, 0, 5, 0, 50);
	check_taken(&t, "v0 e03* e04*");
	CHECK_NUMBER(t.missed_count, ==, 3);
	tracks_release(&t);
}

/* The ring holds at most its capacity. */
static void test_long_visit_is_not_waited_for(void)
{
	struct tracks t;
	size_t taken_count = 0;

	begin(&t, true);
	for (uint64_t i = 0; i < 2 * TRACE_SPANS; i++) {
		add(SPAN_EVENT, 0, i, i, i + 1);
		ring.first = i > TRACE_SPANS ? i - TRACE_SPANS : 0;
		if (i % 1000 != 0)
			continue;
		CHECK(tracks_take(&t, 0, UINT64_MAX));
		taken_count += t.span_count;
	}
	CHECK_NUMBER(t.missed_count, ==, 0);
	CHECK_NUMBER(taken_count, >, TRACE_SPANS);
	tracks_release(&t);
}

static void test_first_is_what_there_is(void)
{
	struct tracks t;

	begin(&t, false);
	add(SPAN_EVENT, 2, 5, 30, 40);
	add(SPAN_VISIT, 2, 1, 30, 40);
	add(SPAN_EVENT, 0, 6, 40, 50);
	add(SPAN_VISIT, 0, 1, 40, 50);
	add(SPAN_EVENT, 3, 5, 50, 60);
	add(SPAN_EVENT, 3, 6, 60, 70); /* in a visit that has not ended */
	check_taken(&t, "v2 e25* v0 e06* e35 e36");
	tracks_release(&t);
}

static void test_only_what_was_asked_for(void)
{
	struct tracks t;

	begin(&t, false);
	for (uint64_t i = 0; i < 10; i++)
		add(SPAN_VISIT, 0, 0, 10 * i, 10 * i + 10);
	CHECK(tracks_take(&t, 20, 50)); /* ended later, started earlier */
	CHECK_NUMBER(t.span_count, ==, 3);
	CHECK_NUMBER(t.spans[0].span.start_ns, ==, 20);
	CHECK_NUMBER(t.spans[2].span.end_ns, ==, 50);
	tracks_release(&t);
}

int main(void)
{
	test_events_wait_for_their_visit();
	test_interruption_waits_for_what_it_interrupts();
	test_overwritten_is_counted_once();
	test_long_visit_is_not_waited_for();
	test_first_is_what_there_is();
	test_only_what_was_asked_for();
	return 0;
}
