/* SPDX-License-Identifier: MIT */
#include "base/error.h"
#include "stages/event.h"
#include "stages/test/each_policy.h"
#include "stages/test/line.h"

#include "base/clock.h"
#include "base/test/check.h"

#include <sched.h>
#include <stdio.h>

enum { DELAY_NS_MAX = 20000 };

const char *const line_names[LINE_STAGES] = { "a", "b", "c", "d" };

static const uint64_t hour_ns = 3600ull * 1000000000ull;

/* Compute in a handler, whose event may be paused meanwhile. */
static void spin(uint64_t ns)
{
	uint64_t end_ns = clock_now_ns() + ns;

	while (clock_now_ns() < end_ns)
		stage_pause_point();
}

void pause_ns(uint64_t ns)
{
	struct timespec t = {
		.tv_sec = (time_t)(ns / 1000000000),
		.tv_nsec = (long)(ns % 1000000000),
	};

	(void)nanosleep(&t, NULL);
}

/* Xorshift; no lock among threads, unlike rand(). */
static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

static void check_place(const struct line *l, struct item *item)
{
	const struct line_setup *setup = &l->setup;

	if (setup->schedule.policy->workers == POLICY_WORKERS_CALLER) {
		CHECK(pthread_equal(item->sender, pthread_self()));
		return;
	}
	/*
	 * If each core has its own replica, the core shows which replica it is.
	 */
	if (setup->schedule.balance != BALANCE_REPLICATE ||
	    setup->schedule.steal || setup->is_unbound ||
	    setup->schedule.part_count < cores_count(setup->cores))
		return;
	if (item->at == 0)
		item->cpu = sched_getcpu();
	CHECK_NUMBER(item->cpu, ==, sched_getcpu());
}

static void handle(struct event *ev, void *arg)
{
	struct item *item = (struct item *)ev;
	const struct place *place = arg;
	struct line *l = place->line;

	while (atomic_load(&l->gate_is_closed))
		(void)sched_yield();
	CHECK_NUMBER(atomic_fetch_add(&item->handlers_now, 1), ==, 0);
	CHECK_NUMBER(item->at, ==, place->index);
	CHECK(event_peek(ev)->stage == NULL);
	check_place(l, item);
	if (l->setup.begins != NULL)
		l->setup.begins(item, place);
	CHECK_NUMBER(ev->waited_ns, >=, item->waited_ns);
	CHECK_NUMBER(ev->waited_ns - item->waited_ns, <, hour_ns);
	item->waited_ns = ev->waited_ns;
	item->at++;
	if (l->setup.delay_ns_max > 0) {
		uint32_t seed = (uint32_t)(uintptr_t)item + item->at + 1;

		spin(next_random(&seed) % l->setup.delay_ns_max);
	}
	if (l->setup.ends != NULL)
		l->setup.ends(item, place);
	CHECK_NUMBER(atomic_fetch_sub(&item->handlers_now, 1), ==, 1);

	if (item->at < LINE_STAGES) {
		/*
		 * Read before sending, because afterwards the event belongs to
		 * somebody else.
		 */
		uint64_t waited_ns = ev->waited_ns;

		if (!stage_send(l->stages[item->at], ev)) {
			CHECK_NUMBER(atomic_fetch_add(&item->dropped_count, 1),
				     ==, 0);
			(void)atomic_fetch_add(&l->waited_ns_total, waited_ns);
			(void)atomic_fetch_add(&l->dropped_count, 1);
		}
		return;
	}
	CHECK_NUMBER(atomic_fetch_add(&item->finished_count, 1), ==, 0);
	(void)atomic_fetch_add(&l->waited_ns_total, ev->waited_ns);
	(void)atomic_fetch_add(&l->finished_count, 1);
}

/* Two CPUs this process may use, or the one it has. */
static struct cores *two_cores(void)
{
	cpu_set_t set;
	char list[32];
	int bytes = 0, count = 0;
	struct error why;

	CHECK_NUMBER(sched_getaffinity(0, sizeof(set), &set), ==, 0);
	for (int cpu = 0; cpu < CPU_SETSIZE && count < 2; cpu++)
		if (CPU_ISSET(cpu, &set))
			bytes += snprintf(list + bytes,
					  sizeof(list) - (size_t)bytes, "%s%d",
					  count++ > 0 ? "," : "", cpu);
	struct cores *c = cores_new(list, why.text);

	CHECK(c != NULL);
	return c;
}

void line_each_setup(line_test_fn *test)
{
	struct cores *cores = two_cores();
	uint32_t count = cores_count(cores);

	if (count < 2)
		(void)printf("replicas not tested: one CPU only\n");
	for (const struct policy *const *p = policy_list(); each_policy(*p);
	     p++)
		for (uint32_t replicas = 1; replicas <= count; replicas++) {
			struct line_setup setup = {
				.cores = cores,
				.slots = 4000,
			};

			schedule_init(&setup.schedule);
			setup.schedule.policy = *p;
			setup.schedule.part_count = replicas;
			if (replicas > 1)
				setup.schedule.balance = BALANCE_REPLICATE;
			for (uint32_t i = 0;
			     (*p)->workers == POLICY_WORKERS_STAY &&
			     i < LINE_STAGES;
			     i++)
				setup.schedule.pool_threads[i] = 1 + i % 2;
			test(&setup);
		}
	cores_free(cores);
}

void line_init(struct line *l, const struct line_setup *setup)
{
	*l = (struct line){ .setup = *setup };
	l->group = group_new(&(struct group_config){
		.schedule = &setup->schedule,
		.cores = setup->cores,
	});
	CHECK(l->group != NULL);
	for (uint32_t i = 0; i < LINE_STAGES; i++) {
		l->places[i] = (struct place){ l, i };
		l->stages[i] =
			group_add(l->group, &(struct stage_config){
						    .name = line_names[i],
						    .handler = handle,
						    .arg = &l->places[i],
						    .slots = setup->slots,
						    .type = setup->types[i],
					    });
		CHECK(l->stages[i] != NULL);
	}
}

void line_start(struct line *l, const struct line_setup *setup)
{
	line_init(l, setup);
	CHECK(group_start(l->group));
}

bool line_send(struct line *l, struct item *item)
{
	item->sender = pthread_self();
	return stage_send(l->stages[0], &item->event);
}

void line_await(struct line *l, uint64_t count)
{
	while (atomic_load(&l->finished_count) +
		       atomic_load(&l->dropped_count) <
	       count)
		pause_ns(100000);
}

void line_release(struct line *l)
{
	group_free(l->group);
}

static void *send_share(void *arg)
{
	struct crowd *c = arg;
	uint32_t share = atomic_fetch_add(&c->next_share, 1);
	struct item *items = c->items + (size_t)share * c->item_count;
	uint32_t random = share + 1;

	for (uint32_t i = 0; i < c->item_count; i++) {
		if (next_random(&random) % 8 == 0)
			pause_ns(next_random(&random) % DELAY_NS_MAX);
		else
			spin(next_random(&random) % (DELAY_NS_MAX / 4));
		while (!(items[i].is_accepted = line_send(c->line, &items[i])))
			if (c->persist)
				(void)sched_yield();
			else
				break;
	}
	return NULL;
}

void crowd_start(struct crowd *c)
{
	for (uint32_t i = 0; i < CROWD_THREADS; i++)
		CHECK(!pthread_create(&c->threads[i], NULL, send_share, c));
}

void crowd_join(struct crowd *c)
{
	for (uint32_t i = 0; i < CROWD_THREADS; i++)
		(void)pthread_join(c->threads[i], NULL);
}
