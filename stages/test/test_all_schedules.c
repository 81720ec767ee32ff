/* SPDX-License-Identifier: MIT */
/*
 * Promises: under every schedule that is not refused, each accepted event is
 * handled exactly once at each stage, and only by workers that may visit the
 * stage; an event sent to sleeping workers is handled; and a stop leaves no
 * event behind.
 *
 * Walks the registry of policies with the other flags, over stages of all
 * types, with three workers, so that parts are of unequal size. line.c checks
 * each item on its way, too.
 */
#include "base/error.h"
#include "base/test/check.h"
#include "stages/event.h"
#include "stages/flags.h"
#include "stages/group.h"
#include "stages/test/each_policy.h"
#include "stages/test/fake_cores.h"
#include "stages/test/line.h"
#include "stages/test/watchdog.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ITEMS = 40,     /* even ones from main, odd ones from another thread */
	LAST_ITEMS = 8, /* sent just before the stop */
	LONE_EVENTS = 10,
	KEYS = 5,
	PARTS = 2,
	WORKERS = 3,
	WORKERS_MANY = 40, /* more than eventcount.h has bits of `mask` */
	REPLICAS_MAX = WORKERS_MANY,
};

/*
 * One in SAMPLE schedules is run, or more where that would be fewer than FEW;
 * all, with TEST_ALL in the environment.  Neither SAMPLE nor SAMPLE_FEW divides
 * the number of values of any flag, so that every value is run.
 */
enum { FEW = 3, SAMPLE_FEW = 13 };
#if defined(__SANITIZE_THREAD__)
enum { SAMPLE = 401, SAMPLE_ASLEEP = 29 };
#else
enum { SAMPLE = 101, SAMPLE_ASLEEP = 7 };
#endif

/* Values of flags; NULL: not given. */
static const char *const regimes[] = { NULL, "gated", "n-gated=2",
				       "time-gated=20", "cutoff=1" };
static const struct order_flags {
	const char *discipline, *slice;
} orders[] = {
	{ NULL, NULL },   { "lcfs", NULL },  { "lcfs", "1" }, { "stack", NULL },
	{ "srpt", NULL }, { "srpt=2", "1" }, { "edf", NULL }, { "edf", "1" },
};
static const struct idle_flags {
	const char *look, *idle;
} idles[] = {
	{ NULL, NULL },
	{ "blind", NULL },
	{ "blind", "backoff=2:10:100" },
	{ NULL, "backoff=0:10:100" },
	{ "blind", "code-step" },
	{ "blind", "backoff=300us:20:100:linear" },
};
static const char *const pools[] = { NULL, "a=1,b=2,c=3,d=2", "auto" };
/* Of --threshold; of --enough, after a slash. */
static const char *const thresholds[] = { NULL, "b=2,d=0:50", "/b=2,d=1" };

static const struct balance_flags {
	const char *balance, *distribute;
	bool steal;
} balances[] = {
	/* Shared; or, with user-level threads, a replica for each worker. */
	{ NULL, NULL, false },
	{ NULL, "least-loaded", false },
	{ "replicate=2", NULL, false },
	{ "replicate=2", "least-loaded", false },
	{ "replicate=2", NULL, true },
	{ "replicate=2", "least-loaded", true },
	{ "partition=2", NULL, false },
	{ "replicate=2,a=shared,c=shared", "least-loaded", false },
	{ "replicate=3,b=shared,d=shared", NULL, true },
	{ "even=2", NULL, false },
	{ "replicate=2,a=even=1,c=shared,d=even", "least-loaded", false },
};

