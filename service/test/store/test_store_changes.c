/* SPDX-License-Identifier: MIT */
/*
 * Several servers change one image of an object store: a change is made of the
 * image as it is, or is refused; one that was removed does not come back.  What
 * a store cannot do is found out without harm to an image.
 *
 * usage: test_store_changes PROGRAM [real]
 * real: with the bucket S3_BUCKET at S3_ENDPOINT, and keys of the environment.
 * A store without conditional writes can do only the first change.
 */
#include "base/test/check.h"
#include "base/util.h"
#include "service/test/store/fake_s3.h"
#include "service/test/store/store_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SMALL = 3000, MS = 120000, SERVERS = 4, ROUNDS = 25, REFUSALS = 8 };

static const char *program;
static struct fake_s3 *fake; /* NULL: a real store */
static char endpoint[128];

static struct client start(void)
{
	struct client c = { .program = program };

	client_add(&c, "--bucket",
		   fake != NULL ? FAKE_S3_BUCKET : getenv("S3_BUCKET"));
	client_add(&c, "--prefix", "changes");
	client_add(&c, "--endpoint", endpoint);
	client_add(&c, "--path-style", NULL);
	client_start(&c);
	return c;
}

static void stop(struct client *c)
{
	int status = client_stop(c);

	CHECK_NUMBER(status, ==, 0);
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

static struct message delete (struct client *c, unsigned number)
{
	char id[STORE_ID_BYTES];
	int fd;

	sample_id(number, id);
	return client_wait(c, client_send(c, MESSAGE_DELETE, id, -1, 0, MS),
			   &fd);
}

/* Send a variant, to be put in place of that with this ETag; "": of none. */
static uint64_t send_over(struct client *c, unsigned number, unsigned variant,
			  const char *etag)
{
	struct package p;
	int fd = sample_package(number, variant, SMALL, &p);
	struct message m = { .kind = MESSAGE_PUT,
			     .bytes = p.bytes,
			     .must_be_new = *etag == '\0' };
	uint64_t sent;

	sample_id(number, m.id);
	snprintf(m.etag, sizeof(m.etag), "%s", etag);
	sent = client_send_message(c, &m, fd, MS);
	close(fd);
	return sent;
}

static struct message put_over(struct client *c, unsigned number,
			       unsigned variant, const char *etag)
{
	int none;

	return client_wait(c, send_over(c, number, variant, etag), &none);
}

/* Read the image itself; *variant is the one that it is. */
static struct message read_image(struct client *c, unsigned number,
				 unsigned *variant)
{
	char id[STORE_ID_BYTES], bytes[SMALL] = "";
	const char *at;
	struct message m;
	int fd;

	sample_id(number, id);
	m = client_wait(
		c, client_send_read(c, id, 0, PACKAGE_HEAD_BYTES, true, MS),
		&fd);
	if (fd < 0)
		return m;
	CHECK_NUMBER(pread(fd, bytes, sizeof(bytes) - 1, 0), >, 0);
	close(fd);
	at = strstr(bytes, "\"variant\":");
	CHECK(at != NULL);
	CHECK_NUMBER(sscanf(at, "\"variant\":%u", variant), ==, 1);
	return m;
}

static void expect_variant(struct client *c, unsigned number, unsigned wanted)
{
	unsigned variant = 0;

	EXPECT(STORE_OK, read_image(c, number, &variant));
	CHECK_NUMBER(variant, ==, wanted);
}

/* A change is made; does the store know conditional writes? */
static bool has_conditions(void)
{
	struct client c = start();
	struct message m;
	unsigned variant;

	(void)delete (&c, 12);
	EXPECT(STORE_OK, put_over(&c, 12, 0, ""));
	m = EXPECT(STORE_OK, read_image(&c, 12, &variant));
	m = EXPECT(STORE_OK, put_over(&c, 12, 1, m.etag));
	expect_variant(&c, 12, 1);
	EXPECT(STORE_OK, delete (&c, 12));
	stop(&c);
	return m.figures.now.lacks_conditions == 0;
}

/* The second of two changes of the same image is told that there was one. */
static void test_a_change_of_an_older_image_is_refused(void)
{
	struct client a = start(), b = start();
	struct message before, m;
	unsigned variant;

	(void)delete (&a, 1);
	EXPECT(STORE_OK, put_over(&a, 1, 0, ""));
	EXPECT(STORE_CHANGED, put_over(&b, 1, 9, ""));
	before = EXPECT(STORE_OK, read_image(&a, 1, &variant));
	CHECK_NUMBER(before.etag[0], !=, '\0');
	m = EXPECT(STORE_OK, put_over(&a, 1, 1, before.etag));
	CHECK_NUMBER(m.figures.now.lacks_conditions, ==, 0);
	EXPECT(STORE_CHANGED, put_over(&b, 1, 9, before.etag));
	EXPECT(STORE_CHANGED, put_over(&a, 1, 9, before.etag));
	expect_variant(&b, 1, 1);
	before = EXPECT(STORE_OK, read_image(&b, 1, &variant));
	EXPECT(STORE_OK, put_over(&b, 1, 2, before.etag));
	expect_variant(&a, 1, 2);
	stop(&a);
	stop(&b);
}

static void test_a_removed_image_does_not_come_back(void)
{
	struct client a = start(), b = start(), fresh;
	struct message m;
	unsigned variant;

	(void)delete (&a, 2);
	EXPECT(STORE_OK, put_over(&a, 2, 0, ""));
	m = EXPECT(STORE_OK, read_image(&b, 2, &variant));
	EXPECT(STORE_OK, put_over(&b, 2, 1, m.etag));
	m = EXPECT(STORE_OK, read_image(&b, 2, &variant));
	EXPECT(STORE_OK, delete (&a, 2));
	EXPECT(STORE_CHANGED, put_over(&b, 2, 2, m.etag));
	EXPECT(STORE_NOT_FOUND, read_image(&a, 2, &variant));
	/* One that has put nothing yet. */
	fresh = start();
	EXPECT(STORE_CHANGED, put_over(&fresh, 2, 2, m.etag));
	EXPECT(STORE_NOT_FOUND, read_image(&a, 2, &variant));
	stop(&fresh);
	stop(&a);
	stop(&b);
}

/* Exactly one of those that change the same image at once is successful. */
static void test_one_of_several_changes_is_made(void)
{
	struct client c[SERVERS];
	uint64_t sent[SERVERS];
	unsigned made = 0, variant;
	int none;

	for (unsigned i = 0; i < SERVERS; i++)
		c[i] = start();
	(void)delete (&c[0], 3);
	EXPECT(STORE_OK, put_over(&c[0], 3, 0, ""));
	for (unsigned round = 1; round <= ROUNDS; round++) {
		struct message m = read_image(&c[0], 3, &variant);
		unsigned now = 0;

		for (unsigned i = 0; i < SERVERS; i++)
			sent[i] = send_over(&c[i], 3, 10 * round + i, m.etag);
		for (unsigned i = 0; i < SERVERS; i++) {
			m = client_wait(&c[i], sent[i], &none);
			now += m.answer == STORE_OK;
			if (m.answer == STORE_OK)
				variant = 10 * round + i;
			else
				EXPECT(STORE_CHANGED, m);
		}
		CHECK_NUMBER(now, ==, 1);
		expect_variant(&c[0], 3, variant);
		made += now;
	}
	CHECK_NUMBER(made, ==, ROUNDS);
	for (unsigned i = 0; i < SERVERS; i++)
		stop(&c[i]);
}

/* A removal and a change at once: the image is gone in the end. */
static void test_a_removal_beside_a_change(void)
{
	struct client a = start(), b = start();
	unsigned variant;
	char id[STORE_ID_BYTES];
	int none;

	sample_id(4, id);
	(void)delete (&a, 4);
	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t change, removal;
		struct message m;

		EXPECT(STORE_OK, put_over(&a, 4, 0, ""));
		m = EXPECT(STORE_OK, read_image(&a, 4, &variant));
		change = send_over(&a, 4, 1, m.etag);
		removal = client_send(&b, MESSAGE_DELETE, id, -1, 0, MS);
		m = client_wait(&a, change, &none);
		if (m.answer != STORE_OK)
			EXPECT(STORE_CHANGED, m);
		EXPECT(STORE_OK, client_wait(&b, removal, &none));
		EXPECT(STORE_NOT_FOUND, read_image(&a, 4, &variant));
	}
	stop(&a);
	stop(&b);
}

