/* SPDX-License-Identifier: MIT */
/*
 * The counters are a group, so they are of the same time, and pinned: counted
 * always or, if others hold the machine's counters, not at all.  No total is
 * an extrapolation.
 */
#include "stages/perf.h"

#include "stages/counting.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct perf_event hardware_events[PERF_COUNTERS] = {
	[PERF_CYCLES] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	[PERF_INSTRUCTIONS] = { PERF_TYPE_HARDWARE,
				PERF_COUNT_HW_INSTRUCTIONS },
	[PERF_CACHE_MISSES] = { PERF_TYPE_HARDWARE,
				PERF_COUNT_HW_CACHE_MISSES },
};

/* `leader` -1 makes one.  Returns -1 on failure. */
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

bool perf_open_events(struct perf *p,
		      const struct perf_event events[PERF_COUNTERS])
{
	for (uint32_t i = 0; i < PERF_COUNTERS; i++)
		p->fds[i] = -1;
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
	return perf_open_events(p, hardware_events);
}

bool perf_read(const struct perf *p, uint64_t totals[PERF_COUNTERS])
{
	struct {
		uint64_t count;
		uint64_t values[PERF_COUNTERS];
	} group;

	/* Nothing to read: the group could not be counted all the time. */
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
