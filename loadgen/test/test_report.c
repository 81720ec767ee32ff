/* SPDX-License-Identifier: MIT */
/* What the report for people and its warnings say. */
#include "base/clock.h"
#include "base/test/check.h"
#include "loadgen/report/report.h"
#include "loadgen/test/sample_report.h"

#include <stdlib.h>
#include <string.h>

/*
 * There is exactly one warning.  It contains `part`, and is in both text and
 * JSON.
 */
static void expect_warning(struct sample *s, const char *part)
{
	struct report report = sample_report(s);
	char *text = sample_text(s);
	char *json = sample_json(s);

	CHECK_NUMBER(report.warning_count, ==, 1);
	CHECK_PART(report.warnings[0].text, part);
	CHECK_PART(text, "\nwarning: ");
	CHECK_PART(json, report.warnings[0].text);
	free(text);
	free(json);
}

/* The text begins with it; other warnings are at the end. */
static void expect_disturbed(struct sample *s, enum disturbance disturbance,
			     const char *part)
{
	struct report report = sample_report(s);
	char *text = sample_text(s);

	CHECK_NUMBER(report.disturbance, ==, disturbance);
	CHECK(strncmp(text, "DISTURBED: other programs and the", 33) == 0);
	CHECK_PART(report.warnings[0].text, part);
	CHECK(strstr(text, "warning") == NULL);
	CHECK_NUMBER(report.warning_count, ==, 1);
	free(text);
	text = sample_json(s);
	CHECK_PART(text, part);
	free(text);
}

static void expect_none(struct sample *s)
{
	char *text = sample_text(s);

	CHECK_NUMBER(sample_report(s).warning_count, ==, 0);
	CHECK_NUMBER(sample_report(s).disturbance, ==, DISTURBANCE_NONE);
	CHECK(strstr(text, "warning") == NULL);
	free(text);
}

static void test_client_without_cpu(void)
{
	struct sample s;

	sample_init_open(&s);
	expect_none(&s);
	s.outcome.client_cpu_s = 0.91;
	expect_warning(&s, "used 91 % of a core");
	s.options.arrivals = ARRIVALS_NONE; /* in a closed loop too */
	expect_warning(&s, "used 91 % of a core");
	sample_release(&s);
}

/* From the tenth late request of 1,000 on, the p99 shows them. */
static void test_late_sending(void)
{
	struct sample s;
	struct result result = { .status = 200,
				 .response_ns = 10000000,
				 .scheduled = true,
				 .lag_ns = 1500000 };

	sample_init_open(&s);
	s.outcome.record.lag.count = 0;
	for (int i = 0; i < 1000; i++) {
		result.lag_ns = i < 10 ? 1500000 : 1000000;
		CHECK(record_add(&s.outcome.record, &result));
	}
	expect_none(&s);
	result.lag_ns = 1500000;
	CHECK(record_add(&s.outcome.record, &result));
	expect_warning(&s, "15 % of the response time at p99");
	sample_release(&s);
}

static void test_client_beside_the_server(void)
{
	struct sample s;

	sample_init_closed(&s);
	sample_add_server(&s);
	s.outcome.client_cpu_s = 0.074;
	expect_none(&s);
	s.outcome.client_cpu_s = 0.105;
	expect_warning(&s, "7.0 % of the CPU time");
	s.outcome.server.cpu_s = 0.5;
	expect_warning(&s, "21.0 % of the CPU time");
	s.outcome.server.cpu_s = 0.49; /* too short to be exact */
	expect_none(&s);
	sample_release(&s);
}

