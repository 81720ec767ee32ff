/* SPDX-License-Identifier: MIT */
/*
 * Prometheus' text format 0.0.4: for each metric a head (HELP and TYPE), then
 * one sample for each set of labels.  All samples of a name must be together.
 *
 * Most metrics are counters that the program keeps anyway; each is one row of a
 * table.  The name of a metric gives its type and unit, by the conventions of
 * Prometheus: "..._total" is a counter, any other name a gauge or histogram;
 * "..._seconds..." is a time, which the program keeps in nanoseconds.  Labels
 * are texts in the format's own form, such as stage="decode"; "" means no
 * label.
 */
#include "service/report/metrics.h"

#include "service/http/http_config.h"
#include "service/store/store.h"

#include "stages/flags.h"

#include "base/clock.h"
#include "base/histogram.h"
#include "base/text.h"
#include "base/util.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABELS_BYTES = 128 };

struct metric {
	const char *name;
	const char *help; /* a sentence without backslash or line feed */
};

/* A metric, and where its value (uint32_t or uint64_t) is in a struct. */
struct metric_field {
	struct metric metric;
	size_t offset, bytes;
};

#define METRIC_FIELD(type, member)                                             \
	offsetof(type, member), sizeof(((type *)0)->member)

/* The first and the last bucket of a histogram end at 2^bits - 1. */
struct buckets {
	uint32_t first_bits, last_bits;
};
static const struct buckets time_buckets = { 17, 36 };
static const struct buckets count_buckets = { 1, 10 };

static bool is_time(const struct metric *m)
{
	return strstr(m->name, "_seconds") != NULL;
}

static bool is_counter(const struct metric *m)
{
	size_t length = strlen(m->name), end = strlen("_total");

	return length > end && strcmp(m->name + length - end, "_total") == 0;
}

static void print_head(FILE *to, const struct metric *m, const char *type)
{
	(void)fprintf(to, "# HELP %s %s\n# TYPE %s %s\n", m->name, m->help,
		      m->name, type);
}

static void metric_head(FILE *to, const struct metric *m)
{
	print_head(to, m, is_counter(m) ? "counter" : "gauge");
}

/*
 * Print a value; if `in_seconds` is true, it is in nanoseconds and printed in
 * seconds.
 */
static void print_value(FILE *to, bool in_seconds, uint64_t value)
{
	if (in_seconds)
		(void)fprintf(to, "%" PRIu64 ".%09" PRIu64, value / NS_PER_S,
			      value % NS_PER_S);
	else
		(void)fprintf(to, "%" PRIu64, value);
}

/* One line of a sample; `suffix` is appended to the metric's name. */
static void print_line(FILE *to, const struct metric *m, const char *suffix,
		       const char *labels, bool in_seconds, uint64_t value)
{
	(void)fprintf(to, labels[0] != '\0' ? "%s%s{%s} " : "%s%s%s ", m->name,
		      suffix, labels);
	print_value(to, in_seconds, value);
	(void)fputc('\n', to);
}

static void metric_sample(FILE *to, const struct metric *m, const char *labels,
			  uint64_t value)
{
	print_line(to, m, "", labels, is_time(m), value);
}

static uint64_t metric_value(const struct metric_field *f, const void *from)
{
	const char *at = (const char *)from + f->offset;
	uint32_t small;
	uint64_t large;

	if (f->bytes == sizeof(small)) {
		memcpy(&small, at, sizeof(small));
		return small;
	}
	memcpy(&large, at, sizeof(large));
	return large;
}

/* Head and sample of a metric without labels. */
static void metric_single(FILE *to, const char *name, const char *help,
			  uint64_t value)
{
	const struct metric m = { name, help };

	metric_head(to, &m);
	metric_sample(to, &m, "", value);
}

static void metric_singles(FILE *to, const struct metric_field *fields,
			   size_t count, const void *from)
{
	for (size_t i = 0; i < count; i++)
		metric_single(to, fields[i].metric.name, fields[i].metric.help,
			      metric_value(&fields[i], from));
}

static void histogram_head(FILE *to, const struct metric *m)
{
	print_head(to, m, "histogram");
}

