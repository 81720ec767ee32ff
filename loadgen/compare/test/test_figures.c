/* SPDX-License-Identifier: MIT */
/*
 * Promise: figures are taken from the results, and a value that the results
 * lack is missing.
 */
#include "loadgen/compare/figures.h"

#include "base/test/check.h"
#include "loadgen/compare/results.h"
#include "loadgen/report/samples.h"

#include <math.h>
#include <string.h>

static const char plan_text[] =
	"{ \"title\": \"T\", \"dataset\": \"D\","
	"\"closed\": { \"connections\": 1, \"passes\": 1 },"
	"\"open\": { \"percent_of_capacity\": [50, 80], \"duration_s\": 1 },"
	"\"arms\": [ { \"name\": \"slow\", \"url\": \"http://h/\" },"
	"{ \"name\": \"fast\", \"url\": \"http://h/\" },"
	"{ \"name\": \"unmeasured\", \"url\": \"http://h/\" } ] }";

static const char slow_text[] =
	"{ \"bytes_per_s\": 1e6, \"responses_per_s\": 50,"
	"\"server_counter\": { \"name\": \"a_bytes_total\", \"per_s\": 3e6 },"
	"\"makespan_s\": 12, \"response_ms\": { \"p90\": 20 },"
	"\"server\": { \"cpu_s\": 5, \"cpu_percent\": 90,"
	"\"peak_memory_bytes\": 10485760, \"voluntary_switches\": 300,"
	"\"involuntary_switches\": 200 }, \"client_cpu_s\": 0.5,"
	"\"responses\": { \"200\": 100, \"503\": 7 }, \"requests\": 107,"
	"\"machine\": { \"disturbed_percent\": 7 },"
	"\"half_means_ms\": [ 4, 6 ],"
	"\"warnings\": [ \"9 % late\" ],"
	"\"percentiles\": [ [0, 1], [50, 10], [90, 20], [91, 40] ],"
	"\"intervals\": [ { \"end_s\": 5, \"bytes_per_s\": 2e6 },"
	"{ \"end_s\": 10, \"bytes_per_s\": 3e6 },"
	"{ \"end_s\": 12, \"bytes_per_s\": 9e6 } ] }";

/* Of a run that was made again, nothing is used. */
static const char disturbed_text[] =
	"{ \"bytes_per_s\": 9e9, \"machine\": { \"disturbed_percent\": 60 },"
	"\"warnings\": [ \"never shown\" ], \"responses\": { \"200\": 5 } }";

static const char fast_text[] =
	"{ \"bytes_per_s\": 4e6, \"requests\": 10,"
	"\"server\": null, \"responses\": { \"200\": 10 },"
	"\"response_ms\": { \"p90\": 20 },"
	"\"percentiles\": [ [0, 1], [50, 8], [75, 9] ],"
	"\"intervals\": [ { \"end_s\": 2, \"bytes_per_s\": 4e6 } ] }";

static const char open_text[] =
	"{ \"bytes_per_s\": 1, \"rate_per_s\": 80, \"requests\": 2000,"
	"\"responses\": { \"200\": 1500 },"
	"\"warnings\": [ \"15.5 % late\", \"early\" ],"
	"\"response_ms\": { \"p50\": 1, \"p90\": 2, \"p99\": 3 },"
	"\"size_classes\": [ { \"count\": 100, \"response_ms\": { \"p90\": 4 } "
	"},"
	"{}, {}, { \"count\": 999, \"response_ms\": { \"p90\": 4.5, \"p99\": 5 "
	"} }"
	"] }";

static struct plan plan;
static cJSON *results;

static void add_attempt(const char *arm, enum load load, double percent,
			const char *text, uint64_t repetition, bool is_repeated)
{
	struct results_run run = {
		.arm = arm,
		.load = load,
		.repetition = repetition,
		.percent_of_capacity = percent,
		.attempt = 1,
		.is_repeated = is_repeated,
	};
	cJSON *result = cJSON_Parse(text);

	CHECK(result != NULL);
	results_add(results, &run, result);
}

static void add(const char *arm, enum load load, double percent,
		const char *text)
{
	add_attempt(arm, load, percent, text, 1, false);
}

static void make_results(void)
{
	struct error error;

	CHECK(plan_read(&plan, cJSON_Parse(plan_text), &error));
	results = results_new(&plan);
	add("slow", LOAD_WARM_UP, 0, fast_text);
	add_attempt("slow", LOAD_CLOSED, 0, disturbed_text, 1, true);
	add("slow", LOAD_CLOSED, 0, slow_text);
	add_attempt("slow", LOAD_CLOSED, 0, slow_text, 2, false);
	add("fast", LOAD_CLOSED, 0, fast_text);
	add("slow", LOAD_OPEN, 80, open_text);
	add("nobody", LOAD_CLOSED, 0, slow_text);
}

