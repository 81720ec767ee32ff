/* SPDX-License-Identifier: MIT */
/*
 * Makes each allocation of each kind of request fail in turn, and checks: the
 * reply is the same as without a failure, with all headers; or it is an error;
 * or there is no reply.  No memory stays charged, and the next request is
 * answered as usual.  The server has counted the replies that were received,
 * and no others.
 *
 * The server must have a store, run with LD_PRELOAD=libfaults.so, and have
 * nothing else to do.
 *
 * usage: check_faults PORT FAULTS_FILE JPEG [--no-workers]
 */
#include "service/test/process/faults.h"

#include "base/test/check.h"
#include "base/util.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum {
	REQUEST_BYTES_MAX = 1 << 20,
	REPLY_BYTES_MAX = 4 << 20,
	PATIENCE_S = 60,
	POLLS_MAX = 60000,
	POLL_US = 1000,
	SITES_MAX = 5000,
	AFTER_US = 20000, /* after this time, the work after a reply is done */
};

enum body { BODY_NONE, BODY_JPEG, BODY_HALF, BODY_FORM, BODY_CHUNKS };

enum { ID_BYTES = 64 + 1 };

#define VARIANTS "variant=a:w=90&variant=b:w=40"

/* A part of an upload by tus, and one that says that it is all. */
#define PART                                                                   \
	"Tus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\n"                         \
	"Content-Type: application/offset+octet-stream\r\n"
#define ALL_PARTS PART "Upload-Length: LENGTH\r\n"

/* The id of the image that is stored below, again and again. */
static char id[ID_BYTES];
/* The last ticket that was made. */
static char ticket[ID_BYTES];

static const struct kind {
	const char *target; /* ID and TICKET stand for those below */
	enum body body;
	int status;
	/*
	 * How two replies are compared; those with SAME_MEMBERS are requested
	 * as JSON.
	 */
	enum sameness { SAME_BYTES, SAME_MEMBERS, SAME_STATUS } sameness;
	const char *header; /* one more header to send; NULL: none */
	/* Request to send before each attempt; NULL: none. */
	const struct kind *before;
	bool goes_on; /* work continues after its reply */
	bool needs_workers;
} store = { "POST /v1/images?" VARIANTS, BODY_JPEG, 201,
	    .sameness = SAME_MEMBERS },
  remove_stored = { "DELETE /v1/images/ID", BODY_NONE, 204,
		    .sameness = SAME_BYTES },
  make_ticket = { "POST /v1/uploads?" VARIANTS, BODY_NONE, 201,
		  .sameness = SAME_MEMBERS },
  make_after_removal = { "POST /v1/uploads?" VARIANTS, BODY_NONE, 201,
			 .sameness = SAME_MEMBERS, .before = &remove_stored },
  begin_ticket = {
	  "PATCH /v1/uploads/TICKET", BODY_HALF,      204,
	  .sameness = SAME_STATUS,    .header = PART, .before = &make_ticket
  };

