/* SPDX-License-Identifier: MIT */
/* An objective is read as written, and kept by the trials it describes. */
#include "loadgen/objective.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void expect(const char *text, enum figure figure, double below_ms,
		   double errors_below)
{
	struct objective o;
	struct error error;

	assert(objective_parse(&o, text, &error));
	assert(o.figure == figure && o.below_ms == below_ms);
	assert(o.errors_below == errors_below);
}

static void test_grammar(void)
{
	expect("p90<200ms", FIGURE_P90, 200, 0);
	expect("p50 < 1.5 s", FIGURE_P50, 1500, 0);
	expect("p99<3s", FIGURE_P99, 3000, 0);
	expect("p99<3e0s", FIGURE_P99, 3000, 0);
	expect("p99.9<3s", FIGURE_P999, 3000, 0);
	expect("  max  <  .5  ms  ", FIGURE_MAX, 0.5, 0);
	expect("mean<2ms,errors<1%", FIGURE_MEAN, 2, 0.01);
	expect("mean < 2 ms , errors < 100 %", FIGURE_MEAN, 2, 1);
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

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct objective o = { .below_ms = 7 };
		char quoted[64] = "'";
		struct error error;

		assert(!objective_parse(&o, texts[i], &error));
		strcat(strcat(quoted, texts[i]), "'");
		assert(strstr(error.text, quoted) != NULL);
		assert(o.below_ms == 7);
	}
}

static void test_printed_as_parsed(void)
{
	struct objective o;
	struct error error;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert(out != NULL);
	assert(objective_parse(&o, "p99.9<1.5s,errors<0.5%", &error));
	objective_print(out, &o);
	assert(fclose(out) == 0);
	assert(strcmp(text, "p99.9 < 1500 ms, errors < 0.5 %") == 0);
	free(text);
}

/* 100 per second for 10 s, all well: p90 is 199 ms, mean and max 300 ms. */
static struct trial good_trial(struct summary *response_ns)
{
	for (int i = 0; i < FIGURE_COUNT; i++)
		response_ns->figures[i] = 300e6;
	response_ns->figures[FIGURE_P90] = 199e6;
	return (struct trial){
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
	struct trial t = good_trial(&ns);
	struct objective o = { .figure = FIGURE_P90, .below_ms = 200 };

	assert(objective_judge(&o, &t) == SHORTFALL_NONE);
	ns.figures[FIGURE_P90] = 200e6;
	assert(objective_judge(&o, &t) == SHORTFALL_SLOW);
	o.below_ms = 301;
	o.figure = FIGURE_MAX;
	assert(objective_judge(&o, &t) == SHORTFALL_NONE);
	o.below_ms = 299;
	assert(objective_judge(&o, &t) == SHORTFALL_SLOW);
	t.response_ns = NULL;
	assert(objective_judge(&o, &t) == SHORTFALL_SLOW);
}

static void test_errors(void)
{
	struct summary ns;
	struct trial t = good_trial(&ns);
	struct objective o = { .figure = FIGURE_P90, .below_ms = 200 };

	t.ok_count = 999;
	assert(objective_judge(&o, &t) == SHORTFALL_ERRORS);
	o.errors_below = 0.01;
	assert(objective_judge(&o, &t) == SHORTFALL_NONE);
	t.ok_count = 991;
	assert(objective_judge(&o, &t) == SHORTFALL_NONE);
	t.ok_count = 990;
	assert(objective_judge(&o, &t) == SHORTFALL_ERRORS);
}

/* 20 may be late as 2 %, and 20 more may be in flight for 200 ms each. */
static void test_falling_behind(void)
{
	struct summary ns;
	struct trial t = good_trial(&ns);
	struct objective o = { .figure = FIGURE_P90, .below_ms = 200 };

	t.in_time_count = 960;
	assert(objective_judge(&o, &t) == SHORTFALL_NONE);
	t.in_time_count = 959;
	assert(objective_judge(&o, &t) == SHORTFALL_BEHIND);
	o.below_ms = 1000;
	assert(objective_judge(&o, &t) == SHORTFALL_NONE);
}

int main(void)
{
	test_grammar();
	test_anything_else_is_refused();
	test_printed_as_parsed();
	test_time();
	test_errors();
	test_falling_behind();
	return 0;
}