static void expect(const struct arm_figures *arm, enum metric metric,
		   size_t count, double value)
{
	const struct sample *s = &arm->metrics[metric];

	CHECK_NUMBER(s->count, ==, count);
	for (size_t i = 0; i < count; i++)
		CHECK_NUMBER(fabs(s->values[i] - value), <, 1e-9);
}

static void test_metrics(const struct figures *f)
{
	const struct arm_figures *slow = &f->arms[0];

	expect(slow, METRIC_MEGABYTES_PER_S, 2, 1);
	expect(slow, METRIC_MAKESPAN_S, 2, 12);
	expect(slow, METRIC_RESPONSES_PER_S, 2, 50);
	expect(slow, METRIC_REFUSED_PERCENT, 2, 700.0 / 107);
	expect(slow, METRIC_P90_MS, 2, 20);
	expect(slow, METRIC_CPU_PERCENT, 2, 90);
	/* the last interval is shorter, so it does not count */
	expect(slow, METRIC_UPLOADS_MBIT_S, 2, 24);
	expect(slow, METRIC_CPU_MS_PER_IMAGE, 2, 50);
	expect(slow, METRIC_PEAK_MEMORY_MIB, 2, 10);
	expect(slow, METRIC_SWITCHES_PER_IMAGE, 2, 5);
	expect(slow, METRIC_CLIENT_PERCENT, 2, 10);
	expect(slow, METRIC_GROWTH, 2, 1.5);
	expect(slow, METRIC_COUNTED_PER_S, 2, 3);
	CHECK_NUMBER(f->disturbances.repeated, ==, 1);
	CHECK_NUMBER(slow->disturbed_runs, ==, 2);
	CHECK_NUMBER(slow->worst_percent, ==, 7);
}

static void test_missing(const struct figures *f)
{
	const struct arm_figures *fast = &f->arms[1];

	expect(fast, METRIC_MEGABYTES_PER_S, 1, 4);
	expect(fast, METRIC_UPLOADS_MBIT_S, 0, 0); /* shorter than 5 s */
	expect(fast, METRIC_REFUSED_PERCENT, 1, 0);
	expect(fast, METRIC_CPU_PERCENT, 0, 0);
	expect(fast, METRIC_CPU_MS_PER_IMAGE, 0, 0);
	expect(fast, METRIC_P90_MS, 0, 0);
	expect(fast, METRIC_COUNTED_PER_S, 0, 0);
}

static void test_order(const struct figures *f)
{
	/* the arm that was not measured is left out */
	CHECK_NUMBER(f->arm_count, ==, 2);
	CHECK_TEXT(f->arms[0].name, "slow");
	CHECK_NUMBER(f->ranked[0], ==, &f->arms[1]);
	CHECK_NUMBER(f->ranked[1], ==, &f->arms[0]);
	CHECK_NUMBER(f->arms[1].number, ==, 1);
}

static void test_rungs(const struct figures *f)
{
	const struct arm_figures *slow = &f->arms[0];

	/* Ten of 100 are slower than the 90th percentile, 9 than the 91st. */
	CHECK_NUMBER(slow->rung_count, ==, 3);
	CHECK_NUMBER(f->arms[1].rung_count, ==, 1);
	CHECK_NUMBER(slow->rungs[1].percent, ==, 50);
	CHECK_NUMBER(slow->rungs[1].ms.count, ==, 2);
	CHECK_NUMBER(slow->rungs[1].ms.values[0], ==, 10);
	CHECK_NUMBER(slow->rungs[2].percent, ==, 90);
}

