/* SPDX-License-Identifier: MIT */
#include "stages/sim/sim.h"

#include "base/json.h"
#include "base/quantiles.h"
#include "base/statistics.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { SUMMARY_BATCHES = 20 };

/* A load of 1, as computed, is not reported as more. */
static const double OVERLOAD = 1 + 1e-9;

/*
 * Response times of all requests, or of one class.  Quantiles are nearest-rank:
 * the least response time that the given share of the requests does not exceed.
 */
struct summary {
	uint64_t count; /* 0: the rest is NAN */
	double mean_ns;
	double p50_ns, p90_ns, p99_ns; /* NAN: too few (base/quantiles.h) */
	double max_ns;
};

static double *numbers_new(uint64_t count)
{
	double *numbers = calloc(count + 1, sizeof(*numbers));

	assert(numbers != NULL);
	return numbers;
}

/*
 * The classes between the 50th, 90th and 99th percentile of the sizes, without
 * those that are empty because many sizes are equal.
 */
static void summary_classify(const struct sim_result *result,
			     struct size_classes *out)
{
	static const double shares[] = { 0.5, 0.9, 0.99 };
	double *sizes = numbers_new(result->request_count);
	double last = 0;

	for (uint64_t i = 0; i < result->request_count; i++)
		sizes[i] = result->requests[i].size;
	quantiles_sort(sizes, result->request_count);
	if (result->request_count > 0)
		last = sizes[0];
	*out = (struct size_classes){ .bound_count = 0 };
	for (int i = 0; i < 3 && result->request_count > 0; i++) {
		double bound = quantile_nearest(sizes, result->request_count,
						shares[i]);

		if (bound > last)
			out->bounds[out->bound_count++] = last = bound;
	}
	free(sizes);
}

/* `low` <= size < `high` */
static void summarise(const struct sim_result *result, double low, double high,
		      struct summary *out)
{
	double *times = numbers_new(result->request_count);
	uint64_t count = 0;
	double sum = 0;

	for (uint64_t i = 0; i < result->request_count; i++) {
		const struct sim_response *r = &result->requests[i];

		if (r->size < low || r->size >= high)
			continue;
		times[count++] = (double)r->response_ns;
		sum += (double)r->response_ns;
	}
	quantiles_sort(times, count);
	*out = (struct summary){
		.count = count,
		.mean_ns = count > 0 ? sum / (double)count : (double)NAN,
		.p50_ns = quantile_reported(times, count, 0.5),
		.p90_ns = quantile_reported(times, count, 0.9),
		.p99_ns = quantile_reported(times, count, 0.99),
		.max_ns = quantile_reported(times, count, 1),
	};
	free(times);
}

static void summary_all(const struct sim_result *result, struct summary *out)
{
	summarise(result, 0, INFINITY, out);
}

/* Sizes of class `number`, 0 .. bound_count, are less than this. */
static double class_end(const struct size_classes *classes, uint32_t number)
{
	assert(number <= classes->bound_count);
	return number < classes->bound_count ? classes->bounds[number] :
					       INFINITY;
}

/* Summary of the requests in class `number`. */
static void summary_class(const struct sim_result *result,
			  const struct size_classes *classes, uint32_t number,
			  struct summary *out)
{
	summarise(result, number > 0 ? class_end(classes, number - 1) : 0,
		  class_end(classes, number), out);
}

/*
 * Half the width of a 95 % confidence interval for the mean, by the means of 20
 * batches of requests in the order they began.
 */
