/* SPDX-License-Identifier: MIT */
#include "stages/sim/processor.h"

#include <math.h>

/* Keys are whole numbers: parts of a ns. */
static const double KEYS_PER_NS = 256;

static double speed(const struct processor *p)
{
	double share = (double)p->core_count / p->threads.count;

	return share < 1 ? share : 1;
}

static void advance(struct processor *p, uint64_t now_ns)
{
	if (p->threads.count > 0)
		p->got_ns += (double)(now_ns - p->at_ns) * speed(p);
	else
		p->got_ns = 0; /* so that it stays exact */
	p->at_ns = now_ns;
}

void processor_add(struct processor *p, uint64_t now_ns, uint64_t work_ns,
		   void *item)
{
	advance(p, now_ns);
	double done_at = (p->got_ns + (double)work_ns) * KEYS_PER_NS;

	heap_push(&p->threads, (struct heap_entry){
				       .key = (uint64_t)done_at,
				       .item = item,
			       });
}

uint64_t processor_next_ns(const struct processor *p)
{
	if (p->threads.count == 0)
		return UINT64_MAX;
	double left_ns =
		(double)p->threads.entries[0].key / KEYS_PER_NS - p->got_ns;

	return left_ns <= 0 ? p->at_ns :
			      p->at_ns + (uint64_t)ceil(left_ns / speed(p));
}

void *processor_pop(struct processor *p, uint64_t now_ns)
{
	advance(p, now_ns);
	return heap_pop(&p->threads).item;
}
