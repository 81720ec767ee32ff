/* SPDX-License-Identifier: MIT */
/*
 * DBR (drum, buffer, rope): a worker visits the slowest stage that has events;
 * after each visit it begins with the slowest stage again.
 *
 * After Gordon, UCAM-CL-TR-781, section 3.1.3, which takes it from Goldratt's
 * Theory of Constraints.  As there, the stages are sorted when no stage has
 * events.  Under permanent load that never happens, so the order would stay
 * that of the start, when no rate is known.  Deviation: the stages are also
 * sorted when the rate of another stage becomes known.
 *
 * This policy has no rope, which would limit how much work enters the system:
 * while the slow stages always have events, the events after them wait.  The
 * caller limits this by the number of events that it has under way.
 */
#include "stages/policy.h"

#include "stages/stage.h"

#include <assert.h>

struct dbr {
	bool is_sorted;
	/* Stages whose rate was known at the last sort. */
	uint32_t known_count;
	uint32_t order[STAGES_MAX]; /* slowest first, unknown last */
	uint32_t next;              /* blind: its place in the order */
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

/* Slowest first; equally slow stages stay in pipeline order. */
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

/* As there: again from the slowest as soon as a visit has found an event. */
static uint32_t pick_blind(struct dbr *d, const struct group_view *view)
{
	if (d->next == view->stage_count)
		sort(d, view);
	if (d->next == view->stage_count || view->has_found)
		d->next = 0;
	return d->order[d->next++];
}

static uint32_t dbr_pick(void *state, const struct group_view *view)
{
	struct dbr *d = state;

	if (!d->is_sorted || count_known(view) > d->known_count)
		sort(d, view);
	if (view->is_blind)
		return pick_blind(d, view);
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
