/* SPDX-License-Identifier: MIT */
/*
 * Means are taken over the visits of a node, or over the passages of an edge,
 * since the start ("mean"), or weighted exponentially, the newest most
 * ("recent"): the policy decides by these.
 */
#include "service/report/report.h"

#include "stages/threads/blocking_graph.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "base/util.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 32 };

/* What a thread takes between two blocking points, or gives back (< 0). */
static const char *const taken_names[RESOURCES] = {
	[RESOURCE_MEMORY] = "memory_bytes",
	[RESOURCE_FILES] = "files",
	[RESOURCE_STACKS] = "stacks",
};

static void json_add_means(struct json *j, const char *name, double mean,
			   double recent)
{
	char full[NAME_BYTES];

	(void)snprintf(full, sizeof(full), "%s_mean", name);
	json_add_number(j, full, mean);
	(void)snprintf(full, sizeof(full), "%s_recent", name);
	json_add_number(j, full, recent);
}

/* What one visit of a node, or one passage of an edge, uses. */
static void json_add_use(struct json *j, uint64_t count, uint64_t cpu_ns_total,
			 double cpu_ns_recent,
			 const int64_t taken_total[RESOURCES],
			 const double taken_recent[RESOURCES])
{
	double n = count > 0 ? (double)count : 1;

	json_add_means(j, "cpu_us", (double)cpu_ns_total / n / 1e3,
		       cpu_ns_recent / 1e3);
	for (int i = 0; i < RESOURCES; i++)
		json_add_means(j, taken_names[i], (double)taken_total[i] / n,
			       taken_recent[i]);
}

static void json_add_place(struct json *j, const char *name, uint32_t place)
{
	if (place == PLACE_NONE)
		json_add_null(j, name);
	else
		json_add_whole(j, name, place);
}

/* The compiler may have been given an absolute path. */
static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static void json_add_node(struct json *j, uint32_t place,
			  const struct blocking_node *node)
{
	json_open_object(j, NULL);
	json_add_whole(j, "id", place);
	json_add_text(j, "function", node->site->function);
	json_add_text(j, "file", file_name(node->site->file));
	json_add_whole(j, "line", node->site->line);
	json_add_place(j, "previous", node->previous);
	json_add_whole(j, "ready", node->ready);
	json_add_whole(j, "waiting", node->waiting);
	json_add_number(j, "tickets", node->tickets);
	json_add_whole(j, "visits", node->visits);
	json_add_use(j, node->visits, node->cpu_ns_total, node->cpu_ns_recent,
		     node->taken_total, node->taken_recent);
	json_close(j);
}

static void json_add_edge(struct json *j, const struct blocking_edge *edge)
{
	json_open_object(j, NULL);
	json_add_place(j, "from", edge->from);
	json_add_place(j, "to", edge->to);
	json_add_whole(j, "count", edge->count);
	json_add_whole(j, "begun", edge->begun_count);
	json_add_use(j, edge->count, edge->cpu_ns_total, edge->cpu_ns_recent,
		     edge->taken_total, edge->taken_recent);
	json_close(j);
}

/* An amount of 0 is not known. */
static void json_add_amount(struct json *j, const char *name, uint64_t amount)
{
	if (amount == 0)
		json_add_null(j, name);
	else
		json_add_whole(j, name, amount);
}

static void json_add_resource(struct json *j, const struct resource_state *r)
{
	json_open_object(j, NULL);
	json_add_text(j, "name", r->name);
	json_add_whole(j, "used", r->used);
	json_add_amount(j, "limit", r->limit);
	json_add_amount(j, "capacity", r->capacity);
	json_close(j);
}

static void print_graph(FILE *to, const struct blocking_graph_copy *graph)
{
	struct json j;

	json_begin(&j, to, JSON_COMPACT);
	json_open_object(&j, NULL);
	json_add_whole(&j, "at_us", clock_now_ns() / 1000);
	json_open_array(&j, "nodes");
	for (uint32_t i = 0; i < graph->node_count; i++)
		json_add_node(&j, i, &graph->nodes[i]);
	json_close(&j);
	json_open_array(&j, "edges");
	for (uint32_t i = 0; i < graph->edge_count; i++)
		json_add_edge(&j, &graph->edges[i]);
	json_close(&j);
	json_open_array(&j, "resources");
	for (uint32_t i = 0; i < graph->resource_count; i++)
		json_add_resource(&j, &graph->resources[i]);
	json_close(&j);
	json_add_whole(&j, "folded", graph->folded_count);
	json_close(&j);
}

char *blocking_json(const struct pipeline *p)
{
	struct blocking_graph_copy *graph = calloc(1, sizeof(*graph));
	struct text text;
	FILE *to = graph != NULL ? text_open(&text) : NULL;

	if (to != NULL) {
		bool is_there = group_read_blocking(pipeline_group(p), graph);

		assert(is_there);
		(void)is_there;
		print_graph(to, graph);
	}
	free(graph);
	return to != NULL ? text_close(&text, to) : NULL;
}