static const enum stage_type types[][LINE_STAGES] = {
	{ STAGE_SHARED, STAGE_SHARED, STAGE_SHARED, STAGE_SHARED },
	{ STAGE_EXCLUSIVE, STAGE_SHARED, STAGE_PARTITIONED, STAGE_SHARED },
	{ STAGE_SHARED, STAGE_EXCLUSIVE, STAGE_SHARED, STAGE_EXCLUSIVE },
	{ STAGE_EXCLUSIVE, STAGE_EXCLUSIVE, STAGE_EXCLUSIVE, STAGE_EXCLUSIVE },
	{ STAGE_PARTITIONED, STAGE_PARTITIONED, STAGE_PARTITIONED,
	  STAGE_PARTITIONED },
	{ STAGE_PASS_THROUGH, STAGE_SHARED, STAGE_EXCLUSIVE,
	  STAGE_PASS_THROUGH },
	{ STAGE_SHARED, STAGE_PASS_THROUGH, STAGE_PASS_THROUGH,
	  STAGE_PARTITIONED },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The observations of one stage in one replica. */
struct seen_stage {
	_Atomic uint32_t inside;
	_Atomic uint32_t inside_of_key[KEYS];
	_Atomic(const struct worker *) workers[KEYS];
	uint32_t next_numbers[KEYS][2]; /* by key and sender */
};

static struct seen {
	struct seen_stage stages[LINE_STAGES][REPLICAS_MAX];
} seen;

/* The calling worker; NULL: the caller is not a worker. */
static const struct worker *worker_here(const struct stage_group *g)
{
	for (uint32_t i = 0; i < g->worker_count; i++)
		if (pthread_equal(g->workers[i].thread, pthread_self()))
			return &g->workers[i];
	return NULL;
}

static struct seen_stage *seen_here(const struct place *place,
				    const struct worker *w)
{
	const struct schedule *s = &place->line->setup.schedule;
	bool is_replica =
		s->balance == BALANCE_REPLICATE &&
		schedule_sharing(s, place->index)->kind != SHARING_ALL;

	return &seen.stages[place->index]
			   [is_replica && w != NULL ? w->visitor.part : 0];
}

/* Only one thread at a time is here, so this needs no lock. */
static void check_order(struct seen_stage *here, const struct item *item)
{
	uint32_t *next = &here->next_numbers[item->event.key][item->number % 2];

	CHECK_NUMBER(item->number, >=, *next);
	*next = item->number + 1;
}

static void look_begins(struct item *item, const struct place *place)
{
	const struct line *l = place->line;
	const struct schedule *schedule = &l->setup.schedule;
	const struct worker *w = worker_here(l->group);
	struct seen_stage *here = seen_here(place, w);
	enum stage_type type = l->setup.types[place->index];
	const struct worker *none = NULL;

	if (type == STAGE_EXCLUSIVE)
		CHECK_NUMBER(atomic_fetch_add(&here->inside, 1), ==, 0);
	if (type == STAGE_PARTITIONED) {
		CHECK_NUMBER(atomic_fetch_add(
				     &here->inside_of_key[item->event.key], 1),
			     ==, 0);
		CHECK(atomic_compare_exchange_strong(
			      &here->workers[item->event.key], &none, w) ||
		      none == w ||
		      schedule->policy->workers == POLICY_WORKERS_CALLER);
	}
	/* There is no order across a new partition: it uses another queue. */
	if ((type == STAGE_EXCLUSIVE || type == STAGE_PARTITIONED) &&
	    place->index == 0 &&
	    (schedule->discipline.kind == DISCIPLINE_FCFS ||
	     schedule->discipline.kind == DISCIPLINE_STACK) &&
	    schedule->balance != BALANCE_PARTITION)
		check_order(here, item);
}

static void look_ends(struct item *item, const struct place *place)
{
	const struct line *l = place->line;
	struct seen_stage *here = seen_here(place, worker_here(l->group));

	if (l->setup.types[place->index] == STAGE_EXCLUSIVE)
		(void)atomic_fetch_sub(&here->inside, 1);
	if (l->setup.types[place->index] == STAGE_PARTITIONED)
		(void)atomic_fetch_sub(&here->inside_of_key[item->event.key],
				       1);
}

static struct item items[ITEMS + LAST_ITEMS];
/* Paused events, under all schedules of a policy. */
static uint64_t paused_count;

/* Partition differently each time, while events are under way. */
static void partition_anew(const struct line *l, uint32_t turn)
{
	uint32_t parts[LINE_STAGES];

	for (uint32_t i = 0; i < LINE_STAGES; i++)
		parts[i] = turn * 7 / (i + 1) % PARTS;
	(void)group_partition(l->group, parts);
}

static void send_items(struct line *l, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i += 2) {
		items[i].number = i;
		items[i].event.key = i * 3 % KEYS;
		items[i].event.left_ns = i * 700 % 3000;
		/* For some items 0: no deadline. */
		items[i].event.deadline_ns = i * 500 % 2500;
		while (!line_send(l, &items[i]))
			(void)sched_yield();
		items[i].is_accepted = true;
		if (i % 8 == 0)
			partition_anew(l, i);
	}
}

