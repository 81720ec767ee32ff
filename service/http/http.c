/* SPDX-License-Identifier: MIT */
#include "service/http/http.h"

#include "service/http/connection/acceptor.h"
#include "service/http/connection/linger.h"
#include "service/http/http_state.h"
#include "service/http/request.h"
#include "service/http/handlers/images/making.h"
#include "service/http/handlers/images/spooler.h"
#include "service/http/mhd/interpose.h"
#include "service/http/handlers/watch/agent.h"
#include "service/http/handlers/waiting.h"
#include "service/http/handlers/watch/reports.h"
#include "service/http/handlers/watch/viewers.h"

#include "base/clock.h"
#include "service/direct/uthread.h"
#include "service/log/log.h"
#include "service/pipeline/pipeline.h"
#include "stages/stage.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	/* Mostly the read buffer: a large one needs fewer calls. */
	CONNECTION_BYTES = 128 * 1024,
	ADMIN_IDLE_MS = 10000,
	ADMIN_CONNECTION_BYTES = 32 * 1024,
	RATE_WINDOW_MS = 5000,
	/* Half of what a socket takes by default (tcp_rmem). */
	LOW_WATER_BYTES = 64 * 1024,
	EXCESS_US = 2000,
	EXCESS_DOUBLINGS = 10,
	COMPLAIN_MS = 60000,
	FRESH_MS = 1000,
	/*
	 * Turns of requests other than uploads and images:
	 * docs/operations/limits.md.
	 */
	PROBE_TURN_MS = 5,
	PREFLIGHT_TURN_MS = 2, /* before each upload to a signed URL */
	OTHER_TURN_MS = 5,
	TURNS_AT_ONCE = 100,
};

/*
 * If connections have kernel threads and all slots are taken, libmicrohttpd
 * closes new connections instead of letting them wait.  So the fewer slots are
 * left, the longer the next connection waits to be accepted: up to two seconds
 * for the last slot, because connections that are being closed need the CPU.
 */
static void wait_for_slots(const struct port *port)
{
	uint32_t open_max = port->http->config.connections_max;
	uint32_t excess = clients_excess(port->clients);
	uint32_t doublings = excess * EXCESS_DOUBLINGS /
			     (clients_slots(open_max) - open_max);

	if (excess > 0)
		(void)usleep((useconds_t)EXCESS_US << doublings);
}

/*
 * Lingering sockets count as open connections, and are the first to be closed.
 */
static void end_lingering_for_new(struct http *h)
{
	uint32_t open_count = atomic_load(&h->main.connection_count);

	if (open_count + linger_count(h->linger) > h->config.connections_max)
		linger_end_oldest(h->linger);
}

void connection_begin(struct connection *c, const struct sockaddr *from)
{
	struct port *port = c->port;

	if (port->acceptor != NULL)
		acceptor_begin(port->acceptor, c->io_thread, c->fd);
	atomic_fetch_add(&port->connection_count, 1);
	stage_take(RESOURCE_FILES, 1);
	c->client = client_add(port->clients, c->fd, from, c->tls == NULL);
	end_lingering_for_new(port->http);
	if (port->has_threads)
		wait_for_slots(port);
}

void connection_end(struct connection *c)
{
	struct port *port = c->port;

	stage_take(RESOURCE_FILES, -1);
	if (client_remove(c->client) && !atomic_load(&port->http->stopping))
		(void)linger_add(port->http->linger, c->fd);
	atomic_fetch_sub(&port->connection_count, 1);
	if (port->acceptor != NULL)
		acceptor_end(port->acceptor, c->io_thread);
}

/*
 * Warn the operator: perhaps all clients come through one proxy, and refused
 * clients get no answer.  The address is not logged, because it is personal
 * data.
 */
static void warn_site_is_full(struct port *port)
{
	uint64_t now_ns = clock_now_ns();

	if (now_ns < atomic_load(&port->complain_ns))
		return;
	atomic_store(&port->complain_ns, now_ns + COMPLAIN_MS * NS_PER_MS);
	log_message(port->http->config.log, LOG_LEVEL_WARN,
		    "an address has all of --max-connections-per-address "
		    "(%" PRIu32 "): more connections from it are closed; if "
		    "it is a proxy, name it in --trusted-proxies",
		    port->http->config.per_address_max);
}

bool port_admit(struct port *port, const struct sockaddr *from)
{
	if (clients_admit(port->clients, from))
		return true;
	warn_site_is_full(port);
	return false;
}

/* An acceptor_give_fn. */
static bool give_connection(void *arg, uint32_t thread, int fd,
			    const struct sockaddr *from, socklen_t bytes)
{
	struct port *port = arg;

	return port->transport->give(port->io_threads[thread], fd, from, bytes);
}

