/* SPDX-License-Identifier: MIT */
/*
 * Hardware counters are opened as a group, so all of them cover the same time.
 * They are pinned: they count either always or, if other programs hold the
 * machine's counters, not at all.  So no total is an extrapolation.
 *
 * How a reader gets whole spans: while span n is written, `next` is n, and span
 * n takes the slot of span n - TRACE_SPANS.  So a reader copies the spans,
 * reads `next` again, and drops the spans whose slots may have been overwritten
 * meanwhile.  Two pairs of memory orders make this safe.  Pair A: the copied
 * spans are at least as new as the first value of `next`.  Pair B: if a field
 * of a copy belongs to a newer span n, the second value of `next` is at least
 * n.
 */
#include "stages/tally.h"

#include "base/util.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/perf_event.h>

/* `type` and `config` as in perf_event_open(2). */
struct perf_event {
	uint32_t type;
	uint64_t config;
};

static const struct perf_event hardware_events[PERF_COUNTERS] = {
	[PERF_CYCLES] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	[PERF_INSTRUCTIONS] = { PERF_TYPE_HARDWARE,
				PERF_COUNT_HW_INSTRUCTIONS },
	[PERF_CACHE_MISSES] = { PERF_TYPE_HARDWARE,
				PERF_COUNT_HW_CACHE_MISSES },
};

