/* SPDX-License-Identifier: MIT */
/*
 * Most are counters that are kept anyway: a line of a table each.  The format
 * wants all samples of a name together.
 */
#include "service/report/metrics_parts.h"

#include <stdlib.h>

static const struct metric_field stage_fields[] = {
	{ { "darkroom_stage_queued", METRIC_GAUGE, METRIC_ONE,
	    "Events waiting now." },
	  METRIC_FIELD(struct stage_stats, queued_count) },
	{ { "darkroom_stage_arrived_total", METRIC_COUNTER, METRIC_ONE,
	    "Events put into the stage's queues." },
	  METRIC_FIELD(struct stage_stats, arrived_count) },
	{ { "darkroom_stage_started_total", METRIC_COUNTER, METRIC_ONE,
	    "Events taken out of them." },
	  METRIC_FIELD(struct stage_stats, started_count) },
	{ { "darkroom_stage_handled_total", METRIC_COUNTER, METRIC_ONE,
	    "Events handled to the end." },
	  METRIC_FIELD(struct stage_stats, handled_count) },
	{ { "darkroom_stage_refused_total", METRIC_COUNTER, METRIC_ONE,
	    "Events turned away by a full queue." },
	  METRIC_FIELD(struct stage_stats, refused_count) },
	{ { "darkroom_stage_visits_total", METRIC_COUNTER, METRIC_ONE,
	    "Turns of a worker at the stage." },
	  METRIC_FIELD(struct stage_stats, visit_count) },
	{ { "darkroom_stage_visits_empty_total", METRIC_COUNTER, METRIC_ONE,
	    "Of those, turns that handled nothing." },
	  METRIC_FIELD(struct stage_stats, visit_empty_count) },
	{ { "darkroom_stage_switches_total", METRIC_COUNTER, METRIC_ONE,
	    "Visits right after one to another stage." },
	  METRIC_FIELD(struct stage_stats, switch_count) },
	{ { "darkroom_stage_switch_seconds_total", METRIC_COUNTER,
	    METRIC_SECONDS, "Time between the two." },
	  METRIC_FIELD(struct stage_stats, switch_ns) },
};

/* Of stages. */
static const struct {
	struct metric metric;
	size_t offset;
	bool has_wait, has_service; /* its sum */
} time_fields[] = {
	{ { "darkroom_stage_wait_seconds", METRIC_HISTOGRAM, METRIC_SECONDS,
	    "Time in the queue, of events started." },
	  offsetof(struct stage_stats, waits),
	  true,
	  false },
	{ { "darkroom_stage_service_seconds", METRIC_HISTOGRAM, METRIC_SECONDS,
	    "Time in the handler, of events handled." },
	  offsetof(struct stage_stats, services),
	  false,
	  true },
	{ { "darkroom_stage_total_seconds", METRIC_HISTOGRAM, METRIC_SECONDS,
	    "Both together, of events handled." },
	  offsetof(struct stage_stats, totals),
	  true,
	  true },
};

static const struct metric_field worker_fields[] = {
	{ { "darkroom_worker_busy_seconds_total", METRIC_COUNTER,
	    METRIC_SECONDS, "Time in handlers." },
	  METRIC_FIELD(struct worker_stats, work.service_ns) },
	{ { "darkroom_worker_idle_seconds_total", METRIC_COUNTER,
	    METRIC_SECONDS, "Time asleep, for want of events." },
	  METRIC_FIELD(struct worker_stats, asleep_ns) },
	{ { "darkroom_worker_handled_total", METRIC_COUNTER, METRIC_ONE,
	    "Events handled, of all stages." },
	  METRIC_FIELD(struct worker_stats, work.handled_count) },
	{ { "darkroom_worker_visits_total", METRIC_COUNTER, METRIC_ONE,
	    "Turns at a stage." },
	  METRIC_FIELD(struct worker_stats, work.visit_count) },
	{ { "darkroom_worker_visits_empty_total", METRIC_COUNTER, METRIC_ONE,
	    "Of those, turns that handled nothing." },
	  METRIC_FIELD(struct worker_stats, work.visit_empty_count) },
	{ { "darkroom_worker_sleeps_total", METRIC_COUNTER, METRIC_ONE,
	    "Times that it found nothing to do and slept." },
	  METRIC_FIELD(struct worker_stats, sleep_count) },
	{ { "darkroom_worker_stolen_total", METRIC_COUNTER, METRIC_ONE,
	    "Events taken from other replicas." },
	  METRIC_FIELD(struct worker_stats, stolen_count) },
};

