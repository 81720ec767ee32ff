/* SPDX-License-Identifier: MIT */
/*
 * Whatever a store answers to them, the commands list, check and verify of
 * darkroom-store end, take only a complete list of objects for one, say what is
 * wrong with others, and report that their output could not be written.
 *
 * usage: test_store_list PROGRAM
 */
#include "base/clock.h"
#include "base/test/check.h"
#include "base/test/scratch.h"
#include "base/util.h"
#include "service/test/store/store_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	HEAD_BYTES = 8192,
	PAGES_MAX = 500, /* of a list without end; then it is refused */
	LATER_MS = 100,
	LONG_MS = 120000,
	TRIES = 60,
};

/* -- A store that answers one request after the other -- */

static int listener;
static bool is_held; /* the connection gets no answer, and stays open */

/* Of the current test; `n` counts its lists, and its objects, from 1 on. */
static void (*_Atomic answer_list)(int to, unsigned n);
static void (*_Atomic answer_object)(int to, unsigned n);
static _Atomic unsigned list_count, object_count;
static const char *_Atomic document = ""; /* for send_document() */

static void send_bytes(int to, const char *bytes, size_t count)
{
	while (count > 0) {
		ssize_t n = send(to, bytes, count, MSG_NOSIGNAL);

		if (n <= 0) /* the client has seen enough */
			return;
		bytes += n;
		count -= (size_t)n;
	}
}

static void send_text(int to, const char *text)
{
	send_bytes(to, text, strlen(text));
}

static void send_ok(int to, const char *body, size_t bytes)
{
	char head[128];

	snprintf(head, sizeof(head),
		 "HTTP/1.1 200 OK\r\nConnection: close\r\n"
		 "Content-Length: %zu\r\n\r\n",
		 bytes);
	send_text(to, head);
	send_bytes(to, body, bytes);
}

static void send_document(int to, unsigned n)
{
	(void)n;
	send_ok(to, document, strlen(document));
}

/* False: the connection is closed. */
static bool read_head(int from, char head[HEAD_BYTES])
{
	size_t count = 0;

	head[0] = '\0';
	while (strstr(head, "\r\n\r\n") == NULL && count < HEAD_BYTES - 1) {
		ssize_t n = recv(from, head + count, HEAD_BYTES - 1 - count, 0);

		if (n <= 0)
			return false;
		count += (size_t)n;
		head[count] = '\0';
	}
	return true;
}

static void serve_one(int to)
{
	char head[HEAD_BYTES];

	is_held = false;
	if (read_head(to, head)) {
		if (strstr(head, "list-type=2") != NULL)
			atomic_load (&answer_list)(to, ++list_count);
		else
			atomic_load (&answer_object)(to, ++object_count);
	}
	if (is_held)
		return;
	(void)shutdown(to, SHUT_WR);
	while (recv(to, head, sizeof(head), 0) > 0)
		;
	(void)close(to);
}

static void *serve_all(void *arg)
{
	for (;;) {
		int to = accept(listener, NULL, NULL);

		if (to < 0)
			return arg;
		serve_one(to);
	}
}

static unsigned start_store(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t bytes = sizeof(any);
	pthread_t thread;
	int made;

	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_NUMBER(listener, >=, 0);
	made = bind(listener, (struct sockaddr *)&any, bytes);
	CHECK_NUMBER(made, ==, 0);
	CHECK_NUMBER(listen(listener, 64), ==, 0);
	made = getsockname(listener, (struct sockaddr *)&any, &bytes);
	CHECK_NUMBER(made, ==, 0);
	made = pthread_create(&thread, NULL, serve_all, NULL);
	CHECK_NUMBER(made, ==, 0);
	return ntohs(any.sin_port);
}

/* -- The program -- */

static const char *program;
static char endpoint[64];
static struct scratch scratch;

static struct client client_new(void)
{
	struct client c = { .program = program };

	client_add(&c, "--bucket", "photos");
	client_add(&c, "--prefix", "p");
	client_add(&c, "--endpoint", endpoint);
	return c;
}

static void set_answers(void (*list)(int, unsigned),
			void (*object)(int, unsigned))
{
	answer_list = list;
	answer_object = object;
	list_count = object_count = 0;
}

