/* SPDX-License-Identifier: MIT */
/*
 * Recent: what a stage did in the last RECENT_COPIES frames, from copies of its
 * counts since start.
 *
 * Limits     Right as long as no bucket grows by 2^32 in that time.
 */
#ifndef SERVICE_RECENT_H
#define SERVICE_RECENT_H

#include "stages/stats.h"

enum { RECENT_COPIES = 10 };

/* All zero: nothing was added. */
struct recent {
	uint64_t added_count; /* so far; the next one's place, modulo */
	struct recent_copy {
		uint32_t waits[HISTOGRAM_BUCKETS];
		uint32_t services[HISTOGRAM_BUCKETS];
		uint64_t handled_count, filled_count;
		uint64_t service_ns, time_ns;
	} copies[RECENT_COPIES];
};

/* Of a stage, or of a part of it; since start or of late. */
struct spread {
	struct histogram_copy waits, services;
	uint64_t handled_count;
	uint64_t filled_count; /* visits that had some */
	uint64_t service_ns;
	uint64_t time_ns; /* when it was so; of late: in so long */
};

void spread_read(const struct stage_stats *from, uint64_t now_ns,
		 struct spread *out);

/* What was added before is the past; after this, nothing was. */
void recent_begin(struct recent *r);

/*
 * *out is what came since the oldest of the last RECENT_COPIES calls; nothing,
 * at the first one.
 */
void recent_add(struct recent *r, const struct spread *now, struct spread *out);

#endif
