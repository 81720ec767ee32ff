/* SPDX-License-Identifier: MIT */
/*
 * The client, and the loop below it, against real servers: every file is sent
 * once per pass, whole, over as many connections as asked for, and whatever a
 * server does ends as one result for each request.
 */
#include "loadgen/client.h"
#include "loadgen/clock.h"
#include "loadgen/record.h"
#include "loadgen/test/server.h"

#include <assert.h>
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILES = 20, CONNECTIONS = 3 };

/* A run and what came of it. */
struct trial {
	struct dataset dataset;
	struct client_config config;
	uint64_t passes;
	struct record record;
	unsigned sent[FILES];     /* results, by file */
	uint64_t stop_after;      /* results before `done` says no; 0: never */
	uint64_t interrupt_after; /* results before `stop` is set; 0: never */
	volatile sig_atomic_t stop;
	enum client_end end;
	char error[256]; /* of the client */
};

/* From empty to one where libcurl would like to expect 100-continue. */
static size_t size_of_file(uint32_t i)
{
	static const size_t sizes[] = { 0, 1, 1000, 70000, 300000, 1100000 };

	return sizes[i % (sizeof(sizes) / sizeof(*sizes))];
}

/* Files differ from each other in every byte's place. */
static char byte_of_file(uint32_t i, size_t place)
{
	return (char)(i * 7 + place % 251);
}

static void trial_init(struct trial *t, const char *url)
{
	*t = (struct trial){
		.dataset = { .files =
				     calloc(FILES, sizeof(struct dataset_file)),
			     .count = FILES },
		.passes = 1,
	};
	assert(t->dataset.files != NULL);
	for (uint32_t i = 0; i < FILES; i++) {
		struct dataset_file *file = &t->dataset.files[i];

		file->size_bytes = size_of_file(i);
		file->bytes = malloc(file->size_bytes + 1);
		assert(file->bytes != NULL);
		for (size_t j = 0; j < file->size_bytes; j++)
			file->bytes[j] = byte_of_file(i, j);
	}
	t->config = (struct client_config){
		.url = url,
		.dataset = &t->dataset,
		.connections = CONNECTIONS,
		.timeout_ns = 100 * NS_PER_S,
	};
}

static void trial_release(struct trial *t)
{
	dataset_release(&t->dataset);
	record_release(&t->record);
}

static bool take_result(const struct result *r, void *arg)
{
	struct trial *t = arg;

	assert(r->file < FILES && r->uploaded_bytes == size_of_file(r->file));
	assert((r->error != NULL) == (r->status == 0));
	t->sent[r->file]++;
	assert(record_add(&t->record, r));
	if (result_is_ok(r)) {
		assert(r->response_ns > 0); /* so its last byte was noticed */
		assert(r->from_first_byte_ns >= r->response_ns);
	}
	if (result_is_ok(r) && t->config.keep_replies) { /* SERVER_ECHO */
		const struct dataset_file *file = &t->dataset.files[r->file];

		assert(r->reply_bytes == file->size_bytes);
		assert(r->reply_bytes == 0 ||
		       memcmp(r->reply, file->bytes, r->reply_bytes) == 0);
	}
	if (t->record.request_count == t->interrupt_after)
		t->stop = 1;
	return t->record.request_count != t->stop_after;
}

static void trial_run(struct trial *t)
{
	struct order order = { 0 };
	struct client *client;

	assert(order_init(&order, FILES, t->passes, 1));
	t->config.order = &order;
	t->config.stop = &t->stop;
	t->config.done = take_result;
	t->config.arg = t;
	client = client_new(&t->config);
	assert(client != NULL);
	t->end = client_run(client);
	assert(client_makespan_ns(client) > 0);
	assert(strlen(client_error(client)) < sizeof(t->error));
	strcpy(t->error, client_error(client));
	client_free(client);
	order_release(&order);
}

/* Run `t` against a server in `mode`; then the server's counts hold. */
static void trial_run_with(struct trial *t, struct server *server)
{
	server_start(server);
	t->config.url = server->url;
	trial_run(t);
	server_stop(server);
	assert(server->strange_count == 0);
}

