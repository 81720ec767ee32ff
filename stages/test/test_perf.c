/* SPDX-License-Identifier: MIT */
/*
 * Promise: counts are those of this thread since the counter was opened; where
 * counting is not allowed, there are no totals rather than zeros.
 *
 * Most test machines have no hardware counters, so the test uses the kernel's
 * software events.
 */
#include "stages/tally.c"

#include "base/test/check.h"
#include "stages/tally.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGES = 1000, FAULTS = 0, MINOR_FAULTS = 1, MAJOR_FAULTS = 2 };

static const struct perf_event software_events[PERF_COUNTERS] = {
	[FAULTS] = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	[MINOR_FAULTS] = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN },
	[MAJOR_FAULTS] = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ },
};

/* Touch new memory: PAGES page faults, if pages are not larger than usual. */
static void *fault(void *arg)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	size_t bytes = PAGES * page_bytes;
	volatile char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED);
	CHECK_NUMBER(madvise((void *)memory, bytes, MADV_NOHUGEPAGE), ==, 0);
	for (size_t i = 0; i < bytes; i += page_bytes)
		memory[i] = 1;
	CHECK_NUMBER(munmap((void *)memory, bytes), ==, 0);
	return arg;
}

static int lowest_free_fd(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	CHECK_NUMBER(fd, !=, -1);
	CHECK_NUMBER(close(fd), ==, 0);
	return fd;
}

static void check_closed(struct perf *p)
{
	uint64_t totals[PERF_COUNTERS] = { 1, 2, 3 };

	CHECK(!perf_read(p, totals));
	CHECK_NUMBER(totals[0], ==, 1);
	CHECK_NUMBER(totals[1], ==, 2);
	CHECK_NUMBER(totals[2], ==, 3);
	perf_close(p);
}

static void test_hardware_is_counted_or_refused(void)
{
	uint64_t before[PERF_COUNTERS], after[PERF_COUNTERS];
	int free_fd = lowest_free_fd();
	struct perf p;

	if (!perf_open(&p)) {
		CHECK_NUMBER(lowest_free_fd(), ==, free_fd);
		check_closed(&p);
		return;
	}
	/* Another program may hold the counters, but they never decrease. */
	if (perf_read(&p, before) && fault(NULL) == NULL &&
	    perf_read(&p, after)) {
		CHECK_NUMBER(after[PERF_CYCLES], >, before[PERF_CYCLES]);
		CHECK_NUMBER(after[PERF_INSTRUCTIONS], >,
			     before[PERF_INSTRUCTIONS]);
		CHECK_NUMBER(after[PERF_CACHE_MISSES], >=,
			     before[PERF_CACHE_MISSES]);
	}
	perf_close(&p);
	check_closed(&p);
	CHECK_NUMBER(lowest_free_fd(), ==, free_fd);
}

static void test_totals_grow_with_the_work(void)
{
	uint64_t before[PERF_COUNTERS], after[PERF_COUNTERS];
	struct perf p;

	CHECK(open_events(&p, software_events));
	CHECK(perf_read(&p, before));
	(void)fault(NULL);
	CHECK(perf_read(&p, after));
	CHECK_NUMBER(after[FAULTS], >=, before[FAULTS] + PAGES);
	CHECK_NUMBER(after[FAULTS], ==,
		     after[MINOR_FAULTS] + after[MAJOR_FAULTS]);
	CHECK_NUMBER(after[MINOR_FAULTS], >=, before[MINOR_FAULTS] + PAGES);
	perf_close(&p);
	check_closed(&p);
}

static void test_other_threads_do_not_count(void)
{
	uint64_t before[PERF_COUNTERS], after[PERF_COUNTERS];
	struct perf p;
	pthread_t other;

	CHECK(open_events(&p, software_events));
	CHECK(perf_read(&p, before));
	CHECK(!pthread_create(&other, NULL, fault, NULL));
	(void)pthread_join(other, NULL);
	CHECK(perf_read(&p, after));
	/*
	 * Starting a thread causes some page faults itself; with sanitizers,
	 * hundreds.
	 */
	CHECK_NUMBER(after[FAULTS], <, before[FAULTS] + PAGES);
	perf_close(&p);
}

static void test_one_refused_event_refuses_all(void)
{
	int free_fd = lowest_free_fd();

	for (uint32_t refused = 0; refused < PERF_COUNTERS; refused++) {
		struct perf_event events[PERF_COUNTERS];
		struct perf p;

		(void)memcpy(events, software_events, sizeof(events));
		events[refused].config = UINT64_MAX;
		CHECK(!open_events(&p, events));
		CHECK_NUMBER(lowest_free_fd(), ==, free_fd);
		check_closed(&p);
	}
}

static void test_open_again_starts_at_zero(void)
{
	uint64_t totals[PERF_COUNTERS];
	int free_fd = lowest_free_fd();

	for (uint32_t i = 0; i < 10; i++) {
		struct perf p;

		CHECK(open_events(&p, software_events));
		CHECK(perf_read(&p, totals));
		CHECK_NUMBER(totals[FAULTS], <, PAGES);
		(void)fault(NULL);
		perf_close(&p);
		CHECK_NUMBER(lowest_free_fd(), ==, free_fd);
	}
}

int main(void)
{
	struct perf p;

	test_hardware_is_counted_or_refused();
	test_one_refused_event_refuses_all();
	if (!open_events(&p, software_events)) {
		(void)puts("the rest is skipped: no software events here");
		return 0;
	}
	perf_close(&p);
	test_totals_grow_with_the_work();
	test_other_threads_do_not_count();
	test_open_again_starts_at_zero();
	return 0;
}