static double summary_confidence_ns(const struct sim_result *result)
{
	const double student = 2.093; /* 97.5 %, 19 degrees of freedom */
	uint64_t length = result->request_count / SUMMARY_BATCHES;
	struct sample means = { 0 };

	if (length == 0)
		return INFINITY;
	for (uint64_t b = 0; b < SUMMARY_BATCHES; b++) {
		double mean = 0;

		for (uint64_t i = b * length; i < (b + 1) * length; i++)
			mean += (double)result->requests[i].response_ns /
				(double)length;
		sample_add(&means, mean);
	}
	return student * sample_deviation(&means) / sqrt(SUMMARY_BATCHES);
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

static double in_ms(double ns)
{
	return ns / 1e6;
}

static uint32_t core_count(const struct report *r)
{
	uint32_t nodes = r->config->node_count;

	return r->config->core_count * (nodes > 0 ? nodes : 1);
}

/* Time of all cores. */
static double core_ns(const struct report *r)
{
	return (double)r->result->span_ns * core_count(r);
}

/* Of pass-through stages it is a part of what their senders have. */
static double service_ns(const struct report *r)
{
	bool has_calls =
		r->config->schedule->policy->workers == POLICY_WORKERS_CALLER;
	double sum = 0;

	for (uint32_t i = 0; i < r->config->model->stage_count; i++)
		if (has_calls ||
		    r->config->model->stages[i].type != STAGE_PASS_THROUGH)
			sum += r->result->stages[i].service_ns;
	return sum;
}

static double per_s(const struct report *r)
{
	return ratio((double)r->result->finished_count,
		     (double)r->result->span_ns / 1e9);
}

/*
 * The work that arrives in a second, as a share of what the cores can do in it.
 * NAN: clients wait for replies, so it is at most 1.
 */
static double offered_load(const struct report *r)
{
	const struct sim_config *c = r->config;
	double by_stage[STAGES_MAX], gaps_s = 0, rate_per_s = c->rate_per_s;

	for (uint64_t i = 0; i < c->gap_count; i++)
		gaps_s += c->gaps_s[i];
	if (c->gap_count > 0)
		rate_per_s = ratio((double)c->gap_count, gaps_s);
	if (!(rate_per_s > 0))
		return (double)NAN;
	return rate_per_s * model_work_ns(c->model, by_stage) / 1e9 /
	       core_count(r);
}

/* What must be known before the figures: that waits grow with --requests. */
static void print_overload(FILE *out, const struct report *r)
{
	double load = offered_load(r);

	if (load > OVERLOAD)
		fprintf(out,
			"OVERLOAD: the requests bring %.0f %% of the work that "
			"the cores can do. Queues\ngrow until the end, so "
			"waits and response times depend on --requests.\n\n",
			100 * load);
}

/* The share of the counted requests that were late. */
static double late_share(const struct report *r)
{
	double count = 0;

	for (uint64_t i = 0; i < r->result->request_count; i++)
		count += r->result->requests[i].is_late;
	return ratio(count, (double)r->result->request_count);
}

/* Mean number of turns in a visit, without empty visits. */
static double cohort_mean(const struct sim_stage_stats *s)
{
	return ratio((double)(s->handled_count + s->paused_count),
		     (double)(s->visit_count - s->visit_empty_count));
}

static void print_stage(FILE *out, const char *name,
			const struct sim_stage_stats *s)
{
	double handled = (double)s->handled_count;

	fprintf(out,
		"%-17s %9" PRIu64 " %9" PRIu64 " %9" PRIu64
		" %10.4f %10.4f %9.2f %8" PRIu64 " %9" PRIu64 " %8" PRIu64
		" %9" PRIu64 " %8.2f\n",
		name, s->arrived_count, s->paused_count, s->handled_count,
		in_ms(ratio(s->wait_ns, handled)),
		in_ms(ratio(s->service_ns, handled)), s->queued_mean,
		s->queued_count_max, s->visit_count, s->visit_empty_count,
		s->switch_count, cohort_mean(s));
}

static void print_ms(FILE *out, double ns)
{
	if (isnan(ns))
		fprintf(out, " %10s", "-");
	else
		fprintf(out, " %10.3f", in_ms(ns));
}

static void print_summary(FILE *out, const char *name, const struct summary *s)
{
	fprintf(out, "%-24s %9" PRIu64, name, s->count);
	print_ms(out, s->mean_ns);
	print_ms(out, s->p50_ns);
	print_ms(out, s->p90_ns);
	print_ms(out, s->p99_ns);
	print_ms(out, s->max_ns);
	fputc('\n', out);
}

static void print_responses(FILE *out, const struct report *r)
{
	struct summary s;

	fprintf(out, "\n%-24s %9s %10s %10s %10s %10s %10s\n",
		r->config->model->has_size ? "response by size" :
					     "response by work, us",
		"requests", "mean ms", "p50 ms", "p90 ms", "p99 ms", "max ms");
	for (uint32_t i = 0;
	     i <= r->classes.bound_count && r->classes.bound_count > 0; i++) {
		char name[64] = "the rest";

		if (i < r->classes.bound_count)
			snprintf(name, sizeof(name), "< %.6g",
				 r->classes.bounds[i]);
		summary_class(r->result, &r->classes, i, &s);
		print_summary(out, name, &s);
	}
	summary_all(r->result, &s);
	print_summary(out, "all", &s);
}

void report_print(FILE *out, struct report *r)
{
	const struct model *m = r->config->model;

	if (r->classes.bound_count == 0)
		summary_classify(r->result, &r->classes);

	print_overload(out, r);
	fprintf(out, "%-17s %9s %9s %9s %10s %10s %9s %8s %9s %8s %9s %8s\n",
		"stage", "arrived", "paused", "handled", "wait ms",
		"service ms", "queued", "most", "visits", "empty", "switches",
		"cohort");
	for (uint32_t i = 0; i < m->stage_count; i++)
		print_stage(out, m->stages[i].name, &r->result->stages[i]);
	print_responses(out, r);
	fprintf(out,
		"mean response within %.3f ms, with 95 %% confidence\n\n"
		"throughput   %.2f per s, of %" PRIu32 " cores\n"
		"utilisation  %.4f in handlers, %.4f switching, %.4f at "
		"queues\n",
		in_ms(summary_confidence_ns(r->result)), per_s(r),
		core_count(r), ratio(service_ns(r), core_ns(r)),
		ratio(r->result->switch_ns, core_ns(r)),
		ratio(r->result->queue_ns, core_ns(r)));
	if (m->has_deadline)
		fprintf(out, "late         %.4f of the requests\n",
			late_share(r));
	if (r->result->memory_max > 0)
		fprintf(out, "memory       %.3f MB at most\n",
			(double)r->result->memory_max / 1e6);
	if (r->config->schedule->steal)
		fprintf(out, "stolen       %" PRIu64 " events\n",
			r->result->stolen_count);
}

static void add_stage(struct json *j, const char *name,
		      const struct sim_stage_stats *s)
{
	double handled = (double)s->handled_count;

	json_open_object(j, NULL);
	json_add_text(j, "name", name);
	json_add_whole(j, "arrived", s->arrived_count);
	json_add_whole(j, "paused", s->paused_count);
	json_add_whole(j, "handled", s->handled_count);
	json_add_number(j, "wait_ms_mean", in_ms(ratio(s->wait_ns, handled)));
	json_add_number(j, "service_ms_mean",
			in_ms(ratio(s->service_ns, handled)));
	json_add_number(j, "queued_mean", s->queued_mean);
	json_add_whole(j, "queued_max", s->queued_count_max);
	json_add_whole(j, "visits", s->visit_count);
	json_add_whole(j, "visits_empty", s->visit_empty_count);
	json_add_whole(j, "switches", s->switch_count);
	json_add_number(j, "cohort_mean", cohort_mean(s));
	json_close(j);
}

static void add_summary(struct json *j, const struct summary *s)
{
	json_add_whole(j, "count", s->count);
	json_add_number(j, "mean", in_ms(s->mean_ns));
	json_add_number(j, "p50", in_ms(s->p50_ns));
	json_add_number(j, "p90", in_ms(s->p90_ns));
	json_add_number(j, "p99", in_ms(s->p99_ns));
	json_add_number(j, "max", in_ms(s->max_ns));
}

static void add_responses(struct json *j, const struct report *r)
{
	struct summary s;

	summary_all(r->result, &s);
	json_open_object(j, "response_ms");
	add_summary(j, &s);
	json_add_number(j, "mean_within",
			in_ms(summary_confidence_ns(r->result)));
	json_close(j);
	json_open_array(j, "response_ms_by_size");
	for (uint32_t i = 0; i <= r->classes.bound_count; i++) {
		json_open_object(j, NULL);
		/* For the last class this is infinite, and JSON has null. */
		json_add_number(j, "size_below", class_end(&r->classes, i));
		summary_class(r->result, &r->classes, i, &s);
		add_summary(j, &s);
		json_close(j);
	}
	json_close(j);
}

void report_print_json(FILE *out, struct report *r)
{
	const struct model *m = r->config->model;
	struct json j;

	if (r->classes.bound_count == 0)
		summary_classify(r->result, &r->classes);
	json_begin(&j, out, JSON_INDENTED);
	json_open_object(&j, NULL);
	json_open_array(&j, "stages");
	for (uint32_t i = 0; i < m->stage_count; i++)
		add_stage(&j, m->stages[i].name, &r->result->stages[i]);
	json_close(&j);
	add_responses(&j, r);
	if (m->has_deadline)
		json_add_number(&j, "late_share", late_share(r));
	json_add_number(&j, "offered_load", offered_load(r));
	json_add_number(&j, "throughput_per_s", per_s(r));
	json_add_whole(&j, "cores", core_count(r));
	json_add_number(&j, "utilisation", ratio(service_ns(r), core_ns(r)));
	json_add_number(&j, "switching",
			ratio(r->result->switch_ns, core_ns(r)));
	json_add_number(&j, "at_queues",
			ratio(r->result->queue_ns, core_ns(r)));
	json_add_whole(&j, "stolen", r->result->stolen_count);
	json_add_whole(&j, "memory_bytes_max",
		       (uint64_t)(r->result->memory_max > 0 ?
					  r->result->memory_max :
					  0));
	json_add_whole(&j, "seed", r->config->seed);
	json_close(&j);
	(void)fputc('\n', out);
}
