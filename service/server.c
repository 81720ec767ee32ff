/* SPDX-License-Identifier: MIT */
#include "service/server.h"

#include "base/error.h"
#include "service/direct/uthread.h"
#include "service/http/connection/clients.h"
#include "service/http/handlers/images/packer.h"
#include "service/http/http.h"
#include "service/log/log.h"
#include "service/pipeline/pipeline_graph.h"
#include "service/report/report.h"
#include "service/decoder/decoders.h"
#include "service/resources.h"
#include "service/store/inbox.h"
#include "service/user.h"

#include "base/slice.h"

#include "stages/stage.h"

#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_ABANDONED = 3 }; /* uploads were left when --drain-timeout ended */

enum {
	LAST_REPLIES_MS = 500, /* to send 503 to abandoned uploads */
	LAST_LINES_MS = 1000,  /* to write the last lines of the log */
};

/* Read or written by one call: a large buffer needs fewer calls. */
enum { TRANSFER_BYTES = 128 * 1024 };

/* Lanes of the decoder, in addition to one for each core. */
enum { DECODER_LANES_MORE = 2 };

struct server {
	const struct options *options;
	const struct pipeline_config *config;
	struct server_resources resources;
	struct decoder *repacker; /* of originals; NULL: none are packed */
	struct sandbox sandbox;
	struct log *log;
	struct pipeline *pipeline;
	struct uthreads *uthreads; /* of connections; NULL: libmicrohttpd's */
	struct stats_source stats;
	struct live *live;
	struct trace_file *trace; /* NULL: not asked for */
	struct packer *packer;    /* NULL: no originals in a folder */
	struct http *http;
};

static void print_cores(const struct cores *cores, FILE *to)
{
	for (uint32_t i = 0; i < cores_count(cores); i++)
		(void)fprintf(to, "%c%u", i == 0 ? ' ' : ',',
			      cores_cpu(cores, i));
}

/* Log version, addresses, store, schedule and cores. */
static void log_started(const struct server *s)
{
	const struct options *o = s->options;
	FILE *to = log_begin(s->log);
	char dropped[OPTIONS_DROPPED_BYTES];

	if (to == NULL)
		return;
	(void)fprintf(to,
		      "version " DARKROOM_VERSION
		      " (commit %s), listening on %s (port %u), ",
		      o->commit, o->listen, s->resources.port);
	if (o->admin_listen != NULL)
		(void)fprintf(to, "admin on %s (port %u), ", o->admin_listen,
			      s->resources.admin_port);
	if (o->agent_listen != NULL)
		(void)fprintf(to, "agent on %s (port %u), ", o->agent_listen,
			      s->resources.agent_port);
	if (o->store != NULL)
		(void)fprintf(to, "store '%s', ", o->store);
	pipeline_print_schedule(s->config, to);
	if (options_drop_best(o, dropped))
		(void)fprintf(to, " (%s)", dropped);
	(void)fprintf(to, ", cores");
	print_cores(s->config->cores, to);
	log_end(s->log);
}

/* Say which flags sockets of the service manager replace, if any. */
static void log_inherited(const struct server *s)
{
	const int *fds = s->options->inherited.fds;
	const char *comma = "";
	FILE *to;

	if (fds[LISTEN_MAIN] < 0 && fds[LISTEN_ADMIN] < 0 &&
	    fds[LISTEN_AGENT] < 0)
		return;
	to = log_begin(s->log);
	if (to == NULL)
		return;
	(void)fprintf(to, "the service manager has opened the sockets of ");
	for (uint32_t use = 0; use < LISTEN_USES; use++) {
		if (fds[use] < 0)
			continue;
		(void)fprintf(to, "%s--%s", comma, listen_flags[use]);
		comma = ", ";
	}
	log_end(s->log);
}

static void log_sandbox(const struct server *s)
{
	FILE *to = log_begin(s->log);

	if (to == NULL)
		return;
	(void)fprintf(to, "sandbox: ");
	sandbox_print(&s->sandbox, to);
	log_end(s->log);
}

