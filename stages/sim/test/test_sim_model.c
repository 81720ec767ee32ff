/* SPDX-License-Identifier: MIT */
/*
 * Promise: a graph file means what model.h says, means are those of what is
 * drawn, the graphs that come with the program are what they claim to be, and a
 * file with a mistake is refused with the stage and the key that is wrong.
 */
#include "stages/sim/model.h"

#include "base/test/check.h"
#include "base/util.h"

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
	struct error why;
	bool ok = model_read(m, json, "/nowhere", &why);

	if (!ok)
		fprintf(stderr, "%s: %s\n", json, why.text);
	CHECK(ok);
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
		struct model_path path = { 0 };
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
			CHECK_NUMBER(path.step_count, ==, 1);
			sum += (double)path.steps[0].service_ns;
		}
		expect(distributions[i], sum / DRAWS,
		       model_work_ns(&m, by_stage), 0.01);
		model_path_release(&path);
		model_release(&m);
	}
}

static void test_numbers_of_a_file(void)
{
	char path[] = "/tmp/test_sim_model.XXXXXX", graph[256];
	int file = mkstemp(path);
	struct model m;
	struct random r;
	struct model_path drawn = { 0 };
	int seen[5] = { 0 };

	CHECK_NUMBER(file, >=, 0);
	CHECK_NUMBER(write(file, "1\n2\n4\n", 6), ==, 6);
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
	model_path_release(&drawn);
	model_release(&m);
	(void)unlink(path);
}

static void load_shipped(struct model *m, const char *name)
{
	char path[512];
	struct error why;

	(void)snprintf(path, sizeof(path), SIM_GRAPHS "/%s.json", name);
	CHECK(model_load(m, path, &why));
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
	struct model_path path = { 0 };
	struct random r;

	CHECK(sizes != NULL);
	load_shipped(&m, "image");
	random_init(&r, 1, 0);
	for (int n = 0; n < DRAWS; n++) {
		model_draw(&m, &r, &path);
		sizes[n] = path.size;
		sum += path.size;
		/* One size for all stages: 88 % of 75 ns per byte. */
		CHECK_NUMBER(path.step_count, ==, 4);
		CHECK_NUMBER(
			fabs((double)path.steps[0].service_ns - path.size * 66),
			<=, 1);
	}
	qsort(sizes, DRAWS, sizeof(*sizes), by_value);
	CHECK_NUMBER(sizes[0], >=, 398);
	CHECK_NUMBER(sizes[DRAWS - 1], <=, 4.2e6);
	expect("median", sizes[DRAWS / 2], 37.2e3, 0.02);
	expect("90th percentile", sizes[DRAWS / 10 * 9], 623.2e3, 0.02);
	expect("mean", sum / DRAWS, 204.4e3, 0.01);
	model_path_release(&path);
	model_release(&m);
	free(sizes);
}

/* As "about" in the file says. */
static void test_the_thesis_server_has_its_work(void)
{
	double by_stage[STAGES_MAX], work_ns;
	struct model m;

	load_shipped(&m, "thesis");
	work_ns = model_work_ns(&m, by_stage);
	expect("per byte", work_ns / m.size.mean, 280, 0.01);
	expect(m.stages[1].name, by_stage[1] / work_ns, 0.61, 0.01);
	model_release(&m);
}

static void test_paths_follow_the_routes(void)
{
	double drawn[STAGES_MAX] = { 0 }, by_stage[STAGES_MAX];
	double tokenized_again = 0, checked_most = 0;
	struct model m;
	struct model_path path = { 0 };
	struct random r;

	load_shipped(&m, "search");
	CHECK_NUMBER(m.stage_count, ==, 14);
	CHECK_TEXT(m.stages[4].name, "spell-checker");
	random_init(&r, 1, 0);
	for (int n = 0; n < DRAWS; n++) {
		model_draw(&m, &r, &path);
		CHECK_NUMBER(path.steps[0].stage, ==, 0);
		uint32_t checks = 0, tokenized = 0;

		for (uint32_t i = 0; i < path.step_count; i++) {
			drawn[path.steps[i].stage] +=
				(double)path.steps[i].service_ns / DRAWS;
			checks += path.steps[i].stage == 4;
			tokenized += path.steps[i].stage == 2;
		}
		tokenized_again += tokenized > 1;
		checked_most = fmax(checked_most, checks);
	}
	double work_ns = model_work_ns(&m, by_stage);

	for (uint32_t i = 0; i < m.stage_count; i++)
		expect(m.stages[i].name, drawn[i], by_stage[i], 0.02);
	/* As "about" in the file says. */
	expect("80 % of 8 cores", 0.8 * 8 * 1e9 / work_ns, 1018, 0.001);
	expect("came back", tokenized_again / DRAWS, 0.036, 0.05);
	/* Who comes back bypasses the spell checker. */
	CHECK_NUMBER(checked_most, ==, 1);
	/* The one heavy stage. */
	CHECK_TEXT(m.stages[10].name, "set-combiner");
	CHECK_NUMBER(by_stage[10], >, 0.8 * work_ns);
	model_path_release(&path);
	model_release(&m);
}

