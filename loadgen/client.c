/* SPDX-License-Identifier: MIT */
#include "loadgen/client.h"

#include "loadgen/clock.h"
#include "loadgen/connection.h"
#include "loadgen/loop.h"

#include <assert.h>
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

enum { CONNECT_FAILURES_MIN = 8 }; /* in a row, before giving up */

struct client {
	struct client_config config;
	struct loop *loop;
	struct curl_slist *headers;
	struct connection *connections;
	uint32_t in_flight_count;

	/* Of an open loop. */
	struct connection *idle; /* the last used first */
	uint64_t idle_since_ns;  /* when the first was put into `idle` */
	uint64_t due_ns;         /* of the next request, or LOOP_NEVER */
	uint32_t due_file;

	uint32_t connect_failures; /* in a row */
	uint64_t began_ns;
	uint64_t ended_ns; /* of the last request so far */
	enum client_end end;
	char error[CURL_ERROR_SIZE];
};

static bool is_over(const struct client *c)
{
	uint64_t duration_ns = c->config.duration_ns;

	return c->end != CLIENT_FINISHED || *c->config.stop ||
	       (duration_ns != 0 &&
		clock_now_ns() - c->began_ns >= duration_ns);
}

static void send_file(struct client *client, struct connection *c,
		      uint32_t file)
{
	connection_prepare(c, file);
	if (!loop_add(client->loop, c->easy)) {
		client->end = CLIENT_BROKEN;
		return;
	}
	c->in_flight = true;
	client->in_flight_count++;
}

/* Closed loop: send the next file, if there is one to be sent. */
static void send_next(struct client *client, struct connection *c)
{
	uint32_t file;

	if (!is_over(client) && order_next(client->config.order, &file))
		send_file(client, c, file);
}

/* Open loop.  What is intended within the duration is sent, however late. */
static void draw_due(struct client *client)
{
	uint64_t duration_ns = client->config.duration_ns;
	uint64_t at_ns = arrivals_next_ns(client->config.arrivals);

	if ((duration_ns == 0 || at_ns < duration_ns) &&
	    order_next(client->config.order, &client->due_file))
		client->due_ns = client->began_ns + at_ns;
	else
		client->due_ns = LOOP_NEVER;
}

/*
 * Open loop: send what is due, first intended first, while connections are
 * idle.  What must wait for one needs no queue: it is not drawn yet.
 */
static void send_due(struct client *client)
{
	while (client->idle != NULL && client->end == CLIENT_FINISHED) {
		struct connection *c = client->idle;
		uint64_t now_ns = clock_now_ns();

		if (client->due_ns > now_ns)
			return;
		client->idle = c->idle_next;
		c->intended_ns = client->due_ns;
		c->waited = client->due_ns < client->idle_since_ns;
		c->lag_ns = now_ns - client->due_ns;
		send_file(client, c, client->due_file);
		draw_due(client);
	}
}

static void put_idle(struct client *client, struct connection *c,
		     uint64_t now_ns)
{
	if (client->idle == NULL)
		client->idle_since_ns = now_ns;
	c->idle_next = client->idle;
	client->idle = c;
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
	struct connection *c = connection_of(easy);
	struct result r;

	assert(c->in_flight);
	c->in_flight = false;
	client->in_flight_count--;
	if (client->end != CLIENT_FINISHED)
		return; /* ended by another transfer of this step */
	client->ended_ns = now_ns;
	r = connection_describe(c, outcome, now_ns);
	count_connect_failures(client, c);
	if (!client->config.done(&r, client->config.arg))
		client->end = CLIENT_STOPPED;
	if (client->config.arrivals == NULL) {
		send_next(client, c);
	} else {
		put_idle(client, c, now_ns);
		send_due(client);
	}
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
	for (uint32_t i = 0; i < count; i++)
		if (!connection_init(&client->connections[i], &client->config,
				     client->headers))
			return false;
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
		connection_release(c);
	}
	free(client->connections);
	loop_free(client->loop);
	curl_slist_free_all(client->headers);
	free(client);
}

static void begin(struct client *client)
{
	bool is_open = client->config.arrivals != NULL;

	client->began_ns = clock_now_ns();
	client->ended_ns = client->began_ns;
	client->due_ns = LOOP_NEVER;
	for (uint32_t i = 0; i < client->config.connections; i++)
		if (is_open)
			put_idle(client, &client->connections[i],
				 client->began_ns);
		else
			send_next(client, &client->connections[i]);
	if (is_open)
		draw_due(client);
}

enum client_end client_run(struct client *client)
{
	begin(client);
	while (client->end == CLIENT_FINISHED && !*client->config.stop &&
	       (client->in_flight_count > 0 || client->due_ns != LOOP_NEVER)) {
		send_due(client);
		if (!loop_step(client->loop, client->idle != NULL ?
						     client->due_ns :
						     LOOP_NEVER))
			client->end = CLIENT_BROKEN;
	}
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