/* Log what /stats returns: as JSON, or as tables for people. */
static void log_stats(struct server *s)
{
	if (log_is_json(s->log)) {
		char *json = stats_json(&s->stats);

		log_value(s->log, "stats", json);
		free(json);
		return;
	}

	FILE *to = log_begin(s->log);

	if (to == NULL)
		return;
	stats_print(&s->stats, to);
	log_end_table(s->log);
}

/* The functions that make reports for http/; `arg` is the server. */
static char *report_stats(void *arg)
{
	struct server *s = arg;

	return stats_json(&s->stats);
}

static char *report_metrics(void *arg, const struct http_report *http)
{
	struct server *s = arg;

	return metrics_text(&s->stats, http);
}

static char *report_trace(void *arg, uint64_t since_ns, uint64_t until_ns)
{
	struct server *s = arg;

	return trace_window(s->pipeline, since_ns, until_ns);
}

static char *report_blocking(void *arg)
{
	struct server *s = arg;

	return blocking_json(s->pipeline);
}

static char *report_live_hello(void *arg, struct minute *minute)
{
	struct server *s = arg;

	return live_hello(s->live, minute);
}

static char *report_live_frame(void *arg, struct minute *minute, bool is_first)
{
	struct server *s = arg;

	return live_frame(s->live, minute, is_first);
}

/* Set the members of `config` that ask for reports. */
static void serve_reports(struct server *s, struct http_config *config)
{
	bool has_tracks = schedule_has_tracks(&s->config->schedule);
	bool has_graph = group_has_blocking(pipeline_group(s->pipeline));

	config->stats_json = report_stats;
	config->metrics_text = report_metrics;
	config->trace_json = has_tracks ? report_trace : NULL;
	config->blocking_json = has_graph ? report_blocking : NULL;
	config->live_hello = report_live_hello;
	config->live_frame = report_live_frame;
	config->report_arg = s;
}

sigset_t server_hold_signals(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	(void)sigaddset(&set, SIGUSR1);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN); /* over `ulimit -f`: write() fails */
	(void)signal(SIGUSR2, SIG_IGN); /* used by log_stop() */
	return set;
}

