/* SPDX-License-Identifier: MIT */
/*
 * A libFuzzer target: forms as they arrive over a connection.
 *
 * The input is what follows "multipart/form-data;" in the Content-Type, then a
 * new line, then the body.  libmicrohttpd gets it over a socket pair, as from a
 * client, and passes it to body.c.  However a form is divided into pieces, the
 * picture and the fields are the same, and are no larger than what was sent;
 * and all memory is freed.
 */
#include "service/http/body.c"
#include "service/http/mhd/transport_mhd.c"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { HEAD_BYTES = 1024, LINE_BYTES = 400, RUNS_MAX = 20 };

/* The result of one form. */
struct form {
	size_t length;
	struct body body;
	enum problem problem;
	bool is_begun, is_ended;
	uint8_t *picture;
	size_t picture_bytes;
	/* As body.c keeps them: names and values, each ended by a NUL. */
	char fields[BODY_FIELD_BYTES];
	size_t fields_bytes;
};

static struct form *form; /* the form that the daemon reads now */
static size_t live_count; /* number of allocated blocks */

static void *count_alloc(void *arg, size_t bytes)
{
	(void)arg;
	live_count++;
	return malloc(bytes);
}

static void count_free(void *arg, void *block)
{
	(void)arg;
	live_count--;
	free(block);
}

static const struct memory memory = { count_alloc, count_free, NULL, NULL };

static enum MHD_Result answer(struct MHD_Connection *connection)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		0, NULL, MHD_RESPMEM_PERSISTENT);
	enum MHD_Result ok =
		MHD_queue_response(connection, MHD_HTTP_OK, response);

	MHD_destroy_response(response);
	return ok;
}

/* The connection of the only request at a time. */
static struct mhd_connection transported;

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection,
				  const char *url, const char *method,
				  const char *version, const char *data,
				  size_t *bytes, void **slot)
{
	(void)cls;
	(void)url;
	(void)method;
	(void)version;
	if (*slot == NULL) {
		*slot = form;
		form->is_begun = true;
		transported = (struct mhd_connection){
			.base = { .transport = &transport_mhd },
			.library = connection,
		};
		form->body.is_form = is_form(MHD_lookup_connection_value(
			connection, MHD_HEADER_KIND, "Content-Type"));
		form->problem = body_init(&form->body, &transported.base,
					  form->length, &memory);
		return MHD_YES;
	}
	if (*bytes > 0) {
		if (form->problem == PROBLEM_NONE)
			form->problem = body_append(&form->body, data, *bytes);
		*bytes = 0;
		return MHD_YES;
	}
	if (form->problem == PROBLEM_NONE)
		form->problem = body_finish(&form->body);
	form->is_ended = true;
	return answer(connection);
}

/* Keep the names and values that body_next_field() gives. */
static void keep_fields(const struct body *b)
{
	const char *name, *value;
	uint32_t count = 0;
	size_t at = 0;

	assert(b->field_count <= BODY_FIELDS_MAX);
	while (body_next_field(b, &at, &name, &value)) {
		size_t bytes = strlen(name) + strlen(value) + 2;

		assert(name[0] != '\0' && value == name + strlen(name) + 1);
		assert(bytes <= sizeof(form->fields) - form->fields_bytes);
		memcpy(form->fields + form->fields_bytes, name, bytes);
		form->fields_bytes += bytes;
		count++;
	}
	assert(count == b->field_count && at == form->fields_bytes);
	assert(at <= form->length + 2 * (size_t)count);
}

static void on_ended(void *cls, struct MHD_Connection *connection, void **slot,
		     enum MHD_RequestTerminationCode how)
{
	struct body *b = &form->body;

	(void)cls;
	(void)connection;
	(void)how;
	if (*slot == NULL)
		return;
	assert(b->count <= form->length);
	assert(memchr(b->detail, '\0', sizeof(b->detail)) != NULL);
	keep_fields(b);
	if (form->problem == PROBLEM_NONE) {
		form->picture_bytes = b->count;
		form->picture = malloc(b->count + 1);
		assert(form->picture != NULL);
		memcpy(form->picture, b->bytes, b->count);
	}
	body_release(b);
	*slot = NULL;
}

static struct MHD_Daemon *start(void)
{
	struct MHD_Daemon *d = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL,
		on_request, NULL, MHD_OPTION_NOTIFY_COMPLETED, on_ended, NULL,
		MHD_OPTION_END);

	assert(d != NULL);
	return d;
}

static void send_all(struct MHD_Daemon *daemon, int fd, const void *data,
		     size_t bytes, size_t piece_bytes)
{
	for (size_t at = 0; at < bytes; at += piece_bytes) {
		size_t n = bytes - at < piece_bytes ? bytes - at : piece_bytes;

		assert(send(fd, (const char *)data + at, n, MSG_NOSIGNAL) ==
		       (ssize_t)n);
		(void)MHD_run(daemon);
	}
}

/* Send the body of `f` in pieces. */
static void post(struct form *f, const char *type, const void *body,
		 size_t piece_bytes)
{
	static struct MHD_Daemon *daemon;
	struct sockaddr_un nobody = { .sun_family = AF_UNIX };
	char head[HEAD_BYTES];
	int pair[2], bytes;

	if (daemon == NULL)
		daemon = start();
	form = f;
	assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
	assert(MHD_add_connection(daemon, pair[0], (struct sockaddr *)&nobody,
				  sizeof(nobody)) == MHD_YES);
	bytes = snprintf(head, sizeof(head),
			 "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
			 "Content-Type: multipart/form-data;%s\r\n"
			 "Content-Length: %zu\r\n\r\n",
			 type, f->length);
	assert(bytes < HEAD_BYTES);
	send_all(daemon, pair[1], head, (size_t)bytes, (size_t)bytes);
	send_all(daemon, pair[1], body, f->length, piece_bytes);
	for (int i = 0; i < RUNS_MAX && !f->is_ended; i++)
		(void)MHD_run(daemon);
	assert(f->is_ended || !f->is_begun);
	(void)close(pair[1]);
	for (int i = 0; i < RUNS_MAX && live_count > 0; i++)
		(void)MHD_run(daemon);
	(void)MHD_run(daemon);
	assert(live_count == 0);
}

static void check_as_whole(const struct form *whole, const char *type,
			   const void *body, size_t piece_bytes)
{
	struct form pieces = { .length = whole->length };

	post(&pieces, type, body, piece_bytes);
	assert(pieces.is_begun == whole->is_begun);
	assert(pieces.problem == whole->problem);
	assert(pieces.picture_bytes == whole->picture_bytes);
	assert(pieces.fields_bytes == whole->fields_bytes);
	assert(memcmp(pieces.fields, whole->fields, whole->fields_bytes) == 0);
	assert(whole->picture_bytes == 0 ||
	       memcmp(pieces.picture, whole->picture, whole->picture_bytes) ==
		       0);
	free(pieces.picture);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const uint8_t *end = memchr(data, '\n', bytes);
	struct form whole = { 0 };
	char type[LINE_BYTES];

	if (end == NULL || end - data >= LINE_BYTES || end + 1 == data + bytes)
		return -1;
	/* The input must not add a header line. */
	for (const uint8_t *p = data; p < end; p++)
		type[p - data] = *p < ' ' ? ' ' : (char)*p;
	type[end - data] = '\0';
	whole.length = (size_t)(data + bytes - end - 1);
	post(&whole, type, end + 1, whole.length);
	check_as_whole(&whole, type, end + 1, 1);
	check_as_whole(&whole, type, end + 1, whole.length / 2 + 1);
	free(whole.picture);
	return 0;
}