#define AFTER(stage, routes) "\"routes_after\": {\"" stage "\": {" routes "}}"
#define THREE(a, b, c)                                                         \
	"{\"stages\": [{\"name\": \"a\", \"service_us\": 1, " a                \
	"}, {\"name\": \"b\", \"service_us\": 1, " b                           \
	"}, {\"name\": \"c\", \"service_us\": 1" c "}]}"

/* To b and back, and then from a to c: without b, no request would end. */
static void test_routes_may_depend_on_the_way_before(void)
{
	static const uint32_t way[] = { 0, 1, 0, 2 };
	double by_stage[STAGES_MAX];
	struct stage_graph graph;
	struct model m;
	struct model_path path = { 0 };
	struct random r;

	read_whole(&m, THREE("\"routes\": {\"b\": 1}, " AFTER("b", "\"c\": 1"),
			     "\"routes\": {\"a\": 1}", ""));
	random_init(&r, 1, 0);
	for (int n = 0; n < 100; n++) {
		model_draw(&m, &r, &path);
		CHECK_NUMBER(path.step_count, ==, ARRAY_SIZE(way));
		for (uint32_t i = 0; i < path.step_count; i++)
			CHECK_NUMBER(path.steps[i].stage, ==, way[i]);
	}
	expect("work", model_work_ns(&m, by_stage), 4000, 1e-9);
	expect("of a", by_stage[0], 2000, 1e-9);
	model_weigh(&m, &graph);
	CHECK_NUMBER(graph.sent_counts[0][1], ==, 1000000);
	CHECK_NUMBER(graph.sent_counts[1][0], ==, 1000000);
	CHECK_NUMBER(graph.sent_counts[0][2], ==, 1000000);
	model_path_release(&path);
	model_release(&m);
}

/*
 * a forks one b and two c; each b goes on to c.  So do its requests, from a,
 * where they join.
 */
static void test_a_path_has_those_of_children(void)
{
	/* Stage, children, the next step of the same path. */
	static const uint32_t steps[][3] = {
		{ 0, 3, 5 },                           /* a forks */
		{ 1, 0, 1 }, { 2, 0, 0 },              /* b, c */
		{ 2, 0, 0 },                           /* c */
		{ 2, 0, 0 },                           /* c */
		{ 0, 0, 1 }, { 1, 0, 1 }, { 2, 0, 0 }, /* a joins, b, c */
	};
	static const double us[] = { 10 + 5, 2 * 20, 4 * 40 };
	double by_stage[STAGES_MAX];
	struct stage_graph graph;
	struct model m;
	struct model_path path = { 0 };
	struct random r;

	read_whole(&m, "{\"size\": 10, \"stages\": ["
		       "{\"name\": \"a\", \"us_per_size\": 1, \"forks\":"
		       " {\"b\": 1, \"c\": 2}, \"join_us\": 2,"
		       " \"join_us_per_size\": 0.3, \"routes\": {\"b\": 1}},"
		       "{\"name\": \"b\", \"service_us\": 20,"
		       " \"routes\": {\"c\": 1}},"
		       "{\"name\": \"c\", \"service_us\": 40}]}");
	CHECK_NUMBER(model_children_max(&m), ==, 3);
	random_init(&r, 1, 0);
	model_draw(&m, &r, &path);
	CHECK_NUMBER(path.step_count, ==, ARRAY_SIZE(steps));
	for (uint32_t i = 0; i < ARRAY_SIZE(steps); i++) {
		CHECK_NUMBER(path.steps[i].stage, ==, steps[i][0]);
		CHECK_NUMBER(path.steps[i].child_count, ==, steps[i][1]);
		CHECK_NUMBER(path.steps[i].next, ==, steps[i][2]);
	}
	CHECK_NUMBER(path.steps[5].service_ns, ==, 5000);
	(void)model_work_ns(&m, by_stage);
	for (uint32_t i = 0; i < m.stage_count; i++)
		expect(m.stages[i].name, by_stage[i], 1000 * us[i], 1e-9);
	model_weigh(&m, &graph);
	/* The last child may be each of the three, and all end at c. */
	CHECK_NUMBER(graph.sent_counts[0][1], ==, 2000000);
	CHECK_NUMBER(graph.sent_counts[0][2], ==, 2000000);
	CHECK_NUMBER(graph.sent_counts[1][2], ==, 2000000);
	CHECK_NUMBER(graph.sent_counts[2][0], ==, 1000000);
	model_path_release(&path);
	model_release(&m);
}

