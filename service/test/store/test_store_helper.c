/* SPDX-License-Identifier: MIT */
/*
 * darkroom-store keeps its promises to the server, with a fake store that
 * misbehaves, or with a real one: what it acknowledged can be read; faults that
 * pass are not seen; others have a reason; the cache has whole objects only,
 * keeps to its quota and to its own files.
 *
 * usage: test_store_helper PROGRAM [real|put FIRST COUNT|read]
 * With the bucket S3_BUCKET at S3_ENDPOINT, and keys of the environment:
 *   real   the tests that a real store can do
 *   put    put COUNT samples, 32 at once; print the number of each that was
 *          acknowledged, and for others the reason, to standard error
 *   read   read the samples whose numbers are on standard input
 */
#include "base/clock.h"
#include "base/test/check.h"
#include "base/test/scratch.h"
#include "base/util.h"
#include "service/test/store/fake_s3.h"
#include "service/test/store/store_client.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SMALL = 3000, LARGE = 300000, MS = 120000, CROWD = 96 };

static const char *program;
static struct fake_s3 *fake; /* NULL: a real store */
static char endpoint[128];
static struct scratch scratch;

static struct client client_new(void)
{
	struct client c = { .program = program };

	client_add(&c, "--bucket",
		   fake != NULL ? FAKE_S3_BUCKET : getenv("S3_BUCKET"));
	/* Characters of all kinds that a prefix may have. */
	client_add(&c, "--prefix", "test/of-helper/..a_B-9/.c");
	client_add(&c, "--endpoint", endpoint);
	client_add(&c, "--path-style", NULL);
	return c;
}

static struct client start(void)
{
	struct client c = client_new();

	client_start(&c);
	return c;
}

static void stop(struct client *c)
{
	int status = client_stop(c);

	CHECK_NUMBER(status, ==, 0);
}

static struct message delete (struct client *c, unsigned number)
{
	char id[STORE_ID_BYTES];
	int fd;

	sample_id(number, id);
	return client_wait(c, client_send(c, MESSAGE_DELETE, id, -1, 0, MS),
			   &fd);
}

static struct message probe(struct client *c)
{
	int fd;

	return client_wait(c, client_send(c, MESSAGE_PROBE, "", -1, 0, MS),
			   &fd);
}

#define EXPECT(wanted, call) expect(wanted, call, __LINE__)

static struct message expect(enum store_answer wanted, struct message m,
			     int line)
{
	if (m.answer != wanted) {
		fprintf(stderr, "line %d: answer %u, not %u: %s\n", line,
			m.answer, wanted, m.detail);
		abort();
	}
	return m;
}

static void expect_detail(const struct message *m, const char *part)
{
	if (strstr(m->detail, part) != NULL)
		return;
	fprintf(stderr, "'%s' does not say '%s'\n", m->detail, part);
	abort();
}

/* -- With any store -- */

static void test_what_was_put_is_read_until_it_is_deleted(void)
{
	struct client c = start();

	(void)delete (&c, 1);
	EXPECT(STORE_OK, probe(&c));
	EXPECT(STORE_NOT_FOUND, client_read(&c, 1, "a.jpg", MS));
	EXPECT(STORE_OK, client_put(&c, 1, 0, SMALL, MS));
	EXPECT(STORE_OK, client_read(&c, 1, "", MS));
	EXPECT(STORE_OK, client_read(&c, 1, "b.jpg", MS));
	EXPECT(STORE_OK, client_put(&c, 1, 0, SMALL, MS));
	EXPECT(STORE_OK, client_read(&c, 1, "a.jpg", MS));
	EXPECT(STORE_OK, delete (&c, 1));
	EXPECT(STORE_NOT_FOUND, client_read(&c, 1, "a.jpg", MS));
	EXPECT(STORE_NOT_FOUND, delete (&c, 1));
	stop(&c);
}

static void test_other_bytes_replace_an_image(void)
{
	struct client c = start();
	struct message m;

	EXPECT(STORE_OK, client_put(&c, 2, 0, SMALL, MS));
	m = EXPECT(STORE_OK, client_put(&c, 2, 1, SMALL + 7, MS));
	CHECK(!m.is_same);
	m = EXPECT(STORE_OK, client_read(&c, 2, "a.jpg", MS));
	CHECK_NUMBER(m.bytes, >, SMALL + 7);
	EXPECT(STORE_OK, delete (&c, 2));
	stop(&c);
}

static void test_files_beyond_the_head_are_read(void)
{
	struct client c = start();

	EXPECT(STORE_OK, client_put(&c, 3, 0, LARGE, MS));
	EXPECT(STORE_OK, client_read(&c, 3, "", MS));
	EXPECT(STORE_OK, client_read(&c, 3, "a.jpg", MS));
	EXPECT(STORE_OK, client_read(&c, 3, "b.jpg", MS));
	EXPECT(STORE_OK, client_put(&c, 3, 0, 3 << 20, MS));
	EXPECT(STORE_OK, client_read(&c, 3, "b.jpg", MS));
	EXPECT(STORE_OK, delete (&c, 3));
	stop(&c);
}

/* Send them all, then collect the answers. */
static void put_crowd(struct client *c, uint64_t *numbers)
{
	for (unsigned i = 0; i < CROWD; i++) {
		struct package p;
		int fd = sample_package(100 + i, 0, SMALL + i, &p);
		char id[STORE_ID_BYTES];

		sample_id(100 + i, id);
		numbers[i] = client_send(c, MESSAGE_PUT, id, fd, p.bytes, MS);
		close(fd);
	}
}

