/* SPDX-License-Identifier: MIT */
/*
 * The client in a closed loop, with real servers: every file is sent once per
 * pass, complete, over the given number of connections.  Whatever a server
 * does, each request has exactly one result.
 */
#include "base/clock.h"
#include "base/test/check.h"
#include "loadgen/client/connection.h"
#include "loadgen/test/trial.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The server has received each file `passes` times, byte by byte. */
static void expect_bodies(const struct trial *t, const struct server *server)
{
	unsigned got[TRIAL_FILES] = { 0 };

	for (unsigned i = 0; i < server->request_count; i++) {
		const struct server_body *body = &server->bodies[i];

		for (uint32_t f = 0; f < TRIAL_FILES; f++) {
			const struct dataset_file *file = &t->dataset.files[f];

			if (file->size_bytes == body->size_bytes &&
			    (body->size_bytes == 0 ||
			     memcmp(file->bytes, body->bytes,
				    body->size_bytes) == 0))
				got[f]++;
		}
	}
	for (uint32_t f = 0; f < TRIAL_FILES; f++) {
		/* Four files are empty, so each counts four times. */
		unsigned alike = trial_size(f) == 0 ? 4 : 1;

		CHECK_NUMBER(got[f], ==, alike * t->passes);
	}
}

static void test_each_file_once_per_pass_intact(void)
{
	struct server server = { .mode = SERVER_ECHO };
	struct trial t;

	trial_init(&t, NULL);
	t.passes = 3;
	t.config.keep_replies = true;
	trial_run_with(&t, &server);
	CHECK_NUMBER(t.end, ==, CLIENT_FINISHED);
	CHECK_NUMBER(t.record.responses[200], ==, 3 * TRIAL_FILES);
	CHECK_NUMBER(t.record.request_count, ==, 3 * TRIAL_FILES);
	for (int i = 0; i < TRIAL_FILES; i++)
		CHECK_NUMBER(t.sent[i], ==, 3);
	CHECK_NUMBER(server.request_count, ==, 3 * TRIAL_FILES);
	CHECK_NUMBER(server.connection_count, ==, TRIAL_CONNECTIONS);
	expect_bodies(&t, &server);
	server_release(&server);
	trial_release(&t);
}

static void test_no_more_connections_than_requests(void)
{
	struct server server = { .mode = SERVER_ECHO };
	struct trial t;

	trial_init(&t, NULL);
	t.config.connections = TRIAL_FILES + 5;
	trial_run_with(&t, &server);
	CHECK_NUMBER(t.record.ok_count, ==, TRIAL_FILES);
	CHECK_NUMBER(server.connection_count, ==, TRIAL_FILES);
	server_release(&server);
	trial_release(&t);
}

/*
 * The name may have several addresses, and the server listens only at one of
 * them.
 */
static void test_host_by_name(void)
{
	struct server server = { .mode = SERVER_ECHO };
	char url[SERVER_URL_BYTES];
	struct trial t;

	server_start(&server);
	snprintf(url, sizeof(url), "http://localhost%s",
		 strrchr(server.url, ':'));
	trial_init(&t, url);
	trial_run(&t);
	server_stop(&server);
	CHECK_NUMBER(t.record.ok_count, ==, TRIAL_FILES);
	CHECK_NUMBER(server.connection_count, ==, TRIAL_CONNECTIONS);
	server_release(&server);
	trial_release(&t);
}

static void test_busy_is_a_response(void)
{
	struct server server = { .mode = SERVER_BUSY };
	struct trial t;

	trial_init(&t, NULL);
	trial_run_with(&t, &server);
	CHECK_NUMBER(t.end, ==, CLIENT_FINISHED);
	CHECK_NUMBER(t.record.responses[503], ==, TRIAL_FILES);
	CHECK_NUMBER(t.record.ok_count, ==, 0);
	CHECK_NUMBER(t.record.transport_error_count, ==, 0);
	CHECK_NUMBER(server.connection_count, ==, TRIAL_CONNECTIONS);
	expect_bodies(&t, &server);
	server_release(&server);
	trial_release(&t);
}

static void test_cut_reply_is_a_transport_error(void)
{
	struct server server = { .mode = SERVER_CUT };
	struct trial t;

	trial_init(&t, NULL);
	trial_run_with(&t, &server);
	CHECK_NUMBER(t.end, ==, CLIENT_FINISHED);
	CHECK_NUMBER(t.record.transport_error_count, ==, TRIAL_FILES);
	CHECK_NUMBER(t.record.responses[200], ==, 0);
	CHECK_TEXT(t.record.errors[0].text,
		   "Connection closed within the reply");
	server_release(&server);
	trial_release(&t);
}

