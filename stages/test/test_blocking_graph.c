/* SPDX-License-Identifier: MIT */
/*
 * Promise: a blocking graph comes to contain the paths that threads took, and
 * no others; totals and means are those of what they used; it stays within its
 * limits whatever threads do.  No threads, except for one reader.
 */
#include "stages/threads/blocking_graph.h"

#include "base/test/check.h"
#include "base/util.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const struct blocking_site submit = { "pipeline.c", "submit", 1 };
static const struct blocking_site fan_out = { "pipeline.c", "fan_out", 2 };
static const struct blocking_site next_step = { "pipeline.c", "next", 3 };

static struct usage use(uint64_t cpu_ns, int64_t memory)
{
	return (struct usage){
		.cpu_ns = cpu_ns,
		.taken = { [RESOURCE_MEMORY] = memory },
	};
}

static struct blocking_graph_copy *copy(const struct blocking_graph *g)
{
	struct blocking_graph_copy *c = calloc(1, sizeof(*c));

	CHECK(c != NULL);
	(void)blocking_graph_add(c, g, 0, NULL);
	return c;
}

static const struct blocking_edge *
find_edge(const struct blocking_graph_copy *c, uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < c->edge_count; i++)
		if (c->edges[i].from == from && c->edges[i].to == to)
			return &c->edges[i];
	return NULL;
}

/* The last three of four steps, by one thread. */
static void run_variant(struct blocking_graph *g, uint32_t at)
{
	struct usage scale = use(20, -1000), blur = use(30, 0);
	struct usage encode = use(40, -90);

	at = blocking_graph_arrive(g, at, &next_step, &scale);
	at = blocking_graph_arrive(g, at, &next_step, &blur);
	blocking_graph_leave(g, at, &encode);
}

/* As service/pipeline does: the upload's own thread goes on last. */
static void run_upload(struct blocking_graph *g, uint32_t variants)
{
	struct usage decode = use(100, 1500);
	uint32_t at = blocking_graph_arrive(g, PLACE_NONE, &submit, NULL);

	for (uint32_t i = 1; i < variants; i++)
		run_variant(g, blocking_graph_arrive(g, at, &fan_out, NULL));
	run_variant(g, blocking_graph_arrive(g, at, &fan_out, &decode));
}

static void test_contains_exactly_the_pipeline(void)
{
	struct blocking_graph *g = calloc(1, sizeof(*g));

	CHECK(g != NULL);
	for (uint32_t i = 0; i < 1000; i++)
		run_upload(g, 1);
	struct blocking_graph_copy *c = copy(g);

	CHECK_NUMBER(c->node_count, ==, 4);
	CHECK_NUMBER(c->edge_count, ==, 5);
	CHECK_NUMBER(c->folded_count, ==, 0);
	CHECK_NUMBER(c->nodes[0].site, ==, &submit);
	CHECK_NUMBER(c->nodes[1].site, ==, &fan_out);
	CHECK_NUMBER(c->nodes[2].site, ==, &next_step);
	CHECK_NUMBER(c->nodes[3].site, ==, &next_step);
	CHECK_NUMBER(c->nodes[0].previous, ==, PLACE_NONE);
	for (uint32_t i = 1; i < 4; i++) {
		CHECK_NUMBER(c->nodes[i].previous, ==, i - 1);
		CHECK_NUMBER(find_edge(c, i - 1, i)->count, ==, 1000);
	}
	CHECK_NUMBER(find_edge(c, PLACE_NONE, 0)->count, ==, 1000);
	CHECK_NUMBER(find_edge(c, 3, PLACE_NONE)->count, ==, 1000);
	CHECK_NUMBER(c->nodes[0].cpu_ns_total, ==, 100 * 1000);
	CHECK_NUMBER(c->nodes[3].cpu_ns_total, ==, 40 * 1000);
	CHECK_NUMBER(c->nodes[1].taken_total[RESOURCE_MEMORY], ==,
		     -1000 * 1000);
	CHECK_NUMBER(fabs(c->nodes[0].taken_recent[RESOURCE_MEMORY] - 1500), <,
		     1e-6);
	CHECK_NUMBER(fabs(find_edge(c, 2, 3)->cpu_ns_recent - 30), <, 1e-6);
	free(c);
	free(g);
}

