/* SPDX-License-Identifier: MIT */
/*
 * Requests about the server itself: the page and its files, the probes /healthz
 * and /readyz, the load, the reports /metrics, /stats, /trace and
 * /v1/blocking-graph, and /v1/live, a reply without an end.
 */
#include "service/http/head/hosts.h"
#include "service/http/http_state.h"
#include "service/http/request.h"
#include "service/http/head/urls.h"
#include "service/http/handlers/watch/reports.h"
#include "service/http/handlers/watch/viewers.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/take.h"
#include "service/pipeline/pace.h"
#include "service/pipeline/pipeline.h"
#include "service/store/store.h"
#include "service/web/web.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The page loads nothing from other servers and nothing inline, so no file name
 * or error message can run as a script.  It may also show pictures that the
 * user has chosen, and at the admin port send them to the main port.
 */
#define PAGE_POLICY(uploads)                                                   \
	"default-src 'none'; script-src 'self'; style-src 'self'; "            \
	"img-src 'self' blob: data:; connect-src 'self'" uploads               \
	"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

enum { POLICY_BYTES = URL_BASE_BYTES + sizeof(PAGE_POLICY(" ")) };

/* Tell the page where the other port is: service/web/ports.js. */
static void add_other_port(struct request *r, struct reply *p,
			   char policy[POLICY_BYTES])
{
	char url[URL_BASE_BYTES];
	struct text_part origin;

	if (!urls_other_port(url, r))
		return;
	if (r->port == &r->http->main) {
		reply_add_header(p, "X-Live-Views", url);
		return;
	}
	reply_add_header(p, "X-Uploads", url);
	/* A policy with a path would allow no other path. */
	origin = url_origin(url);
	(void)snprintf(policy, POLICY_BYTES, PAGE_POLICY(" %.*s"),
		       (int)origin.bytes, origin.text);
	r->policy = policy;
}

static bool reply_page(struct request *r)
{
	bool is_first = r->segments[0][0] == '\0';
	const char *name = is_first ? "index.html" : r->segments[0];
	char policy[POLICY_BYTES];
	struct web_file file;
	struct reply p;
	bool ok;

	if (!web_find(name, &file))
		return reply_with_problem(r, PROBLEM_NOT_FOUND);
	reply_begin_bytes(r, &p, file.bytes, file.count);
	r->policy = PAGE_POLICY("");
	if (is_first)
		add_other_port(r, &p, policy);
	reply_add_header(&p, "Referrer-Policy", "no-referrer");
	/* Another version of the server may have other files. */
	reply_add_header(&p, "Cache-Control", "no-cache");
	ok = reply_send(r, STATUS_OK, file.type, &p);
	r->policy = NULL; /* it was copied */
	return ok;
}

/*
 * Readiness: should a load balancer send more uploads here?
 *
 * It becomes false when at most a quarter of the slots or of the memory is
 * free: usually before uploads are refused.  It becomes true again when more
 * than half is free.  In between it stays as it was, so that it does not change
 * with every upload.
 */
enum readiness {
	READINESS_OK,
	READINESS_STOPPING,
	READINESS_SLOTS_TAKEN,
	READINESS_MEMORY_TAKEN,
	READINESS_REFUSED, /* an upload was refused in the last seconds */
};

enum { READINESS_REFUSED_MS = 5000 }; /* how long a refusal is remembered */

struct readiness_view {
	struct pipeline_load load;
	bool is_stopping;
	uint64_t refused_ns; /* when the last upload was refused; 0: none */
	uint64_t now_ns;
};

/* Is at least 3/4 of `most` used?  If it was full before, 1/2 is enough. */
static bool is_mostly_used(uint64_t used, uint64_t most, bool was_full)
{
	uint64_t free_part = was_full ? most / 2 : most / 4;

	return used >= most - free_part;
}

static enum readiness readiness_decide(bool *was_full,
				       const struct readiness_view *v)
{
	const struct pipeline_load *l = &v->load;
	uint64_t forgotten_ns =
		v->refused_ns + READINESS_REFUSED_MS * NS_PER_MS;
	bool no_slots =
		is_mostly_used(l->in_flight_count, l->uploads_max, *was_full);
	bool no_memory =
		is_mostly_used(l->used_bytes, l->limit_bytes, *was_full);

	*was_full = no_slots || no_memory;
	if (v->is_stopping)
		return READINESS_STOPPING;
	if (no_slots)
		return READINESS_SLOTS_TAKEN;
	if (no_memory)
		return READINESS_MEMORY_TAKEN;
	if (v->refused_ns > 0 && v->now_ns < forgotten_ns)
		return READINESS_REFUSED;
	return READINESS_OK;
}

