/* SPDX-License-Identifier: MIT */
/*
 * The smallest program of stages: each number is squared by one stage, and
 * added to a sum by the next.
 *
 *	main -> [queue] -> square -> [queue] -> add
 *
 * `add` is exclusive: one worker at a time is in it, so it needs no lock.
 */
#include <stages/stage.h>

#include <stdio.h>
#include <stdlib.h>

enum { JOBS = 1000 };

static struct job {
	struct event event; /* first, so a pointer to it is one to the job */
	unsigned long number;
} jobs[JOBS];

static struct stage *squares, *adds;
static unsigned long sum;

/* No queue is ever full: it has a slot for every job. */
static void send(struct stage *to, struct event *ev)
{
	if (!stage_send(to, ev))
		abort();
}

static void square(struct event *ev, void *arg)
{
	struct job *job = (struct job *)ev;

	(void)arg;
	job->number *= job->number;
	send(adds, ev);
}

static void add(struct event *ev, void *arg)
{
	(void)arg;
	sum += ((struct job *)ev)->number;
}

int main(void)
{
	const struct stage_config first = { "square", square, .slots = JOBS };
	const struct stage_config last = { "add", add, .slots = JOBS,
					   .type = STAGE_EXCLUSIVE };
	char why[STAGES_WHY_BYTES];
	struct cores *cores = cores_new(NULL, why);
	struct schedule schedule;

	schedule_init(&schedule); /* its members are all choices there are */
	if (cores == NULL ||
	    !schedule_complete(&schedule, 2, cores_count(cores), why)) {
		fprintf(stderr, "two_stages: %s\n", why);
		return EXIT_FAILURE;
	}
	struct stage_group *g = group_new(&(struct group_config){
		.schedule = &schedule, .cores = cores });

	if (g == NULL || (squares = group_add(g, &first)) == NULL ||
	    (adds = group_add(g, &last)) == NULL || !group_start(g))
		abort(); /* no memory, or no thread */
	for (int i = 0; i < JOBS; i++) {
		jobs[i].number = (unsigned long)i + 1;
		send(squares, &jobs[i].event);
	}
	group_stop(g); /* when every job is done */
	group_free(g);
	cores_free(cores);
	printf("%lu\n", sum);
	return EXIT_SUCCESS;
}
