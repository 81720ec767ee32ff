/* SPDX-License-Identifier: MIT */
#include "loadgen/client.h"

#include "loadgen/clock.h"
#include "loadgen/connection.h"
#include "loadgen/loop.h"
#include "loadgen/url.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CONNECT_TIMEOUT_NS (10 * NS_PER_S)

enum { CONNECT_FAILURES_MIN = 8 }; /* in a row, before giving up */

TAILQ_HEAD(connection_list, connection);

struct client {
	struct client_config config;
	struct url url;
	struct addrinfo *addresses;
	struct loop loop;
	struct connection *connections;

	/*
	 * The first begun first.  All have the same time-out, so whatever is
	 * over its time is at the beginning.
	 */
	struct connection_list in_flight;
	struct connection_list connecting; /* of those in flight */

	/* Of an open loop. */
	struct connection *idle; /* the last used first */
	uint64_t idle_since_ns;  /* when the first was put into `idle` */
	uint64_t due_ns;         /* of the next request, or LOOP_NEVER */
	struct request due;

	uint32_t connect_failures; /* in a row */
	uint64_t began_ns;
	uint64_t ended_ns; /* of the last request so far */
	enum client_end end;
	const char *error;
};

static bool is_over(const struct client *c)
{
	uint64_t duration_ns = c->config.duration_ns;

	return c->end != CLIENT_FINISHED || *c->config.stop ||
	       (duration_ns != 0 &&
		clock_now_ns() - c->began_ns >= duration_ns);
}

static void note_connected(struct client *client, struct connection *c)
{
	if (!c->is_connecting)
		return;
	c->is_connecting = false;
	TAILQ_REMOVE(&client->connecting, c, connecting);
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
		client->error = c->error;
	}
}

/* The request has ended: count it. */
static void take_result(struct client *client, struct connection *c)
{
	struct result r = connection_describe(c, client->began_ns);

	assert(c->is_in_flight);
	note_connected(client, c);
	c->is_in_flight = false;
	TAILQ_REMOVE(&client->in_flight, c, in_flight);
	if (client->end != CLIENT_FINISHED)
		return; /* ended by another request of this step */
	client->ended_ns = c->ended_ns;
	count_connect_failures(client, c);
	if (!client->config.done(&r, client->config.arg))
		client->end = CLIENT_STOPPED;
}

/* False: the request has ended already, and is counted. */
static bool send_request(struct client *client, struct connection *c,
			 const struct request *request)
{
	c->begun_ns = clock_now_ns();
	c->is_in_flight = true;
	TAILQ_INSERT_TAIL(&client->in_flight, c, in_flight);
	if (!connection_begin(c, request)) {
		take_result(client, c);
		return false;
	}
	if (c->started_ns == 0) {
		c->is_connecting = true;
		TAILQ_INSERT_TAIL(&client->connecting, c, connecting);
	}
	return true;
}

/* Closed loop: send the next request, if there is one to be sent. */
static void send_next(struct client *client, struct connection *c)
{
	struct request request;

	while (!is_over(client) &&
	       requests_next(client->config.requests, &request))
		if (send_request(client, c, &request))
			return;
}

/* Open loop.  What is intended within the duration is sent, however late. */
static void draw_due(struct client *client)
{
	uint64_t duration_ns = client->config.duration_ns;
	uint64_t at_ns = arrivals_next_ns(client->config.arrivals);

	if (at_ns != ARRIVALS_OVER &&
	    (duration_ns == 0 || at_ns < duration_ns) &&
	    requests_next(client->config.requests, &client->due))
		client->due_ns = client->began_ns + at_ns;
	else
		client->due_ns = LOOP_NEVER;
}

static void put_idle(struct client *client, struct connection *c,
		     uint64_t now_ns)
{
	if (client->idle == NULL)
		client->idle_since_ns = now_ns;
	c->idle_next = client->idle;
	client->idle = c;
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
		if (!send_request(client, c, &client->due))
			put_idle(client, c, c->ended_ns);
		draw_due(client);
	}
}