static void test_many_requests_at_once(void)
{
	struct client c = start();
	uint64_t numbers[CROWD];
	char id[STORE_ID_BYTES], out[4096];
	int fd;

	put_crowd(&c, numbers);
	for (unsigned i = 0; i < CROWD; i++)
		EXPECT(STORE_OK, client_wait(&c, numbers[i], &fd));
	for (unsigned i = 0; i < CROWD; i++) {
		sample_id(100 + i, id);
		numbers[i] = client_send_read(&c, id, 0, PACKAGE_HEAD_BYTES,
					      false, MS);
	}
	for (unsigned i = 0; i < CROWD; i++) {
		struct message m =
			EXPECT(STORE_OK, client_wait(&c, numbers[i], &fd));

		CHECK(is_file_good(fd, m.bytes, "a.jpg"));
		close(fd);
	}
	CHECK_NUMBER(client_command(&c, "verify", out, sizeof(out)), ==, 0);
	CHECK_PART(out, "96 images of ");
	for (unsigned i = 0; i < CROWD; i++)
		EXPECT(STORE_OK, delete (&c, 100 + i));
	CHECK_NUMBER(client_command(&c, "list", out, sizeof(out)), ==, 0);
	CHECK_NUMBER(out[0], ==, '\0');
	stop(&c);
}

static void test_a_killed_helper_loses_nothing_that_is_sent_again(void)
{
	struct client c = start();
	uint64_t numbers[CROWD];
	int fd;

	put_crowd(&c, numbers);
	/* Some answers come before the end of the helper. */
	for (unsigned i = 0; i < CROWD / 4; i++)
		EXPECT(STORE_OK, client_wait(&c, numbers[i], &fd));
	client_kill(&c);
	client_start(&c);
	for (unsigned i = CROWD / 4; i < CROWD; i++)
		EXPECT(STORE_OK, client_put(&c, 100 + i, 0, SMALL + i, MS));
	for (unsigned i = 0; i < CROWD; i++) {
		EXPECT(STORE_OK, client_read(&c, 100 + i, "a.jpg", MS));
		EXPECT(STORE_OK, delete (&c, 100 + i));
	}
	stop(&c);
}

/*
 * Requests that an ended helper has not read are sent again, so the next one
 * finds them twice.
 */
static void test_a_request_that_came_twice_is_done_once(void)
{
	struct client c = start();
	char id[STORE_ID_BYTES];
	uint64_t number;
	int fd;

	EXPECT(STORE_OK, client_put(&c, 7, 0, SMALL, MS));
	client_kill(&c);
	sample_id(7, id);
	number = client_send(&c, MESSAGE_DELETE, id, -1, 0, MS);
	c.number--;
	CHECK_NUMBER(client_send(&c, MESSAGE_DELETE, id, -1, 0, MS), ==,
		     number);
	client_start(&c);
	EXPECT(STORE_OK, client_wait(&c, number, &fd));
	EXPECT(STORE_OK, client_put(&c, 7, 0, SMALL, MS));
	EXPECT(STORE_OK, client_read(&c, 7, "a.jpg", MS));
	for (size_t i = 0; i < CLIENT_ANSWERS_MAX; i++)
		CHECK(!c.answers[i].is_used);
	EXPECT(STORE_OK, delete (&c, 7));
	stop(&c);
}

/* With other keys, or another bucket. */
static void expect_refusal(const char *variable, const char *value,
			   const char *bucket, const char *part)
{
	char *kept = strdup(getenv(variable)), out[512];
	struct client c = client_new();
	struct message m;

	if (bucket != NULL)
		c.arguments[1] = bucket;
	setenv(variable, value, 1);
	client_start(&c);
	m = EXPECT(STORE_FAILED, probe(&c));
	expect_detail(&m, part);
	m = EXPECT(STORE_FAILED, client_put(&c, 4, 0, SMALL, MS));
	CHECK_NUMBER(client_command(&c, "check", out, sizeof(out)), ==, 1);
	CHECK_PART(out, part);
	CHECK(strstr(out, "secret/") == NULL);
	setenv(variable, kept, 1);
	free(kept);
	stop(&c);
}

static void test_a_refusal_has_a_reason(void)
{
	const char *key = getenv("AWS_ACCESS_KEY_ID");

	expect_refusal("AWS_SECRET_ACCESS_KEY", "secret/wrong", NULL,
		       "403 SignatureDoesNotMatch");
	expect_refusal("AWS_ACCESS_KEY_ID", "nobody:else", NULL,
		       "403 " /* Swift: SignatureDoesNotMatch */);
	expect_refusal("AWS_ACCESS_KEY_ID", key, "missing-bucket",
		       "404 NoSuchBucket");
}

/* They would be taken out of the path on its way. */
static void test_dots_in_a_prefix_are_refused(void)
{
	static const char *const prefixes[] = { ".", "..", "a/../b", "a/." };

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		struct client c = client_new();
		char out[512];

		c.arguments[3] = prefixes[i];
		CHECK_NUMBER(client_command(&c, "check", out, sizeof(out)), ==,
			     2);
		CHECK_PART(out, "may be '.' or '..'");
	}
}

/* HEAD of the bucket is refused, but not its list, which has no length. */
static void test_a_probe_may_be_answered_by_a_list(void)
{
	struct client c = start();

	fake_s3_do(fake, "quota 1 HEAD");
	fake_s3_do(fake, "chunked 1 GET list-type");
	EXPECT(STORE_OK, probe(&c));
	stop(&c);
}

/* -- Faults -- */

static void test_faults_that_pass_are_not_seen(void)
{
	static const char *const orders[] = {
		"503 2 PUT",      "500 2 -",       "429 1 GET",
		"cut 2 PUT",      "cut 2 GET",     "truncate 2 GET",
		"badrange 1 GET", "slow 1 GET",    "norange 1 GET",
		"cut 1 HEAD",     "hugeerror 1 -",
	};
	struct client c = start();
	struct message m;

	for (unsigned i = 0; i < ARRAY_SIZE(orders); i++) {
		fake_s3_do(fake, orders[i]);
		EXPECT(STORE_OK, client_put(&c, 200 + i, 0, LARGE, MS));
		EXPECT(STORE_OK, client_read(&c, 200 + i, "a.jpg", MS));
		m = EXPECT(STORE_OK, delete (&c, 200 + i));
		/* Not used up by requests of other kinds. */
		fake_s3_do(fake, "none 1000");
	}
	/* libcurl itself repeats what an old connection did not take. */
	CHECK_NUMBER(m.figures.retries, >=, 9);
	stop(&c);
}

/* Put sample 56, until an answer gives this reason. */
static void put_until(struct client *c, const char *part)
{
	struct message m;

	do
		m = EXPECT(STORE_UNAVAILABLE, client_put(c, 56, 0, SMALL, 300));
	while (strstr(m.detail, part) == NULL);
}

