/* SPDX-License-Identifier: MIT */
/*
 * Promise: a ranked queue gives back each event once, lowest rank first, and
 * refuses when full.  Many threads at once: test_queue.c.
 */
#include "stages/ranked.h"

#include "stages/stage.h"

#include <assert.h>
#include <stdlib.h>

enum { EVENTS = 500 };

static const struct discipline lcfs = { .kind = DISCIPLINE_LCFS };
static const struct discipline srpt = { .kind = DISCIPLINE_SRPT, .ageing = 1 };

static struct event events[EVENTS];

static void test_last_come_is_first(void)
{
	struct ranked *r = ranked_new(EVENTS, &lcfs);

	assert(ranked_pop(r) == NULL);
	for (uint32_t i = 0; i < EVENTS; i++) {
		assert(ranked_push(r, &events[i]));
		assert(ranked_count(r) == i + 1);
	}
	for (uint32_t i = EVENTS; i > 0; i--)
		assert(ranked_pop(r) == &events[i - 1]);
	assert(ranked_pop(r) == NULL && ranked_count(r) == 0);
	ranked_free(r);
}

/* Pushes and pops mixed, against a search through all that wait. */
static void test_lowest_rank_is_first(void)
{
	struct ranked *r = ranked_new(EVENTS, &srpt);
	bool waits[EVENTS] = { false };
	uint32_t count = 0;

	srand(1);
	for (uint32_t turn = 0; turn < 20 * EVENTS; turn++) {
		uint32_t i = (uint32_t)rand() % EVENTS;

		if (!waits[i]) {
			/* Few values, so that many are equal. */
			events[i] = (struct event){
				.born_ns = 1000 + (uint64_t)rand() % 50,
				.left_ns = (uint64_t)rand() % 50,
			};
			assert(ranked_push(r, &events[i]));
			waits[i] = true;
			count++;
		} else {
			struct event *ev = ranked_pop(r);

			for (uint32_t k = 0; k < EVENTS; k++)
				assert(!waits[k] ||
				       ev->born_ns + ev->left_ns <=
					       events[k].born_ns +
						       events[k].left_ns);
			assert(waits[ev - events]);
			waits[ev - events] = false;
			count--;
		}
		assert(ranked_count(r) == count);
	}
	while (count-- > 0)
		assert(ranked_pop(r) != NULL);
	ranked_free(r);
}

static void test_full_queue_refuses(void)
{
	for (uint32_t slots = 1; slots < 10; slots++) {
		struct ranked *r = ranked_new(slots, &lcfs);

		for (uint32_t i = 0; i < slots; i++)
			assert(ranked_push(r, &events[i]));
		assert(!ranked_push(r, &events[slots]));
		assert(ranked_count(r) == slots);
		assert(ranked_pop(r) == &events[slots - 1]);
		assert(ranked_push(r, &events[slots]));
		assert(ranked_pop(r) == &events[slots]);
		for (uint32_t i = slots - 1; i > 0; i--)
			assert(ranked_pop(r) == &events[i - 1]);
		ranked_free(r);
	}
}

int main(void)
{
	test_last_come_is_first();
	test_lowest_rank_is_first();
	test_full_queue_refuses();
	ranked_free(NULL);
	return 0;
}
