/* SPDX-License-Identifier: MIT */
/*
 * A DNS server that does not answer delays nobody: a call ends at its deadline
 * although getaddrinfo() has not returned.  With libcurl's threaded resolver,
 * getaddrinfo() runs in a thread of its own, and libcurl waits for this thread
 * unless told not to.
 *
 * The test replaces getaddrinfo() by one that returns when the call is done.
 */
#include "service/store/remote/helper/s3.h"

#include "base/clock.h"
#include "base/test/check.h"

#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
	GIVE_UP_S = 60, /* then the call did wait for the name */
	DEADLINE_MS = 2000,
	TURN_MS = 1000,
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_asked, is_done, is_given_up, has_returned;

/* libcurl calls this one, because the program's symbols come first. */
int getaddrinfo(const char *name, const char *port,
		const struct addrinfo *hints, struct addrinfo **out)
{
	struct timespec end;

	(void)port;
	(void)hints;
	*out = NULL;
	CHECK_TEXT(name, "store.test");
	CHECK_NUMBER(clock_gettime(CLOCK_REALTIME, &end), ==, 0);
	end.tv_sec += GIVE_UP_S;
	CHECK_NUMBER(pthread_mutex_lock(&mutex), ==, 0);
	is_asked = true;
	while (!is_done && !is_given_up)
		is_given_up =
			pthread_cond_timedwait(&changed, &mutex, &end) != 0;
	has_returned = true;
	CHECK_NUMBER(pthread_cond_broadcast(&changed), ==, 0);
	CHECK_NUMBER(pthread_mutex_unlock(&mutex), ==, 0);
	return EAI_AGAIN;
}

static void end_call(struct s3_call *c)
{
	CHECK_NUMBER(c->result, ==, S3_UNAVAILABLE);
	CHECK_NUMBER(pthread_mutex_lock(&mutex), ==, 0);
	CHECK(is_asked);     /* else this test tests nothing */
	CHECK(!is_given_up); /* else the call waited for the name */
	is_done = true;
	CHECK_NUMBER(pthread_cond_broadcast(&changed), ==, 0);
	CHECK_NUMBER(pthread_mutex_unlock(&mutex), ==, 0);
}

int main(void)
{
	static const struct credentials credentials = { "key", "secret", "" };
	struct s3_config config = {
		.endpoint = "http://store.test",
		.region = "us-east-1",
		.bucket = "bucket",
		.prefix = "",
		.path_style = true,
		.credentials = &credentials,
	};
	struct s3_call call = {
		.method = S3_HEAD,
		.deadline_ns = clock_after_ms(DEADLINE_MS),
		.done = end_call,
	};
	struct error error;
	struct s3 *s = s3_new(&config, &error);

	CHECK(s != NULL);
	s3_send(s, &call);
	while (s3_call_count(s) > 0)
		(void)s3_turn(s, -1, TURN_MS);
	CHECK_NUMBER(pthread_mutex_lock(&mutex), ==, 0);
	while (!has_returned)
		CHECK_NUMBER(pthread_cond_wait(&changed, &mutex), ==, 0);
	CHECK_NUMBER(pthread_mutex_unlock(&mutex), ==, 0);
	s3_free(s);
	printf("a call does not wait for a name after its deadline\n");
	return 0;
}