/*
 * A sample of a histogram.  Its buckets end at 2^k - 1 (1, 3 ... 1023; or 131
 * us ... 69 s).  Buckets of `h` end there too, so all counts are exact.
 */
static void histogram_sample(FILE *to, const struct metric *m,
			     const char *labels, const struct histogram_copy *h,
			     uint64_t sum)
{
	const char *comma = labels[0] != '\0' ? "," : "";
	const struct buckets *b = is_time(m) ? &time_buckets : &count_buckets;

	for (uint32_t bits = b->first_bits; bits <= b->last_bits; bits++) {
		(void)fprintf(to, "%s_bucket{%s%sle=\"", m->name, labels,
			      comma);
		print_value(to, is_time(m), (UINT64_C(1) << bits) - 1);
		(void)fprintf(to, "\"} %" PRIu64 "\n",
			      histogram_count_to(h, bits));
	}
	(void)fprintf(to, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", m->name,
		      labels, comma, h->count);
	print_line(to, m, "_sum", labels, is_time(m), sum);
	print_line(to, m, "_count", labels, false, h->count);
}

static void print_replies(FILE *to, const struct http_counts *c)
{
	static const struct metric metric = {
		"darkroom_http_replies_total",
		"Replies, by kind of path and by status."
	};
	char labels[LABELS_BYTES];

	metric_head(to, &metric);
	for (int role = 0; role < ROLES; role++)
		for (int status = 0; status < STATUSES; status++) {
			uint64_t n = atomic_load(&c->replies[role][status]);

			if (n == 0)
				continue;
			(void)snprintf(labels, sizeof(labels),
				       "role=\"%s\",status=\"%d\"",
				       role_names[role], status);
			metric_sample(to, &metric, labels, n);
		}
}

/* Print every code, also those that have not occurred. */
static void print_problems(FILE *to, const struct http_counts *c)
{
	static const struct metric metric = {
		"darkroom_http_problems_total",
		"Replies with a problem, by its code."
	};
	char labels[LABELS_BYTES];

	metric_head(to, &metric);
	for (int i = PROBLEM_NONE + 1; i < PROBLEMS; i++) {
		(void)snprintf(labels, sizeof(labels),
			       "code=\"%s\",status=\"%u\"", problem_code(i),
			       problem_status(i));
		metric_sample(to, &metric, labels,
			      atomic_load(&c->problems[i]));
	}
}

static void print_refusals(FILE *to, const struct http_counts *c)
{
	static const struct metric metric = {
		"darkroom_uploads_refused_total",
		"Uploads refused because the server was full or stopping."
	};
	char label[LABELS_BYTES];

	metric_head(to, &metric);
	for (int i = PROBLEM_NONE + 1; i < PROBLEMS; i++) {
		if (!problem_is_refusal(i))
			continue;
		(void)snprintf(label, sizeof(label), "reason=\"%s\"",
			       problem_code(i));
		metric_sample(to, &metric, label, atomic_load(&c->refusals[i]));
	}
}

static void print_bytes(FILE *to, const struct metric *m,
			const _Atomic uint64_t *of_roles)
{
	char labels[LABELS_BYTES];

	metric_head(to, m);
	for (int role = 0; role < ROLES; role++) {
		(void)snprintf(labels, sizeof(labels), "role=\"%s\"",
			       role_names[role]);
		metric_sample(to, m, labels, atomic_load(&of_roles[role]));
	}
}

static void print_connections(FILE *to, const struct http_report *http)
{
	static const struct metric metric = { "darkroom_http_connections",
					      "Open connections, by port." };

	metric_head(to, &metric);
	metric_sample(to, &metric, "port=\"main\"", http->connection_count);
	metric_sample(to, &metric, "port=\"admin\"",
		      http->admin_connection_count);
	metric_single(to, "darkroom_http_connections_limit",
		      "Highest number of open connections of the main port.",
		      http->connections_max);
	metric_single(to, "darkroom_http_viewers",
		      "Clients that read /v1/live.", http->viewer_count);
	metric_single(to, "darkroom_http_connections_refused_total",
		      "Connections closed at once, because their address had "
		      "the most that it may have.",
		      http->refused_count);
	metric_single(to, "darkroom_http_connections_evicted_total",
		      "Connections closed to make room for new ones.",
		      http->evicted_count);
	metric_single(to, "darkroom_http_held_total",
		      "Requests other than uploads and images that had to "
		      "wait, because there were too many of them.",
		      http->held_count);
}

