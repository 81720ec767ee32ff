/* SPDX-License-Identifier: MIT */
/*
 * Whole spans: while span n is written, `next` is n, and the place it takes
 * is that of n - TRACE_SPANS.  So a reader copies, reads `next` again, and
 * drops what that place may have held.  Two pairs of orders make it sound:
 * what is read is as new as `next` said (pair A), and if any field of a copy
 * is of a newer span n, `next` reads as n at least afterwards (pair B).
 */
#include "stages/trace.h"

#include "stages/counting.h"

#include <assert.h>
#include <string.h>

/* The writer alone moves `next`, so it may read it relaxed. */
void trace_add(struct trace *t, const struct span *span)
{
	uint64_t next = atomic_load_explicit(&t->next, memory_order_relaxed);
	uint32_t place = next % TRACE_SPANS;
	uint64_t what = (uint64_t)span->stage << 32 | span->kind;

	if (!COUNTING_IS_ON)
		return;
	/* Pair B with the loads in read_span(): after last add's `next`. */
	atomic_store_explicit(&t->spans[place].start_ns, span->start_ns,
			      memory_order_release);
	atomic_store_explicit(&t->spans[place].end_ns, span->end_ns,
			      memory_order_release);
	atomic_store_explicit(&t->spans[place].number, span->number,
			      memory_order_release);
	atomic_store_explicit(&t->spans[place].what, what,
			      memory_order_release);
	/* Pair A with the first load in trace_read(): after the fields. */
	atomic_store_explicit(&t->next, next + 1, memory_order_release);
}

static struct span read_span(const struct trace *t, uint64_t at)
{
	uint32_t place = at % TRACE_SPANS;
	/* Pair B with the stores in trace_add(): before `next` is reread. */
	uint64_t start_ns = atomic_load_explicit(&t->spans[place].start_ns,
						 memory_order_acquire);
	uint64_t end_ns = atomic_load_explicit(&t->spans[place].end_ns,
					       memory_order_acquire);
	uint64_t number = atomic_load_explicit(&t->spans[place].number,
					       memory_order_acquire);
	uint64_t what = atomic_load_explicit(&t->spans[place].what,
					     memory_order_acquire);

	return (struct span){
		.start_ns = start_ns,
		.end_ns = end_ns,
		.number = number,
		.stage = (uint32_t)(what >> 32),
		.kind = (enum span_kind)(uint32_t)what,
	};
}

/* The first span that is whole while the writer may be at number `next`. */
static uint64_t oldest_whole(uint64_t next)
{
	return next < TRACE_SPANS ? 0 : next - TRACE_SPANS + 1;
}

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint32_t trace_read(const struct trace *t, uint64_t *next, struct span *out,
		    uint32_t count, uint64_t *missed)
{
	/* Pair A with the last store in trace_add(): before the fields. */
	uint64_t end = atomic_load_explicit(&t->next, memory_order_acquire);

	assert(*next <= end);
	uint64_t first = max(*next, oldest_whole(end));

	end = min(end, first + count);
	for (uint64_t at = first; at < end; at++)
		out[at - first] = read_span(t, at);

	uint64_t now = atomic_load_explicit(&t->next, memory_order_relaxed);
	uint64_t whole = min(max(first, oldest_whole(now)), end);

	(void)memmove(out, out + (whole - first), (end - whole) * sizeof(*out));
	*missed += whole - *next;
	*next = end;
	return (uint32_t)(end - whole);
}
