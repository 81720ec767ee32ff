/* SPDX-License-Identifier: MIT */
#include "service/server.h"

#include "service/announce.h"
#include "service/http/http.h"
#include "service/log/log.h"
#include "service/opened.h"
#include "service/pipeline/partition.h"
#include "service/report/report.h"
#include "service/report/trace_file.h"

#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	LAST_REPLIES_MS = 500, /* to say 503 to what was abandoned */
	LAST_LINES_MS = 1000,  /* to write what the log still holds */
};

struct server {
	const struct options *options;
	const struct pipeline_config *config;
	struct opened opened;
	struct sandbox sandbox;
	struct log *log;
	struct pipeline *pipeline;
	struct stats_source stats;
	struct report report;
	struct trace_file *trace; /* NULL: not asked for */
	struct http *http;
};

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
	(void)signal(SIGUSR2, SIG_IGN); /* the log's, at its end */
	return set;
}

static void let_stop_at_once(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* Returns `status`. */
static int complain(const struct server *s, int status, const char *flag,
		    const char *value, const char *why)
{
	char refusal[OPTIONS_REFUSAL_BYTES];

	options_refuse(s->options, flag, value, why, refusal);
	log_message(s->log, LOG_LEVEL_ERROR, "%s", refusal);
	return status;
}

/* Divide by these weights and say so.  False: no memory. */
static bool cut(struct server *s, const struct stage_graph *graph,
		const char *by)
{
	FILE *to = log_begin(s->log);

	if (to == NULL)
		return false;
	(void)fprintf(to, "divided %s: ", by);

	bool ok = partition_cut(s->pipeline, graph,
				s->config->schedule.part_count, to);

	(void)fprintf(to, "%s", ok ? "" : "no memory");
	log_end(s->log);
	return ok;
}

/* The first time, before there is work.  Returns an exit status. */
static int cut_first(struct server *s)
{
	const char *path = s->options->graph;

	if (s->config->schedule.balance != BALANCE_PARTITION)
		return EXIT_SUCCESS;
	return cut(s, &s->opened.graph,
		   path != NULL ? path : "equally, without --graph") ?
		       EXIT_SUCCESS :
		       EXIT_FAILURE;
}

static void cut_again(struct server *s)
{
	struct stage_graph graph;

	if (s->config->schedule.balance != BALANCE_PARTITION) {
		log_message(s->log, LOG_LEVEL_WARN,
			    "SIGHUP: nothing to divide without --balance "
			    "partition");
		return;
	}
	group_read_graph(pipeline_group(s->pipeline), &graph);
	(void)cut(s, &graph, "by what was measured");
}

static void serve(struct server *s, const sigset_t *signals)
{
	for (;;) {
		int number = 0;

		(void)sigwait(signals, &number);
		switch (number) {
		case SIGTERM:
		case SIGINT:
			return;
		case SIGHUP:
			cut_again(s);
			break;
		case SIGUSR1:
			announce_stats(s->log, &s->stats);
			break;
		}
	}
}

/* Answer what has come, then end everything but the trace. */
static void stop(struct server *s)
{
	let_stop_at_once();
	log_message(s->log, LOG_LEVEL_INFO, "stopping");
	http_leave(s->http);
	(void)poll(NULL, 0, (int)s->options->shutdown_delay_ms);
	http_refuse(s->http);
	if (!http_wait_answered(s->http, s->options->drain_ms)) {
		log_message(s->log, LOG_LEVEL_WARN,
			    "not all could be answered in time");
		pipeline_abandon(s->pipeline);
	}
	pipeline_stop(s->pipeline);
	(void)http_wait_answered(s->http, LAST_REPLIES_MS);
	http_stop(s->http);
}

static int end_trace(struct server *s)
{
	uint64_t missed_count = 0;

	if (s->trace == NULL)
		return EXIT_SUCCESS;
	if (!trace_file_stop(s->trace, &missed_count))
		return complain(s, EXIT_FAILURE, "trace", s->options->trace,
				strerror(errno));
	if (missed_count > 0)
		log_message(s->log, LOG_LEVEL_WARN,
			    "--trace: %" PRIu64
			    " visits and events came too fast and are left out",
			    missed_count);
	return EXIT_SUCCESS;
}

static int start_trace(struct server *s)
{
	if (s->opened.trace == NULL)
		return EXIT_SUCCESS;
	s->trace = trace_file_start(s->opened.trace, s->pipeline);
	s->opened.trace = NULL;
	if (s->trace != NULL)
		return EXIT_SUCCESS;
	log_message(s->log, LOG_LEVEL_ERROR, "the trace could not be started");
	return EXIT_FAILURE;
}

/* From the first connection to the last reply. */
static int serve_on(struct server *s, const sigset_t *signals)
{
	struct http_config config = {
		.listen_fd = s->opened.listen_fd,
		.admin_fd = s->opened.admin_fd,
		.pipeline = s->pipeline,
		.store = s->opened.store,
		.auth = s->opened.secrets.auth,
		.tls_certificate = s->opened.secrets.tls.certificate,
		.tls_key = s->opened.secrets.tls.key,
		.connections_max = s->options->connections_max,
		.per_address_max = s->options->per_address_max,
		.requests_max = s->options->requests_max,
		.head_ms = s->options->head_ms,
		.idle_ms = s->options->idle_ms,
		.rate_min = s->options->rate_min,
		.body_bytes_max = s->options->body_bytes_max,
		.presets = s->options->presets,
		.deadline_ms = s->options->deadline_ms,
		.log = s->log,
	};

	report_serve(&s->report, &config);
	s->http = http_start(&config);
	s->opened.listen_fd = -1;
	s->opened.admin_fd = -1;
	if (s->http == NULL) {
		log_message(s->log, LOG_LEVEL_ERROR,
			    "HTTP could not be started");
		return EXIT_FAILURE;
	}
	announce_start(s->log, s->options, &s->opened, s->config);
	serve(s, signals);
	stop(s);
	return EXIT_SUCCESS;
}

/* With all that can be told of it. */
static int serve_told(struct server *s, const sigset_t *signals)
{
	int status = EXIT_FAILURE;

	s->stats.pipeline = s->pipeline;
	s->stats.store = s->opened.store;
	if (report_open(&s->report, &s->stats))
		status = serve_on(s, signals);
	else
		log_message(s->log, LOG_LEVEL_ERROR, "no memory to tell of it");
	report_close(&s->report);
	return status;
}

static int save_graph(const struct server *s)
{
	const char *path = s->options->save_graph;

	if (path == NULL || partition_save(s->pipeline, path))
		return EXIT_SUCCESS;
	return complain(s, EXIT_FAILURE, "save-graph", path, strerror(errno));
}

/* The first that is not EXIT_SUCCESS. */
static int worst(int status, int other)
{
	return status != EXIT_SUCCESS ? status : other;
}

/* From the first thread to the last. */
static int run_stages(struct server *s, const sigset_t *signals)
{
	int status;

	s->pipeline = pipeline_start(s->config);
	if (s->pipeline == NULL) {
		log_message(s->log, LOG_LEVEL_ERROR,
			    "the stages could not be started");
		return EXIT_FAILURE;
	}
	status = cut_first(s);
	if (status == EXIT_SUCCESS)
		status = start_trace(s);
	if (status == EXIT_SUCCESS) {
		status = serve_told(s, signals);
		status = worst(status, end_trace(s));
		status = worst(status, save_graph(s));
	}
	pipeline_stop(s->pipeline); /* where it could not start */
	pipeline_free(s->pipeline);
	return status;
}

/*
 * Enter the sandbox.  A graph is saved by way of a draft beside it, so its
 * folder stays open.
 */
static void confine(struct server *s)
{
	const struct options *o = s->options;
	char *graph = o->save_graph != NULL ? strdup(o->save_graph) : NULL;
	const char *folders[3] = { NULL };
	uint32_t count = 0;

	if (graph != NULL)
		folders[count++] = dirname(graph);
	if (o->store != NULL)
		folders[count++] = o->store;

	if (o->sandbox != SANDBOX_OFF)
		sandbox_enter(&s->sandbox, folders);
	free(graph);
}

/* Say what the sandbox is.  Returns an exit status. */
static int check_sandbox(const struct server *s)
{
	const struct options *o = s->options;

	announce_sandbox(s->log, &s->sandbox);
	if (o->sandbox != SANDBOX_OFF && s->sandbox.landlock_abi == 0 &&
	    (o->save_graph != NULL || o->store != NULL))
		log_message(s->log, LOG_LEVEL_WARN,
			    "no Landlock: with --store or --save-graph, who "
			    "gets control of the server can open any file; "
			    "--sandbox require would refuse to start");
	if (o->sandbox != SANDBOX_REQUIRE || sandbox_is_whole(&s->sandbox))
		return EXIT_SUCCESS;
	return complain(s, EXIT_USAGE, "sandbox", "require",
			"not all of it can be had here");
}

/* Its thread is the first. */
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

/* From the first line of the log to the last. */
static int run_logged(struct server *s, const sigset_t *signals)
{
	int status = EXIT_FAILURE;

	stats_init(&s->stats, s->config, &s->sandbox);
	confine(s);
	if (start_log(s)) {
		status = check_sandbox(s);
		if (status == EXIT_SUCCESS)
			status = run_stages(s, signals);
		log_stop(s->log, LAST_LINES_MS);
	}
	stats_release(&s->stats);
	return status;
}

int server_run(const struct options *o, const struct pipeline_config *config,
	       const sigset_t *signals)
{
	struct server s = {
		.options = o,
		.config = config,
	};
	int status = opened_init(&s.opened, o);

	if (status == EXIT_SUCCESS)
		status = run_logged(&s, signals);
	opened_release(&s.opened);
	return status;
}
