/* SPDX-License-Identifier: MIT */
/*
 * Promises: requests that wait for the same kind of report share one, which is
 * not older than any of them; a report is followed by a pause of many times its
 * CPU time; a trace is made when the one before was dropped; only few requests
 * wait for it, and not for ever; reports_end() ends all waits.
 *
 * The test has connections of its own, and counts how often each is suspended
 * and resumed.
 */
#include "service/http/handlers/watch/reports.h"

#include "base/clock.h"
#include "base/test/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CONNECTIONS = 16, BURN_MS = 4 };

static _Atomic int suspended[CONNECTIONS], resumed[CONNECTIONS];

static void suspend(struct connection *c)
{
	atomic_fetch_add(&suspended[c->fd], 1);
}

static void resume(struct connection *c)
{
	CHECK_NUMBER(atomic_load(&suspended[c->fd]), ==,
		     atomic_load(&resumed[c->fd]) + 1);
	atomic_fetch_add(&resumed[c->fd], 1);
}

static struct connection *connection(int number)
{
	static const struct transport transport = { .suspend = suspend,
						    .resume = resume };
	static struct connection connections[CONNECTIONS];

	connections[number] =
		(struct connection){ .transport = &transport, .fd = number };
	return &connections[number];
}

/* Makes reports when it is allowed to. */
struct maker {
	_Atomic int begun_count;
	_Atomic bool waits; /* the maker waits until this is false */
	_Atomic bool fails, burns;
};

static char *make(void *arg, const struct report_query *query)
{
	struct maker *m = arg;
	char text[64];
	int number = atomic_fetch_add(&m->begun_count, 1) + 1;

	while (atomic_load(&m->waits))
		(void)usleep(1000);
	if (atomic_load(&m->burns)) {
		uint64_t end_ns = clock_thread_cpu_ns() + BURN_MS * NS_PER_MS;

		while (clock_thread_cpu_ns() < end_ns)
			;
	}
	if (atomic_load(&m->fails))
		return NULL;
	(void)snprintf(text, sizeof(text), "%d %d %d", number, query->kind,
		       (int)query->since_ns);
	return strdup(text);
}

static struct report_wait waiting[CONNECTIONS];

static void begin(struct maker *m)
{
	atomic_store(&m->begun_count, 0);
	memset(waiting, 0, sizeof(waiting));
	for (int i = 0; i < CONNECTIONS; i++) {
		atomic_store(&suspended[i], 0);
		atomic_store(&resumed[i], 0);
	}
}

static bool ask(struct reports *all, int number, enum report_kind kind)
{
	waiting[number] = (struct report_wait){
		.query = { .kind = kind, .since_ns = (uint64_t)number },
	};
	return reports_ask(all, &waiting[number], connection(number));
}

static void await_begun(struct maker *m, int count)
{
	while (atomic_load(&m->begun_count) < count)
		(void)usleep(1000);
}

static void await_state(int number, enum report_state state)
{
	while (atomic_load(&resumed[number]) == 0)
		(void)usleep(1000);
	CHECK_NUMBER(waiting[number].state, ==, state);
}

static void test_those_who_wait_share(void)
{
	static struct maker m = { .waits = true };
	struct reports *all = reports_start(make, &m);

	begin(&m);
	CHECK(!ask(all, 0, REPORT_STATS));
	await_begun(&m, 1);
	for (int i = 1; i < 5; i++)
		CHECK(!ask(all, i, i < 4 ? REPORT_STATS : REPORT_HELLO));
	atomic_store(&m.waits, false);
	for (int i = 0; i < 5; i++)
		await_state(i, REPORT_MADE);
	CHECK_NUMBER(atomic_load(&m.begun_count), ==, 3);
	CHECK_TEXT(waiting[0].result->text, "1 0 0");
	CHECK_NUMBER(waiting[0].result->bytes, ==, 5);
	CHECK_NUMBER(waiting[1].result, !=, waiting[0].result);
	CHECK_NUMBER(waiting[2].result, ==, waiting[1].result);
	CHECK_NUMBER(waiting[3].result, ==, waiting[1].result);
	CHECK_NUMBER(waiting[4].result, !=, waiting[1].result);
	for (int i = 0; i < 5; i++)
		report_drop(waiting[i].result);
	report_drop(NULL);
	reports_end(all);
	reports_stop(all);
}

