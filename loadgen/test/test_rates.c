/* SPDX-License-Identifier: MIT */
/*
 * Steps and objectives are read as they are written; a search finds the rate to
 * within 2 %.
 */
#include "loadgen/rates.h"

#include "base/test/check.h"
#include "base/util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void expect(const char *text, int count, double last_per_s,
		   double duration_s)
{
	struct steps s;
	struct error error;

	CHECK(steps_parse(&s, text, &error));
	CHECK_NUMBER(steps_count(&s), ==, count);
	CHECK_NUMBER(fabs(steps_rate_per_s(&s, count - 1) / last_per_s - 1), <,
		     1e-9);
	CHECK_NUMBER(s.duration_s, ==, duration_s);
}

static void test_good(void)
{
	expect("10:100:10:30", 10, 100, 30);
	expect("10:105:10:30", 10, 100, 30);
	expect("5:5:1:0.5", 1, 5, 0.5);
	expect("5:6:9:0.5", 1, 5, 0.5);
	expect("0.1:0.3:0.1:1", 3, 0.3, 1); /* 0.1 + 2 * 0.1 > 0.3 */
	expect("1:1000:1:1", 1000, 1000, 1);
}

static void expect_error(const char *text, const char *part)
{
	struct steps s = { .from_per_s = 7 };
	struct error error;

	CHECK(!steps_parse(&s, text, &error));
	CHECK_PART(error.text, text);
	CHECK_PART(error.text, part);
	CHECK_NUMBER(s.from_per_s, ==, 7);
}

static void test_bad(void)
{
	expect_error("", "FROM:TO:BY:SECONDS");
	expect_error("10", "FROM:TO:BY:SECONDS");
	expect_error("10:20:1", "FROM:TO:BY:SECONDS");
	expect_error("10:20:1:1:", "FROM:TO:BY:SECONDS");
	expect_error("10:20::1", "FROM:TO:BY:SECONDS");
	expect_error("10:20:0:1", "FROM:TO:BY:SECONDS");
	expect_error("10:20:-1:1", "FROM:TO:BY:SECONDS");
	expect_error("10:20:1:1x", "FROM:TO:BY:SECONDS");
	expect_error("10:2000001:1:1", "FROM:TO:BY:SECONDS");
	expect_error("10: 20:1:1", "FROM:TO:BY:SECONDS");
	expect_error("60:20:20:1", "TO, 20, is less than FROM, 60");
	expect_error("1:1001:1:1", "not 1 to 1000 steps");
	expect_error("1:1000000:0.001:1", "not 1 to 1000 steps");
}

static void expect_objective(const char *text, enum figure figure,
			     double below_ms, double errors_below)
{
	struct objective o;
	struct error error;

	CHECK(objective_parse(&o, text, &error));
	CHECK_NUMBER(o.figure, ==, figure);
	CHECK_NUMBER(o.below_ms, ==, below_ms);
	CHECK_NUMBER(o.errors_below, ==, errors_below);
}

static void test_grammar(void)
{
	expect_objective("p90<200ms", FIGURE_P90, 200, 0);
	expect_objective("p50 < 1.5 s", FIGURE_P50, 1500, 0);
	expect_objective("p99<3s", FIGURE_P99, 3000, 0);
	expect_objective("p99<3e0s", FIGURE_P99, 3000, 0);
	expect_objective("p99.9<3s", FIGURE_P999, 3000, 0);
	expect_objective("  max  <  .5  ms  ", FIGURE_MAX, 0.5, 0);
	expect_objective("mean<2ms,errors<1%", FIGURE_MEAN, 2, 0.01);
	expect_objective("mean < 2 ms , errors < 100 %", FIGURE_MEAN, 2, 1);
}

static void test_anything_else_is_refused(void)
{
	static const char *const texts[] = {
		"",
		"p90",
		"p90<",
		"p90<200",
		"p90<200 m",
		"p90<200ms,",
		"p90<200ms errors<1%",
		"p90<200ms,errors<1",
		"p90<200ms,errors<101%",
		"p90<200ms,p99<1s",
		"errors<1%",
		"p95<200ms",
		"p9<200ms",
		"p90>200ms",
		"p90<=200ms",
		"p90<0ms",
		"p90<-1ms",
		"p90<1.2.3ms",
		"p90<.ms",
		"p90<infs",
		"p90<0x1ms",
		"p90<200msx",
		"P90<200ms",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct objective o = { .below_ms = 7 };
		char quoted[64] = "'";
		struct error error;

		CHECK(!objective_parse(&o, texts[i], &error));
		strcat(strcat(quoted, texts[i]), "'");
		CHECK_PART(error.text, quoted);
		CHECK_NUMBER(o.below_ms, ==, 7);
	}
}