/* After each, the image is stored; a read of it shows that. */
static void test_only_200_with_its_etag_is_a_put(void)
{
	static const char *const orders[] = {
		"202 1 PUT",           "204 1 PUT",       "206 1 PUT",
		"errorbody 1 PUT",     "lateerror 1 PUT", "utf16error 1 PUT",
		"etag 1 PUT",          "noetag 1 PUT",    "twoetags 1 PUT",
		"etagtrailer 1 PUT",   "weaketag 1 PUT",  "emptyetag 1 PUT",
		"emptyweaketag 1 PUT", "quoteetag 1 PUT", "kmsother 1 PUT",
	};
	struct client c = start();
	struct message m;

	for (unsigned i = 0; i < ARRAY_SIZE(orders); i++) {
		fake_s3_do(fake, orders[i]);
		m = EXPECT(STORE_OK, client_put(&c, 300 + i, 0, SMALL, MS));
		CHECK_NUMBER(m.figures.retries, ==, i + 1);
		EXPECT(STORE_OK, client_read(&c, 300 + i, "a.jpg", MS));
	}
	fake_s3_do(fake, "206 100000 PUT");
	put_until(&c, "answered 206 to a PUT");
	fake_s3_do(fake, "errorbody 100000 PUT");
	put_until(&c, "200 with the error InternalError");
	fake_s3_do(fake, "lateerror 100000 PUT");
	put_until(&c, "200 with a body of more than 4,095 bytes");
	fake_s3_do(fake, "utf16error 100000 PUT");
	put_until(&c, "200 with a body that is not ASCII or UTF-8");
	fake_s3_do(fake, "twoetags 100000");
	put_until(&c, "two ETags that differ");
	fake_s3_do(fake, "none 1000000");
	stop(&c);
}

/* After each, the image is gone; a read of it shows that. */
static void test_a_removal_with_an_error_is_repeated(void)
{
	static const char *const orders[] = { "errorbody 1 DELETE",
					      "lateerror 1 DELETE",
					      "utf16error 1 DELETE",
					      "page 1 DELETE" };
	struct client c = start();
	struct message m;

	for (unsigned i = 0; i < ARRAY_SIZE(orders); i++) {
		EXPECT(STORE_OK, client_put(&c, 61, 0, SMALL, MS));
		fake_s3_do(fake, orders[i]);
		m = EXPECT(STORE_OK, delete (&c, 61));
		CHECK_NUMBER(m.figures.retries, ==, i + 1);
		EXPECT(STORE_NOT_FOUND, client_read(&c, 61, "", MS));
	}
	stop(&c);
}

/* Not even one that looks like the begin of another reply. */
static void test_trailers_say_nothing(void)
{
	struct client c = start();
	struct message m;

	EXPECT(STORE_OK, client_put(&c, 62, 0, LARGE, MS));
	fake_s3_do(fake, "trailer 1000 GET");
	EXPECT(STORE_OK, client_read(&c, 62, "a.jpg", MS));
	m = EXPECT(STORE_OK, client_read(&c, 62, "b.jpg", MS));
	CHECK_NUMBER(m.figures.retries, ==, 0);
	fake_s3_do(fake, "none 1000000");
	stop(&c);
}

/* Its ETag is not the MD5 of what was put. */
static void test_an_encrypted_image_is_put(void)
{
	struct client c = start();
	struct message m;

	fake_s3_do(fake, "kms 1 PUT");
	m = EXPECT(STORE_OK, client_put(&c, 57, 0, SMALL, MS));
	CHECK_NUMBER(m.figures.requests, ==, 1);
	stop(&c);
}

static void test_a_frozen_store_is_asked_again(void)
{
	struct client c = start();
	struct message m;

	fake_s3_do(fake, "hang 1 PUT");
	m = EXPECT(STORE_OK, client_put(&c, 5, 0, SMALL, MS));
	CHECK_NUMBER(m.figures.retries, ==, 1);
	stop(&c);
}

static void test_a_request_ends_at_its_deadline(void)
{
	struct client c = start();
	struct message m;
	unsigned ms = 300;

	fake_s3_do(fake, "503 100000");
	/* On a busy machine the store may not be asked before the deadline. */
	do {
		m = EXPECT(STORE_UNAVAILABLE, client_put(&c, 6, 0, SMALL, ms));
		ms *= 2;
	} while (strstr(m.detail, "503 SlowDown") == NULL && ms < MS);
	expect_detail(&m, "503 SlowDown");
	m = EXPECT(STORE_UNAVAILABLE, probe(&c));
	fake_s3_do(fake, "hang 1000");
	m = EXPECT(STORE_UNAVAILABLE, client_read(&c, 6, "", 300));
	fake_s3_do(fake, "none 100000");
	EXPECT(STORE_NOT_FOUND, client_read(&c, 6, "", MS));
	stop(&c);
}

static void test_each_failure_has_its_answer(void)
{
	static const struct {
		const char *order;
		enum store_answer answer;
		const char *part;
	} cases[] = {
		{ "507 1 PUT", STORE_FULL, "507" },
		{ "quota 1 PUT", STORE_FULL, "QuotaExceeded" },
		{ "skew 1 PUT", STORE_FAILED, "clock" },
		{ "redirect 1 PUT", STORE_FAILED, "redirects" },
	};
	struct client c = start();
	struct message m;

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		check_case("cases[%zu]: %s", (size_t)i, cases[i].order);
		fake_s3_do(fake, cases[i].order);
		m = EXPECT(cases[i].answer, client_put(&c, 7, 0, SMALL, MS));
		expect_detail(&m, cases[i].part);
	}
	CHECK_NUMBER(m.figures.retries, ==, 0);
	stop(&c);
}

/*
 * A balancer whose servers are away, or a wrong path, must not look as if an
 * image were gone, or removed.
 */
