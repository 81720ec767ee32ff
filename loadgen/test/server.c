/* SPDX-License-Identifier: MIT */
#include "loadgen/test/server.h"

#include "base/test/check.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum {
	CUT_PROMISED_BYTES = 1000,
	CUT_SENT_BYTES = 10,
	CONNECTIONS_MAX = 4000, /* libmicrohttpd's default is 1020 */
};

static struct sockaddr_in any_port(void)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

static void write_url(unsigned port, char url[SERVER_URL_BYTES])
{
	snprintf(url, SERVER_URL_BYTES, "http://127.0.0.1:%u/", port);
}

static ssize_t read_until_cut(void *arg, uint64_t at, char *out, size_t room)
{
	(void)arg;
	if (at >= CUT_SENT_BYTES)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	CHECK_NUMBER(room, >=, CUT_SENT_BYTES);
	memset(out, 'x', CUT_SENT_BYTES);
	return CUT_SENT_BYTES;
}

static ssize_t read_without_end(void *arg, uint64_t at, char *out, size_t room)
{
	(void)arg, (void)at;
	memset(out, 'x', room);
	return (ssize_t)room;
}

static struct MHD_Response *make_reply(const struct server *s,
				       const struct server_body *body)
{
	static char busy[] = "busy";

	switch (s->mode) {
	case SERVER_ECHO:
	case SERVER_STALL:
	case SERVER_DROP_SECOND:
		return MHD_create_response_from_buffer(
			body->size_bytes, body->bytes, MHD_RESPMEM_MUST_COPY);
	case SERVER_BUSY:
		return MHD_create_response_from_buffer(strlen(busy), busy,
						       MHD_RESPMEM_PERSISTENT);
	case SERVER_CUT:
		return MHD_create_response_from_callback(
			CUT_PROMISED_BYTES, 512, read_until_cut, NULL, NULL);
	case SERVER_LONG:
		return MHD_create_response_from_callback(
			s->reply_bytes, 1 << 20, read_without_end, NULL, NULL);
	}
	abort();
}

static bool is_type(const struct server *s, struct MHD_Connection *connection)
{
	static const char form[] = "multipart/form-data; boundary=";
	const char *type = MHD_lookup_connection_value(
		connection, MHD_HEADER_KIND, "Content-Type");

	if (s->takes_forms)
		return strncmp(type, form, strlen(form)) == 0;
	return strcmp(type, "image/jpeg") == 0;
}

static void note_width(struct server_body *body,
		       struct MHD_Connection *connection)
{
	const char *width = MHD_lookup_connection_value(
		connection, MHD_GET_ARGUMENT_KIND, "w");

	if (width != NULL) {
		CHECK_NUMBER(strlen(width), <, sizeof(body->width));
		strcpy(body->width, width);
	}
}

static int is_header(struct MHD_Connection *connection, const char *name,
		     const char *value)
{
	const char *found =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);

	if (found == NULL || value == NULL)
		return found == value;
	return strcmp(found, value) == 0;
}

/* All requests wait, because the server has one thread. */
static void stall(void)
{
	struct timespec pause = {
		.tv_sec = SERVER_STALL_MS / 1000,
		.tv_nsec = SERVER_STALL_MS % 1000 * 1000000L,
	};

	nanosleep(&pause, NULL);
}

static struct server_body *begin(struct server *s,
				 struct MHD_Connection *connection,
				 const char *method, const char *version)
{
	CHECK_NUMBER(s->request_count, <, SERVER_BODIES_MAX);
	if (s->mode == SERVER_STALL && s->request_count == 0)
		stall();
	if (strcmp(method, "POST") != 0 || strcmp(version, "HTTP/1.1") != 0 ||
	    !is_type(s, connection) || !is_header(connection, "Expect", NULL) ||
	    !is_header(connection, "Transfer-Encoding", NULL) ||
	    !is_header(connection, "Authorization", s->authorization))
		s->strange_count++;
	note_width(&s->bodies[s->request_count], connection);
	return &s->bodies[s->request_count++];
}

