/* SPDX-License-Identifier: MIT */
#include "loadgen/intervals.h"

#include "loadgen/clock.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t interval_ns = INTERVAL_S * NS_PER_S;

/* What ends with an interval is in it. */
static size_t index_of(uint64_t end_ns)
{
	return end_ns == 0 ? 0 : (size_t)((end_ns - 1) / interval_ns);
}

bool intervals_add(struct intervals *v, uint64_t end_ns, uint64_t bytes)
{
	size_t i = index_of(end_ns);

	if (i >= v->count) {
		uint64_t *grown = reallocarray(v->bytes, i + 1, sizeof(*grown));

		if (grown == NULL)
			return false;
		memset(grown + v->count, 0,
		       (i + 1 - v->count) * sizeof(*grown));
		v->bytes = grown;
		v->count = i + 1;
	}
	v->bytes[i] += bytes;
	return true;
}

size_t intervals_count(uint64_t makespan_ns)
{
	return makespan_ns == 0 ? 0 : index_of(makespan_ns) + 1;
}

struct interval intervals_get(const struct intervals *v, uint64_t makespan_ns,
			      size_t i)
{
	uint64_t begin_ns = i * interval_ns;
	uint64_t end_ns = begin_ns + interval_ns;
	uint64_t cumulative = 0;

	assert(i < intervals_count(makespan_ns));
	if (end_ns > makespan_ns)
		end_ns = makespan_ns;
	for (size_t j = 0; j <= i && j < v->count; j++)
		cumulative += v->bytes[j];
	return (struct interval){
		.end_s = (double)end_ns / (double)NS_PER_S,
		.bytes_per_s = i >= v->count ?
				       0 :
				       (double)v->bytes[i] * (double)NS_PER_S /
					       (double)(end_ns - begin_ns),
		.cumulative_bytes_per_s =
			(double)cumulative * (double)NS_PER_S / (double)end_ns,
	};
}

void intervals_release(struct intervals *v)
{
	free(v->bytes);
	*v = (struct intervals){ 0 };
}
