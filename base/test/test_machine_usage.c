/* SPDX-License-Identifier: MIT */
/*
 * Promise: a run is judged if it is long enough and its own CPU time is known;
 * a disturbed one is made again, three times at most.
 */
#include "base/clock.h"
#include "base/json.h"
#include "base/machine_usage.h"
#include "base/test/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 2 cores for 2 s: 4 s of CPU time, of which others took 0.2 + 0.1. */
static const struct machine_usage usage = {
	.cores = 2, .busy_s = 2, .steal_s = 0.1, .load = 1.5, .core_mhz = NAN
};

static void test_percent(void)
{
	struct machine_usage unread = { .cores = 0 };

	CHECK_NUMBER(fabs(machine_disturbed_percent(&usage, 1.8, 2) - 7.5), <,
		     1e-9);
	/* Ticks are inexact: others took nothing, the hypervisor did. */
	CHECK_NUMBER(fabs(machine_disturbed_percent(&usage, 2.1, 2) - 2.5), <,
		     1e-9);
	CHECK_NUMBER(machine_disturbed_percent(&usage, 0, 0.5), ==, 100);
	CHECK(isnan(machine_disturbed_percent(&usage, 0, 0.49)));
	CHECK(isnan(machine_disturbed_percent(&usage, NAN, 2)));
	CHECK(isnan(machine_disturbed_percent(&unread, 0, 2)));
}

static void test_repeat(void)
{
	CHECK(machine_must_repeat(5.1, 5, 1));
	CHECK(machine_must_repeat(5.1, 5, 2));
	CHECK(!machine_must_repeat(5.1, 5, 3));
	CHECK(!machine_must_repeat(5, 5, 1));
	CHECK(!machine_must_repeat(NAN, 5, 1));
}

static void test_json(void)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct json j;

	CHECK(out != NULL);
	json_begin(&j, out, JSON_COMPACT);
	json_open_object(&j, NULL);
	machine_add_json(&j, &usage, 2, 0.4);
	json_close(&j);
	CHECK_NUMBER(fclose(out), ==, 0);
	CHECK_TEXT(text, "{\"machine\":{\"cores\":2,\"busy_s\":2,"
			 "\"foreign_s\":0,\"steal_s\":0.1,"
			 "\"disturbed_percent\":null,"
			 "\"load_average\":1.5,\"core_mhz\":null}}");
	free(text);
}

/* This process works; the machine counts it, in ticks. */
static void test_watch(void)
{
	struct machine_watch watch;
	struct machine_usage u;
	uint64_t cpu_ns = clock_cpu_ns();

	machine_watch_begin(&watch);
	while (clock_cpu_ns() - cpu_ns < 100 * NS_PER_MS)
		continue;
	machine_watch_end(&watch, &u);
	CHECK_NUMBER(u.cores, >, 0);
	CHECK_NUMBER(u.busy_s, >, 0);
	CHECK_NUMBER(u.steal_s, >=, 0);
}

int main(void)
{
	test_percent();
	test_repeat();
	test_json();
	test_watch();
	return 0;
}