/* A graph with a mistake, and what the error must say. */
struct mistake {
	const char *graph, *why;
};

static void expect_refused(const struct mistake *all, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct error why = { "" };
		struct model m;
		bool ok = model_read(&m, all[i].graph, "/nowhere", &why);

		if (ok || strstr(why.text, all[i].why) == NULL) {
			fprintf(stderr, "%s: %s, without '%s'\n", all[i].graph,
				ok ? "accepted" : why.text, all[i].why);
			abort();
		}
		model_release(&m);
	}
}

/* A graph of one stage with more keys; and such a graph with a service time. */
#define OF_STAGE(more) "{\"stages\": [{\"name\": \"a\"" more "}]}"
#define OF_STAGE_1(more) OF_STAGE(", \"service_us\": 1" more)

static void test_graphs_with_a_mistake(void)
{
	static const struct mistake all[] = {
		{ "", "not JSON in line 1" },
		{ "{\"stages\":\n[}", "not JSON in line 2" },
		{ OF_STAGE_1("") " x", "not JSON" },
		{ "[]", "it must be an object" },
		{ "5", "it must be an object" },
		{ "{}", "stages must be a list of 1 to 32" },
		{ "{\"stages\": []}", "stages must be a list of 1 to 32" },
		{ "{\"stages\": {}}", "stages must be a list of 1 to 32" },
		{ "{\"stage\": []}", "stage: there is no such key" },
		{ "{\"size\": 1, \"size\": 2, \"stages\": []}",
		  "size: it is there twice" },
		{ "{\"size\": -1, \"stages\": []}",
		  "size: -1 is not a number" },
		{ "{\"deadline_us\": \"soon\", \"stages\": []}",
		  "deadline_us: it must be a number, or an object" },
		{ "{\"memory\": -1, \"stages\": []}", "memory: '-1' is not" },
		{ "{\"memory\": \"1G\", \"stages\": []}",
		  "memory: '1G' is not a number" },
		{ "{\"entries\": [1], \"stages\": [{\"name\": \"a\"}]}",
		  "entries: it must be an object" },
		{ "{\"entries\": {\"a\": 0.5}, \"stages\": [{\"name\": "
		  "\"a\"}]}",
		  "entries: the probabilities come to 0.5, less than 1" },
		{ "{\"stages\": [5]}", "stage 1 has no name" },
		{ "{\"stages\": [{\"name\": \"a\"}, {\"nam\": \"b\"}]}",
		  "stage 2 has no name" },
		{ "{\"stages\": [{\"name\": \"a\"}, {\"name\": \"a\"}]}",
		  "stage 'a' is there twice" },
		{ OF_STAGE_1(", \"regime\": \"n-gated\""),
		  "stage 'a': regime: 'n-gated' is not a valid exhaustive|" },
		{ OF_STAGE_1(", \"regime\": \"a=gated\""),
		  "stage 'a': regime: 'a' is no stage" },
		{ OF_STAGE_1(", \"regime\": 8"), "stage 'a': regime: " },
		{ OF_STAGE_1(", \"regime\": \"gated,=gated\""),
		  "stage 'a': regime: 'gated,=gated' is not a valid " },
		{ OF_STAGE_1(", \"balance\": \"partition\""),
		  "stage 'a': balance: 'partition' is not a valid " },
		{ OF_STAGE_1(", \"balance\": \"even=0\""),
		  "stage 'a': balance: 'even=0' is not a valid " },
		{ OF_STAGE_1(", \"type\": \"private\""), "stage 'a': type: " },
		{ OF_STAGE_1(", \"discipline\": \"sjf\""),
		  "stage 'a': discipline: 'sjf' is not a valid fcfs|" },
	};

	expect_refused(all, ARRAY_SIZE(all));
}