static void test_a_404_must_say_that_the_object_is_missing(void)
{
	static const char *const faults[] = { "404", "noversion", "denied404" };
	struct client c = start();
	struct message m;
	char head[32], get[32], removal[32];

	for (unsigned i = 0; i < ARRAY_SIZE(faults); i++) {
		snprintf(head, sizeof(head), "%s 1 HEAD", faults[i]);
		snprintf(get, sizeof(get), "%s 1 GET", faults[i]);
		snprintf(removal, sizeof(removal), "%s 1 DELETE", faults[i]);
		EXPECT(STORE_OK, client_put(&c, 67, 0, SMALL, MS));
		fake_s3_do(fake, get);
		m = EXPECT(STORE_FAILED, client_read(&c, 67, "", MS));
		expect_detail(&m, "the store answered 404");
		fake_s3_do(fake, head);
		fake_s3_do(fake, get);
		m = EXPECT(STORE_FAILED, delete (&c, 67));
		expect_detail(&m, "the store answered 404");
		fake_s3_do(fake, removal);
		m = EXPECT(STORE_FAILED, delete (&c, 67));
		expect_detail(&m, "the store answered 404");
		EXPECT(STORE_OK, client_read(&c, 67, "a.jpg", MS));
		fake_s3_do(fake, head);
		EXPECT(STORE_OK, delete (&c, 67));
		EXPECT(STORE_NOT_FOUND, client_read(&c, 67, "", MS));
		EXPECT(STORE_NOT_FOUND, delete (&c, 67));
	}
	CHECK_NUMBER(m.figures.retries, ==, 0);
	stop(&c);
}

static void test_a_store_without_conditions_is_remembered(void)
{
	struct client c = start();
	struct message m;

	fake_s3_do(fake, "noconditions 100000");
	for (unsigned i = 1; i <= 8; i++) {
		m = EXPECT(STORE_OK, client_put(&c, 8, 0, SMALL, MS));
		CHECK_NUMBER(m.figures.requests, ==, 2 * i);
	}
	m = EXPECT(STORE_OK, client_put(&c, 8, 0, SMALL, MS));
	CHECK_NUMBER(m.figures.requests, ==, 17);
	CHECK_NUMBER(m.figures.retries, ==, 0);
	fake_s3_do(fake, "none 100000");
	stop(&c);
}

/*
 * If the same is answered without a condition, or not the next time, it is not
 * for the condition.
 */
static void test_one_501_is_not_remembered(void)
{
	struct client c = start();
	struct message m;

	EXPECT(STORE_OK, client_put(&c, 65, 0, SMALL, MS));
	fake_s3_do(fake, "501 2 PUT");
	m = EXPECT(STORE_FAILED, client_put(&c, 65, 0, SMALL, MS));
	expect_detail(&m, "501 NotImplemented");
	for (unsigned i = 0; i < 10; i++) {
		m = EXPECT(STORE_OK, client_put(&c, 65, 0, SMALL, MS));
		CHECK(m.is_same);
		fake_s3_do(fake, "501 1 PUT");
		m = EXPECT(STORE_OK, client_put(&c, 65, 0, SMALL, MS));
		CHECK(!m.is_same);
	}
	EXPECT(STORE_OK, delete (&c, 65));
	stop(&c);
}

static void test_an_image_is_the_same_if_its_head_is(void)
{
	static const char *const orders[] = { "etag 1 HEAD", "weak 1 HEAD",
					      "shorter 1 HEAD",
					      "marker 1 HEAD" };
	struct client c = start();
	struct message m;

	m = EXPECT(STORE_OK, client_put(&c, 9, 0, SMALL, MS));
	CHECK(!m.is_same);
	CHECK_NUMBER(m.figures.requests, ==, 1);
	m = EXPECT(STORE_OK, client_put(&c, 9, 0, SMALL, MS));
	CHECK(m.is_same);
	CHECK_NUMBER(m.figures.requests, ==, 3);
	for (unsigned i = 0; i < ARRAY_SIZE(orders); i++) {
		fake_s3_do(fake, orders[i]);
		m = EXPECT(STORE_OK, client_put(&c, 9, 0, SMALL, MS));
		CHECK(!m.is_same);
		CHECK_NUMBER(m.figures.requests, ==, 6 + 3 * i);
	}
	stop(&c);
}

static void test_verify_finds_what_is_damaged(void)
{
	struct client c = start();
	char out[4096], id[STORE_ID_BYTES], order[128];

	EXPECT(STORE_OK, client_put(&c, 10, 0, SMALL, MS));
	CHECK_NUMBER(client_command(&c, "verify", out, sizeof(out)), ==, 0);
	fake_s3_damage(fake);
	sample_id(10, id);
	CHECK_NUMBER(client_command(&c, "verify", out, sizeof(out)), ==, 1);
	CHECK_PART(out, id);
	CHECK_PART(out, ": damaged");
	fake_s3_damage(fake);
	/* A package that is whole, but that of another image. */
	EXPECT(STORE_OK, client_put(&c, 11, 0, SMALL, MS));
	/* If it is longer, it is listed and fetched again. */
	snprintf(order, sizeof(order), "other 3 GET %s", id);
	fake_s3_do(fake, order);
	CHECK_NUMBER(client_command(&c, "verify", out, sizeof(out)), ==, 1);
	CHECK_PART(out, id);
	CHECK_PART(out, ": damaged");
	fake_s3_do(fake, "none 1");
	EXPECT(STORE_OK, delete (&c, 11));
	stop(&c);
}

/* So the server knows what memory it takes, also if a store ignores ranges. */
static void test_a_read_has_only_what_was_asked_for(void)
{
	struct client c = start();
	char id[STORE_ID_BYTES];
	struct message m;
	struct stat file;
	int fd;

	EXPECT(STORE_OK, client_put(&c, 58, 0, LARGE, MS));
	sample_id(58, id);
	for (unsigned i = 0; i < 2; i++) {
		fake_s3_do(fake, i == 0 ? "none 1" : "norange 1 GET");
		m = EXPECT(STORE_OK,
			   client_wait(&c,
				       client_send_read(&c, id, 1000, 500,
							false, MS),
				       &fd));
		CHECK_NUMBER(m.from, ==, 1000);
		CHECK_NUMBER(m.bytes, >, LARGE);
		CHECK(!m.is_copy);
		CHECK_NUMBER(fstat(fd, &file), ==, 0);
		CHECK_NUMBER(file.st_size, ==, 500);
		close(fd);
	}
	/* Shorter at the end, and nothing after it. */
	EXPECT(STORE_OK, client_wait(&c,
				     client_send_read(&c, id, m.bytes - 10, 500,
						      false, MS),
				     &fd));
	CHECK_NUMBER(fstat(fd, &file), ==, 0);
	CHECK_NUMBER(file.st_size, ==, 10);
	close(fd);
	EXPECT(STORE_DAMAGED,
	       client_wait(&c, client_send_read(&c, id, m.bytes, 1, false, MS),
			   &fd));
	stop(&c);
}