static const char *readiness_reason(enum readiness readiness)
{
	switch (readiness) {
	case READINESS_OK:
		break;
	case READINESS_STOPPING:
		return "The server is shutting down.";
	case READINESS_SLOTS_TAKEN:
		return "Uploads inside take most of --max-uploads.";
	case READINESS_MEMORY_TAKEN:
		return "Uploads inside take most of --memory.";
	case READINESS_REFUSED:
		return "An upload was refused in the last seconds.";
	}
	abort();
}

enum { TRACE_MS_DEFAULT = 1000, TRACE_MS_MAX = 60000 };

static bool reply_ok(struct request *r, const char *text)
{
	struct reply p;

	reply_begin_bytes(r, &p, text, strlen(text));
	return reply_send(r, STATUS_OK, "text/plain", &p);
}

static bool reply_health(struct request *r)
{
	return reply_ok(r, "ok\n");
}

static enum readiness read_readiness(const struct http *h, bool *was_full)
{
	const struct readiness_view view = {
		.load = pipeline_load(h->config.pipeline),
		.is_stopping = atomic_load(&h->leaving),
		.refused_ns = atomic_load(&h->refused_ns),
		.now_ns = clock_now_ns(),
	};

	*was_full = atomic_load(&h->was_full);
	return readiness_decide(was_full, &view);
}

/* Can images be stored, or is there no store?  False: `why` says why not. */
static bool can_store(const struct http_config *c, enum store_answer *answer,
		      struct error *why)
{
	*answer = c->store != NULL ? store_look(c->store, why) : STORE_OK;
	return *answer == STORE_OK;
}

/*
 * All servers share an object store, so a server without it stays in use: it
 * still answers uploads that are not stored.  ?store=1 asks for the store, too.
 */
static bool reply_without_remote(struct request *r, enum store_answer answer)
{
	if (request_argument(r, "store") == NULL)
		return reply_ok(r, answer == STORE_UNAVAILABLE ?
					   "ready, but the object store "
					   "does not answer\n" :
					   "ready, but the store refuses "
					   "images\n");
	r->problem = PROBLEM_STORE_UNAVAILABLE;
	return reply_problem(r);
}

/* A folder is this server's alone, so another server can store images. */
static bool reply_without_store(struct request *r, enum store_answer answer,
				const char *why)
{
	bool is_remote = store_is_remote(r->config->store);
	const char *what = answer == STORE_UNAVAILABLE ? "is away" :
			   answer == STORE_FULL        ? "is full" :
			   is_remote                   ? "refuses images" :
							 "cannot be written";

	request_explain(r, "The store %s: %.200s.", what, why);
	if (is_remote)
		return reply_without_remote(r, answer);
	r->problem = PROBLEM_NOT_READY;
	return reply_problem(r);
}

/* If two requests come at once, both may see the old state. */
static bool reply_ready(struct request *r)
{
	bool was_full;
	enum readiness readiness = read_readiness(r->http, &was_full);
	enum store_answer answer;
	struct error why;

	atomic_store(&r->http->was_full, was_full);
	if (readiness == READINESS_OK &&
	    !pipeline_can_decode(r->config->pipeline)) {
		r->problem = PROBLEM_NOT_READY;
		request_explain(r, "A program that decodes has ended.");
		return reply_problem(r);
	}
	if (readiness == READINESS_OK && !can_store(r->config, &answer, &why))
		return reply_without_store(r, answer, why.text);
	if (readiness == READINESS_OK)
		return reply_ok(r, "ready\n");
	r->problem = readiness == READINESS_STOPPING ? PROBLEM_STOPPING :
						       PROBLEM_NOT_READY;
	request_explain(r, "%s", readiness_reason(readiness));
	return reply_problem(r);
}