static void test_stages_with_a_mistake(void)
{
	static const struct mistake all[] = {
		{ OF_STAGE(""),
		  "stage 'a': service_us or us_per_size is missing" },
		{ OF_STAGE(", \"service_us\": null"),
		  "stage 'a': service_us or us_per_size is missing" },
		{ OF_STAGE_1(", \"route\": {\"a\": 0.5}"),
		  "stage 'a': route: there is no such key" },
		{ OF_STAGE_1(", \"Takes\": 5"),
		  "stage 'a': Takes: there is no such key" },
		{ OF_STAGE_1(", \"takes\": 5, \"takes\": 6"),
		  "stage 'a': takes: it is there twice" },
		{ OF_STAGE_1(", \"takes\": \"5\""),
		  "stage 'a': takes is not a number of bytes" },
		{ OF_STAGE_1(", \"takes_per_size\": 5"),
		  "stage 'a': takes_per_size needs a graph with a size" },
		{ OF_STAGE(", \"us_per_size\": 1"),
		  "stage 'a': us_per_size needs a graph with a size" },
		{ OF_STAGE_1(", \"us_per_size\": -0.5"),
		  "stage 'a': us_per_size: '-0.5' is not a number" },
		{ OF_STAGE_1(", \"routes\": [1]"),
		  "stage 'a': routes: it must be an object" },
		{ OF_STAGE_1(", \"routes\": {\"b\": 1}"),
		  "stage 'a': routes: 'b' is no stage" },
		{ "{\"stages\": [{\"name\": \"decode\", \"service_us\": 1, "
		  "\"routes\": {\"decod\": 1}}]}",
		  "routes: 'decod' is no stage; did you mean 'decode'?" },
		{ OF_STAGE_1(", \"routes\": {\"a\": 0.2, \"a\": 0.3}"),
		  "stage 'a': routes: 'a' is there twice" },
		{ OF_STAGE_1(", \"routes\": {\"a\": -1}"),
		  "stage 'a': routes: 'a' has no probability" },
		{ OF_STAGE_1(", \"routes\": {\"a\": \"1\"}"),
		  "stage 'a': routes: 'a' has no probability" },
		{ "{\"stages\": [{\"name\": \"a\", \"service_us\": 1}, "
		  "{\"name\": \"b\", \"service_us\": 1, \"routes\": "
		  "{\"a\": 0.7, \"b\": 0.6}}]}",
		  "stage 'b': routes: the probabilities come to 1.3" },
	};

	expect_refused(all, ARRAY_SIZE(all));
}

/* A graph of three stages with these routes. */
#define ROUTES(a, b, c)                                                        \
	"\"stages\": [{\"name\": \"a\", \"service_us\": 1, \"routes\": {" a    \
	"}}, {\"name\": \"b\", \"service_us\": 1, \"routes\": {" b             \
	"}}, {\"name\": \"c\", \"service_us\": 1, \"routes\": {" c "}}]}"

static void test_flows_with_a_mistake(void)
{
	static const struct mistake all[] = {
		{ "{" ROUTES("\"b\": 1", "", ""),
		  "stage 'c': no request comes to it: it is no entry, and no "
		  "route from one leads to it" },
		/* Of two stages that only lead to each other, the first. */
		{ "{" ROUTES("", "\"c\": 0.5", "\"b\": 0.5"),
		  "stage 'b': no request comes to it" },
		{ "{" ROUTES("\"b\": 1", "\"c\": 0", ""),
		  "stage 'c': no request comes to it" },
		{ "{\"entries\": {\"b\": 1}, " ROUTES("", "\"c\": 1", ""),
		  "stage 'a': no request comes to it" },
		{ OF_STAGE_1(", \"routes\": {\"a\": 1}"),
		  "stage 'a': routes: a request never ends" },
		{ "{" ROUTES("\"b\": 0.5", "\"c\": 1", "\"b\": 1"),
		  "stage 'b': routes: a request never ends" },
		{ THREE("\"routes\": {\"b\": 0.5, \"c\": 0.1}, " AFTER(
				"b", "\"b\": 1"),
			"\"routes\": {\"a\": 1}", ""),
		  "stage 'a': routes: a request never ends" },
		{ THREE(AFTER("d", "\"b\": 1"), "\"routes\": {}", ""),
		  "stage 'a': routes_after: there is no stage 'd'" },
		{ THREE("\"routes_after\": {}", "\"routes\": {}", ""),
		  "stage 'a': routes_after: it must name one stage" },
		{ THREE(AFTER("b", "\"b\": 2"), "\"routes\": {}", ""),
		  "stage 'a': routes_after: 'b' has no probability" },
		{ THREE(AFTER("b", "\"c\": 1"), AFTER("c", "\"c\": 1"), ""),
		  "stage 'b': routes_after: 'c': another stage has one after "
		  "'b'" },
		{ "{\"memory\": 99, \"stages\": [{\"name\": \"a\", "
		  "\"service_us\": 1, \"takes\": 100}]}",
		  "stage 'a': takes: 100 bytes in the mean are more than "
		  "memory, 99" },
		{ "{\"memory\": 99, \"size\": 5, \"stages\": [{\"name\": "
		  "\"a\", \"service_us\": 1, \"takes_per_size\": 20}]}",
		  "stage 'a': takes: 100 bytes in the mean are more than "
		  "memory, 99" },
	};
	struct model m;

	read_whole(&m, "{" ROUTES("\"b\": 1", "\"c\": 0.5, \"b\": 0.5",
				  "\"a\": 0.9"));
	model_release(&m);

	expect_refused(all, ARRAY_SIZE(all));
}

