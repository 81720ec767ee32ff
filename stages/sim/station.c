/* SPDX-License-Identifier: MIT */
/* Stations: queues, and what is counted about them. */
#include "stages/sim/state.h"

static void count_waiting(struct sim *s, struct station *at, int change)
{
	at->part->views[at->at].queued_count = station_waiting_count(at);
	at->part->waiting_count += (uint64_t)change;
	s->waiting_count += (uint64_t)change;
}

void station_push(struct sim *s, struct station *to, struct request *r)
{
	uint64_t number = to->number++;

	request_move(r, to->part);
	heap_push(&to->queue,
		  (struct heap_entry){
			  .key = discipline_rank(&s->schedule->discipline,
						 &r->event, number),
			  .order = number,
			  .item = r,
		  });
	count_waiting(s, to, 1);
	tally_sent(s, r);
	worker_wake(s, to);
}

struct request *station_pop(struct sim *s, struct station *from)
{
	if (from->queue.count == 0)
		return NULL;
	struct request *r = heap_pop(&from->queue).item;

	count_waiting(s, from, -1);
	tally_wait(s, r->steps[r->step].stage, -1);
	return r;
}

void station_pass(struct sim *s, struct station *to, struct request *r)
{
	struct list *l = &to->passed;

	if (l->count++ == 0)
		l->end = &l->first;
	r->next = NULL;
	*l->end = r;
	l->end = &r->next;
	count_waiting(s, to, 1);
	tally_wait(s, r->steps[r->step].stage, 1);
}

struct request *station_pop_passed(struct sim *s, struct station *from)
{
	struct request *r = from->passed.first;

	if (from->passed.count == 0)
		return NULL;
	from->passed.first = r->next;
	from->passed.count--;
	count_waiting(s, from, -1);
	tally_wait(s, r->steps[r->step].stage, -1);
	return r;
}

uint64_t station_use(struct sim *s, struct station *at)
{
	uint64_t from_ns = at->free_ns > s->now_ns ? at->free_ns : s->now_ns;

	at->free_ns = from_ns + s->config->queue_ns;
	return at->free_ns - s->now_ns;
}

struct station *station_find(struct sim *s, struct part *p, uint32_t stage)
{
	if (s->schedule->balance == BALANCE_PARTITION)
		p = &s->parts[s->config->parts[stage]];
	return p->by_stage[stage];
}

void tally_wait(struct sim *s, uint32_t stage, int change)
{
	struct tally *t = &s->totals.stages[stage];

	t->waiting_ns +=
		(double)t->waiting_count * (double)(s->now_ns - t->changed_ns);
	t->changed_ns = s->now_ns;
	t->waiting_count += (uint64_t)change;
	if (t->waiting_count > t->counts.queued_count_max)
		t->counts.queued_count_max = t->waiting_count;
}

void tally_sent(struct sim *s, const struct request *r)
{
	uint32_t stage = r->steps[r->step].stage;

	s->totals.stages[stage].counts.arrived_count++;
	tally_wait(s, stage, 1);
}

void tally_handled(struct sim *s, const struct request *r, double wait_ns)
{
	const struct model_step *step = &r->steps[r->step];
	struct engine_stage *c = &s->totals.stages[step->stage].counts;

	c->handled_count++;
	c->wait_ns += wait_ns;
	c->service_ns += (double)step->service_ns;
}
