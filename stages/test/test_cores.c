/* SPDX-License-Identifier: MIT */
/*
 * Promise: cores are CPUs that this process may use, in the order of the list.
 * A thread that is bound to some cores runs only on these.
 */
#include "base/error.h"
#include "stages/stage.h"

#include "base/test/check.h"
#include "base/util.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

static cpu_set_t affinity(void)
{
	cpu_set_t set;

	CHECK_NUMBER(sched_getaffinity(0, sizeof(set), &set), ==, 0);
	return set;
}

static void set_affinity(const cpu_set_t *set)
{
	CHECK_NUMBER(sched_setaffinity(0, sizeof(*set), set), ==, 0);
}

static cpu_set_t only(uint32_t cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return set;
}

/* The first two CPUs this process may use, in any order. */
static uint32_t find_two(uint32_t cpus[2])
{
	cpu_set_t all = affinity();
	uint32_t count = 0;

	for (uint32_t cpu = 0; cpu < CPU_SETSIZE && count < 2; cpu++)
		if (CPU_ISSET(cpu, &all))
			cpus[count++] = cpu;
	return count;
}

static void test_default_is_within_the_affinity_mask(void)
{
	struct error why;
	struct cores *c = cores_new(NULL, why.text);
	cpu_set_t all = affinity(), seen;

	CHECK(c != NULL);
	CHECK_NUMBER(cores_count(c), >=, 1);
	CHECK_NUMBER(cores_count(c), <=, (uint32_t)CPU_COUNT(&all));
	CPU_ZERO(&seen);
	for (uint32_t i = 0; i < cores_count(c); i++) {
		CHECK(CPU_ISSET(cores_cpu(c, i), &all));
		CHECK(!CPU_ISSET(cores_cpu(c, i), &seen));
		CPU_SET(cores_cpu(c, i), &seen);
	}
	cores_free(c);
	cores_free(NULL);
}

static void expect_cores(const char *list, uint32_t count, const uint32_t *cpus)
{
	struct error why;
	struct cores *c = cores_new(list, why.text);

	CHECK(c != NULL);
	CHECK_NUMBER(cores_count(c), ==, count);
	for (uint32_t i = 0; i < count; i++)
		CHECK_NUMBER(cores_cpu(c, i), ==, cpus[i]);
	cores_free(c);
}

static void expect_refusal(const char *list, const char *because)
{
	struct error why = { "" };

	CHECK(cores_new(list, why.text) == NULL);
	CHECK_PART(why.text, because);
}

static void test_lists_name_cpus(uint32_t count, const uint32_t cpus[2])
{
	char list[32];

	(void)snprintf(list, sizeof(list), "%u", cpus[0]);
	expect_cores(list, 1, cpus);
	(void)snprintf(list, sizeof(list), "%u-%u", cpus[0], cpus[0]);
	expect_cores(list, 1, cpus);
	(void)snprintf(list, sizeof(list), "%u,%u", cpus[0], cpus[0]);
	expect_refusal(list, "twice");
	if (count < 2)
		return;
	(void)snprintf(list, sizeof(list), "%u,%u", cpus[0], cpus[1]);
	expect_cores(list, 2, cpus);
	(void)snprintf(list, sizeof(list), "%u,%u", cpus[1], cpus[0]);
	expect_cores(list, 2, (const uint32_t[]){ cpus[1], cpus[0] });
	(void)snprintf(list, sizeof(list), "%u-%u", cpus[1], cpus[0]);
	expect_refusal(list, "not a list");
	if (cpus[1] != cpus[0] + 1)
		return;
	(void)snprintf(list, sizeof(list), "%u-%u", cpus[0], cpus[1]);
	expect_cores(list, 2, cpus);
	(void)snprintf(list, sizeof(list), "%u-%u,%u", cpus[0], cpus[1],
		       cpus[1]);
	expect_refusal(list, "twice");
}

static void test_nonsense_is_refused(uint32_t cpu)
{
	static const char *const nonsense[] = {
		"",    "x",    "-",   "-%u", "%u-",   "%u,",   ",%u", "%u,,%u",
		"%ux", "0x%u", " %u", "%u ", "%u;%u", "%u--1", "+%u", "all",
	};
	char list[32];

	for (uint32_t i = 0; i < ARRAY_SIZE(nonsense); i++) {
		const char *from = nonsense[i];
		size_t end = 0;

		for (; *from != '\0'; from++) {
			if (strncmp(from, "%u", 2) != 0) {
				list[end++] = *from;
				continue;
			}
			end += (size_t)snprintf(list + end, sizeof(list) - end,
						"%u", cpu);
			from++;
		}
		list[end] = '\0';
		/*
		 * A list such as "0,,0" is malformed, not one that names 0
		 * twice.
		 */
		expect_refusal(list, "not a list");
	}
	expect_refusal("99999", "may not use");
	expect_refusal("4294967295", "may not use");
	expect_refusal("4294967296", "may not use");
	expect_refusal("99999999999999999999", "may not use");
	expect_refusal("99999-99999999999999999999", "may not use");
}

static void test_bound_thread_runs_there_only(const uint32_t cpus[2])
{
	cpu_set_t before = affinity(), now;
	char list[32];
	struct error why;

	(void)snprintf(list, sizeof(list), "%u,%u", cpus[0], cpus[1]);
	struct cores *c = cores_new(list, why.text);

	CHECK(c != NULL);
	for (uint32_t i = 0; i < 4; i++) {
		cpu_set_t wanted = only(cpus[i % 2]);

		CHECK(cores_bind(c, i % 2, 1));
		now = affinity();
		CHECK(CPU_EQUAL(&now, &wanted));
		CHECK_NUMBER(sched_getcpu(), ==, (int)cpus[i % 2]);
	}
	CHECK(cores_bind(c, 0, 2));
	now = affinity();
	/* The mask may name CPUs that do not exist. */
	CHECK_NUMBER(CPU_COUNT(&now), >=, 2);
	CHECK(CPU_ISSET(cpus[0], &now));
	CHECK(CPU_ISSET(cpus[1], &now));
	cores_free(c);
	set_affinity(&before);
}

static void test_affinity_mask_is_respected(const uint32_t cpus[2])
{
	cpu_set_t before = affinity(), second = only(cpus[1]);
	char list[32];
	struct error why;

	set_affinity(&second);
	expect_cores(NULL, 1, &cpus[1]);
	(void)snprintf(list, sizeof(list), "%u", cpus[0]);
	expect_refusal(list, "may not use");
	set_affinity(&before);

	/* Cores read under the mask stay within it. */
	set_affinity(&second);
	struct cores *c = cores_new(NULL, why.text);

	set_affinity(&before);
	CHECK(c != NULL);
	CHECK(cores_bind(c, 0, 1));
	CHECK_NUMBER(sched_getcpu(), ==, (int)cpus[1]);
	cores_free(c);
	set_affinity(&before);
}

int main(void)
{
	uint32_t cpus[2] = { 0, 0 };
	uint32_t count = find_two(cpus);

	test_default_is_within_the_affinity_mask();
	test_lists_name_cpus(count, cpus);
	test_nonsense_is_refused(cpus[0]);
	if (count < 2) {
		(void)printf("binding not tested: one CPU only\n");
		return 0;
	}
	test_bound_thread_runs_there_only(cpus);
	test_affinity_mask_is_respected(cpus);
	return 0;
}