static const struct kind kinds[] = {
	{ "POST /?w=200&h=100&fit=cover&blur=2", BODY_JPEG, 200,
	  .sameness = SAME_BYTES },
	{ "POST /?w=90&progressive=1&icc=keep", BODY_FORM, 200,
	  .sameness = SAME_BYTES },
	{ "POST /?variant=a:w=90&variant=b:w=40,blur=1", BODY_JPEG, 200,
	  .sameness = SAME_STATUS },
	{ "POST /?variant=a:w=90&variant=b:w=40&placeholder=1", BODY_JPEG, 200,
	  .sameness = SAME_MEMBERS },
	{ "POST /?w=90&strict=0", BODY_HALF, 200, .sameness = SAME_BYTES },
	{ "POST /?w=90", BODY_HALF, 422, .sameness = SAME_MEMBERS },
	{ "POST /?w=0", BODY_JPEG, 400, .sameness = SAME_MEMBERS },
	{ "POST /nowhere", BODY_FORM, 404, .sameness = SAME_MEMBERS },
	{ "GET /healthz", BODY_NONE, 200, .sameness = SAME_BYTES },
	{ "GET /readyz", BODY_NONE, 200, .sameness = SAME_STATUS },
	/*
	 * Each new status adds a line to the metrics, so the text may differ.
	 */
	{ "GET /metrics", BODY_NONE, 200, .sameness = SAME_STATUS },
	{ "GET /stats", BODY_NONE, 200, .sameness = SAME_MEMBERS },
	{ "GET /trace", BODY_NONE, 200, .sameness = SAME_STATUS,
	  .needs_workers = true },
	{ "POST /v1/images?" VARIANTS, BODY_JPEG, 201, .sameness = SAME_MEMBERS,
	  .before = &remove_stored },
	{ "POST /v1/images?respond=decoded&" VARIANTS, BODY_JPEG, 202,
	  .sameness = SAME_MEMBERS, .before = &remove_stored, .goes_on = true },
	{ "GET /v1/images/ID", BODY_NONE, 200, .sameness = SAME_BYTES,
	  .before = &store },
	{ "GET /v1/images/ID/a", BODY_NONE, 200, .sameness = SAME_BYTES },
	{ "GET /v1/images/ID/a", BODY_NONE, 206, .sameness = SAME_BYTES,
	  .header = "Range: bytes=5-99\r\n" },
	{ "GET /v1/images/ID/c", BODY_NONE, 404, .sameness = SAME_MEMBERS },
	{ "DELETE /v1/images/ID", BODY_NONE, 204, .sameness = SAME_BYTES,
	  .before = &store },
	{ "POST /?w=90", BODY_CHUNKS, 200, .sameness = SAME_BYTES },
	{ "POST /v1/uploads?" VARIANTS, BODY_NONE, 201,
	  .sameness = SAME_MEMBERS },
	{ "GET /v1/uploads/TICKET", BODY_NONE, 200, .sameness = SAME_MEMBERS,
	  .before = &make_ticket },
	{ "PUT /v1/uploads/TICKET", BODY_CHUNKS, 201, .sameness = SAME_MEMBERS,
	  .before = &make_after_removal },
	{ "PUT /v1/uploads/TICKET", BODY_HALF, 422, .sameness = SAME_MEMBERS,
	  .before = &make_ticket },
	{ "PATCH /v1/uploads/TICKET", BODY_HALF, 204, .sameness = SAME_STATUS,
	  .header = PART, .before = &make_ticket },
	{ "PATCH /v1/uploads/TICKET", BODY_CHUNKS, 204, .sameness = SAME_STATUS,
	  .header = ALL_PARTS, .before = &make_after_removal },
	{ "DELETE /v1/uploads/TICKET", BODY_NONE, 204, .sameness = SAME_BYTES,
	  .before = &begin_ticket },
};

struct bytes {
	size_t count;
	char *at;
};

struct reply {
	int status;        /* 0: closed before the end of a reply */
	int line_count;    /* number of lines of its head */
	struct bytes body; /* points into `received` */
	char received[REPLY_BYTES_MAX + 1];
};

static uint16_t port;
static uint64_t received_count; /* of whole replies */
static struct faults *faults;
static struct bytes jpeg;

static struct bytes read_whole(const char *path)
{
	struct bytes b = { .at = malloc(REQUEST_BYTES_MAX) };
	FILE *f = fopen(path, "re");

	CHECK(b.at != NULL);
	CHECK(f != NULL);
	b.count = fread(b.at, 1, REQUEST_BYTES_MAX, f);
	CHECK_NUMBER(b.count, >, 0);
	CHECK_NUMBER(b.count, <, REQUEST_BYTES_MAX / 2);
	(void)fclose(f);
	return b;
}

static void map_faults(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	CHECK_NUMBER(fd, >=, 0);
	faults = mmap(NULL, sizeof(*faults), PROT_READ | PROT_WRITE, MAP_SHARED,
		      fd, 0);
	CHECK(faults != MAP_FAILED);
	(void)close(fd);
}

static void add(struct bytes *to, const void *from, size_t count)
{
	memcpy(to->at + to->count, from, count);
	to->count += count;
}

static void add_text(struct bytes *to, const char *text)
{
	add(to, text, strlen(text));
}

static void add_number(struct bytes *to, size_t number)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%zu", number);
	add_text(to, text);
}

/* Add a text, with what the words in capitals stand for. */
static void add_filled(struct bytes *to, const char *text)
{
	for (; *text != '\0'; text++)
		if (strncmp(text, "ID", 2) == 0) {
			add_text(to, id);
			text += 1;
		} else if (strncmp(text, "TICKET", 6) == 0) {
			add_text(to, ticket);
			text += 5;
		} else if (strncmp(text, "LENGTH", 6) == 0) {
			add_number(to, jpeg.count);
			text += 5;
		} else {
			add(to, text, 1);
		}
}

static void add_chunk(struct bytes *to, const char *bytes, size_t count)
{
	char line[24];

	(void)snprintf(line, sizeof(line), "%zx\r\n", count);
	add_text(to, line);
	add(to, bytes, count);
	add_text(to, "\r\n");
}

