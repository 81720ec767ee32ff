/* SPDX-License-Identifier: MIT */
/*
 * Promise: the report of a blocking graph has every node, edge and resource,
 * and all that is known of it; a mean is the total divided by the number; what
 * is not known, or is no node, is null.
 *
 * The test has a graph of its own.
 */
#include "service/report/report.h"

#include "base/test/check.h"
#include "stages/threads/blocking_graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

static const struct blocking_site submit = { "/src/a/submit.c", "submit", 7 };
static const struct blocking_site step = { "step.c", "send_on", 31 };

static struct blocking_graph_copy graph;

bool __wrap_group_read_blocking(const struct stage_group *g,
				struct blocking_graph_copy *out);
struct stage_group *__wrap_pipeline_group(const struct pipeline *p);

bool __wrap_group_read_blocking(const struct stage_group *g,
				struct blocking_graph_copy *out)
{
	(void)g;
	*out = graph;
	return true;
}

struct stage_group *__wrap_pipeline_group(const struct pipeline *p)
{
	(void)p;
	return NULL;
}

static cJSON *report(void)
{
	char *text = blocking_json(NULL);
	cJSON *o = cJSON_Parse(text);

	CHECK(o != NULL);
	free(text);
	return o;
}

static const cJSON *get(const cJSON *o, const char *name)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(o, name);

	CHECK(value != NULL);
	return value;
}

static const cJSON *item(const cJSON *o, const char *list, int place)
{
	const cJSON *value = cJSON_GetArrayItem(get(o, list), place);

	CHECK(value != NULL);
	return value;
}

static void is(const cJSON *o, const char *name, double number)
{
	CHECK(cJSON_IsNumber(get(o, name)));
	CHECK_NUMBER(fabs(get(o, name)->valuedouble - number), <, 1e-9);
}

static void is_text(const cJSON *o, const char *name, const char *text)
{
	CHECK_TEXT(cJSON_GetStringValue(get(o, name)), text);
}

static void is_null(const cJSON *o, const char *name)
{
	CHECK(cJSON_IsNull(get(o, name)));
}

/* Two nodes; a thread begins at the first, and ends after the second. */
static void make_graph(void)
{
	graph = (struct blocking_graph_copy){
		.node_count = 2,
		.edge_count = 3,
		.resource_count = 2,
		.folded_count = 5,
		.nodes = { { .site = &submit,
			     .previous = PLACE_NONE,
			     .visits = 4,
			     .cpu_ns_total = 8000000,
			     .cpu_ns_recent = 1500,
			     .taken_total = { 4096, 8, -4 },
			     .taken_recent = { 1000, 1.5, -0.5 },
			     .ready = 3,
			     .waiting = 2,
			     .tickets = 64 },
			   { .site = &step, .previous = 0 } },
		.edges = { { .from = PLACE_NONE, .to = 0, .count = 9 },
			   { .from = 0,
			     .to = 1,
			     .count = 4,
			     .begun_count = 6,
			     .cpu_ns_total = 8000000,
			     .cpu_ns_recent = 1500,
			     .taken_total = { 4096, 8, -4 } },
			   { .from = 1, .to = PLACE_NONE } },
		.resources = { { "memory", 10, 80, 100 },
			       { "files", 3, 0, 0 } },
	};
}

static void test_nodes(void)
{
	cJSON *o = report();
	const cJSON *first = item(o, "nodes", 0);
	const cJSON *second = item(o, "nodes", 1);

	CHECK_NUMBER(cJSON_GetArraySize(get(o, "nodes")), ==, 2);
	is(first, "id", 0);
	is_text(first, "function", "submit");
	is_text(first, "file", "submit.c");
	is(first, "line", 7);
	is_null(first, "previous");
	is(first, "ready", 3);
	is(first, "waiting", 2);
	is(first, "tickets", 64);
	is(first, "visits", 4);
	is(first, "cpu_us_mean", 2000);
	is(first, "cpu_us_recent", 1.5);
	is(first, "memory_bytes_mean", 1024);
	is(first, "memory_bytes_recent", 1000);
	is(first, "files_mean", 2);
	is(first, "files_recent", 1.5);
	is(first, "stacks_mean", -1);
	is(first, "stacks_recent", -0.5);
	is(second, "id", 1);
	is(second, "previous", 0);
	is_text(second, "file", "step.c");
	is(second, "cpu_us_mean", 0); /* nobody has gone on from there */
	cJSON_Delete(o);
}

static void test_edges(void)
{
	cJSON *o = report();
	const cJSON *first = item(o, "edges", 0);
	const cJSON *second = item(o, "edges", 1);

	CHECK_NUMBER(cJSON_GetArraySize(get(o, "edges")), ==, 3);
	is_null(first, "from");
	is(first, "to", 0);
	is(first, "count", 9);
	is(first, "begun", 0);
	is(second, "from", 0);
	is(second, "to", 1);
	is(second, "count", 4);
	is(second, "begun", 6);
	is(second, "cpu_us_mean", 2000);
	is(second, "cpu_us_recent", 1.5);
	is(second, "memory_bytes_mean", 1024);
	is_null(item(o, "edges", 2), "to");
	cJSON_Delete(o);
}

static void test_resources(void)
{
	cJSON *o = report();
	const cJSON *memory = item(o, "resources", 0);
	const cJSON *files = item(o, "resources", 1);

	CHECK_NUMBER(cJSON_GetArraySize(get(o, "resources")), ==, 2);
	is_text(memory, "name", "memory");
	is(memory, "used", 10);
	is(memory, "limit", 80);
	is(memory, "capacity", 100);
	is(files, "used", 3);
	is_null(files, "limit");
	is_null(files, "capacity");
	is(o, "folded", 5);
	CHECK_NUMBER(get(o, "at_us")->valuedouble, >, 0);
	cJSON_Delete(o);
}

static void test_an_empty_graph_is_a_report(void)
{
	cJSON *o;

	graph = (struct blocking_graph_copy){ 0 };
	o = report();
	CHECK_NUMBER(cJSON_GetArraySize(get(o, "nodes")), ==, 0);
	CHECK_NUMBER(cJSON_GetArraySize(get(o, "edges")), ==, 0);
	cJSON_Delete(o);
}

int main(void)
{
	make_graph();
	test_nodes();
	test_edges();
	test_resources();
	test_an_empty_graph_is_a_report();
	return 0;
}
