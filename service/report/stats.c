/* SPDX-License-Identifier: MIT */
/*
 * Reads all counts once, turns them into named figures, and writes these as
 * JSON or as tables:
 *
 *	read_stats() -> struct stats -> xxx_figures() -> stats_json()
 *	                                             \-> stats_print()
 *
 * To add a figure: one figures_add() in the function of its group, and its
 * description in service/README.md, which a test checks.
 */
#include "service/report/stats.h"

#include "service/store/store.h"

#include "stages/cores.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"

#include <assert.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { FIGURES_MAX = 24 };

/* A group of numbers with their names in /stats. */
struct figures {
	uint32_t count;
	struct figure {
		const char *name;
		double value;
	} list[FIGURES_MAX];
};

struct stats {
	struct pipeline_stats pipeline;
	struct process_stats process;
	double uptime_s;
	struct stage_view recent[PIPELINE_STAGES];
};

enum { STATUS_BYTES = 4096 };

/* The bytes in a line such as "VmRSS:	   5432 kB"; 0: no such line. */
static uint64_t status_bytes(const char *status, const char *name)
{
	const char *line = strstr(status, name);

	return line != NULL ? strtoull(line + strlen(name), NULL, 10) * 1024 :
			      0;
}

/*
 * getrusage() cannot be used here: its peak includes that of the parent
 * process.
 */
static void process_read_memory(int status_fd, struct process_stats *out)
{
	char status[STATUS_BYTES];
	ssize_t bytes = pread(status_fd, status, sizeof(status) - 1, 0);

	if (bytes <= 0)
		return;
	status[bytes] = '\0';
	out->resident_bytes = status_bytes(status, "\nVmRSS:");
	out->resident_bytes_peak = status_bytes(status, "\nVmHWM:");
	out->virtual_bytes = status_bytes(status, "\nVmSize:");
}

static uint64_t count_files(DIR *files)
{
	const struct dirent *entry;
	uint64_t count = 0;

	rewinddir(files);
	while ((entry = readdir(files)) != NULL)
		count += entry->d_name[0] != '.';
	return count;
}

static uint64_t nanoseconds(struct timeval t)
{
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_usec * 1000;
}

/* Caller holds source->lock. */
static void process_read(const struct stats_source *source,
			 struct process_stats *out)
{
	struct rusage use;
	struct rlimit files = { 0 };

	(void)getrusage(RUSAGE_SELF, &use);
	(void)getrlimit(RLIMIT_NOFILE, &files);
	*out = (struct process_stats){
		.started_unix_ns = source->started_unix_ns,
		.cpu_ns = nanoseconds(use.ru_utime) + nanoseconds(use.ru_stime),
		.switch_count = (uint64_t)(use.ru_nvcsw + use.ru_nivcsw),
		.file_count_max = files.rlim_cur,
	};
	process_read_memory(source->status_fd, out);
	if (source->files != NULL)
		out->file_count = count_files(source->files);
}

void stats_init(struct stats_source *source,
		const struct pipeline_config *config,
		const struct sandbox *sandbox)
{
	*source = (struct stats_source){
		.config = config,
		.sandbox = sandbox,
		.start_ns = clock_now_ns(),
		.started_unix_ns = clock_read_ns(CLOCK_REALTIME),
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.status_fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC),
		.files = opendir("/proc/self/fd"),
	};
	for (uint32_t i = 0; i < PIPELINE_STAGES; i++)
		source->measures[i].last_ns = source->start_ns;
}

void stats_release(struct stats_source *source)
{
	if (source->status_fd >= 0)
		(void)close(source->status_fd);
	if (source->files != NULL)
		(void)closedir(source->files);
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
	process_read(source, out);
	(void)pthread_mutex_unlock(&source->lock);
}

static void read_stats(struct stats_source *source, struct stats *out)
{
	pipeline_read(source->pipeline, &out->pipeline);
	stats_read_process(source, &out->process);
	out->uptime_s = (double)(clock_now_ns() - source->start_ns) / 1e9;
	read_recent(source, out);
}

static void figures_add(struct figures *to, const char *name, double value)
{
	assert(to->count < FIGURES_MAX);
	to->list[to->count++] = (struct figure){ name, value };
}

static struct figures process_figures(const struct stats *s)
{
	struct figures f = { 0 };