/* The server has got each file `passes` times, byte by byte. */
static void expect_bodies(const struct trial *t, const struct server *server)
{
	unsigned got[FILES] = { 0 };

	for (unsigned i = 0; i < server->request_count; i++) {
		const struct server_body *body = &server->bodies[i];

		for (uint32_t f = 0; f < FILES; f++) {
			const struct dataset_file *file = &t->dataset.files[f];

			if (file->size_bytes == body->size_bytes &&
			    (body->size_bytes == 0 ||
			     memcmp(file->bytes, body->bytes,
				    body->size_bytes) == 0))
				got[f]++;
		}
	}
	for (uint32_t f = 0; f < FILES; f++) {
		/* The four empty files cannot be told from each other. */
		unsigned alike = size_of_file(f) == 0 ? 4 : 1;

		assert(got[f] == alike * t->passes);
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
	assert(t.end == CLIENT_FINISHED);
	assert(t.record.responses[200] == 3 * FILES);
	assert(t.record.request_count == 3 * FILES);
	for (int i = 0; i < FILES; i++)
		assert(t.sent[i] == 3);
	assert(server.request_count == 3 * FILES);
	assert(server.connection_count == CONNECTIONS);
	expect_bodies(&t, &server);
	server_release(&server);
	trial_release(&t);
}

static void test_no_more_connections_than_requests(void)
{
	struct server server = { .mode = SERVER_ECHO };
	struct trial t;

	trial_init(&t, NULL);
	t.config.connections = FILES + 5;
	trial_run_with(&t, &server);
	assert(t.record.ok_count == FILES);
	assert(server.connection_count == FILES);
	server_release(&server);
	trial_release(&t);
}

static void test_busy_is_a_response(void)
{
	struct server server = { .mode = SERVER_BUSY };
	struct trial t;

	trial_init(&t, NULL);
	trial_run_with(&t, &server);
	assert(t.end == CLIENT_FINISHED);
	assert(t.record.responses[503] == FILES);
	assert(t.record.ok_count == 0 && t.record.transport_error_count == 0);
	assert(server.connection_count == CONNECTIONS);
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
	assert(t.end == CLIENT_FINISHED);
	assert(t.record.transport_error_count == FILES);
	assert(t.record.responses[200] == 0);
	assert(strcmp(t.record.errors[0].text,
		      curl_easy_strerror(CURLE_PARTIAL_FILE)) == 0);
	server_release(&server);
	trial_release(&t);
}

/* libcurl alone would send it again, and the loss would not be seen. */
static void test_lost_request_is_not_sent_again(void)
{
	struct server server = { .mode = SERVER_DROP_SECOND };
	struct trial t;

	trial_init(&t, NULL);
	t.config.connections = 1;
	trial_run_with(&t, &server);
	assert(t.end == CLIENT_FINISHED);
	assert(server.request_count == FILES);
	assert(t.record.ok_count == FILES / 2);
	assert(t.record.transport_error_count == FILES / 2);
	server_release(&server);
	trial_release(&t);
}

static void test_too_long_reply_is_a_transport_error(void)
{
	struct server server = { .mode = SERVER_LONG,
				 .reply_bytes = CLIENT_REPLY_BYTES_MAX };
	struct trial t;

	trial_init(&t, NULL);
	t.config.connections = 1;
	t.stop_after = 1;
	trial_run_with(&t, &server);
	assert(t.record.ok_count == 1); /* the longest that is taken */
	server_release(&server);
	trial_release(&t);

	server = (struct server){ .mode = SERVER_LONG,
				  .reply_bytes = CLIENT_REPLY_BYTES_MAX + 1 };
	trial_init(&t, NULL);
	t.config.connections = 1;
	t.stop_after = 1;
	trial_run_with(&t, &server);
	assert(t.record.transport_error_count == 1);
	assert(strcmp(t.record.errors[0].text, "Reply too long") == 0);
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
	assert(t.end == CLIENT_GAVE_UP);
	assert(t.record.request_count == 8); /* at least, says client.h */
	assert(t.record.transport_error_count == 8);
	assert(strstr(t.error, "connect") != NULL);
	trial_release(&t);
}

static void test_silent_server_times_out(void)
{
	char url[SERVER_URL_BYTES];
	int port = dead_port_open(true, url);
	struct trial t;

	trial_init(&t, url);
	t.config.timeout_ns = 50 * NS_PER_MS;
	trial_run(&t);
	close(port);
	assert(t.end == CLIENT_FINISHED); /* connecting did not fail */
	assert(t.record.transport_error_count == FILES);
	assert(strcmp(t.record.errors[0].text,
		      curl_easy_strerror(CURLE_OPERATION_TIMEDOUT)) == 0);
	trial_release(&t);
}

static void test_ends_when_told(void)
{
	struct server server = { .mode = SERVER_ECHO };
	struct trial t;

	trial_init(&t, NULL);
	t.stop_after = 5;
	trial_run_with(&t, &server);
	assert(t.end == CLIENT_STOPPED);
	assert(t.record.request_count == 5);
	server_release(&server);
	trial_release(&t);

	server = (struct server){ .mode = SERVER_ECHO };
	trial_init(&t, NULL);
	t.interrupt_after = 5;
	t.passes = 1000;
	trial_run_with(&t, &server);
	assert(t.end == CLIENT_STOPPED);
	assert(t.record.request_count >= 5); /* those of the same step too */
	assert(t.record.request_count < 5 + CONNECTIONS);
	server_release(&server);
	trial_release(&t);
}

/* The order has no end; requests in flight have. */
static void test_ends_with_its_time(void)
{
	struct server server = { .mode = SERVER_BUSY };
	struct trial t;

	trial_init(&t, NULL);
	t.passes = 0;
	t.config.duration_ns = 20 * NS_PER_MS;
	trial_run_with(&t, &server);
	assert(t.end == CLIENT_FINISHED);
	assert(t.record.request_count > 0);
	assert(t.record.request_count == t.record.responses[503]);
	assert(t.record.request_count == server.request_count);
	server_release(&server);
	trial_release(&t);
}

int main(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
	test_each_file_once_per_pass_intact();
	test_no_more_connections_than_requests();
	test_busy_is_a_response();
	test_cut_reply_is_a_transport_error();
	test_lost_request_is_not_sent_again();
	test_too_long_reply_is_a_transport_error();
	test_gives_up_where_nothing_listens();
	test_silent_server_times_out();
	test_ends_when_told();
	test_ends_with_its_time();
	curl_global_cleanup();
	return 0;
}
