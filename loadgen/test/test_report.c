/* SPDX-License-Identifier: MIT */
/* A report says what the record holds, and null or "-" where it holds none. */
#include "loadgen/report.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct options options = {
	.url = "http://h/",
	.dataset = "photos \"new\"",
	.connections = 4,
	.passes = 2,
	.seed = UINT64_MAX, /* more than a double holds */
};

/*
 * 90 replies of 1 .. 90 ms to 1 MB each but the first, which is to none, 8
 * times busy and 2 resets, in 2 s.
 */
static struct report make_report(struct record *r)
{
	struct result result = { .status = 200 };

	for (uint64_t ms = 1; ms <= 90; ms++) {
		result.uploaded_bytes = ms == 1 ? 0 : 1000000;
		result.response_ns = ms * 1000000;
		result.from_first_byte_ns = ms * 2000000;
		result.from_last_byte_ns = ms * 500000;
		assert(record_add(r, &result));
	}
	result.status = 503;
	for (int i = 0; i < 8; i++)
		assert(record_add(r, &result));
	result = (struct result){ .error = "reset" };
	for (int i = 0; i < 2; i++)
		assert(record_add(r, &result));
	return (struct report){
		.options = &options,
		.files = 50,
		.record = r,
		.makespan_ns = 2000000000,
		.client_cpu_s = 0.25,
	};
}

static char *json_text(const struct report *report)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert(out != NULL);
	assert(report_write_json(out, report));
	assert(fclose(out) == 0);
	return text;
}

/* Runs of spaces are one space, so that columns may move. */
static void squeeze(char *text)
{
	char *end = text;

	for (const char *c = text; *c != '\0'; c++)
		if (*c != ' ' || c[1] != ' ')
			*end++ = *c;
	*end = '\0';
}

static char *printed_text(const struct report *report)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert(out != NULL);
	report_print(out, report);
	assert(fclose(out) == 0);
	squeeze(text);
	return text;
}

static void expect_in(const char *text, const char *part)
{
	assert(strstr(text, part) != NULL);
}

static void expect_number(const cJSON *object, const char *name, double value)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

	assert(cJSON_IsNumber(item));
	assert(fabs(item->valuedouble - value) <= 1e-9 * fabs(value));
}

static void expect_null(const cJSON *object, const char *name)
{
	assert(cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(object, name)));
}

/* Those of make_report(): the first reply, nothing, nothing, the others. */
static void expect_classes(const cJSON *classes)
{
	const cJSON *class = cJSON_GetArrayItem(classes, 0);

	assert(cJSON_GetArraySize(classes) == SIZE_CLASS_COUNT);
	expect_number(class, "bytes_below", 50000);
	expect_number(class, "count", 1);
	expect_number(cJSON_GetObjectItem(class, "response_ms"), "max", 1);
	class = cJSON_GetArrayItem(classes, 1);
	expect_number(class, "count", 0);
	expect_null(cJSON_GetObjectItem(class, "response_ms"), "mean");
	class = cJSON_GetArrayItem(classes, SIZE_CLASS_COUNT - 1);
	expect_null(class, "bytes_below");
	expect_number(class, "count", 89);
	expect_number(cJSON_GetObjectItem(class, "response_ms"), "mean", 46);
}

