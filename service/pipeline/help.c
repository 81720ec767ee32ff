/* SPDX-License-Identifier: MIT */
/*
 * An event in the stage cannot be taken out of it.  So a part that is taken
 * back leaves its event there, and the next part uses it.
 *
 *	NONE       no event is in the stage
 *	SENT       an event is, and has a part to run
 *	RUNS       a thread runs the part, or has run it
 *	RECALLED   an event is, and has nothing to run
 *	LEAVING    the same, and help_leave() waits for it
 */
#include "service/pipeline/help.h"

#include "base/clock.h"
#include "base/util.h"

enum { NONE, SENT, RUNS, RECALLED, LEAVING };

static bool change(struct help *h, uint32_t from, uint32_t to)
{
	return atomic_compare_exchange_strong(&h->state, &from, to);
}

static void wait(struct help *h)
{
	while (sem_wait(&h->ended) != 0) /* a signal */
		;
}

static bool help_begin(struct helper *helper, void (*run)(void *work),
		       void *work)
{
	struct help *h = container_of(helper, struct help, helper);

	if (!h->of->is_idle(h->of))
		return false;
	h->run = run;
	h->work = work;
	if (change(h, RECALLED, SENT))
		return true;
	atomic_store(&h->state, SENT);
	if (stage_send(h->of->stage, &h->event))
		return true;
	atomic_store(&h->state, NONE);
	return false;
}

static bool help_end(struct helper *helper)
{
	struct help *h = container_of(helper, struct help, helper);

	if (change(h, SENT, RECALLED))
		return false;
	wait(h);
	atomic_store(&h->state, NONE);
	return true;
}

static void run_part(struct help *h)
{
	uint64_t cpu_ns = clock_thread_cpu_ns();

	h->run(h->work);
	h->cpu_ns += clock_thread_cpu_ns() - cpu_ns;
	atomic_fetch_add(&h->of->count, 1);
}

void help_handle(struct event *ev, void *arg)
{
	struct help *h = container_of(ev, struct help, event);

	(void)arg;
	/* Between two looks it may have changed. */
	for (;;) {
		if (change(h, RECALLED, NONE))
			return;
		if (change(h, SENT, RUNS)) {
			run_part(h);
			break;
		}
		if (atomic_load(&h->state) == LEAVING)
			break;
	}
	/* From here on, the upload may end. */
	(void)sem_post(&h->ended);
}

void help_enter(struct help *h, struct help_stage *of,
		const struct memory *memory, uint64_t number)
{
	h->helper = (struct helper){ help_begin, help_end };
	h->memory = *memory;
	h->memory.helper = &h->helper;
	h->of = of;
	h->event.number = number;
	h->cpu_ns = 0;
	atomic_init(&h->state, NONE);
	(void)sem_init(&h->ended, 0, 0);
}

void help_leave(struct help *h)
{
	if (change(h, RECALLED, LEAVING))
		wait(h);
	(void)sem_destroy(&h->ended);
}