/* `leader` -1: the event becomes a leader.  Returns -1 on failure. */
static int open_event(const struct perf_event *event, int leader)
{
	struct perf_event_attr attributes = {
		.size = sizeof(attributes),
		.type = event->type,
		.config = event->config,
		.read_format = PERF_FORMAT_GROUP,
		.pinned = leader == -1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	const pid_t this_thread = 0;
	const int any_cpu = -1;

	if (!COUNTING_IS_ON)
		return -1;
	return (int)syscall(SYS_perf_event_open, &attributes, this_thread,
			    any_cpu, leader, PERF_FLAG_FD_CLOEXEC);
}

void perf_init(struct perf *p)
{
	for (uint32_t i = 0; i < PERF_COUNTERS; i++)
		p->fds[i] = -1;
}

static bool open_events(struct perf *p,
			const struct perf_event events[PERF_COUNTERS])
{
	perf_init(p);
	for (uint32_t i = 0; i < PERF_COUNTERS; i++) {
		p->fds[i] = open_event(&events[i], i > 0 ? p->fds[0] : -1);
		if (p->fds[i] == -1) {
			perf_close(p);
			return false;
		}
	}
	return true;
}

bool perf_open(struct perf *p)
{
	return open_events(p, hardware_events);
}

bool perf_read(const struct perf *p, uint64_t totals[PERF_COUNTERS])
{
	struct {
		uint64_t count;
		uint64_t values[PERF_COUNTERS];
	} group;

	/* read() returns no data if the counters did not count all the time. */
	if (p->fds[0] == -1 ||
	    read(p->fds[0], &group, sizeof(group)) != sizeof(group))
		return false;
	for (uint32_t i = 0; i < PERF_COUNTERS; i++)
		totals[i] = group.values[i];
	return true;
}

void perf_close(struct perf *p)
{
	for (uint32_t i = PERF_COUNTERS; i-- > 0;) {
		if (p->fds[i] != -1)
			(void)close(p->fds[i]);
		p->fds[i] = -1;
	}
}

/* Only the writer changes `next`, so it may read it relaxed. */
void trace_add(struct trace *t, const struct span *span)
{
	uint64_t next = atomic_load_explicit(&t->next, memory_order_relaxed);
	uint32_t slot = next % TRACE_SPANS;
	uint64_t what = (uint64_t)span->stage << 32 | span->kind;

	if (!COUNTING_IS_ON)
		return;
	/*
	 * Pair B with the loads in read_span(): these stores come after the
	 * last `next`.
	 */
	atomic_store_explicit(&t->spans[slot].start_ns, span->start_ns,
			      memory_order_release);
	atomic_store_explicit(&t->spans[slot].end_ns, span->end_ns,
			      memory_order_release);
	atomic_store_explicit(&t->spans[slot].number, span->number,
			      memory_order_release);
	atomic_store_explicit(&t->spans[slot].what, what, memory_order_release);
	/*
	 * Pair A with the first load in trace_read(): this store comes after
	 * those of all fields.
	 */
	atomic_store_explicit(&t->next, next + 1, memory_order_release);
}

static struct span read_span(const struct trace *t, uint64_t at)
{
	uint32_t slot = at % TRACE_SPANS;
	/*
	 * Pair B with the stores in trace_add(): these loads come before `next`
	 * is read again.
	 */
	uint64_t start_ns = atomic_load_explicit(&t->spans[slot].start_ns,
						 memory_order_acquire);
	uint64_t end_ns = atomic_load_explicit(&t->spans[slot].end_ns,
					       memory_order_acquire);
	uint64_t number = atomic_load_explicit(&t->spans[slot].number,
					       memory_order_acquire);
	uint64_t what = atomic_load_explicit(&t->spans[slot].what,
					     memory_order_acquire);

	return (struct span){
		.start_ns = start_ns,
		.end_ns = end_ns,
		.number = number,
		.stage = (uint32_t)(what >> 32),
		.kind = (enum span_kind)(uint32_t)what,
	};
}

/*
 * The number of the first span that is certainly whole if the writer is at
 * number `next`.
 */
static uint64_t oldest_whole(uint64_t next)
{
	return next < TRACE_SPANS ? 0 : next - TRACE_SPANS + 1;
}

uint32_t trace_read(const struct trace *t, uint64_t *next, struct span *out,
		    uint32_t count, uint64_t *missed)
{
	/*
	 * Pair A with the last store in trace_add(): this load comes before
	 * those of the fields.
	 */
	uint64_t end = atomic_load_explicit(&t->next, memory_order_acquire);

	assert(*next <= end);
	uint64_t first = max_u64(*next, oldest_whole(end));

	end = min_u64(end, first + count);
	for (uint64_t at = first; at < end; at++)
		out[at - first] = read_span(t, at);

	uint64_t now = atomic_load_explicit(&t->next, memory_order_relaxed);
	uint64_t whole = min_u64(max_u64(first, oldest_whole(now)), end);

	(void)memmove(out, out + (whole - first), (end - whole) * sizeof(*out));
	*missed += whole - *next;
	*next = end;
	return (uint32_t)(end - whole);
}

#define TIME_CONSTANT_NS 1e9

/*
 * Move `mean` towards `value`.  The first value is the mean; beginning at 0
 * would make a stage look fast and idle for the first second.
 */
static void move_mean(double *mean, double value, double weight)
{
	*mean = *mean > 0 ? *mean + weight * (value - *mean) : value;
}

void measure_update(struct measure *m, const struct measure_totals *now,
		    uint64_t now_ns, uint32_t worker_count,
		    struct stage_view *view)
{
	struct measure before = *m;

	assert(worker_count >= 1);
	if (before.last_ns != 0 && now_ns <= before.last_ns)
		return;
	*m = (struct measure){ .last = *now, .last_ns = now_ns };
	if (before.last_ns == 0)
		return;

	double elapsed_ns = (double)(now_ns - before.last_ns);
	double weight = 1 - exp(-elapsed_ns / TIME_CONSTANT_NS);
	uint64_t arrived = now->arrived_count - before.last.arrived_count;
	uint64_t handled = now->handled_count - before.last.handled_count;
	uint64_t service_ns = now->service_ns - before.last.service_ns;
	uint64_t switches = now->switch_count - before.last.switch_count;
	uint64_t switch_ns = now->switch_ns - before.last.switch_ns;

	move_mean(&view->arrivals_per_s,
		  (double)arrived * 1e9 / elapsed_ns / worker_count, weight);
	if (handled > 0)
		move_mean(&view->service_ns,
			  (double)service_ns / (double)handled, weight);
	if (now->service_p95_ns > 0)
		view->service_p95_ns = (double)now->service_p95_ns;
	if (switches > 0)
		move_mean(&view->switch_ns,
			  (double)switch_ns / (double)switches, weight);
}
