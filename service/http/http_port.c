/* SPDX-License-Identifier: MIT */
/* Ports: the daemons of libmicrohttpd, and the connections they accept. */
#include "service/http/http_port.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	CONNECTION_BYTES = 128 * 1024, /* mostly read buffer: fewer calls */
	ADMIN_IDLE_MS = 10000,
	ADMIN_CONNECTION_BYTES = 16 * 1024,
	RATE_WINDOW_MS = 5000,
	EXCESS_US = 2000,
	EXCESS_DOUBLINGS = 10,
};

/*
 * Where connections have threads, and all places are taken, libmicrohttpd does
 * not let new ones wait, but closes them.  So the fewer are left, the longer
 * the next one waits to be accepted: up to two seconds for the last, as those
 * that have to go need the CPU to do so.
 */
static void wait_for_places(const struct port *port)
{
	uint32_t open_max = port->http->config.connections_max;
	uint32_t excess = clients_excess(port->clients);
	uint32_t doublings = excess * EXCESS_DOUBLINGS /
			     (clients_places(open_max) - open_max);

	if (excess > 0)
		(void)usleep((useconds_t)EXCESS_US << doublings);
}

/* A MHD_NotifyConnectionCallback. */
static void on_connection(void *cls, struct MHD_Connection *connection,
			  void **slot, enum MHD_ConnectionNotificationCode what)
{
	struct port *port = cls;
	const union MHD_ConnectionInfo *tls = MHD_get_connection_info(
		connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	int fd = MHD_get_connection_info(connection,
					 MHD_CONNECTION_INFO_CONNECTION_FD)
			 ->connect_fd;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		client_remove(*slot);
		atomic_fetch_sub(&port->connection_count, 1);
		return;
	}
	atomic_fetch_add(&port->connection_count, 1);
	*slot = client_add(port->clients, fd, tls == NULL);
	if (port->has_threads)
		wait_for_places(port);
}

struct port_config {
	int fd;
	unsigned int flags;
	uint32_t connections_max;
	uint32_t per_address_max; /* 0: any */
	uint32_t idle_ms;
	size_t connection_bytes;
};

enum { TLS_OPTIONS = 4 };

/* Returns a flag for MHD_start_daemon(). */
static unsigned int tls_options(struct MHD_OptionItem options[TLS_OPTIONS],
				const struct http_config *c)
{
	/* TLS 1.2 and 1.3, with keys of each connection's own. */
	static const char priorities[] =
		"SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA";
	const struct MHD_OptionItem all[TLS_OPTIONS] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)c->tls_certificate },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)c->tls_key },
		{ MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)priorities },
		{ MHD_OPTION_END, 0, NULL },
	};
	bool is_on = c->tls_certificate != NULL;

	memcpy(options, is_on ? all : &all[TLS_OPTIONS - 1],
	       is_on ? sizeof(all) : sizeof(all[0]));
	return is_on ? MHD_USE_TLS : 0;
}

/* False: it could not be started. */
static bool start_port(struct port *port, struct http *h,
		       const struct port_config *c)
{
	uint32_t places = clients_places(c->connections_max);
	struct MHD_OptionItem tls[TLS_OPTIONS];
	unsigned int flags = MHD_USE_ITC | tls_options(tls, &h->config);

	port->http = h;
	port->has_threads = c->flags & MHD_USE_THREAD_PER_CONNECTION;
	port->clients = clients_start(&(struct clients_config){
		.open_max = c->connections_max,
		.places = places,
		.head_ms = h->config.head_ms,
		.body_ms = h->config.deadline_ms,
		.idle_ms = c->idle_ms,
		.rate_min = h->config.rate_min,
		.window_ms = RATE_WINDOW_MS,
		.too_slow = h->too_slow,
	});
	if (port->clients == NULL)
		return false;
	port->daemon = MHD_start_daemon(
		c->flags | flags, 0, NULL, NULL, http_on_request, port,
		MHD_OPTION_LISTEN_SOCKET, c->fd, MHD_OPTION_NOTIFY_CONNECTION,
		on_connection, port, MHD_OPTION_URI_LOG_CALLBACK,
		http_on_target, port, MHD_OPTION_NOTIFY_COMPLETED, http_on_end,
		NULL, MHD_OPTION_CONNECTION_LIMIT, (unsigned int)places,
		MHD_OPTION_PER_IP_CONNECTION_LIMIT,
		(unsigned int)c->per_address_max,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, c->connection_bytes,
		MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
	return port->daemon != NULL;
}

static bool start_main(struct http *h)
{
	unsigned int flags = h->suspends ?
				     MHD_USE_EPOLL_INTERNAL_THREAD |
					     MHD_ALLOW_SUSPEND_RESUME :
				     MHD_USE_INTERNAL_POLLING_THREAD |
					     MHD_USE_THREAD_PER_CONNECTION |
					     MHD_USE_POLL;

	return start_port(&h->main, h,
			  &(struct port_config){
				  .fd = h->config.listen_fd,
				  .flags = flags,
				  .connections_max = h->config.connections_max,
				  .per_address_max = h->config.per_address_max,
				  .idle_ms = h->config.idle_ms,
				  .connection_bytes = CONNECTION_BYTES,
			  });
}

static bool start_admin(struct http *h)
{
	return start_port(&h->admin, h,
			  &(struct port_config){
				  .fd = h->config.admin_fd,
				  .flags = MHD_USE_EPOLL_INTERNAL_THREAD |
					   MHD_ALLOW_SUSPEND_RESUME,
				  .connections_max = HTTP_ADMIN_CONNECTIONS_MAX,
				  .idle_ms = ADMIN_IDLE_MS,
				  .connection_bytes = ADMIN_CONNECTION_BYTES,
			  });
}

static void stop_port(struct port *port)
{
	if (port->daemon != NULL)
		MHD_stop_daemon(port->daemon);
	clients_stop(port->clients);
}

/* The whole reply.  False: no memory. */
static bool write_too_slow(char text[TOO_SLOW_BYTES])
{
	char *body = problem_json(PROBLEM_REQUEST_TIMEOUT, NULL, NULL);

	if (body == NULL)
		return false;

	int bytes = snprintf(text, TOO_SLOW_BYTES,
			     "HTTP/1.1 408 Request Timeout\r\n"
			     "Content-Type: application/problem+json\r\n"
			     "Content-Length: %zu\r\n"
			     "Connection: close\r\n\r\n%s",
			     strlen(body), body);

	assert(bytes < TOO_SLOW_BYTES);
	free(body);
	return true;
}

bool http_start_ports(struct http *h)
{
	return write_too_slow(h->too_slow) && start_main(h) &&
	       (h->config.admin_fd < 0 || start_admin(h));
}

void http_stop_ports(struct http *h)
{
	stop_port(&h->main);
	stop_port(&h->admin);
}
