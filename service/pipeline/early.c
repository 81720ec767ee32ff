/* SPDX-License-Identifier: MIT */
#include "service/pipeline/early.h"

#include "base/clock.h"
#include "base/util.h"

#include <stdatomic.h>

/*
 * A body that comes at once is decoded at once, and needs no further events.
 */
#define SLOW_NS (4 * NS_PER_MS)

enum {
	COUNT_MIN = 64 << 10,
	MEMORY_TIMES = 32,   /* the bytes that have arrived, at most */
	MEMORY_SHARE = 2,    /* of the budget, with those of all others */
	STEP_MIN = 16 << 10, /* not worth an event */
};

bool early_is_due(struct early *e, size_t count, uint64_t memory_bytes)
{
	uint64_t now_ns = clock_now_ns();

	if (e->since_ns == 0)
		e->since_ns = now_ns;
	return !e->is_tried && now_ns - e->since_ns >= SLOW_NS &&
	       count >= COUNT_MIN && memory_bytes / MEMORY_TIMES <= count;
}

void early_begin(struct early *e, const struct early_work *w)
{
	uint64_t used = atomic_load(&w->budget->used_bytes);

	e->is_tried = true;
	e->charge.budget = w->budget;
	if (used + w->memory_bytes > w->budget->limit_bytes / MEMORY_SHARE ||
	    !budget_try(&e->charge, w->memory_bytes))
		return;
	e->decoding = img_early_begin(w->bytes, w->count, w->header, w->view,
				      w->transform, w->limits, w->memory);
	if (e->decoding == NULL) {
		budget_lower(&e->charge, 0);
		return;
	}
	e->count = 0;
	e->err = IMG_OK;
	help_enter(&e->help, w->of, w->memory, w->number);
}

static void decode_part(void *work)
{
	struct early *e = work;

	e->err = img_early_come(e->decoding, e->bytes, e->count, &e->stop);
	atomic_store(&e->has_run, true);
}

/* Take back the part, or wait for its end. */
static void end_part(struct early *e)
{
	if (e->is_begun)
		(void)e->help.helper.end(&e->help.helper);
	e->is_begun = false;
}

enum img_err early_go_on(struct early *e, const uint8_t *bytes, size_t count)
{
	if (e->decoding == NULL || count - e->count < STEP_MIN ||
	    (e->is_begun && !atomic_load(&e->has_run)))
		return IMG_OK;
	end_part(e);
	if (e->err != IMG_OK)
		return e->err;
	e->bytes = bytes;
	e->count = count;
	atomic_store(&e->has_run, false);
	e->is_begun = e->help.helper.begin(&e->help.helper, decode_part, e);
	return IMG_OK;
}

void early_hold(struct early *e)
{
	atomic_store(&e->stop, true);
	end_part(e);
	atomic_store(&e->stop, false);
}

void early_end(struct early *e)
{
	if (e->decoding == NULL)
		return;
	help_leave(&e->help);
	img_early_free(e->decoding);
	e->decoding = NULL;
	e->is_tried = false;
	budget_lower(&e->charge, 0);
}
