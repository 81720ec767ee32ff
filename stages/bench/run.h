/* SPDX-License-Identifier: MIT */
/*
 * Run: a model in real threads, under one schedule.
 *
 *	clients -> stage_send() -> [stages: work] -> ended -> clients
 *
 * The path of a request is drawn when it begins.  Each request owns a buffer;
 * at each stage the handler touches all of it and computes for the time that
 * was drawn.  Closed loop: client_count requests are under way, and a new one
 * begins when one ends.  Open loop: requests are due at random times, and a
 * response time runs from the time at which the request was due.
 *
 * Counting begins with the first counted request and ends when all requests
 * have ended, so that every schedule does the same work.  Response times are
 * those of the counted requests.  The CPU time and context switches of clients
 * are not counted, unless clients run the handlers.
 *
 * A graph with forks is run by closures: a request, and each child, is one.
 * Each child of a fork touches its own part of the request's buffer.
 *
 * The work of a handler is a number of steps, not a time: a handler that loses
 * its core for a while has as much work left as before.  A cold cache costs
 * extra time.
 */
#ifndef STAGES_BENCH_RUN_H
#define STAGES_BENCH_RUN_H

#include "base/util.h"
#include "stages/sim/model.h"
#include "stages/stats.h"

#include <stdint.h>

/* What is measured, and so which figures are printed. */
enum mode {
	MODE_LOAD,   /* throughput and response times */
	MODE_EMPTY,  /* the cost of an event, without its handler */
	MODE_FIBRES, /* user-level threads; not by run(), but by fibres.h */
	MODE_WAKE, /* the time from a send to sleeping workers to the handler */
};

/* How a figure is found. */
enum figure_kind {
	FIGURE_GROWTH,   /* the growth of a count, divided by that of another */
	FIGURE_RESPONSE, /* a figure of the response times */
	/* A figure of the times from the first send to the handler. */
	FIGURE_START,
};

struct figure {
	const char *name;  /* its name in JSON */
	const char *title; /* its title in a table */
	int decimals;
	enum mode mode; /* where it is printed */
	enum figure_kind kind;
	/* The count; for times, the percentile, or 0 for the mean. */
	uint32_t of;
	uint32_t per;  /* the other count */
	double factor; /* by which the result is multiplied */
};

enum { FIGURES = 21 };

extern const struct figure figures[FIGURES];

struct cores;

struct run_config {
	const struct model *model;
	double steps_per_ns; /* from run_measure_speed() */
	double scale;        /* factor for the model's times */
	/*
	 * Size of a request's buffer.  If the model has sizes, this is for a
	 * request of the mean size; other buffers are in proportion.
	 */
	uint64_t memory_bytes;
	uint32_t client_count; /* requests under way, at most */
	double rate_per_s;     /* Poisson; 0: closed loop */
	uint64_t pause_ns;     /* before each request */
	uint32_t lap_count;    /* how often a request repeats its path */
	uint64_t warmup_count; /* requests begun before those that count */
	uint64_t request_count;
	uint64_t duration_ns; /* 0: until all requests have begun */
	uint64_t seed;
	bool counts_hardware; /* if the machine and the system allow it */
};

/*
 * Threads in the pools of a stage with --pool auto, as seen whenever a request
 * began or ended, in the whole run.  What happened between two looks is missed.
 */
struct run_pool {
	uint32_t threads_most, threads_last; /* 0: there is no such pool */
	/* Threads that joined after the first look, and that left. */
	uint64_t joined_count, left_count;
};

struct run_result {
	double values[FIGURES]; /* of `figures`; NAN: too few samples for it */
	/*
	 * Mean response times of the first half of the requests that ended, and
	 * of the others: if they differ, they depend on the length of the run.
	 */
	double half_means_ms[2];
	/* Counts of the whole run. */
	uint64_t finished_count; /* requests */
	uint64_t step_count;     /* stages on their paths */
	uint64_t arrived_counts[STAGES_MAX], handled_counts[STAGES_MAX];
	struct run_pool pools[STAGES_MAX];
	bool has_hardware; /* false: it was not asked for, or not allowed */
	uint64_t hardware[STAGES_MAX][PERF_COUNTERS];
};

/* False: the system gave no memory or threads. */
MUST_CHECK bool run(const struct run_config *config,
		    const struct schedule *schedule, const struct cores *cores,
		    struct run_result *out);

/* Steps that one core makes in a nanosecond; takes some milliseconds. */
double run_measure_speed(void);

#endif
