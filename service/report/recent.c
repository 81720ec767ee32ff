/* SPDX-License-Identifier: MIT */
#include "service/report/recent.h"

#include "base/clock.h"

void spread_read(const struct stage_stats *from, uint64_t now_ns,
		 struct spread *out)
{
	*out = (struct spread){
		.waits = from->waits,
		.services = from->services,
		.turn_count = stage_turn_count(from),
		.service_ns = from->service_ns,
		.time_ns = now_ns,
	};
	/*
	 * The two counts are read at different moments, so the second may be
	 * larger.
	 */
	if (from->visit_count > from->visit_empty_count)
		out->filled_count = from->visit_count - from->visit_empty_count;
}

void recent_begin(struct recent *r)
{
	r->added_count = 0;
}

static void copy_counts(uint32_t to[HISTOGRAM_BUCKETS],
			const struct histogram_copy *from)
{
	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		to[i] = (uint32_t)from->counts[i];
}

static void subtract_counts(struct histogram_copy *out,
			    const struct histogram_copy *now,
			    const uint32_t then[HISTOGRAM_BUCKETS])
{
	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		out->counts[i] = (uint32_t)now->counts[i] - then[i];
		out->count += out->counts[i];
	}
}

void recent_add(struct recent *r, const struct spread *now, struct spread *out)
{
	struct recent_copy *place = &r->copies[r->added_count % RECENT_COPIES];
	const struct recent_copy *oldest =
		r->added_count < RECENT_COPIES ? r->copies : place;

	*out = (struct spread){ 0 };
	if (r->added_count > 0) {
		subtract_counts(&out->waits, &now->waits, oldest->waits);
		subtract_counts(&out->services, &now->services,
				oldest->services);
		out->turn_count = now->turn_count - oldest->turn_count;
		out->service_ns = now->service_ns - oldest->service_ns;
		out->time_ns = now->time_ns - oldest->time_ns;
		if (now->filled_count > oldest->filled_count)
			out->filled_count =
				now->filled_count - oldest->filled_count;
	}
	copy_counts(place->waits, &now->waits);
	copy_counts(place->services, &now->services);
	place->turn_count = now->turn_count;
	place->filled_count = now->filled_count;
	place->service_ns = now->service_ns;
	place->time_ns = now->time_ns;
	r->added_count++;
}

void cpu_use_begin(struct cpu_use *u)
{
	u->added_count = 0;
	u->is_known = false;
}

static uint64_t group_ns(const struct worker_group *workers)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < group_worker_count(workers->group); i++) {
		struct worker_stats w;

		group_read_worker(workers->group, i, &w);
		ns += w.cpu_ns;
	}
	return ns;
}

/*
 * Find the group of each stage.  Group 0 has all stages of the schedule; each
 * later stage has its own group.
 */
static void find_groups(uint32_t groups[PIPELINE_STAGES],
			const struct pipeline_stats *s)
{
	for (uint32_t i = 0; i < s->stage_count; i++)
		groups[i] = i < s->steps.count ? 0 : i - s->steps.count + 1;
}

static void cpu_use_read(struct cpu_reading *out, const struct pipeline *p,
			 const struct pipeline_stats *s, uint64_t now_ns)
{
	struct worker_group groups[WORKER_GROUPS_MAX];
	uint32_t group_count = pipeline_worker_groups(p, groups);
	uint64_t rest_ns;

	*out = (struct cpu_reading){ .at_ns = now_ns };
	for (uint32_t i = 0; i < s->stage_count; i++)
		out->services_ns[i] = s->stages[i].service_ns;
	for (uint32_t i = 0; i < group_count; i++)
		out->groups_ns[i] = group_ns(&groups[i]);
	out->process_ns = rest_ns = clock_cpu_ns();
	if (group_worker_count(groups[0].group) > 0)
		return;
	/*
	 * Without workers, connection threads run group 0, so it gets the
	 * remaining CPU time.
	 */
	for (uint32_t i = 1; i < group_count; i++)
		rest_ns -= out->groups_ns[i] < rest_ns ? out->groups_ns[i] :
							 rest_ns;
	out->groups_ns[0] = rest_ns;
}

/* For each group: the CPU time in one second of service time. */
static void find_shares(double shares[WORKER_GROUPS_MAX],
			const struct cpu_reading *from,
			const struct cpu_reading *to, uint32_t stage_count,
			const uint32_t groups[PIPELINE_STAGES])
{
	double services_ns[WORKER_GROUPS_MAX] = { 0 };

	for (uint32_t i = 0; i < stage_count; i++)
		services_ns[groups[i]] +=
			(double)(to->services_ns[i] - from->services_ns[i]);
	for (uint32_t i = 0; i < WORKER_GROUPS_MAX; i++) {
		double cpu_ns = (double)(to->groups_ns[i] - from->groups_ns[i]);

		shares[i] =
			cpu_ns < services_ns[i] ? cpu_ns / services_ns[i] : 1;
	}
}

/*
 * Compute the CPU use between two readings.  `groups` has the group of each
 * stage.
 */
static void cpu_use_divide(struct cpu_use *u, const struct cpu_reading *from,
			   const struct cpu_reading *to, uint32_t stage_count,
			   const uint32_t groups[PIPELINE_STAGES])
{
	double shares[WORKER_GROUPS_MAX], sum = 0;
	double time_ns = (double)(to->at_ns - from->at_ns);

	find_shares(shares, from, to, stage_count, groups);
	u->is_known = time_ns > 0;
	u->process = (double)(to->process_ns - from->process_ns) / time_ns;
	for (uint32_t i = 0; i < stage_count; i++) {
		u->stages[i] =
			(double)(to->services_ns[i] - from->services_ns[i]) *
			shares[groups[i]] / time_ns;
		sum += u->stages[i];
	}
	/*
	 * The clocks are read at different moments, so the sum may be too
	 * large: correct it.
	 */
	for (uint32_t i = 0; i < stage_count && sum > u->process; i++)
		u->stages[i] *= u->process / sum;
}

void cpu_use_add(struct cpu_use *u, const struct pipeline *p,
		 const struct pipeline_stats *s, uint64_t now_ns)
{
	struct cpu_reading *place =
		&u->readings[u->added_count % RECENT_COPIES];
	struct cpu_reading oldest =
		u->added_count < RECENT_COPIES ? u->readings[0] : *place;
	uint32_t groups[PIPELINE_STAGES];

	find_groups(groups, s);
	cpu_use_read(place, p, s, now_ns);
	if (u->added_count++ > 0)
		cpu_use_divide(u, &oldest, place, s->stage_count, groups);
}
