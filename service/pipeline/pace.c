/* SPDX-License-Identifier: MIT */
/* Atomics are relaxed: none protects other memory. */
#include "service/pipeline/pace.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

#define FACTOR_NS 0.5e9 /* CPU time over which the mean is taken */
#define FACTOR_MIN 0.125
#define FACTOR_MAX 32

#define LOG_TIMES_MAX 3.4657  /* log(32) */
#define SURPRISE_MAX 0.2      /* of a step of a way, as a logarithm */
#define WEIGHT_MIN (1.0 / 16) /* of the latest step of a way */

enum {
	SAMPLE_MAX = 4,   /* a step counts as at most so many times `factor` */
	DOUBTS = 16,      /* pace_doubt() until about a third is left */
	KNOWN_STEPS = 16, /* a way counts in the mean of all by so many */
};

void pace_init(struct pace *p)
{
	p->errors = (struct histogram){ 0 };
	atomic_init(&p->factor, 1);
	for (uint32_t i = 0; i < IMG_WAYS; i++) {
		atomic_init(&p->ways[i].log_times, 0);
		atomic_init(&p->ways[i].count, 0);
	}
}

static double limit(double x, double least, double most)
{
	return fmin(fmax(x, least), most);
}

/*
 * Steps count by their CPU time, so that the mean is that of the time, not that
 * of the many short steps.
 */
void pace_learn_factor(struct pace *p, uint64_t cpu_ns, uint64_t took_ns)
{
	double factor = pace_factor(p), cpu = (double)cpu_ns,
	       took = (double)took_ns;

	/* No step may change the mean much. */
	if (cpu > FACTOR_NS / 8) {
		took *= FACTOR_NS / 8 / cpu;
		cpu = FACTOR_NS / 8;
	}
	if (took > SAMPLE_MAX * factor * cpu)
		took = SAMPLE_MAX * factor * cpu;
	factor += (took - factor * cpu) / FACTOR_NS;
	atomic_store_explicit(&p->factor, limit(factor, FACTOR_MIN, FACTOR_MAX),
			      memory_order_relaxed);
}

/* In either direction: twice and half as long are an error of 1. */
void pace_count_error(struct pace *p, uint64_t expected_ns, uint64_t cpu_ns)
{
	double times = (double)cpu_ns / (double)expected_ns;

	if (expected_ns == 0 || cpu_ns == 0)
		return;
	histogram_add(&p->errors,
		      (uint64_t)(1000 * (fmax(times, 1 / times) - 1)));
}

void pace_doubt(struct pace *p)
{
	double factor = pace_factor(p);
	if (factor > 1)
		atomic_store_explicit(&p->factor,
				      factor - (factor - 1) / DOUBTS,
				      memory_order_relaxed);
}

double pace_factor(const struct pace *p)
{
	return atomic_load_explicit(&p->factor, memory_order_relaxed);
}

static uint32_t step_count(const struct pace_way *w)
{
	return atomic_load_explicit(&w->count, memory_order_relaxed);
}

static double log_times(const struct pace_way *w)
{
	return atomic_load_explicit(&w->log_times, memory_order_relaxed);
}

/* The mean of all ways, of which those with many steps count the most. */
static double mean_log_times(const struct pace *p)
{
	double sum = 0, weights = 0;

	for (uint32_t i = 0; i < IMG_WAYS; i++) {
		double weight = fmin(step_count(&p->ways[i]), KNOWN_STEPS);

		sum += weight * log_times(&p->ways[i]);
		weights += weight;
	}
	return weights > 0 ? sum / weights : 0;
}

static double way_log_times(const struct pace *p, uint32_t way)
{
	const struct pace_way *w = &p->ways[way];

	assert(way < IMG_WAYS);
	return step_count(w) > 0 ? log_times(w) : mean_log_times(p);
}

uint32_t pace_way_steps(const struct pace *p, uint32_t way)
{
	assert(way < IMG_WAYS);
	return step_count(&p->ways[way]);
}

double pace_way_times(const struct pace *p, uint32_t way)
{
	return exp(way_log_times(p, way));
}

void pace_doubt_way(struct pace *p, uint32_t way)
{
	struct pace_way *w = &p->ways[way];
	double log_now = way_log_times(p, way);

	if (log_now > 0)
		atomic_store_explicit(&w->log_times, log_now - log_now / DOUBTS,
				      memory_order_relaxed);
	/* It was that of the others; now it is known. */
	if (log_now > 0 && step_count(w) == 0)
		atomic_store_explicit(&w->count, 1, memory_order_relaxed);
}

/*
 * The first steps of a way weigh more, so that a few of them are enough on a
 * machine that is several times as slow.
 */
void pace_learn(struct pace *p, uint32_t way, uint64_t estimated_ns,
		uint64_t cpu_ns)
{
	struct pace_way *w = &p->ways[way];
	double log_now = way_log_times(p, way);
	uint32_t count = step_count(w);
	double weight = fmax(1 / sqrt(count + 1.0), WEIGHT_MIN);
	double surprise;

	if (estimated_ns == 0 || cpu_ns == 0)
		return;
	surprise = log((double)cpu_ns / (double)estimated_ns) - log_now;
	log_now += weight * limit(surprise, -SURPRISE_MAX, SURPRISE_MAX);
	atomic_store_explicit(&w->log_times,
			      limit(log_now, -LOG_TIMES_MAX, LOG_TIMES_MAX),
			      memory_order_relaxed);
	if (count < UINT32_MAX)
		atomic_store_explicit(&w->count, count + 1,
				      memory_order_relaxed);
}
