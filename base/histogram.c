/* SPDX-License-Identifier: MIT */
/*
 * Values up to 7 have a bucket each.  The bucket of a larger value depends on
 * its number of bits and the three bits after the first.
 */
#include "base/histogram.h"

#include <assert.h>

enum { STEP_BITS = 3 };

static uint32_t bucket_of(uint64_t value)
{
	if (value >> STEP_BITS == 0)
		return (uint32_t)value;
	uint32_t shift = 63 - STEP_BITS - (uint32_t)__builtin_clzll(value);
	uint64_t bucket = ((uint64_t)shift << STEP_BITS) + (value >> shift);

	return bucket < HISTOGRAM_BUCKETS ? (uint32_t)bucket :
					    HISTOGRAM_BUCKETS - 1;
}

/* The largest value of a bucket. */
static uint64_t upper_end(uint32_t bucket)
{
	if (bucket >> STEP_BITS == 0)
		return bucket;
	uint32_t shift = (bucket >> STEP_BITS) - 1;
	uint64_t steps = bucket - (shift << STEP_BITS);

	return ((steps + 1) << shift) - 1;
}

void histogram_add(struct histogram *h, uint64_t value)
{
#ifdef DARKROOM_NO_STATISTICS
	(void)h;
	(void)value;
#else
	atomic_fetch_add_explicit(&h->counts[bucket_of(value)], 1,
				  memory_order_relaxed);
#endif
}

void histogram_add_own(struct histogram *h, uint64_t value)
{
#ifdef DARKROOM_NO_STATISTICS
	(void)h;
	(void)value;
#else
	_Atomic uint64_t *count = &h->counts[bucket_of(value)];

	atomic_store_explicit(
		count, atomic_load_explicit(count, memory_order_relaxed) + 1,
		memory_order_relaxed);
#endif
}

void histogram_read(const struct histogram *h, struct histogram_copy *to)
{
	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		uint64_t count = atomic_load_explicit(&h->counts[i],
						      memory_order_relaxed);

		to->counts[i] += count;
		to->count += count;
	}
}

uint64_t histogram_count_to(const struct histogram_copy *h, uint32_t bits)
{
	assert(bits <= 48);
	uint32_t last = bucket_of((UINT64_C(1) << bits) - 1);
	uint64_t count = 0;

	for (uint32_t i = 0; i <= last; i++)
		count += h->counts[i];
	return count;
}

uint64_t histogram_quantile(const struct histogram_copy *h, double q)
{
	uint64_t seen = 0;

	assert(q >= 0 && q <= 1);
	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		seen += h->counts[i];
		if (seen > 0 && (double)seen >= q * (double)h->count)
			return upper_end(i);
	}
	return 0;
}