struct port_config {
	int fd;
	bool is_shared; /* see http_config.shares_listen_fd */
	uint32_t io_threads;
	const char *address;
	/* Each connection has a thread of libmicrohttpd; 1 I/O thread. */
	bool has_threads;
	struct uthreads *uthreads; /* see struct http_config */
	uint32_t connections_max;
	uint32_t per_address_max; /* 0: no limit */
	uint32_t idle_ms;
	size_t connection_bytes;
};

/* False: it could not be started. */
static bool start_io_thread(struct port *port, const struct port_config *c)
{
	struct io_thread *thread =
		port->transport->start(&(struct io_thread_config){
			.port = port,
			.index = port->io_thread_count,
			.listen_fd = c->io_threads > 1 ? -1 : c->fd,
			.is_shared = c->is_shared,
			.has_threads = c->has_threads,
			.uthreads = c->uthreads,
			.has_tls = port->http->config.has_tls,
			.connections_max = clients_slots(c->connections_max),
			.connection_bytes = c->connection_bytes,
			.body_bytes_max = port->http->config.body_bytes_max,
		});

	if (thread == NULL)
		return false;
	port->io_threads[port->io_thread_count++] = thread;
	return true;
}

/*
 * A thread that reads for one connection is a baseline of the papers, and reads
 * what there is.
 */
static uint32_t low_water_bytes(const struct port_config *c)
{
	if (c->uthreads != NULL)
		return uthreads_continue_transfers(c->uthreads) ?
			       LOW_WATER_BYTES :
			       0;
	return c->has_threads ? 0 : LOW_WATER_BYTES;
}

static struct clients *start_clients(const struct http *h,
				     const struct port_config *c)
{
	return clients_start(&(struct clients_config){
		.open_max = c->connections_max,
		.slots = clients_slots(c->connections_max),
		.fresh_ms = FRESH_MS,
		.per_address_max = c->per_address_max,
		.trusted = h->trusted,
		.turn_ms = { [CLIENT_TURN_PROBE] = PROBE_TURN_MS,
			     [CLIENT_TURN_PREFLIGHT] = PREFLIGHT_TURN_MS,
			     [CLIENT_TURN_OTHER] = OTHER_TURN_MS },
		.turns_at_once = TURNS_AT_ONCE,
		.head_ms = h->config.head_ms,
		.body_ms = h->config.deadline_ms,
		.idle_ms = c->idle_ms,
		.rate_min = h->config.rate_min,
		.window_ms = RATE_WINDOW_MS,
		.low_water_bytes = low_water_bytes(c),
		.refusals = { [CLIENT_TOO_SLOW] = h->refusals[CLIENT_TOO_SLOW],
			      [CLIENT_STOPPING] =
				      h->refusals[CLIENT_STOPPING] },
	});
}

/* For several I/O threads.  NULL: no memory, or no descriptor. */
static struct acceptor *new_acceptor(struct port *port,
				     const struct port_config *c)
{
	return acceptor_new(&(struct acceptor_config){
		.fd = c->fd,
		.thread_count = c->io_threads,
		.connections_max = clients_slots(c->connections_max),
		.give = give_connection,
		.arg = port,
	});
}

/* False: it could not be started. */
static bool start_port(struct port *port, struct http *h,
		       const struct port_config *c)
{
	bool has_acceptor = c->io_threads > 1;

	port->http = h;
	port->address = c->address;
	port->is_shared = c->is_shared;
	port->transport =
		c->uthreads != NULL ? &transport_direct : &transport_mhd;
	port->has_threads = c->has_threads;
	port->clients = start_clients(h, c);
	if (has_acceptor)
		port->acceptor = new_acceptor(port, c);
	if (port->clients == NULL || (has_acceptor && port->acceptor == NULL))
		return false;
	for (uint32_t i = 0; i < c->io_threads; i++) {
		if (!start_io_thread(port, c))
			return false;
	}
	port->accepts = !has_acceptor || acceptor_start(port->acceptor);
	return port->accepts;
}

static bool start_main(struct http *h)
{
	struct uthreads *uthreads = h->config.uthreads;
	bool has_workers = pipeline_worker_count(h->config.pipeline) > 0;
	bool has_io_threads = uthreads == NULL && has_workers;

	return start_port(
		&h->main, h,
		&(struct port_config){
			.fd = h->config.listen_fd,
			.is_shared = h->config.shares_listen_fd,
			.io_threads = has_io_threads ? h->config.io_threads : 1,
			.address = h->config.listen_address,
			.has_threads = uthreads == NULL && !has_workers,
			.uthreads = uthreads,
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
				  .is_shared = h->config.shares_admin_fd,
				  .io_threads = 1,
				  .address = h->config.admin_address,
				  .connections_max = HTTP_ADMIN_CONNECTIONS_MAX,
				  .idle_ms = ADMIN_IDLE_MS,
				  .connection_bytes = ADMIN_CONNECTION_BYTES,
			  });
}

