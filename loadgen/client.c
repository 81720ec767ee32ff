/* SPDX-License-Identifier: MIT */
#include "loadgen/client.h"

#include "loadgen/clock.h"
#include "loadgen/loop.h"

#include <assert.h>
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

enum {
	CONNECT_TIMEOUT_MS = 10000,
	CONNECT_FAILURES_MIN = 8, /* in a row, before giving up */
	REPLY_BYTES_FIRST = 64 << 10,
	/* Four times libcurl's default takes a third off the client's CPU time
	 * with photos of 0.6 MB; eight times takes no more. */
	UPLOAD_BUFFER_BYTES = 256 << 10,
};

/* One client of the thesis: an easy handle that keeps one connection. */
struct connection {
	struct client *client;
	CURL *easy;
	bool in_flight;

	/* The request in flight. */
	uint32_t file;
	uint64_t started_ns;  /* 0: not connected yet */
	uint64_t sent_ns;     /* 0: not all sent yet */
	const char *rejected; /* why we broke it off, or NULL */

	char *reply; /* owned; NULL unless replies are kept */
	size_t reply_bytes;
	size_t reply_capacity;

	char error[CURL_ERROR_SIZE];
};

struct client {
	struct client_config config;
	struct loop *loop;
	struct curl_slist *headers;
	struct connection *connections;
	uint32_t in_flight_count;
	uint32_t connect_failures; /* in a row */
	uint64_t began_ns;
	uint64_t ended_ns; /* of the last request so far */
	enum client_end end;
	char error[CURL_ERROR_SIZE];
};

static size_t size_bytes(const struct connection *c)
{
	return c->client->config.dataset->files[c->file].size_bytes;
}

/*
 * libcurl has a connection, new or kept, and is about to send the request.  A
 * second time means that it is about to send it again, as the connection was
 * kept and closed without a reply: no, the server has lost a request.
 */
static int note_start(void *arg, char *server_ip, char *own_ip, int server_port,
		      int own_port)
{
	struct connection *c = arg;

	(void)server_ip, (void)own_ip, (void)server_port, (void)own_port;
	if (c->started_ns != 0) {
		c->rejected = "Kept connection closed without a reply";
		return CURL_PREREQFUNC_ABORT;
	}
	c->started_ns = clock_now_ns();
	return CURL_PREREQFUNC_OK;
}

/* libcurl calls this after each send and receive, and now and then. */
static int note_sent(void *arg, curl_off_t to_receive, curl_off_t received,
		     curl_off_t to_send, curl_off_t sent)
{
	struct connection *c = arg;

	(void)to_receive, (void)received, (void)to_send;
	if (c->sent_ns == 0 && c->started_ns != 0 &&
	    sent == (curl_off_t)size_bytes(c))
		c->sent_ns = clock_now_ns();
	return 0;
}

static bool reserve_reply(struct connection *c, size_t bytes)
{
	size_t capacity = c->reply_capacity;
	char *reply;

	if (capacity == 0)
		capacity = REPLY_BYTES_FIRST;
	while (capacity < bytes)
		capacity *= 2;
	if (capacity == c->reply_capacity)
		return true;
	reply = realloc(c->reply, capacity);
	if (reply == NULL)
		return false;
	c->reply = reply;
	c->reply_capacity = capacity;
	return true;
}

/* Anything but `count` makes libcurl break the transfer off. */
static size_t take_reply(char *bytes, size_t one, size_t count, void *arg)
{
	struct connection *c = arg;

	assert(one == 1);
	if (count > CLIENT_REPLY_BYTES_MAX - c->reply_bytes) {
		c->rejected = "Reply too long";
		return 0;
	}
	if (c->client->config.keep_replies) {
		if (!reserve_reply(c, c->reply_bytes + count)) {
			c->rejected = "Out of memory for the reply";
			return 0;
		}
		memcpy(c->reply + c->reply_bytes, bytes, count);
	}
	c->reply_bytes += count;
	return count;
}

static bool is_over(const struct client *c)
{
	uint64_t duration_ns = c->config.duration_ns;

	return c->end != CLIENT_FINISHED || *c->config.stop ||
	       (duration_ns != 0 &&
		clock_now_ns() - c->began_ns >= duration_ns);
}

/* Send the next file, if there is one to be sent. */
static void send_next(struct connection *c)
{
	struct client *client = c->client;
	const struct dataset_file *file;

	if (is_over(client) || !order_next(client->config.order, &c->file))
		return;
	file = &client->config.dataset->files[c->file];
	c->started_ns = 0;
	c->sent_ns = 0;
	c->rejected = NULL;
	c->reply_bytes = 0;
	c->error[0] = '\0';
	curl_easy_setopt(c->easy, CURLOPT_POSTFIELDS, file->bytes); /* lent */
	curl_easy_setopt(c->easy, CURLOPT_POSTFIELDSIZE_LARGE,
			 (curl_off_t)file->size_bytes);
	if (!loop_add(client->loop, c->easy)) {
		client->end = CLIENT_BROKEN;
		return;
	}
	c->in_flight = true;
	client->in_flight_count++;
}

