/* SPDX-License-Identifier: MIT */
#include "loadgen/report.h"

#include "loadgen/clock.h"

#define CLIENT_CORE_MAX 0.9   /* of the client's one thread */
#define CLIENT_SHARE_MAX 0.05 /* of the server's CPU time */
#define SERVER_CPU_S_MIN 0.5  /* to judge by: it is known to 10 ms */
#define LAG_MAX 0.1           /* of the response time */

double report_makespan_s(const struct report *report)
{
	return (double)report->outcome->makespan_ns / (double)NS_PER_S;
}

double report_client_share(const struct report *report)
{
	const struct outcome *outcome = report->outcome;

	return outcome->server.cpu_s > 0 ?
		       outcome->client_cpu_s / outcome->server.cpu_s :
		       0;
}

/* Each says in `text` what is the matter, or that nothing is (false). */
typedef bool warn_fn(const struct report *report, struct error *text);

static bool uses_its_core(const struct report *report, struct error *text)
{
	double makespan_s = report_makespan_s(report);
	double share = report->outcome->client_cpu_s / makespan_s;

	if (!(makespan_s > 0) || !(share > CLIENT_CORE_MAX))
		return false;
	error_set(text,
		  "the client used %.0f %% of a core: it may be the bottleneck",
		  100 * share);
	return true;
}

/* Like with like: a lag in the tail does no harm to the median. */
static bool sends_late(const struct report *report, struct error *text)
{
	struct record *r = &report->outcome->record;
	struct summary lag;
	struct summary response;

	if (!samples_summarize(&r->lag, &lag) ||
	    !samples_summarize(&r->response, &response))
		return false;
	for (enum figure i = FIGURE_P50; i <= FIGURE_P99; i++)
		if (lag.figures[i] > LAG_MAX * response.figures[i]) {
			error_set(text,
				  "the client sent late: its lag is %.0f %% of "
				  "the response time at %s",
				  100 * lag.figures[i] / response.figures[i],
				  figure_names[i]);
			return true;
		}
	return false;
}

static bool takes_from_the_server(const struct report *report,
				  struct error *text)
{
	double share = report_client_share(report);

	if (report->outcome->server.cpu_s < SERVER_CPU_S_MIN ||
	    !(share > CLIENT_SHARE_MAX))
		return false;
	error_set(text,
		  "the client used %.1f %% of the CPU time that the server "
		  "used, on the same machine: throughput may be up to that "
		  "much higher without it",
		  100 * share);
	return true;
}

struct report report_make(const struct options *o, const struct setup *setup,
			  struct outcome *outcome)
{
	static warn_fn *const checks[WARNINGS_MAX] = {
		uses_its_core,
		sends_late,
		takes_from_the_server,
	};
	struct report report = {
		.options = o,
		.files = setup->dataset.count,
		.outcome = outcome,
	};

	for (size_t i = 0; i < WARNINGS_MAX; i++)
		report.warning_count += checks[i](
			&report, &report.warnings[report.warning_count]);
	return report;
}