static void expect(const char *command, int status, const char *part)
{
	struct client c = client_new();
	static char out[1 << 16];
	int got;

	list_count = object_count = 0;
	got = client_command(&c, command, out, sizeof(out));
	if (got == status && strstr(out, part) != NULL)
		return;
	fprintf(stderr, "%s: status %d, not %d with '%s':\n%s\nof %s\n",
		command, got, status, part, out, document);
	abort();
}

static void expect_all(int status, const char *part)
{
	expect("list", status, part);
	expect("check", status, part);
	expect("verify", status, part);
}

/* -- Documents -- */

#define LIST(inside) "<ListBucketResult>" inside "</ListBucketResult>"
#define TRUNCATED(text) "<IsTruncated>" text "</IsTruncated>"
#define ALL TRUNCATED("false")
#define TOKEN(text) "<NextContinuationToken>" text "</NextContinuationToken>"
#define URL "<EncodingType>url</EncodingType>"
#define OBJECT(key, size)                                                      \
	"<Contents><Key>" key "</Key><Size>" size "</Size></Contents>"
#define ONE OBJECT("p/a", "5")
#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define IMAGE(size) OBJECT("p/01/" ID, size)

static const struct {
	const char *document, *why;
} wrong[] = {
	/* Not a list. */
	{ "", "it is empty" },
	{ "<html><body><p>Please log in</p></body></html>",
	  "another document" },
	{ "<!DOCTYPE html><html></html>", "document type" },
	{ "<!DOCTYPE a [<!ENTITY b \"c\">]>" LIST(ALL), "document type" },
	{ "{\"a\":1}", "not well-formed" },
	{ "<ListBucketResult>" ALL ONE, "not well-formed" },
	{ LIST(ALL "<Contents><Key>p/a</b></Contents>"), "not well-formed" },
	{ "<a>" LIST(ALL ONE) "</a>", "another document" },
	{ "<ListBucketResults>" ALL "</ListBucketResults>",
	  "another document" },
	{ "<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>",
	  "200 with the error AccessDenied" },
	{ "<x:Error xmlns:x='q'><Message>x</Message></x:Error>",
	  "200 with the error" },
	{ LIST(ALL "<a><a><a><a><a><a><a><a></a></a></a></a></a></a></a></a>"),
	  "nested too deeply" },
	/* Not known to be complete. */
	{ LIST(ONE), "IsTruncated is missing" },
	{ LIST(ONE TOKEN("t")), "IsTruncated is missing" },
	{ LIST("<a>" ALL "</a>" ONE), "IsTruncated is missing" },
	{ LIST(TRUNCATED("TRUE") TOKEN("t") ONE), "neither true nor false" },
	{ LIST(TRUNCATED("1") TOKEN("t") ONE), "neither true nor false" },
	{ LIST(TRUNCATED("0") ONE), "neither true nor false" },
	{ LIST(TRUNCATED("") ONE), "neither true nor false" },
	{ LIST(TRUNCATED("true ") TOKEN("t") ONE), "neither true nor false" },
	{ LIST(TRUNCATED("fal<a/>se") ONE), "a value has elements" },
	{ LIST(TRUNCATED("true") ALL TOKEN("t") ONE), "IsTruncated is there" },
	{ LIST(TRUNCATED("true") ONE), "NextContinuationToken is missing" },
	{ LIST(TRUNCATED("true") TOKEN("") ONE),
	  "NextContinuationToken is missing" },
	{ LIST(ALL TOKEN("t") ONE), "has a NextContinuationToken" },
	{ LIST(TRUNCATED("true") TOKEN("t") TOKEN("u") ONE), "is there twice" },
	/* It says that it is another list, or not of all objects. */
	{ LIST(ALL "<Name>other</Name>" ONE), "another bucket" },
	{ LIST(ALL "<Name/>" ONE), "another bucket" },
	{ LIST(ALL "<Prefix>q/</Prefix>" ONE), "another Prefix" },
	{ LIST(ALL "<Prefix/>" ONE), "another Prefix" },
	{ LIST(ALL "<Prefix>p%2F</Prefix>" ONE), "another Prefix" },
	{ LIST(ALL "<KeyCount>2</KeyCount>" ONE), "KeyCount is not the count" },
	{ LIST(ALL "<KeyCount>0</KeyCount>" ONE), "KeyCount is not the count" },
	{ LIST(ALL "<KeyCount>-1</KeyCount>" ONE), "KeyCount is not a number" },
	{ LIST(ALL "<Delimiter>/</Delimiter>" ONE), "has a Delimiter" },
	{ LIST(ALL "<Marker>p/</Marker>" ONE), "has a Marker" },
	{ LIST(ALL "<StartAfter>p/</StartAfter>" ONE), "has a StartAfter" },
	{ LIST(ALL "<NextMarker>p/b</NextMarker>" ONE), "has a NextMarker" },
	{ LIST(ALL "<CommonPrefixes><Prefix>p/0/</Prefix></CommonPrefixes>"),
	  "has CommonPrefixes" },
	{ LIST(ALL ONE "<Error><Code>SlowDown</Code></Error>"),
	  "has an Error" },
	{ LIST(ALL "<x:Contents xmlns:x='q'><x:Key>p/a</x:Key>"
		   "<x:Size>5</x:Size></x:Contents>"),
	  "of another name space" },
	{ LIST(ALL "<Contents><Key xmlns='q'>p/a</Key><Size>5</Size>"
		   "</Contents>"),
	  "of another name space" },
	{ "<x:ListBucketResult xmlns:x='q'><x:IsTruncated>false"
	  "</x:IsTruncated>" ONE "</x:ListBucketResult>",
	  "of another name space" },
	{ "<x:ListBucketResult>" ALL "</x:ListBucketResult>",
	  "not well-formed" },
	/* Sizes. */
	{ LIST(ALL OBJECT("p/a", "-1")), "not a number of bytes" },
	{ LIST(ALL OBJECT("p/a", "+1")), "not a number of bytes" },
	{ LIST(ALL OBJECT("p/a", "99999999999999999999999")),
	  "not a number of bytes" },
	{ LIST(ALL OBJECT("p/a", "9223372036854775808")),
	  "not a number of bytes" },
	{ LIST(ALL OBJECT("p/a", "abc")), "not a number of bytes" },
	{ LIST(ALL OBJECT("p/a", "")), "not a number of bytes" },
	{ LIST(ALL OBJECT("p/a", "0x10")), "not a number of bytes" },
	{ LIST(ALL OBJECT("p/a", " 7")), "not a number of bytes" },
	{ LIST(ALL OBJECT("p/a", "7.5")), "not a number of bytes" },
	{ LIST(ALL OBJECT("p/a", "5</Size><Size>6")), "two Sizes" },
	{ LIST(ALL "<Contents><Key>p/a</Key></Contents>"), "no Size" },
	/* Keys. */
	{ LIST(ALL OBJECT("p/a</Key><Key>p/b", "5")), "two Keys" },
	{ LIST(ALL OBJECT("p/<b>a</b>", "5")), "a value has elements" },
	{ LIST(ALL OBJECT("", "5")), "a Key is empty" },
	{ LIST(ALL "<Contents><Size>5</Size></Contents>"), "no Key" },
	{ LIST(ALL URL OBJECT("p/a%00", "5")), "a zero byte" },
	{ LIST(ALL OBJECT("zzz", "5")), "not below the prefix" },
	{ LIST(ALL OBJECT("p", "5")), "not below the prefix" },
	{ LIST(ALL OBJECT("p%2fa", "5")), "not below the prefix" },
	{ LIST(ALL ONE ONE), "not in order" },
	{ LIST(ALL OBJECT("p/b", "5") ONE), "not in order" },
	{ LIST(ALL URL OBJECT("p/%62", "5") OBJECT("p/a", "5")),
	  "not in order" },
	{ LIST(ALL OBJECT("p/\xc3\xa4", "5") OBJECT("p/z", "5")),
	  "not in order" },
	{ LIST(ALL "<EncodingType>base64</EncodingType>" ONE),
	  "EncodingType is not url" },
};

