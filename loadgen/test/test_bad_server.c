/* SPDX-License-Identifier: MIT */
/*
 * The client and a server that misbehaves at every second request: each request
 * is sent once and ends as it should, and the other requests are not affected.
 */
#include "base/clock.h"

#include "base/test/check.h"
#include "base/util.h"
#include "loadgen/test/bad_server.h"
#include "loadgen/test/trial.h"

#include <stdlib.h>
#include <string.h>

#define OK "HTTP/1.1 200 OK\r\n"
#define CHUNKED OK "Transfer-Encoding: chunked\r\n\r\n"
#define REFUSED "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n"
#define GOOD OK "Content-Length: 2\r\n\r\nok"

enum { HARMED = TRIAL_FILES / 2, HEADER_BYTES = 60000 };

struct row {
	struct misdeed misdeed;
	int status;        /* 0: a transport error */
	const char *error; /* of the result */
};

static const struct row rows[] = {
	/* Unusual, but accepted. */
	{ { .reply = GOOD, .writes_slowly = true }, 200, NULL },
	{ { .reads_slowly = true, .reply = GOOD }, 200, NULL },
	{ { .reply = GOOD, .end = BAD_END_CLOSES }, 200, NULL },
	{ { .early = "HTTP/1.1 100 Continue\r\n\r\n", .reply = GOOD },
	  200,
	  NULL },
	{ { .reply = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" GOOD },
	  200,
	  NULL },
	{ { .early = GOOD, .reads_slowly = true }, 200, NULL },
	{ { .reply = CHUNKED "1;a=\"b\"\r\no\r\n1\r\nk\r\n"
			     "0\r\nServer-Timing: c\r\n\r\n" },
	  200,
	  NULL },
	{ { .reply = CHUNKED "1\r\no\r\n1\r\nk\r\n0\r\n\r\n",
	    .writes_slowly = true },
	  200,
	  NULL },
	{ { .reply = OK "\r\nok", .end = BAD_END_CLOSES }, 200, NULL },
	{ { .reply = "HTTP/1.0 200 OK\r\n\r\nok", .end = BAD_END_CLOSES },
	  200,
	  NULL },
	{ { .reply = "HTTP/1.1 204 No Content\r\n\r\n" }, 204, NULL },
	{ { .reply = OK "Connection: close\r\nContent-Length: 2\r\n\r\nok",
	    .end = BAD_END_WAITS },
	  200,
	  NULL },
	{ { .early = REFUSED "Connection: close\r\n\r\nno",
	    .leaves_body = true,
	    .end = BAD_END_CLOSES },
	  413,
	  NULL },
	{ { .early = REFUSED "\r\nno", .reads_slowly = true }, 413, NULL },

	/* Not accepted. */
	{ { .end = BAD_END_CLOSES }, 0, "Connection closed without a reply" },
	{ { .leaves_body = true, .end = BAD_END_RESETS },
	  0,
	  "Connection reset by peer" },
	{ { .reply = "HTTP/1.1 20", .end = BAD_END_CLOSES },
	  0,
	  "Connection closed within the reply" },
	{ { .reply = OK "Content-Length: 3\r\n\r\nok", .end = BAD_END_CLOSES },
	  0,
	  "Connection closed within the reply" },
	{ { .reply = CHUNKED "1\r\no\r\n", .end = BAD_END_CLOSES },
	  0,
	  "Connection closed within the reply" },
	{ { .reply = OK "Content-Length: 1\r\n\r\nok" },
	  0,
	  "Bytes beyond the reply" },
	{ { .reply = GOOD GOOD }, 0, "Bytes beyond the reply" },
	{ { .reply = CHUNKED "z\r\n" },
	  0,
	  "invalid character in chunk size header" },
	{ { .reply = OK "Content-Length: 2\r\nContent-Length: 2\r\n\r\nok" },
	  0,
	  "unexpected content-length header" },
	{ { .reply = "220 mail.example.org ESMTP\r\n" },
	  0,
	  "invalid constant string" },
	{ { .end = BAD_END_WAITS }, 0, "No reply in time" },
};

static void expect_body(const struct trial *t, const struct server_body *body)
{
	for (uint32_t i = 0; i < TRIAL_FILES; i++) {
		const struct dataset_file *file = &t->dataset.files[i];

		if (file->size_bytes == body->size_bytes &&
		    memcmp(file->bytes, body->bytes, body->size_bytes) == 0)
			return;
	}
	CHECK(!"a body is a file");
}

static void expect_outcome(const struct trial *t, const struct row *row)
{
	const uint64_t *responses = t->record.responses;

	CHECK_NUMBER(t->end, ==, CLIENT_FINISHED);
	for (int i = 0; i < TRIAL_FILES; i++)
		CHECK_NUMBER(t->sent[i], ==, 1);
	if (row->status == 200) {
		CHECK_NUMBER(responses[200], ==, TRIAL_FILES);
		return;
	}
	CHECK_NUMBER(responses[200], ==, TRIAL_FILES - HARMED);
	if (row->status != 0) {
		CHECK_NUMBER(responses[row->status], ==, HARMED);
		return;
	}
	CHECK_NUMBER(t->record.transport_error_count, ==, HARMED);
	CHECK_NUMBER(t->record.error_kinds, ==, 1);
	CHECK_TEXT(t->record.errors[0].text, row->error);
}

static void run_row(const struct row *row, uint32_t connections)
{
	struct bad_server server = { .misdeed = row->misdeed };
	struct trial t;

	trial_init(&t, server.url);
	t.config.connections = connections;
	/* The others are answered within this time. */
	if (row->misdeed.end == BAD_END_WAITS && row->status == 0)
		t.config.timeout_ns = 2 * NS_PER_S;
	if (row->status != 204) {
		t.config.keep_replies = true;
		t.reply = "ok";
	}
	bad_server_start(&server);
	trial_run(&t);
	bad_server_stop(&server);
	expect_outcome(&t, row);
	CHECK_NUMBER(server.request_count, ==, TRIAL_FILES);
	for (unsigned i = 0; i < TRIAL_FILES; i++)
		if (server.bodies[i].bytes != NULL)
			expect_body(&t, &server.bodies[i]);
	bad_server_release(&server);
	trial_release(&t);
}

static void test_each_misdeed(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		/*
		 * Over one connection, the timeouts would follow each other and
		 * take long.
		 */
		if (rows[i].status != 0 || rows[i].misdeed.end != BAD_END_WAITS)
			run_row(&rows[i], 1);
		run_row(&rows[i], HARMED);
	}
}

/* A reply whose head has `count` bytes. */
static char *make_long_reply(size_t count)
{
	char *reply;

	CHECK_NUMBER(asprintf(&reply,
			      OK "X: %0*d\r\nContent-Length: 2\r\n\r\nok",
			      (int)count, 0),
		     >, 0);
	return reply;
}

static void test_huge_headers(void)
{
	char *large = make_long_reply(HEADER_BYTES);
	char *too_large = make_long_reply(2 * HEADER_BYTES);
	struct row row = { .misdeed.reply = large, .status = 200 };

	run_row(&row, 1);
	row = (struct row){
		.misdeed.reply = too_large,
		.error = "too many header bytes seen; overflow detected",
	};
	run_row(&row, 1);
	free(large);
	free(too_large);
}

int main(void)
{
	test_each_misdeed();
	test_huge_headers();
	return 0;
}