static void append(struct server_body *body, const char *bytes, size_t count)
{
	size_t end = body->size_bytes + count;

	if (end > body->room_bytes) {
		body->room_bytes = 2 * end;
		body->bytes = realloc(body->bytes, body->room_bytes);
		CHECK(body->bytes != NULL);
	}
	memcpy(body->bytes + body->size_bytes, bytes, count);
	body->size_bytes = end;
}

/* Half of the uploads are in each sample of the counter. */
static enum MHD_Result send_metrics(const struct server *s,
				    struct MHD_Connection *connection)
{
	char text[256];
	int length = snprintf(text, sizeof(text),
			      "# TYPE %s counter\n%s{a=\"1\"} %g\n"
			      "%s{a=\"2\"} %g\n",
			      s->counter, s->counter, s->request_count / 2.,
			      s->counter, s->request_count / 2.);
	struct MHD_Response *reply = MHD_create_response_from_buffer(
		(size_t)length, text, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result queued;

	CHECK(reply != NULL);
	queued = MHD_queue_response(connection, 200, reply);
	MHD_destroy_response(reply);
	return queued;
}

/* Called after the headers, for each part of the body, and at the end. */
static enum MHD_Result handle(void *arg, struct MHD_Connection *connection,
			      const char *url, const char *method,
			      const char *version, const char *upload,
			      size_t *upload_bytes, void **request)
{
	struct server *s = arg;
	struct server_body *body = *request;
	struct MHD_Response *reply;
	enum MHD_Result queued;

	if (s->counter != NULL && strcmp(method, "GET") == 0 &&
	    strcmp(url, "/metrics") == 0)
		return send_metrics(s, connection);
	if (body == NULL) {
		*request = begin(s, connection, method, version);
		return MHD_YES;
	}
	if (*upload_bytes > 0) {
		append(body, upload, *upload_bytes);
		*upload_bytes = 0;
		return MHD_YES;
	}
	if (s->mode == SERVER_DROP_SECOND && (body - s->bodies) % 2 == 1)
		return MHD_NO;
	reply = make_reply(s, body);
	CHECK(reply != NULL);
	queued = MHD_queue_response(connection,
				    s->mode == SERVER_BUSY ? 503 : 200, reply);
	MHD_destroy_response(reply);
	return queued;
}

static void count_connection(void *arg, struct MHD_Connection *connection,
			     void **context,
			     enum MHD_ConnectionNotificationCode what)
{
	struct server *s = arg;

	(void)connection, (void)context;
	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		s->open_count--;
		return;
	}
	s->connection_count++;
	if (++s->open_count > s->open_count_peak)
		s->open_count_peak = s->open_count;
}

void server_start(struct server *s)
{
	struct sockaddr_in address = any_port();
	const union MHD_DaemonInfo *info;

	s->daemon = MHD_start_daemon(
		MHD_USE_AUTO_INTERNAL_THREAD, 0, NULL, NULL, handle, s,
		MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_CONNECTION_LIMIT,
		CONNECTIONS_MAX, MHD_OPTION_NOTIFY_CONNECTION, count_connection,
		s, MHD_OPTION_END);
	CHECK(s->daemon != NULL);
	info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
	CHECK(info != NULL);
	CHECK_NUMBER(info->port, !=, 0);
	write_url(info->port, s->url);
}

void server_stop(struct server *s)
{
	MHD_stop_daemon(s->daemon);
}

void server_release(struct server *s)
{
	for (unsigned i = 0; i < s->request_count; i++)
		free(s->bodies[i].bytes);
}

int dead_port_open(int listening, char url[SERVER_URL_BYTES])
{
	struct sockaddr_in address = any_port();
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK_NUMBER(fd, >=, 0);
	CHECK_NUMBER(bind(fd, (struct sockaddr *)&address, size), ==, 0);
	CHECK(!listening || listen(fd, 16) == 0);
	CHECK_NUMBER(getsockname(fd, (struct sockaddr *)&address, &size), ==,
		     0);
	write_url(ntohs(address.sin_port), url);
	return fd;
}
