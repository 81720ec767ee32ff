/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/comparison.h"

#include "loadgen/clock.h"
#include "loadgen/compare/json_file.h"
#include "loadgen/compare/measurement.h"
#include "loadgen/compare/results.h"
#include "loadgen/compare/sample.h"
#include "loadgen/compare/server_process.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * A server that needed so many times the time in which requests came is
 * overloaded: higher rates would say nothing but how long they were sent.
 */
enum { OVERLOAD = 3 };

/* Turns of one kind: done, to do, and how long they took. */
struct pace {
	uint64_t count;
	uint64_t done;
	double spent_s;
};

struct comparison {
	const struct comparison_config *config;
	cJSON *results;
	struct pace paces[LOAD_OPEN + 1];
	double capacity_per_s; /* of the first arm */
};

/* One server's life, in which one arm is measured once. */
struct turn {
	struct results_run run; /* of what is measured after the warm-up */
	const struct arm *arm;
	struct server_process server;
};

static bool stopped(const struct comparison *c)
{
	return *c->config->stop != 0;
}

/* By the turns so far; of open loops, before there was one, by the plan. */
static double seconds_left(const struct comparison *c)
{
	const struct open_loop *open = &c->config->plan->open;
	const struct pace *closed_pace = &c->paces[LOAD_CLOSED];
	const struct pace *open_pace = &c->paces[LOAD_OPEN];
	double closed_s = closed_pace->spent_s / (double)closed_pace->done;
	double open_s = open->duration_s * (double)open->rate_count;

	if (open_pace->done > 0)
		open_s = open_pace->spent_s / (double)open_pace->done;
	return (double)(closed_pace->count - closed_pace->done) * closed_s +
	       (double)(open_pace->count - open_pace->done) * open_s;
}

/* The live line, on a terminal. */
static void show(const struct comparison *c, const struct turn *turn,
		 const char *what)
{
	FILE *out = c->config->progress;

	if (!c->config->live)
		return;
	fprintf(out, "\r\033[Krepetition %" PRIu64 "/%" PRIu64 ", %s: %s",
		turn->run.repetition, c->config->plan->repetitions,
		turn->arm->name, what);
	if (c->paces[LOAD_CLOSED].done > 0)
		fprintf(out, "; about %.0f min left",
			seconds_left(c) / 60 + 0.5);
	fflush(out);
}

/* A line that stays, for what was measured. */
static void tell(const struct comparison *c, const struct results_run *run,
		 const cJSON *result)
{
	FILE *out = c->config->progress;
	char load[40] = "closed loop";

	if (run->load == LOAD_WARM_UP)
		return;
	if (run->load == LOAD_OPEN)
		snprintf(load, sizeof(load), "open loop at %g %%",
			 run->percent_of_capacity);
	fprintf(out,
		"%srepetition %" PRIu64
		", %s, %s: %.1f responses/s, p90 %.1f ms\n",
		c->config->live ? "\r\033[K" : "", run->repetition, run->arm,
		load, json_number(result, "responses_per_s", 0),
		json_number(cJSON_GetObjectItem(result, "response_ms"), "p90",
			    0));
}

static bool write_results(const struct comparison *c, struct error *error)
{
	return json_file_write(c->config->folder, "results.json", c->results,
			       error);
}

/* Measure and keep the result, right or wrong.  Interrupted: nothing is. */
static bool measure(struct comparison *c, struct turn *turn,
		    const struct results_run *run, struct measurement *m,
		    double *makespan_s, struct error *error)
{
	cJSON *result;
	char *logs = NULL;
	bool measured;

	if (asprintf(&logs, "%s/logs", c->config->folder) < 0) {
		error_set(error, "out of memory");
		return false;
	}
	m->url = turn->server.url;
	m->dataset = c->config->plan->dataset;
	measured = measurement_run(m, logs, c->config->stop, &result, error);
	free(logs);
	if (!measured)
		return false;
	*makespan_s = json_number(result, "makespan_s", 0);
	tell(c, run, result);
	results_add(c->results, run, result);
	if (!write_results(c, error))
		return false;
	/* An overloaded server may well refuse. */
	return run->load == LOAD_OPEN ||
	       measurement_check(result, m->csv, error);
}

static bool warm_up(struct comparison *c, struct turn *turn,
		    struct error *error)
{
	const struct plan *plan = c->config->plan;
	struct results_run run = turn->run;
	struct measurement m = {
		.connections =
			plan_connections(turn->arm, plan->closed.connections),
		.passes = 1,
		.verify = plan->verify,
	};
	double ignored_s;
	char *csv = NULL;
	bool right;

	show(c, turn, "warm-up");
	if (asprintf(&csv, "%s/logs/warm-up.csv", c->config->folder) < 0) {
		error_set(error, "out of memory");
		return false;
	}
	m.csv = csv;
	run.load = LOAD_WARM_UP;
	right = measure(c, turn, &run, &m, &ignored_s, error);
	free(csv);
	return right;
}