/* All commands read lists by the same code: each list is for one of them. */
static void test_what_is_no_complete_list_is_refused(void)
{
	static const char *const commands[] = { "list", "check", "verify" };

	set_answers(send_document, send_document);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		check_case("wrong[%zu]: %s", i, wrong[i].document);
		document = wrong[i].document;
		expect(commands[i % ARRAY_SIZE(commands)], 1, wrong[i].why);
	}
	document = wrong[0].document;
	expect_all(1, wrong[0].why);
}

static void test_a_complete_list_is_taken(void)
{
	static const char *const good[] = {
		LIST(ALL),
		LIST(ONE ALL),
		LIST(ALL TOKEN("") ONE),
		"<?xml version='1.0'?>\n<x:ListBucketResult xmlns:x='q'>\n"
		"<x:IsTruncated>false</x:IsTruncated>\n<x:Contents><x:Key>p/a"
		"</x:Key><x:Size>5</x:Size></x:Contents></x:ListBucketResult>",
		LIST(ALL "<Name>photos</Name><Owner><ID>a</ID></Owner>" ONE),
		LIST(ALL "<Name>photos</Name><Prefix>p/</Prefix><Delimiter/>"
			 "<StartAfter/><KeyCount>1</KeyCount>" ONE),
		LIST(ALL "<Prefix>p%2F</Prefix>" URL ONE),
		/* In the order of their bytes, once they are decoded. */
		LIST(OBJECT("p/a+b", "5") OBJECT("p/a%21", "5") URL ALL),
		LIST(ALL OBJECT("p/a%21", "5") OBJECT("p/a+b", "5")),
		LIST(ALL OBJECT("p/z", "5") OBJECT("p/\xc3\xa4", "5")),
		LIST(ALL OBJECT("p/a", "9223372036854775807")),
	};

	set_answers(send_document, send_document);
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		document = good[i];
		expect("list", 0, "");
		expect("check", 0, "can be used");
		expect("verify", 0, "0 are not");
	}
	document = LIST(ALL IMAGE("77"));
	expect("list", 0, ID " 77 ");
}