static void test_variants_are_threads_of_the_same_path(void)
{
	struct blocking_graph *g = calloc(1, sizeof(*g));

	CHECK(g != NULL);
	for (uint32_t i = 0; i < 100; i++)
		run_upload(g, 3);
	struct blocking_graph_copy *c = copy(g);
	const struct blocking_edge *e = find_edge(c, 0, 1);

	CHECK_NUMBER(c->node_count, ==, 4);
	CHECK_NUMBER(c->edge_count, ==, 5);
	/* The decode of an upload counts once, however many variants. */
	CHECK_NUMBER(e->count, ==, 100);
	CHECK_NUMBER(e->begun_count, ==, 200);
	CHECK_NUMBER(c->nodes[0].visits, ==, 100);
	CHECK_NUMBER(c->nodes[1].visits, ==, 300);
	CHECK_NUMBER(c->nodes[0].cpu_ns_total, ==, 100 * 100);
	CHECK_NUMBER(fabs(c->nodes[0].cpu_ns_recent - 100), <, 1e-6);
	free(c);
	free(g);
}

static void test_means_follow_and_totals_do_not_forget(void)
{
	struct blocking_graph *g = calloc(1, sizeof(*g));
	struct usage small = use(10, 100), large = use(1000, -100);
	uint32_t at;

	CHECK(g != NULL);
	for (uint32_t i = 0; i < 200; i++) {
		at = blocking_graph_arrive(g, PLACE_NONE, &submit, NULL);
		blocking_graph_leave(g, at, i < 100 ? &small : &large);
	}
	struct blocking_graph_copy *c = copy(g);

	CHECK_NUMBER(c->nodes[0].cpu_ns_total, ==, 100 * 10 + 100 * 1000);
	/* (15 / 16)^100 is 0.0016. */
	CHECK_NUMBER(fabs(c->nodes[0].cpu_ns_recent - 1000), <, 2);
	CHECK_NUMBER(fabs(c->nodes[0].taken_recent[RESOURCE_MEMORY] + 100), <,
		     1);
	CHECK_NUMBER(c->nodes[0].taken_total[RESOURCE_MEMORY], ==, 0);
	free(c);
	free(g);
}

static void test_a_loop_is_folded(void)
{
	struct blocking_graph *g = calloc(1, sizeof(*g));
	struct usage lap = use(1, 0);
	uint32_t at;

	CHECK(g != NULL);
	at = blocking_graph_arrive(g, PLACE_NONE, &submit, NULL);
	for (uint32_t i = 0; i < 10000; i++)
		at = blocking_graph_arrive(g, at, &next_step, &lap);
	blocking_graph_leave(g, at, &lap);
	struct blocking_graph_copy *c = copy(g);

	CHECK_NUMBER(c->node_count, ==, BLOCKING_DEPTH_MAX);
	CHECK_NUMBER(c->folded_count, ==, 10000 - (BLOCKING_DEPTH_MAX - 1));
	/* The last lap leads to itself. */
	CHECK_NUMBER(
		find_edge(c, BLOCKING_DEPTH_MAX - 1, BLOCKING_DEPTH_MAX - 1)
			->count,
		==, c->folded_count);
	CHECK_NUMBER(c->nodes[0].visits, ==, 1);
	free(c);
	free(g);
}

