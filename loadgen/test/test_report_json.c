/* SPDX-License-Identifier: MIT */
/* JSON has every key, and null for a value that is not known. */
#include "loadgen/test/sample_report.h"

#include "base/test/check.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const cJSON *get(const cJSON *object, const char *name)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

	CHECK(item != NULL);
	return item;
}

static void expect_number(const cJSON *object, const char *name, double value)
{
	const cJSON *item = get(object, name);

	CHECK(cJSON_IsNumber(item));
	CHECK_NUMBER(fabs(item->valuedouble - value), <=, 1e-9 * fabs(value));
}

static void expect_text(const cJSON *object, const char *name, const char *text)
{
	CHECK_TEXT(get(object, name)->valuestring, text);
}

static void expect_null(const cJSON *object, const char *name)
{
	CHECK(cJSON_IsNull(get(object, name)));
}

static cJSON *parse(struct sample *s)
{
	char *text = sample_json(s);
	cJSON *object = cJSON_Parse(text);

	CHECK(object != NULL);
	free(text);
	return object;
}

static void expect_times(const cJSON *o)
{
	const cJSON *times = get(o, "response_ms");
	const cJSON *rungs = get(o, "percentiles");

	expect_number(times, "mean", 45.5);
	expect_number(times, "p50", 45);
	expect_null(times, "p90"); /* of 90 replies */
	expect_null(times, "p99");
	expect_null(times, "p99.9");
	expect_number(times, "max", 90);
	expect_number(get(o, "response_from_last_byte_ms"), "p50", 22.5);
	times = get(o, "response_from_first_byte_ms");
	expect_number(times, "max", 180);
	CHECK_NUMBER(cJSON_GetArrayItem(cJSON_GetArrayItem(rungs, 0), 0)
			     ->valuedouble,
		     ==, 0);
	CHECK_NUMBER(cJSON_GetArrayItem(cJSON_GetArrayItem(rungs, 5), 0)
			     ->valuedouble,
		     ==, 50);
	CHECK_NUMBER(cJSON_GetArrayItem(cJSON_GetArrayItem(rungs, 5), 1)
			     ->valuedouble,
		     ==, 45);
	rungs = cJSON_GetArrayItem(rungs, cJSON_GetArraySize(rungs) - 1);
	CHECK_NUMBER(cJSON_GetArrayItem(rungs, 0)->valuedouble, ==, 100);
	CHECK_NUMBER(cJSON_GetArrayItem(rungs, 1)->valuedouble, ==, 90);
}

/*
 * The size classes have the first reply, none, none, and the other replies.
 * The megapixel classes have only those others.
 */
static void expect_classes(const cJSON *o)
{
	const cJSON *classes = get(o, "size_classes");
	const cJSON *class = cJSON_GetArrayItem(classes, 0);

	CHECK_NUMBER(cJSON_GetArraySize(classes), ==, CLASS_COUNT);
	expect_text(class, "name", "< 50 KB");
	expect_number(class, "bytes_below", 50000);
	expect_number(class, "count", 1);
	expect_number(get(class, "response_ms"), "max", 1);
	class = cJSON_GetArrayItem(classes, 1);
	expect_number(class, "count", 0);
	expect_null(get(class, "response_ms"), "mean");
	class = cJSON_GetArrayItem(classes, CLASS_COUNT - 1);
	expect_null(class, "bytes_below");
	expect_number(class, "count", 89);
	expect_number(get(class, "response_ms"), "mean", 46);
	classes = get(o, "megapixel_classes");
	CHECK_NUMBER(cJSON_GetArraySize(classes), ==, CLASS_COUNT);
	class = cJSON_GetArrayItem(classes, 1);
	expect_number(class, "megapixels_below", 0.5);
	expect_number(class, "count", 89);
	class = cJSON_GetArrayItem(classes, CLASS_COUNT - 1);
	expect_null(class, "megapixels_below");
	expect_number(class, "count", 0);
}