static void *send_odd(void *arg)
{
	send_items(arg, 1, ITEMS);
	return NULL;
}

static void check_items(const struct line *l)
{
	for (uint32_t i = 0; i < ITEMS + LAST_ITEMS; i++) {
		CHECK_NUMBER(items[i].finished_count + items[i].dropped_count,
			     ==, items[i].is_accepted);
		CHECK(event_peek(&items[i].event)->stage == NULL);
		CHECK(items[i].at == LINE_STAGES || items[i].dropped_count);
	}
	for (uint32_t i = 0; i < LINE_STAGES; i++) {
		struct stage_stats stats;

		stage_read(l->stages[i], &stats);
		CHECK_NUMBER(stats.queued_count, ==, 0);
		CHECK_NUMBER(stats.arrived_count, ==, stats.started_count);
		CHECK_NUMBER(stats.arrived_count, ==, stats.handled_count);
		CHECK_NUMBER(stats.paused_count, ==, stats.resumed_count);
		paused_count += stats.paused_count;
	}
	for (uint32_t p = 0; p <= l->group->part_count; p++)
		CHECK_NUMBER(l->group->visits.parts[p].under_way_count, ==, 0);
}

static void test_each_event_is_handled_once(const struct line_setup *setup)
{
	struct line l;
	pthread_t other;

	(void)memset(items, 0, sizeof(items));
	(void)memset(&seen, 0, sizeof(seen));
	line_start(&l, setup);
	CHECK(!pthread_create(&other, NULL, send_odd, &l));
	send_items(&l, 0, ITEMS);
	(void)pthread_join(other, NULL);
	line_await(&l, ITEMS);
	for (uint32_t i = ITEMS; i < ITEMS + LAST_ITEMS; i++)
		send_items(&l, i, i + 1);
	group_stop(l.group);
	check_items(&l);
	line_release(&l);
}

/* Does every worker sleep?  A parked one counts as a sleeper. */
static bool all_sleep(const struct stage_group *g)
{
	for (uint32_t i = 0; i < g->worker_count; i++) {
		uint32_t wanted = 0;

		for (uint32_t j = 0; j < g->worker_count; j++) {
			const struct worker *w = &g->workers[j];
			const struct pool *p =
				&station_of(w->visitor.stations[0])->pool;

			wanted += w->sleeps == g->workers[i].sleeps &&
				  (p->thread_count == 0 ||
				   w->number < p->active_count);
		}
		if (g->workers[i].sleeps->sleepers != wanted)
			return false;
	}
	return true;
}

static void test_lone_event_wakes_who_may_take_it(const struct line_setup *s)
{
	struct line l;

	(void)memset(items, 0, sizeof(items));
	(void)memset(&seen, 0, sizeof(seen));
	line_start(&l, s);
	for (uint32_t i = 0; i < LONE_EVENTS; i++) {
		while (!all_sleep(l.group))
			(void)sched_yield();
		if (i % 2 == 0) /* asleep, not only about to */
			pause_ns(50000);
		partition_anew(&l, i);
		items[i].number = i;
		items[i].event.key = i % KEYS;
		CHECK(line_send(&l, &items[i]));
		while (atomic_load(&l.finished_count) <= i)
			(void)sched_yield();
	}
	group_stop(l.group);
	line_release(&l);
}

struct choice {
	const struct balance_flags *balance;
	const struct idle_flags *idle;
	const struct order_flags *order;
	const char *regime, *pool, *threshold;
};