/* A run with many replies has many rungs; ten replies are slower than each. */
static void test_all_rungs(void)
{
	struct samples samples = { 0 };
	struct samples_rung rung;
	struct figures f;
	cJSON *result = cJSON_Parse(fast_text);
	cJSON *long_results = results_new(&plan);
	struct results_run run = { .arm = "fast",
				   .load = LOAD_CLOSED,
				   .repetition = 1 };
	cJSON *pairs = cJSON_CreateArray();
	size_t count = 0, kept = 0;

	for (int i = 1; i <= 2350; i++) {
		CHECK(samples_reserve(&samples));
		samples_add(&samples, i);
	}
	while (samples_rung(&samples, (unsigned)count, &rung)) {
		const double pair[] = { 100 * rung.percentile, rung.value };

		cJSON_AddItemToArray(pairs, cJSON_CreateDoubleArray(pair, 2));
		count++;
		kept += rung.count <= 2350 - 10;
	}
	samples_release(&samples);
	cJSON_ReplaceItemInObject(result, "percentiles", pairs);
	cJSON_ReplaceItemInObject(result, "responses",
				  cJSON_Parse("{ \"200\": 2350 }"));
	results_add(long_results, &run, result);
	CHECK(figures_init(&f, &plan, long_results));
	CHECK_NUMBER(kept, >, 30);
	CHECK_NUMBER(kept, <, count);
	CHECK_NUMBER(f.arms[0].rung_count, ==, kept);
	CHECK_NUMBER(f.arms[0].rungs[kept - 1].ms.values[0], <=, 2340);
	figures_release(&f);
	cJSON_Delete(long_results);
}

static void test_open_loop(const struct figures *f)
{
	const struct sample *open = f->arms[0].open[1];

	CHECK_NUMBER(f->arms[0].open[0][OPEN_P90_MS].count, ==, 0);
	CHECK_NUMBER(open[OPEN_RATE_PER_S].values[0], ==, 80);
	CHECK_NUMBER(open[OPEN_P99_MS].values[0], ==, 3);
	CHECK_NUMBER(open[OPEN_SMALLEST_P90_MS].values[0], ==, 4);
	CHECK_NUMBER(open[OPEN_LARGEST_P90_MS].values[0], ==, 4.5);
	CHECK_NUMBER(open[OPEN_LARGEST_P99_MS].count, ==, 0); /* of 999 */
	CHECK_NUMBER(open[OPEN_FAILED_PERCENT].values[0], ==, 25);
}

/*
 * What one run lacks, the arm lacks: a slice without enough replies for a p90,
 * or a run of the open loop without enough for a p99.
 */
static void test_what_one_run_lacks(void)
{
	static const char short_text[] =
		"{ \"bytes_per_s\": 1e6, \"responses\": { \"200\": 99 },"
		"\"response_ms\": { \"p90\": 20 },"
		"\"percentiles\": [ [0, 1], [50, 10] ] }";
	static const char short_open_text[] =
		"{ \"rate_per_s\": 80, \"responses\": { \"200\": 999 },"
		"\"response_ms\": { \"p50\": 1, \"p90\": 2, \"p99\": 3 } }";
	cJSON *complete = results;
	struct figures f;
	const struct arm_figures *slow;

	results = cJSON_Duplicate(complete, 1);
	add("slow", LOAD_CLOSED, 0, short_text); /* another slice of it */
	add_attempt("slow", LOAD_OPEN, 80, short_open_text, 2, false);
	CHECK(figures_init(&f, &plan, results));
	slow = &f.arms[0];
	expect(slow, METRIC_MEGABYTES_PER_S, 2, 1);
	expect(slow, METRIC_P90_MS, 0, 0);
	CHECK_NUMBER(slow->rungs[1].percent, ==, 50);
	CHECK_NUMBER(slow->rungs[1].ms.count, ==, 2);
	CHECK_NUMBER(slow->rungs[2].percent, ==, 90);
	CHECK_NUMBER(slow->rungs[2].ms.count, ==, 0);
	CHECK_NUMBER(slow->open[1][OPEN_P90_MS].count, ==, 2);
	CHECK_NUMBER(slow->open[1][OPEN_P99_MS].count, ==, 0);
	CHECK_NUMBER(slow->open[1][OPEN_SMALLEST_P90_MS].count, ==, 0);
	figures_release(&f);
	cJSON_Delete(results);
	results = complete;
}

/* Warnings that differ only in their numbers are shown once. */
static void test_warnings(const struct figures *f)
{
	CHECK_NUMBER(f->warning_count, ==, 2);
	CHECK_TEXT(f->warnings[0].arm, "slow");
	CHECK_TEXT(f->warnings[0].text, "9 % late");
	CHECK_NUMBER(f->warnings[0].count, ==, 3);
	CHECK_TEXT(f->warnings[1].text, "early");
	CHECK_NUMBER(f->warnings[1].count, ==, 1);
}

int main(void)
{
	struct figures figures;

	make_results();
	CHECK(figures_init(&figures, &plan, results));
	test_metrics(&figures);
	test_missing(&figures);
	test_order(&figures);
	test_rungs(&figures);
	test_all_rungs();
	test_open_loop(&figures);
	test_what_one_run_lacks();
	test_warnings(&figures);
	figures_release(&figures);
	cJSON_Delete(results);
	plan_release(&plan);
	return 0;
}
