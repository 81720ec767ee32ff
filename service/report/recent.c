/* SPDX-License-Identifier: MIT */
#include "service/report/recent.h"

void spread_read(const struct stage_stats *from, uint64_t now_ns,
		 struct spread *out)
{
	*out = (struct spread){
		.waits = from->waits,
		.services = from->services,
		.handled_count = from->handled_count,
		.service_ns = from->service_ns,
		.time_ns = now_ns,
	};
	/* They are counted one after the other. */
	if (from->visit_count > from->visit_empty_count)
		out->filled_count = from->visit_count - from->visit_empty_count;
}

void recent_begin(struct recent *r)
{
	r->added_count = 0;
}

static void copy(uint32_t to[HISTOGRAM_BUCKETS],
		 const struct histogram_copy *from)
{
	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		to[i] = (uint32_t)from->counts[i];
}

static void subtract(struct histogram_copy *out,
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
		subtract(&out->waits, &now->waits, oldest->waits);
		subtract(&out->services, &now->services, oldest->services);
		out->handled_count = now->handled_count - oldest->handled_count;
		out->service_ns = now->service_ns - oldest->service_ns;
		out->time_ns = now->time_ns - oldest->time_ns;
		if (now->filled_count > oldest->filled_count)
			out->filled_count =
				now->filled_count - oldest->filled_count;
	}
	copy(place->waits, &now->waits);
	copy(place->services, &now->services);
	place->handled_count = now->handled_count;
	place->filled_count = now->filled_count;
	place->service_ns = now->service_ns;
	place->time_ns = now->time_ns;
	r->added_count++;
}
