/* SPDX-License-Identifier: MIT */
#include "loadgen/client/client.h"

#include "base/clock.h"
#include "base/slice.h"
#include "loadgen/client/connection.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONNECT_TIMEOUT_NS (10 * NS_PER_S)
#define WAIT_NS_MAX (100 * NS_PER_MS)
#define NEVER UINT64_MAX

enum {
	/* Consecutive failures before giving up; see client_run(). */
	CONNECT_FAILURES_MIN = 8,
	EVENTS_MAX = 64,
};

TAILQ_HEAD(connection_list, connection);

struct client {
	struct client_config config;
	struct url url;
	struct addrinfo *addresses;
	struct tls *tls; /* NULL: plain HTTP */
	int epoll_fd;
	struct connection *connections;

	/*
	 * In the order in which they began.  All have the same timeout, so
	 * those that exceed it are at the beginning.
	 */
	struct connection_list in_flight;
	/* Requests in flight that are not connected yet. */
	struct connection_list connecting;

	/* Only in an open loop. */
	struct connection *idle; /* list of free ones, the last used first */
	uint64_t idle_since_ns;  /* since when `idle` is not empty */
	/* Intended time of the next request, or NEVER. */
	uint64_t due_ns;
	struct request due;

	uint32_t in_flight_count;
	uint32_t connect_failures; /* consecutive */
	uint64_t began_ns;
	uint64_t ended_ns; /* end of the last request so far */
	enum client_end end;
	const char *error; /* why the client gave up */
};

static bool client_is_over(const struct client *c)
{
	uint64_t duration_ns = c->config.duration_ns;

	return c->end != CLIENT_FINISHED || *c->config.stop ||
	       (duration_ns != 0 &&
		clock_now_ns() - c->began_ns >= duration_ns);
}

static void client_note_connected(struct client *client, struct connection *c)
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

/* Report that the request of `c` has ended. */
static void client_end_request(struct client *client, struct connection *c)
{
	struct result r = connection_describe(c, client->began_ns);

	assert(c->is_in_flight);
	client_note_connected(client, c);
	c->is_in_flight = false;
	TAILQ_REMOVE(&client->in_flight, c, in_flight);
	client->in_flight_count--;
	if (client->end != CLIENT_FINISHED)
		return; /* an earlier call of `done` has ended the run */
	client->ended_ns = c->ended_ns;
	count_connect_failures(client, c);
	if (!client->config.done(&r, client->config.arg))
		client->end = CLIENT_STOPPED;
}

/* False: the request has ended already, and has been counted. */
static bool send_request(struct client *client, struct connection *c,
			 const struct request *request)
{
	c->begun_ns = clock_now_ns();
	c->is_in_flight = true;
	TAILQ_INSERT_TAIL(&client->in_flight, c, in_flight);
	client->in_flight_count++;
	if (!connection_begin(c, request)) {
		client_end_request(client, c);
		return false;
	}
	if (c->started_ns == 0) {
		c->is_connecting = true;
		TAILQ_INSERT_TAIL(&client->connecting, c, connecting);
	}
	return true;
}

/* Closed loop: send the next request, if there is one. */
static void send_next(struct client *client, struct connection *c)
{
	struct request request;

	while (!client_is_over(client) &&
	       requests_next(client->config.requests, &request))
		if (send_request(client, c, &request))
			return;
}

/*
 * Open loop: draw the next request and its time.  Requests that are intended
 * within the duration are sent, however late.
 */