static bool measure_closed(struct comparison *c, struct turn *turn,
			   struct error *error)
{
	const struct closed_loop *closed = &c->config->plan->closed;
	struct measurement m = {
		.connections = plan_connections(turn->arm, closed->connections),
		.seed = turn->run.repetition,
		.passes = closed->passes,
		.duration_s = closed->duration_s,
	};
	double ignored_s;

	show(c, turn, "closed loop");
	return measure(c, turn, &turn->run, &m, &ignored_s, error);
}

static bool measure_open(struct comparison *c, struct turn *turn,
			 struct error *error)
{
	const struct open_loop *open = &c->config->plan->open;
	double makespan_s = 0;

	for (size_t i = 0; i < open->rate_count && !stopped(c) &&
			   makespan_s < OVERLOAD * open->duration_s;
	     i++) {
		struct results_run run = turn->run;
		struct measurement m = {
			.connections =
				plan_connections(turn->arm, open->connections),
			.seed = turn->run.repetition,
			.rate_per_s =
				c->capacity_per_s * open->percents[i] / 100,
			.duration_s = open->duration_s,
		};

		run.percent_of_capacity = open->percents[i];
		show(c, turn, "open loop");
		if (!measure(c, turn, &run, &m, &makespan_s, error))
			return false;
	}
	return true;
}

static bool start(struct comparison *c, struct turn *turn, struct error *error)
{
	const struct plan *plan = c->config->plan;
	char *log = NULL;
	bool started;

	show(c, turn, "start");
	if (asprintf(&log, "%s/logs/arm-%td.log", c->config->folder,
		     turn->arm - plan->arms + 1) < 0) {
		error_set(error, "out of memory");
		return false;
	}
	started = server_process_start(&turn->server, turn->arm, plan->query,
				       log, c->config->stop, error);
	free(log);
	return started;
}

/* Whatever happens, the server is stopped. */
static bool take_turn(struct comparison *c, struct turn *turn,
		      struct error *error)
{
	struct pace *pace = &c->paces[turn->run.load];
	uint64_t began_ns = clock_now_ns();
	struct error why;
	bool done =
		start(c, turn, &why) && warm_up(c, turn, &why) &&
		(turn->run.load == LOAD_CLOSED ? measure_closed(c, turn, &why) :
						 measure_open(c, turn, &why));

	server_process_stop(&turn->server);
	pace->done++;
	pace->spent_s += (double)(clock_now_ns() - began_ns) / (double)NS_PER_S;
	if (!done && !stopped(c))
		error_set(error, "arm '%s', repetition %" PRIu64 ": %s",
			  turn->arm->name, turn->run.repetition, why.text);
	return done || stopped(c);
}

static bool take_turns(struct comparison *c, enum load load,
		       struct error *error)
{
	const struct plan *plan = c->config->plan;

	for (uint64_t repetition = 1; repetition <= plan->repetitions;
	     repetition++)
		for (size_t i = 0; i < plan->arm_count && !stopped(c); i++) {
			const struct arm *arm =
				&plan->arms[(i + repetition - 1) %
					    plan->arm_count];
			struct turn turn = {
				.run = { arm->name, load, repetition, 0 },
				.arm = arm,
			};

			if (!take_turn(c, &turn, error))
				return false;
		}
	return true;
}

struct capacities {
	const char *arm;
	struct sample per_s;
};

/* A results_run_fn. */
static void collect_capacity(const struct results_run *run, const cJSON *result,
			     void *arg)
{
	struct capacities *capacities = arg;

	if (run->load == LOAD_CLOSED && strcmp(run->arm, capacities->arm) == 0)
		sample_add(&capacities->per_s,
			   json_number(result, "responses_per_s", 0));
}

static bool find_capacity(struct comparison *c, struct error *error)
{
	struct capacities capacities = { .arm = c->config->plan->arms[0].name };

	results_for_each(c->results, collect_capacity, &capacities);
	c->capacity_per_s = sample_median(&capacities.per_s);
	if (c->capacity_per_s > 0)
		return true;
	error_set(error, "arm '%s' has no capacity to take shares of",
		  capacities.arm);
	return false;
}

bool comparison_run(const struct comparison_config *config, cJSON **results,
		    struct error *error)
{
	const struct plan *plan = config->plan;
	uint64_t turns = plan->repetitions * plan->arm_count;
	struct comparison c = {
		.config = config,
		.results = results_new(plan),
		.paces[LOAD_CLOSED].count = turns,
		.paces[LOAD_OPEN].count = plan->open.rate_count > 0 ? turns : 0,
	};
	struct error not_written;
	bool done = take_turns(&c, LOAD_CLOSED, error);

	if (done && !stopped(&c) && plan->open.rate_count > 0)
		done = find_capacity(&c, error) &&
		       take_turns(&c, LOAD_OPEN, error);
	if (config->live)
		fprintf(config->progress, "\r\033[K");
	if (!write_results(&c, &not_written) && done) {
		*error = not_written;
		done = false;
	}
	*results = c.results;
	return done;
}