/* Would /readyz be answered 200? */
static bool is_ready(struct http *h)
{
	const struct store *store = h->config.store;
	enum store_answer answer;
	struct error why;
	bool was_full; /* ignored: only /readyz keeps it */

	return read_readiness(h, &was_full) == READINESS_OK &&
	       pipeline_can_decode(h->config.pipeline) &&
	       (can_store(&h->config, &answer, &why) || store_is_remote(store));
}

uint32_t control_weight_percent(const struct http *h)
{
	struct pipeline_load load = pipeline_load(h->config.pipeline);

	if (atomic_load(&h->leaving))
		return 0;
	return pipeline_weight_percent(&load,
				       h->config.agent_half_ms * NS_PER_MS);
}

static void add_ms(struct json *j, const char *name, uint64_t ns)
{
	json_add_number(j, name, (double)(ns / 1000) / 1000);
}

static void add_load(struct json *j, const struct http *h)
{
	struct pipeline_load load = pipeline_load(h->config.pipeline);

	json_add_whole(j, "weight", control_weight_percent(h));
	json_add_bool(j, "stopping", atomic_load(&h->leaving));
	json_add_whole(j, "cores", load.core_count);
	add_ms(j, "left_ms", load.left_ns);
	add_ms(j, "left_per_core_ms", pipeline_left_per_core_ns(&load));
	json_add_number(j, "pace", load.pace);
	json_open_object(j, "uploads");
	json_add_whole(j, "in_flight", load.in_flight_count);
	json_add_whole(j, "waiting", load.waiting_count);
	json_add_whole(j, "limit", load.uploads_max);
	json_close(j);
	json_open_object(j, "memory");
	json_add_whole(j, "used_bytes", load.used_bytes);
	json_add_whole(j, "limit_bytes", load.limit_bytes);
	json_close(j);
	json_open_object(j, "connections");
	json_add_whole(j, "open", atomic_load(&h->main.connection_count));
	json_add_whole(j, "limit", h->config.connections_max);
	json_close(j);
}

static void add_way(struct json *j, const struct pace *p, uint32_t way)
{
	char name[96];

	if (pace_way_steps(p, way) == 0)
		return;
	img_way_name(way, name, sizeof(name));
	json_open_object(j, NULL);
	json_add_text(j, "way", name);
	json_add_number(j, "times", pace_way_times(p, way));
	json_add_whole(j, "steps", pace_way_steps(p, way));
	json_close(j);
}

static void add_estimates(struct json *j, const struct http *h)
{
	const struct pace *p = pipeline_pace(h->config.pipeline);
	struct histogram_copy errors = { 0 };

	histogram_read(&p->errors, &errors);
	json_add_number(j, "pace", pace_factor(p));
	json_open_object(j, "error");
	json_add_whole(j, "uploads", errors.count);
	json_add_number(j, "p50",
			(double)histogram_quantile(&errors, 0.5) / 1000);
	json_add_number(j, "p90",
			(double)histogram_quantile(&errors, 0.9) / 1000);
	json_close(j);
	json_open_array(j, "ways");
	for (uint32_t way = 0; way < IMG_WAYS; way++)
		add_way(j, p, way);
	json_close(j);
}

/* NULL: no memory. */
static char *object_json(const struct http *h,
			 void (*add)(struct json *, const struct http *))
{
	char *text = NULL;
	size_t bytes;
	struct json j;
	FILE *to = open_memstream(&text, &bytes);

	if (to == NULL)
		return NULL;
	json_begin(&j, to, JSON_COMPACT);
	json_open_object(&j, NULL);
	add(&j, h);
	json_close(&j);
	(void)fputc('\n', to);
	if (fclose(to) == 0)
		return text;
	free(text);
	return NULL;
}

/*
 * The thread that serves the connection makes it: it takes less time than to
 * ask the thread of reports, and does not wait behind them.
 */
static bool reply_object(struct request *r,
			 void (*add)(struct json *, const struct http *))
{
	char *text = object_json(r->http, add);
	struct reply p;

	if (text == NULL)
		return reply_with_problem(r, PROBLEM_OUT_OF_MEMORY);
	reply_begin_bytes(r, &p, text, strlen(text));
	p.release = free;
	p.arg = text;
	reply_add_header(&p, "Cache-Control", "no-store");
	return reply_send(r, STATUS_OK, "application/json", &p);
}

static bool reply_load(struct request *r)
{
	return reply_object(r, add_load);
}

