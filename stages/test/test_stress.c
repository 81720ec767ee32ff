/* SPDX-License-Identifier: MIT */
/*
 * Promise: nothing is lost or done twice, whatever is sent when, and whenever a
 * group is stopped, under any schedule.
 *
 * Rounds of random schedules until the time is over, made for ThreadSanitizer.
 * The seed is printed; given as the only argument, it is used again.
 */
#include "base/error.h"
#include "stages/event.h"
#include "stages/flags.h"
#include "stages/test/fake_cores.h"

#include "base/test/check.h"
#include "base/util.h"
#include "stages/test/each_policy.h"
#include "stages/test/line.h"
#include "stages/test/watchdog.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	SENDERS = 3,
	ITEMS = 150, /* of each */
	SECONDS = 4,
	CORES_MAX = 6,
};

static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* Values of each flag; an empty one: not given. */
static const struct {
	const char *name, *values[9];
} flags[] = {
	{ "balance",
	  { "shared", "replicate=2", "replicate", "partition=2", "partition",
	    "even", "replicate,b=shared,c=even=2",
	    "replicate=2,a=shared,b=shared,d=even" } },
	{ "regime", { "", "gated", "n-gated=3", "time-gated=10", "cutoff=1" } },
	{ "discipline", { "", "lcfs", "stack", "srpt=3", "edf" } },
	{ "distribute", { "", "least-loaded", "size" } },
	{ "pool", { "", "auto", "a=3,c=2" } },
	{ "threshold", { "", "b=1", "c=0:10,d=3" } },
	{ "enough", { "", "b=2", "b=4,d=1" } },
};

/* Draw a schedule that is not refused. */
static void draw_schedule(struct schedule *s, uint32_t *random)
{
	uint32_t policy_count = 0;
	struct error error;

	while (policy_list()[policy_count] != NULL)
		policy_count++;
	const struct policy *policy =
		policy_list()[next_random(random) % policy_count];

	(void)each_policy(policy);
	do {
		schedule_init(s);
		s->policy = policy;
		for (uint32_t i = 0; i < ARRAY_SIZE(flags); i++) {
			uint32_t count = 0;

			check_case("flags[%zu]: %s", (size_t)i, flags[i].name);
			while (flags[i].values[count] != NULL)
				count++;
			const char *value =
				flags[i].values[next_random(random) % count];

			if (value[0] != '\0')
				CHECK(schedule_set(s, flags[i].name, value,
						   line_names, LINE_STAGES));
		}
		if (next_random(random) % 2 == 0)
			CHECK(schedule_set(s, "steal", NULL, NULL, 0));
	} while (!schedule_complete(s, LINE_STAGES, fake_core_count,
				    error.text));
}

struct sender {
	struct line *line;
	struct item *items;
	uint32_t random;
	pthread_t thread;
};

static void *send_all(void *arg)
{
	struct sender *s = arg;

	for (uint32_t i = 0; i < ITEMS; i++) {
		struct item *item = &s->items[i];
		uint32_t parts[LINE_STAGES];

		item->event.key = next_random(&s->random) % 7;
		item->event.left_ns = next_random(&s->random) % 3000;
		item->is_accepted = line_send(s->line, item);
		switch (next_random(&s->random) % 16) {
		case 0:
			pause_ns(next_random(&s->random) % 200000);
			break;
		case 1:
			for (uint32_t k = 0; k < LINE_STAGES; k++)
				parts[k] = next_random(&s->random) %
					   s->line->setup.schedule.part_count;
			(void)group_partition(s->line->group, parts);
			break;
		case 2:
			(void)sched_yield();
			break;
		}
	}
	return NULL;
}

static void check_item(const struct item *item)
{
	CHECK_NUMBER(item->finished_count + item->dropped_count, ==,
		     item->is_accepted);
	CHECK_NUMBER(item->handlers_now, ==, 0);
	CHECK(event_peek(&item->event)->stage == NULL);
	CHECK(item->finished_count == 0 || item->at == LINE_STAGES);
	CHECK(item->is_accepted || item->at == 0);
}

/* Senders, and a stop at some moment. */
static uint64_t run_round(const struct cores *cores, uint32_t *random)
{
	static struct item items[SENDERS][ITEMS];
	struct sender senders[SENDERS];
	struct line_setup setup = { .cores = cores, .is_unbound = true };
	struct line l;

	fake_core_count = 1 + next_random(random) % CORES_MAX;
	draw_schedule(&setup.schedule, random);
	setup.slots = 1 + next_random(random) % 40;
	setup.delay_ns_max = next_random(random) % 5000;
	for (uint32_t i = 0; i < LINE_STAGES; i++)
		setup.types[i] = (enum stage_type)(next_random(random) % 4);
	setup.types[1] = STAGE_SHARED; /* not all pass through */
	(void)memset(items, 0, sizeof(items));
	line_start(&l, &setup);
	for (uint32_t i = 0; i < SENDERS; i++) {
		senders[i] = (struct sender){
			.line = &l,
			.items = items[i],
			.random = next_random(random),
		};
		CHECK(!pthread_create(&senders[i].thread, NULL, send_all,
				      &senders[i]));
	}
	pause_ns(next_random(random) % 4000000);
	group_stop(l.group);
	uint64_t ended = l.finished_count + l.dropped_count;

	for (uint32_t i = 0; i < SENDERS; i++) {
		(void)pthread_join(senders[i].thread, NULL);
		for (uint32_t k = 0; k < ITEMS; k++)
			check_item(&items[i][k]);
	}
	/* All items had ended when the stop returned. */
	CHECK_NUMBER(l.finished_count + l.dropped_count, ==, ended);
	line_release(&l);
	return ended;
}

int main(int argc, char **argv)
{
	struct error why;
	struct cores *cores = cores_new(NULL, why.text);
	time_t start = time(NULL);
	uint32_t seed = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) :
				   (uint32_t)start;
	uint32_t random = seed | 1, rounds = 0;
	uint64_t ended = 0;

	watchdog_start();
	(void)printf("seed %u\n", seed);
	(void)fflush(stdout);
	for (; time(NULL) - start < SECONDS; rounds++)
		ended += run_round(cores, &random);
	(void)printf("%u rounds, %lu events\n", rounds, (unsigned long)ended);
	CHECK_NUMBER(ended, >, 0);
	cores_free(cores);
	return 0;
}