/* 2 cores for 2 s: 4 s of CPU time, of which others took 0.3 s. */
static void test_disturbed(void)
{
	struct sample s;

	sample_init_closed(&s);
	s.outcome.machine = (struct machine_usage){ .cores = 2, .busy_s = 4 };
	expect_none(&s); /* the server may have used it */
	sample_add_server(&s);
	s.outcome.client_cpu_s = 0.05;
	s.outcome.machine.busy_s = 1.5 + 0.05 + 0.1;
	expect_none(&s);
	s.outcome.machine.steal_s = 0.2;
	expect_disturbed(&s, DISTURBANCE_SOME, "took 7.5 % of this machine's");
	s.outcome.machine.steal_s = 0.72;
	expect_disturbed(&s, DISTURBANCE_HIGH, "took 20.5 % of this");
	s.outcome.machine.steal_s = 0.02;
	expect_none(&s); /* 3 % */
	s.options.disturbed_percent = 2;
	expect_disturbed(&s, DISTURBANCE_HIGH, "took 3.0 % of this");
	CHECK_NUMBER(report_disturbed_from_percent(&s.options), ==, 2);
	s.outcome.machine.steal_s = 0.72;
	s.options.disturbed_percent = 100;
	CHECK_NUMBER(report_disturbed_from_percent(&s.options), ==, 5);
	expect_disturbed(&s, DISTURBANCE_SOME, "took 20.5 % of this");
	s.outcome.machine.steal_s = 0;
	s.outcome.machine.busy_s = 1; /* ticks are inexact */
	expect_none(&s);
	sample_release(&s);
}

static void test_all_at_once(void)
{
	struct sample s;
	struct result late = {
		.status = 200, .response_ns = 1, .scheduled = true, .lag_ns = 1
	};

	sample_init_open(&s);
	sample_add_server(&s);
	s.outcome.client_cpu_s = 5;
	s.outcome.machine = (struct machine_usage){ .cores = 1, .busy_s = 10 };
	strcpy(s.outcome.server.processes.forwarder, "ssh");
	for (int i = 0; i < 500; i++)
		CHECK(record_add(&s.outcome.record, &late));
	CHECK_NUMBER(sample_report(&s).warning_count, ==, WARNINGS_MAX);
	sample_release(&s);
}

/* A run that was broken off before its first reply. */
static void test_nothing(void)
{
	struct sample s = { .options = { .url = "u", .dataset = "d" },
			    .outcome = { .client_cpu_s = 0.01 } };

	expect_none(&s);
}

static void expect_in(const char *text, const char *part)
{
	CHECK_PART(text, part);
}

static void test_closed_loop(void)
{
	struct sample s;
	char *text;

	sample_init_closed(&s);
	text = sample_text(&s);
	expect_in(text, "50 files of photos \"new\" to http://h/\n"
			"connections 4, passes 2, seed 18446744073709551615");
	expect_in(text, "throughput 44.50 MB/s, 45.0 responses/s, "
			"8.90 megapixels/s\n");
	expect_in(text, "makespan 2.000 s, 100 requests, 89.00 MB");
	expect_in(text, "responses 200: 90 503: 8, transport errors: 2\n"
			" 2 x reset\n");
	expect_in(text, "server -\n");
	expect_in(text, "client 0.250 s CPU, 12.5 % of a core\n 7.0 MB");
	expect_in(text, "ms count mean p50 p90 p99 p99.9 max");
	expect_in(text, "\nresponse time: from the last byte sent to the last "
			"byte received\n");
	expect_in(text, "response time 90 45.500 45.000 - - - 90.000\n");
	expect_in(text, "< 50 KB 1 1.000 1.000 - - - 1.000\n");
	expect_in(text, ">= 800 KB 89 46.000 46.000 - - - 90.000\n");
	expect_in(text, "0.1-0.5 MP 89 46.000 46.000 - - - 90.000\n");
	expect_in(text, "from first byte 90 91.000 90.000 - - - 180.000\n");
	expect_in(text, "from last byte 90 22.750 22.500 - - - 45.000\n");
	CHECK(strstr(text, "50-200 KB") == NULL); /* no upload has this size */
	CHECK(strstr(text, "cumulative") == NULL);
	CHECK(strstr(text, "slowdown") == NULL);
	CHECK(strstr(text, "verified") == NULL);
	CHECK(strstr(text, "golden") == NULL);
	free(text);
	sample_release(&s);
}

static void test_open_loop(void)
{
	struct sample s;
	char *text;

	sample_init_open(&s);
	text = sample_text(&s);
	expect_in(text, "open loop, 2.5 requests/s, constant\n");
	expect_in(text, "\nresponse time: from the intended time to the last "
			"byte received\n");
	expect_in(text, "from first byte 101 ");
	expect_in(text, "from last byte 101 ");
	expect_in(text, "waited 1 of 101 requests");
	expect_in(text, "schedule lag 100 0.505 0.500 0.900 - - 1.000\n");
	free(text);
	sample_release(&s);
}

