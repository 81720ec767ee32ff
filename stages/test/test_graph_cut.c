/* SPDX-License-Identifier: MIT */
/*
 * Promises: parts have about equal work, few events pass between them, and the
 * same weights give the same parts.
 */
#include "stages/graph.h"

#include "base/test/check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { RANDOM_GRAPHS = 300, RANDOM_STAGES_MAX = 8 };

struct quality {
	uint64_t heaviest_ns;  /* the work of the heaviest part */
	uint64_t passed_count; /* events that pass between parts */
};

static struct quality quality_of(const struct stage_graph *g,
				 const uint32_t *parts)
{
	struct quality q = { 0 };
	uint64_t loads[STAGES_MAX] = { 0 };

	for (uint32_t i = 0; i < g->stage_count; i++) {
		loads[parts[i]] += g->service_ns[i];
		if (loads[parts[i]] > q.heaviest_ns)
			q.heaviest_ns = loads[parts[i]];
		for (uint32_t j = 0; j < g->stage_count; j++)
			if (parts[i] != parts[j])
				q.passed_count += g->sent_counts[i][j];
	}
	return q;
}

/*
 * Cut the graph, check the rules that hold for any graph, and return the number
 * of parts.
 */
static uint32_t cut(const struct stage_graph *g, uint32_t part_count,
		    uint32_t *parts)
{
	uint32_t again[STAGES_MAX], used = 0;

	CHECK(graph_cut(g, part_count, parts));
	for (uint32_t i = 0; i < g->stage_count; i++) {
		CHECK_NUMBER(parts[i], <, part_count);
		CHECK_NUMBER(parts[i], <=, used);
		used += parts[i] == used;
	}
	(void)rand(); /* so that graph_cut() may not depend on rand()'s state */
	CHECK(graph_cut(g, part_count, again));
	CHECK(memcmp(parts, again, g->stage_count * sizeof(*parts)) == 0);
	return used;
}

static void send_along(struct stage_graph *g, uint32_t from, uint32_t to,
		       uint64_t count)
{
	g->sent_counts[from][to] += count;
}

static void test_pictures_are_decode_and_the_rest(void)
{
	struct stage_graph g = {
		.stage_count = 4,
		.names = { "decode", "scale", "blur", "encode" },
		.service_ns = { 88000000, 5000000, 3000000, 4000000 },
		.sent_counts = { [0][1] = 1000, [1][2] = 1000, [2][3] = 1000 },
	};
	static const uint32_t expected[] = { 0, 1, 1, 1 };
	uint32_t parts[STAGES_MAX];

	CHECK_NUMBER(cut(&g, 2, parts), ==, 2);
	CHECK(memcmp(parts, expected, sizeof(expected)) == 0);
	CHECK_NUMBER(cut(&g, 1, parts), ==, 1);
	/* Decode gets a part of its own, however the rest is divided. */
	CHECK_NUMBER(cut(&g, 3, parts), ==, 3);
	CHECK_NUMBER(parts[1], >, 0);
	CHECK_NUMBER(parts[2], >, 0);
	CHECK_NUMBER(parts[3], >, 0);
	/*
	 * The last stage does nearly all the work; the others still share a
	 * part.
	 */
	g.service_ns[3] = UINT64_C(1000000000000);
	CHECK_NUMBER(cut(&g, 2, parts), ==, 2);
	CHECK_NUMBER(parts[0], ==, 0);
	CHECK_NUMBER(parts[3], ==, 1);
}

/*
 * The site search engine of Gordon, figure 4.16.  It has three paths; the one
 * for several terms does the most work, in its set combiner.
 */
