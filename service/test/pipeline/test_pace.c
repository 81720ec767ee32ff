/* SPDX-License-Identifier: MIT */
/*
 * Promises: on any machine, however much slower or faster in each kind of work,
 * what is expected of an upload is soon right within 10 % in the median; also
 * while other programs take half of the cores, and while a client sends files
 * that take any time at all.  What is learned of one way says nothing against
 * another, but a good deal about one that has not been seen.  Nothing that a
 * step takes makes a factor that is not a sensible number.
 *
 * The clock of each machine is scaled, so nothing here depends on that of the
 * machine on which the test runs.
 */
#include "service/pipeline/pace.h"

#include "base/test/check.h"
#include "base/quantiles.h"
#include "base/random.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define MS UINT64_C(1000000)
#define SPREAD 0.12 /* of files of one way, as a logarithm */

static void learn_pace(struct pace *p, int steps, uint64_t estimated_ns,
		       double factor)
{
	for (int i = 0; i < steps; i++)
		pace_learn_factor(p, estimated_ns,
				  (uint64_t)(factor * (double)estimated_ns));
}

static bool is_pace(const struct pace *p, double factor)
{
	return pace_factor(p) > 0.95 * factor && pace_factor(p) < 1.05 * factor;
}

/* Of a machine that is slower, and becomes faster. */
static void test_pace_is_that_of_the_machine(void)
{
	struct pace p;

	pace_init(&p);
	CHECK(is_pace(&p, 1));
	learn_pace(&p, 400, 5 * MS, 1.7);
	CHECK(is_pace(&p, 1.7));
	learn_pace(&p, 400, 5 * MS, 0.6);
	CHECK(is_pace(&p, 0.6));
}

/* As much time of long steps as of short ones: the mean of their factors. */
static void test_pace_is_that_of_the_time(void)
{
	struct pace p;

	pace_init(&p);
	for (int i = 0; i < 100; i++) {
		learn_pace(&p, 100, MS / 10, 3);
		learn_pace(&p, 1, 10 * MS, 1);
	}
	CHECK(is_pace(&p, 2));
}

/* Learned beside other programs that have ended, and refused since. */
static void test_refusals_do_not_go_on_for_ever(void)
{
	struct pace p;

	pace_init(&p);
	learn_pace(&p, 400, 5 * MS, 5);
	for (int i = 0; i < 100; i++)
		pace_doubt(&p);
	CHECK(is_pace(&p, 1));
	pace_doubt(&p);
	CHECK_NUMBER(pace_factor(&p), >=, 1);
}

static void test_pace_has_limits(void)
{
	struct pace p;

	pace_init(&p);
	pace_learn_factor(&p, 0, UINT64_MAX);
	CHECK(is_pace(&p, 1));
	pace_learn_factor(&p, MS, UINT64_MAX);
	CHECK_NUMBER(pace_factor(&p), <, 1.1);
	pace_learn_factor(&p, UINT64_MAX, 0);
	CHECK_NUMBER(pace_factor(&p), >, 0.8);
	learn_pace(&p, 1000, 100 * MS, 1e4);
	CHECK_NUMBER(pace_factor(&p), <=, 32);
	learn_pace(&p, 1000, 100 * MS, 0);
	CHECK_NUMBER(pace_factor(&p), >, 0);
}

static bool is_learned(const struct pace *p, uint32_t way, double times)
{
	return pace_way_times(p, way) > 0.95 * times &&
	       pace_way_times(p, way) < 1.05 * times;
}

static void learn_way(struct pace *p, int steps, uint32_t way, double times)
{
	for (int i = 0; i < steps; i++)
		pace_learn(p, way, 2 * MS, (uint64_t)(times * 2 * (double)MS));
}

