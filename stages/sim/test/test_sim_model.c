/* SPDX-License-Identifier: MIT */
/*
 * Promise: a graph file means what model.h says, means are those of what is
 * drawn, the graphs that come with the program are what they claim to be, and a
 * file with a mistake is refused.
 */
#include "stages/sim/model.h"

#include "base/util.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DRAWS = 400000 };

static void expect(const char *what, double is, double should, double tolerance)
{
	if (fabs(is / should - 1) <= tolerance)
		return;
	fprintf(stderr, "%s: %g instead of %g\n", what, is, should);
	abort();
}

static void read_whole(struct model *m, const char *json)
{
	const char *why = NULL;
	bool ok = model_read(m, json, "/nowhere", &why);

	if (!ok)
		fprintf(stderr, "%s: %s\n", json, why);
	assert(ok);
}

static void test_drawn_mean_is_the_mean(void)
{
	static const char *const distributions[] = {
		"7",
		"{\"kind\": \"constant\", \"value\": 7}",
		"{\"kind\": \"exponential\", \"mean\": 7}",
		"{\"kind\": \"lognormal\", \"median\": 7, \"sigma\": 0.8}",
		"{\"kind\": \"pareto\", \"shape\": 1.1, \"min\": 1, "
		"\"max\": 100}",
		"{\"kind\": \"pareto\", \"shape\": 1, \"min\": 1, "
		"\"max\": 100}",
		"{\"kind\": \"quantiles\", \"points\": [[0, 1], [0.3, 2], "
		"[1, 50]]}",
	};
	char graph[512];

	for (size_t i = 0; i < ARRAY_SIZE(distributions); i++) {
		struct model m;
		struct model_path path;
		struct random r;
		double sum = 0, by_stage[STAGES_MAX];

		(void)snprintf(graph, sizeof(graph),
			       "{\"stages\": [{\"name\": \"a\", "
			       "\"service_us\": %s}]}",
			       distributions[i]);
		read_whole(&m, graph);
		random_init(&r, 1, i);
		for (int n = 0; n < DRAWS; n++) {
			model_draw(&m, &r, &path);
			assert(path.step_count == 1);
			sum += (double)path.steps[0].service_ns;
		}
		expect(distributions[i], sum / DRAWS,
		       model_work_ns(&m, by_stage), 0.01);
		model_release(&m);
	}
}

static void test_numbers_of_a_file(void)
{
	char path[] = "/tmp/test_sim_model.XXXXXX", graph[256];
	int file = mkstemp(path);
	struct model m;
	struct random r;
	struct model_path drawn;
	int seen[5] = { 0 };

	assert(file >= 0 && write(file, "1\n2\n4\n", 6) == 6);
	(void)close(file);
	(void)snprintf(graph, sizeof(graph),
		       "{\"stages\": [{\"name\": \"a\", \"service_us\": "
		       "{\"kind\": \"empirical\", \"file\": \"%s\"}}]}",
		       path);
	read_whole(&m, graph);
	random_init(&r, 1, 0);
	for (int n = 0; n < DRAWS; n++) {
		model_draw(&m, &r, &drawn);
		seen[drawn.steps[0].service_ns / 1000]++;
	}
	expect("1", seen[1], DRAWS / 3.0, 0.02);
	expect("2", seen[2], DRAWS / 3.0, 0.02);
	expect("4", seen[4], DRAWS / 3.0, 0.02);
	model_release(&m);
	(void)unlink(path);
}

