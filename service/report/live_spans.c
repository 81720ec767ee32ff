/* SPDX-License-Identifier: MIT */
/*
 * The timeline: visits and sleeps as they were traced.  There may be thousands
 * in a frame, so numbers are written without printf().
 */
#include "service/report/live_state.h"

#include <inttypes.h>

enum {
	FIRST_MS = 2000, /* what a new viewer sees of before */
	SPAN_BYTES = 128,
	DIGITS_MAX = 20,
};

static bool is_shown(const struct span *s, uint64_t since_ns)
{
	return s->kind != SPAN_EVENT && s->end_ns > since_ns;
}

/* Into l->spans, oldest first.  Returns how many. */
static uint32_t read_spans(struct live *l, struct live_worker *w,
			   uint64_t since_ns, uint64_t *missed_count)
{
	uint32_t count = 0;
	uint64_t before;

	do {
		struct span *read = l->spans + count;

		before = w->next_span;

		uint32_t read_count = group_read_trace(
			w->lane.group, w->index, &w->next_span, read,
			TRACE_SPANS - count, missed_count);

		for (uint32_t i = 0; i < read_count; i++)
			if (is_shown(&read[i], since_ns))
				l->spans[count++] = read[i];
	} while (w->next_span != before && count < TRACE_SPANS);
	return count;
}

/* Returns the end. */
static char *put_number(char *at, uint64_t n)
{
	char digits[DIGITS_MAX];
	uint32_t count = 0;

	do
		digits[count++] = (char)('0' + n % 10);
	while ((n /= 10) > 0);
	while (count > 0)
		*at++ = digits[--count];
	return at;
}

static char *put_span(char *at, uint32_t worker, const struct live_worker *w,
		      const struct span *s)
{
	uint64_t start_us = s->start_ns / 1000;

	*at++ = '[';
	at = put_number(at, worker);
	*at++ = ',';
	if (s->kind == SPAN_SLEEP) {
		*at++ = '-';
		*at++ = '1';
	} else {
		at = put_number(at, w->stage_first + s->stage);
	}
	*at++ = ',';
	at = put_number(at, start_us);
	*at++ = ',';
	at = put_number(at, s->end_ns / 1000 - start_us);
	*at++ = ',';
	at = put_number(at, s->kind == SPAN_SLEEP ? 0 : s->number);
	*at++ = ']';
	return at;
}

/* One in so many is shown, if there are too many, all over the time. */
static uint32_t print_worker(struct live *l, FILE *to, uint32_t worker,
			     uint32_t count, bool is_first)
{
	uint32_t shown_max = LIVE_SPANS_MAX / l->worker_count;
	uint32_t shown_count = count < shown_max ? count : shown_max;

	for (uint32_t i = 0; i < shown_count; i++) {
		uint64_t place = (uint64_t)i * count / shown_count;
		char text[SPAN_BYTES];
		char *at = text;

		if (!is_first || i > 0)
			*at++ = ',';
		at = put_span(at, worker, &l->workers[worker],
			      &l->spans[place]);
		(void)fwrite(text, 1, (size_t)(at - text), to);
	}
	return shown_count;
}

void live_print_spans(struct live *l, FILE *to, uint64_t now_ns)
{
	bool is_new = l->last_ns == 0;
	uint64_t first_ns = FIRST_MS * UINT64_C(1000000);
	uint64_t since_ns = is_new && now_ns > first_ns ? now_ns - first_ns : 0;
	uint64_t missed_count = 0, overwritten_count = 0;
	uint32_t printed_count = 0;

	(void)fputs(",\"spans\":[", to);
	for (uint32_t i = 0; i < l->worker_count; i++) {
		uint32_t count = read_spans(l, &l->workers[i], since_ns,
					    &overwritten_count);
		uint32_t shown_count =
			print_worker(l, to, i, count, printed_count == 0);

		printed_count += shown_count;
		missed_count += count - shown_count;
	}
	/* What was before the first frame is not missed. */
	if (!is_new)
		missed_count += overwritten_count;
	(void)fprintf(to, "],\"missed\":%" PRIu64, missed_count);
}
