/* SPDX-License-Identifier: MIT */
/*
 * Sends the same bytes to two servers, and compares what they send until they
 * close.  Dates, numbers of requests and times are left out; so is "100
 * Continue", because it is sent only if a body does not come with its head.
 * Where a request or a reply has the id of a ticket, each server has its own.
 *
 * The requests are: all lines of a table with all headers of another; bodies
 * that are framed in odd ways; valid requests, several at a time, in random
 * pieces, with bodies in all ways of ways.sh; and the same ones with some bytes
 * changed, or cut off.
 *
 * They differ only in how many requests may be sent without waiting for the
 * replies: libmicrohttpd must get all that has arrived, so what is kept of them
 * has a limit, after which the connection ends (mhd/input.h).  No request here
 * meets it; test_smuggling.sh does.
 *
 * usage: compare_replies PORT PORT PICTURE FILE [random]
 *   PICTURE  the path of a stored picture, which both servers have
 *   FILE     a JPEG to upload
 *   random   leave out the tables
 */
#include "base/file.h"
#include "base/random.h"
#include "base/test/check.h"
#include "base/util.h"

#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	BYTES_MAX = 256 * 1024,
	REPLY_BYTES_MAX = 1 << 20,
	MIXED = 120,
	CHANGED = 400,
	LIMIT_S = 60,
	SHOWN_BYTES = 4000,
	SILENT_MS = 150,
	PATIENT_MS = 10 * 1000,
	ID_BYTES = 15,   /* "01234567-89abcd" */
	DATE_BYTES = 20, /* "2026-12-31T23:59:59Z" */
	TICKET_BYTES = 64,
	CHUNK_BYTES = 700,
};

/* Stands in a request for a ticket of the server that gets it. */
#define TICKET                                                                 \
	"7e57ed0000000000000000000000000000000000000000000000000000000000"
#define TICKET_HEAD(method)                                                    \
	method " /v1/uploads/" TICKET " HTTP/1.1\r\nHost: localhost\r\n"       \
	       "Tus-Resumable: 1.0.0\r\n"
#define PART_HEAD                                                              \
	TICKET_HEAD("PATCH")                                                   \
	"Content-Type: application/offset+octet-stream\r\n"

static const struct {
	const char *text;
	size_t bytes;
} lines[] = {
#define TEXT(text)                                                             \
	{                                                                      \
		text, sizeof(text) - 1                                         \
	}
	TEXT("GET /healthz HTTP/1.1"),
	TEXT("GET /healthz HTTP/1.0"),
	TEXT("HEAD /nothing HTTP/1.1"),
	TEXT("POST /?w=8 HTTP/1.1"),
	TEXT("GET /healthz HTTP/1.2"),
	TEXT("GET /healthz HTTP/2.0"),
	TEXT("HEAD /healthz HTTP/0.9"),
	TEXT("GET /healthz"),
	TEXT("GET"),
	TEXT("GET "),
	TEXT("GET  "),
	TEXT(" GET /healthz HTTP/1.1"),
	TEXT("GET  /healthz HTTP/1.1"),
	TEXT("GET /healthz  HTTP/1.1"),
	TEXT("GET /healthz HTTP/1.1 "),
	TEXT("GET\t/healthz HTTP/1.1"),
	TEXT("GET /health z HTTP/1.1"),
	TEXT("GET /healthz\0x HTTP/1.1"),
	TEXT("GET\0 /healthz HTTP/1.1"),
	TEXT("GET /healthz HTTP/1.1\0"),
	TEXT("GET /healthz%00 HTTP/1.1"),
	TEXT("GET http://x/healthz HTTP/1.1"),
	TEXT("GET http://x?y HTTP/1.0"),
	TEXT("GET http:///healthz HTTP/1.1"),
	TEXT("GET https://x/healthz HTTP/1.1"),
	TEXT("HEAD http://u@x/ HTTP/1.1"),
	TEXT("POST /?&w=8&& HTTP/1.1"),
	TEXT("OPTIONS * HTTP/1.1"),
	TEXT("FOO /healthz HTTP/1.1"),
	TEXT("G(T /healthz HTTP/1.1"),
	TEXT("\r\n\nGET /healthz HTTP/1.1"),
	TEXT("\0\r\nGET /healthz HTTP/1.1"),
	TEXT("GET /healthz HTTP/1.1\nX: y"),
	TEXT("GET /healthz HTTP/1.1\rX: y"),
	TEXT("PRI * HTTP/2.0\r\n\r\nSM"),
};