static struct result describe(const struct connection *c, CURLcode outcome,
			      uint64_t now_ns)
{
	struct result r = {
		.file = c->file,
		.uploaded_bytes = size_bytes(c),
		.reply = c->reply,
		.reply_bytes = c->reply_bytes,
	};
	long status = 0;

	if (outcome != CURLE_OK) {
		r.error = c->rejected != NULL ? c->rejected :
						curl_easy_strerror(outcome);
		return r;
	}
	curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
	r.status = (int)status;
	r.from_first_byte_ns = now_ns - c->started_ns;
	r.response_ns = c->sent_ns != 0 ? now_ns - c->sent_ns : 0;
	return r;
}

static void count_connect_failures(struct client *client,
				   const struct connection *c)
{
	uint32_t limit = client->config.connections;

	if (limit < CONNECT_FAILURES_MIN)
		limit = CONNECT_FAILURES_MIN;
	if (c->started_ns != 0) {
		client->connect_failures = 0;
	} else if (++client->connect_failures == limit) {
		client->end = CLIENT_GAVE_UP;
		strcpy(client->error, c->error); /* of the same size */
	}
}

/* A loop_done_fn. */
static void finish(CURL *easy, CURLcode outcome, void *arg)
{
	uint64_t now_ns = clock_now_ns();
	struct client *client = arg;
	struct connection *c;
	struct result r;
	char *private;

	curl_easy_getinfo(easy, CURLINFO_PRIVATE, &private);
	c = (struct connection *)private;
	assert(c->in_flight);
	c->in_flight = false;
	client->in_flight_count--;
	if (client->end != CLIENT_FINISHED)
		return; /* ended by another transfer of this step */
	client->ended_ns = now_ns;
	r = describe(c, outcome, now_ns);
	count_connect_failures(client, c);
	if (!client->config.done(&r, client->config.arg))
		client->end = CLIENT_STOPPED;
	send_next(c);
}

static void set_options(struct connection *c,
			const struct client_config *config)
{
	CURL *e = c->easy;

	curl_easy_setopt(e, CURLOPT_PRIVATE, c);
	curl_easy_setopt(e, CURLOPT_URL, config->url);
	curl_easy_setopt(e, CURLOPT_PROXY, ""); /* whatever environment says */
	curl_easy_setopt(e, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(e, CURLOPT_POST, 1L);
	curl_easy_setopt(e, CURLOPT_HTTPHEADER, c->client->headers);
	curl_easy_setopt(e, CURLOPT_TCP_NODELAY, 1L);
	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e, CURLOPT_UPLOAD_BUFFERSIZE,
			 (long)UPLOAD_BUFFER_BYTES);
	curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS,
			 (long)CONNECT_TIMEOUT_MS);
	curl_easy_setopt(e, CURLOPT_TIMEOUT_MS,
			 (long)(config->timeout_ns / NS_PER_MS));
	curl_easy_setopt(e, CURLOPT_ERRORBUFFER, c->error);
	curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, note_start);
	curl_easy_setopt(e, CURLOPT_PREREQDATA, c);
	curl_easy_setopt(e, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(e, CURLOPT_XFERINFOFUNCTION, note_sent);
	curl_easy_setopt(e, CURLOPT_XFERINFODATA, c);
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, take_reply);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, c);
}

static bool make_headers(struct client *client)
{
	/* "Expect:" alone takes libcurl's own 100-continue away. */
	const char *lines[] = { "Content-Type: image/jpeg", "Expect:" };

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct curl_slist *headers =
			curl_slist_append(client->headers, lines[i]);

		if (headers == NULL)
			return false;
		client->headers = headers;
	}
	return true;
}

static bool make_connections(struct client *client)
{
	uint32_t count = client->config.connections;

	client->connections = calloc(count, sizeof(*client->connections));
	if (client->connections == NULL)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		struct connection *c = &client->connections[i];

		c->client = client;
		c->easy = curl_easy_init();
		if (c->easy == NULL)
			return false;
		set_options(c, &client->config);
	}
	return true;
}

struct client *client_new(const struct client_config *config)
{
	struct client *client = calloc(1, sizeof(*client));

	assert(config->connections > 0 && config->dataset->count > 0);
	if (client == NULL)
		return NULL;
	client->config = *config;
	client->loop = loop_new(config->connections, finish, client);
	if (client->loop == NULL || !make_headers(client) ||
	    !make_connections(client)) {
		client_free(client);
		return NULL;
	}
	return client;
}

void client_free(struct client *client)
{
	if (client == NULL)
		return;
	for (uint32_t i = 0;
	     client->connections != NULL && i < client->config.connections;
	     i++) {
		struct connection *c = &client->connections[i];

		if (c->in_flight)
			loop_remove(client->loop, c->easy);
		curl_easy_cleanup(c->easy);
		free(c->reply);
	}
	free(client->connections);
	loop_free(client->loop);
	curl_slist_free_all(client->headers);
	free(client);
}

enum client_end client_run(struct client *client)
{
	client->began_ns = clock_now_ns();
	client->ended_ns = client->began_ns;
	for (uint32_t i = 0; i < client->config.connections; i++)
		send_next(&client->connections[i]);
	while (client->end == CLIENT_FINISHED && !*client->config.stop &&
	       client->in_flight_count > 0)
		if (!loop_step(client->loop))
			client->end = CLIENT_BROKEN;
	if (client->end == CLIENT_FINISHED && *client->config.stop)
		client->end = CLIENT_STOPPED;
	return client->end;
}

uint64_t client_makespan_ns(const struct client *client)
{
	return client->ended_ns - client->began_ns;
}

const char *client_error(const struct client *client)
{
	return client->error;
}