/* Send `count` READs of objects, whose GETs hang. */
static void send_reads(struct client *c, unsigned count, uint64_t *last)
{
	char id[STORE_ID_BYTES];

	for (unsigned i = 0; i < count; i++) {
		sample_id(1000 + i, id);
		*last = client_send_read(c, id, 0, PACKAGE_HEAD_BYTES, false,
					 0);
	}
}

/* However many reads wait for the store, a put does not wait for them. */
static void test_reads_do_not_keep_puts_waiting(void)
{
	struct client c = start();
	uint64_t last;
	struct message m;
	int fd;

	fake_s3_do(fake, "hang 1000000 GET");
	send_reads(&c, 200, &last);
	EXPECT(STORE_OK, client_put(&c, 59, 0, SMALL, MS));
	send_reads(&c, 200, &last);
	m = EXPECT(STORE_UNAVAILABLE, client_wait(&c, last, &fd));
	expect_detail(&m, "too many reads");
	EXPECT(STORE_OK, client_put(&c, 60, 0, SMALL, MS));
	client_kill(&c); /* it would wait for the reads */
	fake_s3_do(fake, "none 1000000");
	client_start(&c);
	EXPECT(STORE_OK, delete (&c, 60));
	stop(&c);
}

static void test_a_list_has_no_control_characters(void)
{
	struct client c = start();
	char out[8192];

	EXPECT(STORE_OK, client_put(&c, 11, 0, SMALL, MS));
	fake_s3_do(fake, "control 1000000 GET list-type");
	CHECK_NUMBER(client_command(&c, "list", out, sizeof(out)), ==, 0);
	CHECK_PART(out, " a\\x0ab\\x5c\\xc2\\x9b\\x7f\n");
	for (const char *at = out; *at != '\0'; at++)
		CHECK(*at == '\n' || (*at >= ' ' && *at <= '~'));
	fake_s3_do(fake, "none 1000000");
	EXPECT(STORE_OK, delete (&c, 11));
	stop(&c);
}

/* -- The cache -- */

static char cache_dir[SCRATCH_PATH_BYTES];

static struct client start_cached(void)
{
	struct client c = client_new();

	client_add(&c, "--cache", scratch_path(&scratch, "cache", cache_dir));
	client_add(&c, "--cache-quota", "1M");
	client_start(&c);
	return c;
}

/* The name of the copy of a sample, below the scratch folder. */
static const char *copy_name(unsigned number)
{
	static char name[128];
	char id[STORE_ID_BYTES];

	sample_id(number, id);
	snprintf(name, sizeof(name), "cache/%.2s/%s", id, id);
	return name;
}

static void test_a_second_read_is_from_the_cache(void)
{
	struct client c = start_cached();
	struct message m;

	EXPECT(STORE_OK, client_put(&c, 11, 0, LARGE, MS));
	EXPECT(STORE_OK, client_read(&c, 11, "a.jpg", MS));
	m = EXPECT(STORE_OK, client_read(&c, 11, "b.jpg", MS));
	CHECK_NUMBER(m.figures.get_count, ==, 1);
	CHECK_NUMBER(m.figures.cache_hits, ==, 1);
	CHECK_NUMBER(m.figures.cache_misses, ==, 1);
	CHECK_NUMBER(m.figures.now.cache_bytes, >, LARGE);
	/* After a restart, too. */
	client_kill(&c);
	client_start(&c);
	m = EXPECT(STORE_OK, client_read(&c, 11, "b.jpg", MS));
	CHECK_NUMBER(m.figures.get_count, ==, 0);
	CHECK_NUMBER(m.figures.cache_hits, ==, 1);
	EXPECT(STORE_OK, delete (&c, 11));
	CHECK(!scratch_has(&scratch, copy_name(11)));
	m = EXPECT(STORE_NOT_FOUND, client_read(&c, 11, "b.jpg", MS));
	CHECK_NUMBER(m.figures.now.cache_bytes, ==, 0);
	stop(&c);
}

static void test_reads_at_once_are_one_get(void)
{
	struct client c = start_cached();
	uint64_t numbers[8];
	char id[STORE_ID_BYTES];
	struct message m;
	int fd;

	EXPECT(STORE_OK, client_put(&c, 12, 0, LARGE, MS));
	fake_s3_do(fake, "slow 1 GET");
	sample_id(12, id);
	for (unsigned i = 0; i < ARRAY_SIZE(numbers); i++)
		numbers[i] = client_send_read(&c, id, 0, PACKAGE_HEAD_BYTES,
					      false, MS);
	for (unsigned i = 0; i < ARRAY_SIZE(numbers); i++) {
		m = EXPECT(STORE_OK, client_wait(&c, numbers[i], &fd));
		CHECK(is_file_good(fd, m.bytes, "b.jpg"));
		close(fd);
	}
	CHECK_NUMBER(m.figures.get_count, ==, 1);
	stop(&c);
}

/* Begin to read; the store has found the object, or not, but sends slowly. */
static uint64_t begin_slow_read(struct client *c, unsigned number)
{
	unsigned before = fake_s3_count(fake).get;
	char id[STORE_ID_BYTES];
	uint64_t call;

	sample_id(number, id);
	fake_s3_do(fake, "slow 1 GET");
	call = client_send_read(c, id, 0, PACKAGE_HEAD_BYTES, false, MS);
	while (fake_s3_count(fake).get == before)
		(void)usleep(1000);
	return call;
}