static void test_forks_with_a_mistake(void)
{
	static const struct mistake all[] = {
		{ THREE("\"forks\": 2", "\"routes\": {}", ""),
		  "stage 'a': forks: it must be an object" },
		{ THREE("\"forks\": {}", "\"routes\": {}", ""),
		  "stage 'a': forks: it names no stage" },
		{ THREE("\"forks\": {\"d\": 1}", "\"routes\": {}", ""),
		  "stage 'a': forks: 'd' is no stage" },
		{ THREE("\"forks\": {\"b\": 0}", "\"routes\": {}", ""),
		  "stage 'a': forks: 'b' has no number of children" },
		{ THREE("\"forks\": {\"b\": 1.5}", "\"routes\": {}", ""),
		  "stage 'a': forks: 'b' has no number of children" },
		{ THREE("\"forks\": {\"b\": \"2\"}", "\"routes\": {}", ""),
		  "stage 'a': forks: 'b' has no number of children" },
		{ THREE("\"forks\": {\"b\": 60, \"c\": 5}", "\"routes\": {}",
			""),
		  "stage 'a': forks: 'c' has no number of children from 1 on, "
		  "and up to 64 in all" },
		{ THREE("\"forks\": {\"a\": 1}", "\"routes\": {}", ""),
		  "stage 'a': forks: a child comes to stage 'a', which forks, "
		  "too" },
		{ THREE("\"forks\": {\"b\": 1}", "\"routes\": {\"c\": 0.5}",
			", \"routes\": {\"a\": 0.1}"),
		  "stage 'a': forks: a child comes to stage 'a', which forks, "
		  "too" },
		{ THREE("\"forks\": {\"b\": 1}", "\"forks\": {\"c\": 1}", ""),
		  "stage 'a': forks: a child comes to stage 'b', which forks, "
		  "too" },
		{ THREE("\"forks\": {\"b\": 1}, \"routes\": {\"c\": 1}",
			"\"routes\": {\"b\": 1}", ""),
		  "stage 'b': routes: a request never ends" },
		{ THREE("\"type\": \"pass-through\", \"routes\": {\"b\": 1}",
			"\"routes\": {\"c\": 1}", ""),
		  "stage 'a': a pass-through stage does not fork, and neither "
		  "requests nor children begin there" },
		{ THREE("\"forks\": {\"b\": 1}",
			"\"type\": \"pass-through\", \"routes\": {\"c\": 1}",
			""),
		  "stage 'b': a pass-through stage does not fork, and neither "
		  "requests nor children begin there" },
		{ OF_STAGE_1(", \"join_us\": 1"),
		  "stage 'a': join_us needs forks" },
		{ THREE("\"forks\": {\"b\": 1}, \"join_us_per_size\": 1",
			"\"routes\": {\"c\": 1}", ""),
		  "stage 'a': join_us_per_size needs a graph with a size" },
		{ THREE("\"forks\": {\"b\": 1}, \"join_us\": -1",
			"\"routes\": {}", ""),
		  "stage 'a': join_us: -1 is not a number" },
	};

	expect_refused(all, ARRAY_SIZE(all));
}

/* Of a stage called "a". */
#define SERVICE(text) OF_STAGE(", \"service_us\": " text)
#define OF_KIND(kind, more) SERVICE("{\"kind\": \"" kind "\"" more "}")
#define AT "stage 'a': service_us: "

