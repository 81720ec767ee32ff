/* SPDX-License-Identifier: MIT */
#include "loadgen/params.h"

#include "loadgen/random.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* So that the draws are not those of the order or the arrivals. */
static const uint64_t stream = UINT64_C(0x706172616d730000); /* "params" */

static double weight_of_all(const struct params *p)
{
	return p->count == 0 ? 0 : p->all[p->count - 1].weight_up_to;
}

bool params_add(struct params *p, const char *query, double weight)
{
	struct param *all = reallocarray(p->all, p->count + 1, sizeof(*all));

	assert(weight > 0);
	if (all == NULL)
		return false;
	p->all = all;
	all[p->count].query = strdup(query);
	if (all[p->count].query == NULL)
		return false;
	all[p->count].weight_up_to = weight_of_all(p) + weight;
	p->count++;
	return true;
}

uint32_t params_draw(const struct params *p, uint64_t seed, uint64_t request)
{
	uint64_t state = seed ^ stream;
	double place;
	uint32_t first = 0;
	uint32_t last = p->count - 1;

	assert(p->count > 0);
	state = random_next(&state) + request;
	place = random_fraction(&state) * weight_of_all(p);
	while (first < last) { /* the first whose sum is above `place` */
		uint32_t middle = first + (last - first) / 2;

		if (p->all[middle].weight_up_to > place)
			last = middle;
		else
			first = middle + 1;
	}
	return first;
}

void params_release(struct params *p)
{
	for (uint32_t i = 0; i < p->count; i++)
		free(p->all[i].query);
	free(p->all);
	*p = (struct params){ 0 };
}