static void test_lost_request_is_not_sent_again(void)
{
	struct server server = { .mode = SERVER_DROP_SECOND };
	struct trial t;

	trial_init(&t, NULL);
	t.config.connections = 1;
	trial_run_with(&t, &server);
	CHECK_NUMBER(t.end, ==, CLIENT_FINISHED);
	CHECK_NUMBER(server.request_count, ==, TRIAL_FILES);
	CHECK_NUMBER(t.record.ok_count, ==, TRIAL_FILES / 2);
	CHECK_NUMBER(t.record.transport_error_count, ==, TRIAL_FILES / 2);
	server_release(&server);
	trial_release(&t);
}

static void test_too_long_reply_is_a_transport_error(void)
{
	struct server server = { .mode = SERVER_LONG,
				 .reply_bytes = REPLY_BYTES_MAX };
	struct trial t;

	trial_init(&t, NULL);
	t.config.connections = 1;
	t.stop_after = 1;
	trial_run_with(&t, &server);
	CHECK_NUMBER(t.record.ok_count, ==,
		     1); /* the longest reply that is accepted */
	server_release(&server);
	trial_release(&t);

	server = (struct server){ .mode = SERVER_LONG,
				  .reply_bytes = REPLY_BYTES_MAX + 1 };
	trial_init(&t, NULL);
	t.config.connections = 1;
	t.stop_after = 1;
	trial_run_with(&t, &server);
	CHECK_NUMBER(t.record.transport_error_count, ==, 1);
	CHECK_TEXT(t.record.errors[0].text, "Reply too long");
	server_release(&server);
	trial_release(&t);
}

static void test_gives_up_where_nothing_listens(void)
{
	char url[SERVER_URL_BYTES];
	int port = dead_port_open(false, url);
	struct trial t;

	trial_init(&t, url);
	t.passes = 1000000;
	trial_run(&t);
	close(port);
	CHECK_NUMBER(t.end, ==, CLIENT_GAVE_UP);
	/* The smallest number of failures in client.h. */
	CHECK_NUMBER(t.record.request_count, ==, 8);
	CHECK_NUMBER(t.record.transport_error_count, ==, 8);
	CHECK_TEXT(t.error, "Connection refused");
	trial_release(&t);
}

static void test_silent_server_times_out(void)
{
	char url[SERVER_URL_BYTES];
	int port = dead_port_open(true, url);
	struct trial t;

	trial_init(&t, url);
	t.config.connections = TRIAL_FILES;
	t.config.timeout_ns = NS_PER_S;
	trial_run(&t);
	close(port);
	CHECK_NUMBER(t.end, ==, CLIENT_FINISHED); /* it could connect */
	CHECK_NUMBER(t.record.transport_error_count, ==, TRIAL_FILES);
	CHECK_TEXT(t.record.errors[0].text, "No reply in time");
	trial_release(&t);
}

static void test_ends_when_told(void)
{
	struct server server = { .mode = SERVER_ECHO };
	struct trial t;

	trial_init(&t, NULL);
	t.stop_after = 5;
	trial_run_with(&t, &server);
	CHECK_NUMBER(t.end, ==, CLIENT_STOPPED);
	CHECK_NUMBER(t.record.request_count, ==, 5);
	server_release(&server);
	trial_release(&t);

	server = (struct server){ .mode = SERVER_ECHO };
	trial_init(&t, NULL);
	t.interrupt_after = 5;
	t.passes = 1000;
	trial_run_with(&t, &server);
	CHECK_NUMBER(t.end, ==, CLIENT_STOPPED);
	/* Other requests may have ended in the same step. */
	CHECK_NUMBER(t.record.request_count, >=, 5);
	CHECK_NUMBER(t.record.request_count, <, 5 + TRIAL_CONNECTIONS);
	server_release(&server);
	trial_release(&t);
}

/*
 * The order of files has no end; the run ends by its duration, after the
 * requests in flight.
 */
static void test_ends_with_its_time(void)
{
	struct server server = { .mode = SERVER_BUSY };
	struct trial t;

	trial_init(&t, NULL);
	t.passes = 0;
	t.config.duration_ns = NS_PER_S;
	trial_run_with(&t, &server);
	CHECK_NUMBER(t.end, ==, CLIENT_FINISHED);
	CHECK_NUMBER(t.record.request_count, >, 0);
	CHECK_NUMBER(t.record.request_count, ==, t.record.responses[503]);
	CHECK_NUMBER(t.record.request_count, ==, server.request_count);
	server_release(&server);
	trial_release(&t);
}

int main(void)
{
	test_each_file_once_per_pass_intact();
	test_no_more_connections_than_requests();
	test_host_by_name();
	test_busy_is_a_response();
	test_cut_reply_is_a_transport_error();
	test_lost_request_is_not_sent_again();
	test_too_long_reply_is_a_transport_error();
	test_gives_up_where_nothing_listens();
	test_silent_server_times_out();
	test_ends_when_told();
	test_ends_with_its_time();
	return 0;
}