static void add_body(struct bytes *to, enum body body)
{
	static const char before[] =
		"--border\r\nContent-Disposition: form-data; "
		"name=\"file\"; filename=\"a\"\r\n\r\n";
	static const char after[] = "\r\n--border--\r\n";
	size_t half = jpeg.count / 2;

	switch (body) {
	case BODY_NONE:
		break;
	case BODY_JPEG:
		add(to, jpeg.at, jpeg.count);
		break;
	case BODY_HALF:
		add(to, jpeg.at, half);
		break;
	case BODY_FORM:
		add_text(to, before);
		add(to, jpeg.at, jpeg.count);
		add_text(to, after);
		break;
	case BODY_CHUNKS:
		add_chunk(to, jpeg.at, half);
		add_chunk(to, jpeg.at + half, jpeg.count - half);
		add_chunk(to, "", 0);
		break;
	}
}

/* The caller frees `at`. */
static struct bytes make_request(const struct kind *k)
{
	struct bytes request = { .at = malloc(REQUEST_BYTES_MAX) };
	struct bytes body = { .at = malloc(REQUEST_BYTES_MAX) };

	CHECK(request.at != NULL && body.at != NULL);
	add_body(&body, k->body);
	add_filled(&request, k->target);
	add_text(&request, " HTTP/1.1\r\nHost: localhost\r\n"
			   "Connection: close\r\nAccept: ");
	add_text(&request,
		 k->sameness == SAME_MEMBERS ? "application/json" : "*/*");
	if (k->body == BODY_FORM)
		add_text(&request, "\r\nContent-Type: multipart/form-data; "
				   "boundary=border");
	add_text(&request, "\r\n");
	if (k->header != NULL)
		add_filled(&request, k->header);
	if (k->body == BODY_CHUNKS) {
		add_text(&request, "Transfer-Encoding: chunked");
	} else {
		add_text(&request, "Content-Length: ");
		add_number(&request, body.count);
	}
	add_text(&request, "\r\n\r\n");
	add(&request, body.at, body.count);
	free(body.at);
	return request;
}

static int connect_to_server(void)
{
	const struct timeval patience = { .tv_sec = PATIENCE_S };
	const struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK_NUMBER(fd, >=, 0);
	CHECK_NUMBER(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
				sizeof(patience)),
		     ==, 0);
	CHECK_NUMBER(
		connect(fd, (const struct sockaddr *)&address, sizeof(address)),
		==, 0);
	return fd;
}

static void parse(struct reply *r, size_t received)
{
	const char *length, *end;
	int status;

	r->received[received] = '\0';
	end = strstr(r->received, "\r\n\r\n");
	length = strstr(r->received, "Content-Length: ");
	r->status = 0;
	if (end == NULL)
		return;
	status = atoi(r->received + sizeof("HTTP/1.1 ") - 1);
	if (status == 204) /* no body, no Content-Length */
		length = "Content-Length: 0";
	else if (length == NULL || length > end)
		return;
	r->body.at = r->received + (end + 4 - r->received);
	r->body.count = received - (size_t)(r->body.at - r->received);
	if (r->body.count == strtoul(length + 16, NULL, 10))
		r->status = status;
	r->line_count = 0;
	for (const char *c = r->received; c < end; c++)
		r->line_count += *c == '\r';
}

/*
 * Send the request and read until the server closes the connection, which it
 * must do within PATIENCE_S.
 */
static void exchange(const struct kind *k, struct reply *r)
{
	struct bytes request = make_request(k);
	int fd = connect_to_server();
	size_t received = 0, sent = 0;
	ssize_t count = 0;

	while (sent < request.count) {
		count = send(fd, request.at + sent, request.count - sent,
			     MSG_NOSIGNAL);
		if (count <= 0)
			/* The server has closed early; there may be a reply. */
			break;
		sent += (size_t)count;
	}
	while ((count = recv(fd, r->received + received,
			     REPLY_BYTES_MAX - received, 0)) > 0)
		received += (size_t)count;
	/* A reset also ends the reply; a timeout does not. */
	if (count < 0 && errno != ECONNRESET) {
		perror(k->target);
		exit(1);
	}
	(void)close(fd);
	free(request.at);
	parse(r, received);
	received_count += r->status > 0;
}

static int count_quotes(const struct bytes *text)
{
	int count = 0;

	for (size_t i = 0; i < text->count; i++)
		count += text->at[i] == '"';
	return count;
}

static bool is_same(const struct kind *k, const struct reply *a,
		    const struct reply *b)
{
	if (a->status != b->status || a->line_count != b->line_count)
		return false;
	switch (k->sameness) {
	case SAME_BYTES:
		return a->body.count == b->body.count &&
		       memcmp(a->body.at, b->body.at, a->body.count) == 0;
	case SAME_MEMBERS:
		return count_quotes(&a->body) == count_quotes(&b->body);
	case SAME_STATUS:
		break;
	}
	return true;
}