/* The server must not be able to change a copy. */
static void expect_only_read(int fd)
{
	CHECK_NUMBER(fd, >=, 0);
	CHECK_NUMBER((fcntl(fd, F_GETFL) & O_ACCMODE), ==, O_RDONLY);
	CHECK_NUMBER(pwrite(fd, "x", 1, 0), ==, -1);
	close(fd);
}

static void test_a_copy_cannot_be_changed_through_its_descriptor(void)
{
	struct client c = start_cached();
	char id[STORE_ID_BYTES];
	uint64_t first;
	int fd;

	EXPECT(STORE_OK, client_put(&c, 63, 0, LARGE, MS));
	sample_id(63, id);
	for (unsigned i = 0; i < 2; i++) { /* fetched, and found */
		EXPECT(STORE_OK,
		       client_wait(&c,
				   client_send_read(&c, id, 0, 1, false, MS),
				   &fd));
		expect_only_read(fd);
	}
	/* One that is not kept. */
	EXPECT(STORE_OK, client_put(&c, 64, 0, LARGE, MS));
	first = begin_slow_read(&c, 64);
	EXPECT(STORE_OK, delete (&c, 64));
	EXPECT(STORE_OK, client_wait(&c, first, &fd));
	expect_only_read(fd);
	EXPECT(STORE_OK, delete (&c, 63));
	stop(&c);
}

/* A GET that began before a PUT or DELETE is not for a read after it. */
static void test_a_read_sees_what_was_confirmed(void)
{
	struct client c = start_cached();
	uint64_t first;
	int fd;

	first = begin_slow_read(&c, 13);
	EXPECT(STORE_OK, client_put(&c, 13, 0, LARGE, MS));
	EXPECT(STORE_OK, client_read(&c, 13, "a.jpg", MS));
	EXPECT(STORE_NOT_FOUND, client_wait(&c, first, &fd));

	EXPECT(STORE_OK, client_put(&c, 14, 0, LARGE, MS));
	first = begin_slow_read(&c, 14);
	EXPECT(STORE_OK, delete (&c, 14));
	EXPECT(STORE_NOT_FOUND, client_read(&c, 14, "a.jpg", MS));
	EXPECT(STORE_OK, client_wait(&c, first, &fd));
	close(fd);
	CHECK(!scratch_has(&scratch, copy_name(14)));
	stop(&c);
}

static void test_only_whole_objects_are_cached(void)
{
	struct client c = start_cached();
	char path[SCRATCH_PATH_BYTES];

	EXPECT(STORE_OK, client_put(&c, 13, 0, LARGE, MS));
	fake_s3_do(fake, "truncate 1000 GET");
	EXPECT(STORE_UNAVAILABLE, client_read(&c, 13, "a.jpg", 300));
	fake_s3_do(fake, "flip 1000 GET");
	EXPECT(STORE_DAMAGED, client_read(&c, 13, "a.jpg", MS));
	CHECK(!scratch_has(&scratch, copy_name(13)));
	fake_s3_do(fake, "other 1000 GET");
	EXPECT(STORE_DAMAGED, client_read(&c, 13, "a.jpg", MS));
	CHECK(!scratch_has(&scratch, copy_name(13)));
	/* What is wrong once is fetched again. */
	fake_s3_do(fake, "none 1000 GET");
	fake_s3_do(fake, "other 1 GET");
	EXPECT(STORE_OK, client_read(&c, 13, "a.jpg", MS));
	scratch_path(&scratch, copy_name(13), path);
	CHECK_NUMBER(unlink(path), ==, 0);
	fake_s3_do(fake, "flip 1 GET");
	EXPECT(STORE_OK, client_read(&c, 13, "a.jpg", MS));
	CHECK(scratch_has(&scratch, copy_name(13)));
	stop(&c);
}

/* Change the copy of sample 14, and read it. */
static void expect_repair(struct client *c, const char *what)
{
	char path[SCRATCH_PATH_BYTES], other[SCRATCH_PATH_BYTES];
	struct message before = probe(c), after;
	FILE *file;

	scratch_path(&scratch, copy_name(14), path);
	if (strcmp(what, "truncate") == 0) {
		CHECK_NUMBER(truncate(path, 100), ==, 0);
	} else if (strcmp(what, "change") == 0) {
		file = fopen(path, "r+");
		CHECK(file != NULL);
		fseek(file, -5, SEEK_END);
		fputs("12345", file);
		fclose(file);
	} else if (strcmp(what, "other") == 0) {
		/* The whole copy of another image, of the same length. */
		scratch_path(&scratch, copy_name(13), other);
		CHECK_NUMBER(unlink(path), ==, 0);
		CHECK_NUMBER(link(other, path), ==, 0);
	} else if (strcmp(what, "link") == 0) {
		CHECK_NUMBER(unlink(path), ==, 0);
		CHECK_NUMBER(symlink("/etc/passwd", path), ==, 0);
	} else {
		CHECK_NUMBER(unlink(path), ==, 0);
	}
	EXPECT(STORE_OK, client_read(c, 14, "b.jpg", MS));
	after = EXPECT(STORE_OK, client_read(c, 14, "b.jpg", MS));
	CHECK_NUMBER(after.figures.get_count, ==, before.figures.get_count + 1);
	CHECK_NUMBER(after.figures.now.cache_bytes, ==,
		     before.figures.now.cache_bytes);
}

static void test_a_changed_copy_is_fetched_again(void)
{
	struct client c = start_cached();

	EXPECT(STORE_OK, client_put(&c, 14, 0, LARGE, MS));
	EXPECT(STORE_OK, client_read(&c, 14, "a.jpg", MS));
	expect_repair(&c, "truncate");
	expect_repair(&c, "change");
	expect_repair(&c, "link");
	expect_repair(&c, "remove");
	expect_repair(&c, "other");
	stop(&c);
}