static void unblock_stop_signals(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* Returns `status`. */
static int log_refusal(const struct server *s, int status, const char *flag,
		       const char *value, const char *why)
{
	char refusal[OPTIONS_REFUSAL_BYTES];

	options_refuse(s->options, flag, value, why, refusal);
	log_message(s->log, LOG_LEVEL_ERROR, "%s", refusal);
	return status;
}

/* Divide the stages by these weights and log it.  False: no memory. */
static bool divide_stages(struct server *s, const struct stage_graph *graph,
			  const char *by)
{
	FILE *to = log_begin(s->log);

	if (to == NULL)
		return false;
	(void)fprintf(to, "divided %s: ", by);

	bool ok = pipeline_partition(s->pipeline, graph,
				     s->config->schedule.part_count, to);

	(void)fprintf(to, "%s", ok ? "" : "no memory");
	log_end(s->log);
	return ok;
}

/* Divide the stages before there is work.  Returns an exit status. */
static int divide_at_start(struct server *s)
{
	const char *path = s->options->graph;

	if (s->config->schedule.balance != BALANCE_PARTITION)
		return EXIT_SUCCESS;
	return divide_stages(s, &s->resources.graph,
			     path != NULL ? path : "equally, without --graph") ?
		       EXIT_SUCCESS :
		       EXIT_FAILURE;
}

static void divide_again(struct server *s)
{
	struct stage_graph graph;

	group_read_graph(pipeline_group(s->pipeline), &graph);
	(void)divide_stages(s, &graph, "by what was measured");
}

static void warn_of_left_out(const struct server *s)
{
	const char *left_out = decoders_left_out(s->config->decoders);

	if (left_out != NULL)
		log_message(s->log, LOG_LEVEL_WARN, "%s", left_out);
}

static void log_warnings(const struct server *s)
{
	const struct warnings *w = &s->resources.secrets.warnings;

	for (uint32_t i = 0; i < w->count; i++)
		log_message(s->log, LOG_LEVEL_WARN, "%s", w->lines[i]);
}

static void reload_secrets(struct server *s)
{
	char refusal[OPTIONS_REFUSAL_BYTES];

	if (server_resources_reload_secrets(&s->resources.secrets, refusal)) {
		log_warnings(s);
		log_message(s->log, LOG_LEVEL_INFO,
			    "SIGHUP: keys and certificates were read again");
		if (s->resources.secrets.blocks != NULL)
			log_message(
				s->log, LOG_LEVEL_INFO,
				"SIGHUP: the block list was read again: "
				"%" PRIu32 " hashes",
				block_list_count(s->resources.secrets.blocks));
	} else {
		log_message(s->log, LOG_LEVEL_ERROR,
			    "SIGHUP: %s; keys and certificates stay as they "
			    "were%s",
			    refusal,
			    s->resources.secrets.blocks != NULL ?
				    ", and so does the block list" :
				    "");
	}
}

/*
 * SIGHUP: read again what can be read while the server runs, and divide the
 * stages again.
 */
static void on_hangup(struct server *s)
{
	bool has_parts = s->config->schedule.balance == BALANCE_PARTITION;
	struct store *store = s->resources.store;
	bool is_remote = store != NULL && store_is_remote(store);

	if (s->resources.secrets.reader != NULL)
		reload_secrets(s);
	if (is_remote)
		remote_reload_keys(store);
	if (s->resources.hooks != NULL)
		hooks_reload_keys(s->resources.hooks);
	if (has_parts)
		divide_again(s);
	if (s->resources.secrets.reader == NULL && !has_parts && !is_remote &&
	    s->resources.hooks == NULL)
		log_message(s->log, LOG_LEVEL_WARN,
			    "SIGHUP: nothing to divide without --balance "
			    "partition, and no keys or certificates to read "
			    "again");
}

static void handle_signals(struct server *s, const sigset_t *signals)
{
	for (;;) {
		int number = 0;

		(void)sigwait(signals, &number);
		switch (number) {
		case SIGTERM:
		case SIGINT:
			return;
		case SIGHUP:
			on_hangup(s);
			break;
		case SIGUSR1:
			log_stats(s);
			break;
		}
	}
}

/* Returns an exit status. */
static int drain_status(const struct server *s)
{
	struct pipeline_stats stats;

	pipeline_read(s->pipeline, &stats);
	if (stats.abandoned_count == 0)
		return EXIT_SUCCESS;
	log_message(s->log, LOG_LEVEL_WARN,
		    "%" PRIu64 " uploads are abandoned, because they were not "
		    "answered within --drain-timeout",
		    stats.abandoned_count);
	return EXIT_ABANDONED;
}

/*
 * Answer the requests that have arrived, then stop everything except the trace.
 * Returns an exit status.
 */
static int drain_and_stop(struct server *s)
{
	unblock_stop_signals();
	log_message(s->log, LOG_LEVEL_INFO, "stopping");
	packer_leave(s->packer);
	http_leave(s->http);
	(void)poll(NULL, 0, (int)s->options->shutdown_delay_ms);
	http_refuse(s->http, s->options->drain_ms);
	if (!http_wait_answered(s->http, s->options->drain_ms)) {
		http_abandon(s->http);
		if (s->resources.store != NULL)
			store_abandon(s->resources.store);
		decoder_end_waits(s->repacker);
		pipeline_abandon(s->pipeline);
	}
	pipeline_stop(s->pipeline);
	(void)http_wait_answered(s->http, LAST_REPLIES_MS);
	http_stop(s->http);
	/* No request is restored any more. */
	decoder_end_waits(s->repacker);
	return drain_status(s);
}

static int end_trace(struct server *s)
{
	uint64_t missed_count = 0;

	if (s->trace == NULL)
		return EXIT_SUCCESS;
	if (!trace_file_stop(s->trace, &missed_count))
		return log_refusal(s, EXIT_FAILURE, "trace", s->options->trace,
				   strerror(errno));
	if (missed_count > 0)
		log_message(s->log, LOG_LEVEL_WARN,
			    "--trace: %" PRIu64
			    " visits and events were recorded too fast and are "
			    "missing",
			    missed_count);
	return EXIT_SUCCESS;
}

static int start_trace(struct server *s)
{
	if (s->resources.trace == NULL)
		return EXIT_SUCCESS;
	s->trace = trace_file_start(s->resources.trace, s->pipeline);
	s->resources.trace = NULL;
	if (s->trace != NULL)
		return EXIT_SUCCESS;
	log_message(s->log, LOG_LEVEL_ERROR, "the trace could not be started");
	return EXIT_FAILURE;
}

/* The threads of the store stage, if reads could keep them all waiting. */
static uint32_t read_threads(const struct server *s)
{
	return options_read_bytes(s->options) > 0 &&
			       pipeline_store_has_threads(
				       &s->config->schedule) ?
		       s->options->store_threads :
		       0;
}

static struct http_config http_config_of(const struct server *s)
{
	return (struct http_config){
		.listen_fd = s->resources.listen_fd,
		.admin_fd = s->resources.admin_fd,
		.agent_fd = s->resources.agent_fd,
		.shares_listen_fd = s->options->inherited.fds[LISTEN_MAIN] >= 0,
		.shares_admin_fd = s->options->inherited.fds[LISTEN_ADMIN] >= 0,
		.listen_address = s->options->listen,
		.admin_address = s->options->admin_listen,
		.listen_port = s->resources.port,
		.admin_port = s->resources.admin_port,
		.host_names = s->options->host_names,
		.cors_origins = s->options->cors_origins,
		.form = s->options->form,
		.cors_max_age_ms = s->options->cors_max_age_ms,
		.public_url = s->options->public_url,
		.admin_url = s->options->admin_url,
		.hides_reports = s->resources.secrets.is_exposed,
		.pipeline = s->pipeline,
		.store = s->resources.store,
		.repacker = s->repacker,
		.packer = s->packer,
		.inbox = s->resources.inbox,
		.inbox_s = s->options->inbox_ms / 1000,
		.hooks = s->resources.hooks,
		.read_bytes_max = options_read_bytes(s->options),
		.read_threads = read_threads(s),
		.spools = s->options->spool == SPOOL_STORE &&
			  s->resources.store != NULL &&
			  store_spool(s->resources.store) != NULL,
		.auth = s->resources.secrets.auth,
		.has_tls = s->resources.secrets.has_tls,
		.uthreads = s->uthreads,
		.io_threads = s->stats.io_threads,
		.connections_max = s->options->connections_max,
		.per_address_max = s->options->per_address_max,
		.trusted_proxies = s->options->trusted_proxies,
		.requests_max = s->options->requests_max,
		.head_ms = s->options->head_ms,
		.idle_ms = s->options->idle_ms,
		.rate_min = s->options->rate_min,
		.body_bytes_max = s->options->body_bytes_max,
		.presets = s->options->presets,
		.formats = s->options->formats,
		.deadline_ms = s->options->deadline_ms,
		.agent_half_ms = s->options->agent_half_ms,
		.log = s->log,
	};
}

/* False: it could not be started. */
static bool start_packer(struct server *s)
{
	const struct options *o = s->options;
	bool packs = o->store_original == ORIGINAL_JXL;

	if (o->store_original == ORIGINAL_NONE || remote_is_url(o->store))
		return true;
	s->packer = packer_start(&(struct packer_config){
		.pipeline = s->pipeline,
		.store = s->resources.store,
		.repacker = packs ? s->repacker : NULL,
		.log = s->log,
	});
	s->stats.packer = s->packer;
	return s->packer != NULL;
}

/* Run everything from the first connection to the last reply. */
static int serve_http(struct server *s, const sigset_t *signals)
{
	struct http_config config = http_config_of(s);
	struct error why;

	serve_reports(s, &config);
	/*
	 * The threads of HTTP wait for sockets.  Where there are no workers,
	 * they run the stages, too.
	 */
	if (s->config->schedule.policy->workers != POLICY_WORKERS_CALLER)
		slice_set(SLICE_SHORT_NS);
	s->http = http_start(&config, &why);
	slice_set(0);
	s->resources.listen_fd = -1;
	s->resources.admin_fd = -1;
	if (s->http == NULL) {
		log_message(s->log, LOG_LEVEL_ERROR,
			    "HTTP could not be started: %s", why.text);
		return EXIT_FAILURE;
	}
	log_inherited(s);
	log_started(s);
	handle_signals(s, signals);
	return drain_and_stop(s);
}

/* If the schedule says how the threads of connections run. */
static bool start_uthreads(struct server *s)
{
	const struct schedule *schedule = &s->config->schedule;

	if (!schedule->policy->has_thread_model)
		return true;
	s->uthreads = uthreads_start(&(struct uthreads_config){
		.model = &schedule->threads,
		.cores = s->config->cores,
		.threads_max = clients_slots(s->options->connections_max) +
			       HTTP_OWN_UTHREADS,
		.buffer_bytes = TRANSFER_BYTES,
	});
	return s->uthreads != NULL;
}

/* Returns an exit status. */
static int serve_with_reports(struct server *s, const sigset_t *signals)
{
	int status = EXIT_FAILURE;

	s->stats.pipeline = s->pipeline;
	s->stats.io_threads = options_io_threads(
		s->options, pipeline_worker_count(s->pipeline));
	s->stats.store = s->resources.store;
	s->stats.inbox = s->resources.inbox;
	s->stats.hooks = s->resources.hooks;
	s->stats.commit = s->options->commit;
	s->stats.uthreads = s->uthreads;
	if (!start_packer(s)) {
		log_message(s->log, LOG_LEVEL_ERROR,
			    "the thread of originals could not be started");
		return EXIT_FAILURE;
	}
	s->live = live_new(&s->stats);
	if (s->live != NULL)
		status = serve_http(s, signals);
	else
		log_message(s->log, LOG_LEVEL_ERROR, "no memory for reports");
	packer_stop(s->packer);
	live_free(s->live);
	return status;
}

/* Returns an exit status. */
static int serve_by_threads(struct server *s, const sigset_t *signals)
{
	int status;

	if (!start_uthreads(s)) {
		log_message(s->log, LOG_LEVEL_ERROR,
			    "the threads of connections could not be started");
		return EXIT_FAILURE;
	}
	status = serve_with_reports(s, signals);
	uthreads_stop(s->uthreads);
	return status;
}

static int save_graph(const struct server *s)
{
	const char *path = s->options->save_graph;
	struct stage_graph graph;
	struct error why;

	group_read_graph(pipeline_group(s->pipeline), &graph);
	if (path == NULL || graph_save(&graph, path, &why))
		return EXIT_SUCCESS;
	return log_refusal(s, EXIT_FAILURE, "save-graph", path, why.text);
}

/* The first of two exit statuses that is not EXIT_SUCCESS. */
static int first_failure(int status, int other)
{
	return status != EXIT_SUCCESS ? status : other;
}

/* Run everything from the start of the first thread to the end of the last. */
static int run_stages(struct server *s, const sigset_t *signals)
{
	int status;

	s->pipeline = pipeline_start(s->config);
	if (s->pipeline == NULL) {
		log_message(s->log, LOG_LEVEL_ERROR,
			    "the stages could not be started");
		return EXIT_FAILURE;
	}
	status = divide_at_start(s);
	if (status == EXIT_SUCCESS)
		status = start_trace(s);
	if (status == EXIT_SUCCESS) {
		status = serve_by_threads(s, signals);
		status = first_failure(status, end_trace(s));
		status = first_failure(status, save_graph(s));
	}
	pipeline_stop(s->pipeline); /* does nothing if it has stopped */
	pipeline_free(s->pipeline);
	return status;
}

/*
 * --save-graph writes a temporary file beside the graph, so the folder of the
 * graph stays accessible.
 */
static void enter_sandbox(struct server *s)
{
	const struct options *o = s->options;
	char *graph = o->save_graph != NULL ? strdup(o->save_graph) : NULL;
	const char *folders[4] = { NULL };
	uint32_t count = 0;

	if (graph != NULL)
		folders[count++] = dirname(graph);
	if (o->store != NULL && !remote_is_url(o->store))
		folders[count++] = o->store;
	if (o->inbox != NULL)
		folders[count++] = o->inbox;

	if (o->sandbox != SANDBOX_OFF)
		sandbox_enter(&s->sandbox, folders, o->counts_hardware);
	free(graph);
}

/* Log which parts of the sandbox work.  Returns an exit status. */
static int check_sandbox(const struct server *s)
{
	const struct options *o = s->options;

	log_sandbox(s);
	if (o->sandbox != SANDBOX_OFF && s->sandbox.landlock_abi == 0 &&
	    (o->save_graph != NULL || o->inbox != NULL ||
	     (o->store != NULL && !remote_is_url(o->store))))
		log_message(s->log, LOG_LEVEL_WARN,
			    "no Landlock: with --store or --save-graph, an "
			    "attacker with control of the server can open any "
			    "file; --sandbox require would refuse to start");
	if (o->sandbox != SANDBOX_REQUIRE || sandbox_is_whole(&s->sandbox))
		return EXIT_SUCCESS;
	return log_refusal(s, EXIT_USAGE, "sandbox", "require",
			   s->sandbox.lacks);
}

/* For the store's receiver. */
static void log_store(void *arg, bool is_wrong, const char *text)
{
	const struct server *s = arg;

	log_message(s->log, is_wrong ? LOG_LEVEL_WARN : LOG_LEVEL_INFO, "%s",
		    text);
}

/* An inbox_report_fn. */
static void log_inbox(void *arg, const char *text)
{
	const struct server *s = arg;

	log_message(s->log, LOG_LEVEL_WARN, "inbox: %s", text);
}

/* Returns an exit status. */
static int start_inbox(struct server *s)
{
	if (s->resources.inbox == NULL ||
	    inbox_start(s->resources.inbox, log_inbox, s))
		return EXIT_SUCCESS;
	log_message(s->log, LOG_LEVEL_ERROR,
		    "the thread of the inbox could not be started");
	return EXIT_FAILURE;
}

/* A hooks_report_fn. */
static void log_hooks(void *arg, bool is_wrong, const char *text)
{
	const struct server *s = arg;

	log_message(s->log, is_wrong ? LOG_LEVEL_WARN : LOG_LEVEL_INFO,
		    "webhooks: %s", text);
}

/* Returns an exit status. */
static int start_hooks(struct server *s)
{
	if (s->resources.hooks == NULL ||
	    hooks_start(s->resources.hooks, log_hooks, s))
		return EXIT_SUCCESS;
	log_message(s->log, LOG_LEVEL_ERROR,
		    "the thread of webhooks could not be started");
	return EXIT_FAILURE;
}

/* Returns an exit status. */
static int start_store(struct server *s)
{
	if (s->resources.store == NULL ||
	    store_start(s->resources.store, log_store, s))
		return EXIT_SUCCESS;
	log_message(s->log, LOG_LEVEL_ERROR,
		    "the thread of the store could not be started");
	return EXIT_FAILURE;
}

/* The log's thread is the first thread. */
static bool start_log(struct server *s)
{
	s->log = log_start(&(struct log_config){
		.fd = STDERR_FILENO,
		.mode = s->options->log_mode,
		.slow_ms = s->options->log_slow_ms,
		.policy = s->config->schedule.policy->name,
	});
	if (s->log == NULL)
		(void)fprintf(stderr,
			      "darkroom: the log could not be started\n");
	return s->log != NULL;
}

static void warn_of_root(const struct server *s)
{
	log_message(
		s->log, LOG_LEVEL_WARN,
		"running as root: an attacker with control of the server could "
		"do everything; start it as another user, or give --user NAME");
}

/* Limits of control groups, and figures of this process, come from /proc. */
static void warn_of_no_proc(const struct server *s)
{
	if (s->stats.status_fd >= 0)
		return;
	log_message(s->log, LOG_LEVEL_WARN,
		    "/proc is not mounted, so the limits of the control group "
		    "are not known: give --memory and --cores; /stats and "
		    "/metrics lack figures of the process");
}

/* Run everything from the first line of the log to the last. */
static int run_logged(struct server *s, const sigset_t *signals)
{
	int status = EXIT_FAILURE;
	bool is_root = user_is_root(); /* before the sandbox hides it */

	stats_init(&s->stats, s->config, &s->sandbox);
	enter_sandbox(s);
	if (start_log(s)) {
		if (is_root)
			warn_of_root(s);
		warn_of_no_proc(s);
		warn_of_left_out(s);
		log_warnings(s);
		status = check_sandbox(s);
		if (status == EXIT_SUCCESS)
			status = start_store(s);
		if (status == EXIT_SUCCESS)
			status = start_inbox(s);
		if (status == EXIT_SUCCESS)
			status = start_hooks(s);
		if (status == EXIT_SUCCESS)
			status = run_stages(s, signals);
		hooks_stop(s->resources.hooks);
		inbox_stop(s->resources.inbox);
		store_stop(s->resources.store);
		log_stop(s->log, LAST_LINES_MS);
	}
	stats_release(&s->stats);
	return status;
}

static void log_decoder_down(void *arg, const char *name)
{
	const struct server *s = arg;

	log_message(s->log, LOG_LEVEL_ERROR,
		    "%s has ended: uploads of the formats that it decodes are "
		    "answered 503 decoder_down until this server is started "
		    "again",
		    name);
}

/* Before there are threads and a sandbox.  Returns an exit status. */
static int start_decoders(struct server *s, struct pipeline_config *c)
{
	const struct options *o = s->options;
	uint32_t cores = cores_count(c->cores);
	struct decoder_config config = {
		.lanes = min_u32(cores + DECODER_LANES_MORE, UINT8_MAX),
		.file_bytes = o->body_bytes_max,
		.bytes_max = o->limits.decode_bytes_max,
		.on_down = log_decoder_down,
		.arg = s,
	};
	struct error error;

	if (!options_isolated(o, &config.formats, &error))
		return resources_refuse(o, EXIT_USAGE, "isolate", o->isolate,
					error.text);
	if (o->isolate == NULL)
		config.formats = decoders_installed(config.formats);
	if (config.formats == 0)
		return EXIT_SUCCESS;
	c->decoders = decoders_start(&config, o->isolate != NULL, &error);
	if (c->decoders != NULL)
		return EXIT_SUCCESS;
	return resources_refuse(o, EXIT_FAILURE, "isolate",
				o->isolate != NULL ? o->isolate : "default",
				error.text);
}

static void log_repacker_down(void *arg, const char *name)
{
	const struct server *s = arg;

	log_message(s->log, LOG_LEVEL_ERROR,
		    "%s of the originals has ended: none is packed, and those "
		    "that are packed are answered 503 decoder_down until this "
		    "server is started again",
		    name);
}

/*
 * A server that packs nothing may have packed originals of an earlier one.
 * Returns an exit status.
 */
static int start_repacker(struct server *s, const struct pipeline_config *c)
{
	const struct options *o = s->options;
	const struct decoder_config config = {
		/* One packs. */
		.lanes = min_u32(cores_count(c->cores) + 1, UINT8_MAX),
		.file_bytes = PACKED_JPEG_BYTES_MAX,
		.bytes_max = max_u64(o->limits.decode_bytes_max,
				     PACKED_JPEG_BYTES_MAX),
		.on_down = log_repacker_down,
		.arg = s,
	};
	struct error error;

	if (s->resources.store == NULL || !img_can_repack() ||
	    !store_has_originals(s->resources.store) ||
	    store_is_remote(s->resources.store))
		return EXIT_SUCCESS;
	s->repacker = decoder_start(&config, &error);
	/* Without it, all but packed originals works. */
	if (s->repacker != NULL || o->store_original != ORIGINAL_JXL)
		return EXIT_SUCCESS;
	return resources_refuse(o, EXIT_FAILURE, "store-original", "jxl",
				error.text);
}

int server_run(const struct options *o, const struct pipeline_config *config,
	       const sigset_t *signals)
{
	struct pipeline_config own = *config;
	struct server s = {
		.options = o,
		.config = &own,
	};
	int status = server_resources_init(&s.resources, o);

	own.blocks = s.resources.secrets.blocks;

	if (status == EXIT_SUCCESS)
		status = start_decoders(&s, &own);
	if (status == EXIT_SUCCESS)
		status = start_repacker(&s, &own);
	if (status == EXIT_SUCCESS)
		status = run_logged(&s, signals);
	decoder_free(s.repacker);
	decoders_free(own.decoders);
	server_resources_release(&s.resources);
	return status;
}
