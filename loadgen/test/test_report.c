/* SPDX-License-Identifier: MIT */
/* A report warns when the client may have made the figures, and only then. */
#include "loadgen/test/sample_report.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* One warning, with `part` in it, shown to all who read. */
static void expect_warning(struct sample *s, const char *part)
{
	struct report report = sample_report(s);
	char *text = sample_text(s);
	char *json = sample_json(s);

	assert(report.warning_count == 1);
	assert(strstr(report.warnings[0].text, part) != NULL);
	assert(strstr(text, "\nwarning: the client") != NULL);
	assert(strstr(json, report.warnings[0].text) != NULL);
	free(text);
	free(json);
}

static void expect_none(struct sample *s)
{
	char *text = sample_text(s);

	assert(sample_report(s).warning_count == 0);
	assert(strstr(text, "warning") == NULL);
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

/* Two more are enough for the p99 to be one of them. */
static void test_late_sending(void)
{
	struct sample s;
	struct result result = { .status = 200,
				 .response_ns = 10000000,
				 .scheduled = true,
				 .lag_ns = 1500000 };

	sample_init_open(&s);
	assert(record_add(&s.outcome.record, &result));
	expect_none(&s);
	assert(record_add(&s.outcome.record, &result));
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
	s.outcome.server.cpu_s = 0.49; /* of some ticks of 10 ms */
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
	for (int i = 0; i < 500; i++)
		assert(record_add(&s.outcome.record, &late));
	assert(sample_report(&s).warning_count == WARNINGS_MAX);
	sample_release(&s);
}

/* A run that was broken off before its first reply. */
static void test_nothing(void)
{
	struct sample s = { .options = { .url = "u", .dataset = "d" },
			    .outcome = { .client_cpu_s = 0.01 } };

	expect_none(&s);
}

int main(void)
{
	test_client_without_cpu();
	test_late_sending();
	test_client_beside_the_server();
	test_all_at_once();
	test_nothing();
	return 0;
}