static void test_a_way_is_that_of_the_machine(void)
{
	struct pace p;

	pace_init(&p);
	CHECK(is_learned(&p, 3, 1));
	learn_way(&p, 60, 3, 8);
	CHECK(is_learned(&p, 3, 8));
	CHECK_NUMBER(pace_way_steps(&p, 3), ==, 60);
	learn_way(&p, 120, 4, 0.25);
	CHECK(is_learned(&p, 3, 8));
	CHECK(is_learned(&p, 4, 0.25));
	/* It is moved to a slower machine, or that gets a slower clock. */
	learn_way(&p, 300, 4, 1);
	CHECK(is_learned(&p, 4, 1));
}

/* Refused by ways that were learned while the machine was slow. */
static void test_ways_are_doubted(void)
{
	struct pace p;

	pace_init(&p);
	learn_way(&p, 120, 3, 8);
	for (int i = 0; i < 100; i++) {
		pace_doubt(&p);
		pace_doubt_way(&p, 3);
		pace_doubt_way(&p, 4); /* like the other */
	}
	CHECK(is_learned(&p, 3, 1));
	CHECK(is_learned(&p, 4, 1));
	/* A fast machine is not doubted. */
	learn_way(&p, 300, 5, 0.5);
	pace_doubt_way(&p, 5);
	CHECK(is_learned(&p, 5, 0.5));
	learn_pace(&p, 400, 5 * MS, 0.5);
	pace_doubt(&p);
	CHECK(is_pace(&p, 0.5));
}

static void test_an_unknown_way_is_like_the_others(void)
{
	struct pace p;

	pace_init(&p);
	learn_way(&p, 60, 0, 3);
	learn_way(&p, 60, IMG_WAYS - 1, 3);
	CHECK(is_learned(&p, 7, 3));
	CHECK_NUMBER(pace_way_steps(&p, 7), ==, 0);
	learn_way(&p, 60, 7, 1);
	CHECK(is_learned(&p, 7, 1));
	CHECK(is_learned(&p, 0, 3));
}

static void test_ways_have_limits(void)
{
	struct pace p;

	pace_init(&p);
	pace_learn(&p, 1, 0, MS);
	pace_learn(&p, 1, MS, 0);
	CHECK_NUMBER(pace_way_steps(&p, 1), ==, 0);
	pace_learn(&p, 1, MS, UINT64_MAX);
	CHECK_NUMBER(pace_way_times(&p, 1), <, 1.25);
	for (int i = 0; i < 100000; i++)
		pace_learn(&p, 1, 1, UINT64_MAX);
	CHECK_NUMBER(pace_way_times(&p, 1), <, 32.01);
	for (int i = 0; i < 100000; i++)
		pace_learn(&p, 1, UINT64_MAX, 1);
	CHECK_NUMBER(pace_way_times(&p, 1), >, 0.031);
}

/* A machine: what it takes for each way, and what else runs. */
enum { STEPS = 3, WAYS_EACH = 4, UPLOADS = 600, MEASURED = 300 };

struct machine {
	const char *name;
	double times[STEPS][WAYS_EACH];
	double factor; /* more than that, because of other programs */
	/* Each of so many uploads is that of an odd client; 0: none. */
	uint32_t odd_each;
	double odd_times;
};

struct step {
	uint32_t way;
	uint64_t estimated_ns, cpu_ns;
};

static void make_step(struct step *s, const struct machine *m, int step,
		      bool is_odd, uint64_t *random)
{
	uint32_t kind = (uint32_t)random_between(random, 0, WAYS_EACH);
	double estimated = exp(random_between(random, 11, 17)), cpu;

	cpu = estimated * m->times[step][kind] *
	      exp(random_between(random, -SPREAD, SPREAD));
	if (is_odd)
		cpu *= m->odd_times;
	*s = (struct step){
		.way = (uint32_t)(step * WAYS_EACH) + kind,
		.estimated_ns = (uint64_t)estimated,
		.cpu_ns = (uint64_t)cpu,
	};
}

/*
 * The error of an upload on this machine, larger / smaller - 1, before it has
 * taught anything.
 */