static void test_limits_hold_for_any_threads(void)
{
	enum { SITES = 500, PASSAGES = 100000 };
	struct blocking_graph *g = calloc(1, sizeof(*g));
	struct blocking_site *sites = calloc(SITES, sizeof(*sites));
	struct usage u = use(1, 1);
	uint32_t at = PLACE_NONE, state = 1;
	uint64_t ends = 0, visits = 0, passed = 0;

	CHECK(g != NULL);
	CHECK(sites != NULL);
	for (uint32_t i = 0; i < PASSAGES; i++) {
		state = state * 1664525 + 1013904223;
		if (at != PLACE_NONE && state >> 30 == 0) {
			blocking_graph_leave(g, at, &u);
			at = PLACE_NONE;
			ends++;
			continue;
		}
		passed += at != PLACE_NONE;
		at = blocking_graph_arrive(g, at, &sites[(state >> 8) % SITES],
					   &u);
		CHECK_NUMBER(at, <, PLACES_MAX);
	}
	struct blocking_graph_copy *c = copy(g);

	CHECK_NUMBER(c->node_count, ==, PLACES_MAX);
	CHECK_NUMBER(c->folded_count, >, 0);
	CHECK_NUMBER(c->edge_count, <=, BLOCKING_EDGES_MAX);
	for (uint32_t i = 0; i < c->node_count; i++)
		visits += c->nodes[i].visits;
	/* No passage is lost, even if its edge does not fit. */
	CHECK_NUMBER(visits, ==, ends + passed);
	free(c);
	free(sites);
	free(g);
}

static void test_equal_paths_of_several_graphs_are_one(void)
{
	struct blocking_graph *a = calloc(1, sizeof(*a));
	struct blocking_graph *b = calloc(1, sizeof(*b));
	struct usage other = use(7, 0);

	CHECK(a != NULL);
	CHECK(b != NULL);
	/* In `b` the numbers of the nodes are others. */
	blocking_graph_leave(
		b, blocking_graph_arrive(b, PLACE_NONE, &next_step, NULL),
		&other);
	for (uint32_t i = 0; i < 10; i++) {
		run_upload(a, 1);
		run_upload(b, 2);
	}
	struct blocking_graph_copy *c = copy(a);

	(void)blocking_graph_add(c, b, 0, NULL);
	CHECK_NUMBER(c->node_count, ==, 5);
	CHECK_NUMBER(c->edge_count, ==, 7);
	CHECK_NUMBER(c->nodes[0].visits, ==, 20);
	CHECK_NUMBER(c->nodes[1].visits, ==, 30);
	CHECK_NUMBER(find_edge(c, 0, 1)->count, ==, 20);
	CHECK_NUMBER(find_edge(c, 0, 1)->begun_count, ==, 10);
	CHECK_NUMBER(c->nodes[4].site, ==, &next_step);
	CHECK_NUMBER(c->nodes[4].visits, ==, 1);
	CHECK_NUMBER(c->resource_count, ==, RESOURCES + 1);
	CHECK_TEXT(c->resources[RESOURCES].name, "cpu");
	CHECK_NUMBER(c->resources[RESOURCES].capacity, ==, 2 * 1000000);
	free(c);
	free(a);
	free(b);
}

/* Threads pass a site of `first`, then one of `second`, each pair once. */
static struct blocking_graph *pass_pairs(const struct blocking_site *first,
					 uint32_t first_count,
					 const struct blocking_site *second,
					 uint32_t second_count)
{
	struct blocking_graph *g = calloc(1, sizeof(*g));
	struct usage u = use(1, 1);

	CHECK(g != NULL);
	for (uint32_t i = 0; i < first_count; i++)
		for (uint32_t k = 0; k < second_count; k++) {
			uint32_t at = blocking_graph_arrive(g, PLACE_NONE,
							    &first[i], NULL);

			at = blocking_graph_arrive(g, at, &second[k], &u);
			blocking_graph_leave(g, at, &u);
		}
	return g;
}

/* NULL: outside. */
static const struct blocking_site *site_of(const struct blocking_graph_copy *c,
					   uint32_t node)
{
	CHECK(node < c->node_count || node == PLACE_NONE);
	return node == PLACE_NONE ? NULL : c->nodes[node].site;
}

