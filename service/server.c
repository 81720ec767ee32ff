/* SPDX-License-Identifier: MIT */
#include "service/server.h"

#include "service/http.h"
#include "service/opened.h"
#include "service/partition.h"
#include "service/stats.h"
#include "service/trace_file.h"
#include "service/trace_json.h"

#include "stages/cores.h"

#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LAST_REPLIES_MS = 500 }; /* to say 503 to what was abandoned */

struct server {
	const struct options *options;
	const struct pipeline_config *config;
	struct opened opened;
	struct sandbox sandbox;
	struct pipeline *pipeline;
	struct stats_source stats;
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

/* What was asked for could not be written.  Returns an exit status. */
static int complain(const struct server *s, const char *flag, const char *path)
{
	return opened_complain(s->options, EXIT_FAILURE, flag, path,
			       strerror(errno));
}

static char *stats_of(void *arg)
{
	struct server *s = arg;

	return stats_json(&s->stats);
}

static char *trace_of(void *arg, uint32_t ms)
{
	const struct server *s = arg;

	return trace_json_last(pipeline_group(s->pipeline), ms);
}

static void print_cores(const struct cores *cores)
{
	for (uint32_t i = 0; i < cores_count(cores); i++)
		(void)fprintf(stderr, "%c%u", i == 0 ? ' ' : ',',
			      cores_cpu(cores, i));
}

static void announce(const struct server *s)
{
	(void)fprintf(stderr,
		      "darkroom " DARKROOM_VERSION
		      ": listening on %s (port %u), ",
		      s->options->listen, s->opened.port);
	if (s->options->admin_listen != NULL)
		(void)fprintf(stderr, "admin on %s (port %u), ",
			      s->options->admin_listen, s->opened.admin_port);
	schedule_print(&s->config->schedule, pipeline_step_names,
		       PIPELINE_STEPS, stderr);
	(void)fprintf(stderr, ", cores");
	print_cores(s->config->cores);
	(void)fputc('\n', stderr);
}

/* Divide by these weights and say so.  False: no memory. */
static bool cut(struct server *s, const struct stage_graph *graph,
		const char *by)
{
	(void)fprintf(stderr, "darkroom: divided %s: ", by);

	bool ok = partition_cut(s->pipeline, graph,
				s->config->schedule.part_count, stderr);

	(void)fprintf(stderr, "%s\n", ok ? "" : "no memory");
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
		(void)fprintf(stderr, "darkroom: SIGHUP: nothing to divide "
				      "without --balance partition\n");
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
			stats_print(&s->stats, stderr);
			break;
		}
	}
}

/* Answer what has come, then end everything but the trace. */
static void stop(struct server *s)
{
	let_stop_at_once();
	(void)fprintf(stderr, "darkroom: stopping\n");
	http_refuse(s->http);
	if (!http_wait_answered(s->http, s->options->drain_ms)) {
		(void)fprintf(stderr, "darkroom: not all could be answered in "
				      "time\n");
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
		return complain(s, "trace", s->options->trace);
	if (missed_count > 0)
		(void)fprintf(stderr,
			      "darkroom: --trace: %" PRIu64
			      " visits came too fast and are left out\n",
			      missed_count);
	return EXIT_SUCCESS;
}

static int start_trace(struct server *s)
{
	if (s->opened.trace == NULL)
		return EXIT_SUCCESS;
	s->trace =
		trace_file_start(s->opened.trace, pipeline_group(s->pipeline));
	s->opened.trace = NULL;
	if (s->trace != NULL)
		return EXIT_SUCCESS;
	(void)fprintf(stderr, "darkroom: the trace could not be started\n");
	return EXIT_FAILURE;
}

/* From the first connection to the last reply. */
static int serve_on(struct server *s, const sigset_t *signals)
{
	bool has_workers = pipeline_worker_count(s->pipeline) > 0;

	s->http = http_start(&(struct http_config){
		.listen_fd = s->opened.listen_fd,
		.admin_fd = s->opened.admin_fd,
		.pipeline = s->pipeline,
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
		.stats_json = stats_of,
		.trace_json = has_workers ? trace_of : NULL,
		.report_arg = s,
	});
	s->opened.listen_fd = -1;
	s->opened.admin_fd = -1;
	if (s->http == NULL) {
		(void)fprintf(stderr, "darkroom: HTTP could not be started\n");
		return EXIT_FAILURE;
	}
	announce(s);
	serve(s, signals);
	stop(s);
	return EXIT_SUCCESS;
}

static int save_graph(const struct server *s)
{
	const char *path = s->options->save_graph;

	if (path == NULL || partition_save(s->pipeline, path))
		return EXIT_SUCCESS;
	return complain(s, "save-graph", path);
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
		(void)fprintf(stderr,
			      "darkroom: the stages could not be started\n");
		return EXIT_FAILURE;
	}
	status = cut_first(s);
	if (status == EXIT_SUCCESS)
		status = start_trace(s);
	if (status == EXIT_SUCCESS) {
		s->stats.pipeline = s->pipeline;
		status = serve_on(s, signals);
		status = worst(status, end_trace(s));
		status = worst(status, save_graph(s));
	}
	pipeline_stop(s->pipeline); /* where it could not start */
	pipeline_free(s->pipeline);
	return status;
}

/*
 * Enter the sandbox and say so.  A graph is saved by way of a draft beside it,
 * so its folder stays open.  Returns an exit status.
 */
static int confine(struct server *s)
{
	const struct options *o = s->options;
	char *graph = o->save_graph != NULL ? strdup(o->save_graph) : NULL;
	const char *folders[] = { graph != NULL ? dirname(graph) : NULL, NULL };

	if (o->sandbox != SANDBOX_OFF)
		sandbox_enter(&s->sandbox, folders);
	free(graph);
	(void)fprintf(stderr, "darkroom: sandbox: ");
	sandbox_print(&s->sandbox, stderr);
	(void)fputc('\n', stderr);
	if (o->sandbox != SANDBOX_REQUIRE || sandbox_is_whole(&s->sandbox))
		return EXIT_SUCCESS;
	return opened_complain(o, EXIT_USAGE, "sandbox", "require",
			       "not all of it can be had here");
}

int server_run(const struct options *o, const struct pipeline_config *config,
	       const sigset_t *signals)
{
	struct server s = {
		.options = o,
		.config = config,
	};
	int status = opened_init(&s.opened, o);

	stats_init(&s.stats, config, &s.sandbox);
	if (status == EXIT_SUCCESS)
		status = confine(&s);
	if (status == EXIT_SUCCESS)
		status = run_stages(&s, signals);
	stats_release(&s.stats);
	opened_release(&s.opened);
	return status;
}