	figures_add(&f, "uptime_s", s->uptime_s);
	figures_add(&f, "cpu_s", (double)s->process.cpu_ns / 1e9);
	figures_add(&f, "memory_peak_bytes",
		    (double)s->process.resident_bytes_peak);
	figures_add(&f, "context_switches", (double)s->process.switch_count);
	return f;
}

static struct figures upload_figures(const struct stats *s)
{
	const struct pipeline_stats *p = &s->pipeline;
	struct figures f = { 0 };

	figures_add(&f, "sent", (double)p->sent_count);
	figures_add(&f, "finished", (double)p->finished_count);
	figures_add(&f, "failed", (double)p->failed_count);
	figures_add(&f, "late", (double)p->late_count);
	figures_add(&f, "unreachable", (double)p->unreachable_count);
	figures_add(&f, "gone", (double)p->gone_count);
	figures_add(&f, "in_flight", p->in_flight_count);
	figures_add(&f, "refused", (double)p->refused_count);
	figures_add(&f, "abandoned", (double)p->abandoned_count);
	return f;
}

static struct figures buffer_figures(const struct stats *s)
{
	const struct memory_pool_stats *b = &s->pipeline.buffers;
	struct figures f = { 0 };

	figures_add(&f, "live_bytes", (double)b->live_bytes);
	figures_add(&f, "live_bytes_peak", (double)b->live_bytes_peak);
	figures_add(&f, "kept_bytes", (double)b->kept_bytes);
	figures_add(&f, "mapped", (double)b->mapped_count);
	return f;
}

static struct figures memory_figures(const struct stats *s)
{
	const struct budget_stats *m = &s->pipeline.memory;
	struct figures f = { 0 };

	figures_add(&f, "limit_bytes", (double)m->limit_bytes);
	figures_add(&f, "used_bytes", (double)m->used_bytes);
	figures_add(&f, "peak_bytes", (double)m->peak_bytes);
	figures_add(&f, "refused", (double)m->refused_count);
	figures_add(&f, "waiting", (double)m->waiting_count);
	figures_add(&f, "waits", (double)m->wait_count);
	figures_add(&f, "waited_ms", (double)m->waited_ns / 1e6);
	figures_add(&f, "broken_waits", (double)m->broken_wait_count);
	return f;
}

static struct figures fibre_figures(const struct fibre_stats *s)
{
	struct figures f = { 0 };

	figures_add(&f, "begun", (double)s->begun_count);
	figures_add(&f, "ready", s->ready_count);
	figures_add(&f, "waiting", s->waiting_count);
	figures_add(&f, "stacks", s->stack_count);
	figures_add(&f, "stacks_peak", s->stack_count_max);
	figures_add(&f, "switches", (double)s->switch_count);
	return f;
}

static struct figures thread_figures(const struct uthreads *u)
{
	struct uthreads_counts c;
	struct figures f = { 0 };

	uthreads_read(u, &c);
	figures_add(&f, "begun", (double)c.begun_count);
	figures_add(&f, "now", c.thread_count);
	figures_add(&f, "peak", c.thread_count_max);
	figures_add(&f, "ready", c.ready_count);
	figures_add(&f, "transferring", c.transferring_count);
	figures_add(&f, "waiting", c.waiting_count);
	figures_add(&f, "kernel_threads", c.kernel_thread_count);
	figures_add(&f, "switches", (double)c.switch_count);
	figures_add(&f, "transfers", (double)c.transfer_count);
	figures_add(&f, "steps", (double)c.step_count);
	figures_add(&f, "preempted", (double)c.preempted_count);
	return f;
}

static struct figures store_figures(struct store *store)
{
	struct store_stats s;
	struct figures f = { 0 };

