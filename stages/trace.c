/* SPDX-License-Identifier: MIT */
/*
 * Whole visits: while visit n is written, `next` is n, and the place it takes
 * is that of n - TRACE_VISITS.  So a reader copies, reads `next` again, and
 * drops what that place may have held.  Two pairs of orders make it sound:
 * what is read is as new as `next` said (pair A), and if any field of a copy
 * is of a newer visit n, `next` reads as n at least afterwards (pair B).
 */
#include "stages/trace.h"

#include <assert.h>
#include <string.h>

/* The writer alone moves `next`, so it may read it relaxed. */
void trace_add(struct trace *t, const struct trace_visit *visit)
{
	uint64_t next = atomic_load_explicit(&t->next, memory_order_relaxed);
	uint32_t place = next % TRACE_VISITS;
	uint64_t what = (uint64_t)visit->stage << 32 | visit->event_count;

	/* Pair B with the loads in read_visit(): after last add's `next`. */
	atomic_store_explicit(&t->visits[place].start_ns, visit->start_ns,
			      memory_order_release);
	atomic_store_explicit(&t->visits[place].end_ns, visit->end_ns,
			      memory_order_release);
	atomic_store_explicit(&t->visits[place].what, what,
			      memory_order_release);
	/* Pair A with the first load in trace_read(): after the fields. */
	atomic_store_explicit(&t->next, next + 1, memory_order_release);
}

static struct trace_visit read_visit(const struct trace *t, uint64_t number)
{
	uint32_t place = number % TRACE_VISITS;
	/* Pair B with the stores in trace_add(): before `next` is reread. */
	uint64_t start_ns = atomic_load_explicit(&t->visits[place].start_ns,
						 memory_order_acquire);
	uint64_t end_ns = atomic_load_explicit(&t->visits[place].end_ns,
					       memory_order_acquire);
	uint64_t what = atomic_load_explicit(&t->visits[place].what,
					     memory_order_acquire);

	return (struct trace_visit){
		.start_ns = start_ns,
		.end_ns = end_ns,
		.stage = (uint32_t)(what >> 32),
		.event_count = (uint32_t)what,
	};
}

/* The first visit that is whole while the writer may be at number `next`. */
static uint64_t oldest_whole(uint64_t next)
{
	return next < TRACE_VISITS ? 0 : next - TRACE_VISITS + 1;
}

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint32_t trace_read(const struct trace *t, uint64_t *next,
		    struct trace_visit *out, uint32_t count, uint64_t *missed)
{
	/* Pair A with the last store in trace_add(): before the fields. */
	uint64_t end = atomic_load_explicit(&t->next, memory_order_acquire);

	assert(*next <= end);
	uint64_t first = max(*next, oldest_whole(end));

	end = min(end, first + count);
	for (uint64_t number = first; number < end; number++)
		out[number - first] = read_visit(t, number);

	uint64_t now = atomic_load_explicit(&t->next, memory_order_relaxed);
	uint64_t whole = min(max(first, oldest_whole(now)), end);

	(void)memmove(out, out + (whole - first), (end - whole) * sizeof(*out));
	*missed += whole - *next;
	*next = end;
	return (uint32_t)(end - whole);
}