static void print_http(FILE *to, const struct http_report *http)
{
	static const struct metric received = {
		"darkroom_http_received_bytes_total",
		"Bytes of the bodies of requests."
	};
	static const struct metric sent = { "darkroom_http_sent_bytes_total",
					    "Bytes of the bodies of replies." };

	metric_single(to, "darkroom_ready",
		      "1: ready; 0: more uploads should go to other servers.",
		      http->is_ready);
	metric_single(to, "darkroom_weight_percent",
		      "Part of the uploads that a balancer should send here, "
		      "compared with an empty server.",
		      http->weight_percent);
	print_connections(to, http);
	print_replies(to, http->counts);
	print_problems(to, http->counts);
	print_refusals(to, http->counts);
	print_bytes(to, &received, http->counts->received_bytes);
	print_bytes(to, &sent, http->counts->sent_bytes);
}

static const struct metric_field stage_fields[] = {
	{ { "darkroom_stage_queued", "Events waiting now." },
	  METRIC_FIELD(struct stage_stats, queued_count) },
	{ { "darkroom_stage_threads",
	    "Threads of the stage's pools that are in use; 0: no pools." },
	  METRIC_FIELD(struct stage_stats, pool_threads) },
	{ { "darkroom_stage_arrived_total",
	    "Events put into the stage's queues." },
	  METRIC_FIELD(struct stage_stats, arrived_count) },
	{ { "darkroom_stage_started_total",
	    "Events taken out of the stage's queues." },
	  METRIC_FIELD(struct stage_stats, started_count) },
	{ { "darkroom_stage_paused_total",
	    "Times that an event of the stage was paused." },
	  METRIC_FIELD(struct stage_stats, paused_count) },
	{ { "darkroom_stage_handled_total", "Events whose handler has ended." },
	  METRIC_FIELD(struct stage_stats, handled_count) },
	{ { "darkroom_stage_refused_total", "Events refused by a full queue." },
	  METRIC_FIELD(struct stage_stats, refused_count) },
	{ { "darkroom_stage_visits_total",
	    "Visits: turns of a worker at the stage." },
	  METRIC_FIELD(struct stage_stats, visit_count) },
	{ { "darkroom_stage_visits_empty_total",
	    "Visits that handled no event." },
	  METRIC_FIELD(struct stage_stats, visit_empty_count) },
	{ { "darkroom_stage_switches_total",
	    "Visits directly after one to another stage." },
	  METRIC_FIELD(struct stage_stats, switch_count) },
	{ { "darkroom_stage_switch_seconds_total",
	    "Time between two visits to different stages." },
	  METRIC_FIELD(struct stage_stats, switch_ns) },
};

static uint64_t wait_sum(const struct stage_stats *s)
{
	return s->wait_ns;
}

static uint64_t service_sum(const struct stage_stats *s)
{
	return s->service_ns;
}

static uint64_t total_sum(const struct stage_stats *s)
{
	return s->wait_ns + s->service_ns;
}

/* Without workers, no event is handled in a visit. */
static uint64_t cohort_sum(const struct stage_stats *s)
{
	return s->visit_count > 0 ? stage_turn_count(s) : 0;
}

static const struct {
	struct metric metric;
	size_t offset;
	uint64_t (*sum)(const struct stage_stats *s);
} stage_histograms[] = {
	{ { "darkroom_stage_wait_seconds", "Time of events in the queue." },
	  offsetof(struct stage_stats, waits),
	  wait_sum },
	{ { "darkroom_stage_service_seconds",
	    "Time of events in the handler." },
	  offsetof(struct stage_stats, services),
	  service_sum },
	{ { "darkroom_stage_total_seconds",
	    "Time of events in queue and handler together." },
	  offsetof(struct stage_stats, totals),
	  total_sum },
	{ { "darkroom_stage_cohort_events",
	    "Events in a visit, of visits that handled some." },
	  offsetof(struct stage_stats, cohorts),
	  cohort_sum },
};

