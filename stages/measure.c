/* SPDX-License-Identifier: MIT */
#include "stages/measure.h"

#include "stages/policy.h"

#include <assert.h>
#include <math.h>

#define TIME_CONSTANT_NS 1e9

/*
 * Move `mean` towards `value`.  The first value is the mean: beginning at 0
 * would call a stage fast and idle for the first second.
 */
static void move(double *mean, double value, double weight)
{
	*mean = *mean > 0 ? *mean + weight * (value - *mean) : value;
}

void measure_update(struct measure *m, const struct measure_totals *now,
		    uint64_t now_ns, uint32_t worker_count,
		    struct stage_view *view)
{
	struct measure before = *m;

	assert(worker_count >= 1);
	if (before.last_ns != 0 && now_ns <= before.last_ns)
		return;
	*m = (struct measure){ .last = *now, .last_ns = now_ns };
	if (before.last_ns == 0)
		return;

	double elapsed_ns = (double)(now_ns - before.last_ns);
	double weight = 1 - exp(-elapsed_ns / TIME_CONSTANT_NS);
	uint64_t arrived = now->arrived_count - before.last.arrived_count;
	uint64_t handled = now->handled_count - before.last.handled_count;
	uint64_t service_ns = now->service_ns - before.last.service_ns;
	uint64_t switches = now->switch_count - before.last.switch_count;
	uint64_t switch_ns = now->switch_ns - before.last.switch_ns;

	move(&view->arrivals_per_s,
	     (double)arrived * 1e9 / elapsed_ns / worker_count, weight);
	if (handled > 0)
		move(&view->service_ns, (double)service_ns / (double)handled,
		     weight);
	if (switches > 0)
		move(&view->switch_ns, (double)switch_ns / (double)switches,
		     weight);
}