static const char *const ends[] = { "\r\n", "\n", "\r" };

static const struct {
	const char *text;
	size_t bytes;
} headers[] = {
	TEXT("X : y"),
	TEXT(" X: y"),
	TEXT(": y"),
	TEXT("X"),
	TEXT("X: a\r\n b: c"),
	TEXT("X: a\rb"),
	TEXT("X: a\nY: b"),
	TEXT("X: a\0b"),
	TEXT("X\0: a"),
	TEXT("\0X: a"),
	TEXT("\0"),
	TEXT("\0\nX: a"),
	TEXT(":"),
	TEXT(":\nX: a"),
	TEXT("X: a\r\r"),
	TEXT("X: a\n"),
	TEXT("Host: y"),
	TEXT("Connection: close"),
	TEXT("Connection: x,\tClose "),
	TEXT("Connection: close;x"),
	TEXT("Connection: Keep-Alive"),
	TEXT("Connection: keep-alive, close"),
	TEXT("Connection: upgrade\r\nUpgrade: h2c"),
	TEXT("Content-Length: 5"),
	TEXT("Content-Length: 5 \t"),
	TEXT("Content-Length:05"),
	TEXT("Content-Length: 5 6"),
	TEXT("Content-Length: 5,5"),
	TEXT("Content-Length: +5"),
	TEXT("Content-Length:"),
	TEXT("Content-Length: \v5"),
	TEXT("Content-Length: 5\r\nContent-Length: 5"),
	TEXT("Content-Length: 5\r\nContent-Length: x"),
	TEXT("Content-Length: x\r\nTransfer-Encoding: y"),
	TEXT("Content-Length: 18446744073709551616"),
	TEXT("Content-Length: 18446744073709551616x"),
	TEXT("Content-Length: 18446744073709551615"),
	TEXT("Content-Length: 9223372036854775808"),
	TEXT("Content-Length: 99999999"),
	TEXT("Transfer-Encoding: chunked"),
	TEXT("Transfer-Encoding:"),
	TEXT("Content-Length: 5\r\nTransfer-Encoding: identity"),
	TEXT("Expect: 100-Continue\r\nContent-Length: 5"),
	TEXT("Expect: x\r\nContent-Length: 5"),
	TEXT("Expect: \t\r\nContent-Length: 5"),
	TEXT("Expect: 100-continue \t\r\nContent-Length: 5\t"),
	TEXT("Expect:\r\nExpect: 100-continue, x\r\nContent-Length: 5"),
	TEXT("X: a \t"),
	TEXT("Expect: 100-continue\r\nContent-Length: 99999999999"),
	TEXT("Expect: 100-continue\r\nConnection: close\r\nContent-Length: 5"),
};
#undef TEXT

static const char last[] = "GET /healthz HTTP/1.1\r\nHost: canary\r\n"
			   "Connection: close\r\n\r\n";

static uint16_t ports[2];
static char tickets[2][TICKET_BYTES];
static const char *picture;
static char *photo;
static size_t photo_bytes;
static uint64_t chance = 1;
static uint32_t case_count, reply_count;

static struct {
	char text[BYTES_MAX];
	size_t bytes;
} request;

static struct {
	char text[REPLY_BYTES_MAX];
	size_t bytes;
} replies[2];

static void begin(void)
{
	request.bytes = 0;
}

static void add_bytes(const char *text, size_t bytes)
{
	CHECK_NUMBER(bytes, <=, sizeof(request.text) - request.bytes);
	memcpy(request.text + request.bytes, text, bytes);
	request.bytes += bytes;
}

static void add(const char *text)
{
	add_bytes(text, strlen(text));
}