static void test_distributions_with_a_mistake(void)
{
	static const struct mistake all[] = {
		{ SERVICE("-3"), AT "-3 is not a number from 0" },
		{ SERVICE("1e400"), AT "inf is not a number from 0" },
		{ SERVICE("[3]"), AT "it must be a number, or an object" },
		{ SERVICE("{}"), AT "kind is missing" },
		{ OF_KIND("x", ""), AT "kind: 'x' is not a valid constant|" },
		{ OF_KIND("constant", ", \"valu\": 3"),
		  AT "valu: there is no such key; constant has value" },
		{ OF_KIND("exponential", ""),
		  AT "mean is missing; exponential has mean" },
		{ OF_KIND("exponential", ", \"mean\": 0"),
		  AT "mean: '0' is not a number" },
		{ OF_KIND("exponential", ", \"mean\": 1, \"median\": 1"),
		  AT "median: there is no such key" },
		{ OF_KIND("lognormal", ", \"median\": 1"),
		  AT "sigma is missing; lognormal has median and sigma" },
		{ OF_KIND("lognormal", ", \"mean\": 1"),
		  AT "mean: there is no such key; lognormal has median and "
		     "sigma" },
		{ OF_KIND("pareto", ", \"a\": 1"),
		  AT "a: there is no such key; pareto has shape, min and "
		     "max" },
		{ OF_KIND("lognormal", ", \"median\": 1, \"sigma\": 11"),
		  AT "sigma: '11' is not a number" },
		{ OF_KIND("pareto", ", \"shape\": 1, \"min\": 2, \"max\": 1"),
		  AT "min is not below max" },
		{ OF_KIND("pareto",
			  ", \"shape\": 99, \"min\": 1e-9, \"max\": 1"),
		  AT "its mean cannot be computed" },
		{ OF_KIND("quantiles", ", \"points\": [[0, 1]]"),
		  AT "points must be a list" },
		{ OF_KIND("quantiles", ", \"points\": [[0, 1], 5]"),
		  AT "points: the one numbered 2" },
		{ OF_KIND("quantiles", ", \"points\": [[0, 2], [1, 1]]"),
		  AT "points: the one numbered 2" },
		{ OF_KIND("quantiles", ", \"points\": [[0.1, 1], [1, 2]]"),
		  AT "points: the one numbered 1" },
		{ OF_KIND("quantiles", ", \"points\": [[0, 1], [0.5, 2]]"),
		  AT "points: the last share is not 1" },
		{ OF_KIND("empirical", ", \"file\": 5"),
		  AT "file: '5' is not a string" },
		{ OF_KIND("empirical", ", \"file\": \"none\""),
		  AT "file: 'none': No such file" },
	};

	expect_refused(all, ARRAY_SIZE(all));
}

static void test_files_of_numbers_with_a_mistake(void)
{
	static const struct mistake all[] = {
		{ "", "it does not begin with a number" },
		{ "x", "it does not begin with a number" },
		{ "1\n2\nthree\n", "no number follows number 2" },
		{ "1 0 2", "number 2, 0, is not above 0" },
		{ "5\n-1", "number 2, -1, is not above 0" },
		{ "inf", "number 1, inf, is not above 0" },
		{ "1\nnan", "number 2, nan, is not above 0" },
	};
	char path[] = "/tmp/test_sim_model.XXXXXX";
	int file = mkstemp(path);

	CHECK_NUMBER(file, >=, 0);
	(void)close(file);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		FILE *out = fopen(path, "we");
		struct error why = { "" };
		uint32_t count;

		CHECK(out != NULL);
		CHECK_NUMBER(fputs(all[i].graph, out), >=, 0);
		CHECK_NUMBER(fclose(out), ==, 0);
		CHECK(distribution_load_numbers(path, &count, &why) == NULL);
		CHECK_PART(why.text, all[i].why);
	}
	(void)unlink(path);
}

int main(void)
{
	test_drawn_mean_is_the_mean();
	test_numbers_of_a_file();
	test_image_sizes_are_of_the_thesis();
	test_the_thesis_server_has_its_work();
	test_paths_follow_the_routes();
	test_routes_may_depend_on_the_way_before();
	test_a_path_has_those_of_children();
	test_graphs_with_a_mistake();
	test_stages_with_a_mistake();
	test_flows_with_a_mistake();
	test_forks_with_a_mistake();
	test_distributions_with_a_mistake();
	test_files_of_numbers_with_a_mistake();
	return 0;
}