/* The request has ended: count it, and send what is next. */
static void finish(struct client *client, struct connection *c)
{
	take_result(client, c);
	if (client->config.arrivals == NULL) {
		send_next(client, c);
	} else {
		put_idle(client, c, c->ended_ns);
		send_due(client);
	}
}

/* A loop_ready_fn. */
static void act(void *source, uint32_t events, void *arg)
{
	struct client *client = arg;
	struct connection *c = source;

	if (!c->is_in_flight)
		return; /* the server has closed a kept connection */
	if (!connection_continue(c, events))
		finish(client, c);
	else if (c->started_ns != 0)
		note_connected(client, c);
}

static void break_late(struct client *client)
{
	uint64_t now_ns = clock_now_ns();
	struct connection *c;

	while ((c = TAILQ_FIRST(&client->connecting)) != NULL &&
	       c->begun_ns + CONNECT_TIMEOUT_NS <= now_ns) {
		connection_break(c, "No connection in time");
		finish(client, c);
	}
	while ((c = TAILQ_FIRST(&client->in_flight)) != NULL &&
	       c->begun_ns + client->config.timeout_ns <= now_ns) {
		connection_break(c, "No reply in time");
		finish(client, c);
	}
}

static bool make_connections(struct client *client)
{
	uint32_t count = client->config.connections;

	client->connections = calloc(count, sizeof(*client->connections));
	if (client->connections == NULL)
		return false;
	for (uint32_t i = 0; i < count; i++)
		connection_init(&client->connections[i], &client->url,
				client->addresses, &client->loop,
				client->config.keep_replies);
	return true;
}

/* All that can fail; client_free() is due all the same. */
static bool make(struct client *client, struct error *error)
{
	if (!url_parse(&client->url, client->config.url, error))
		return false;
	client->addresses = url_resolve(&client->url, error);
	if (client->addresses == NULL)
		return false;
	if (loop_init(&client->loop) && make_connections(client))
		return true;
	error_set(error, "%" PRIu32 " connections: %s",
		  client->config.connections, strerror(errno));
	return false;
}

struct client *client_new(const struct client_config *config,
			  struct error *error)
{
	struct client *client = calloc(1, sizeof(*client));

	assert(config->connections > 0);
	if (client == NULL) {
		error_set(error, "%s", strerror(errno));
		return NULL;
	}
	client->config = *config;
	client->loop.epoll_fd = -1;
	TAILQ_INIT(&client->in_flight);
	TAILQ_INIT(&client->connecting);
	if (!make(client, error)) {
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
	     client->connections != NULL && i < client->config.connections; i++)
		connection_release(&client->connections[i]);
	free(client->connections);
	loop_release(&client->loop);
	if (client->addresses != NULL)
		freeaddrinfo(client->addresses);
	url_release(&client->url);
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
	       (!TAILQ_EMPTY(&client->in_flight) ||
		client->due_ns != LOOP_NEVER)) {
		send_due(client);
		if (!loop_step(&client->loop,
			       client->idle != NULL ? client->due_ns :
						      LOOP_NEVER,
			       act, client))
			client->end = CLIENT_BROKEN;
		break_late(client);
		if (client->config.tick != NULL)
			client->config.tick(client->config.arg);
	}
	if (client->end == CLIENT_FINISHED && *client->config.stop)
		client->end = CLIENT_STOPPED;
	return client->end;
}

uint32_t client_in_flight_count(const struct client *client)
{
	const struct connection *c;
	uint32_t count = 0;

	TAILQ_FOREACH(c, &client->in_flight, in_flight)
	count++;
	return count;
}

uint64_t client_makespan_ns(const struct client *client)
{
	return client->ended_ns - client->began_ns;
}

const char *client_error(const struct client *client)
{
	return client->error;
}
