/* SPDX-License-Identifier: MIT */
/*
 * Promise: a run is judged if it is long enough and its own CPU time is known;
 * a disturbed one is made again, three times at most.
 */
#include "base/clock.h"
#include "base/json.h"
#include "base/machine_usage.h"

#include <assert.h>
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

	assert(fabs(machine_disturbed_percent(&usage, 1.8, 2) - 7.5) < 1e-9);
	/* Ticks are inexact: others took nothing, the hypervisor did. */
	assert(fabs(machine_disturbed_percent(&usage, 2.1, 2) - 2.5) < 1e-9);
	assert(machine_disturbed_percent(&usage, 0, 0.5) == 100);
	assert(isnan(machine_disturbed_percent(&usage, 0, 0.49)));
	assert(isnan(machine_disturbed_percent(&usage, NAN, 2)));
	assert(isnan(machine_disturbed_percent(&unread, 0, 2)));
}

static void test_repeat(void)
{
	assert(machine_must_repeat(5.1, 5, 1) &&
	       machine_must_repeat(5.1, 5, 2));
	assert(!machine_must_repeat(5.1, 5, 3));
	assert(!machine_must_repeat(5, 5, 1));
	assert(!machine_must_repeat(NAN, 5, 1));
}

static void test_json(void)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct json j;

	assert(out != NULL);
	json_begin(&j, out, JSON_COMPACT);
	json_open_object(&j, NULL);
	machine_add_json(&j, &usage, 2, 0.4);
	json_close(&j);
	assert(fclose(out) == 0);
	assert(strcmp(text, "{\"machine\":{\"cores\":2,\"busy_s\":2,"
			    "\"foreign_s\":0,\"steal_s\":0.1,"
			    "\"disturbed_percent\":null,"
			    "\"load_average\":1.5,\"core_mhz\":null}}") == 0);
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
	assert(u.cores > 0 && u.busy_s > 0 && u.steal_s >= 0);
}

int main(void)
{
	test_percent();
	test_repeat();
	test_json();
	test_watch();
	return 0;
}