	store_stats(store, &s);
	figures_add(&f, "writable", s.is_writable);
	figures_add(&f, "quota_bytes", (double)s.quota_bytes);
	figures_add(&f, "used_bytes", (double)s.used_bytes);
	figures_add(&f, "stored", (double)s.put_count);
	figures_add(&f, "same", (double)s.same_count);
	figures_add(&f, "deleted", (double)s.deleted_count);
	figures_add(&f, "full", (double)s.full_count);
	figures_add(&f, "failed", (double)s.failed_count);
	if (!s.remote.is_remote) {
		figures_add(&f, "disk_bytes", (double)s.disk_bytes);
		figures_add(&f, "disk_free_bytes", (double)s.disk_free_bytes);
		figures_add(&f, "disk_files", (double)s.disk_files);
		figures_add(&f, "disk_free_files", (double)s.disk_free_files);
		return f;
	}
	figures_add(&f, "unavailable", (double)s.unavailable_count);
	figures_add(&f, "available", s.remote.is_available);
	figures_add(&f, "helper_starts", (double)s.remote.helper_starts);
	figures_add(&f, "requests", (double)s.remote.sums.requests);
	figures_add(&f, "retries", (double)s.remote.sums.retries);
	figures_add(&f, "errors", (double)s.remote.sums.errors);
	figures_add(&f, "sent_bytes", (double)s.remote.sums.sent_bytes);
	figures_add(&f, "received_bytes", (double)s.remote.sums.received_bytes);
	figures_add(&f, "cache_hits", (double)s.remote.sums.cache_hits);
	figures_add(&f, "cache_misses", (double)s.remote.sums.cache_misses);
	figures_add(&f, "cache_evictions",
		    (double)s.remote.sums.cache_evictions);
	figures_add(&f, "cache_failures", (double)s.remote.sums.cache_failures);
	figures_add(&f, "cache_bytes", (double)s.remote.sums.now.cache_bytes);
	figures_add(&f, "cache_quota_bytes",
		    (double)s.remote.sums.now.cache_quota_bytes);
	figures_add(&f, "cache_disk_free_bytes",
		    (double)s.remote.sums.now.cache_free_bytes);
	return f;
}

static struct figures spool_figures(struct store *store)
{
	struct store_stats s;
	struct figures f = { 0 };

	store_stats(store, &s);
	figures_add(&f, "waiting", (double)s.spool.waiting_count);
	figures_add(&f, "written", (double)s.spool.written_count);
	figures_add(&f, "finished", (double)s.spool.finished_count);
	figures_add(&f, "recovered", (double)s.spool.recovered_count);
	figures_add(&f, "failed", (double)s.spool.failed_count);
	figures_add(&f, "damaged", (double)s.spool.damaged_count);
	return f;
}

/*
 * Makes a group of figures from the counts of a stage, or of all work of a
 * worker.
 */
typedef struct figures stage_figures_fn(const struct stage_stats *counts);

static double mean_of(uint64_t total, uint64_t count)
{
	return count > 0 ? (double)total / (double)count : 0;
}

double stats_quantile_ms(const struct histogram_copy *h, double q,
			 uint64_t max_ns)
{
	return fmin((double)histogram_quantile(h, q), (double)max_ns) / 1e6;
}

static struct figures queue_figures(const struct stage_stats *t)
{
	struct figures f = { 0 };

	figures_add(&f, "arrived", (double)t->arrived_count);
	figures_add(&f, "started", (double)t->started_count);
	figures_add(&f, "paused", (double)t->paused_count);
	figures_add(&f, "handled", (double)t->handled_count);
	figures_add(&f, "refused", (double)t->refused_count);
	figures_add(&f, "queued", (double)t->queued_count);
	figures_add(&f, "queued_mean",
		    mean_of(t->queued_count_total, t->arrived_count));
	figures_add(&f, "queued_max", (double)t->queued_count_max);
	figures_add(&f, "threads", (double)t->pool_threads);
	return f;
}

static struct figures visit_figures(const struct stage_stats *t)
{
	struct figures f = { 0 };

	figures_add(&f, "visits", (double)t->visit_count);
	figures_add(&f, "visits_empty", (double)t->visit_empty_count);
	figures_add(&f, "switches", (double)t->switch_count);
	figures_add(&f, "switch_us_mean",
		    mean_of(t->switch_ns, t->switch_count) / 1e3);
	figures_add(&f, "cohort_mean",
		    mean_of(stage_turn_count(t),
			    t->visit_count - t->visit_empty_count));
	figures_add(&f, "cohort_max",
		    (double)histogram_quantile(&t->cohorts, 1));
	return f;
}

static struct figures wait_figures(const struct stage_stats *t)
{
	struct figures f = { 0 };