/* The server has found that a copy is damaged. */
static void test_a_fresh_read_is_from_the_store(void)
{
	struct client c = start_cached();
	struct message m;
	char id[STORE_ID_BYTES];
	int fd;

	EXPECT(STORE_OK, client_put(&c, 14, 0, LARGE, MS));
	m = EXPECT(STORE_OK, client_read(&c, 14, "a.jpg", MS));
	sample_id(14, id);
	for (unsigned i = 1; i <= 2; i++) {
		struct message next = EXPECT(
			STORE_OK,
			client_wait(&c,
				    client_send_read(&c, id, 0, 1, i == 2, MS),
				    &fd));

		CHECK(next.is_copy);
		CHECK_NUMBER(next.from, ==, 0);
		CHECK(is_file_good(fd, next.bytes, "b.jpg"));
		CHECK_NUMBER(next.figures.get_count, ==,
			     m.figures.get_count + i - 1);
		close(fd);
	}
	stop(&c);
}

static void test_the_quota_is_kept(void)
{
	struct client c = start_cached();
	struct message m;

	scratch_write_text(&scratch, "cache/not-mine", "x");
	scratch_write_text(&scratch, "cache/tmp/not-mine", "x");
	for (unsigned i = 0; i < 6; i++) {
		EXPECT(STORE_OK, client_put(&c, 20 + i, 0, LARGE, MS));
		m = EXPECT(STORE_OK, client_read(&c, 20 + i, "a.jpg", MS));
		CHECK_NUMBER(m.figures.now.cache_bytes, <=, 1 << 20);
		/* The first is used again and again, so it stays. */
		EXPECT(STORE_OK, client_read(&c, 20, "a.jpg", MS));
	}
	CHECK_NUMBER(m.figures.cache_evictions, >=, 3);
	CHECK(scratch_has(&scratch, copy_name(20)));
	CHECK(!scratch_has(&scratch, copy_name(21)));
	/* One that is larger than the quota is not kept. */
	EXPECT(STORE_OK, client_put(&c, 26, 0, 2 << 20, MS));
	EXPECT(STORE_OK, client_read(&c, 26, "b.jpg", MS));
	m = EXPECT(STORE_OK, client_read(&c, 26, "a.jpg", MS));
	CHECK_NUMBER(m.figures.now.cache_bytes, <=, 1 << 20);
	CHECK(scratch_has(&scratch, "cache/not-mine"));
	CHECK(scratch_has(&scratch, "cache/tmp/not-mine"));
	stop(&c);
}

static void test_a_copy_that_cannot_be_removed_still_counts(void)
{
	struct client c = start_cached();
	char path[SCRATCH_PATH_BYTES];
	struct message m;

	EXPECT(STORE_OK, client_put(&c, 30, 0, LARGE, MS));
	EXPECT(STORE_OK, client_read(&c, 30, "a.jpg", MS));
	scratch_path(&scratch, copy_name(30), path);
	CHECK_NUMBER(unlink(path), ==, 0);
	CHECK_NUMBER(mkdir(path, 0700), ==, 0);
	for (unsigned i = 0; i < 5; i++) {
		EXPECT(STORE_OK, client_put(&c, 31 + i, 0, LARGE, MS));
		EXPECT(STORE_OK, client_read(&c, 31 + i, "a.jpg", MS));
		m = EXPECT(STORE_OK, client_read(&c, 30, "a.jpg", MS));
		CHECK_NUMBER(m.figures.now.cache_bytes, >, LARGE);
		CHECK_NUMBER(m.figures.now.cache_bytes, <=, 1 << 20);
	}
	CHECK_NUMBER(rmdir(path), ==, 0);
	stop(&c);
}

/* The disk is full while a copy is written; here, a file may not be so long. */
static void test_a_copy_that_cannot_be_written_is_counted(void)
{
	struct rlimit before, small;
	struct client c;
	struct message m;

	CHECK_NUMBER(getrlimit(RLIMIT_FSIZE, &before), ==, 0);
	small = before;
	small.rlim_cur = LARGE / 2;
	(void)signal(SIGXFSZ, SIG_IGN); /* also of the helper */
	CHECK_NUMBER(setrlimit(RLIMIT_FSIZE, &small), ==, 0);
	c = start_cached();
	CHECK_NUMBER(setrlimit(RLIMIT_FSIZE, &before), ==, 0);
	EXPECT(STORE_OK, client_put(&c, 70, 0, LARGE, MS));
	m = EXPECT(STORE_OK, client_read(&c, 70, "", MS));
	CHECK_NUMBER(m.figures.cache_failures, ==, 1);
	CHECK_NUMBER(m.figures.now.cache_error, ==, EFBIG);
	CHECK(!scratch_has(&scratch, copy_name(70)));
	EXPECT(STORE_OK, delete (&c, 70));
	stop(&c);
}

/* Remove the file of the copy that is being written.  False: too late. */
static bool remove_draft(struct client *c, unsigned number)
{
	char path[SCRATCH_PATH_BYTES], name[64];
	bool is_removed = false;
	uint64_t call;
	int fd;

	snprintf(name, sizeof(name), "cache/tmp/%016x", number - 71);
	scratch_path(&scratch, name, path);
	EXPECT(STORE_OK, client_put(c, number, 0, LARGE, MS));
	call = begin_slow_read(c, number);
	while (!is_removed && !scratch_has(&scratch, copy_name(number)))
		is_removed = unlink(path) == 0;
	EXPECT(STORE_OK, client_wait(c, call, &fd));
	close(fd);
	EXPECT(STORE_OK, delete (c, number));
	return is_removed;
}

static void test_a_copy_that_is_removed_early_is_counted(void)
{
	struct client c = start_cached();
	unsigned number = 71;
	struct message m;

	while (!remove_draft(&c, number))
		number++;
	m = EXPECT(STORE_OK, probe(&c));
	CHECK_NUMBER(m.figures.cache_failures, ==, 1);
	CHECK_NUMBER(m.figures.now.cache_error, ==, ENOENT);
	stop(&c);
}

static void test_another_folder_is_refused(void)
{
	struct client c = client_new();
	char path[SCRATCH_PATH_BYTES];

	scratch_mkdir(&scratch, "mine");
	scratch_write_text(&scratch, "mine/photo", "x");
	client_add(&c, "--cache", scratch_path(&scratch, "mine", path));
	client_start(&c);
	CHECK_NUMBER(client_stop(&c), ==, 2);
	CHECK(scratch_has(&scratch, "mine/photo"));
	CHECK(!scratch_has(&scratch, "mine/tmp"));
}

/* -- Credentials -- */

