/* SPDX-License-Identifier: MIT */
#include "service/report/report.h"

#include "service/report/metrics.h"
#include "service/report/trace_json.h"

static char *stats_of(void *arg)
{
	const struct report *r = arg;

	return stats_json(r->stats);
}

static char *metrics_of(void *arg, const struct http_report *http)
{
	const struct report *r = arg;

	return metrics_text(r->stats, http);
}

static char *trace_of(void *arg, uint64_t since_ns, uint64_t until_ns)
{
	const struct report *r = arg;

	return trace_json_window(r->stats->pipeline, since_ns, until_ns);
}

static char *live_hello_of(void *arg)
{
	const struct report *r = arg;

	return live_hello(r->live);
}

static char *live_frame_of(void *arg, bool is_first)
{
	const struct report *r = arg;

	return live_frame(r->live, is_first);
}

bool report_open(struct report *r, struct stats_source *stats)
{
	*r = (struct report){ stats, live_new(stats) };
	return r->live != NULL;
}

void report_serve(struct report *r, struct http_config *config)
{
	bool has_workers = pipeline_worker_count(r->stats->pipeline) > 0;

	config->stats_json = stats_of;
	config->metrics_text = metrics_of;
	config->trace_json = has_workers ? trace_of : NULL;
	config->live_hello = live_hello_of;
	config->live_frame = live_frame_of;
	config->report_arg = r;
}

void report_close(struct report *r)
{
	live_free(r->live);
}
