/* SPDX-License-Identifier: MIT */
/*
 * Promise: Little's law holds for each stage within 5 %.  The mean number of
 * waiting events is the arrival rate times the mean wait, and the mean number
 * of events in the handler is the rate times the mean service time.
 *
 * So counts, waits and service times agree: the test samples the numbers of
 * events at random times, and stage_read() gives the rest.  Arrivals are
 * Poisson and handlers compute for a random time.  The law holds for any
 * stretch of time that begins and ends with an empty system, whatever else uses
 * the machine.  But a run whose samples were late, because other programs had
 * the core, shows nothing.  If all runs are like that, the test is skipped.
 */
#include "base/error.h"
#include "stages/flags.h"
#include "stages/test/line.h"
#include "stages/test/watchdog.h"

#include "base/clock.h"
#include "base/test/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	STAGES = 2,
	ITEMS = 3000,
	ATTEMPTS = 3, /* attempts that give a result */
	RUNS = 6,
	LATE_NS = 2000000,
	SKIPPED = 77,
	LOOK_NS = 200000,    /* mean time between two looks */
	ARRIVAL_NS = 800000, /* and between two arrivals */
};

static const double service_ns[STAGES] = { 350e3, 200e3 }; /* means */

#define TOLERANCE 0.05
#define LATE_SHARE_MAX 0.02 /* share of the time that ends in late samples */

struct job {
	struct event event; /* must be the first member */
	uint64_t spin_ns[STAGES];
};

struct system {
	struct stage *stages[STAGES];
	_Atomic uint32_t finished_count;
	struct job jobs[ITEMS];
};

/* The sampled values, integrated over time. */
struct sums {
	double late_share;
	double waiting[STAGES], inside[STAGES];
};

static struct system sys;

static double draw_exponential(unsigned *seed, double mean)
{
	return -log((rand_r(seed) + 1.0) / (RAND_MAX + 2.0)) * mean;
}

static void handle(struct event *ev, void *arg)
{
	struct job *job = (struct job *)ev;
	uint32_t stage = (uint32_t)(uintptr_t)arg;
	uint64_t end_ns = clock_now_ns() + job->spin_ns[stage];

	while (clock_now_ns() < end_ns)
		;
	if (stage + 1 < STAGES)
		CHECK(stage_send(sys.stages[stage + 1], ev));
	else
		(void)atomic_fetch_add(&sys.finished_count, 1);
}

static void *send_all(void *arg)
{
	unsigned seed = 1;
	uint64_t next_ns = clock_now_ns();

	(void)arg;
	for (uint32_t i = 0; i < ITEMS; i++) {
		for (uint32_t s = 0; s < STAGES; s++)
			sys.jobs[i].spin_ns[s] = (uint64_t)draw_exponential(
				&seed, service_ns[s]);
		next_ns += (uint64_t)draw_exponential(&seed, ARRIVAL_NS);
		uint64_t at_ns = clock_now_ns();

		if (at_ns < next_ns)
			pause_ns(next_ns - at_ns);
		CHECK(stage_send(sys.stages[0], &sys.jobs[i].event));
	}
	return NULL;
}

/*
 * Sample until all is done; between two samples, half of the time counts for
 * each.
 */
static struct sums look_on(void)
{
	struct sums sums = { 0 }, last = { 0 };
	unsigned seed = 2;
	uint64_t start_ns = clock_now_ns(), last_ns = start_ns;
	bool goes_on = true;

	while (goes_on) {
		struct sums look;

		pause_ns((uint64_t)draw_exponential(&seed, LOOK_NS));
		goes_on = atomic_load(&sys.finished_count) < ITEMS;
		uint64_t ns = clock_now_ns();
		double half_ns = (double)(ns - last_ns) / 2;

		for (uint32_t s = 0; s < STAGES; s++) {
			struct stage_stats stats;

			stage_read(sys.stages[s], &stats);
			look.waiting[s] = (double)stats.queued_count;
			/* One count may be read a moment before the other. */
			look.inside[s] =
				fmax(0, (double)stats.started_count -
						(double)stats.handled_count);
			sums.waiting[s] +=
				half_ns * (last.waiting[s] + look.waiting[s]);
			sums.inside[s] +=
				half_ns * (last.inside[s] + look.inside[s]);
		}
		if (ns - last_ns > LATE_NS)
			sums.late_share += (double)(ns - last_ns);
		last = look;
		last_ns = ns;
	}
	sums.late_share /= (double)(last_ns - start_ns);
	return sums;
}