static void test_what_was_asked_for(void)
{
	struct sample s;
	char *text;

	sample_init_closed(&s);
	sample_add_server(&s);
	sample_ask_for_all(&s);
	text = sample_text(&s);
	expect_in(text, "verified 90 replies, 0 wrong\n"
			"golden 90 replies, 3 wrong\n first a.jpg: other\n");
	expect_in(text, "server 1.500 s CPU, 75.0 % of a core, darkroom, "
			"process 71 and 1 more\n 123.0 MB at most, switches: "
			"11 voluntary, "
			"12 not\n");
	expect_in(text, "% of a core, 16.7 % of the server's");
	expect_in(text, "slowdown 90 91.000 90.000 - - - 180.000\n");
	expect_in(text, "< 50 KB 1 2.000 2.000 - - - 2.000\n");
	free(text);
	s.outcome.server.peak_was_reset = false;
	text = sample_text(&s);
	expect_in(text, "123.0 MB at most since its start,");
	free(text);
	sample_release(&s);
}

/* A port forwarder is not the server: its CPU time is not shown as such. */
static void test_behind_a_forwarder(void)
{
	struct sample s;
	char *text;

	sample_init_closed(&s);
	strcpy(s.outcome.server.processes.forwarder, "docker-proxy");
	expect_warning(
		&s, "docker-proxy listens at the server's port and forwards");
	text = sample_text(&s);
	expect_in(text, "\nserver -, behind docker-proxy\n");
	free(text);
	sample_release(&s);
}

/* 89 MB within a second, and nothing in the rest of the run. */
static void test_intervals(void)
{
	struct sample s;
	char *text;

	sample_init_closed(&s);
	s.outcome.makespan_ns = 7 * NS_PER_S;
	text = sample_text(&s);
	expect_in(text, "MB/s until s 5.0 7.0\n"
			" cumulative 17.80 12.71\n"
			" each 5 s 17.80 0.00\n");
	free(text);
	s.outcome.makespan_ns = 40 * NS_PER_S;
	text = sample_text(&s);
	expect_in(text, "each 5 s 17.80 0.00 0.00 0.00 0.00 0.00 0.00 0.00\n");
	free(text);
	sample_release(&s);
}

/* The cumulative rate at each eighth of the run, and the spread of rates. */
static void test_many_intervals(void)
{
	struct sample s;
	struct result result = { .status = 200, .uploaded_bytes = 10000000 };
	char *text;

	sample_init_closed(&s);
	for (uint64_t end_s = 6; end_s < 800; end_s += 5) {
		result.ended_ns = end_s * NS_PER_S;
		CHECK(record_add(&s.outcome.record, &result));
	}
	result.ended_ns = 800 * NS_PER_S + 1; /* too short to be a rate */
	CHECK(record_add(&s.outcome.record, &result));
	s.outcome.makespan_ns = 800 * NS_PER_S + 1;
	text = sample_text(&s);
	expect_in(text, "MB/s until s 100.0 200.0 300.0 400.0 500.0 600.0 "
			"700.0 800.0\n"
			" cumulative 2.79 2.40 2.26 2.20 2.16 2.13 2.11 2.11\n"
			" each 5 s least 2.00, median 2.00, greatest 17.80\n");
	free(text);
	sample_release(&s);
}

static void test_text_nothing(void)
{
	struct sample s = { .options = { .url = "u", .dataset = "d" } };
	char *text = sample_text(&s);

	expect_in(text, "throughput -\n");
	expect_in(text, "responses -, transport errors: 0\n");
	expect_in(text, "response time 0 - - - - - -\n");
	CHECK(strstr(text, "nan") == NULL);
	CHECK(strstr(text, "inf") == NULL);
	free(text);
}

int main(void)
{
	test_client_without_cpu();
	test_late_sending();
	test_client_beside_the_server();
	test_disturbed();
	test_all_at_once();
	test_nothing();
	test_closed_loop();
	test_open_loop();
	test_what_was_asked_for();
	test_behind_a_forwarder();
	test_intervals();
	test_many_intervals();
	test_text_nothing();
	return 0;
}
