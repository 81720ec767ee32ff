/* SPDX-License-Identifier: MIT */
/*
 * All atomics are relaxed: no counter protects other memory, and each single
 * counter is exact.
 */
#include "service/pipeline/budget.h"

#include "base/clock.h"

#include <assert.h>
#include <stdbool.h>

enum {
	/* struct memory_estimate */
	WEIGHT = 8, /* the latest upload counts as an eighth */
	/*
	 * A sample counts as at most this many times the mean, so that one very
	 * large upload does not outweigh all others.
	 */
	SAMPLE_MAX = 4,
	/*
	 * The estimate before the first upload: a photo that becomes a web
	 * picture.
	 */
	FIRST_BODY_BYTES = 1 << 20,
	FIRST_PICTURE_BYTES = 3 << 20,
	/* struct departures */
	SLOT_NS_LOG2 = 27, /* 134 ms */
	COUNT_BITS = 24,
	WAIT_S_MAX = 30,
};

#define WINDOW_NS ((uint64_t)(DEPARTURE_SLOTS - 1) << SLOT_NS_LOG2)

void budget_init(struct budget *b, uint64_t limit_bytes)
{
	b->limit_bytes = limit_bytes;
	atomic_init(&b->used_bytes, 0);
	atomic_init(&b->peak_bytes, 0);
	atomic_init(&b->refused_count, 0);
}

static void budget_raise_peak(struct budget *b, uint64_t used)
{
	uint64_t peak =
		atomic_load_explicit(&b->peak_bytes, memory_order_relaxed);

	while (used > peak &&
	       !atomic_compare_exchange_weak_explicit(
		       &b->peak_bytes, &peak, used, memory_order_relaxed,
		       memory_order_relaxed))
		;
}

/* False: with `bytes` more, the limit would be exceeded now. */
static bool budget_take(struct budget *b, uint64_t bytes)
{
	uint64_t used =
		atomic_load_explicit(&b->used_bytes, memory_order_relaxed);

	do {
		if (bytes > b->limit_bytes - used)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		&b->used_bytes, &used, used + bytes, memory_order_relaxed,
		memory_order_relaxed));
	budget_raise_peak(b, used + bytes);
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
	if (fits && budget_take(b, bytes - c->bytes)) {
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

void memory_estimate_init(struct memory_estimate *m)
{
	atomic_init(&m->body_bytes_mean, FIRST_BODY_BYTES);
	atomic_init(&m->picture_bytes_mean, FIRST_PICTURE_BYTES);
}

static void update_mean(_Atomic uint64_t *mean, uint64_t bytes)
{
	uint64_t m = atomic_load_explicit(mean, memory_order_relaxed);

	if (bytes > SAMPLE_MAX * m)
		bytes = SAMPLE_MAX * m;
	atomic_store_explicit(mean, m - m / WEIGHT + bytes / WEIGHT,
			      memory_order_relaxed);
}

void memory_estimate_learn(struct memory_estimate *m, uint64_t body_bytes,
			   uint64_t picture_bytes)
{
	update_mean(&m->body_bytes_mean, body_bytes);
	update_mean(&m->picture_bytes_mean, picture_bytes);
}

uint64_t memory_estimate_bytes(const struct memory_estimate *m,
			       uint64_t body_bytes)
{
	uint64_t body =
		atomic_load_explicit(&m->body_bytes_mean, memory_order_relaxed);
	uint64_t picture = atomic_load_explicit(&m->picture_bytes_mean,
						memory_order_relaxed);

	return (uint64_t)((double)body_bytes * (double)picture /
			  (double)(body + 1));
}

static uint64_t slot_number(uint64_t now_ns)
{
	return now_ns >> SLOT_NS_LOG2;
}

void departures_begin(struct departures *d, uint64_t now_ns)
{
	atomic_store_explicit(&d->busy_since_ns, now_ns, memory_order_relaxed);
}

/*
 * A slot is one word: its number (slots since the clock's zero) in the upper
 * bits, and the count of departures in the lower bits.  A slot with an older
 * number starts again with a count of 1.
 */
void departures_count(struct departures *d, uint64_t now_ns)
{
	uint64_t number = slot_number(now_ns), next;
	_Atomic uint64_t *slot = &d->slots[number % DEPARTURE_SLOTS];
	uint64_t now = atomic_load_explicit(slot, memory_order_relaxed);

	do {
		next = now >> COUNT_BITS == number ? now + 1 :
						     number << COUNT_BITS | 1;
	} while (!atomic_compare_exchange_weak_explicit(
		slot, &now, next, memory_order_relaxed, memory_order_relaxed));
}

/* Departures since the beginning of the slot that contains `begin_ns`. */
static uint64_t departures_since(const struct departures *d, uint64_t begin_ns)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < DEPARTURE_SLOTS; i++) {
		uint64_t slot = atomic_load_explicit(&d->slots[i],
						     memory_order_relaxed);

		if (slot >> COUNT_BITS >= slot_number(begin_ns))
			count += slot & ((1 << COUNT_BITS) - 1);
	}
	return count;
}

uint32_t departures_retry_after_s(struct departures *d, uint32_t inside_count,
				  uint64_t now_ns)
{
	uint64_t begin_ns =
		atomic_load_explicit(&d->busy_since_ns, memory_order_relaxed);
	uint32_t turn = atomic_fetch_add_explicit(&d->answer_count, 1,
						  memory_order_relaxed);
	uint64_t ended, wait_s;
	uint32_t s;

	if (now_ns - begin_ns > WINDOW_NS)
		begin_ns = now_ns - WINDOW_NS;
	ended = departures_since(d, begin_ns);
	wait_s = inside_count * (now_ns - begin_ns) / (ended > 0 ? ended : 1) /
		 NS_PER_S;
	s = wait_s < WAIT_S_MAX ? (uint32_t)wait_s + 1 : WAIT_S_MAX;
	return s + turn % (s + 1);
}