static void test_no_memory_is_told(void)
{
	static struct maker m = { .fails = true };
	struct reports *all = reports_start(make, &m);

	begin(&m);
	CHECK(!ask(all, 0, REPORT_TRACE));
	await_state(0, REPORT_NO_MEMORY);
	CHECK(waiting[0].result == NULL);
	/* A failure does not count as a trace that is being sent. */
	atomic_store(&m.fails, false);
	CHECK(!ask(all, 1, REPORT_TRACE));
	await_state(1, REPORT_MADE);
	report_drop(waiting[1].result);
	reports_end(all);
	reports_stop(all);
}

static void test_pauses_are_long(void)
{
	static struct maker m = { .burns = true };
	struct reports *all = reports_start(make, &m);
	uint64_t begin_ns = clock_now_ns();

	begin(&m);
	for (int i = 0; i < 2; i++) {
		CHECK(!ask(all, i, REPORT_METRICS));
		await_state(i, REPORT_MADE);
		report_drop(waiting[i].result);
	}
	CHECK_NUMBER(clock_now_ns() - begin_ns, >,
		     UINT64_C(90000000) * BURN_MS);
	reports_end(all);
	reports_stop(all);
}

static void test_traces_follow_each_other(void)
{
	static struct maker m;
	struct reports *all = reports_start(make, &m);
	int last = REPORTS_TRACES_MAX + 1;

	begin(&m);
	CHECK(!ask(all, 0, REPORT_TRACE));
	await_state(0, REPORT_MADE);
	for (int i = 1; i < last; i++)
		CHECK(!ask(all, i, REPORT_TRACE));
	CHECK(ask(all, last, REPORT_TRACE));
	CHECK_NUMBER(waiting[last].state, ==, REPORT_BUSY);
	/* Reports of other kinds do not wait for a trace. */
	CHECK(!ask(all, last, REPORT_STATS));
	await_state(last, REPORT_MADE);
	report_drop(waiting[last].result);
	CHECK_NUMBER(atomic_load(&resumed[1]), ==, 0);
	report_drop(waiting[0].result);
	await_state(1, REPORT_MADE);
	CHECK_TEXT(waiting[1].result->text, "3 3 1");
	/*
	 * Until this trace is dropped, no other request gets one, even after
	 * reports_hurry().
	 */
	await_state(2, REPORT_BUSY);
	reports_hurry(all);
	for (int i = 3; i < last; i++)
		await_state(i, REPORT_BUSY);
	report_drop(waiting[1].result);
	reports_end(all);
	reports_stop(all);
}

static void test_the_end_lets_all_go(void)
{
	static struct maker m = { .waits = true };
	struct reports *all = reports_start(make, &m);

	begin(&m);
	CHECK(!ask(all, 0, REPORT_TRACE));
	await_begun(&m, 1);
	CHECK(!ask(all, 1, REPORT_TRACE));
	CHECK(!ask(all, 2, REPORT_STATS));
	atomic_store(&m.waits, false);
	reports_end(all);
	for (int i = 0; i < 3; i++)
		CHECK_NUMBER(atomic_load(&resumed[i]), ==, 1);
	CHECK(ask(all, 3, REPORT_STATS));
	CHECK_NUMBER(waiting[3].state, ==, REPORT_ENDED);
	for (int i = 0; i < 3; i++)
		report_drop(waiting[i].result);
	reports_stop(all);
	reports_end(NULL);
	reports_stop(NULL);
}

int main(void)
{
	test_those_who_wait_share();
	test_no_memory_is_told();
	test_pauses_are_long();
	test_traces_follow_each_other();
	test_the_end_lets_all_go();
	return 0;
}
