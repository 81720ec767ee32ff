/* SPDX-License-Identifier: MIT */
#include "workload.h"

#include <stdlib.h>

/* SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). */
static uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static uint32_t random_below(uint64_t *state, uint32_t limit)
{
	return (uint32_t)((random_next(state) >> 32) * limit >> 32);
}

static int32_t random_value(uint64_t *state, const struct workload *w)
{
	return w->lowest + (int32_t)random_below(state, w->values);
}

/* A state of its own for each number, so that any order gives the same. */
static uint64_t random_state(const struct workload *w, uint64_t number)
{
	uint64_t state = w->seed ^ number << 1;

	return random_next(&state);
}

void workload_subscription(const struct workload *w, uint32_t number,
			   struct subscription *out)
{
	uint64_t state = random_state(w, number), taken = 0;
	uint32_t equal = w->equal, unequal = w->unequal;

	if (w->is_odd) {
		equal = random_below(&state, equal + 1);
		unequal = random_below(&state, unequal + 1);
	}
	out->count = equal + unequal;
	for (uint32_t i = 0; i < out->count; i++) {
		struct predicate *p = &out->predicates[i];

		do {
			p->attribute =
				(uint16_t)random_below(&state, w->attributes);
		} while (!w->is_odd && taken >> p->attribute & 1);
		taken |= UINT64_C(1) << p->attribute;
		p->comparison = COMPARISON_EQUAL;
		if (i >= equal)
			p->comparison = random_below(&state, 2) == 0 ?
						COMPARISON_LESS :
						COMPARISON_GREATER;
		p->value = random_value(&state, w);
	}
}

void workload_publication(const struct workload *w, uint64_t number,
			  struct publication *out)
{
	uint64_t state = random_state(w, ~number);

	out->count = 0;
	for (uint32_t i = 0; i < w->attributes; i++) {
		int32_t value = random_value(&state, w);

		if (w->is_odd && random_below(&state, 4) == 0)
			continue;
		out->pairs[out->count].attribute = (uint16_t)i;
		out->pairs[out->count].value = value;
		out->count++;
	}
}

static bool satisfies(const struct publication *p, const struct predicate *q)
{
	for (uint32_t i = 0; i < p->count; i++) {
		int32_t value = p->pairs[i].value;

		if (p->pairs[i].attribute != q->attribute)
			continue;
		return q->comparison == COMPARISON_EQUAL ? value == q->value :
		       q->comparison == COMPARISON_LESS  ? value < q->value :
							   value > q->value;
	}
	return false;
}

static bool matches(const struct publication *p, const struct subscription *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (!satisfies(p, &s->predicates[i]))
			return false;
	return true;
}

static int compare_ids(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

bool workload_is_right(const struct subscription *all, uint32_t count,
		       const struct publication *p, struct matching *g)
{
	size_t next = 0;

	if (g->found_count > 0)
		qsort(g->found, g->found_count, sizeof(g->found[0]),
		      compare_ids);
	for (uint32_t i = 0; i < count; i++) {
		if (!matches(p, &all[i]))
			continue;
		if (next == g->found_count || g->found[next] != i)
			return false;
		next++;
	}
	return next == g->found_count;
}
