/* SPDX-License-Identifier: MIT */
#include "loadgen/test/trial.h"

#include "base/test/check.h"
#include "base/util.h"
#include "base/clock.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SEED = 1 };

size_t trial_size(uint32_t file)
{
	static const size_t sizes[] = { 0, 1, 1000, 70000, 300000, 5000000 };

	return sizes[file % (ARRAY_SIZE(sizes))];
}

/* Files differ from each other in every byte. */
static char byte_of_file(uint32_t i, size_t offset)
{
	return (char)(i * 7 + offset % 251);
}

void trial_init(struct trial *t, const char *url)
{
	*t = (struct trial){
		.dataset = { .files = calloc(TRIAL_FILES,
					     sizeof(struct dataset_file)),
			     .count = TRIAL_FILES,
			     .content_type = "image/jpeg" },
		.passes = 1,
	};
	CHECK(t->dataset.files != NULL);
	for (uint32_t i = 0; i < TRIAL_FILES; i++) {
		struct dataset_file *file = &t->dataset.files[i];

		file->size_bytes = trial_size(i);
		file->body_bytes = file->size_bytes;
		file->body = malloc(file->size_bytes + 1);
		CHECK(file->body != NULL);
		file->bytes = file->body;
		for (size_t j = 0; j < file->size_bytes; j++)
			file->bytes[j] = byte_of_file(i, j);
	}
	t->config = (struct client_config){
		.url = url,
		.connections = TRIAL_CONNECTIONS,
		.timeout_ns = 100 * NS_PER_S,
	};
}

void trial_release(struct trial *t)
{
	dataset_release(&t->dataset);
	record_release(&t->record);
}

static void check_times(const struct trial *t, const struct result *r)
{
	/* The sending of the last byte was noticed. */
	CHECK_NUMBER(r->from_last_byte_ns, >, 0);
	CHECK_NUMBER(r->from_first_byte_ns, >=, r->from_last_byte_ns);
	CHECK_NUMBER(r->scheduled, ==, (t->arrivals != ARRIVALS_NONE));
	if (!r->scheduled) {
		CHECK_NUMBER(r->response_ns, ==, r->from_last_byte_ns);
	} else {
		CHECK_NUMBER(r->response_ns, >=, r->from_first_byte_ns);
		CHECK_NUMBER(r->response_ns, >=, r->lag_ns);
	}
}

static void check_reply(const struct trial *t, const struct result *r)
{
	const struct dataset_file *file = &t->dataset.files[r->file];
	const char *expected = t->reply != NULL ? t->reply : file->bytes;
	size_t bytes = t->reply != NULL ? strlen(t->reply) : file->size_bytes;

	CHECK_NUMBER(r->reply_bytes, ==, bytes);
	CHECK(bytes == 0 || memcmp(r->reply, expected, bytes) == 0);
}

static void take_nap(struct trial *t, uint32_t file)
{
	struct timespec nap = {
		.tv_sec = (time_t)(t->nap_ns / NS_PER_S),
		.tv_nsec = (long)(t->nap_ns % NS_PER_S),
	};

	t->nap_file = file;
	t->nap_began_ns = clock_now_ns();
	nanosleep(&nap, NULL);
	t->nap_ended_ns = clock_now_ns();
}

static bool take_result(const struct result *r, void *arg)
{
	struct trial *t = arg;

	CHECK_NUMBER(r->file, <, TRIAL_FILES);
	CHECK_NUMBER(r->uploaded_bytes, ==, trial_size(r->file));
	CHECK_NUMBER((r->error != NULL), ==, (r->status == 0));
	t->sent[r->file]++;
	t->response_ns[r->file] = r->response_ns;
	CHECK(record_add(&t->record, r));
	if (result_is_ok(r))
		check_times(t, r);
	if (result_is_ok(r) && t->config.keep_replies)
		check_reply(t, r);
	if (t->record.request_count == t->nap_at)
		take_nap(t, r->file);
	if (t->record.request_count == t->interrupt_after)
		t->stop = 1;
	return t->record.request_count != t->stop_after;
}

void trial_run(struct trial *t)
{
	struct request_source source = { 0 };
	struct requests requests = {
		.source = &source,
		.passes = t->passes,
		.seed = SEED,
	};
	struct arrivals arrivals;
	struct client_outcome ended;
	struct client *client;
	struct error error;

	CHECK(request_source_init(&source, &t->dataset, "http://h/", NULL, NULL,
				  &error));
	CHECK(requests_begin(&requests));
	if (t->arrivals != ARRIVALS_NONE) {
		arrivals_init(&arrivals, t->arrivals, t->rate_per_s, SEED);
		t->config.arrivals = &arrivals;
	}
	t->config.requests = &requests;
	t->config.stop = &t->stop;
	t->config.done = take_result;
	t->config.arg = t;
	client = client_new(&t->config, &error);
	CHECK(client != NULL);
	ended = client_run(client);
	CHECK_NUMBER(ended.makespan_ns, >, 0);
	t->end = ended.end;
	t->makespan_ns = ended.makespan_ns;
	t->error = ended.error;
	client_free(client);
	requests_end(&requests);
	request_source_release(&source);
}

void trial_run_with(struct trial *t, struct server *server)
{
	server_start(server);
	t->config.url = server->url;
	trial_run(t);
	server_stop(server);
	CHECK_NUMBER(server->strange_count, ==, 0);
}

void trial_order(uint32_t files[TRIAL_FILES])
{
	struct dataset_file made_up[TRIAL_FILES] = { 0 };
	struct dataset dataset = { .files = made_up, .count = TRIAL_FILES };
	struct request_source source = { 0 };
	struct requests requests = { .source = &source,
				     .passes = 1,
				     .seed = SEED };
	struct request request;
	struct error error;

	CHECK(request_source_init(&source, &dataset, "http://h/", NULL, NULL,
				  &error));
	CHECK(requests_begin(&requests));
	for (int i = 0; i < TRIAL_FILES; i++) {
		CHECK(requests_next(&requests, &request));
		files[i] = request.file;
	}
	requests_end(&requests);
	request_source_release(&source);
}
