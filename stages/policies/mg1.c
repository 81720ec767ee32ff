/* SPDX-License-Identifier: MIT */
/*
 * MG1 and MG1-Boxma: a polling table visits each stage as often as its load
 * requires.
 *
 * After Gordon, UCAM-CL-TR-781, section 3.1.1: the visit frequencies of Boxma,
 * Levy and Weststrate, "Efficient visit orders for polling systems", 1993, and
 * the even spacing by the golden ratio of Itai and Rosberg, 1984.  If rho is
 * the load of a stage and s the cost of switching to it, its share of the
 * visits is in proportion to
 *
 *	mg1        sqrt(rho (1 - rho))      as the thesis's author ran it: rho
 *	                                    by the 95th percentile of service
 *	                                    times, from 0.005 to 0.99
 *	mg1-boxma  sqrt(rho (1 - rho) / s)  with exhaustive service
 *	           sqrt(rho (1 + rho) / s)  with gated service; rho by the means
 *
 * The formulas are for one server, so loads are measured for each worker.
 *
 * Deviations.  Visits that are lost by rounding down go to the stages that lost
 * most, not to the first ones, and every stage has at least one.  Unless --look
 * is blind, a worker skips an empty queue without a visit.  Loads are measured
 * while the group runs, and the table follows them.
 */
#include "stages/policy.h"

#include "stages/stage.h"

#include <assert.h>
#include <math.h>

/* Two consecutive Fibonacci numbers. */
enum { TABLE_STEP = 89, TABLE_LENGTH = 144 };

/* A stage that is, or seems, overloaded or idle has these loads. */
#define LOAD_MAX 0.99
#define LOAD_MIN 0.005 /* of mg1 only */

struct mg1 {
	bool is_built;
	uint32_t measured_count;   /* when the loads were last looked at */
	double shares[STAGES_MAX]; /* the shares for which the table was made */
	uint32_t table[TABLE_LENGTH];
	uint32_t place;
};

static double load(const struct stage_view *s, double service_ns, double least)
{
	double rho = s->arrivals_per_s * service_ns / 1e9;

	if (!(rho > least)) /* also true if rho is NaN */
		return least;
	return rho < LOAD_MAX ? rho : LOAD_MAX;
}

static bool switch_is_known(const struct stage_view *s)
{
	return s->switch_ns >= 1 && isfinite(s->switch_ns);
}

/* For stages whose cost is not known: the mean of the known costs. */
static double usual_switch_ns(const struct group_view *view)
{
	double sum_ns = 0;
	uint32_t known_count = 0;

	for (uint32_t i = 0; i < view->stage_count; i++)
		if (switch_is_known(&view->stages[i])) {
			sum_ns += view->stages[i].switch_ns;
			known_count++;
		}
	return known_count > 0 ? sum_ns / known_count : 1;
}

/* How often each stage should be visited, in any unit. */
typedef void frequencies_fn(const struct group_view *view, double *out);

static void author_frequencies(const struct group_view *view, double *out)
{
	for (uint32_t i = 0; i < view->stage_count; i++) {
		const struct stage_view *s = &view->stages[i];
		double rho = load(s, s->service_p95_ns, LOAD_MIN);

		out[i] = sqrt(rho * (1 - rho));
	}
}

static void boxma_frequencies(const struct group_view *view, double *out)
{
	double usual_ns = usual_switch_ns(view);

	for (uint32_t i = 0; i < view->stage_count; i++) {
		const struct stage_view *s = &view->stages[i];
		double rho = load(s, s->service_ns, 0);
		double ns = switch_is_known(s) ? s->switch_ns : usual_ns;

		out[i] = sqrt(rho * (s->is_gated ? 1 + rho : 1 - rho) / ns);
	}
}

static void find_shares(const struct group_view *view,
			frequencies_fn *frequencies, double *shares)
{
	double sum = 0;

	frequencies(view, shares);
	for (uint32_t i = 0; i < view->stage_count; i++)
		sum += shares[i];
	for (uint32_t i = 0; i < view->stage_count; i++)
		shares[i] = sum > 0 ? shares[i] / sum : 1.0 / view->stage_count;
}

