/* SPDX-License-Identifier: MIT */
/*
 * The smallest program of stages: each number is squared by one stage, and
 * added to a sum by the next.  It is linked with the library `stages` alone: it
 * has no flags and reads no graph.
 *
 *	main -> [queue] -> square -> [queue] -> add
 *
 * `add` is exclusive: one worker at a time is in it, so it needs no lock.
 */
#include "base/util.h"
#include "stages/cores.h"
#include "stages/stage.h"

#include <stdio.h>
#include <stdlib.h>

enum { JOBS = 1000 };

struct job {
	struct event event;
	uint64_t number;
};

struct sum {
	struct stage *square, *add;
	uint64_t total;
};

/* Fewer events are under way than a queue has slots, so none is refused. */
static void send(struct stage *to, struct job *j)
{
	if (!stage_send(to, &j->event))
		abort();
}

static void square(struct event *ev, void *arg)
{
	struct sum *s = arg;
	struct job *j = container_of(ev, struct job, event);

	j->number *= j->number;
	send(s->add, j);
}

static void add(struct event *ev, void *arg)
{
	struct sum *s = arg;

	s->total += container_of(ev, struct job, event)->number;
}

/* False: no memory, or no thread. */
static bool run(struct group *g, struct sum *s, struct job *jobs)
{
	s->square = group_add(g, &(struct stage_config){ .name = "square",
							 .handler = square,
							 .arg = s,
							 .slots = JOBS });
	s->add =
		group_add(g, &(struct stage_config){ .name = "add",
						     .handler = add,
						     .arg = s,
						     .slots = JOBS,
						     .type = STAGE_EXCLUSIVE });
	if (s->square == NULL || s->add == NULL || !group_start(g))
		return false;
	for (uint64_t i = 0; i < JOBS; i++) {
		jobs[i].number = i + 1;
		send(s->square, &jobs[i]);
	}
	group_stop(g); /* when every job is done */
	return true;
}

int main(void)
{
	static struct job jobs[JOBS];
	struct error error;
	struct schedule schedule;
	struct sum sum = { .total = 0 };
	struct cores *cores = cores_new(NULL, &error);
	struct group *g;
	bool ok;

	if (cores == NULL) {
		fprintf(stderr, "two_stages: the cores %s\n", error.text);
		return EXIT_FAILURE;
	}
	schedule_init(&schedule); /* the members say what else there is */
	if (!schedule_complete(&schedule, 2, cores_count(cores), &error)) {
		fprintf(stderr, "two_stages: %s\n", error.text);
		return EXIT_FAILURE;
	}
	g = group_new(&(struct group_config){ .schedule = &schedule,
					      .cores = cores });
	ok = g != NULL && run(g, &sum, jobs);
	group_free(g);
	cores_free(cores);
	if (ok)
		printf("%llu\n", (unsigned long long)sum.total);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