static int open_connection(uint16_t port)
{
	const struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	const struct timeval limit = { .tv_sec = LIMIT_S };
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	CHECK_NUMBER(fd, >=, 0);
	CHECK_NUMBER(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)),
		     ==, 0);
	CHECK_NUMBER(
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)),
		==, 0);
	CHECK_NUMBER(connect(fd, (const struct sockaddr *)&to, sizeof(to)), ==,
		     0);
	return fd;
}

/* Send the request in pieces.  The server may close before. */
static void send_request(int fd, uint64_t pieces)
{
	size_t at = 0;

	while (at < request.bytes) {
		size_t bytes = request.bytes - at;
		ssize_t sent;

		if (random_below(&pieces, 2) == 0)
			bytes = 1 + random_below(&pieces, (uint32_t)bytes);
		sent = send(fd, request.text + at, bytes, MSG_NOSIGNAL);
		if (sent < 0)
			break;
		at += (size_t)sent;
		if (random_below(&pieces, 4) == 0)
			(void)usleep(1000);
	}
}

/*
 * Wait until both have closed, or seem to wait for more: then they get the end
 * instead.  It does not come earlier, because libmicrohttpd ends a
 * connection whose end it sees while it sends "100 Continue", and an upload
 * whose client seems to be gone is not answered.
 */
static void end_requests(const int fds[2], int wait_ms)
{
	for (int i = 0; i < 2; i++) {
		struct pollfd closed = { .fd = fds[i], .events = POLLRDHUP };

		if (poll(&closed, 1, wait_ms) == 0) {
			(void)shutdown(fds[i], SHUT_WR);
			wait_ms = 0;
		} else {
			wait_ms = LIMIT_S * 1000;
		}
	}
}

/* The first of them, safe for a terminal. */
static void print_bytes(const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes && i < SHOWN_BYTES; i++)
		(void)fprintf(stderr,
			      isprint((unsigned char)text[i]) ? "%c" :
								"\\x%02x",
			      (unsigned char)text[i]);
}

static void fail(const char *why)
{
	(void)fprintf(stderr, "case %u: %s\nrequest: ", case_count, why);
	print_bytes(request.text, request.bytes);
	for (int i = 0; i < 2; i++) {
		(void)fprintf(stderr, "\nreply %d, %zu bytes: ", i,
			      replies[i].bytes);
		print_bytes(replies[i].text, replies[i].bytes);
	}
	exit(EXIT_FAILURE);
}

/* A reset after the reply is an end as any other. */
static void read_reply(int server, int fd)
{
	size_t at = 0;
	ssize_t got;

	do {
		CHECK_NUMBER(at, <, REPLY_BYTES_MAX);
		got = recv(fd, replies[server].text + at, REPLY_BYTES_MAX - at,
			   0);
		at += got > 0 ? (size_t)got : 0;
	} while (got > 0);
	replies[server].bytes = at;
	if (got < 0 && errno == EAGAIN)
		fail(server == 0 ? "the first has not closed" :
				   "the second has not closed");
}

static void remove_bytes(int server, char *from, size_t bytes)
{
	char *end = replies[server].text + replies[server].bytes;

	memmove(from, from + bytes, (size_t)(end - from) - bytes);
	replies[server].bytes -= bytes;
}

static void remove_lines(int server, const char *name)
{
	char *at = replies[server].text, *end;

	for (;;) {
		size_t left = replies[server].bytes -
			      (size_t)(at - replies[server].text);

		at = memmem(at, left, name, strlen(name));
		if (at == NULL)
			return;
		end = memchr(at, '\n',
			     replies[server].bytes -
				     (size_t)(at - replies[server].text));
		CHECK(end != NULL);
		remove_bytes(server, at, (size_t)(end + 1 - at));
	}
}

static bool is_id(const char *text)
{
	for (int i = 0; i < ID_BYTES; i++)
		if (i == 8 ? text[i] != '-' :
			     !isxdigit((unsigned char)text[i]) ||
				     isupper((unsigned char)text[i]))
			return false;
	return true;
}

static void hide_ids(int server)
{
	char *text = replies[server].text;

	for (size_t i = 0; i + ID_BYTES <= replies[server].bytes; i++)
		if (is_id(text + i))
			memset(text + i, '0', ID_BYTES);
}

