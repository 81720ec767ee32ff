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

#include <inttypes.h>
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
	const struct stage_config square_config = {
		.name = "square", .handler = square, .arg = s, .slots = JOBS
	};
	const struct stage_config add_config = { .name = "add",
						 .handler = add,
						 .arg = s,
						 .slots = JOBS,
						 .type = STAGE_EXCLUSIVE };

	s->square = group_add(g, &square_config);
	s->add = group_add(g, &add_config);
	if (s->square == NULL || s->add == NULL || !group_start(g))
		return false;
	for (uint64_t i = 0; i < JOBS; i++) {
		jobs[i].number = i + 1;
		send(s->square, &jobs[i]);
	}
	group_stop(g); /* when every job is done */
	return true;
}

/* Zero, or the exit status of a program that has printed what is wrong. */
static int square_and_add(const struct cores *cores, struct sum *sum)
{
	static struct job jobs[JOBS];
	struct schedule schedule;
	struct error error;
	struct group *g;
	bool ok;

	schedule_init(&schedule); /* the members say what else there is */
	if (!schedule_complete(&schedule, 2, cores_count(cores), &error)) {
		fprintf(stderr, "two_stages: %s\n", error.text);
		return EXIT_FAILURE;
	}
	g = group_new(&(struct group_config){ .schedule = &schedule,
					      .cores = cores });
	ok = g != NULL && run(g, sum, jobs);
	group_free(g);
	if (!ok)
		fprintf(stderr, "two_stages: no memory, or no thread\n");
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(void)
{
	struct sum sum = { .total = 0 };
	struct error error;
	struct cores *cores = cores_new(NULL, &error);
	int status;

	if (cores == NULL) {
		fprintf(stderr, "two_stages: the cores %s\n", error.text);
		return EXIT_FAILURE;
	}
	status = square_and_add(cores, &sum);
	cores_free(cores);
	if (status == EXIT_SUCCESS &&
	    (printf("%" PRIu64 "\n", sum.total) < 0 || fflush(stdout) != 0)) {
		perror("two_stages: standard output");
		return EXIT_FAILURE;
	}
	return status;
}