static void fail(const struct kind *k, int site, const char *what,
		 const struct reply *r)
{
	(void)fprintf(stderr, "%s, allocation %d: %s: status %d, %zu bytes\n",
		      k->target, site, what, r->status, r->body.count);
	exit(1);
}

/*
 * The memory and the slot of a request are free soon after its connection has
 * ended.
 */
static void check_nothing_is_held(const struct kind *k, int site)
{
	static const struct kind stats = { "GET /stats", BODY_NONE, 200,
					   .sameness = SAME_STATUS };
	static struct reply r;

	for (int i = 0; i < POLLS_MAX; i++) {
		exchange(&stats, &r);
		if (r.status == 200 && strstr(r.body.at, "\"used_bytes\":0") &&
		    strstr(r.body.at, "\"in_flight\":0"))
			return;
		(void)usleep(POLL_US);
	}
	fail(k, site, "memory or a place is still taken", &r);
}

/* The id at the begin of a reply. */
static void read_id(char to[ID_BYTES], const struct reply *r)
{
	static const char before[] = "{\"id\":\"";

	CHECK_NUMBER(r->status, ==, 201);
	CHECK_NUMBER(r->body.count, >, sizeof(before) + ID_BYTES);
	CHECK(memcmp(r->body.at, before, sizeof(before) - 1) == 0);
	memcpy(to, r->body.at + sizeof(before) - 1, ID_BYTES - 1);
}

static void prepare(const struct kind *k)
{
	static struct reply r;

	if (k->before == NULL)
		return;
	prepare(k->before);
	exchange(k->before, &r);
	if (k->before == &make_ticket || k->before == &make_after_removal)
		read_id(ticket, &r);
}

/* Returns how many allocations failed. */
static int check_kind(const struct kind *k, int *refused)
{
	static struct reply without, with, after;
	int site = 0;
	bool reached = true, is_right = true;

	prepare(k);
	exchange(k, &without);
	if (without.status != k->status)
		fail(k, 0, "not as it should be", &without);
	while (reached) {
		CHECK_NUMBER(++site, <, SITES_MAX);
		prepare(k);
		atomic_store(&faults->allocations_left, site);
		exchange(k, &with);
		if (k->goes_on)
			(void)usleep(AFTER_US);
		reached = atomic_exchange(&faults->allocations_left, 0) == 0;
		if ((with.status > 0 && with.status < 400) ||
		    with.status == without.status)
			is_right = is_same(k, &with, &without);
		if (!is_right)
			fail(k, site, "wrong reply", &with);
		*refused += with.status != without.status;
		prepare(k);
		exchange(k, &after);
		if (!is_same(k, &after, &without))
			fail(k, site, "the next reply is wrong", &after);
	}
	/*
	 * Checked only once for each kind, because reports are made rarely; a
	 * leak stays visible until then.
	 */
	check_nothing_is_held(k, site);
	return site - 1;
}

/* Sets `id`. */
static void store_one(void)
{
	static struct reply r;

	exchange(&store, &r);
	read_id(id, &r);
}

/* The replies that the server has counted, before this call. */
static uint64_t read_replies(void)
{
	static const struct kind metrics = { "GET /metrics", BODY_NONE, 200,
					     .sameness = SAME_STATUS };
	static const char name[] = "\ndarkroom_http_replies_total{";
	static struct reply r;
	uint64_t count = 0;

	exchange(&metrics, &r);
	CHECK_NUMBER(r.status, ==, 200);
	for (const char *at = r.body.at; (at = strstr(at, name)) != NULL;) {
		at = strstr(at, "} ");
		CHECK(at != NULL);
		count += strtoul(at + 2, NULL, 10);
	}
	return count;
}

/* `counted` and `received` are the numbers at the begin. */
static void check_counts(uint64_t counted, uint64_t received)
{
	received = received_count - received;
	counted = read_replies() - counted;
	if (counted == received)
		return;
	(void)fprintf(stderr, "%" PRIu64 " replies counted, %" PRIu64 " sent\n",
		      counted, received);
	exit(1);
}

int main(int argc, char **argv)
{
	uint64_t counted, received;

	CHECK(argc == 4 || argc == 5);
	port = (uint16_t)atoi(argv[1]);
	map_faults(argv[2]);
	jpeg = read_whole(argv[3]);
	store_one();
	received = received_count;
	counted = read_replies();
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		int refused = 0, sites;

		if (argc == 5 && kinds[i].needs_workers)
			continue;
		sites = check_kind(&kinds[i], &refused);
		(void)printf("%s: %d allocations failed, %d requests\n",
			     kinds[i].target, sites, refused);
		CHECK_NUMBER(sites, >, 0);
		CHECK_NUMBER(refused, >, 0);
	}
	check_counts(counted, received);
	free(jpeg.at);
	return 0;
}