/* The stage whose visits are furthest below its share. */
static uint32_t most_short(const struct mg1 *m, const uint32_t *visits,
			   uint32_t stage_count)
{
	uint32_t most = 0;
	double most_short = -TABLE_LENGTH;

	for (uint32_t i = 0; i < stage_count; i++) {
		double missing = m->shares[i] * TABLE_LENGTH - visits[i];

		if (missing > most_short) {
			most = i;
			most_short = missing;
		}
	}
	return most;
}

/*
 * The golden ratio rule: number the visits, one stage after the other, and sort
 * them by the fractional part of number / golden ratio.  If the length of the
 * table is a Fibonacci number, each visit is then as many positions after the
 * one before as the preceding Fibonacci number says (modulo the length).
 */
static void build(struct mg1 *m, uint32_t stage_count)
{
	uint32_t visits[STAGES_MAX], place = 0;

	for (uint32_t i = 0; i < stage_count; i++)
		visits[i] = 1;
	for (uint32_t given = stage_count; given < TABLE_LENGTH; given++)
		visits[most_short(m, visits, stage_count)]++;
	for (uint32_t i = 0; i < stage_count; i++)
		for (; visits[i] > 0; visits[i]--) {
			m->table[place] = i;
			place = (place + TABLE_STEP) % TABLE_LENGTH;
		}
	m->is_built = true;
}

/*
 * The table stays if no share has changed by as much as one visit.  A smaller
 * change does not matter; and as the means are noisy, following it would move
 * all visits again and again.
 */
static void follow_loads(struct mg1 *m, const struct group_view *view,
			 frequencies_fn *frequencies)
{
	double shares[STAGES_MAX], moved = 0;

	assert(view->stage_count <= STAGES_MAX);
	m->measured_count = view->measured_count;
	find_shares(view, frequencies, shares);
	for (uint32_t i = 0; i < view->stage_count; i++)
		moved = fmax(moved, fabs(shares[i] - m->shares[i]));
	if (m->is_built && moved * TABLE_LENGTH < 1)
		return;
	for (uint32_t i = 0; i < view->stage_count; i++)
		m->shares[i] = shares[i];
	build(m, view->stage_count);
}

static uint32_t pick(struct mg1 *m, const struct group_view *view,
		     frequencies_fn *frequencies)
{
	if (!m->is_built || m->measured_count != view->measured_count)
		follow_loads(m, view, frequencies);
	for (uint32_t tried = 0; tried < TABLE_LENGTH; tried++) {
		uint32_t stage = m->table[m->place];

		m->place = (m->place + 1) % TABLE_LENGTH;
		if (view->stages[stage].queued_count > 0)
			return stage;
	}
	return POLICY_IDLE;
}

static uint32_t mg1_pick(void *state, const struct group_view *view)
{
	return pick(state, view, author_frequencies);
}

static uint32_t mg1_boxma_pick(void *state, const struct group_view *view)
{
	return pick(state, view, boxma_frequencies);
}

const struct policy policy_mg1 = {
	.name = "mg1",
	.summary = "a thread per core visits each stage by its share of load",
	.meaning = "One worker per core follows a table of visits, where each "
		   "stage comes as often as its measured load asks for, evenly "
		   "spread. The table is made anew as loads change. As the "
		   "thesis's author ran it: loads by the 95th percentile of "
		   "service times, without the cost of switching.",
	.workers = POLICY_WORKERS_ROAM,
	.reads_rates = true,
	.reads_p95 = true,
	.state_bytes = sizeof(struct mg1),
	.pick = mg1_pick,
};

const struct policy policy_mg1_boxma = {
	.name = "mg1-boxma",
	.summary = "as mg1, by Boxma's formulas with the cost of switching",
	.meaning = "As mg1, with the frequencies of Boxma, Levy and "
		   "Weststrate: loads by mean service times, and stages to "
		   "which switching takes long come less often.",
	.workers = POLICY_WORKERS_ROAM,
	.reads_rates = true,
	.state_bytes = sizeof(struct mg1),
	.pick = mg1_boxma_pick,
};
