/* SPDX-License-Identifier: MIT */
/*
 * Promise: forms as most clients send them have the same parts here as for
 * libmicrohttpd's reader, whatever is in them, and however each of the two gets
 * them in pieces.
 */
#include "service/http/handlers/multipart.h"

#include "base/random.h"
#include "base/test/check.h"
#include "base/util.h"

#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	FORMS = 2000,
	PARTS_MAX = 5,
	BITS_MAX = 12,
	BYTES_MAX = 4096,
	READER_BYTES = 64 << 10,
	RUNS_MAX = 5
};

#define TYPE "multipart/form-data; boundary=xyz"

static uint64_t seed = 1;

struct text {
	char bytes[BYTES_MAX];
	size_t count;
};

/* A form, what each reader made of it, and how large its pieces were. */
struct form {
	struct text body, parts, peer_parts;
	size_t piece_bytes, peer_piece_bytes;
	char peer_begin[64]; /* of the last part */
	bool was_read;
};

static void add(struct text *t, const void *bytes, size_t count)
{
	CHECK_NUMBER(count, <=, BYTES_MAX - t->count);
	memcpy(t->bytes + t->count, bytes, count);
	t->count += count;
}

static void add_text(struct text *t, const char *text)
{
	add(t, text, strlen(text));
}

static void print_begin(char to[64], const char *name, const char *filename)
{
	(void)snprintf(to, 64, "[%s %s]", name,
		       filename != NULL ? filename : "-");
}

static bool on_part(void *arg, const char *name, const char *filename,
		    const char *data, uint64_t offset, size_t bytes)
{
	struct form *f = arg;
	char begin[64];

	print_begin(begin, name, filename);
	if (offset == 0)
		add_text(&f->parts, begin);
	add(&f->parts, data, bytes);
	return true;
}

/* The peer may report a begin twice; no two parts of a form begin alike. */
static enum MHD_Result on_peer_part(void *arg, enum MHD_ValueKind kind,
				    const char *name, const char *filename,
				    const char *type, const char *encoding,
				    const char *data, uint64_t offset,
				    size_t bytes)
{
	struct form *f = arg;
	char begin[64];

	(void)kind;
	(void)type;
	(void)encoding;
	print_begin(begin, name, filename);
	if (offset == 0 && strcmp(begin, f->peer_begin) != 0) {
		add_text(&f->peer_parts, begin);
		(void)strcpy(f->peer_begin, begin);
	}
	add(&f->peer_parts, data, bytes);
	return MHD_YES;
}

/* The peer needs a connection, for its Content-Type. */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection,
				  const char *url, const char *method,
				  const char *version, const char *data,
				  size_t *bytes, void **slot)
{
	struct form *f = *(struct form **)arg;
	struct MHD_PostProcessor *reader = MHD_create_post_processor(
		connection, READER_BYTES, on_peer_part, f);

	(void)url;
	(void)method;
	(void)version;
	(void)data;
	(void)bytes;
	(void)slot;
	CHECK(reader != NULL);
	for (size_t at = 0; at < f->body.count; at += f->peer_piece_bytes) {
		size_t left = f->body.count - at;

		CHECK_NUMBER(MHD_post_process(reader, f->body.bytes + at,
					      left < f->peer_piece_bytes ?
						      left :
						      f->peer_piece_bytes),
			     ==, MHD_YES);
	}
	CHECK_NUMBER(MHD_destroy_post_processor(reader), ==, MHD_YES);
	f->was_read = true;
	return MHD_NO;
}