/* -- With the fake -- */

static void test_a_store_that_compares_etags_without_quotes(void)
{
	struct client a, b;
	struct message m;
	unsigned variant;

	fake_s3_do(fake, "barematch 1000000");
	a = start();
	b = start();
	EXPECT(STORE_OK, put_over(&a, 5, 0, ""));
	m = EXPECT(STORE_OK, read_image(&a, 5, &variant));
	EXPECT(STORE_OK, put_over(&a, 5, 1, m.etag));
	EXPECT(STORE_CHANGED, put_over(&b, 5, 9, m.etag));
	EXPECT(STORE_CHANGED, put_over(&a, 5, 9, m.etag));
	expect_variant(&b, 5, 1);
	stop(&a);
	stop(&b);
	fake_s3_do(fake, "none 1000000");
}

/*
 * Changes are made nevertheless; the server is told, and no other object stays
 * in the bucket.
 */
static void expect_no_conditions(const char *order, unsigned number)
{
	struct client c;
	struct message m;
	unsigned variant, stored;

	fake_s3_do(fake, order);
	c = start();
	EXPECT(STORE_OK, client_put(&c, number, 0, SMALL, MS));
	stored = fake_s3_count(fake).stored;
	for (unsigned i = 1; i <= REFUSALS + 1; i++) {
		m = EXPECT(STORE_OK, read_image(&c, number, &variant));
		CHECK_NUMBER(variant, ==, (i - 1));
		m = EXPECT(STORE_OK, put_over(&c, number, i, m.etag));
		CHECK_NUMBER(m.figures.now.lacks_conditions, ==, 1);
	}
	CHECK_NUMBER(fake_s3_count(fake).stored, ==, stored);
	stop(&c);
	fake_s3_do(fake, "none 1000000");
}