/* -- Lists of several pages -- */

static void send_page(int to, unsigned n, const char *objects)
{
	char page[1024];

	if (n > PAGES_MAX) {
		send_text(to, "HTTP/1.1 403 F\r\nContent-Length: 0\r\n\r\n");
		return;
	}
	snprintf(page, sizeof(page), LIST(TRUNCATED("true") TOKEN("T%u") "%s"),
		 n, objects);
	send_ok(to, page, strlen(page));
}

static void send_same(int to, unsigned n)
{
	send_page(to, n, IMAGE("5"));
}

static void send_pair(int to, unsigned n)
{
	send_page(to, n, n % 2 == 0 ? OBJECT("p/b", "5") : OBJECT("p/a", "5"));
}

static void send_foreign(int to, unsigned n)
{
	send_page(to, n, OBJECT("zzz", "5"));
}

static void send_empty(int to, unsigned n)
{
	send_page(to, n, "");
}

static void send_next(int to, unsigned n)
{
	char objects[256];

	snprintf(objects, sizeof(objects), OBJECT("p/00/%064x", "5"), n);
	send_page(to, n, objects);
}

static void test_a_list_without_end_is_given_up(void)
{
	static const struct {
		void (*list)(int, unsigned);
		const char *why;
	} cases[] = {
		{ send_same, "not in order" },
		{ send_pair, "not in order" },
		{ send_foreign, "not below the prefix" },
		{ send_empty, "has no end" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		check_case("cases[%zu]", i);
		set_answers(cases[i].list, send_document);
		expect("list", 1, cases[i].why);
		expect("verify", 1, cases[i].why);
	}
}

static void send_long(int to, unsigned n)
{
	static char page[9 << 20];
	static const char begin[] = LIST(ALL ONE);

	(void)n;
	memset(page, ' ', sizeof(page));
	memcpy(page, begin, strlen(begin));
	send_ok(to, page, sizeof(page));
}

static void test_a_page_that_is_too_long_is_refused(void)
{
	set_answers(send_long, send_document);
	expect_all(1,
		   "a page of the list has more than 8388608 bytes, which is "
		   "the limit");
}

/* -- Objects -- */

static void send_zeros(int to, unsigned n)
{
	static const char zeros[1 << 20];

	(void)n;
	send_ok(to, zeros, sizeof(zeros));
}

static void send_pieces(int to, unsigned n)
{
	static const char piece[] = "10\r\n0123456789abcdef\r\n";

	(void)n;
	send_text(to, "HTTP/1.1 200 OK\r\nConnection: close\r\n"
		      "Transfer-Encoding: chunked\r\n\r\n");
	for (int i = 0; i < 100; i++)
		send_text(to, piece);
	send_text(to, "0\r\n\r\n");
}

/* Whatever the store sends: no more than it has listed is kept. */
static void test_verify_takes_what_was_listed(void)
{
	static const char why[] = ID ": damaged: it is longer than the list "
				     "says";

	document = LIST(ALL IMAGE("5"));
	set_answers(send_document, send_zeros);
	expect("verify", 1, why);
	set_answers(send_document, send_pieces);
	expect("verify", 1, why);
	document = LIST(ALL IMAGE("1048576"));
	set_answers(send_document, send_zeros);
	expect("verify", 1, ID ": damaged\n");
	document = LIST(ALL IMAGE("1073741825"));
	expect("verify", 1, ID ": damaged: it is larger than 1 GiB");
	CHECK_NUMBER(object_count, ==, 0);
}

static const char *_Atomic later; /* the lists after the first */

static void send_later(int to, unsigned n)
{
	const char *list = n == 1 ? document : later;

	send_ok(to, list, strlen(list));
}

static void send_absent(int to, unsigned n)
{
	static const char error[] = "<Error><Code>NoSuchKey</Code></Error>";
	char head[128];

	(void)n;
	snprintf(head, sizeof(head),
		 "HTTP/1.1 404 N\r\nConnection: close\r\n"
		 "Content-Length: %zu\r\n\r\n%s",
		 strlen(error), error);
	send_text(to, head);
}

/* An image that is removed or replaced after it was listed is not damaged. */
static void test_verify_lists_again_what_has_changed(void)
{
	document = LIST(ALL IMAGE("5"));
	later = LIST(ALL);
	set_answers(send_later, send_absent);
	expect("verify", 0, "0 are not; 1 were removed meanwhile");
	set_answers(send_later, send_zeros);
	expect("verify", 0, "0 are not; 1 were removed meanwhile");
	/* Replaced by a longer one, which is fetched whole. */
	later = LIST(ALL IMAGE("1048576"));
	expect("verify", 1, ID ": damaged\n");
	CHECK_NUMBER(object_count, ==, 2);
	later = LIST(ALL IMAGE("1073741825"));
	expect("verify", 1, ID ": damaged: it is larger than 1 GiB");
	/* It is lost, though the list has it. */
	later = document;
	set_answers(send_later, send_absent);
	expect("verify", 1, "NoSuchKey");
	CHECK_NUMBER(list_count, ==, 2);
	CHECK_NUMBER(object_count, ==, 2);
	later = LIST(ALL ONE);
	expect("verify", 1, "a Key is not below the prefix");
}

static _Atomic unsigned others_count;

/* Does another request come before this one is answered? */
static void look_for_others(int to, unsigned n)
{
	struct pollfd wait = { .fd = listener, .events = POLLIN };

	(void)n;
	others_count += poll(&wait, 1, LATER_MS) > 0;
	send_ok(to, "x", 1);
}

static void send_four(int to, unsigned n)
{
	static char page[2048];
	size_t at = 0;

	(void)n;
	at += (size_t)sprintf(page, "<ListBucketResult>" ALL);
	for (unsigned i = 0; i < 4; i++)
		at += (size_t)sprintf(page + at, OBJECT("p/00/%064x", "%s"), i,
				      document);
	sprintf(page + at, "</ListBucketResult>");
	send_ok(to, page, strlen(page));
}

/* Large objects are not fetched at once, so they do not fill the memory. */
static void test_verify_fetches_large_objects_in_turn(void)
{
	document = "200000000";
	set_answers(send_four, look_for_others);
	others_count = 0;
	expect("verify", 1, "0 images of 0 bytes are good, 4 are not");
	CHECK_NUMBER(object_count, ==, 4);
	CHECK_NUMBER(others_count, ==, 0);
	document = "2000"; /* the kernel accepts them before this program */
	expect("verify", 1, "0 images of 0 bytes are good, 4 are not");
}

/* -- Replies that are not HTTP, or cut -- */

static void send_garbage(int to, unsigned n)
{
	(void)n;
	send_text(to, LIST(ALL ONE));
}

static void send_long_head(int to, unsigned n)
{
	char line[1024];

	(void)n;
	memset(line, 'x', sizeof(line));
	memcpy(line, "X: ", 3);
	memcpy(line + sizeof(line) - 2, "\r\n", 2);
	send_text(to, "HTTP/1.1 200 OK\r\n");
	for (int i = 0; i < 80; i++)
		send_bytes(to, line, sizeof(line));
	send_text(to, "\r\n");
}

static void send_long_line(int to, unsigned n)
{
	static char line[1 << 20];

	(void)n;
	memset(line, 'x', sizeof(line));
	send_text(to, "HTTP/1.1 200 OK\r\nX: ");
	send_bytes(to, line, sizeof(line));
	send_text(to, "\r\n\r\n");
}

/* Both lengths of a good list; libcurl would take the second. */
static void send_two_lengths(int to, unsigned n)
{
	static const char list[] = LIST(ALL ONE);
	char head[256];

	(void)n;
	snprintf(head, sizeof(head),
		 "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"
		 "ETag: \"x\"\r\nContent-Length: %zu\r\n\r\n",
		 strlen(list));
	send_text(to, head);
	send_text(to, list);
}

static void send_length_and_chunks(int to, unsigned n)
{
	static const char list[] = LIST(ALL ONE);
	char head[256];

	(void)n;
	snprintf(head, sizeof(head),
		 "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"
		 "Transfer-Encoding: chunked\r\n\r\n%zx\r\n",
		 strlen(list));
	send_text(to, head);
	send_text(to, list);
	send_text(to, "\r\n0\r\n\r\n");
}

static void send_list_of_lengths(int to, unsigned n)
{
	(void)n;
	send_text(to, "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nabcde");
}

static void send_202(int to, unsigned n)
{
	if (n == 1)
		send_text(to, "HTTP/1.1 202 A\r\nConnection: close\r\n"
			      "Content-Length: 0\r\n\r\n");
	else
		is_held = true;
}

/* Read an object, until the answer has this reason. */
static void read_until(void (*object)(int, unsigned), const char *part)
{
	struct client c = client_new();
	struct message m = { .detail = "" };

	client_start(&c);
	for (int i = 0; i < TRIES && strstr(m.detail, part) == NULL; i++) {
		set_answers(send_document, object);
		m = client_read(&c, 1, "", 1000);
		CHECK_NUMBER(m.answer, ==, STORE_UNAVAILABLE);
	}
	if (strstr(m.detail, part) == NULL) {
		fprintf(stderr, "'%s' does not say '%s'\n", m.detail, part);
		abort();
	}
	(void)client_stop(&c);
}

static void test_a_failure_names_the_fault(void)
{
	read_until(send_garbage, "the store's reply is not HTTP/1.1");
	read_until(send_long_head, "is longer than 64 KiB");
	read_until(send_long_line, "is longer than 100 KiB");
	read_until(send_two_lengths, "says its length in two ways");
	read_until(send_length_and_chunks, "says its length in two ways");
	read_until(send_list_of_lengths, "says its length in two ways");
	read_until(send_202, "the store answered 202 to a GET; the last "
			     "attempt was cut short by the deadline");
}

/* -- Connections -- */

static _Atomic unsigned reused_count, closed_count;

/* Does the next request come on this connection, or on another? */
static void watch(int to)
{
	struct pollfd wait[] = { { .fd = to, .events = POLLIN },
				 { .fd = listener, .events = POLLIN } };
	ssize_t n;
	char byte;

	(void)poll(wait, 2, -1);
	n = recv(to, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
	reused_count += n > 0;
	closed_count += n == 0;
	is_held = true; /* the client may keep it */
	(void)close(to);
}

/* To a HEAD, then to a GET. */
static void send_missing(int to, unsigned n, unsigned head_number)
{
	if (n == head_number)
		send_text(to, "HTTP/1.1 404 N\r\nConnection: close\r\n"
			      "Content-Length: 9\r\n\r\n");
	else
		send_absent(to, n);
}

static void send_503_first(int to, unsigned n)
{
	if (n > 1) {
		send_missing(to, n, 2);
		return;
	}
	send_text(to, "HTTP/1.1 503 S\r\nContent-Length: 0\r\n\r\n");
	watch(to);
}

/* To a HEAD, to a DELETE that is sent twice, and to another HEAD. */
static void send_error_first(int to, unsigned n)
{
	if (n == 1)
		send_text(to, "HTTP/1.1 200 OK\r\nConnection: close\r\n"
			      "Content-Length: 9\r\n\r\n");
	if (n == 2) {
		send_text(to, "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n"
			      "<Error/>");
		watch(to);
	}
	if (n == 3)
		send_text(to, "HTTP/1.1 204 N\r\nConnection: close\r\n\r\n");
	if (n == 4)
		send_text(to, "HTTP/1.1 404 N\r\nConnection: close\r\n"
			      "Content-Length: 9\r\n\r\n");
}

static enum store_answer removal(struct client *c)
{
	char id[STORE_ID_BYTES];
	uint64_t number;
	int fd;

	sample_id(1, id);
	number = client_send(c, MESSAGE_DELETE, id, -1, 0, LONG_MS);
	return (enum store_answer)client_wait(c, number, &fd).answer;
}

/* The rest of a reply that was odd must not be taken for that of the next. */
static void test_a_repetition_has_its_own_connection(void)
{
	struct client c = client_new();

	client_start(&c);
	set_answers(send_document, send_503_first);
	CHECK_NUMBER(removal(&c), ==, STORE_NOT_FOUND);
	CHECK_NUMBER(closed_count, ==, 1);
	CHECK_NUMBER(object_count, ==, 3);
	set_answers(send_document, send_error_first);
	CHECK_NUMBER(removal(&c), ==, STORE_OK);
	CHECK_NUMBER(reused_count, ==, 0);
	CHECK_NUMBER(object_count, ==, 4);
	(void)client_stop(&c);
}

/* -- Output -- */

/* Run the program with its output to a device that is full. */
static void expect_unwritten(const char *words)
{
	char command[512], path[SCRATCH_PATH_BYTES];
	int status;

	snprintf(command, sizeof(command), "%s %s >/dev/full 2>%s", program,
		 words, scratch_path(&scratch, "errors", path));
	list_count = object_count = 0;
	status = system(command);
	CHECK(WIFEXITED(status));
	CHECK_NUMBER(WEXITSTATUS(status), ==, 1);
	scratch_expect(&scratch, "errors",
		       "the output could not be written: No space left");
}

/* A put and a list, too: which is their body, an error? */
static void test_a_length_is_said_once(void)
{
	static const char why[] = "says its length in two ways";
	void (*const replies[])(int, unsigned) = { send_two_lengths,
						   send_length_and_chunks };
	struct client c = client_new();
	struct message m;

	client_start(&c);
	for (size_t i = 0; i < ARRAY_SIZE(replies); i++) {
		set_answers(replies[i], replies[i]);
		expect("check", 1, why);
		for (int t = 0; t < TRIES; t++) {
			m = client_put(&c, 1, 0, 3000, 1000);
			CHECK_NUMBER(m.answer, ==, STORE_UNAVAILABLE);
			if (strstr(m.detail, why) != NULL)
				break;
		}
		CHECK_PART(m.detail, why);
	}
	(void)client_stop(&c);
}

static void test_output_that_is_not_written_is_an_error(void)
{
	static const char *const commands[] = { "list", "check", "verify" };
	char words[256];

	document = LIST(ALL IMAGE("5"));
	set_answers(send_document, send_zeros);
	expect_unwritten("--help");
	expect_unwritten("--version");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		snprintf(words, sizeof(words),
			 "%s --bucket photos --prefix p --endpoint %s",
			 commands[i], endpoint);
		expect_unwritten(words);
	}
	/* It does not read on. */
	set_answers(send_next, send_zeros);
	snprintf(words, sizeof(words),
		 "list --bucket photos --prefix p --endpoint %s", endpoint);
	expect_unwritten(words);
	CHECK_NUMBER(list_count, ==, 1);
}

int main(int argc, char **argv)
{
	CHECK_NUMBER(argc, ==, 2);
	program = argv[1];
	alarm(1200);
	(void)signal(SIGPIPE, SIG_IGN);
	scratch_init(&scratch);
	snprintf(endpoint, sizeof(endpoint), "http://127.0.0.1:%u",
		 start_store());
	setenv("AWS_ACCESS_KEY_ID", "key", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
	test_what_is_no_complete_list_is_refused();
	test_a_complete_list_is_taken();
	test_a_list_without_end_is_given_up();
	test_a_page_that_is_too_long_is_refused();
	test_verify_takes_what_was_listed();
	test_verify_lists_again_what_has_changed();
	test_verify_fetches_large_objects_in_turn();
	test_a_failure_names_the_fault();
	test_a_length_is_said_once();
	test_a_repetition_has_its_own_connection();
	test_output_that_is_not_written_is_an_error();
	scratch_release(&scratch);
	return 0;
}