static bool reply_estimates(struct request *r)
{
	return reply_object(r, add_estimates);
}

/* NULL: no memory. */
static char *make_metrics(struct http *h)
{
	struct clients_counts main = { 0 }, admin = { 0 };

	clients_read_counts(h->main.clients, &main);
	if (h->config.admin_fd >= 0)
		clients_read_counts(h->admin.clients, &admin);

	const struct http_report report = {
		.counts = &h->counts,
		.is_ready = is_ready(h),
		.weight_percent = control_weight_percent(h),
		.connections_max = h->config.connections_max,
		.connection_count = atomic_load(&h->main.connection_count),
		.admin_connection_count =
			atomic_load(&h->admin.connection_count),
		.viewer_count = viewers_count(h->viewers),
		.refused_count = main.refused_count + admin.refused_count,
		.evicted_count = main.evicted_count + admin.evicted_count,
		.held_count = main.held_count + admin.held_count,
	};

	return h->config.metrics_text(h->config.report_arg, &report);
}

char *control_make_report(void *http, const struct report_query *q)
{
	struct http *h = http;
	const struct http_config *c = &h->config;

	switch (q->kind) {
	case REPORT_STATS:
		return c->stats_json(c->report_arg);
	case REPORT_METRICS:
		return make_metrics(h);
	case REPORT_BLOCKING:
		return c->blocking_json(c->report_arg);
	case REPORT_HELLO:
		return c->live_hello(c->report_arg, &h->minute);
	case REPORT_TRACE:
		return c->trace_json(c->report_arg, q->since_ns, q->until_ns);
	case REPORT_KINDS:
		break;
	}
	abort();
}

/* The `own` of a request for a report. */
struct report_request {
	struct report_wait wait;
	struct viewer *viewer; /* of /v1/live; NULL: none */
};

/* A start hook: ask for the report of the route. */
static bool start_report(struct request *r)
{
	struct report_request *own = r->own;

	own->wait.query.kind = (enum report_kind)r->route->report;
	return !reports_ask(r->http->reports, &own->wait,
			    request_suspendable(r));
}

static bool reply_report(struct request *r)
{
	static const char *const types[REPORT_KINDS] = {
		[REPORT_METRICS] = "text/plain; version=0.0.4; charset=utf-8",
		[REPORT_STATS] = "application/json",
		[REPORT_BLOCKING] = "application/json",
		[REPORT_TRACE] = "application/json",
	};
	struct report_request *own = r->own;
	struct report_result *result = own->wait.result;
	struct reply p;

	r->problem = report_problem(&own->wait);
	if (r->problem != PROBLEM_NONE)
		return reply_problem(r);
	reply_begin_bytes(r, &p, result->text, result->bytes);
	p.release = report_drop;
	p.arg = result;
	own->wait.result = NULL;
	return reply_send(r, STATUS_OK, types[r->route->report], &p);
}

/* False: r->detail says what is wrong. */
static bool read_window(struct request *r, uint64_t *since_ns,
			uint64_t *until_ns)
{
	static const char *const names[] = { "ms", "until_us", NULL };
	const char *ms_text = request_argument(r, "ms");
	const char *until_text = request_argument(r, "until_us");
	uint64_t ms = TRACE_MS_DEFAULT, until_us = clock_now_ns() / 1000;

	if (!request_takes(r, names))
		return false;
	if (ms_text != NULL &&
	    !number_read_whole(ms_text, 1, TRACE_MS_MAX, &ms)) {
		request_explain(r, "ms must be 1 to %d.", TRACE_MS_MAX);
		return false;
	}
	if (until_text != NULL &&
	    !number_read_whole(until_text, 0, UINT64_MAX / 1000, &until_us)) {
		request_explain(r, "until_us must be a time in us.");
		return false;
	}
	*until_ns = until_us * 1000;
	*since_ns = *until_ns > ms * NS_PER_MS ? *until_ns - ms * NS_PER_MS : 0;
	return true;
}

static bool start_trace(struct request *r)
{
	struct report_request *own = r->own;
	struct report_query *q = &own->wait.query;

	if (r->config->trace_json == NULL)
		r->problem = PROBLEM_NO_TRACE;
	else if (!read_window(r, &q->since_ns, &q->until_ns))
		r->problem = PROBLEM_BAD_PARAMETER;
	return r->problem == PROBLEM_NONE && start_report(r);
}