/* Of 2 cores for 2 s, others took 0.5 s. */
static void test_machine(void)
{
	struct sample s;
	cJSON *o;
	const cJSON *machine;

	sample_init_closed(&s);
	sample_add_server(&s);
	s.outcome.machine = (struct machine_usage){ .cores = 2,
						    .busy_s = 2,
						    .steal_s = 0.25,
						    .load = 1.5,
						    .core_mhz = NAN };
	s.outcome.half_means_ns[0] = 2e6;
	s.outcome.half_means_ns[1] = 3e6;
	o = parse(&s);
	machine = get(o, "machine");
	expect_number(machine, "cores", 2);
	expect_number(machine, "busy_s", 2);
	expect_number(machine, "foreign_s", 0.25);
	expect_number(machine, "steal_s", 0.25);
	expect_number(machine, "disturbed_percent", 12.5);
	expect_number(machine, "load_average", 1.5);
	expect_null(machine, "core_mhz");
	CHECK_NUMBER(
		cJSON_GetArrayItem(get(o, "half_means_ms"), 1)->valuedouble, ==,
		3);
	cJSON_Delete(o);
	sample_release(&s);
}

static void test_closed_loop(void)
{
	struct sample s;
	cJSON *o;

	sample_init_closed(&s);
	o = parse(&s);
	expect_text(o, "schema", "darkroom-loadgen/1");
	expect_number(o, "bytes_per_s", 44.5e6);
	expect_number(o, "responses_per_s", 45);
	expect_number(o, "megapixels_per_s", 8.9);
	expect_number(o, "makespan_s", 2);
	expect_text(o, "response_time",
		    "from the last byte sent to the last byte received");
	expect_times(o);
	expect_classes(o);
	CHECK_NUMBER(cJSON_GetArraySize(get(o, "responses")), ==, 2);
	expect_number(get(o, "responses"), "200", 90);
	expect_number(get(o, "responses"), "503", 8);
	expect_number(o, "transport_errors", 2);
	expect_number(get(o, "transport_error_texts"), "reset", 2);
	expect_text(o, "first_failed", "b.jpg: status 503");
	expect_number(o, "client_cpu_s", 0.25);
	expect_number(o, "client_peak_memory_bytes", 7e6);
	expect_number(o, "requests", 100);
	expect_number(o, "uploaded_bytes", 89e6);
	expect_number(o, "connections", 4);
	expect_number(o, "passes", 2);
	expect_text(o, "url", "http://h/");
	expect_text(o, "dataset", "photos \"new\"");
	expect_number(o, "files", 50);
	expect_null(o, "server");
	expect_null(o, "machine");
	expect_null(o, "verify");
	expect_null(o, "golden");
	expect_null(o, "slowdown");
	CHECK(!cJSON_HasObjectItem(o, "duration_s"));
	CHECK(!cJSON_HasObjectItem(o, "rate_per_s"));
	CHECK(!cJSON_HasObjectItem(o, "schedule_lag_ms"));
	cJSON_Delete(o);
	sample_release(&s);
}

static void test_large_seeds_are_exact(void)
{
	struct sample s;
	char *text;

	sample_init_closed(&s);
	text = sample_json(&s);
	CHECK_PART(text, "18446744073709551615");
	free(text);
	sample_release(&s);
}

static void test_open_loop(void)
{
	struct sample s;
	cJSON *o;

	sample_init_open(&s);
	o = parse(&s);
	expect_number(o, "rate_per_s", 2.5);
	expect_text(o, "arrivals", "constant");
	expect_number(o, "waited_for_connection", 1);
	expect_number(get(o, "schedule_lag_ms"), "p90", 0.9);
	expect_text(o, "response_time",
		    "from the intended time to the last byte received");
	CHECK_NUMBER(cJSON_GetArraySize(get(o, "warnings")), ==, 0);
	cJSON_Delete(o);
	sample_release(&s);
}