static void test_the_mistake_is_named(void)
{
	static const char *const cases[][2] = {
		{ "p90<200", "': the unit is missing: ms or s; not as p90" },
		{ " p90 < 200 , errors < 1 %", "the unit is missing" },
		{ "p95<200ms", "there is no p95 at the begin; there are mean, "
			       "p50, p90, p99, p99.9 and max; not as" },
		{ "errors<1%", "there is no errors at the begin; there are" },
		{ "p90>200ms", "': only <; not as" },
		{ "p90 <= 200 ms", "': only <; not as" },
		{ "p90", "'p90': not as p90 < 200 ms" },
		{ "p90<200ms,", "': not as" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct objective o;
		struct error error;

		CHECK(!objective_parse(&o, cases[i][0], &error));
		CHECK_PART(error.text, cases[i][1]);
	}
}

static void test_printed_as_parsed(void)
{
	struct objective o;
	struct error error;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	CHECK(out != NULL);
	CHECK(objective_parse(&o, "p99.9<1.5s,errors<0.5%", &error));
	objective_print(out, &o);
	CHECK_NUMBER(fclose(out), ==, 0);
	CHECK_TEXT(text, "p99.9 < 1500 ms, errors < 0.5 %");
	free(text);
}

/* 100 per second for 10 s, all 2xx: p90 is 199 ms, mean and max 300 ms. */
static struct rate_trial good_trial(struct summary *response_ns)
{
	for (int i = 0; i < FIGURE_COUNT; i++)
		response_ns->figures[i] = 300e6;
	response_ns->figures[FIGURE_P90] = 199e6;
	return (struct rate_trial){
		.rate_per_s = 100,
		.request_count = 1000,
		.ok_count = 1000,
		.in_time_count = 980,
		.response_ns = response_ns,
	};
}

static void test_time(void)
{
	struct summary ns;
	struct rate_trial t = good_trial(&ns);
	struct objective o = { .figure = FIGURE_P90, .below_ms = 200 };

	CHECK_NUMBER(objective_judge(&o, &t), ==, SHORTFALL_NONE);
	ns.figures[FIGURE_P90] = 200e6;
	CHECK_NUMBER(objective_judge(&o, &t), ==, SHORTFALL_SLOW);
	o.below_ms = 301;
	o.figure = FIGURE_MAX;
	CHECK_NUMBER(objective_judge(&o, &t), ==, SHORTFALL_NONE);
	o.below_ms = 299;
	CHECK_NUMBER(objective_judge(&o, &t), ==, SHORTFALL_SLOW);
	t.response_ns = NULL;
	CHECK_NUMBER(objective_judge(&o, &t), ==, SHORTFALL_SLOW);
}

/* No verdict on a percentile from too few replies; other reasons go before. */
static void test_too_few_replies(void)
{
	struct summary ns;
	struct rate_trial t = good_trial(&ns);
	struct objective o = { .figure = FIGURE_P99, .below_ms = 400 };

	ns.figures[FIGURE_P99] = NAN;
	CHECK_NUMBER(objective_judge(&o, &t), ==, SHORTFALL_FEW);
	t.in_time_count = 0;
	CHECK_NUMBER(objective_judge(&o, &t), ==, SHORTFALL_BEHIND);
	/* 1,000 replies, and four standard deviations of a Poisson process */
	CHECK_NUMBER(fabs(objective_least_s(&o, 100) - 11.265), <, 0.001);
	o.figure = FIGURE_P90;
	CHECK_NUMBER(fabs(objective_least_s(&o, 10) - 14), <, 1e-9);
	o.figure = FIGURE_MAX;
	CHECK_NUMBER(objective_least_s(&o, 10), ==, 0);
}

static void test_errors(void)
{
	struct summary ns;
	struct rate_trial t = good_trial(&ns);
	struct objective o = { .figure = FIGURE_P90, .below_ms = 200 };

	t.ok_count = 999;
	CHECK_NUMBER(objective_judge(&o, &t), ==, SHORTFALL_ERRORS);
	o.errors_below = 0.01;
	CHECK_NUMBER(objective_judge(&o, &t), ==, SHORTFALL_NONE);
	t.ok_count = 991;
	CHECK_NUMBER(objective_judge(&o, &t), ==, SHORTFALL_NONE);
	t.ok_count = 990;
	CHECK_NUMBER(objective_judge(&o, &t), ==, SHORTFALL_ERRORS);
}

/*
 * 40 requests may be unanswered: 2 % are 20, and 20 more are in flight if each
 * takes 200 ms.
 */
static void test_falling_behind(void)
{
	struct summary ns;
	struct rate_trial t = good_trial(&ns);
	struct objective o = { .figure = FIGURE_P90, .below_ms = 200 };

	t.in_time_count = 960;
	CHECK_NUMBER(objective_judge(&o, &t), ==, SHORTFALL_NONE);
	t.in_time_count = 959;
	CHECK_NUMBER(objective_judge(&o, &t), ==, SHORTFALL_BEHIND);
	o.below_ms = 1000;
	CHECK_NUMBER(objective_judge(&o, &t), ==, SHORTFALL_NONE);
}

/* Two of two or three: each order of the results of three runs. */
static void test_vote(void)
{
	for (int order = 0; order < 8; order++) {
		const bool met[] = { order & 1, order & 2, order & 4 };
		bool is_split = met[0] != met[1];
		struct vote v = { 0 };
		int runs = 0;

		while (vote_is_open(&v)) {
			CHECK_NUMBER(runs, <, 3);
			*(met[runs] ? &v.met : &v.missed) += 1;
			runs++;
		}
		CHECK_NUMBER(runs, ==, (is_split ? 3 : 2));
		CHECK_NUMBER(vote_result(&v), ==, met[is_split ? 2 : 0]);
	}
}

enum { TRIALS_MAX = 60 };

/* Returns the number of trials. */
static int run(struct search *s, double capacity_per_s)
{
	double rate_per_s;
	int trials = 0;

	while ((rate_per_s = search_next(s)) != 0) {
		CHECK_NUMBER(rate_per_s, >=, s->lowest_per_s);
		CHECK_NUMBER(rate_per_s, <=, 1e6);
		CHECK_NUMBER(++trials, <=, TRIALS_MAX);
		search_note(s, rate_per_s <= capacity_per_s);
	}
	return trials;
}

static void test_within_two_per_cent(void)
{
	static const double firsts[] = { 0.01, 1, 10, 317, 1e6 };

	for (int i = 0; i < 5; i++)
		for (double c = 0.0011; c < 9e5; c *= 1.37) {
			struct search s = { .first_per_s = firsts[i],
					    .lowest_per_s = 0.001 };

			run(&s, c);
			CHECK_NUMBER(s.held_per_s, <=, c);
			CHECK_NUMBER(s.failed_per_s, >, c);
			CHECK_NUMBER(s.failed_per_s, <=, 1.02 * s.held_per_s);
		}
}

static void test_known_course(void)
{
	static const struct {
		double rate_per_s;
		bool holds;
	} course[] = {
		{ 10, true },    { 20, true },     { 40, false },
		{ 30, true },    { 35, false },    { 32.5, true },
		{ 33.75, true }, { 34.375, true },
	};
	struct search s = { .first_per_s = 10, .lowest_per_s = 0.001 };

	for (int i = 0; i < 8; i++) {
		CHECK_NUMBER(search_next(&s), ==, course[i].rate_per_s);
		search_note(&s, course[i].holds);
	}
	CHECK_NUMBER(search_next(&s), ==, 0);
	CHECK_NUMBER(s.held_per_s, ==, 34.375);
}

static void test_halves_until_one_holds(void)
{
	struct search s = { .first_per_s = 100, .lowest_per_s = 0.001 };

	search_note(&s, false);
	CHECK_NUMBER(search_next(&s), ==, 50);
	search_note(&s, false);
	CHECK_NUMBER(search_next(&s), ==, 25);
	search_note(&s, true);
	CHECK_NUMBER(search_next(&s), ==, 37.5);
}

static void test_ends_without_a_limit(void)
{
	struct search never = { .first_per_s = 10, .lowest_per_s = 0.001 };
	struct search always = { .first_per_s = 10, .lowest_per_s = 0.001 };

	run(&never, 0);
	CHECK_NUMBER(never.held_per_s, ==, 0);
	run(&always, 1e9);
	CHECK_NUMBER(always.failed_per_s, ==, 0);
	CHECK_NUMBER(always.held_per_s, ==, 1e6);
}

int main(void)
{
	test_good();
	test_bad();
	test_grammar();
	test_anything_else_is_refused();
	test_the_mistake_is_named();
	test_printed_as_parsed();
	test_time();
	test_too_few_replies();
	test_errors();
	test_falling_behind();
	test_vote();
	test_within_two_per_cent();
	test_known_course();
	test_halves_until_one_holds();
	test_ends_without_a_limit();
	return 0;
}