static void test_search_engine_keeps_its_combiner_alone(void)
{
	enum {
		QUERY_DECODER,
		TITLE_INDEX,
		TOKENIZER,
		STOPWORDS,
		EXACT_SPELL,
		DM_SPELL,
		STEMMER,
		SINGLE_TERM,
		RESULTS_CACHE,
		MULTI_TERM,
		COMBINER,
		CONTENT_INDEX,
		FORMATTER,
		DEFLATER,
		STAGES,
	};
	struct stage_graph g = {
		.stage_count = STAGES,
		.service_ns = { 20, 60, 50, 10, 30, 20, 20, 30, 10, 80, 400, 80,
				70, 120 },
	};
	uint32_t parts[STAGES_MAX];

	send_along(&g, QUERY_DECODER, TITLE_INDEX, 1000);
	send_along(&g, TITLE_INDEX, CONTENT_INDEX, 400);
	send_along(&g, TITLE_INDEX, TOKENIZER, 600);
	send_along(&g, TOKENIZER, STOPWORDS, 600);
	send_along(&g, STOPWORDS, EXACT_SPELL, 600);
	send_along(&g, EXACT_SPELL, DM_SPELL, 50);
	send_along(&g, DM_SPELL, TITLE_INDEX, 50);
	send_along(&g, EXACT_SPELL, STEMMER, 550);
	send_along(&g, STEMMER, SINGLE_TERM, 200);
	send_along(&g, STEMMER, RESULTS_CACHE, 350);
	send_along(&g, SINGLE_TERM, CONTENT_INDEX, 200);
	send_along(&g, RESULTS_CACHE, MULTI_TERM, 300);
	send_along(&g, MULTI_TERM, COMBINER, 300);
	send_along(&g, COMBINER, CONTENT_INDEX, 300);
	send_along(&g, CONTENT_INDEX, FORMATTER, 900);
	send_along(&g, FORMATTER, DEFLATER, 900);

	CHECK_NUMBER(cut(&g, 2, parts), ==, 2);
	CHECK_NUMBER(quality_of(&g, parts).heaviest_ns, <=, 550);
	CHECK_NUMBER(quality_of(&g, parts).passed_count, <=, 1300);
	CHECK_NUMBER(cut(&g, 4, parts), >=, 3);
	for (uint32_t i = 0; i < STAGES; i++)
		CHECK(i == COMBINER || parts[i] != parts[COMBINER]);
	CHECK_NUMBER(quality_of(&g, parts).heaviest_ns, ==, 400);
}

static struct stage_graph random_graph(void)
{
	struct stage_graph g = { .stage_count = 3 + (uint32_t)(rand() % 6) };

	for (uint32_t i = 0; i < g.stage_count; i++) {
		g.service_ns[i] =
			(uint64_t)(rand() % 10000) * (rand() % 4 == 0 ? 10 : 1);
		if (i > 0)
			send_along(&g, i - 1, i, 1 + (uint64_t)(rand() % 1000));
	}
	for (uint32_t i = 0; i < g.stage_count / 2; i++)
		send_along(&g, (uint32_t)rand() % g.stage_count,
			   (uint32_t)rand() % g.stage_count,
			   (uint64_t)(rand() % 1000));
	return g;
}

/* Advance to the next assignment, like a counter; false after the last one. */
static bool advance(uint32_t *parts, uint32_t stage_count, uint32_t part_count)
{
	for (uint32_t i = 0; i < stage_count; i++) {
		if (++parts[i] < part_count)
			return true;
		parts[i] = 0;
	}
	return false;
}

static bool uses_all(const uint32_t *parts, uint32_t stage_count,
		     uint32_t part_count)
{
	uint32_t used = 0, count = 0;

	for (uint32_t i = 0; i < stage_count; i++)
		used |= 1u << parts[i];
	for (uint32_t p = 0; p < part_count; p++)
		count += used >> p & 1;
	return count == (part_count < stage_count ? part_count : stage_count);
}

/*
 * Over all assignments without an empty part: the least work of the heaviest
 * part; and the fewest events between parts among those whose heaviest part is
 * at most `heaviest_ns`.
 */
static struct quality best_of_all(const struct stage_graph *g,
				  uint32_t part_count, uint64_t heaviest_ns)
{
	struct quality best = { UINT64_MAX, UINT64_MAX };
	uint32_t parts[RANDOM_STAGES_MAX] = { 0 };

	do {
		if (!uses_all(parts, g->stage_count, part_count))
			continue;
		struct quality q = quality_of(g, parts);

		if (q.heaviest_ns < best.heaviest_ns)
			best.heaviest_ns = q.heaviest_ns;
		if (q.heaviest_ns <= heaviest_ns &&
		    q.passed_count < best.passed_count)
			best.passed_count = q.passed_count;
	} while (advance(parts, g->stage_count, part_count));
	return best;
}

