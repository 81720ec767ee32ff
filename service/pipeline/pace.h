/* SPDX-License-Identifier: MIT */
/*
 * Pace: how long image work takes here.
 *
 * The estimates of imgops/ are CPU times of one machine.  Here a step takes
 *
 *	estimate x what this machine takes for its way x factor
 *
 * A *way* (imgops.h) is what takes most of the step's time.  What the machine
 * takes for it, compared with the estimate, is learned from the CPU times of
 * steps that have ended, so it does not depend on what else runs.  Of a way
 * without any, the mean of the others is taken.
 *
 * No upload, however wrong its estimate, changes much: what is learned of a way
 * is a mean of logarithms, in which each step counts as at most a fifth more or
 * less than expected (Huber, Robust estimation of a location parameter, 1964).
 * So if a fifth of its steps take any time at all, the rest are still expected
 * within 5 %.
 *
 * `factor` is how many times its CPU time a step takes here, because of all
 * that uses the cores besides: a mean of the last half second or so of CPU
 * time, 1 at the start.
 *
 * What was learned while other programs were busy may be too large later.  If
 * then all uploads are refused because of it, none teaches better;
 * pace_doubt() makes it smaller until an upload gets through.
 *
 * Threads    Any number at the same time.  Two steps that end at the same time
 *            may count as one.
 */
#ifndef SERVICE_PACE_H
#define SERVICE_PACE_H

#include "base/histogram.h"
#include "imgops/imgops.h"

#include <stdatomic.h>
#include <stdint.h>

struct pace_way {
	_Atomic double log_times; /* of what was estimated */
	_Atomic uint32_t count;   /* steps; 0: nothing is known */
};

struct pace {
	_Atomic double factor; /* 1/8 .. 32 */
	struct pace_way ways[IMG_WAYS];
	struct histogram errors; /* of pace_count_error(), in 1/1000 */
};

void pace_init(struct pace *p);

/*
 * How many times the estimated CPU time a step of this way, less than IMG_WAYS,
 * takes on this machine: 1/32 .. 32.
 */
double pace_way_times(const struct pace *p, uint32_t way);

/* Steps from which that was learned. */
uint32_t pace_way_steps(const struct pace *p, uint32_t way);

/* A step that was estimated at `estimated_ns` took this CPU time. */
void pace_learn(struct pace *p, uint32_t way, uint64_t estimated_ns,
		uint64_t cpu_ns);

/* A step took so long from its beginning to its end. */
void pace_learn_factor(struct pace *p, uint64_t cpu_ns, uint64_t took_ns);

/* The steps of an upload together. */
void pace_count_error(struct pace *p, uint64_t expected_ns, uint64_t cpu_ns);
/*
 * An upload is refused that would have been accepted by the estimates, with a
 * factor of 1.  Call the second for each way of it.
 */
void pace_doubt(struct pace *p);
void pace_doubt_way(struct pace *p, uint32_t way);
double pace_factor(const struct pace *p);

#endif