	figures_add(&f, "wait_ms_mean",
		    mean_of(t->wait_ns, t->started_count) / 1e6);
	figures_add(&f, "wait_ms_p50",
		    stats_quantile_ms(&t->waits, 0.5, t->wait_ns_max));
	figures_add(&f, "wait_ms_p90",
		    stats_quantile_ms(&t->waits, 0.9, t->wait_ns_max));
	figures_add(&f, "wait_ms_p99",
		    stats_quantile_ms(&t->waits, 0.99, t->wait_ns_max));
	figures_add(&f, "wait_ms_max", (double)t->wait_ns_max / 1e6);
	return f;
}

static struct figures service_figures(const struct stage_stats *t)
{
	struct figures f = { 0 };

	figures_add(&f, "service_ms_mean",
		    mean_of(t->service_ns, t->handled_count) / 1e6);
	figures_add(&f, "service_ms_p50",
		    stats_quantile_ms(&t->services, 0.5, t->service_ns_max));
	figures_add(&f, "service_ms_p90",
		    stats_quantile_ms(&t->services, 0.9, t->service_ns_max));
	figures_add(&f, "service_ms_p99",
		    stats_quantile_ms(&t->services, 0.99, t->service_ns_max));
	figures_add(&f, "service_ms_max", (double)t->service_ns_max / 1e6);
	return f;
}

static struct figures total_figures(const struct stage_stats *t)
{
	struct figures f = { 0 };

	figures_add(&f, "total_ms_mean",
		    (mean_of(t->wait_ns, t->started_count) +
		     mean_of(t->service_ns, t->handled_count)) /
			    1e6);
	figures_add(&f, "total_ms_p50",
		    stats_quantile_ms(&t->totals, 0.5, UINT64_MAX));
	figures_add(&f, "total_ms_p90",
		    stats_quantile_ms(&t->totals, 0.9, UINT64_MAX));
	figures_add(&f, "total_ms_p99",
		    stats_quantile_ms(&t->totals, 0.99, UINT64_MAX));
	figures_add(&f, "total_ms_max",
		    stats_quantile_ms(&t->totals, 1, UINT64_MAX));
	return f;
}

/* Both lists end with NULL. */
static stage_figures_fn *const figures_of_stage[] = {
	queue_figures,   visit_figures, wait_figures,
	service_figures, total_figures, NULL
};
static stage_figures_fn *const figures_of_work[] = {
	visit_figures, wait_figures, service_figures, total_figures, NULL
};

static struct figures rate_figures(const struct stage_view *recent)
{
	double service_ns = recent->service_ns;
	struct figures f = { 0 };

	figures_add(&f, "arrivals_per_s", recent->arrivals_per_s);
	figures_add(&f, "services_per_s",
		    service_ns > 0 ? 1e9 / service_ns : 0);
	figures_add(&f, "load", recent->arrivals_per_s * service_ns / 1e9);
	return f;
}

static struct figures hardware_figures(const struct stage_stats *t)
{
	struct figures f = { 0 };

	figures_add(&f, "cycles", (double)t->hardware[PERF_CYCLES]);
	figures_add(&f, "instructions", (double)t->hardware[PERF_INSTRUCTIONS]);
	figures_add(&f, "cache_misses", (double)t->hardware[PERF_CACHE_MISSES]);
	return f;
}

static struct figures worker_figures(const struct stats *s,
				     const struct worker_stats *worker)
{
	struct figures f = { 0 };

	figures_add(&f, "part", worker->part);
	figures_add(&f, "handled", (double)worker->work.handled_count);
	figures_add(&f, "sleeps", (double)worker->sleep_count);
	figures_add(&f, "stolen", (double)worker->stolen_count);
	figures_add(&f, "service_s", (double)worker->work.service_ns / 1e9);
	figures_add(&f, "busy",
		    (double)worker->work.service_ns / 1e9 / s->uptime_s);
	return f;
}

static void json_add_figures(struct json *j, struct figures f)
{
	for (uint32_t i = 0; i < f.count; i++)
		json_add_number(j, f.list[i].name, f.list[i].value);
}

/* Write the group as an object. */
static void json_add_group(struct json *j, const char *name, struct figures f)
{
	json_open_object(j, name);
	json_add_figures(j, f);
	json_close(j);
}

