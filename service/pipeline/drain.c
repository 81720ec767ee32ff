/* SPDX-License-Identifier: MIT */
/*
 * A slot holds its number since the clock's zero above, and the ends counted in
 * it below, in one word: who finds an older number there begins it anew.
 * Counters are relaxed: they guard no other memory.
 */
#include "service/pipeline/drain.h"

enum {
	SLOT_NS_LOG2 = 27, /* 134 ms */
	COUNT_BITS = 24,
	WAIT_S_MAX = 30,
};

#define WINDOW_NS ((uint64_t)(DRAIN_SLOTS - 1) << SLOT_NS_LOG2)
#define SECOND_NS UINT64_C(1000000000)

static uint64_t slot_number(uint64_t now_ns)
{
	return now_ns >> SLOT_NS_LOG2;
}

void drain_begin(struct drain *d, uint64_t now_ns)
{
	atomic_store_explicit(&d->busy_since_ns, now_ns, memory_order_relaxed);
}

void drain_count(struct drain *d, uint64_t now_ns)
{
	uint64_t number = slot_number(now_ns), next;
	_Atomic uint64_t *slot = &d->slots[number % DRAIN_SLOTS];
	uint64_t now = atomic_load_explicit(slot, memory_order_relaxed);

	do {
		next = now >> COUNT_BITS == number ? now + 1 :
						     number << COUNT_BITS | 1;
	} while (!atomic_compare_exchange_weak_explicit(
		slot, &now, next, memory_order_relaxed, memory_order_relaxed));
}

/* Ends in the slots from that of `begin_ns` on. */
static uint64_t count_since(const struct drain *d, uint64_t begin_ns)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < DRAIN_SLOTS; i++) {
		uint64_t slot = atomic_load_explicit(&d->slots[i],
						     memory_order_relaxed);

		if (slot >> COUNT_BITS >= slot_number(begin_ns))
			count += slot & ((1 << COUNT_BITS) - 1);
	}
	return count;
}

uint32_t drain_retry_after_s(struct drain *d, uint32_t inside_count,
			     uint64_t now_ns)
{
	uint64_t begin_ns =
		atomic_load_explicit(&d->busy_since_ns, memory_order_relaxed);
	uint32_t turn = atomic_fetch_add_explicit(&d->told_count, 1,
						  memory_order_relaxed);
	uint64_t ended, wait_s;
	uint32_t s;

	if (now_ns - begin_ns > WINDOW_NS)
		begin_ns = now_ns - WINDOW_NS;
	ended = count_since(d, begin_ns);
	wait_s = inside_count * (now_ns - begin_ns) / (ended > 0 ? ended : 1) /
		 SECOND_NS;
	s = wait_s < WAIT_S_MAX ? (uint32_t)wait_s + 1 : WAIT_S_MAX;
	return s + turn % (s + 1);
}