/* In a text, also several times. */
static void replace_ticket(char *text, size_t bytes, const char *from,
			   const char *to)
{
	char *at = text;

	while ((at = memmem(at, bytes - (size_t)(at - text), from,
			    TICKET_BYTES)) != NULL)
		memcpy(at, to, TICKET_BYTES);
}

static bool has_ticket(void)
{
	return memmem(request.text, request.bytes, TICKET, TICKET_BYTES) !=
	       NULL;
}

static void make_ticket(int server)
{
	static const char text[] =
		"POST /v1/uploads?w=8 HTTP/1.1\r\nHost: localhost\r\n"
		"Connection: close\r\n\r\n";
	static const char member[] = "{\"id\":\"";
	int fd = open_connection(ports[server]);
	const char *at;

	CHECK_NUMBER(send(fd, text, sizeof(text) - 1, MSG_NOSIGNAL), ==,
		     (ssize_t)sizeof(text) - 1);
	read_reply(server, fd);
	(void)close(fd);
	at = memmem(replies[server].text, replies[server].bytes, member,
		    sizeof(member) - 1);
	CHECK(at != NULL);
	memcpy(tickets[server], at + sizeof(member) - 1, TICKET_BYTES);
}

/* When it expires: they are not made at the same time. */
static void hide_dates(int server)
{
	static const char member[] = "\"expires\":\"";
	char *at = replies[server].text, *end = at + replies[server].bytes;

	while ((at = memmem(at, (size_t)(end - at), member,
			    sizeof(member) - 1)) != NULL) {
		at += sizeof(member) - 1;
		CHECK(end - at >= DATE_BYTES);
		memset(at, '0', DATE_BYTES);
	}
}

static void remove_continues(int server)
{
	static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
	char *at;

	while ((at = memmem(replies[server].text, replies[server].bytes, text,
			    sizeof(text) - 1)) != NULL)
		remove_bytes(server, at, sizeof(text) - 1);
}

static void count_replies(void)
{
	char *at = replies[0].text, *end = at + replies[0].bytes;

	while ((at = memmem(at, (size_t)(end - at), "HTTP/1.1 ", 9)) != NULL) {
		reply_count++;
		at += 9;
	}
}

/* Send the request to both, and get what they reply within `wait_ms`. */
static void exchange(uint64_t pieces, int wait_ms)
{
	int fds[2];

	for (int i = 0; i < 2; i++) {
		if (has_ticket())
			make_ticket(i);
		replies[i].bytes = 0;
		fds[i] = open_connection(ports[i]);
		replace_ticket(request.text, request.bytes, TICKET, tickets[i]);
		send_request(fds[i], pieces);
		if (tickets[i][0] != '\0')
			replace_ticket(request.text, request.bytes, tickets[i],
				       TICKET);
	}
	end_requests(fds, wait_ms);
	for (int i = 0; i < 2; i++) {
		read_reply(i, fds[i]);
		(void)close(fds[i]);
		remove_lines(i, "Date: ");
		remove_lines(i, "Server-Timing: ");
		remove_lines(i, "Upload-Expires: ");
		replace_ticket(replies[i].text, replies[i].bytes, tickets[i],
			       TICKET);
		hide_dates(i);
		hide_ids(i);
		remove_continues(i);
	}
}

static bool are_same(void)
{
	return replies[0].bytes == replies[1].bytes &&
	       memcmp(replies[0].text, replies[1].text, replies[0].bytes) == 0;
}

/*
 * Both servers must give the same reply to the request.  If it is valid, they
 * close at its end.  If not, one of them may only have been slow: other tests
 * run, too.
 */
static void compare(bool is_valid)
{
	uint64_t pieces = random_next(&chance);

	exchange(pieces, is_valid ? LIMIT_S * 1000 : SILENT_MS);
	if (!is_valid && !are_same())
		exchange(pieces, PATIENT_MS);
	case_count++;
	count_replies();
	if (!are_same())
		fail("they differ");
}

static void compare_lines(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		for (size_t k = 0; k < ARRAY_SIZE(ends); k++) {
			begin();
			add_bytes(lines[i].text, lines[i].bytes);
			add(ends[k]);
			add("Host: x\r\n\r\n");
			add(last);
			compare(false);
		}
}