static void draw_due(struct client *client)
{
	uint64_t duration_ns = client->config.duration_ns;
	uint64_t at_ns = arrivals_next_ns(client->config.arrivals);

	if (at_ns != ARRIVALS_OVER &&
	    (duration_ns == 0 || at_ns < duration_ns) &&
	    requests_next(client->config.requests, &client->due))
		client->due_ns = client->began_ns + at_ns;
	else
		client->due_ns = NEVER;
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
 * Open loop: send requests that are due, in the order of their times, while
 * connections are idle.  Requests that have to wait need no queue: each is
 * drawn only when the one before it has been sent.
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

/* The request of `c` has ended: report it, and send the next one. */
static void finish_request(struct client *client, struct connection *c)
{
	client_end_request(client, c);
	if (client->config.arrivals == NULL) {
		send_next(client, c);
	} else {
		put_idle(client, c, c->ended_ns);
		send_due(client);
	}
}

static void client_socket_ready(struct client *client, struct connection *c,
				uint32_t events)
{
	if (!c->is_in_flight)
		return; /* the server has closed an idle connection */
	if (!connection_continue(c, events))
		finish_request(client, c);
	else if (c->started_ns != 0)
		client_note_connected(client, c);
}

static struct timespec wait_until(uint64_t wake_ns)
{
	uint64_t now_ns = clock_now_ns();
	uint64_t wait_ns = wake_ns > now_ns ? wake_ns - now_ns : 0;

	if (wait_ns > WAIT_NS_MAX)
		wait_ns = WAIT_NS_MAX;
	return (struct timespec){ .tv_nsec = (long)wait_ns };
}

/*
 * Wait for sockets until `wake_ns` (a time of clock_now_ns(), or NEVER), but at
 * most WAIT_NS_MAX, and continue the connections that are ready.  False: a
 * system call failed.
 */
static bool client_wait(struct client *client, uint64_t wake_ns)
{
	struct epoll_event events[EVENTS_MAX];
	struct timespec wait = wait_until(wake_ns);
	int count =
		epoll_pwait2(client->epoll_fd, events, EVENTS_MAX, &wait, NULL);

	if (count < 0)
		return errno == EINTR;
	for (int i = 0; i < count; i++)
		client_socket_ready(client, events[i].data.ptr,
				    events[i].events);
	return true;
}

static void break_late_requests(struct client *client)
{
	uint64_t now_ns = clock_now_ns();
	struct connection *c;

	while ((c = TAILQ_FIRST(&client->connecting)) != NULL &&
	       c->begun_ns + CONNECT_TIMEOUT_NS <= now_ns) {
		connection_break(c, "No connection in time");
		finish_request(client, c);
	}
	while ((c = TAILQ_FIRST(&client->in_flight)) != NULL &&
	       c->begun_ns + client->config.timeout_ns <= now_ns) {
		connection_break(c, "No reply in time");
		finish_request(client, c);
	}
}

static bool client_make_connections(struct client *client)
{
	uint32_t count = client->config.connections;

	client->connections = calloc(count, sizeof(*client->connections));
	if (client->connections == NULL)
		return false;
	for (uint32_t i = 0; i < count; i++)
		connection_init(&client->connections[i], &client->url,
				client->addresses, client->tls,
				client->epoll_fd, client->config.keep_replies);
	return true;
}

/* False: `error` says why; client_free() must still be called. */
static bool client_init(struct client *client, struct error *error)
{
	if (!url_parse(&client->url, client->config.url, error))
		return false;
	client->addresses = url_resolve(&client->url, error);
	if (client->addresses == NULL)
		return false;
	if (client->url.is_tls) {
		client->tls = tls_new(client->config.ca_file,
				      client->config.is_insecure, error);
		if (client->tls == NULL)
			return false;
	}
	client->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (client->epoll_fd >= 0 && client_make_connections(client))
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
	client->epoll_fd = -1;
	TAILQ_INIT(&client->in_flight);
	TAILQ_INIT(&client->connecting);
	if (!client_init(client, error)) {
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
	if (client->epoll_fd >= 0)
		close(client->epoll_fd);
	if (client->addresses != NULL)
		freeaddrinfo(client->addresses);
	url_release(&client->url);
	tls_free(client->tls);
	free(client);
}

static void client_begin(struct client *client)
{
	bool is_open = client->config.arrivals != NULL;

	client->began_ns = clock_now_ns();
	client->ended_ns = client->began_ns;
	client->due_ns = NEVER;
	for (uint32_t i = 0; i < client->config.connections; i++)
		if (is_open)
			put_idle(client, &client->connections[i],
				 client->began_ns);
		else
			send_next(client, &client->connections[i]);
	if (is_open)
		draw_due(client);
}

struct client_outcome client_run(struct client *client)
{
	/* It is to send in time, also beside a server on the same cores. */
	slice_set(SLICE_SHORT_NS);
	client_begin(client);
	while (client->end == CLIENT_FINISHED && !*client->config.stop &&
	       (!TAILQ_EMPTY(&client->in_flight) || client->due_ns != NEVER)) {
		send_due(client);
		if (!client_wait(client,
				 client->idle != NULL ? client->due_ns : NEVER))
			client->end = CLIENT_BROKEN;
		break_late_requests(client);
		if (client->config.tick != NULL)
			client->config.tick(client->in_flight_count,
					    client->config.arg);
	}
	if (client->end == CLIENT_FINISHED && *client->config.stop)
		client->end = CLIENT_STOPPED;
	slice_set(0);
	return (struct client_outcome){
		.end = client->end,
		.makespan_ns = client->ended_ns - client->began_ns,
		.error = client->error,
	};
}