/* stage="decode" */
static void print_label(char to[METRICS_LABELS_BYTES], const char *stage)
{
	(void)snprintf(to, METRICS_LABELS_BYTES, "stage=\"%s\"", stage);
}

static void print_counts(FILE *to, const struct pipeline_stats *p)
{
	char label[METRICS_LABELS_BYTES];

	for (size_t i = 0; i < METRICS_COUNT(stage_fields); i++) {
		metric_head(to, &stage_fields[i].metric);
		for (uint32_t s = 0; s < p->stage_count; s++) {
			print_label(label, p->stage_names[s]);
			metric_sample(
				to, &stage_fields[i].metric, label,
				metric_value(&stage_fields[i], &p->stages[s]));
		}
	}
}

static void print_times(FILE *to, const struct pipeline_stats *p)
{
	char label[METRICS_LABELS_BYTES];

	for (size_t i = 0; i < METRICS_COUNT(time_fields); i++) {
		metric_head(to, &time_fields[i].metric);
		for (uint32_t s = 0; s < p->stage_count; s++) {
			const struct stage_stats *t = &p->stages[s];
			uint64_t sum_ns =
				time_fields[i].has_wait ? t->wait_ns : 0;

			if (time_fields[i].has_service)
				sum_ns += t->service_ns;
			print_label(label, p->stage_names[s]);
			metric_histogram(to, &time_fields[i].metric, label,
					 (const struct histogram_copy
						  *)((const char *)t +
						     time_fields[i].offset),
					 sum_ns);
		}
	}
}

static void print_cohorts(FILE *to, const struct pipeline_stats *p)
{
	static const struct metric metric = {
		"darkroom_stage_cohort_events", METRIC_HISTOGRAM, METRIC_ONE,
		"Events of a visit that had some."
	};
	char label[METRICS_LABELS_BYTES];

	metric_head(to, &metric);
	for (uint32_t s = 0; s < p->stage_count; s++) {
		const struct stage_stats *t = &p->stages[s];

		print_label(label, p->stage_names[s]);
		/* Without workers, events are handled outside of visits. */
		metric_histogram(to, &metric, label, &t->cohorts,
				 t->visit_count > 0 ? t->handled_count : 0);
	}
}

void metrics_print_stages(FILE *to, const struct pipeline_stats *p)
{
	print_counts(to, p);
	print_times(to, p);
	print_cohorts(to, p);
}

bool metrics_print_workers(FILE *to, const struct group *g)
{
	uint32_t count = group_worker_count(g);
	struct worker_stats *workers = calloc(count, sizeof(*workers));
	char label[METRICS_LABELS_BYTES];

	if (workers == NULL)
		return count == 0;
	for (uint32_t w = 0; w < count; w++)
		group_read_worker(g, w, &workers[w]);
	for (size_t i = 0; count > 0 && i < METRICS_COUNT(worker_fields); i++) {
		metric_head(to, &worker_fields[i].metric);
		for (uint32_t w = 0; w < count; w++) {
			(void)snprintf(label, sizeof(label),
				       "worker=\"%s\",part=\"%u\"",
				       workers[w].name, workers[w].part);
			metric_sample(
				to, &worker_fields[i].metric, label,
				metric_value(&worker_fields[i], &workers[w]));
		}
	}
	free(workers);
	return true;
}
