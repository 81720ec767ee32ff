/* SPDX-License-Identifier: MIT */
/*
 * Reads all counts once, and writes the figures of figures.def as JSON or as
 * tables.
 */
#include "service/report/figures.h"

#include "imgops/imgops.h"
#include "stages/stage.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

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

static void process_read(struct stats_source *source, struct process_stats *out)
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
	(void)pthread_mutex_lock(&source->lock);
	process_read_memory(source->status_fd, out);
	if (source->files != NULL)
		out->file_count = count_files(source->files);
	(void)pthread_mutex_unlock(&source->lock);
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

static void read_recent(struct stats_source *source, struct counts *out)
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

void stats_read(struct stats_source *source, const struct http_report *http,
		struct counts *out)
{
	const struct stage_group *g = pipeline_group(source->pipeline);

	*out = (struct counts){
		.always = true,
		.has_threads = source->uthreads != NULL,
		.has_store = source->store != NULL,
		.has_inbox = source->inbox != NULL,
		.has_packer = source->packer != NULL,
		.has_hooks = source->hooks != NULL,
		.has_decoder = source->config->decoders != NULL,
		.has_hardware = group_counts_hardware(g),
		.uploads_max = source->config->uploads_max,
	};
	if (http != NULL)
		out->http = *http;
	pipeline_read(source->pipeline, &out->pipeline);
	process_read(source, &out->process);
	out->uptime_ns = clock_now_ns() - source->start_ns;
	out->has_fibres = group_read_fibres(g, &out->fibres);
	if (out->has_threads)
		uthreads_read(source->uthreads, &out->threads);
	if (out->has_decoder)
		decoders_read(source->config->decoders, &out->decoder);
	if (out->has_store)
		store_stats(source->store, &out->store);
	if (out->has_inbox)
		inbox_read_stats(source->inbox, &out->inbox);
	if (out->has_packer)
		packer_read(source->packer, &out->packer);
	if (out->has_hooks)
		hooks_read_stats(source->hooks, &out->hooks);
	out->is_remote = out->has_store && out->store.remote.is_remote;
	out->has_disk = out->has_store && !out->is_remote;
	out->has_quota = out->has_disk && out->store.quota_bytes > 0;
	out->has_originals =
		out->has_store && store_keeps_originals(source->store);
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

/* Of the groups whose object is "", /stats has only PROCESS. */
#define HAS_NAME(name) _Generic((name), void * : 0, default : 1)
#define FIGURE(group, is, member, name, ...)                                   \
	_Static_assert(!HAS_NAME(name) ||                                      \
			       ((group) != BUILD && (group) != HTTP),          \
		       "/stats does not have " #member);
#include "service/report/figures.def"
#include "stages/tally.h"

/* Does an object of /stats begin with this group of the server? */
static bool begins_object(enum figure_group g)
{
	const char *object = figures_object(g);

	return object[0] != '\0' && strcmp(object, figures_object(g - 1)) != 0;
}

/* The figures of these groups, the last included. */
static void json_add_groups(struct json *j, enum figure_group g,
			    enum figure_group last, const void *from)
{
	for (; g <= last; g++)
		figures_add(j, g, 0, from);
}

static void json_add_stages(struct json *j, const struct counts *c)
{
	json_open_array(j, "stages");
	for (uint32_t i = 0; i < c->pipeline.stage_count; i++) {
		const struct stage_stats *s = &c->pipeline.stages[i];

		json_open_object(j, NULL);
		json_add_text(j, "name", c->pipeline.stage_names[i]);
		json_add_groups(j, EVENTS, TOTALS, s);
		figures_add(j, RATES, 0, &c->recent[i]);
		if (c->has_hardware) {
			json_open_object(j, "hardware");
			figures_add(j, HARDWARE, 0, s);
			json_close(j);
		} else {
			json_add_text(j, "hardware", "not available");
		}
		json_close(j);
	}
	json_close(j);
}

static void json_add_workers(struct json *j, const struct counts *c,
			     const struct stage_group *g)
{
	struct worker_counts w = { .uptime_ns = c->uptime_ns };

	json_open_array(j, "workers");
	for (uint32_t i = 0; i < group_worker_count(g); i++) {
		group_read_worker(g, i, &w.worker);
		json_open_object(j, NULL);
		json_add_text(j, "name", w.worker.name);
		json_add_groups(j, WORKERS, BUSY, &w);
		json_add_groups(j, VISITS, TOTALS, &w.worker.work);
		json_close(j);
	}
	json_close(j);
}

/* Those that are read. */
static void json_add_formats(struct json *j, const struct decoders *decoders)
{
	json_open_array(j, "formats");
	for (size_t i = 0; i < IMG_FORMATS; i++)
		if (decoders_take(decoders, img_formats[i]))
			json_add_text(j, NULL, img_formats[i]->word);
	json_close(j);
}

static void print_json(struct stats_source *source, const char *schedule,
		       FILE *to)
{
	const struct pipeline_config *config = source->config;
	struct counts c;
	struct json j;

	stats_read(source, NULL, &c);
	read_recent(source, &c);
	json_begin(&j, to, JSON_COMPACT);
	json_open_object(&j, NULL);
	json_add_text(&j, "version", DARKROOM_VERSION);
	json_add_formats(&j, source->config->decoders);
	json_add_text(&j, "policy", config->schedule.policy->name);
	json_add_text(&j, "schedule", schedule);
	json_add_whole(&j, "parts", config->schedule.part_count);
	json_add_cores(&j, config->cores);
	json_add_whole(&j, "io_threads", source->io_threads);
	json_add_sandbox(&j, source->sandbox);
	figures_add(&j, PROCESS, 0, &c);
	for (enum figure_group g = PROCESS + 1; g < GROUPS_OF_SERVER; g++)
		if (begins_object(g))
			figures_add_object(&j, figures_object(g), 0, &c);
	json_add_stages(&j, &c);
	json_add_workers(&j, &c, pipeline_group(source->pipeline));
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
 * headings; stages have several tables, each for some groups of figures.
 */
enum { NAME_WIDTH = 15, NUMBER_WIDTH = 9 };

/* The columns of a table: the figures of these groups, the last included. */
struct columns {
	enum figure_group first, last;
};

/* Whole numbers are printed without a decimal point. */
static int table_decimals(double value)
{
	return value == floor(value) ? 0 : 3;
}

/* A value of `from`, or the heading if it is NULL. */
static void table_print_cell(FILE *to, const struct figure *f, const void *from)
{
	int width = (int)strlen(f->name);

	if (width < NUMBER_WIDTH)
		width = NUMBER_WIDTH;
	if (from == NULL) {
		(void)fprintf(to, " %*s", width, f->name);
	} else {
		double value = figure_number(f, from);

		(void)fprintf(to, " %*.*f", width, table_decimals(value),
			      value);
	}
}

/* A row with the values of `from`, or the headings if it is NULL. */
static void table_print(FILE *to, const char *name, struct columns columns,
			const struct counts *c, const void *from)
{
	(void)fprintf(to, "%-*s", NAME_WIDTH, name);
	for (enum figure_group g = columns.first; g <= columns.last; g++)
		for (const struct figure *f = figures_of(g); f != NULL;
		     f = figure_next(f))
			if (f->name != NULL && figures_are_used(g, c))
				table_print_cell(to, f, from);
	(void)fputc('\n', to);
}

/* Print a table for each object of /stats, and one for the process. */
static void table_print_server(FILE *to, const struct counts *c)
{
	struct columns columns = { PROCESS, PROCESS };

	table_print(to, "process", columns, c, NULL);
	table_print(to, "", columns, c, c);
	for (enum figure_group g = PROCESS + 1; g < GROUPS_OF_SERVER; g++) {
		if (!begins_object(g) || !figures_are_used(g, c))
			continue;
		columns = (struct columns){ g, g };
		while (strcmp(figures_object(columns.last + 1),
			      figures_object(g)) == 0)
			columns.last++;
		table_print(to, figures_object(g), columns, c, NULL);
		table_print(to, "", columns, c, c);
	}
}

static void table_print_stages(FILE *to, const struct counts *c,
			       struct columns columns)
{
	table_print(to, "stage", columns, c, NULL);
	for (uint32_t i = 0; i < c->pipeline.stage_count; i++)
		table_print(to, c->pipeline.stage_names[i], columns, c,
			    columns.first == RATES ?
				    (const void *)&c->recent[i] :
				    &c->pipeline.stages[i]);
}

static void table_print_workers(FILE *to, const struct counts *c,
				const struct stage_group *g,
				struct columns columns)
{
	struct worker_counts w = { .uptime_ns = c->uptime_ns };

	for (uint32_t i = 0; i < group_worker_count(g); i++) {
		group_read_worker(g, i, &w.worker);
		if (i == 0)
			table_print(to, "worker", columns, c, NULL);
		table_print(to, w.worker.name, columns, c,
			    columns.first == WORKERS ? (const void *)&w :
						       &w.worker.work);
	}
}

void stats_print(struct stats_source *source, FILE *to)
{
	static const struct columns of_stages[] = {
		{ EVENTS, QUEUES },     { VISITS, VISITS }, { WAITS, WAITS },
		{ SERVICES, SERVICES }, { TOTALS, TOTALS }, { RATES, RATES }
	};
	static const struct columns of_workers[] = { { WORKERS, BUSY },
						     { VISITS, VISITS },
						     { WAITS, WAITS },
						     { SERVICES, SERVICES },
						     { TOTALS, TOTALS } };
	struct counts c;

	stats_read(source, NULL, &c);
	read_recent(source, &c);
	(void)fprintf(to, "darkroom " DARKROOM_VERSION ": ");
	pipeline_print_schedule(source->config, to);
	(void)fputc('\n', to);
	table_print_server(to, &c);
	for (size_t i = 0; i < ARRAY_SIZE(of_stages); i++)
		table_print_stages(to, &c, of_stages[i]);
	if (c.has_hardware)
		table_print_stages(to, &c,
				   (struct columns){ HARDWARE, HARDWARE });
	else
		(void)fprintf(to, "hardware counters: not available\n");
	for (size_t i = 0; i < ARRAY_SIZE(of_workers); i++)
		table_print_workers(to, &c, pipeline_group(source->pipeline),
				    of_workers[i]);
}