/*
 * The result divided by the best possible one is 1.18 for the worst of these
 * graphs, 1.10 for all together.
 */
static void test_near_the_best_of_all_assignments(void)
{
	uint64_t passed_total = 0, least_total = 0;

	for (unsigned int i = 0; i < RANDOM_GRAPHS; i++) {
		srand(i);
		struct stage_graph g = random_graph();
		uint32_t part_count = 2 + (uint32_t)(rand() % 3);
		uint32_t parts[STAGES_MAX];

		(void)cut(&g, part_count, parts);
		struct quality q = quality_of(&g, parts);
		struct quality best =
			best_of_all(&g, part_count, q.heaviest_ns);

		CHECK_NUMBER((double)q.heaviest_ns, <=,
			     1.25 * (double)best.heaviest_ns);
		passed_total += q.passed_count;
		least_total += best.passed_count;
	}
	CHECK_NUMBER((double)passed_total, <=, 1.25 * (double)least_total);
}

static void test_without_weights_a_line_is_divided(void)
{
	static const uint32_t thirds[] = { 0, 0, 0, 1, 1, 2, 2 };
	struct stage_graph g = { .stage_count = 7 };
	uint32_t parts[STAGES_MAX];

	CHECK_NUMBER(cut(&g, 3, parts), ==, 3);
	CHECK(memcmp(parts, thirds, sizeof(thirds)) == 0);
	/* to itself, so it does not pass between parts */
	send_along(&g, 3, 3, 100);
	CHECK_NUMBER(cut(&g, 3, parts), ==, 3);
	CHECK(memcmp(parts, thirds, sizeof(thirds)) == 0);
}

static void test_some_weights_are_enough(void)
{
	struct stage_graph g = { .stage_count = 6 };
	uint32_t parts[STAGES_MAX];

	/* No events pass, so the two stages with equal work are separated. */
	g.service_ns[1] = g.service_ns[4] = 100;
	CHECK_NUMBER(cut(&g, 2, parts), ==, 2);
	CHECK_NUMBER(parts[1], !=, parts[4]);
	/*
	 * Without work the parts have three stages each, and stages that
	 * exchange events stay together.
	 */
	g = (struct stage_graph){ .stage_count = 6 };
	send_along(&g, 0, 2, 10);
	send_along(&g, 4, 2, 10);
	send_along(&g, 1, 3, 10);
	send_along(&g, 5, 3, 10);
	CHECK_NUMBER(cut(&g, 2, parts), ==, 2);
	CHECK_NUMBER(quality_of(&g, parts).passed_count, ==, 0);
}

static void test_any_number_of_parts(void)
{
	uint32_t parts[STAGES_MAX];

	for (uint32_t stages = 1; stages <= STAGES_MAX; stages++) {
		struct stage_graph g = { .stage_count = stages };

		for (uint32_t i = 0; i < stages; i++) {
			g.service_ns[i] = UINT64_MAX - i;
			for (uint32_t j = 0; j < stages; j++)
				g.sent_counts[i][j] = UINT64_MAX;
		}
		for (uint32_t count = 1; count <= stages; count++)
			CHECK_NUMBER(cut(&g, count, parts), ==, count);
		CHECK_NUMBER(cut(&g, stages, parts), ==, stages);
		CHECK_NUMBER(cut(&g, stages + 1, parts), ==, stages);
		CHECK_NUMBER(cut(&g, UINT32_MAX, parts), ==, stages);
	}
}

int main(void)
{
	test_pictures_are_decode_and_the_rest();
	test_search_engine_keeps_its_combiner_alone();
	test_near_the_best_of_all_assignments();
	test_without_weights_a_line_is_divided();
	test_some_weights_are_enough();
	test_any_number_of_parts();
	return 0;
}