static const struct metric_field worker_fields[] = {
	{ { "darkroom_worker_busy_seconds_total", "Time in handlers." },
	  METRIC_FIELD(struct worker_stats, work.service_ns) },
	{ { "darkroom_worker_idle_seconds_total",
	    "Time asleep, because there were no events." },
	  METRIC_FIELD(struct worker_stats, asleep_ns) },
	{ { "darkroom_worker_handled_total",
	    "Events handled, for all stages." },
	  METRIC_FIELD(struct worker_stats, work.handled_count) },
	{ { "darkroom_worker_visits_total", "Visits: turns at a stage." },
	  METRIC_FIELD(struct worker_stats, work.visit_count) },
	{ { "darkroom_worker_visits_empty_total",
	    "Visits that handled no event." },
	  METRIC_FIELD(struct worker_stats, work.visit_empty_count) },
	{ { "darkroom_worker_sleeps_total",
	    "Times that the worker found no work and slept." },
	  METRIC_FIELD(struct worker_stats, sleep_count) },
	{ { "darkroom_worker_stolen_total",
	    "Events taken from other replicas." },
	  METRIC_FIELD(struct worker_stats, stolen_count) },
};

/* stage="decode" */
static void print_stage_label(char to[LABELS_BYTES], const char *stage)
{
	(void)snprintf(to, LABELS_BYTES, "stage=\"%s\"", stage);
}

static void print_counts(FILE *to, const struct pipeline_stats *p)
{
	char label[LABELS_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(stage_fields); i++) {
		metric_head(to, &stage_fields[i].metric);
		for (uint32_t s = 0; s < p->stage_count; s++) {
			print_stage_label(label, p->stage_names[s]);
			metric_sample(
				to, &stage_fields[i].metric, label,
				metric_value(&stage_fields[i], &p->stages[s]));
		}
	}
}

static void print_histograms(FILE *to, const struct pipeline_stats *p)
{
	char label[LABELS_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(stage_histograms); i++) {
		const struct metric *m = &stage_histograms[i].metric;

		histogram_head(to, m);
		for (uint32_t s = 0; s < p->stage_count; s++) {
			const struct stage_stats *t = &p->stages[s];
			const void *h =
				(const char *)t + stage_histograms[i].offset;

			print_stage_label(label, p->stage_names[s]);
			histogram_sample(to, m, label, h,
					 stage_histograms[i].sum(t));
		}
	}
}