/*
 * `counted_ns` is a sum over all events: rate x mean x time.  `looked_ns` is
 * the same, sampled.
 */
static bool agree(const char *what, uint32_t stage, double looked_ns,
		  uint64_t counted_ns)
{
	double ratio = looked_ns / (double)counted_ns;

	(void)printf("  stage %u, %s: looked at / counted %.3f\n", stage, what,
		     ratio);
	return fabs(ratio - 1) <= TOLERANCE;
}

enum verdict { AGREE, DIFFER, TOO_LATE };

static enum verdict attempt(const struct schedule *schedule,
			    const struct cores *cores)
{
	static const char *const names[STAGES] = { "first", "second" };
	struct stage_group *g = group_new(
		&(struct group_config){ .schedule = schedule, .cores = cores });
	pthread_t sender;
	bool ok = true;

	sys = (struct system){ 0 };
	for (uint32_t s = 0; s < STAGES; s++)
		sys.stages[s] =
			group_add(g, &(struct stage_config){
					     .name = names[s],
					     .handler = handle,
					     .arg = (void *)(uintptr_t)s,
					     .slots = ITEMS,
				     });
	CHECK(group_start(g));
	CHECK(!pthread_create(&sender, NULL, send_all, NULL));
	struct sums sums = look_on();

	(void)pthread_join(sender, NULL);
	group_stop(g);
	for (uint32_t s = 0; s < STAGES; s++) {
		struct stage_stats stats;

		stage_read(sys.stages[s], &stats);
		CHECK_NUMBER(stats.handled_count, ==, ITEMS);
		ok &= agree("waiting", s, sums.waiting[s], stats.wait_ns);
		ok &= agree("in service", s, sums.inside[s], stats.service_ns);
	}
	group_free(g);
	if (ok)
		return AGREE;
	(void)printf("  late for %.3f of the time\n", sums.late_share);
	return sums.late_share > LATE_SHARE_MAX ? TOO_LATE : DIFFER;
}

/* False: other programs used too much of the machine. */
static bool test_law_holds(const char *policy, const char *discipline)
{
	struct error why;
	struct cores *cores = cores_new(NULL, why.text);
	struct schedule schedule;
	char list[16];
	struct error error;
	uint32_t differ_count = 0;
	enum verdict verdict = TOO_LATE;

	/*
	 * Only one worker roams.  So a core is left for the threads that send
	 * and sample, and no other thread takes the worker's core between clock
	 * and count, as threads of several pools would.
	 */
	(void)snprintf(list, sizeof(list), "%u", cores_cpu(cores, 0));
	cores_free(cores);
	cores = cores_new(list, why.text);
	schedule_init(&schedule);
	CHECK(schedule_set(&schedule, "policy", policy, NULL, 0));
	CHECK(schedule_set(&schedule, "discipline", discipline, NULL, 0));
	CHECK(schedule_complete(&schedule, STAGES, cores_count(cores),
				error.text));
	(void)printf("%s, %s:\n", policy, discipline);
	for (uint32_t i = 0; i < RUNS && verdict != AGREE; i++) {
		verdict = attempt(&schedule, cores);
		differ_count += verdict == DIFFER;
		CHECK_NUMBER(differ_count, <, ATTEMPTS);
	}
	cores_free(cores);
	return verdict == AGREE;
}

int main(void)
{
	watchdog_start();
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	bool tested = test_law_holds("cohort", "fcfs") &&
		      test_law_holds("srpt", "lcfs") &&
		      test_law_holds("dbr", "srpt");

	return tested ? 0 : SKIPPED;
}