/*
 * Accept no more connections.  Without an acceptor, the listening socket is
 * closed later, by http_stop(), because an I/O thread may still use it.  Until
 * then clients are refused; at a shared socket they wait for the next server.
 */
static void stop_accepting(struct port *port)
{
	if (!port->accepts)
		return;
	port->accepts = false;
	acceptor_stop(port->acceptor);
	if (port->acceptor == NULL)
		port->refused_fd =
			port->transport->stop_accepting(port->io_threads[0]);
	if (port->refused_fd >= 0 && !port->is_shared)
		(void)shutdown(port->refused_fd, SHUT_RDWR);
}

static void stop_port(struct port *port)
{
	acceptor_stop(port->acceptor);
	for (uint32_t i = 0; i < port->io_thread_count; i++)
		port->transport->stop(port->io_threads[i]);
	acceptor_free(port->acceptor);
	clients_stop(port->clients);
}

static void close_refused(const struct port *port)
{
	if (port->refused_fd >= 0)
		(void)close(port->refused_fd);
}

/* The replies that clients.c sends.  False: no memory. */
static bool write_refusals(struct http *h)
{
	for (int i = CLIENT_WELCOME + 1; i < CLIENT_REFUSALS; i++) {
		h->refusals[i] =
			reply_whole_problem(problem_of_client(i), NULL);
		if (h->refusals[i] == NULL)
			return false;
	}
	return true;
}

static bool start_ports(struct http *h)
{
	return write_refusals(h) && start_main(h) &&
	       (h->config.admin_fd < 0 || start_admin(h));
}

static void stop_ports(struct http *h)
{
	stop_port(&h->main);
	stop_port(&h->admin);
}

enum {
	POLL_MS = 5,
	QUIET_POLLS = 10,
	ADMIN_LAST_MS = 500, /* for requests of a shared admin port */
	/*
	 * Limits for clients that still send a refused request: see linger.h.
	 */
	LINGER_MAX = 1024,
	LINGER_SILENT_MS = 5000,
	LINGER_TOTAL_MS = 30000,
	/*
	 * Bytes from a client: LINGER_BODIES times the largest body that is
	 * accepted, plus LINGER_BYTES_MIN.
	 */
	LINGER_BODIES = 4,
	LINGER_BYTES_MIN = 64 << 20,
	/* When the server stops, for all sockets together. */
	LINGER_LAST_MS = 1000,
};

static struct linger_list *start_linger(const struct http_config *config)
{
	return linger_start(&(struct linger_config){
		.count_max = config->connections_max < LINGER_MAX ?
				     config->connections_max :
				     LINGER_MAX,
		.silent_ms = LINGER_SILENT_MS,
		.total_ms = LINGER_TOTAL_MS,
		.bytes_max = LINGER_BODIES * config->body_bytes_max +
			     LINGER_BYTES_MIN,
	});
}

/* A viewers_frame_fn. */
static char *make_frame(void *arg, bool is_first)
{
	struct http *h = arg;

	return h->config.live_frame(h->config.report_arg, &h->minute, is_first);
}

/* A minute_gauges_fn. */
static void read_gauges(void *arg, struct minute_gauges *out)
{
	const struct http *h = arg;
	struct pipeline_load load = pipeline_load(h->config.pipeline);

	*out = (struct minute_gauges){
		.at_ns = clock_now_ns(),
		.cpu_ns = clock_cpu_ns(),
		.memory_used_bytes = load.used_bytes,
		.in_flight_count = load.in_flight_count,
	};
}

/* False: it could not be started. */
static bool start_spooler(struct http *h)
{
	const struct http_config *c = &h->config;

	if (c->store == NULL || store_spool(c->store) == NULL)
		return true;
	h->spooler_hooks = (struct spooler_hooks){
		.hooks = c->hooks,
		.spool = store_spool(c->store),
		.public_url = c->public_url,
	};
	h->spooler = spooler_start(&(struct spooler_config){
		.pipeline = c->pipeline,
		.store = c->store,
		.spool = store_spool(c->store),
		.log = c->log,
		.packer = c->packer,
		.number = &h->requests_begun,
		.hooks = h->spooler_hooks,
	});
	return h->spooler != NULL;
}

/* An agent_weight_fn. */
static uint32_t read_weight(const void *arg)
{
	return control_weight_percent(arg);
}

/* False: it could not be started. */
static bool start_agent(struct http *h)
{
	if (h->config.agent_fd < 0)
		return true;
	h->agent = agent_start(h->config.agent_fd, read_weight, h);
	return h->agent != NULL;
}

struct http *http_start(const struct http_config *config, struct error *why)
{
	struct http *h;
	char text[NETWORKS_WHY_BYTES];

