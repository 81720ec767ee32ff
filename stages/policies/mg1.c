/* SPDX-License-Identifier: MIT */
/*
 * MG1: stages are visited as often as their load asks for, by a polling table.
 *
 * After Gordon, UCAM-CL-TR-781, section 3.1.1: the visit frequencies of Boxma,
 * Levy and Weststrate, "Efficient visit orders for polling systems", 1993, and
 * the even spacing by the golden ratio of Itai and Rosberg, 1984.  With the
 * load rho of a stage, and s, the cost of switching to it, its share is
 *
 *	sqrt(rho (1 - rho) / s)    exhaustive service
 *	sqrt(rho (1 + rho) / s)    gated service
 *
 * over the sum of those of all stages.  Loads are measured for each worker, as
 * the formulas are of one server.
 *
 * Deviations.  Visits lost by rounding down go to the stages that lost most,
 * not to the first; every stage has one at least.  A stage whose queue is empty
 * is passed by looking, not by a visit.  The loads are those measured lately,
 * so the table follows them.
 */
#include "stages/policy.h"

#include "stages/schedule.h"

#include <assert.h>
#include <math.h>

/* Fibonacci numbers, one after the other. */
enum { TABLE_STEP = 89, TABLE_LENGTH = 144 };

#define LOAD_MAX 0.99 /* of a stage that is overloaded, or seems so */

struct mg1 {
	bool is_built;
	uint32_t measured_count;   /* at the last look at the loads */
	double shares[STAGES_MAX]; /* those the table is made for */
	uint32_t table[TABLE_LENGTH];
	uint32_t place;
};

static double load(const struct stage_view *s)
{
	double rho = s->arrivals_per_s * s->service_ns / 1e9;

	if (!(rho > 0)) /* and it is not a number */
		return 0;
	return rho < LOAD_MAX ? rho : LOAD_MAX;
}

static bool switch_is_known(const struct stage_view *s)
{
	return s->switch_ns >= 1 && isfinite(s->switch_ns);
}

/* Where it is not known: the mean of where it is. */
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

static void find_shares(const struct group_view *view, double *shares)
{
	double usual_ns = usual_switch_ns(view), sum = 0;

	for (uint32_t i = 0; i < view->stage_count; i++) {
		const struct stage_view *s = &view->stages[i];
		double rho = load(s);
		double ns = switch_is_known(s) ? s->switch_ns : usual_ns;

		shares[i] =
			sqrt(rho * (view->is_gated ? 1 + rho : 1 - rho) / ns);
		sum += shares[i];
	}
	for (uint32_t i = 0; i < view->stage_count; i++)
		shares[i] = sum > 0 ? shares[i] / sum : 1.0 / view->stage_count;
}

/* The one with fewer visits than its share, by most. */
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
 * The golden ratio's rule: number the visits stage by stage, and sort them by
 * the fractional parts of number / golden ratio.  In a table of a Fibonacci
 * number of visits, that puts each the preceding Fibonacci number of places
 * after the one before.
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
 * A share that moved by less than one visit of the table does not matter; and
 * noise of the means should not shift the visits of all stages again and again.
 */
static void follow_loads(struct mg1 *m, const struct group_view *view)
{
	double shares[STAGES_MAX], moved = 0;

	assert(view->stage_count <= STAGES_MAX);
	m->measured_count = view->measured_count;
	find_shares(view, shares);
	for (uint32_t i = 0; i < view->stage_count; i++)
		moved = fmax(moved, fabs(shares[i] - m->shares[i]));
	if (m->is_built && moved * TABLE_LENGTH < 1)
		return;
	for (uint32_t i = 0; i < view->stage_count; i++)
		m->shares[i] = shares[i];
	build(m, view->stage_count);
}

static uint32_t mg1_pick(void *state, const struct group_view *view)
{
	struct mg1 *m = state;

	if (!m->is_built || m->measured_count != view->measured_count)
		follow_loads(m, view);
	for (uint32_t tried = 0; tried < TABLE_LENGTH; tried++) {
		uint32_t stage = m->table[m->place];

		m->place = (m->place + 1) % TABLE_LENGTH;
		if (view->stages[stage].queued_count > 0)
			return stage;
	}
	return POLICY_IDLE;
}

const struct policy policy_mg1 = {
	.name = "mg1",
	.summary = "a thread per core visits each stage by its share of load",
	.meaning = "One worker per core follows a table of visits, where each "
		   "stage comes as often as its measured load asks for, evenly "
		   "spread. The table is made anew as loads change.",
	.workers = POLICY_WORKERS_ROAM,
	.reads_rates = true,
	.state_bytes = sizeof(struct mg1),
	.pick = mg1_pick,
};
