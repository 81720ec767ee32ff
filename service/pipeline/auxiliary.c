/* SPDX-License-Identifier: MIT */
#include "service/pipeline/auxiliary.h"

#include "base/util.h"
#include "stages/cores.h"

#include <assert.h>
#include <stdlib.h>

struct auxiliary {
	struct group *group;
	struct stage *stage;
};

static void run_task(struct event *ev, void *arg)
{
	struct task *t = container_of(ev, struct task, event);

	(void)arg;
	t->run(t);
}

/* A pool of threads; without threads, the sender runs its task. */
static void init_schedule(struct schedule *s,
			  const struct auxiliary_config *config)
{
	char error[SCHEDULE_ERROR_BYTES];
	bool ok;

	schedule_init(s);
	s->policy = policy_find(config->threads > 0 ? "pool-per-stage" :
						      "thread-per-connection");
	s->pool_threads[0] = config->threads;
	ok = schedule_complete(s, 1, cores_count(config->cores), error);
	assert(ok);
	(void)ok;
}

struct auxiliary *auxiliary_start(const struct auxiliary_config *config)
{
	struct auxiliary *a = calloc(1, sizeof(*a));
	struct schedule schedule;

	if (a == NULL)
		return NULL;
	init_schedule(&schedule, config);
	a->group = group_new(&(struct group_config){
		.schedule = &schedule,
		.cores = config->cores,
		.counts_hardware = config->counts_hardware,
	});
	if (a->group != NULL)
		a->stage = group_add(a->group, &(struct stage_config){
						       .name = config->name,
						       .handler = run_task,
						       .slots = config->slots,
					       });
	if (a->stage != NULL && group_start(a->group))
		return a;
	auxiliary_free(a);
	return NULL;
}

bool auxiliary_send(struct auxiliary *a, struct task *t)
{
	return stage_send(a->stage, &t->event);
}

const struct group *auxiliary_group(const struct auxiliary *a)
{
	return a->group;
}

void auxiliary_read(const struct auxiliary *a, struct stage_stats *out)
{
	stage_read(a->stage, out);
}

void auxiliary_stop(struct auxiliary *a)
{
	group_stop(a->group);
}

void auxiliary_free(struct auxiliary *a)
{
	if (a == NULL)
		return;
	group_free(a->group);
	free(a);
}