static bool print_workers(FILE *to, const struct group *g)
{
	uint32_t count = group_worker_count(g);
	struct worker_stats *workers = calloc(count, sizeof(*workers));
	char label[LABELS_BYTES];

	if (workers == NULL)
		return count == 0;
	for (uint32_t w = 0; w < count; w++)
		group_read_worker(g, w, &workers[w]);
	for (size_t i = 0; count > 0 && i < ARRAY_SIZE(worker_fields); i++) {
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

static const struct metric_field pipeline_fields[] = {
	{ { "darkroom_uploads_sent_total", "Uploads accepted by the stages." },
	  METRIC_FIELD(struct pipeline_stats, sent_count) },
	{ { "darkroom_uploads_finished_total",
	    "Uploads that ended with a result." },
	  METRIC_FIELD(struct pipeline_stats, finished_count) },
	{ { "darkroom_uploads_failed_total",
	    "Uploads that ended without a result." },
	  METRIC_FIELD(struct pipeline_stats, failed_count) },
	{ { "darkroom_uploads_late_total",
	    "Uploads that failed because their deadline had passed." },
	  METRIC_FIELD(struct pipeline_stats, late_count) },
	{ { "darkroom_uploads_unreachable_total",
	    "Uploads that failed because, by estimate, they could not meet "
	    "their deadline." },
	  METRIC_FIELD(struct pipeline_stats, unreachable_count) },
	{ { "darkroom_uploads_gone_total",
	    "Uploads that failed because their client had disconnected." },
	  METRIC_FIELD(struct pipeline_stats, gone_count) },
	{ { "darkroom_uploads_cleared_bytes_total",
	    "Bytes of uploads, counted when the first result of each is "
	    "encoded." },
	  METRIC_FIELD(struct pipeline_stats, cleared_bytes) },
	{ { "darkroom_uploads_abandoned_total",
	    "Uploads not answered before --drain-timeout ended." },
	  METRIC_FIELD(struct pipeline_stats, abandoned_count) },
	{ { "darkroom_uploads_in_flight", "Uploads inside now." },
	  METRIC_FIELD(struct pipeline_stats, in_flight_count) },
	{ { "darkroom_uploads_left_seconds",
	    "Estimated CPU time of the steps that uploads inside still need." },
	  METRIC_FIELD(struct pipeline_stats, left_ns) },
	{ { "darkroom_memory_limit_bytes",
	    "Memory that all uploads together may be charged." },
	  METRIC_FIELD(struct pipeline_stats, memory.limit_bytes) },
	{ { "darkroom_memory_used_bytes",
	    "Memory that uploads are charged now." },
	  METRIC_FIELD(struct pipeline_stats, memory.used_bytes) },
	{ { "darkroom_memory_refused_total",
	    "Uploads refused because of the memory limit." },
	  METRIC_FIELD(struct pipeline_stats, memory.refused_count) },
	{ { "darkroom_memory_waiting", "Uploads that wait for memory now." },
	  METRIC_FIELD(struct pipeline_stats, memory.waiting_count) },
	{ { "darkroom_memory_waits_total", "Waits of uploads for memory." },
	  METRIC_FIELD(struct pipeline_stats, memory.wait_count) },
	{ { "darkroom_memory_wait_seconds_total",
	    "Time of these waits, of those that are over." },
	  METRIC_FIELD(struct pipeline_stats, memory.waited_ns) },
	{ { "darkroom_memory_broken_waits_total",
	    "Waits ended without memory, because only waiting uploads held "
	    "it." },
	  METRIC_FIELD(struct pipeline_stats, memory.broken_wait_count) },
	{ { "darkroom_buffers_live_bytes", "Memory of pictures in use." },
	  METRIC_FIELD(struct pipeline_stats, buffers.live_bytes) },
	{ { "darkroom_buffers_kept_bytes",
	    "Memory kept for the next pictures." },
	  METRIC_FIELD(struct pipeline_stats, buffers.kept_bytes) },
	{ { "darkroom_buffers_mapped_total",
	    "Blocks for pictures taken from the system." },
	  METRIC_FIELD(struct pipeline_stats, buffers.mapped_count) },
};

/* Printed only with a policy of user-level threads. */
static const struct metric_field fibre_fields[] = {
	{ { "darkroom_fibre_begun_total",
	    "User-level threads of uploads since the start." },
	  METRIC_FIELD(struct fibre_stats, begun_count) },
	{ { "darkroom_fibre_ready", "User-level threads that could run now." },
	  METRIC_FIELD(struct fibre_stats, ready_count) },
	{ { "darkroom_fibre_waiting",
	    "User-level threads that wait for something other than the CPU." },
	  METRIC_FIELD(struct fibre_stats, waiting_count) },
	{ { "darkroom_fibre_stacks", "Stacks of user-level threads in use." },
	  METRIC_FIELD(struct fibre_stats, stack_count) },
	{ { "darkroom_fibre_stacks_peak",
	    "Most stacks of user-level threads that were in use." },
	  METRIC_FIELD(struct fibre_stats, stack_count_max) },
	{ { "darkroom_fibre_switches_total",
	    "Times that a user-level thread was given the CPU." },
	  METRIC_FIELD(struct fibre_stats, switch_count) },
};

/* Printed only if connections have user-level threads. */
static const struct metric_field thread_fields[] = {
	{ { "darkroom_thread_begun_total",
	    "Threads of connections since the start." },
	  METRIC_FIELD(struct uthreads_counts, begun_count) },
	{ { "darkroom_thread_now", "Threads of connections." },
	  METRIC_FIELD(struct uthreads_counts, thread_count) },
	{ { "darkroom_thread_peak", "Most threads of connections at once." },
	  METRIC_FIELD(struct uthreads_counts, thread_count_max) },
	{ { "darkroom_thread_ready",
	    "Threads of connections that wait for a kernel thread." },
	  METRIC_FIELD(struct uthreads_counts, ready_count) },
	{ { "darkroom_thread_transferring",
	    "Threads of connections that wait for their clients." },
	  METRIC_FIELD(struct uthreads_counts, transferring_count) },
	{ { "darkroom_thread_waiting",
	    "Threads of connections that wait for something else." },
	  METRIC_FIELD(struct uthreads_counts, waiting_count) },
	{ { "darkroom_thread_kernel_threads",
	    "Kernel threads that run threads of connections." },
	  METRIC_FIELD(struct uthreads_counts, kernel_thread_count) },
	{ { "darkroom_thread_switches_total",
	    "Times that a kernel thread went on with such a thread." },
	  METRIC_FIELD(struct uthreads_counts, switch_count) },
	{ { "darkroom_thread_transfers_total",
	    "Bodies, heads and replies that were read or written." },
	  METRIC_FIELD(struct uthreads_counts, transfer_count) },
	{ { "darkroom_thread_steps_total",
	    "Steps of these transfers: times that a socket was ready." },
	  METRIC_FIELD(struct uthreads_counts, step_count) },
	{ { "darkroom_thread_preempted_total",
	    "Times that such a thread had run for its quantum." },
	  METRIC_FIELD(struct uthreads_counts, preempted_count) },
};

/* Printed only with a store in a folder. */
static const struct metric_field spool_fields[] = {
	{ { "darkroom_spool_uploads",
	    "Uploads in the spool, answered 202 and not stored yet." },
	  METRIC_FIELD(struct spool_stats, waiting_count) },
	{ { "darkroom_spool_written_total", "Uploads written to the spool." },
	  METRIC_FIELD(struct spool_stats, written_count) },
	{ { "darkroom_spool_finished_total",
	    "Uploads in the spool whose image was stored." },
	  METRIC_FIELD(struct spool_stats, finished_count) },
	{ { "darkroom_spool_recovered_total",
	    "Uploads in the spool stored after a restart or a failure." },
	  METRIC_FIELD(struct spool_stats, recovered_count) },
	{ { "darkroom_spool_failed_total",
	    "Uploads in the spool that cannot become an image." },
	  METRIC_FIELD(struct spool_stats, failed_count) },
	{ { "darkroom_spool_damaged_total",
	    "Uploads in the spool that were damaged on the disk." },
	  METRIC_FIELD(struct spool_stats, damaged_count) },
};

#define STORE_FIELD(member) METRIC_FIELD(struct store_stats, member)

/* Printed with a store of any kind. */
static const struct metric_field store_fields[] = {
	{ { "darkroom_store_writable",
	    "1: images can be stored; 0: the store cannot be written, is full "
	    "or does not answer." },
	  STORE_FIELD(is_writable) },
	{ { "darkroom_store_put_total", "Images stored." },
	  STORE_FIELD(put_count) },
	{ { "darkroom_store_same_total",
	    "Images not stored again, because the store had them." },
	  STORE_FIELD(same_count) },
	{ { "darkroom_store_deleted_total", "Images removed." },
	  STORE_FIELD(deleted_count) },
	{ { "darkroom_store_full_total",
	    "Images not stored, because the store was full." },
	  STORE_FIELD(full_count) },
	{ { "darkroom_store_failed_total",
	    "Images that could not be stored or removed for another reason." },
	  STORE_FIELD(failed_count) },
};

/* Printed only with a store in a folder. */
static const struct metric_field disk_fields[] = {
	{ { "darkroom_store_disk_bytes", "Size of the store's file system." },
	  STORE_FIELD(disk_bytes) },
	{ { "darkroom_store_disk_free_bytes",
	    "Free space of the store's file system." },
	  STORE_FIELD(disk_free_bytes) },
	{ { "darkroom_store_disk_files",
	    "Files that the store's file system can have; 0: any number." },
	  STORE_FIELD(disk_files) },
	{ { "darkroom_store_disk_free_files",
	    "Files that the store's file system can still have." },
	  STORE_FIELD(disk_free_files) },
};

/* Printed only with --store-quota, because otherwise nothing is counted. */
static const struct metric_field quota_fields[] = {
	{ { "darkroom_store_quota_bytes", "--store-quota." },
	  STORE_FIELD(quota_bytes) },
	{ { "darkroom_store_used_bytes",
	    "Disk space of images and of the spool." },
	  STORE_FIELD(used_bytes) },
};

/* Printed only with a store beyond the network. */
static const struct metric_field remote_fields[] = {
	{ { "darkroom_store_available",
	    "1: the store has answered the last request." },
	  STORE_FIELD(remote.is_available) },
	{ { "darkroom_store_unavailable_total",
	    "Calls that the store did not answer in time." },
	  STORE_FIELD(unavailable_count) },
	{ { "darkroom_store_helper_starts_total",
	    "Starts of the helper process." },
	  STORE_FIELD(remote.helper_starts) },
	{ { "darkroom_store_requests_total",
	    "Requests that the helper has sent to the store." },
	  STORE_FIELD(remote.sums.requests) },
	{ { "darkroom_store_retries_total",
	    "Of these, repetitions of a request." },
	  STORE_FIELD(remote.sums.retries) },
	{ { "darkroom_store_errors_total",
	    "Of these, without an answer or answered 5xx." },
	  STORE_FIELD(remote.sums.errors) },
	{ { "darkroom_store_sent_bytes_total", "Bytes of bodies sent." },
	  STORE_FIELD(remote.sums.sent_bytes) },
	{ { "darkroom_store_received_bytes_total",
	    "Bytes of bodies received." },
	  STORE_FIELD(remote.sums.received_bytes) },
	{ { "darkroom_store_put_seconds_total",
	    "Time of successful PUT requests." },
	  STORE_FIELD(remote.sums.put_ns) },
	{ { "darkroom_store_put_requests_total", "Successful PUT requests." },
	  STORE_FIELD(remote.sums.put_count) },
	{ { "darkroom_store_get_seconds_total",
	    "Time of successful GET requests." },
	  STORE_FIELD(remote.sums.get_ns) },
	{ { "darkroom_store_get_requests_total", "Successful GET requests." },
	  STORE_FIELD(remote.sums.get_count) },
	{ { "darkroom_store_cache_hits_total",
	    "Images found in --store-cache." },
	  STORE_FIELD(remote.sums.cache_hits) },
	{ { "darkroom_store_cache_misses_total",
	    "Images not found in --store-cache." },
	  STORE_FIELD(remote.sums.cache_misses) },
	{ { "darkroom_store_cache_evictions_total",
	    "Images removed from --store-cache for others." },
	  STORE_FIELD(remote.sums.cache_evictions) },
	{ { "darkroom_store_cache_failures_total",
	    "Images that could not be kept in --store-cache, because of an "
	    "error." },
	  STORE_FIELD(remote.sums.cache_failures) },
	{ { "darkroom_store_cache_bytes", "Disk space of --store-cache." },
	  STORE_FIELD(remote.sums.now.cache_bytes) },
	{ { "darkroom_store_cache_quota_bytes",
	    "--store-cache-quota; 0: no cache." },
	  STORE_FIELD(remote.sums.now.cache_quota_bytes) },
	{ { "darkroom_store_cache_disk_free_bytes",
	    "Free space of the file system of --store-cache." },
	  STORE_FIELD(remote.sums.now.cache_free_bytes) },
};

/* Prometheus' own client libraries use these names. */
static const struct metric_field process_fields[] = {
	{ { "process_start_time_seconds",
	    "Start time, in seconds since 1970." },
	  METRIC_FIELD(struct process_stats, started_unix_ns) },
	{ { "process_cpu_seconds_total", "CPU time, user and system." },
	  METRIC_FIELD(struct process_stats, cpu_ns) },
	{ { "process_resident_memory_bytes", "Resident memory." },
	  METRIC_FIELD(struct process_stats, resident_bytes) },
	{ { "process_virtual_memory_bytes", "Virtual memory." },
	  METRIC_FIELD(struct process_stats, virtual_bytes) },
	{ { "process_open_fds", "Open files." },
	  METRIC_FIELD(struct process_stats, file_count) },
	{ { "process_max_fds", "Highest number of open files." },
	  METRIC_FIELD(struct process_stats, file_count_max) },
};

/* {version="0.1.0",commit="1a2b3c4",policy="cohort",regime="gated" ... */
static void print_build(FILE *to, const char *commit, const struct schedule *s)
{
	struct schedule_word words[SCHEDULE_WORDS_MAX];
	uint32_t count =
		schedule_words(s, pipeline_step_names, PIPELINE_STEPS, words);

	metric_head(to, &(struct metric){ "darkroom_build_info",
					  "Version, commit of the sources and "
					  "schedule; always 1." });
	(void)fprintf(to,
		      "darkroom_build_info{version=\"" DARKROOM_VERSION
		      "\",commit=\"%s\"",
		      commit != NULL ? commit : "unknown");
	for (uint32_t i = 0; i < count; i++)
		(void)fprintf(to, ",%s=\"%s\"", words[i].flag,
			      words[i].value[0] != '\0' ? words[i].value :
							  "on");
	(void)fprintf(to, "} 1\n");
}

static void print_pixels(FILE *to, const struct pipeline_stats *p)
{
	static const struct metric metric = {
		"darkroom_pixels_total",
		"Pixels of uploaded pictures and of their results, of uploads "
		"that finished."
	};

	metric_head(to, &metric);
	metric_sample(to, &metric, "direction=\"in\"", p->pixels_in);
	metric_sample(to, &metric, "direction=\"out\"", p->pixels_out);
}

static void print_threads(FILE *to, const struct uthreads *u)
{
	struct uthreads_counts counts;

	if (u == NULL)
		return;
	uthreads_read(u, &counts);
	metric_singles(to, thread_fields, ARRAY_SIZE(thread_fields), &counts);
}

static void print_store(FILE *to, struct store *store)
{
	struct store_stats s;

	store_stats(store, &s);
	metric_singles(to, store_fields, ARRAY_SIZE(store_fields), &s);
	if (s.remote.is_remote) {
		metric_singles(to, remote_fields, ARRAY_SIZE(remote_fields),
			       &s);
		return;
	}
	metric_singles(to, disk_fields, ARRAY_SIZE(disk_fields), &s);
	if (s.quota_bytes > 0)
		metric_singles(to, quota_fields, ARRAY_SIZE(quota_fields), &s);
	metric_singles(to, spool_fields, ARRAY_SIZE(spool_fields), &s.spool);
}

/* False: no memory. */
static bool print_all(FILE *to, struct stats_source *source,
		      const struct http_report *http)
{
	static const struct metric inside = {
		"darkroom_upload_seconds",
		"Time from the first queue to the result, of uploads that "
		"finished."
	};
	struct pipeline_stats pipeline;
	struct process_stats process;
	struct fibre_stats fibres;

	pipeline_read(source->pipeline, &pipeline);
	stats_read_process(source, &process);

	print_build(to, source->commit, &source->config->schedule);
	print_http(to, http);
	metric_single(to, "darkroom_uploads_limit",
		      "Highest number of uploads inside.",
		      source->config->uploads_max);
	metric_singles(to, pipeline_fields, ARRAY_SIZE(pipeline_fields),
		       &pipeline);
	print_pixels(to, &pipeline);
	if (group_read_fibres(pipeline_group(source->pipeline), &fibres))
		metric_singles(to, fibre_fields, ARRAY_SIZE(fibre_fields),
			       &fibres);
	print_threads(to, source->uthreads);
	if (source->store != NULL)
		print_store(to, source->store);
	histogram_head(to, &inside);
	histogram_sample(to, &inside, "", &pipeline.inside, pipeline.inside_ns);
	print_counts(to, &pipeline);
	print_histograms(to, &pipeline);
	metric_singles(to, process_fields, ARRAY_SIZE(process_fields),
		       &process);
	return print_workers(to, pipeline_group(source->pipeline));
}

char *metrics_text(struct stats_source *source, const struct http_report *http)
{
	struct text text;
	FILE *to = text_open(&text);

	if (to == NULL)
		return NULL;

	bool is_whole = print_all(to, source, http);
	char *bytes = text_close(&text, to);

	if (is_whole)
		return bytes;
	free(bytes);
	return NULL;
}
