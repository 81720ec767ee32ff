/* SPDX-License-Identifier: MIT */
#include "service/report/stats_figures.h"

#include "service/clock.h"

#include <assert.h>
#include <math.h>

void stats_init(struct stats_source *source,
		const struct pipeline_config *config,
		const struct sandbox *sandbox)
{
	*source = (struct stats_source){
		.config = config,
		.sandbox = sandbox,
		.start_ns = clock_now_ns(),
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	process_open(&source->process);
	for (uint32_t i = 0; i < PIPELINE_STAGES; i++)
		source->measures[i].last_ns = source->start_ns;
}

void stats_release(struct stats_source *source)
{
	process_close(&source->process);
	(void)pthread_mutex_destroy(&source->lock);
}

static void read_recent(struct stats_source *source, struct stats *out)
{
	uint64_t now_ns = clock_now_ns();

	(void)pthread_mutex_lock(&source->lock);
	for (uint32_t i = 0; i < PIPELINE_STAGES; i++) {
		const struct stage_stats *s = &out->pipeline.stages[i];
		const struct measure_totals totals = {
			.arrived_count = s->arrived_count,
			.handled_count = s->handled_count,
			.service_ns = s->service_ns,
			.switch_count = s->switch_count,
			.switch_ns = s->switch_ns,
		};

		if (now_ns >= source->measures[i].last_ns + MEASURE_INTERVAL_NS)
			measure_update(&source->measures[i], &totals, now_ns, 1,
				       &source->recent[i]);
		out->recent[i] = source->recent[i];
	}
	(void)pthread_mutex_unlock(&source->lock);
}

void stats_read_process(struct stats_source *source, struct process_stats *out)
{
	(void)pthread_mutex_lock(&source->lock);
	process_read(&source->process, out);
	(void)pthread_mutex_unlock(&source->lock);
}

void stats_read(struct stats_source *source, struct stats *out)
{
	pipeline_read(source->pipeline, &out->pipeline);
	stats_read_process(source, &out->process);
	out->uptime_s = (double)(clock_now_ns() - source->start_ns) / 1e9;
	read_recent(source, out);
}

static void add(struct figures *to, const char *name, double value)
{
	assert(to->count < FIGURES_MAX);
	to->list[to->count++] = (struct figure){ name, value };
}

struct figures stats_process(const struct stats *s)
{
	struct figures f = { 0 };

	add(&f, "uptime_s", s->uptime_s);
	add(&f, "cpu_s", (double)s->process.cpu_ns / 1e9);
	add(&f, "memory_peak_bytes", (double)s->process.resident_bytes_peak);
	add(&f, "context_switches", (double)s->process.switch_count);
	return f;
}

struct figures stats_uploads(const struct stats *s)
{
	const struct pipeline_stats *p = &s->pipeline;
	struct figures f = { 0 };

	add(&f, "sent", (double)p->sent_count);
	add(&f, "finished", (double)p->finished_count);
	add(&f, "failed", (double)p->failed_count);
	add(&f, "late", (double)p->late_count);
	add(&f, "gone", (double)p->gone_count);
	add(&f, "in_flight", p->in_flight_count);
	add(&f, "refused", (double)p->refused_count);
	return f;
}

struct figures stats_buffers(const struct stats *s)
{
	const struct img_pool_stats *b = &s->pipeline.buffers;
	struct figures f = { 0 };

	add(&f, "live_bytes", (double)b->live_bytes);
	add(&f, "live_bytes_peak", (double)b->live_bytes_peak);
	add(&f, "kept_bytes", (double)b->kept_bytes);
	add(&f, "mapped", (double)b->mapped_count);
	return f;
}

struct figures stats_memory(const struct stats *s)
{
	const struct budget_stats *m = &s->pipeline.memory;
	struct figures f = { 0 };

	add(&f, "limit_bytes", (double)m->limit_bytes);
	add(&f, "used_bytes", (double)m->used_bytes);
	add(&f, "peak_bytes", (double)m->peak_bytes);
	add(&f, "refused", (double)m->refused_count);
	return f;
}

struct figures stats_store(const struct store *store)
{
	struct store_stats s;
	struct figures f = { 0 };

	store_stats(store, &s);
	add(&f, "quota_bytes", (double)s.quota_bytes);
	add(&f, "used_bytes", (double)s.used_bytes);
	add(&f, "stored", (double)s.put_count);
	add(&f, "same", (double)s.same_count);
	add(&f, "deleted", (double)s.deleted_count);
	add(&f, "full", (double)s.full_count);
	add(&f, "failed", (double)s.failed_count);
	return f;
}

static double mean(uint64_t total, uint64_t count)
{
	return count > 0 ? (double)total / (double)count : 0;
}

double stats_quantile_ms(const struct histogram_copy *h, double q,
			 uint64_t most_ns)
{
	return fmin((double)histogram_quantile(h, q), (double)most_ns) / 1e6;
}

static struct figures queue_of(const struct stage_stats *t)
{
	struct figures f = { 0 };

	add(&f, "arrived", (double)t->arrived_count);
	add(&f, "started", (double)t->started_count);
	add(&f, "handled", (double)t->handled_count);
	add(&f, "refused", (double)t->refused_count);
	add(&f, "queued", (double)t->queued_count);
	add(&f, "queued_mean", mean(t->queued_count_total, t->arrived_count));
	add(&f, "queued_max", (double)t->queued_count_max);
	return f;
}

static struct figures visits_of(const struct stage_stats *t)
{
	struct figures f = { 0 };

	add(&f, "visits", (double)t->visit_count);
	add(&f, "visits_empty", (double)t->visit_empty_count);
	add(&f, "switches", (double)t->switch_count);
	add(&f, "switch_us_mean", mean(t->switch_ns, t->switch_count) / 1e3);
	add(&f, "cohort_mean",
	    mean(t->handled_count, t->visit_count - t->visit_empty_count));
	add(&f, "cohort_max", (double)histogram_quantile(&t->cohorts, 1));
	return f;
}

static struct figures wait_of(const struct stage_stats *t)
{
	struct figures f = { 0 };

	add(&f, "wait_ms_mean", mean(t->wait_ns, t->started_count) / 1e6);
	add(&f, "wait_ms_p50",
	    stats_quantile_ms(&t->waits, 0.5, t->wait_ns_max));
	add(&f, "wait_ms_p90",
	    stats_quantile_ms(&t->waits, 0.9, t->wait_ns_max));
	add(&f, "wait_ms_p99",
	    stats_quantile_ms(&t->waits, 0.99, t->wait_ns_max));
	add(&f, "wait_ms_max", (double)t->wait_ns_max / 1e6);
	return f;
}

static struct figures service_of(const struct stage_stats *t)
{
	struct figures f = { 0 };

	add(&f, "service_ms_mean", mean(t->service_ns, t->handled_count) / 1e6);
	add(&f, "service_ms_p50",
	    stats_quantile_ms(&t->services, 0.5, t->service_ns_max));
	add(&f, "service_ms_p90",
	    stats_quantile_ms(&t->services, 0.9, t->service_ns_max));
	add(&f, "service_ms_p99",
	    stats_quantile_ms(&t->services, 0.99, t->service_ns_max));
	add(&f, "service_ms_max", (double)t->service_ns_max / 1e6);
	return f;
}

static struct figures total_of(const struct stage_stats *t)
{
	struct figures f = { 0 };

	add(&f, "total_ms_mean",
	    (mean(t->wait_ns, t->started_count) +
	     mean(t->service_ns, t->handled_count)) /
		    1e6);
	add(&f, "total_ms_p50", stats_quantile_ms(&t->totals, 0.5, UINT64_MAX));
	add(&f, "total_ms_p90", stats_quantile_ms(&t->totals, 0.9, UINT64_MAX));
	add(&f, "total_ms_p99",
	    stats_quantile_ms(&t->totals, 0.99, UINT64_MAX));
	add(&f, "total_ms_max", stats_quantile_ms(&t->totals, 1, UINT64_MAX));
	return f;
}

stats_counts_fn *const stats_of_stage[] = { queue_of,   visits_of, wait_of,
					    service_of, total_of,  NULL };
stats_counts_fn *const stats_of_work[] = { visits_of, wait_of, service_of,
					   total_of, NULL };

struct figures stats_rates(const struct stage_view *recent)
{
	double service_ns = recent->service_ns;
	struct figures f = { 0 };

	add(&f, "arrivals_per_s", recent->arrivals_per_s);
	add(&f, "services_per_s", service_ns > 0 ? 1e9 / service_ns : 0);
	add(&f, "load", recent->arrivals_per_s * service_ns / 1e9);
	return f;
}

struct figures stats_hardware(const struct stage_stats *t)
{
	struct figures f = { 0 };

	add(&f, "cycles", (double)t->hardware[PERF_CYCLES]);
	add(&f, "instructions", (double)t->hardware[PERF_INSTRUCTIONS]);
	add(&f, "cache_misses", (double)t->hardware[PERF_CACHE_MISSES]);
	return f;
}

struct figures stats_worker(const struct stats *s,
			    const struct worker_stats *worker)
{
	struct figures f = { 0 };

	add(&f, "part", worker->part);
	add(&f, "handled", (double)worker->work.handled_count);
	add(&f, "sleeps", (double)worker->sleep_count);
	add(&f, "stolen", (double)worker->stolen_count);
	add(&f, "service_s", (double)worker->work.service_ns / 1e9);
	add(&f, "busy", (double)worker->work.service_ns / 1e9 / s->uptime_s);
	return f;
}
