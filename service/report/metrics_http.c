/* SPDX-License-Identifier: MIT */
#include "service/report/metrics_parts.h"

#include "service/http/http_counts.h"

static void print_replies(FILE *to, const struct http_counts *c)
{
	static const struct metric metric = {
		"darkroom_http_replies_total", METRIC_COUNTER, METRIC_ONE,
		"Replies, by what the path is for and by status."
	};
	char labels[METRICS_LABELS_BYTES];

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

/* All of them, also those that have not been seen. */
static void print_problems(FILE *to, const struct http_counts *c)
{
	static const struct metric metric = {
		"darkroom_http_problems_total", METRIC_COUNTER, METRIC_ONE,
		"Replies that are problems, by their code."
	};
	char labels[METRICS_LABELS_BYTES];

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
		"darkroom_uploads_refused_total", METRIC_COUNTER, METRIC_ONE,
		"Uploads turned away for want of room, or stopping."
	};
	char label[METRICS_LABELS_BYTES];

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
	char labels[METRICS_LABELS_BYTES];

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
					      METRIC_GAUGE, METRIC_ONE,
					      "Open connections, by port." };
	static const struct metric limit = {
		"darkroom_http_connections_limit", METRIC_GAUGE, METRIC_ONE,
		"How many the main port may have."
	};
	static const struct metric viewers = { "darkroom_http_viewers",
					       METRIC_GAUGE, METRIC_ONE,
					       "Who reads /v1/live." };

	metric_head(to, &metric);
	metric_sample(to, &metric, "port=\"main\"", http->connection_count);
	metric_sample(to, &metric, "port=\"admin\"",
		      http->admin_connection_count);
	metric_single(to, &limit, http->connections_max);
	metric_single(to, &viewers, http->viewer_count);
}

void metrics_print_http(FILE *to, const struct http_report *http)
{
	static const struct metric ready = {
		"darkroom_ready", METRIC_GAUGE, METRIC_ONE,
		"1: /readyz says so; 0: more uploads should go elsewhere."
	};
	static const struct metric received = {
		"darkroom_http_received_bytes_total", METRIC_COUNTER,
		METRIC_ONE, "Bytes of requests' bodies."
	};
	static const struct metric sent = { "darkroom_http_sent_bytes_total",
					    METRIC_COUNTER, METRIC_ONE,
					    "Bytes of replies' bodies." };

	metric_single(to, &ready, http->is_ready);
	print_connections(to, http);
	print_replies(to, http->counts);
	print_problems(to, http->counts);
	print_refusals(to, http->counts);
	print_bytes(to, &received, http->counts->received_bytes);
	print_bytes(to, &sent, http->counts->sent_bytes);
}
