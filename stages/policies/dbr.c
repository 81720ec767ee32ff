/* SPDX-License-Identifier: MIT */
/*
 * DBR, drum buffer rope: visit the slowest stage that has work; after each
 * visit, look from the slowest again.
 *
 * After Gordon, UCAM-CL-TR-781, section 3.1.3, which takes it from Goldratt's
 * Theory of Constraints.  As there, stages are sorted again when none has work.
 * Under lasting load that never happens, and the order would stay the one of
 * the beginning, when no rate is known; deviation: they are sorted, too, when
 * the rate of a stage becomes known.
 *
 * The rope is not here: while the slowest stages are never without work, those
 * after them wait.  That ends when as many events are under way as the caller
 * admits.
 */
#include "stages/policy.h"

#include "stages/schedule.h"

#include <assert.h>

struct dbr {
	bool is_sorted;
	uint32_t known_count;       /* stages whose rate was known then */
	uint32_t order[STAGES_MAX]; /* slowest first, unknown last */
};

/* 0: not known, or not a number. */
static double service_ns(const struct group_view *view, uint32_t stage)
{
	double ns = view->stages[stage].service_ns;

	return ns > 0 ? ns : 0;
}

static uint32_t count_known(const struct group_view *view)
{
	uint32_t known = 0;

	for (uint32_t i = 0; i < view->stage_count; i++)
		known += service_ns(view, i) > 0;
	return known;
}

/* Equals stay in pipeline order. */
static void sort(struct dbr *d, const struct group_view *view)
{
	assert(view->stage_count <= STAGES_MAX);
	d->is_sorted = true;
	d->known_count = count_known(view);
	for (uint32_t stage = 0; stage < view->stage_count; stage++) {
		double ns = service_ns(view, stage);
		uint32_t i = stage;

		for (; i > 0 && service_ns(view, d->order[i - 1]) < ns; i--)
			d->order[i] = d->order[i - 1];
		d->order[i] = stage;
	}
}

static uint32_t dbr_pick(void *state, const struct group_view *view)
{
	struct dbr *d = state;

	if (!d->is_sorted || count_known(view) > d->known_count)
		sort(d, view);
	for (uint32_t i = 0; i < view->stage_count; i++)
		if (view->stages[d->order[i]].queued_count > 0)
			return d->order[i];
	sort(d, view);
	return POLICY_IDLE;
}

const struct policy policy_dbr = {
	.name = "dbr",
	.summary = "a thread per core visits the slowest stage that has work",
	.meaning =
		"One worker per core visits the slowest stage that has events, "
		"and after each visit looks from the slowest again. That stage "
		"limits all, so it is never left without a worker; faster ones "
		"wait until it has no events.",
	.workers = POLICY_WORKERS_ROAM,
	.reads_rates = true,
	.state_bytes = sizeof(struct dbr),
	.pick = dbr_pick,
};