static void test_json_has_every_key(void)
{
	struct record r = { 0 };
	struct report report = make_report(&r);
	char *text = json_text(&report);
	cJSON *o = cJSON_Parse(text);
	const cJSON *part;

	assert(o != NULL);
	expect_number(o, "bytes_per_s", 44.5e6);
	expect_number(o, "responses_per_s", 45);
	expect_number(o, "makespan_s", 2);
	part = cJSON_GetObjectItem(o, "response_ms");
	expect_number(part, "mean", 45.5);
	expect_number(part, "p50", 45);
	expect_number(part, "p90", 81);
	expect_number(part, "p99", 90);
	expect_number(part, "max", 90);
	part = cJSON_GetObjectItem(o, "response_from_last_byte_ms");
	expect_number(part, "p50", 22.5);
	part = cJSON_GetObjectItem(o, "response_from_first_byte_ms");
	expect_number(part, "p50", 90);
	expect_number(part, "p90", 162);
	expect_number(part, "p99", 180);
	expect_number(part, "max", 180);
	part = cJSON_GetObjectItem(o, "responses");
	assert(cJSON_GetArraySize(part) == 2);
	expect_number(part, "200", 90);
	expect_number(part, "503", 8);
	expect_number(o, "transport_errors", 2);
	part = cJSON_GetObjectItem(o, "transport_error_texts");
	expect_number(part, "reset", 2);
	expect_number(o, "client_cpu_s", 0.25);
	expect_number(o, "requests", 100);
	expect_number(o, "uploaded_bytes", 89e6);
	expect_number(o, "connections", 4);
	expect_number(o, "passes", 2);
	assert(!cJSON_HasObjectItem(o, "duration_s"));
	assert(!cJSON_HasObjectItem(o, "rate_per_s"));
	assert(!cJSON_HasObjectItem(o, "schedule_lag_ms"));
	expect_in(text, "18446744073709551615");
	assert(strcmp(cJSON_GetObjectItem(o, "url")->valuestring,
		      options.url) == 0);
	assert(strcmp(cJSON_GetObjectItem(o, "dataset")->valuestring,
		      options.dataset) == 0);
	expect_number(o, "files", 50);
	expect_classes(cJSON_GetObjectItem(o, "size_classes"));
	cJSON_Delete(o);
	free(text);
	record_release(&r);
}

static void test_json_without_samples(void)
{
	struct options timed = options;
	struct record r = { 0 };
	struct report report = { .options = &timed, .record = &r };
	char *text;
	cJSON *o;

	timed.passes = 0;
	timed.duration_s = 1.5;
	text = json_text(&report);
	o = cJSON_Parse(text);
	assert(o != NULL);
	expect_null(o, "bytes_per_s"); /* nothing took no time */
	expect_null(o, "responses_per_s");
	expect_null(cJSON_GetObjectItem(o, "response_ms"), "p90");
	expect_null(cJSON_GetObjectItem(o, "response_from_first_byte_ms"),
		    "max");
	assert(cJSON_GetArraySize(cJSON_GetObjectItem(o, "responses")) == 0);
	expect_number(o, "duration_s", 1.5);
	assert(!cJSON_HasObjectItem(o, "passes"));
	cJSON_Delete(o);
	free(text);
}

/*
 * 100 replies after 10 ms each to requests that left 1 ms late at most, and
 * one that waited for a connection.
 */
static struct report make_open_report(struct record *r,
				      struct options *open_options)
{
	struct result result = { .status = 200,
				 .response_ns = 10000000,
				 .scheduled = true };

	for (uint64_t i = 1; i <= 100; i++) {
		result.lag_ns = i * 10000;
		assert(record_add(r, &result));
	}
	result.waited = true;
	assert(record_add(r, &result));
	*open_options = options;
	open_options->rate_per_s = 2.5;
	open_options->arrivals = ARRIVALS_CONSTANT;
	return (struct report){
		.options = open_options,
		.record = r,
		.makespan_ns = 1000000000,
		.client_cpu_s = 0.9,
	};
}

static void test_open_loop(void)
{
	struct options open_options;
	struct record r = { 0 };
	struct report report = make_open_report(&r, &open_options);
	char *text = json_text(&report);
	cJSON *o = cJSON_Parse(text);

	assert(o != NULL);
	expect_number(o, "rate_per_s", 2.5);
	assert(strcmp(cJSON_GetObjectItem(o, "arrivals")->valuestring,
		      "constant") == 0);
	expect_number(o, "waited_for_connection", 1);
	expect_number(cJSON_GetObjectItem(o, "schedule_lag_ms"), "p99", 0.99);
	assert(cJSON_GetArraySize(cJSON_GetObjectItem(o, "warnings")) == 0);
	cJSON_Delete(o);
	free(text);
	text = printed_text(&report);
	expect_in(text, "open loop, 2.5 requests/s, constant;");
	expect_in(text, "waited 1 of 101 requests");
	expect_in(text, "schedule lag 100 0.505 0.500 0.900 0.990 1.000");
	assert(strstr(text, "warning") == NULL);
	free(text);
	record_release(&r);
}