static void expect_keys(const char *text, int status, const char *part)
{
	char path[SCRATCH_PATH_BYTES], out[512];
	struct client c = client_new();

	scratch_write_text(&scratch, "keys", text);
	client_add(&c, "--credentials-file",
		   scratch_path(&scratch, "keys", path));
	if (client_command(&c, "check", out, sizeof(out)) == status &&
	    strstr(out, part) != NULL)
		return;
	fprintf(stderr, "'%s': '%s'\n", text, out);
	abort();
}

static void test_keys_from_a_file(void)
{
	expect_keys("# mine\n[other]\naws_access_key_id = x\n"
		    "[default]\nregion = here\n"
		    "aws_access_key_id = " FAKE_S3_KEY "\r\n"
		    "aws_secret_access_key=" FAKE_S3_SECRET "\n",
		    0, "can be used");
	expect_keys("[default]\naws_access_key_id = " FAKE_S3_KEY "\n"
		    "aws_secret_access_key=" FAKE_S3_SECRET "\n"
		    "aws_session_token = 0123\n",
		    0, "can be used");
	expect_keys("[default]\naws_access_key_id\n", 2, "keys: line 2");
	expect_keys("[default\n", 2, "keys: line 1");
	expect_keys("[default]\naws_access_key_id = x\n", 2,
		    "has no aws_secret_access_key");
	expect_keys("[other]\n", 2, "no profile [default]");
	expect_keys("[default]\naws_access_key_id = x y\n", 2, "line 2");
}

/* -- For test_store_s3.sh -- */

enum { IN_FLIGHT = 32, LOAD_BYTES = 50000, LOAD_MS = 60000 };

struct flight {
	uint64_t request;
	unsigned sample;
};

static void begin_flight(struct client *c, struct flight *f, unsigned sample)
{
	struct package p;
	int fd = sample_package(sample, 0, LOAD_BYTES, &p);
	char id[STORE_ID_BYTES];

	sample_id(sample, id);
	f->sample = sample;
	f->request = client_send(c, MESSAGE_PUT, id, fd, p.bytes, LOAD_MS);
	close(fd);
}

static void end_flight(struct client *c, const struct flight *f)
{
	int fd;
	struct message m = client_wait(c, f->request, &fd);

	if (m.answer == STORE_OK)
		printf("%u\n", f->sample);
	else
		fprintf(stderr, "%s\n", m.detail);
	fflush(stdout);
}

static void put_many(unsigned first, unsigned count)
{
	struct client c = start();
	struct flight flights[IN_FLIGHT];

	for (unsigned i = 0; i < count + IN_FLIGHT; i++) {
		struct flight *f = &flights[i % IN_FLIGHT];

		if (i >= IN_FLIGHT && i - IN_FLIGHT < count)
			end_flight(&c, f);
		if (i < count)
			begin_flight(&c, f, first + i);
	}
	stop(&c);
}

static void read_many(void)
{
	struct client c = start();
	unsigned sample, count = 0;

	while (scanf("%u", &sample) == 1) {
		EXPECT(STORE_OK, client_read(&c, sample, "b.jpg", LOAD_MS));
		count++;
	}
	printf("%u images were read\n", count);
	stop(&c);
}

static void test_all(bool is_real)
{
	test_what_was_put_is_read_until_it_is_deleted();
	test_other_bytes_replace_an_image();
	test_files_beyond_the_head_are_read();
	test_many_requests_at_once();
	test_a_request_that_came_twice_is_done_once();
	test_a_killed_helper_loses_nothing_that_is_sent_again();
	test_a_refusal_has_a_reason();
	test_dots_in_a_prefix_are_refused();
	if (is_real)
		return;
	test_a_probe_may_be_answered_by_a_list();
	test_faults_that_pass_are_not_seen();
	test_only_200_with_its_etag_is_a_put();
	test_a_removal_with_an_error_is_repeated();
	test_trailers_say_nothing();
	test_an_encrypted_image_is_put();
	test_a_frozen_store_is_asked_again();
	test_a_request_ends_at_its_deadline();
	test_each_failure_has_its_answer();
	test_a_404_must_say_that_the_object_is_missing();
	test_a_store_without_conditions_is_remembered();
	test_one_501_is_not_remembered();
	test_an_image_is_the_same_if_its_head_is();
	test_verify_finds_what_is_damaged();
	test_a_read_has_only_what_was_asked_for();
	test_reads_do_not_keep_puts_waiting();
	test_a_list_has_no_control_characters();
	test_a_second_read_is_from_the_cache();
	test_reads_at_once_are_one_get();
	test_a_copy_cannot_be_changed_through_its_descriptor();
	test_a_read_sees_what_was_confirmed();
	test_only_whole_objects_are_cached();
	test_a_changed_copy_is_fetched_again();
	test_a_fresh_read_is_from_the_store();
	test_the_quota_is_kept();
	test_a_copy_that_cannot_be_removed_still_counts();
	test_a_copy_that_cannot_be_written_is_counted();
	test_a_copy_that_is_removed_early_is_counted();
	test_another_folder_is_refused();
	test_keys_from_a_file();
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[2] : "";
	unsigned port = 0;

	CHECK_NUMBER(argc, >, 1);
	program = argv[1];
	alarm(1200); /* a helper that does not answer ends the test */
	scratch_init(&scratch);
	if (*mode != '\0') {
		snprintf(endpoint, sizeof(endpoint), "%s",
			 getenv("S3_ENDPOINT"));
	} else {
		fake = fake_s3_start(&port);
		snprintf(endpoint, sizeof(endpoint), "http://127.0.0.1:%u",
			 port);
		setenv("AWS_ACCESS_KEY_ID", FAKE_S3_KEY, 1);
		setenv("AWS_SECRET_ACCESS_KEY", FAKE_S3_SECRET, 1);
	}
	if (strcmp(mode, "put") == 0 && argc == 5)
		put_many((unsigned)atoi(argv[3]), (unsigned)atoi(argv[4]));
	else if (strcmp(mode, "read") == 0)
		read_many();
	else
		test_all(*mode != '\0');
	if (fake != NULL)
		fake_s3_stop(fake);
	scratch_release(&scratch);
	return 0;
}