	if (!mhd_version_check(why))
		return NULL;
	error_set(why, "there is not enough memory, or no thread");
	h = calloc(1, sizeof(*h));
	if (h == NULL)
		return NULL;
	h->config = *config;
	h->main.refused_fd = h->admin.refused_fd = -1;
	accepted_init(&h->accepted);
	making_init(&h->making);
	reading_init(&h->reading, config->read_bytes_max, config->read_threads,
		     config->connections_max);
	minute_init(&h->minute, read_gauges, h, clock_now_ns());
	if (!networks_read(&h->trusted, config->trusted_proxies, text) ||
	    !formats_read(&h->formats, config->formats, IMG_RESULT_FORMATS,
			  text)) {
		error_set(why, "%s", text);
		http_stop(h);
		return NULL;
	}
	h->id_prefix = (uint32_t)clock_now_ns() ^ (uint32_t)getpid() << 16;
	h->viewers = viewers_start(make_frame, h);
	h->reports = reports_start(control_make_report, h);
	h->linger = start_linger(config);
	h->waiting = waiting_new(config->connections_max);
	if (h->waiting != NULL && h->viewers != NULL && h->reports != NULL &&
	    h->linger != NULL && start_spooler(h) && start_ports(h) &&
	    start_agent(h))
		return h;
	http_stop(h);
	return NULL;
}

void http_leave(struct http *h)
{
	atomic_store(&h->leaving, true);
	if (h->main.is_shared)
		stop_accepting(&h->main);
}

void http_refuse(struct http *h, uint32_t limit_ms)
{
	atomic_store(&h->refusing, true);
	if (h->spooler != NULL)
		spooler_leave(h->spooler);
	clients_drain(h->main.clients, limit_ms);
	stop_accepting(&h->main);
	clients_end_holding(h->main.clients);
	waiting_end(h->waiting);
	budget_end_waits(pipeline_budget(h->config.pipeline), BUDGET_OUTSIDE);
	if (h->config.admin_fd >= 0)
		return;
	reports_hurry(h->reports);
	viewers_end(h->viewers);
}

void http_abandon(struct http *h)
{
	atomic_store(&h->abandoning, true);
	clients_drain(h->main.clients, 0);
}

/*
 * Wait until no request of the port is open.  Bytes in a socket may be a
 * request that was not read yet, so check several times.  False: this took
 * longer than `limit_ms`.
 */
static bool wait_answered(struct http *h, struct port *port, uint32_t limit_ms)
{
	uint64_t end_ns = clock_after_ms(limit_ms);
	int quiet_count = 0;

	while (quiet_count < QUIET_POLLS) {
		bool quiet =
			atomic_load(&port->request_count) == 0 &&
			(h->spooler == NULL || spooler_is_idle(h->spooler));

		if (clock_now_ns() >= end_ns)
			return quiet;
		quiet_count = quiet ? quiet_count + 1 : 0;
		(void)usleep(POLL_MS * 1000);
	}
	return true;
}

bool http_wait_answered(struct http *h, uint32_t limit_ms)
{
	return wait_answered(h, &h->main, limit_ms);
}

/* Clients of a shared admin port wait for the next server. */
static void leave_admin(struct http *h)
{
	if (!h->admin.is_shared || !h->admin.accepts)
		return;
	stop_accepting(&h->admin);
	(void)wait_answered(h, &h->admin, ADMIN_LAST_MS);
}

/* Clients that have read their replies close their side soon: wait for them. */
static void end_linger(struct http *h)
{
	uint64_t end_ns = clock_after_ms(LINGER_LAST_MS);

	if (h->linger == NULL)
		return;
	while (linger_count(h->linger) > 0 && clock_now_ns() < end_ns)
		(void)usleep(POLL_MS * 1000);
	linger_stop(h->linger);
}

void http_stop(struct http *h)
{
	leave_admin(h);
	clients_end_holding(h->main.clients);
	clients_end_holding(h->admin.clients);
	budget_end_waits(pipeline_budget(h->config.pipeline), BUDGET_OUTSIDE);
	reports_end(h->reports);
	viewers_end(h->viewers);
	if (h->waiting != NULL)
		waiting_end(h->waiting);
	atomic_store(&h->stopping, true);
	stop_ports(h);
	agent_stop(h->agent);
	viewers_stop(h->viewers);
	waiting_free(h->waiting);
	reports_stop(h->reports);
	end_linger(h);
	spooler_stop(h->spooler);
	close_refused(&h->main);
	close_refused(&h->admin);
	accepted_release(&h->accepted);
	reading_release(&h->reading);
	making_release(&h->making);
	minute_release(&h->minute);
	for (int i = 0; i < CLIENT_REFUSALS; i++)
		free(h->refusals[i]);
	free(h);
}
