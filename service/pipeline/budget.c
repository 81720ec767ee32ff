/* SPDX-License-Identifier: MIT */
/*
 * Counters are relaxed: they guard no other memory, and each of them alone is
 * exact.
 */
#include "service/pipeline/budget.h"

#include <assert.h>

void budget_init(struct budget *b, uint64_t limit_bytes)
{
	b->limit_bytes = limit_bytes;
	atomic_init(&b->used_bytes, 0);
	atomic_init(&b->peak_bytes, 0);
	atomic_init(&b->refused_count, 0);
}

static void note_peak(struct budget *b, uint64_t used)
{
	uint64_t peak =
		atomic_load_explicit(&b->peak_bytes, memory_order_relaxed);

	while (used > peak &&
	       !atomic_compare_exchange_weak_explicit(
		       &b->peak_bytes, &peak, used, memory_order_relaxed,
		       memory_order_relaxed))
		;
}

/* False: they do not fit now. */
static bool take(struct budget *b, uint64_t bytes)
{
	uint64_t used =
		atomic_load_explicit(&b->used_bytes, memory_order_relaxed);

	do {
		if (bytes > b->limit_bytes - used)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		&b->used_bytes, &used, used + bytes, memory_order_relaxed,
		memory_order_relaxed));
	note_peak(b, used + bytes);
	return true;
}

enum budget_answer budget_charge(struct charge *c, uint64_t bytes)
{
	struct budget *b = c->budget;
	bool fits = bytes <= b->limit_bytes;

	if (bytes <= c->bytes) {
		budget_lower(c, bytes);
		return BUDGET_OK;
	}
	if (fits && take(b, bytes - c->bytes)) {
		c->bytes = bytes;
		return BUDGET_OK;
	}
	atomic_fetch_add_explicit(&b->refused_count, 1, memory_order_relaxed);
	return fits ? BUDGET_FULL : BUDGET_NEVER;
}

void budget_lower(struct charge *c, uint64_t bytes)
{
	uint64_t before;

	if (bytes >= c->bytes)
		return;
	before = atomic_fetch_sub_explicit(
		&c->budget->used_bytes, c->bytes - bytes, memory_order_relaxed);
	assert(before >= c->bytes - bytes);
	c->bytes = bytes;
}

void budget_read(const struct budget *b, struct budget_stats *out)
{
	*out = (struct budget_stats){
		.limit_bytes = b->limit_bytes,
		.used_bytes = atomic_load(&b->used_bytes),
		.peak_bytes = atomic_load(&b->peak_bytes),
		.refused_count = atomic_load(&b->refused_count),
	};
}