char *stats_schedule(const struct pipeline_config *config)
{
	struct text text;
	FILE *f = text_open(&text);

	if (f == NULL)
		return NULL;
	pipeline_print_schedule(config, f);
	return text_close(&text, f);
}

static void json_add_cores(struct json *j, const struct cores *cores)
{
	json_open_array(j, "cores");
	for (uint32_t i = 0; i < cores_count(cores); i++)
		json_add_whole(j, NULL, cores_cpu(cores, i));
	json_close(j);
}

static void json_add_sandbox(struct json *j, const struct sandbox *s)
{
	json_open_object(j, "sandbox");
	json_add_bool(j, "no_new_privileges", s->no_new_privileges);
	json_add_whole(j, "landlock_abi", s->landlock_abi);
	json_add_bool(j, "seccomp", s->seccomp);
	json_close(j);
}

static void json_add_counts(struct json *j, stage_figures_fn *const *of,
			    const struct stage_stats *counts)
{
	for (; *of != NULL; of++)
		json_add_figures(j, (*of)(counts));
}

static void json_add_stages(struct json *j, const struct stats *s,
			    bool has_hardware)
{
	json_open_array(j, "stages");
	for (uint32_t i = 0; i < s->pipeline.stage_count; i++) {
		const struct stage_stats *counts = &s->pipeline.stages[i];

		json_open_object(j, NULL);
		json_add_text(j, "name", s->pipeline.stage_names[i]);
		json_add_counts(j, figures_of_stage, counts);
		json_add_figures(j, rate_figures(&s->recent[i]));
		if (has_hardware)
			json_add_group(j, "hardware", hardware_figures(counts));
		else
			json_add_text(j, "hardware", "not available");
		json_close(j);
	}
	json_close(j);
}

static void json_add_workers(struct json *j, const struct stats *s,
			     const struct group *g)
{
	json_open_array(j, "workers");
	for (uint32_t i = 0; i < group_worker_count(g); i++) {
		struct worker_stats worker;

		group_read_worker(g, i, &worker);
		json_open_object(j, NULL);
		json_add_text(j, "name", worker.name);
		json_add_figures(j, worker_figures(s, &worker));
		json_add_counts(j, figures_of_work, &worker.work);
		json_close(j);
	}
	json_close(j);
}

static void print_json(struct stats_source *source, const char *schedule,
		       FILE *to)
{
	const struct pipeline_config *c = source->config;
	const struct group *g = pipeline_group(source->pipeline);
	struct fibre_stats fibres;
	struct stats s;
	struct json j;

	read_stats(source, &s);
	json_begin(&j, to, JSON_COMPACT);
	json_open_object(&j, NULL);
	json_add_text(&j, "version", DARKROOM_VERSION);
	json_add_text(&j, "policy", c->schedule.policy->name);
	json_add_text(&j, "schedule", schedule);
	json_add_whole(&j, "parts", c->schedule.part_count);
	json_add_cores(&j, c->cores);
	json_add_whole(&j, "io_threads", source->io_threads);
	json_add_sandbox(&j, source->sandbox);
	json_add_figures(&j, process_figures(&s));
	json_add_group(&j, "uploads", upload_figures(&s));
	json_add_group(&j, "buffers", buffer_figures(&s));
	json_add_group(&j, "memory", memory_figures(&s));
	if (group_read_fibres(g, &fibres))
		json_add_group(&j, "fibres", fibre_figures(&fibres));
	if (source->uthreads != NULL)
		json_add_group(&j, "threads", thread_figures(source->uthreads));
	if (source->store != NULL) {
		json_add_group(&j, "store", store_figures(source->store));
		if (store_spool(source->store) != NULL)
			json_add_group(&j, "spool",
				       spool_figures(source->store));
	}
	json_add_stages(&j, &s, group_counts_hardware(g));
	json_add_workers(&j, &s, g);
	json_close(&j);
}

void stats_print_threads(const struct uthreads *u, FILE *to)
{
	struct json j;

	json_begin(&j, to, JSON_COMPACT);
	json_open_object(&j, NULL);
	json_add_figures(&j, thread_figures(u));
	json_close(&j);
}

char *stats_json(struct stats_source *source)
{
	char *schedule = stats_schedule(source->config);
	struct text text;
	FILE *to = schedule != NULL ? text_open(&text) : NULL;

	if (to != NULL)
		print_json(source, schedule, to);
	free(schedule);
	return to != NULL ? text_close(&text, to) : NULL;
}