static void test_what_was_asked_for(void)
{
	struct sample s;
	const cJSON *part;
	cJSON *o;

	sample_init_closed(&s);
	sample_add_server(&s);
	sample_ask_for_all(&s);
	o = parse(&s);
	part = get(o, "server");
	CHECK_NUMBER(cJSON_GetArraySize(get(part, "pids")), ==, 2);
	CHECK_TEXT(get(part, "name")->valuestring, "darkroom");
	CHECK_NUMBER(cJSON_GetArrayItem(get(part, "pids"), 1)->valueint, ==,
		     72);
	expect_number(part, "cpu_s", 1.5);
	expect_number(part, "cpu_percent", 75);
	expect_number(part, "peak_memory_bytes", 123e6);
	CHECK(cJSON_IsTrue(get(part, "peak_memory_is_of_run")));
	expect_number(part, "voluntary_switches", 11);
	expect_number(part, "involuntary_switches", 12);
	expect_number(get(o, "verify"), "checked", 90);
	expect_number(get(o, "verify"), "wrong", 0);
	expect_null(get(o, "verify"), "first_wrong");
	expect_number(get(o, "golden"), "wrong", 3);
	expect_text(get(o, "golden"), "first_wrong", "a.jpg: other");
	expect_number(get(o, "slowdown"), "p50", 90);
	part = cJSON_GetArrayItem(get(o, "size_classes"), 0);
	expect_number(get(part, "slowdown"), "mean", 2);
	cJSON_Delete(o);
	sample_release(&s);
}

static void test_intervals(void)
{
	struct sample s;
	const cJSON *part;
	cJSON *o;

	sample_init_closed(&s);
	s.outcome.makespan_ns = 7000000000;
	o = parse(&s);
	part = get(o, "intervals");
	CHECK_NUMBER(cJSON_GetArraySize(part), ==, 2);
	part = cJSON_GetArrayItem(part, 0);
	expect_number(part, "end_s", 5);
	expect_number(part, "bytes_per_s", 17.8e6);
	expect_number(part, "cumulative_bytes_per_s", 17.8e6);
	part = cJSON_GetArrayItem(get(o, "intervals"), 1);
	expect_number(part, "end_s", 7);
	expect_number(part, "bytes_per_s", 0);
	expect_number(part, "cumulative_bytes_per_s", 89e6 / 7);
	cJSON_Delete(o);
	sample_release(&s);
}

static void test_nothing(void)
{
	struct sample s = {
		.options = { .url = "u", .dataset = "d", .duration_s = 1.5 }
	};
	cJSON *o = parse(&s);

	expect_null(o, "bytes_per_s"); /* the run took no time */
	expect_null(o, "megapixels_per_s");
	expect_null(get(o, "response_ms"), "p90");
	expect_null(o, "first_failed");
	CHECK_NUMBER(cJSON_GetArraySize(get(o, "responses")), ==, 0);
	CHECK_NUMBER(cJSON_GetArraySize(get(o, "percentiles")), ==, 0);
	CHECK_NUMBER(cJSON_GetArraySize(get(o, "intervals")), ==, 0);
	expect_number(o, "duration_s", 1.5);
	CHECK(!cJSON_HasObjectItem(o, "passes"));
	cJSON_Delete(o);
}

static void test_says_when_it_is_not_written(void)
{
	struct sample s = { .options = { .url = "u", .dataset = "d" } };
	struct report report = sample_report(&s);
	FILE *full = fopen("/dev/full", "w");

	CHECK(full != NULL);
	CHECK(!report_write_json(full, &report));
	fclose(full);
}

int main(void)
{
	test_machine();
	test_closed_loop();
	test_large_seeds_are_exact();
	test_open_loop();
	test_what_was_asked_for();
	test_intervals();
	test_nothing();
	test_says_when_it_is_not_written();
	return 0;
}