static void read_by_peer(struct form *f)
{
	static const char head[] = "POST / HTTP/1.1\r\nHost: x\r\n"
				   "Content-Type: " TYPE "\r\n"
				   "Content-Length: 1\r\n\r\n";
	static struct MHD_Daemon *daemon;
	static struct form *form;
	struct sockaddr_un nobody = { .sun_family = AF_UNIX };
	int pair[2];

	if (daemon == NULL)
		daemon = MHD_start_daemon(
			MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL,
			on_request, &form, MHD_OPTION_END);
	CHECK(daemon != NULL);
	form = f;
	CHECK_NUMBER(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair),
		     ==, 0);
	CHECK_NUMBER(MHD_add_connection(daemon, pair[0],
					(struct sockaddr *)&nobody,
					sizeof(nobody)),
		     ==, MHD_YES);
	CHECK_NUMBER(send(pair[1], head, sizeof(head) - 1, MSG_NOSIGNAL), ==,
		     (ssize_t)sizeof(head) - 1);
	for (int i = 0; i < RUNS_MAX && !f->was_read; i++)
		(void)MHD_run(daemon);
	CHECK(f->was_read);
	(void)close(pair[1]);
	(void)MHD_run(daemon);
}

static void read_here(struct form *f)
{
	struct multipart *m = multipart_new(TYPE, true, on_part, f);

	CHECK(m != NULL);
	for (size_t at = 0; at < f->body.count; at += f->piece_bytes) {
		size_t left = f->body.count - at;

		CHECK_NUMBER(multipart_read(m, f->body.bytes + at,
					    left < f->piece_bytes ?
						    left :
						    f->piece_bytes),
			     ==, MULTIPART_OK);
	}
	CHECK_NUMBER(multipart_finish(m), ==, MULTIPART_OK);
	multipart_free(m);
}

static bool toss(void)
{
	return random_below(&seed, 2) == 0;
}

/* Data of bits that look like boundaries, but are none. */
static void add_data(struct text *t)
{
	static const char *const bits[] = { "\r\n--",   "\r\n--xy", "\r\n--x",
					    "\r\r\n--", "\r\n",     "\r",
					    "\n",       "--",       "-",
					    "xyz",      "q",        "" };
	size_t begin = t->count;

	for (uint32_t n = random_below(&seed, BITS_MAX); n > 0; n--) {
		const char *bit = bits[random_below(&seed, ARRAY_SIZE(bits))];

		add(t, bit, bit[0] != '\0' ? strlen(bit) : 1);
	}
	if (memmem(t->bytes + begin, t->count - begin, "--xyz", 5) != NULL)
		t->count = begin;
}

static void add_part(struct text *t, uint32_t nth)
{
	bool has_type = toss(), type_first = toss();
	char text[96];

	add_text(t, "--xyz\r\n");
	if (has_type && type_first)
		add_text(t, "Content-Type: image/jpeg\r\n");
	(void)snprintf(text, sizeof(text),
		       "Content-Disposition: form-data; name=\"f%u\"%s\r\n",
		       nth, toss() ? "; filename=\"a.jpg\"" : "");
	add_text(t, text);
	if (has_type && !type_first)
		add_text(t, "Content-Type: image/jpeg\r\n");
	add_text(t, "\r\n");
	add_data(t);
	add_text(t, "\r\n");
}

static size_t random_piece(const struct form *f)
{
	return 1 + random_below(&seed, toss() ? (uint32_t)f->body.count : 10);
}

static void make_form(struct form *f)
{
	memset(f, 0, sizeof(*f));
	if (toss())
		add_text(&f->body, "\r\n");
	for (uint32_t i = 0, n = random_below(&seed, PARTS_MAX + 1); i < n; i++)
		add_part(&f->body, i);
	add_text(&f->body, toss() ? "--xyz--\r\n" : "--xyz--");
	f->piece_bytes = random_piece(f);
	f->peer_piece_bytes = random_piece(f);
}

int main(void)
{
	static struct form form;

	for (int i = 0; i < FORMS; i++) {
		make_form(&form);
		read_here(&form);
		read_by_peer(&form);
		CHECK_NUMBER(form.parts.count, ==, form.peer_parts.count);
		CHECK(memcmp(form.parts.bytes, form.peer_parts.bytes,
			     form.parts.count) == 0);
	}
	return 0;
}
