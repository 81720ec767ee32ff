/* SPDX-License-Identifier: MIT */
#include "loadgen/test/sample_report.h"

#include "base/test/check.h"

#include <stdlib.h>
#include <string.h>

enum { FILE_COUNT = 50 };

static void add(struct sample *s, const struct result *result, int count)
{
	for (int i = 0; i < count; i++)
		CHECK(record_add(&s->outcome.record, result));
}

static void init(struct sample *s)
{
	*s = (struct sample){
		.options = {
			.url = "http://h/",
			.dataset = "photos \"new\"",
			.connections = 4,
			.passes = 2,
			.seed = UINT64_MAX, /* not exact in a double */
			.disturbed_percent = 20,
		},
	};
}

void sample_init_closed(struct sample *s)
{
	struct result result = { .status = 200 };

	init(s);
	for (uint64_t ms = 1; ms <= 90; ms++) {
		result.uploaded_bytes = ms == 1 ? 0 : 1000000;
		result.megapixels = ms == 1 ? 0 : 0.2;
		result.response_ns = ms * 1000000;
		result.from_first_byte_ns = ms * 2000000;
		result.from_last_byte_ns = ms * 500000;
		result.unloaded_ns = 1000000;
		result.ended_ns = ms * 10000000;
		add(s, &result, 1);
	}
	add(s, &(struct result){ .status = 503 }, 8);
	add(s, &(struct result){ .error = "reset" }, 2);
	error_set(&s->outcome.first_failed, "b.jpg: status 503");
	s->outcome.makespan_ns = 2000000000;
	s->outcome.client_cpu_s = 0.25;
	s->outcome.client_peak_memory_bytes = 7000000;
}

void sample_init_open(struct sample *s)
{
	struct result result = { .status = 200,
				 .response_ns = 10000000,
				 .scheduled = true };

	init(s);
	for (uint64_t i = 1; i <= 100; i++) {
		result.lag_ns = i * 10000;
		add(s, &result, 1);
	}
	result.waited = true;
	add(s, &result, 1);
	s->options.rate_per_s = 2.5;
	s->options.arrivals = ARRIVALS_CONSTANT;
	s->outcome.makespan_ns = 1000000000;
	s->outcome.client_cpu_s = 0.9;
}

void sample_add_server(struct sample *s)
{
	s->outcome.server = (struct server_usage){
		.processes = { .pids = { 71, 72 },
			       .count = 2,
			       .name = "darkroom" },
		.cpu_s = 1.5,
		.peak_memory_bytes = 123000000,
		.peak_was_reset = true,
		.voluntary_switches = 11,
		.involuntary_switches = 12,
	};
}

void sample_ask_for_all(struct sample *s)
{
	s->options.calibrate = true;
	s->options.verify = VERIFY_SIZE;
	s->options.golden = "dir";
	s->outcome.verified.checked_count = 90;
	s->outcome.golden = (struct reply_checks){ 90, 3, { "a.jpg: other" } };
}

void sample_release(struct sample *s)
{
	outcome_release(&s->outcome);
}

struct report sample_report(struct sample *s)
{
	return report_make(&s->options, FILE_COUNT, &s->outcome);
}

char *sample_json(struct sample *s)
{
	struct report report = sample_report(s);
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	CHECK(out != NULL);
	CHECK(report_write_json(out, &report));
	CHECK_NUMBER(fclose(out), ==, 0);
	return text;
}

static void squeeze(char *text)
{
	char *end = text;

	for (const char *c = text; *c != '\0'; c++)
		if (*c != ' ' || c[1] != ' ')
			*end++ = *c;
	*end = '\0';
}

static void check_width(const char *text)
{
	while (*text != '\0') {
		size_t width = strcspn(text, "\n");

		CHECK_NUMBER(width, <=, 80);
		text += width + (text[width] == '\n');
	}
}

char *sample_text(struct sample *s)
{
	struct report report = sample_report(s);
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	CHECK(out != NULL);
	report_print(out, &report);
	CHECK_NUMBER(fclose(out), ==, 0);
	check_width(text);
	squeeze(text);
	return text;
}
