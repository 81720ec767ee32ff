/* SPDX-License-Identifier: MIT */
/*
 * Promise: a reader gets whole spans, each once and in order, or learns that it
 * missed some, at any time during writes.
 */
#include "stages/tally.h"

#include "base/test/check.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/time.h>

enum {
	KEPT = TRACE_SPANS - 1,
	READS = 1000, /* beside a writer */
	BATCH_MAX = TRACE_SPANS,
	INTERRUPTS = 300,
};

/*
 * Every field is computed from the number, so a mixture of two spans is
 * noticed.
 */
static struct span span_of(uint64_t number)
{
	return (struct span){
		.start_ns = number,
		.end_ns = ~number,
		.number = number << 32 | number >> 32,
		.stage = (uint32_t)number,
		.kind = (enum span_kind)(number % 3),
	};
}

static void add(struct trace *t, uint64_t first, uint64_t end)
{
	for (uint64_t number = first; number < end; number++) {
		struct span span = span_of(number);

		trace_add(t, &span);
	}
}

static bool is_span(const struct span *span, uint64_t number)
{
	struct span expected = span_of(number);

	return memcmp(span, &expected, sizeof(expected)) == 0;
}

static void check(const struct span *out, uint32_t count, uint64_t first)
{
	for (uint32_t i = 0; i < count; i++)
		CHECK(is_span(&out[i], first + i));
}

static void test_empty_has_nothing_to_read(void)
{
	static struct trace t;
	struct span out[1];
	uint64_t next = 0, missed = 0;

	CHECK_NUMBER(trace_read(&t, &next, out, 1, &missed), ==, 0);
	CHECK_NUMBER(next, ==, 0);
	CHECK_NUMBER(missed, ==, 0);
}

static void test_spans_come_in_order_and_once(void)
{
	static struct trace t;
	struct span out[10];
	uint64_t next = 0, missed = 0;

	add(&t, 0, 25);
	CHECK_NUMBER(trace_read(&t, &next, out, 0, &missed), ==, 0);
	CHECK_NUMBER(next, ==, 0);
	for (uint64_t first = 0; first < 20; first += 10) {
		CHECK_NUMBER(trace_read(&t, &next, out, 10, &missed), ==, 10);
		check(out, 10, first);
	}
	CHECK_NUMBER(trace_read(&t, &next, out, 10, &missed), ==, 5);
	CHECK_NUMBER(next, ==, 25);
	check(out, 5, 20);
	CHECK_NUMBER(trace_read(&t, &next, out, 10, &missed), ==, 0);
	CHECK_NUMBER(next, ==, 25);
	add(&t, 25, 26);
	CHECK_NUMBER(trace_read(&t, &next, out, 10, &missed), ==, 1);
	CHECK_NUMBER(next, ==, 26);
	check(out, 1, 25);
	CHECK_NUMBER(missed, ==, 0);
}

static void test_reader_that_keeps_up_misses_nothing(void)
{
	static struct trace t;
	static struct span out[KEPT];
	uint64_t next = 0, missed = 0;

	for (uint64_t first = 0; first < 5 * KEPT; first += KEPT) {
		add(&t, first, first + KEPT);
		CHECK_NUMBER(trace_read(&t, &next, out, KEPT, &missed), ==,
			     KEPT);
		check(out, KEPT, first);
	}
	CHECK_NUMBER(missed, ==, 0);
}

static void test_overwritten_spans_are_counted(void)
{
	static struct trace t;
	static struct span out[BATCH_MAX];
	uint64_t next = 0, missed = 100; /* missed in earlier reads */

	add(&t, 0, TRACE_SPANS);
	CHECK_NUMBER(trace_read(&t, &next, out, 1, &missed), ==, 1);
	check(out, 1, 1);
	CHECK_NUMBER(next, ==, 2);
	CHECK_NUMBER(missed, ==, 101);
	add(&t, TRACE_SPANS, 3 * TRACE_SPANS + 7);
	CHECK_NUMBER(trace_read(&t, &next, out, BATCH_MAX, &missed), ==, KEPT);
	check(out, KEPT, 2 * TRACE_SPANS + 8);
	CHECK_NUMBER(next, ==, 3 * TRACE_SPANS + 7);
	CHECK_NUMBER(missed, ==, 101 + 2 * TRACE_SPANS + 6);
}

struct written {
	struct trace trace;
	_Atomic bool stopping;
};

static void *add_until_stopped(void *arg)
{
	struct written *w = arg;

	for (uint64_t first = 0; !atomic_load(&w->stopping); first += 100)
		add(&w->trace, first, first + 100);
	return NULL;
}

static void test_reader_beside_a_fast_writer(void)
{
	static struct written w;
	static struct span out[BATCH_MAX];
	uint64_t next = 0, missed = 0, copied_total = 0;
	uint32_t batch = 1;
	pthread_t writer;

	CHECK(!pthread_create(&writer, NULL, add_until_stopped, &w));
	for (uint32_t i = 0; i < READS; i++) {
		uint32_t copied =
			trace_read(&w.trace, &next, out, batch, &missed);

		CHECK_NUMBER(copied, <=, batch);
		check(out, copied, next - copied);
		copied_total += copied;
		CHECK_NUMBER(copied_total + missed, ==, next);
		batch = batch < BATCH_MAX ? batch * 2 : 1;
	}
	atomic_store(&w.stopping, true);
	(void)pthread_join(writer, NULL);
}

static struct trace interrupted;
static volatile sig_atomic_t interrupt_count;

static void add_some(int signal)
{
	uint64_t next = atomic_load(&interrupted.next);

	(void)signal;
	add(&interrupted, next, next + TRACE_SPANS / 3);
	interrupt_count = interrupt_count + 1;
}

static void read_whole_ring(void)
{
	static struct span out[BATCH_MAX];
	uint64_t next = 0, missed = 0;
	uint32_t copied =
		trace_read(&interrupted, &next, out, BATCH_MAX, &missed);

	check(out, copied, next - copied);
	CHECK_NUMBER(copied + missed, ==, next);
}

/* A signal handler writes in the middle of a copy, so one core is enough. */
static void test_writer_interrupts_a_reader(void)
{
	struct sigaction action = { .sa_handler = add_some };
	struct itimerval soon = { .it_value.tv_usec = 100 };

	add(&interrupted, 0, TRACE_SPANS);
	CHECK_NUMBER(sigaction(SIGALRM, &action, NULL), ==, 0);
	for (int i = 0; i < INTERRUPTS; i++) {
		CHECK_NUMBER(setitimer(ITIMER_REAL, &soon, NULL), ==, 0);
		while (interrupt_count == i)
			read_whole_ring();
	}
}

int main(void)
{
	test_empty_has_nothing_to_read();
	test_spans_come_in_order_and_once();
	test_reader_that_keeps_up_misses_nothing();
	test_overwritten_spans_are_counted();
	test_reader_beside_a_fast_writer();
	test_writer_interrupts_a_reader();
	return 0;
}