/* Before and after the Host. */
static void compare_headers(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(headers); i++)
		for (size_t k = 0; k < 8; k++) {
			begin();
			add_bytes(lines[k / 2].text, lines[k / 2].bytes);
			add(k % 2 == 0 ? "\r\nHost: x\r\n" : "\r\n");
			add_bytes(headers[i].text, headers[i].bytes);
			add(k % 2 == 0 ? "\r\n\r\n" : "\r\nHost: x\r\n\r\n");
			add("hello");
			add(last);
			compare(false);
		}
}

/* The photo from one byte to another, after the head; in chunks or not. */
static void add_body(size_t from, size_t to, bool in_chunks)
{
	char text[64];

	if (!in_chunks) {
		(void)snprintf(text, sizeof(text),
			       "Content-Length: %zu\r\n\r\n", to - from);
		add(text);
		add_bytes(photo + from, to - from);
		return;
	}
	add("Transfer-Encoding: chunked\r\n\r\n");
	while (from < to) {
		size_t bytes = min_u64(to - from, CHUNK_BYTES);

		(void)snprintf(text, sizeof(text), "%zx\r\n", bytes);
		add(text);
		add_bytes(photo + from, bytes);
		add("\r\n");
		from += bytes;
	}
	add("0\r\n\r\n");
}

/* A part of the photo that is sent to the ticket. */
static void add_part(size_t from, size_t to, bool in_chunks)
{
	char head[128];

	add(PART_HEAD);
	(void)snprintf(head, sizeof(head),
		       "Upload-Offset: %zu\r\nUpload-Length: %zu\r\n", from,
		       photo_bytes);
	add(head);
	add_body(from, to, in_chunks);
}

/* The photo, in each of the ways of ways.sh. */
static void add_upload(uint32_t way)
{
	bool in_chunks = way % 2 == 1;

	switch (way / 2) {
	case 0:
		add("POST /?w=8 HTTP/1.1\r\nHost: localhost\r\n");
		add_body(0, photo_bytes, in_chunks);
		break;
	case 1:
		add("POST /v1/images?w=8 HTTP/1.1\r\nHost: localhost\r\n");
		add_body(0, photo_bytes, in_chunks);
		break;
	case 2:
		add(TICKET_HEAD("PUT"));
		add_body(0, photo_bytes, in_chunks);
		break;
	default:
		add_part(0, photo_bytes / 2, in_chunks);
		add_part(photo_bytes / 2, photo_bytes, in_chunks);
	}
}

enum { WAYS = 8 };

static void add_picture(const char *method, const char *more)
{
	add(method);
	add(picture);
	add(" HTTP/1.1\r\nHost: localhost\r\n");
	add(more);
	add("\r\n");
}