static bool start_blocking(struct request *r)
{
	if (r->config->blocking_json == NULL)
		r->problem = PROBLEM_NO_BLOCKING_GRAPH;
	return r->problem == PROBLEM_NONE && start_report(r);
}

/* Of /v1/live, for HTTP/1.0; chunks have their own size. */
enum { PIECE_BYTES = 32 * 1024 };

/* The read() of the reply. */
static ssize_t on_stream_read(void *cls, uint64_t position, char *to,
			      size_t bytes_max)
{
	struct request *r = cls;
	struct report_request *own = r->own;
	ssize_t bytes = viewer_read(own->viewer, to, bytes_max);

	(void)position;
	if (bytes < 0)
		return REPLY_END;
	atomic_fetch_add(&r->http->counts.sent_bytes[request_role(r)],
			 (uint64_t)bytes);
	return bytes;
}

/* Begin to watch, with the report as the first thing to read. */
static enum problem become_viewer(struct request *r)
{
	struct report_request *own = r->own;
	char *hello = strdup(own->wait.result->text);

	report_drop(own->wait.result);
	own->wait.result = NULL;
	if (hello == NULL)
		return PROBLEM_OUT_OF_MEMORY;
	switch (viewer_add(r->http->viewers, hello, request_suspendable(r),
			   &own->viewer)) {
	case VIEWERS_ENTERED:
		r->is_stream = true;
		return PROBLEM_NONE;
	case VIEWERS_FULL:
		free(hello);
		return PROBLEM_TOO_MANY_VIEWERS;
	case VIEWERS_ENDED:
		free(hello);
		return PROBLEM_STOPPING;
	case VIEWERS_NO_MEMORY:
		free(hello);
		return PROBLEM_OUT_OF_MEMORY;
	}
	abort();
}

/* No greeting is made if there are too many viewers already. */
static bool start_live(struct request *r)
{
	if (r->is_head)
		return false;
	if (viewers_count(r->http->viewers) == VIEWERS_MAX)
		r->problem = PROBLEM_TOO_MANY_VIEWERS;
	return r->problem == PROBLEM_NONE && start_report(r);
}

static bool reply_live(struct request *r)
{
	struct report_request *own = r->own;
	struct reply p;

	if (!r->is_head)
		r->problem = report_problem(&own->wait);
	if (!r->is_head && r->problem == PROBLEM_NONE)
		r->problem = become_viewer(r);
	if (r->problem != PROBLEM_NONE)
		return reply_problem(r);
	reply_init(&p);
	p.kind = REPLY_READ;
	p.has_length = false;
	p.read = on_stream_read;
	p.read_bytes = PIECE_BYTES;
	p.arg = r;
	reply_add_header(&p, "Cache-Control", "no-store");
	reply_add_header(&p, "X-Accel-Buffering", "no");
	if (!reply_send(r, STATUS_OK, "text/event-stream", &p))
		return false;
	if (r->is_stream) {
		client_enter(r->client, CLIENT_STREAM);
		reply_limit_unsent(r);
	}
	return true;
}

/* For /v1/live: the client has disconnected, or the server stops. */
static void release_report(struct request *r)
{
	struct report_request *own = r->own;

	if (own->viewer != NULL)
		viewer_remove(own->viewer);
	report_drop(own->wait.result);
}

const struct handler page_handler = { .reply = reply_page };

const struct handler health_handler = { .reply = reply_health };

const struct handler ready_handler = { .reply = reply_ready };

const struct handler load_handler = { .reply = reply_load };
const struct handler estimates_handler = { .reply = reply_estimates };

const struct handler report_handler = {
	.state_bytes = sizeof(struct report_request),
	.start = start_report,
	.reply = reply_report,
	.release = release_report,
};

const struct handler trace_handler = {
	.state_bytes = sizeof(struct report_request),
	.start = start_trace,
	.reply = reply_report,
	.release = release_report,
};

const struct handler blocking_handler = {
	.state_bytes = sizeof(struct report_request),
	.start = start_blocking,
	.reply = reply_report,
	.release = release_report,
};

const struct handler live_handler = {
	.state_bytes = sizeof(struct report_request),
	.start = start_live,
	.reply = reply_live,
	.release = release_report,
};