/* False: a combination that is refused. */
static bool set_flags(struct schedule *s, const struct policy *policy,
		      const struct choice *c)
{
	bool is_enough = c->threshold != NULL && c->threshold[0] == '/';
	const struct {
		const char *name, *value;
	} flags[] = {
		{ "policy", policy->name },
		{ "balance", c->balance->balance },
		{ "distribute", c->balance->distribute },
		{ "regime", c->regime },
		{ "look", c->idle->look },
		{ "idle", c->idle->idle },
		{ "discipline", c->order->discipline },
		{ "slice", c->order->slice },
		{ "pool", c->pool },
		{ is_enough ? "enough" : "threshold",
		  is_enough ? c->threshold + 1 : c->threshold },
	};
	struct error error;

	schedule_init(s);
	for (uint32_t i = 0; i < COUNT(flags); i++)
		if (flags[i].value != NULL)
			CHECK(schedule_set(s, flags[i].name, flags[i].value,
					   line_names, LINE_STAGES));
	if (c->balance->steal)
		CHECK(schedule_set(s, "steal", NULL, line_names, LINE_STAGES));
	return schedule_complete(s, LINE_STAGES, fake_core_count, error.text);
}

/*
 * Schedules of `policy` with all stage types: one in `sample`.  Returns how
 * many were valid, and run.
 */
static uint32_t walk(const struct policy *policy, uint32_t sample,
		     struct line_setup *setup)
{
	uint32_t count = 0;

	for (uint32_t i = 0;
	     i < COUNT(types) * COUNT(balances) * COUNT(regimes) *
			 COUNT(idles) * COUNT(orders) * COUNT(pools) *
			 COUNT(thresholds);
	     i += sample) {
		uint32_t rest = i / COUNT(types);
		struct choice c;

		c.balance = &balances[rest % COUNT(balances)];
		c.regime = regimes[(rest /= COUNT(balances)) % COUNT(regimes)];
		c.idle = &idles[(rest /= COUNT(regimes)) % COUNT(idles)];
		c.order = &orders[(rest /= COUNT(idles)) % COUNT(orders)];
		c.pool = pools[(rest /= COUNT(orders)) % COUNT(pools)];
		c.threshold = thresholds[rest / COUNT(pools)];
		if (!set_flags(&setup->schedule, policy, &c))
			continue;
		count++;
		/*
		 * Queues that are often full, and queues that are never full.
		 */
		setup->slots = i % 2 == 0 ? 5 : ITEMS + LAST_ITEMS;
		(void)memcpy(setup->types, types[i % COUNT(types)],
			     sizeof(setup->types));
		test_each_event_is_handled_once(setup);
	}
	return count;
}

/* Test sleeping workers for every policy, balance and choice of stage types. */
static void walk_asleep(const struct policy *policy, uint32_t sample,
			struct line_setup *setup)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < COUNT(balances) * COUNT(pools) * COUNT(types);
	     i++) {
		const struct choice c = {
			.balance = &balances[i % COUNT(balances)],
			.idle = &idles[i % 2], /* blind or not */
			.order = &orders[0],
			.pool = pools[i / COUNT(balances) % COUNT(pools)],
		};

		if (!set_flags(&setup->schedule, policy, &c) ||
		    count++ % sample != 0)
			continue;
		(void)memcpy(setup->types,
			     types[i / COUNT(balances) / COUNT(pools)],
			     sizeof(setup->types));
		test_lone_event_wakes_who_may_take_it(setup);
	}
}

int main(void)
{
	struct error why;
	struct cores *cores = cores_new(NULL, why.text);
	struct line_setup setup = {
		.cores = cores,
		.is_unbound = true,
		.begins = look_begins,
		.ends = look_ends,
		.slots = ITEMS,
	};

	const bool is_all = getenv("TEST_ALL") != NULL;
	const uint32_t sample_asleep = is_all ? 1 : SAMPLE_ASLEEP;

	watchdog_start();
	for (const struct policy *const *p = policy_list(); each_policy(*p);
	     p++) {
		fake_core_count = WORKERS;
		walk_asleep(*p, sample_asleep, &setup);
		setup.delay_ns_max = 3000;
		uint32_t step = is_all ? 1 : SAMPLE;
		uint32_t count = walk(*p, step, &setup);

		while (count < FEW && step > 1) {
			step = step > SAMPLE_FEW ? SAMPLE_FEW : 1;
			count += walk(*p, step, &setup);
		}
		setup.delay_ns_max = 0;
		(void)printf("%s: %u schedules, %llu pauses\n", (*p)->name,
			     count, (unsigned long long)paused_count);
		CHECK_NUMBER(count, >, 0);
		paused_count = 0;
		fake_core_count = WORKERS_MANY;
		walk_asleep(*p, sample_asleep, &setup);
	}
	cores_free(cores);
	return 0;
}
