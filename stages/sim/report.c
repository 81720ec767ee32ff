/* SPDX-License-Identifier: MIT */
#include "stages/sim/report.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

static double in_ms(double ns)
{
	return ns / 1e6;
}

/* Time of all cores. */
static double core_ns(const struct report *r)
{
	return (double)r->result->span_ns * r->config->core_count;
}

static double service_ns(const struct report *r)
{
	double sum = 0;

	for (uint32_t i = 0; i < r->config->model->stage_count; i++)
		sum += r->result->stages[i].service_ns;
	return sum;
}

static double per_s(const struct report *r)
{
	return ratio((double)r->result->finished_count,
		     (double)r->result->span_ns / 1e9);
}

static void print_stage(FILE *out, const char *name,
			const struct engine_stage *s)
{
	double handled = (double)s->handled_count;
	double visits = (double)(s->visit_count - s->visit_empty_count);

	fprintf(out,
		"%-17s %9" PRIu64 " %9" PRIu64 " %10.4f %10.4f %9.2f %8" PRIu64
		" %9" PRIu64 " %8" PRIu64 " %9" PRIu64 " %8.2f\n",
		name, s->arrived_count, s->handled_count,
		in_ms(ratio(s->wait_ns, handled)),
		in_ms(ratio(s->service_ns, handled)), s->queued_mean,
		s->queued_count_max, s->visit_count, s->visit_empty_count,
		s->switch_count, ratio(handled, visits));
}

static void print_summary(FILE *out, const char *name, const struct summary *s)
{
	fprintf(out, "%-24s %9" PRIu64 " %10.3f %10.3f %10.3f %10.3f %10.3f\n",
		name, s->count, in_ms(s->mean_ns), in_ms((double)s->p50_ns),
		in_ms((double)s->p90_ns), in_ms((double)s->p99_ns),
		in_ms((double)s->max_ns));
}

static void print_responses(FILE *out, const struct report *r)
{
	struct summary s;

	fprintf(out, "\n%-24s %9s %10s %10s %10s %10s %10s\n",
		"response by size", "requests", "mean ms", "p50 ms", "p90 ms",
		"p99 ms", "max ms");
	for (uint32_t i = 0; i <= r->classes.bound_count; i++) {
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

void report_print(FILE *out, const struct report *r)
{
	const struct model *m = r->config->model;

	fprintf(out, "%-17s %9s %9s %10s %10s %9s %8s %9s %8s %9s %8s\n",
		"stage", "arrived", "handled", "wait ms", "service ms",
		"queued", "most", "visits", "empty", "switches", "cohort");
	for (uint32_t i = 0; i < m->stage_count; i++)
		print_stage(out, m->stages[i].name, &r->result->stages[i]);
	print_responses(out, r);
	fprintf(out,
		"mean response within %.3f ms, with 95 %% confidence\n\n"
		"throughput   %.2f per s, of %" PRIu32 " cores\n"
		"utilisation  %.4f in handlers, %.4f switching, %.4f at "
		"queues\n",
		in_ms(summary_confidence_ns(r->result)), per_s(r),
		r->config->core_count, ratio(service_ns(r), core_ns(r)),
		ratio(r->result->switch_ns, core_ns(r)),
		ratio(r->result->queue_ns, core_ns(r)));
	if (r->config->schedule->steal)
		fprintf(out, "stolen       %" PRIu64 " events\n",
			r->result->stolen_count);
}

static void add(cJSON *object, const char *name, double number)
{
	cJSON_AddNumberToObject(object, name, number);
}

static void add_stage(cJSON *list, const char *name,
		      const struct engine_stage *s)
{
	cJSON *object = cJSON_CreateObject();
	double handled = (double)s->handled_count;

	cJSON_AddItemToArray(list, object);
	cJSON_AddStringToObject(object, "name", name);
	add(object, "arrived", (double)s->arrived_count);
	add(object, "handled", handled);
	add(object, "wait_ms_mean", in_ms(ratio(s->wait_ns, handled)));
	add(object, "service_ms_mean", in_ms(ratio(s->service_ns, handled)));
	add(object, "queued_mean", s->queued_mean);
	add(object, "queued_max", (double)s->queued_count_max);
	add(object, "visits", (double)s->visit_count);
	add(object, "visits_empty", (double)s->visit_empty_count);
	add(object, "switches", (double)s->switch_count);
	add(object, "cohort_mean",
	    ratio(handled, (double)(s->visit_count - s->visit_empty_count)));
}

static void add_summary(cJSON *object, const struct summary *s)
{
	add(object, "count", (double)s->count);
	add(object, "mean", in_ms(s->mean_ns));
	add(object, "p50", in_ms((double)s->p50_ns));
	add(object, "p90", in_ms((double)s->p90_ns));
	add(object, "p99", in_ms((double)s->p99_ns));
	add(object, "max", in_ms((double)s->max_ns));
}

static void add_responses(cJSON *object, const struct report *r)
{
	cJSON *all = cJSON_AddObjectToObject(object, "response_ms");
	cJSON *classes = cJSON_AddArrayToObject(object, "response_ms_by_size");
	struct summary s;

	summary_all(r->result, &s);
	add_summary(all, &s);
	add(all, "mean_within", in_ms(summary_confidence_ns(r->result)));
	for (uint32_t i = 0; i <= r->classes.bound_count; i++) {
		cJSON *class = cJSON_CreateObject();

		cJSON_AddItemToArray(classes, class);
		if (i < r->classes.bound_count)
			add(class, "size_below", r->classes.bounds[i]);
		else
			cJSON_AddNullToObject(class, "size_below");
		summary_class(r->result, &r->classes, i, &s);
		add_summary(class, &s);
	}
}

bool report_print_json(FILE *out, const struct report *r)
{
	const struct model *m = r->config->model;
	cJSON *object = cJSON_CreateObject();
	cJSON *stages = cJSON_AddArrayToObject(object, "stages");

	for (uint32_t i = 0; i < m->stage_count; i++)
		add_stage(stages, m->stages[i].name, &r->result->stages[i]);
	add_responses(object, r);
	add(object, "throughput_per_s", per_s(r));
	add(object, "cores", r->config->core_count);
	add(object, "utilisation", ratio(service_ns(r), core_ns(r)));
	add(object, "switching", ratio(r->result->switch_ns, core_ns(r)));
	add(object, "at_queues", ratio(r->result->queue_ns, core_ns(r)));
	add(object, "stolen", (double)r->result->stolen_count);
	add(object, "seed", (double)r->config->seed);
	char *text = cJSON_Print(object);

	cJSON_Delete(object);
	if (text == NULL)
		return false;
	fprintf(out, "%s\n", text);
	cJSON_free(text);
	return fflush(out) == 0 && !ferror(out);
}