/* Bodies that are too short, too long, or nobody's. */
static void compare_bodies(void)
{
	static const char *const framings[] = {
		"",
		"Content-Length: 0\r\n",
		"Content-Length: 5\r\n",
		"Content-Length: 6\r\n",
		"Content-Length: 100000\r\n",
		"Content-Length: 5\r\nExpect: 100-continue\r\n",
		"Expect: 100-continue\r\n",
		"Expect: 100-continue\r\nContent-Length: 0\r\n",
		"Transfer-Encoding: chunked\r\n",
		"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
		"Content-Length: 5\r\nConnection: close\r\n",
	};
	static const char *const starts[] = {
		"GET /healthz HTTP/1.1\r\nHost: x\r\n",
		"HEAD /nothing HTTP/1.1\r\nHost: x\r\n",
		"POST /?w=8 HTTP/1.1\r\nHost: x\r\n",
		"POST /?w=x HTTP/1.1\r\nHost: x\r\n",
		"PUT / HTTP/1.1\r\nHost: x\r\n",
		"POST / HTTP/1.0\r\nConnection: keep-alive\r\n",
		"POST / HTTP/1.0\r\n",
		"G / HTTP/1.1\r\nHost:\r\n",
		TICKET_HEAD("PUT"),
		PART_HEAD "Upload-Offset: 0\r\nUpload-Length: 5\r\n",
	};
	static const char *const bodies[] = {
		"hello",
		"5\r\nhello\r\n0\r\n\r\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		for (size_t k = 0; k < ARRAY_SIZE(framings); k++)
			for (size_t n = 0; n < ARRAY_SIZE(bodies); n++) {
				begin();
				add(starts[i]);
				add(framings[k]);
				add("\r\n");
				add(bodies[n]);
				add(last);
				compare(false);
			}
}

enum { KINDS = 19 };

/* Valid requests that are always the same. */
static const char *const requests[KINDS] = {
	[0] = last,
	[1] = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
	[2] = "HEAD /nothing HTTP/1.1\r\nHost: x\r\n\r\n",
	[8] = "\r\nGET /nothing HTTP/1.1\r\nHost: x\r\n"
	      "Content-Length: 10\r\n\r\n0123456789",
	[12] = "GET /healthz HTTP/1.1\r\nHost: x\r\n"
	       "Expect: 100-continue\r\n\r\n",
	[15] = TICKET_HEAD("HEAD") "\r\n",
	[16] = TICKET_HEAD("GET") "\r\n",
	[17] = TICKET_HEAD("DELETE") "\r\n",
	[18] = "POST /?w=8 HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
	       "Content-Length: 3\r\n\r\nabc",
};

/* A valid request. */
static void add_request(uint32_t kind)
{
	switch (kind) {
	case 4:
		add_picture("GET ", "");
		break;
	case 5:
		add_picture("HEAD ", "");
		break;
	case 6:
		add_picture("GET ", "Range: bytes=7-99\r\n");
		break;
	case 7:
		add_picture("GET ", "If-None-Match: *\r\n");
		break;
	case 9:
		add_picture("GET ", "If-Match: \"x\"\r\nIf-Match: \"y\" \r\n");
		break;
	case 10:
		add_picture("GET ", "If-Match: * \r\nIf-None-Match: \"x\"\r\n");
		break;
	case 11:
		add("GET ");
		add(picture);
		add("?w=8 HTTP/1.1\r\nHost: localhost\r\n\r\n");
		break;
	case 3:
	case 13:
	case 14:
		add_upload(random_below(&chance, WAYS));
		break;
	default:
		add(requests[kind]);
	}
}

static void add_requests(void)
{
	uint32_t count = 1 + random_below(&chance, 4);

	begin();
	for (uint32_t i = 0; i < count; i++)
		add_request(random_below(&chance, KINDS));
	add(last);
}

static void compare_mixed(void)
{
	for (int i = 0; i < MIXED; i++) {
		add_requests();
		compare(true);
	}
}

/*
 * Change a byte of the first bytes, which are mostly heads; or remove it, or
 * cut off the rest.
 */
static void change_request(void)
{
	static const char bytes[] = { '\0', '\r', '\n', ' ',  '\t', ':',
				      '5',  'x',  ',',  '\"', '/',  '\xff' };
	size_t at =
		random_below(&chance, (uint32_t)min_u64(request.bytes, 300));

	switch (random_below(&chance, 8)) {
	case 0:
		request.bytes = at;
		break;
	case 1:
		memmove(request.text + at, request.text + at + 1,
			request.bytes - at - 1);
		request.bytes--;
		break;
	default:
		request.text[at] = bytes[random_below(&chance, sizeof(bytes))];
	}
}

static void compare_changed(void)
{
	for (int i = 0; i < CHANGED; i++) {
		uint32_t count = 1 + random_below(&chance, 3);

		add_requests();
		while (count-- > 0 && request.bytes > 1)
			change_request();
		compare(false);
	}
}

int main(int argc, char **argv)
{
	const char *why;

	CHECK(argc == 5 || argc == 6);
	ports[0] = (uint16_t)atoi(argv[1]);
	ports[1] = (uint16_t)atoi(argv[2]);
	picture = argv[3];
	photo = file_read_bytes(argv[4], BYTES_MAX / 8, &photo_bytes, &why);
	CHECK(photo != NULL);
	if (argc == 5) {
		compare_lines();
		compare_headers();
		compare_bodies();
	}
	compare_mixed();
	compare_changed();
	(void)printf("%u cases, %u replies: the same\n", case_count,
		     reply_count);
	free(photo);
	return EXIT_SUCCESS;
}
