/* SPDX-License-Identifier: MIT */
/*
 * The timeline: visits and sleeps as they were traced.  There may be thousands
 * in a frame, so numbers are written without printf().
 *
 * Where there are too many, the newest of each worker are told: a part of the
 * time without a gap, and told_since_ns says where it begins.  Any of the whole
 * time would look as if the worker was idle between them.
 */
#include "service/report/live_state.h"

#include <inttypes.h>

enum {
	FIRST_MS = 2000,  /* what a new viewer sees of before */
	READ_SPANS = 256, /* at once */
	SPAN_BYTES = 128,
	DIGITS_MAX = 20,
};

static bool is_shown(const struct span *s, uint64_t since_ns)
{
	return s->kind != SPAN_EVENT && s->end_ns > since_ns;
}

/*
 * Spans of between were overwritten, so what was read before them is left out,
 * too.  All of them ended before the first that is there does.
 */
static void skip(struct live_worker *w, const struct span *first,
		 uint64_t since_ns)
{
	w->span_count = 0;
	w->told_since_ns = first->end_ns > since_ns ? first->end_ns : 0;
}

/* Returns how many spans were overwritten, of any kind, or came before them. */
static uint64_t read_spans(struct live_worker *w, uint64_t since_ns)
{
	struct span read[READ_SPANS];
	uint64_t before, missed_count = 0, skipped_count = 0;

	w->span_count = 0;
	w->told_since_ns = 0;
	do {
		before = w->next_span;

		uint32_t count =
			group_read_trace(w->lane.group, w->index, &w->next_span,
					 read, READ_SPANS, &missed_count);

		if (count > 0 && missed_count > skipped_count) {
			missed_count += w->span_count;
			skipped_count = missed_count;
			skip(w, &read[0], since_ns);
		}
		for (uint32_t i = 0; i < count; i++)
			if (is_shown(&read[i], since_ns))
				w->spans[w->span_count++ % LIVE_SPANS_KEPT] =
					read[i];
	} while (w->next_span - before >= READ_SPANS); /* or all are read */
	return missed_count;
}

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * The most spans of one worker: as many as there is room for, where those who
 * need fewer leave it to the others.
 */
static uint32_t fair_share(const struct live *l)
{
	uint32_t share = 0, more = LIVE_SPANS_MAX;

	while (share < more) {
		uint32_t tried = (share + more + 1) / 2;
		uint64_t count = 0;

		for (uint32_t i = 0; i < l->worker_count; i++)
			count += min(l->workers[i].span_count, tried);
		if (count <= LIVE_SPANS_MAX)
			share = tried;
		else
			more = tried - 1;
	}
	return share;
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

/* The newest `count`. */
static void print_worker(struct live *l, FILE *to, uint32_t worker,
			 uint64_t count, bool is_first)
{
	const struct live_worker *w = &l->workers[worker];

	for (uint64_t i = w->span_count - count; i < w->span_count; i++) {
		char text[SPAN_BYTES];
		char *at = text;

		if (!is_first)
			*at++ = ',';
		is_first = false;
		at = put_span(at, worker, w, &w->spans[i % LIVE_SPANS_KEPT]);
		(void)fwrite(text, 1, (size_t)(at - text), to);
	}
}

/* Returns how many were left out. */
static uint64_t print_spans(struct live *l, FILE *to)
{
	uint32_t share = fair_share(l);
	uint64_t told_count = 0, missed_count = 0;

	for (uint32_t i = 0; i < l->worker_count; i++) {
		struct live_worker *w = &l->workers[i];
		uint64_t count = min(w->span_count, share);
		uint64_t left_count = w->span_count - count;

		if (left_count > 0)
			w->told_since_ns =
				w->spans[(left_count - 1) % LIVE_SPANS_KEPT]
					.end_ns;
		print_worker(l, to, i, count, told_count == 0);
		told_count += count;
		missed_count += left_count;
	}
	return missed_count;
}

void live_print_spans(struct live *l, FILE *to, uint64_t now_ns)
{
	bool is_new = l->last_ns == 0;
	uint64_t first_ns = FIRST_MS * UINT64_C(1000000);
	uint64_t since_ns = is_new && now_ns > first_ns ? now_ns - first_ns : 0;
	uint64_t missed_count = 0;

	for (uint32_t i = 0; i < l->worker_count; i++)
		missed_count += read_spans(&l->workers[i], since_ns);
	/* What was before the first frame is not missed. */
	if (is_new)
		missed_count = 0;
	(void)fputs(",\"spans\":[", to);
	missed_count += print_spans(l, to);
	(void)fprintf(to, "],\"missed\":%" PRIu64, missed_count);
}