static void load_shipped(struct model *m, const char *name)
{
	char path[512];
	const char *why = NULL;

	(void)snprintf(path, sizeof(path), SIM_GRAPHS "/%s.json", name);
	assert(model_load(m, path, &why));
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Gordon, UCAM-CL-TR-781, table 4.1. */
static void test_image_sizes_are_of_the_thesis(void)
{
	double *sizes = calloc(DRAWS, sizeof(*sizes)), sum = 0;
	struct model m;
	struct model_path path;
	struct random r;

	assert(sizes != NULL);
	load_shipped(&m, "image");
	random_init(&r, 1, 0);
	for (int n = 0; n < DRAWS; n++) {
		model_draw(&m, &r, &path);
		sizes[n] = path.size;
		sum += path.size;
		/* One size for all stages: 88 % of 75 ns per byte. */
		assert(path.step_count == 4);
		assert(fabs((double)path.steps[0].service_ns -
			    path.size * 66) <= 1);
	}
	qsort(sizes, DRAWS, sizeof(*sizes), by_value);
	assert(sizes[0] >= 398 && sizes[DRAWS - 1] <= 4.2e6);
	expect("median", sizes[DRAWS / 2], 37.2e3, 0.02);
	expect("90th percentile", sizes[DRAWS / 10 * 9], 623.2e3, 0.02);
	expect("mean", sum / DRAWS, 204.4e3, 0.01);
	model_release(&m);
	free(sizes);
}

static void test_paths_follow_the_routes(void)
{
	double drawn[STAGES_MAX] = { 0 }, by_stage[STAGES_MAX];
	struct model m;
	struct model_path path;
	struct random r;

	load_shipped(&m, "search");
	assert(m.stage_count == 14);
	random_init(&r, 1, 0);
	for (int n = 0; n < DRAWS; n++) {
		model_draw(&m, &r, &path);
		assert(path.steps[0].stage == 0);
		for (uint32_t i = 0; i < path.step_count; i++)
			drawn[path.steps[i].stage] +=
				(double)path.steps[i].service_ns / DRAWS;
	}
	double work_ns = model_work_ns(&m, by_stage);

	for (uint32_t i = 0; i < m.stage_count; i++)
		expect(m.stages[i].name, drawn[i], by_stage[i], 0.02);
	/* The one heavy stage. */
	assert(strcmp(m.stages[10].name, "set-combiner") == 0);
	assert(by_stage[10] > 0.8 * work_ns);
	model_release(&m);
}

static void test_mistakes_are_refused(void)
{
#define A "\"name\": \"a\""
	static const char *const graphs[] = {
		"",
		"{}",
		"{\"stages\": []}",
		"{\"stages\": [{\"service_us\": 1}]}",
		"{\"stages\": [{" A "}]}",
		"{\"stages\": [{" A ", \"us_per_size\": 1}]}",
		"{\"stages\": [{" A ", \"service_us\": -1}]}",
		"{\"stages\": [{" A ", \"service_us\": {\"kind\": \"x\"}}]}",
		"{\"stages\": [{" A ", \"service_us\": {\"kind\": "
		"\"exponential\"}}]}",
		"{\"stages\": [{" A ", \"service_us\": {\"kind\": \"pareto\", "
		"\"shape\": 1, \"min\": 2, \"max\": 1}}]}",
		"{\"stages\": [{" A ", \"service_us\": {\"kind\": "
		"\"quantiles\", \"points\": [[0, 1]]}}]}",
		"{\"stages\": [{" A ", \"service_us\": {\"kind\": "
		"\"quantiles\", \"points\": [[0, 2], [1, 1]]}}]}",
		"{\"stages\": [{" A ", \"service_us\": {\"kind\": "
		"\"empirical\", \"file\": \"none\"}}]}",
		"{\"stages\": [{" A ", \"service_us\": 1}, {" A
		", \"service_us\": 1}]}",
		"{\"stages\": [{" A ", \"service_us\": 1, "
		"\"routes\": {\"b\": 1}}]}",
		"{\"stages\": [{" A ", \"service_us\": 1, "
		"\"routes\": {\"a\": 1.1}}]}",
		"{\"entries\": {\"a\": 0.5}, \"stages\": [{" A
		", \"service_us\": 1}]}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(graphs); i++) {
		const char *why = NULL;
		struct model m;

		if (model_read(&m, graphs[i], "/nowhere", &why)) {
			fprintf(stderr, "accepted: %s\n", graphs[i]);
			abort();
		}
		assert(why != NULL);
		model_release(&m);
	}
}

int main(void)
{
	test_drawn_mean_is_the_mean();
	test_numbers_of_a_file();
	test_image_sizes_are_of_the_thesis();
	test_paths_follow_the_routes();
	test_mistakes_are_refused();
	return 0;
}