/* Such as one with something before it that changes ETags. */
static void test_a_store_in_which_no_condition_is_true(void)
{
	struct client c;
	struct message m;
	unsigned variant;

	fake_s3_do(fake, "wrongmatch 1000000");
	c = start();
	EXPECT(STORE_OK, put_over(&c, 8, 0, ""));
	m = EXPECT(STORE_OK, read_image(&c, 8, &variant));
	m = EXPECT(STORE_OK, put_over(&c, 8, 1, m.etag));
	CHECK_NUMBER(m.figures.now.lacks_conditions, ==, 1);
	expect_variant(&c, 8, 1);
	stop(&c);
	fake_s3_do(fake, "none 1000000");
}

/* A single 501 does not end the use of conditions. */
static void test_one_501_is_not_remembered(void)
{
	struct client c = start();
	struct message before, m;
	unsigned variant;

	EXPECT(STORE_OK, put_over(&c, 9, 0, ""));
	m = EXPECT(STORE_OK, read_image(&c, 9, &variant));
	fake_s3_do(fake, "501 1 PUT");
	EXPECT(STORE_OK, put_over(&c, 9, 1, m.etag));
	before = EXPECT(STORE_OK, read_image(&c, 9, &variant));
	m = EXPECT(STORE_OK, put_over(&c, 9, 2, before.etag));
	CHECK_NUMBER(m.figures.now.lacks_conditions, ==, 0);
	EXPECT(STORE_CHANGED, put_over(&c, 9, 3, before.etag));
	stop(&c);
}

/* The answer to a PUT was lost: its repetition finds another ETag. */
static void test_a_lost_answer(void)
{
	struct client c = start();
	struct message m;
	unsigned variant;

	EXPECT(STORE_OK, put_over(&c, 10, 0, ""));
	m = EXPECT(STORE_OK, read_image(&c, 10, &variant));
	EXPECT(STORE_OK, put_over(&c, 10, 1, m.etag));
	m = EXPECT(STORE_OK, read_image(&c, 10, &variant));
	fake_s3_do(fake, "cut 1 PUT");
	EXPECT(STORE_CHANGED, put_over(&c, 10, 2, m.etag));
	expect_variant(&c, 10, 2);
	stop(&c);
}

/* An ETag that does not say which object it is is no version. */
static void test_a_weak_etag_is_none(void)
{
	struct client c = start();
	struct message m;
	unsigned variant;

	EXPECT(STORE_OK, put_over(&c, 11, 0, ""));
	fake_s3_do(fake, "weak 1 GET");
	m = EXPECT(STORE_OK, read_image(&c, 11, &variant));
	CHECK_TEXT(m.etag, "");
	stop(&c);
}

static void test_with_the_fake(void)
{
	test_a_store_that_compares_etags_without_quotes();
	expect_no_conditions("noconditions 1000000", 6);
	expect_no_conditions("ignoresmatch 1000000", 7);
	test_a_store_in_which_no_condition_is_true();
	test_one_501_is_not_remembered();
	test_a_lost_answer();
	test_a_weak_etag_is_none();
}

int main(int argc, char **argv)
{
	bool is_real = argc > 2 && strcmp(argv[2], "real") == 0;
	unsigned port;

	CHECK_NUMBER(argc, >, 1);
	program = argv[1];
	alarm(600); /* a helper that does not answer ends the test */
	if (is_real) {
		snprintf(endpoint, sizeof(endpoint), "%s",
			 getenv("S3_ENDPOINT"));
	} else {
		fake = fake_s3_start(&port);
		snprintf(endpoint, sizeof(endpoint), "http://127.0.0.1:%u",
			 port);
		setenv("AWS_ACCESS_KEY_ID", FAKE_S3_KEY, 1);
		setenv("AWS_SECRET_ACCESS_KEY", FAKE_S3_SECRET, 1);
	}
	if (!has_conditions()) {
		CHECK(is_real);
		printf("the store has no conditional writes\n");
		return 0;
	}
	test_a_change_of_an_older_image_is_refused();
	test_a_removed_image_does_not_come_back();
	test_one_of_several_changes_is_made();
	test_a_removal_beside_a_change();
	if (fake != NULL) {
		test_with_the_fake();
		fake_s3_stop(fake);
	}
	return 0;
}