/* Passages from one site to another, on all edges. */
static uint64_t count_passages(const struct blocking_graph_copy *c,
			       const struct blocking_site *from,
			       const struct blocking_site *to)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < c->edge_count; i++)
		if (site_of(c, c->edges[i].from) == from &&
		    site_of(c, c->edges[i].to) == to)
			count += c->edges[i].count;
	return count;
}

static void test_paths_that_do_not_fit_keep_their_sites(void)
{
	enum { A = 8, B = 7, PAIRS = A * B };
	struct blocking_site a[A] = { 0 }, b[B] = { 0 };
	struct blocking_graph *forth = pass_pairs(a, A, b, B);
	struct blocking_graph *back = pass_pairs(b, B, a, A);
	struct blocking_graph_copy *c = copy(forth);
	uint64_t visits = 0;

	/* It fills the sum, so that none of the other one's paths fit. */
	CHECK_NUMBER(c->node_count, ==, PLACES_MAX);
	CHECK_NUMBER(c->folded_count, ==, 0);
	(void)blocking_graph_add(c, back, 0, NULL);
	CHECK_NUMBER(c->node_count, ==, PLACES_MAX);
	/* A thread of it passes two blocking points. */
	CHECK_NUMBER(c->folded_count, ==, 2 * PAIRS);
	for (uint32_t i = 0; i < A; i++)
		for (uint32_t k = 0; k < B; k++) {
			CHECK_NUMBER(count_passages(c, &a[i], &b[k]), ==, 1);
			CHECK_NUMBER(count_passages(c, &b[k], &a[i]), ==, 1);
		}
	for (uint32_t i = 0; i < A; i++) {
		CHECK_NUMBER(count_passages(c, NULL, &a[i]), ==, B);
		CHECK_NUMBER(count_passages(c, &a[i], NULL), ==, B);
	}
	for (uint32_t k = 0; k < B; k++) {
		CHECK_NUMBER(count_passages(c, NULL, &b[k]), ==, A);
		CHECK_NUMBER(count_passages(c, &b[k], NULL), ==, A);
	}
	for (uint32_t i = 0; i < c->node_count; i++)
		visits += c->nodes[i].visits;
	CHECK_NUMBER(visits, ==, 2 * 2 * PAIRS);
	free(c);
	free(forth);
	free(back);
}

static void *learn(void *graph)
{
	for (uint32_t i = 0; i < 20000; i++)
		run_upload(graph, 1 + i % 3);
	return NULL;
}

static void test_can_be_read_while_it_learns(void)
{
	struct blocking_graph *g = calloc(1, sizeof(*g));
	pthread_t thread;
	uint64_t last = 0;

	CHECK(g != NULL);
	CHECK_NUMBER(pthread_create(&thread, NULL, learn, g), ==, 0);
	while (last < 20000) {
		struct blocking_graph_copy *c = copy(g);

		CHECK_NUMBER(c->node_count, <=, 4);
		CHECK_NUMBER(c->edge_count, <=, 5);
		for (uint32_t i = 0; i < c->edge_count; i++) {
			const struct blocking_edge *e = &c->edges[i];

			CHECK(e->from < c->node_count || e->from == PLACE_NONE);
			CHECK(e->to < c->node_count || e->to == PLACE_NONE);
		}
		for (uint32_t i = 0; i < c->node_count; i++)
			CHECK(c->nodes[i].site != NULL);
		CHECK_NUMBER(c->nodes[0].visits, >=, last);
		last = c->nodes[0].visits;
		free(c);
	}
	CHECK_NUMBER(pthread_join(thread, NULL), ==, 0);
	free(g);
}

int main(void)
{
	test_contains_exactly_the_pipeline();
	test_variants_are_threads_of_the_same_path();
	test_means_follow_and_totals_do_not_forget();
	test_a_loop_is_folded();
	test_limits_hold_for_any_threads();
	test_equal_paths_of_several_graphs_are_one();
	test_paths_that_do_not_fit_keep_their_sites();
	test_can_be_read_while_it_learns();
	return 0;
}
