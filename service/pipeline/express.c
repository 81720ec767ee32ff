/* SPDX-License-Identifier: MIT */
#include "service/pipeline/express.h"

#include "service/pipeline/pipeline.h"
#include "stages/cores.h"

/*
 * The lane holds at most so many times the limit: else who comes last would
 * wait for longer than for a worker.
 */
enum { LIMITS_QUEUED_MAX = 4 };

bool express_is_better(const struct express_view *view, uint64_t upload_ns)
{
	return upload_ns < view->limit_ns &&
	       view->large_count >= view->core_count &&
	       view->queued_ns + upload_ns <=
		       LIMITS_QUEUED_MAX * view->limit_ns;
}

bool express_start(struct express *x, uint64_t limit_ns, uint32_t slots,
		   const struct cores *cores)
{
	if (limit_ns == 0)
		return true;
	x->limit_ns = limit_ns;
	x->core_count = cores_count(cores);
	x->lane = auxiliary_start(&(struct auxiliary_config){
		.name = pipeline_step_names[PIPELINE_EXPRESS],
		.threads = 1,
		.slots = slots,
		.cores = cores,
	});
	return x->lane != NULL;
}

bool express_enter(struct express *x, uint64_t upload_ns)
{
	const struct express_view view = {
		.limit_ns = x->limit_ns,
		.core_count = x->core_count,
		.large_count = atomic_load(&x->large_count),
		.queued_ns = atomic_load(&x->queued_ns),
	};

	if (!express_is_better(&view, upload_ns))
		return false;
	atomic_fetch_add(&x->queued_ns, upload_ns);
	return true;
}

bool express_send(struct express *x, struct errand *e)
{
	return auxiliary_send(x->lane, e);
}

void express_leave(struct express *x, uint64_t upload_ns)
{
	atomic_fetch_sub(&x->queued_ns, upload_ns);
}

void express_count(struct express *x, uint64_t upload_ns, int32_t change)
{
	if (x->lane != NULL && upload_ns >= x->limit_ns)
		atomic_fetch_add(&x->large_count, (uint32_t)change);
}

void express_read(const struct express *x, struct stage_stats *out)
{
	auxiliary_read(x->lane, out);
}

void express_stop(struct express *x)
{
	if (x->lane != NULL)
		auxiliary_stop(x->lane);
}

void express_free(struct express *x)
{
	auxiliary_free(x->lane);
}