/*
 * Tables with a row for each stage or worker.  Columns are as wide as their
 * headings; stages have several tables, one for each group of figures.
 */
enum { NAME_WIDTH = 15, NUMBER_WIDTH = 9 };

/* Whole numbers are printed without a decimal point. */
static int table_decimals(double value)
{
	return value == floor(value) ? 0 : 3;
}

static void table_print_headings(FILE *to, const char *what, struct figures f)
{
	(void)fprintf(to, "%-*s", NAME_WIDTH, what);
	for (uint32_t i = 0; i < f.count; i++)
		(void)fprintf(to, " %*s", NUMBER_WIDTH, f.list[i].name);
	(void)fputc('\n', to);
}

static void table_print_row(FILE *to, const char *name, struct figures f)
{
	(void)fprintf(to, "%-*s", NAME_WIDTH, name);
	for (uint32_t i = 0; i < f.count; i++) {
		int width = (int)strlen(f.list[i].name);

		(void)fprintf(to, " %*.*f",
			      width > NUMBER_WIDTH ? width : NUMBER_WIDTH,
			      table_decimals(f.list[i].value), f.list[i].value);
	}
	(void)fputc('\n', to);
}

static void table_print_one(FILE *to, const char *what, struct figures f)
{
	table_print_headings(to, what, f);
	table_print_row(to, "", f);
}

static void table_print_stages(FILE *to, const struct stats *s,
			       stage_figures_fn *of)
{
	table_print_headings(to, "stage", of(&s->pipeline.stages[0]));
	for (uint32_t i = 0; i < s->pipeline.stage_count; i++)
		table_print_row(to, s->pipeline.stage_names[i],
				of(&s->pipeline.stages[i]));
}

static void table_print_rates(FILE *to, const struct stats *s)
{
	table_print_headings(to, "stage", rate_figures(&s->recent[0]));
	for (uint32_t i = 0; i < s->pipeline.stage_count; i++)
		table_print_row(to, s->pipeline.stage_names[i],
				rate_figures(&s->recent[i]));
}

/*
 * Print one group of figures; if `of` is NULL, the figures that only workers
 * have.
 */
static void table_print_workers(FILE *to, const struct stats *s,
				const struct group *g, stage_figures_fn *of)
{
	for (uint32_t i = 0; i < group_worker_count(g); i++) {
		struct worker_stats worker;

		group_read_worker(g, i, &worker);
		struct figures f = of != NULL ? of(&worker.work) :
						worker_figures(s, &worker);

		if (i == 0)
			table_print_headings(to, "worker", f);
		table_print_row(to, worker.name, f);
	}
}

void stats_print(struct stats_source *source, FILE *to)
{
	const struct group *g = pipeline_group(source->pipeline);
	struct fibre_stats fibres;
	struct stats s;

	read_stats(source, &s);
	(void)fprintf(to, "darkroom " DARKROOM_VERSION ": ");
	pipeline_print_schedule(source->config, to);
	(void)fputc('\n', to);
	table_print_one(to, "process", process_figures(&s));
	table_print_one(to, "uploads", upload_figures(&s));
	table_print_one(to, "buffers", buffer_figures(&s));
	table_print_one(to, "memory", memory_figures(&s));
	if (group_read_fibres(g, &fibres))
		table_print_one(to, "fibres", fibre_figures(&fibres));
	if (source->uthreads != NULL)
		table_print_one(to, "threads",
				thread_figures(source->uthreads));
	if (source->store != NULL) {
		table_print_one(to, "store", store_figures(source->store));
		if (store_spool(source->store) != NULL)
			table_print_one(to, "spool",
					spool_figures(source->store));
	}
	for (stage_figures_fn *const *of = figures_of_stage; *of != NULL; of++)
		table_print_stages(to, &s, *of);
	table_print_rates(to, &s);
	if (group_counts_hardware(g))
		table_print_stages(to, &s, hardware_figures);
	else
		(void)fprintf(to, "hardware counters: not available\n");
	table_print_workers(to, &s, g, NULL);
	for (stage_figures_fn *const *of = figures_of_work; *of != NULL; of++)
		table_print_workers(to, &s, g, *of);
}
