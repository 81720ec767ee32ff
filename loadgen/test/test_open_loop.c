/* SPDX-License-Identifier: MIT */
/*
 * The client in an open loop: requests are sent at their times, whatever the
 * server or the client does, and any wait counts as response time.
 */
#include "base/clock.h"
#include "base/test/check.h"
#include "loadgen/test/trial.h"

#include <string.h>

/* All requests of a pass are due before the server's pause ends. */
enum { GAP_MS = 10, STALL_MS = SERVER_STALL_MS };
_Static_assert(TRIAL_FILES *GAP_MS < STALL_MS, "all are due in the stall");

static void trial_init_open(struct trial *t, uint32_t connections)
{
	trial_init(t, NULL);
	t->arrivals = ARRIVALS_CONSTANT;
	t->rate_per_s = 1000.0 / GAP_MS;
	t->config.connections = connections;
}

/* The server pauses for STALL_MS at the first request. */
static void expect_stall_in_response_times(const struct trial *t)
{
	uint32_t files[TRIAL_FILES];

	trial_order(files);
	for (uint64_t i = 0; i < TRIAL_FILES; i++)
		CHECK_NUMBER(t->response_ns[files[i]], >=,
			     (STALL_MS - i * GAP_MS) * NS_PER_MS);
}

static void test_stall_counts_from_the_intended_time(void)
{
	struct server server = { .mode = SERVER_STALL };
	struct trial t;

	trial_init_open(&t, TRIAL_FILES);
	trial_run_with(&t, &server);
	CHECK_NUMBER(t.end, ==, CLIENT_FINISHED);
	CHECK_NUMBER(t.record.ok_count, ==, TRIAL_FILES);
	expect_stall_in_response_times(&t);
	CHECK_NUMBER(t.record.waited_count, ==, 0);
	CHECK_NUMBER(t.record.lag.count, ==, TRIAL_FILES);
	server_release(&server);
	trial_release(&t);
}

static void test_waiting_for_a_connection_counts(void)
{
	struct server server = { .mode = SERVER_STALL };
	struct trial t;
	uint32_t files[TRIAL_FILES];

	trial_init_open(&t, 1);
	trial_run_with(&t, &server);
	CHECK_NUMBER(t.record.ok_count, ==, TRIAL_FILES);
	CHECK_NUMBER(server.connection_count, ==, 1);
	expect_stall_in_response_times(&t);
	CHECK_NUMBER(t.record.waited_count, ==, TRIAL_FILES - 1);
	CHECK_NUMBER(t.record.lag.count, ==, 1);
	trial_order(files); /* in the order of the intended times */
	for (int i = 0; i < TRIAL_FILES; i++)
		CHECK_NUMBER(server.bodies[i].size_bytes, ==,
			     trial_size(files[i]));
	server_release(&server);
	trial_release(&t);
}

/*
 * The client sleeps until all requests are due; their intended times do not
 * change.
 */
static void test_slow_client_does_not_move_the_schedule(void)
{
	struct server server = { .mode = SERVER_ECHO };
	struct trial t;
	uint32_t files[TRIAL_FILES];
	uint64_t due_ns;

	trial_init_open(&t, TRIAL_FILES);
	t.nap_at = 1;
	t.nap_ns = STALL_MS * NS_PER_MS;
	trial_run_with(&t, &server);
	CHECK_NUMBER(t.record.ok_count, ==, TRIAL_FILES);
	trial_order(files);
	due_ns = t.nap_began_ns - t.response_ns[t.nap_file];
	for (int i = 0; files[i] != t.nap_file; i++)
		due_ns -= GAP_MS * NS_PER_MS;
	for (int i = 0; i < TRIAL_FILES; i++) {
		CHECK(files[i] == t.nap_file ||
		      due_ns + t.response_ns[files[i]] >= t.nap_ended_ns);
		due_ns += GAP_MS * NS_PER_MS;
	}
	server_release(&server);
	trial_release(&t);
}

static void test_takes_its_schedule(void)
{
	struct server server = { .mode = SERVER_ECHO };
	struct trial t;

	trial_init_open(&t, TRIAL_CONNECTIONS);
	t.passes = 2;
	t.rate_per_s = 1000;
	trial_run_with(&t, &server);
	CHECK_NUMBER(t.end, ==, CLIENT_FINISHED);
	CHECK_NUMBER(t.record.ok_count, ==, 2 * TRIAL_FILES);
	for (int i = 0; i < TRIAL_FILES; i++)
		CHECK_NUMBER(t.sent[i], ==, 2);
	CHECK_NUMBER(t.makespan_ns, >=, (2 * TRIAL_FILES - 1) * NS_PER_MS);
	server_release(&server);
	trial_release(&t);
}

static void test_poisson_sends_each_file(void)
{
	struct server server = { .mode = SERVER_ECHO };
	struct trial t;

	trial_init_open(&t, TRIAL_CONNECTIONS);
	t.arrivals = ARRIVALS_POISSON;
	trial_run_with(&t, &server);
	CHECK_NUMBER(t.record.ok_count, ==, TRIAL_FILES);
	CHECK_NUMBER(t.record.waited_count + t.record.lag.count, ==,
		     TRIAL_FILES);
	server_release(&server);
	trial_release(&t);
}

/* The server answers none of the requests in time, but all are sent. */
static void test_duration_bounds_the_schedule(void)
{
	struct server server = { .mode = SERVER_STALL };
	struct trial t;

	trial_init_open(&t, 1);
	t.passes = 0;
	t.rate_per_s = 1000;
	t.config.duration_ns = 30 * NS_PER_MS;
	trial_run_with(&t, &server);
	CHECK_NUMBER(t.end, ==, CLIENT_FINISHED);
	CHECK_NUMBER(t.record.ok_count, ==, 30);
	server_release(&server);
	trial_release(&t);
}

/* The run does not wait for the next request, due in 1000 s. */
static void test_ends_when_told(void)
{
	struct server server = { .mode = SERVER_ECHO };
	struct trial t;

	trial_init_open(&t, TRIAL_CONNECTIONS);
	t.rate_per_s = 0.001;
	t.interrupt_after = 1;
	trial_run_with(&t, &server);
	CHECK_NUMBER(t.end, ==, CLIENT_STOPPED);
	CHECK_NUMBER(t.record.request_count, ==, 1);
	server_release(&server);
	trial_release(&t);
}

int main(void)
{
	test_stall_counts_from_the_intended_time();
	test_waiting_for_a_connection_counts();
	test_slow_client_does_not_move_the_schedule();
	test_takes_its_schedule();
	test_poisson_sends_each_file();
	test_duration_bounds_the_schedule();
	test_ends_when_told();
	return 0;
}
