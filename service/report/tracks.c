/* SPDX-License-Identifier: MIT */
#include "service/report/tracks.h"

#include <stdlib.h>

enum {
	CHUNK_SPANS = 256,
	ROOM_FIRST = 1024,
	/* Events that wait for their visit: more would be overwritten. */
	OPEN_MAX = TRACE_SPANS / 2,
};

bool tracks_init(struct tracks *t, const struct pipeline *p, bool is_followed)
{
	struct pipeline_lane lanes[PIPELINE_LANES_MAX];
	uint32_t lane_count = pipeline_lanes(p, lanes), count = 0;

	for (uint32_t i = 0; i < lane_count; i++)
		count += group_worker_count(lanes[i].group);
	*t = (struct tracks){
		.is_followed = is_followed,
		.tracks = calloc(count, sizeof(*t->tracks)),
	};
	if (t->tracks == NULL)
		return false;
	for (uint32_t i = 0; i < lane_count; i++)
		for (uint32_t k = 0; k < group_worker_count(lanes[i].group);
		     k++)
			t->tracks[t->track_count++] = (struct track){
				.group = lanes[i].group,
				.worker = k,
				.step_first = lanes[i].step_first,
			};
	return true;
}

static uint32_t step_of(const struct tracks *t, const struct track_span *s)
{
	return t->tracks[s->track].step_first + s->span.stage;
}

const char *tracks_stage_name(const struct tracks *t,
			      const struct track_span *s)
{
	return pipeline_step_names[step_of(t, s)];
}

/* False: no memory. */
static bool keep(struct tracks *t, uint32_t track, const struct span *span)
{
	if (t->span_count == t->span_room) {
		size_t room = t->span_room > 0 ? 2 * t->span_room : ROOM_FIRST;
		struct track_span *spans =
			realloc(t->spans, room * sizeof(*spans));

		if (spans == NULL)
			return false;
		t->spans = spans;
		t->span_room = room;
	}
	t->spans[t->span_count++] =
		(struct track_span){ .span = *span, .track = track };
	return true;
}

/* So many events wait for their visit, after `span`. */
static uint64_t count_open(uint64_t open, const struct span *span)
{
	switch (span->kind) {
	case SPAN_EVENT:
		return open + 1;
	case SPAN_VISIT:
		return open > span->number ? open - span->number : 0;
	case SPAN_SLEEP:
		break;
	}
	return 0;
}

static bool is_wanted(const struct span *span, uint64_t since_ns,
		      uint64_t until_ns)
{
	return span->kind != SPAN_SLEEP && span->end_ns > since_ns &&
	       span->start_ns < until_ns;
}

/* Followed, only up to the last visit that is over. */
static bool take_track(struct tracks *t, uint32_t track, uint64_t since_ns,
		       uint64_t until_ns)
{
	struct track *from = &t->tracks[track];
	struct span chunk[CHUNK_SPANS];
	uint64_t next = from->next, open = 0, before;
	size_t taken_count = t->span_count;

	do {
		before = next;

		uint32_t count =
			group_read_trace(from->group, from->worker, &next,
					 chunk, CHUNK_SPANS, &t->missed_count);

		if (next - count != before) {
			/* What waits has lost its visit. */
			open = 0;
			from->next = next - count;
			taken_count = t->span_count;
		}
		for (uint32_t i = 0; i < count; i++) {
			if (is_wanted(&chunk[i], since_ns, until_ns) &&
			    !keep(t, track, &chunk[i])) {
				t->missed_count += count - i;
				from->next = next;
				return false;
			}
			open = count_open(open, &chunk[i]);
			if (t->is_followed && open > 0 && open < OPEN_MAX)
				continue;
			from->next = next - count + i + 1;
			taken_count = t->span_count;
		}
	} while (next != before);
	t->span_count = taken_count;
	return true;
}

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Requests one after the other, each by time; what is of none comes first. */
static int by_request(const void *a, const void *b)
{
	const struct span *x = &((const struct track_span *)a)->span;
	const struct span *y = &((const struct track_span *)b)->span;

	if (x->kind != y->kind)
		return x->kind == SPAN_VISIT ? -1 : 1;
	if (x->number != y->number)
		return order(x->number, y->number);
	return order(x->start_ns, y->start_ns);
}

static int by_time(const void *a, const void *b)
{
	const struct span *x = &((const struct track_span *)a)->span;
	const struct span *y = &((const struct track_span *)b)->span;

	if (x->start_ns != y->start_ns)
		return order(x->start_ns, y->start_ns);
	if (x->end_ns != y->end_ns)
		return order(y->end_ns, x->end_ns);
	return order(x->kind, y->kind);
}

static void find_first(struct tracks *t)
{
	const struct span *before = NULL;

	qsort(t->spans, t->span_count, sizeof(*t->spans), by_request);
	for (size_t i = 0; i < t->span_count; i++) {
		struct track_span *s = &t->spans[i];

		if (s->span.kind != SPAN_EVENT)
			continue;
		s->is_first =
			before == NULL || before->number != s->span.number;
		before = &s->span;
	}
}

static void expect_first(struct tracks *t)
{
	for (size_t i = 0; i < t->span_count; i++) {
		uint32_t step = step_of(t, &t->spans[i]);

		t->spans[i].is_first =
			step == PIPELINE_DECODE || step == PIPELINE_EXPRESS;
	}
}

bool tracks_take(struct tracks *t, uint64_t since_ns, uint64_t until_ns)
{
	bool is_all = true;

	t->span_count = 0;
	for (uint32_t i = 0; i < t->track_count; i++)
		is_all = take_track(t, i, since_ns, until_ns) && is_all;
	if (t->span_count == 0)
		return is_all;
	if (t->is_followed)
		expect_first(t);
	else
		find_first(t);
	qsort(t->spans, t->span_count, sizeof(*t->spans), by_time);
	return is_all;
}

void tracks_release(struct tracks *t)
{
	free(t->tracks);
	free(t->spans);
}
