/* SPDX-License-Identifier: MIT */
/*
 * Capriccio: a user-level thread per event, which runs all its stages one after
 * the other.
 *
 * After von Behren, Condit, Zhou, Necula and Brewer, SOSP 2003.  All threads
 * wait in one queue, first come, first served.
 */
#include "stages/policy.h"

static uint32_t capriccio_arrive(void *state, uint32_t from,
				 const struct blocking_site *at,
				 const struct usage *used)
{
	(void)state;
	(void)from;
	(void)at;
	(void)used;
	return 0;
}

static void capriccio_leave(void *state, uint32_t from,
			    const struct usage *used)
{
	(void)state;
	(void)from;
	(void)used;
}

static uint32_t capriccio_pick(void *state, uint64_t ready, uint64_t now_ns)
{
	(void)state;
	(void)now_ns;
	return (uint32_t)__builtin_ctzll(ready);
}

static const struct thread_policy capriccio_threads = {
	.arrive = capriccio_arrive,
	.leave = capriccio_leave,
	.pick = capriccio_pick,
};

const struct policy policy_capriccio = {
	.name = "capriccio",
	.summary = "a user-level thread per event runs all its stages",
	.meaning =
		"Each event is a user-level thread with a stack of its own: it "
		"runs all stages of the event, and lets others run between "
		"them. One kernel thread per core chooses which of them goes "
		"on.",
	.workers = POLICY_WORKERS_FIBRES,
	.waits_for_memory = true,
	.threads = &capriccio_threads,
};