static double upload_error(struct pace *p, const struct machine *m, bool is_odd,
			   uint64_t *random)
{
	struct step steps[STEPS];
	double expected = 0, took = 0;

	for (int i = 0; i < STEPS; i++) {
		make_step(&steps[i], m, i, is_odd, random);
		took += m->factor * (double)steps[i].cpu_ns;
		expected += pace_factor(p) * pace_way_times(p, steps[i].way) *
			    (double)steps[i].estimated_ns;
	}
	for (int i = 0; i < STEPS; i++) {
		const struct step *s = &steps[i];

		pace_learn_factor(p, s->cpu_ns,
				  (uint64_t)(m->factor * (double)s->cpu_ns));
		pace_learn(p, s->way, s->estimated_ns, s->cpu_ns);
	}
	return fmax(expected / took, took / expected) - 1;
}

/* The median error of usual uploads, after UPLOADS of them. */
static double median_error(const struct machine *m)
{
	static struct pace p;
	double errors[MEASURED];
	uint64_t random = 42;
	size_t count = 0;

	pace_init(&p);
	for (uint32_t i = 0; count < MEASURED; i++) {
		bool is_odd = m->odd_each > 0 && i % m->odd_each == 0;
		double error = upload_error(&p, m, is_odd, &random);

		if (i >= UPLOADS && !is_odd)
			errors[count++] = error;
	}
	quantiles_sort(errors, count);
	return quantile_between(errors, count, 0.5);
}

static const struct machine machines[] = {
	{ "that of the estimates",
	  { { 1, 1, 1, 1 }, { 1, 1, 1, 1 }, { 1, 1, 1, 1 } },
	  1,
	  0,
	  1 },
	{ "a slower one",
	  { { 3, 3, 3, 3 }, { 3, 3, 3, 3 }, { 3, 3, 3, 3 } },
	  1,
	  0,
	  1 },
	{ "one without vector instructions",
	  { { 1.2, 1.5, 2, 4 }, { 6, 5, 4, 7 }, { 1, 3, 2, 1.4 } },
	  1,
	  0,
	  1 },
	{ "a faster one, half busy with other things",
	  { { 0.4, 0.5, 0.6, 0.5 }, { 0.3, 0.3, 0.7, 0.5 }, { 0.5, 1, 1, 1 } },
	  2,
	  0,
	  1 },
	{ "a slower one, with files that take no time",
	  { { 3, 4, 2, 3 }, { 3, 3, 2, 3 }, { 5, 3, 3, 3 } },
	  1,
	  4,
	  0.01 },
	{ "with files that take twenty times as long",
	  { { 1, 2, 1, 2 }, { 2, 1, 1, 1 }, { 1, 1, 1, 1 } },
	  1,
	  4,
	  20 },
	{ "with files that take twice as long",
	  { { 1, 2, 1, 2 }, { 2, 1, 1, 1 }, { 1, 1, 1, 1 } },
	  1,
	  4,
	  2 },
};

static void test_estimates_follow_any_machine(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
		check_case("%s", machines[i].name);
		CHECK_NUMBER(median_error(&machines[i]), <=, 0.10);
	}
}

static void test_errors_are_counted(void)
{
	static struct pace p;
	struct histogram_copy errors = { 0 };

	pace_init(&p);
	pace_count_error(&p, 0, MS);
	pace_count_error(&p, MS, 0);
	pace_count_error(&p, MS, 2 * MS);
	pace_count_error(&p, 2 * MS, MS);
	histogram_read(&p.errors, &errors);
	CHECK_NUMBER(errors.count, ==, 2);
	CHECK_NUMBER(histogram_quantile(&errors, 0.5), >=, 1000);
	CHECK_NUMBER(histogram_quantile(&errors, 0.5), <, 1150);
}

int main(void)
{
	test_pace_is_that_of_the_machine();
	test_pace_is_that_of_the_time();
	test_refusals_do_not_go_on_for_ever();
	test_pace_has_limits();
	test_a_way_is_that_of_the_machine();
	test_ways_are_doubted();
	test_an_unknown_way_is_like_the_others();
	test_ways_have_limits();
	test_estimates_follow_any_machine();
	test_errors_are_counted();
	return 0;
}