/* One warning of the two, with `part` in it. */
static void expect_warning(const struct report *report, const char *part)
{
	char *text = json_text(report);
	cJSON *o = cJSON_Parse(text);
	const cJSON *texts = cJSON_GetObjectItem(o, "warnings");

	assert(cJSON_GetArraySize(texts) == 1);
	expect_in(cJSON_GetArrayItem(texts, 0)->valuestring, part);
	cJSON_Delete(o);
	free(text);
	text = printed_text(report);
	expect_in(text, "warning: the client");
	expect_in(text, part);
	free(text);
}

static void test_warns_of_a_client_without_cpu(void)
{
	struct options open_options;
	struct record r = { 0 };
	struct report report = make_open_report(&r, &open_options);

	report.client_cpu_s = 0.91;
	expect_warning(&report, "of a core");
	report.options = &options; /* in a closed loop too */
	expect_warning(&report, "of a core");
	record_release(&r);
}

/* Two more are enough for the p99 to be one of them. */
static void test_warns_of_late_sending(void)
{
	struct options open_options;
	struct record r = { 0 };
	struct report report = make_open_report(&r, &open_options);
	struct result result = { .status = 200,
				 .response_ns = 10000000,
				 .scheduled = true,
				 .lag_ns = 1010000 };

	assert(record_add(&r, &result));
	assert(record_add(&r, &result));
	expect_warning(&report, "sent late");
	record_release(&r);
}

static void test_json_says_when_it_is_not_written(void)
{
	struct record r = { 0 };
	struct report report = { .options = &options, .record = &r };
	FILE *full = fopen("/dev/full", "w");

	assert(full != NULL);
	assert(!report_write_json(full, &report));
	fclose(full);
}

static void test_print_has_units(void)
{
	struct record r = { 0 };
	struct report report = make_report(&r);
	char *text = printed_text(&report);

	expect_in(text, "44.50 MB/s");
	expect_in(text, "45.0 responses/s");
	expect_in(text, "2.000 s, 100 requests");
	expect_in(text, "ms count mean p50 p90 p99 p99.9 max");
	expect_in(text, "response time 90 45.500 45.000 81.000 90.000 90.000");
	expect_in(text, "< 50 KB 1 1.000 1.000 1.000 1.000 1.000");
	expect_in(text, "50-200 KB 0 - - - - -");
	expect_in(text, ">= 800 KB 89 46.000 46.000 82.000 90.000");
	expect_in(text, "from first byte 90 91.000 90.000 162.000 180.000");
	expect_in(text, "200: 90 503: 8");
	expect_in(text, "2 x reset");
	expect_in(text, "0.250 s, 12.5 %");
	free(text);
	record_release(&r);
}

static void test_print_without_samples(void)
{
	struct record r = { 0 };
	struct report report = { .options = &options, .record = &r };
	char *text = printed_text(&report);

	expect_in(text, "throughput -\n");
	expect_in(text, "response time 0 - - - - -");
	expect_in(text, "from first byte 0 - - - - -");
	expect_in(text, "responses -\n");
	assert(strstr(text, "nan") == NULL && strstr(text, "inf") == NULL);
	free(text);
}

int main(void)
{
	test_json_has_every_key();
	test_json_without_samples();
	test_open_loop();
	test_warns_of_a_client_without_cpu();
	test_warns_of_late_sending();
	test_json_says_when_it_is_not_written();
	test_print_has_units();
	test_print_without_samples();
	return 0;
}
