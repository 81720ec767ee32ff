/* SPDX-License-Identifier: MIT */
/*
 * Promise: the policy capriccio gives nodes of the blocking graph turns in
 * proportion to their tickets; the nearer a resource is to its limit, the fewer
 * tickets have nodes that take it and the more those that give it back; some
 * thread always runs.  No threads: the test is the scheduler, and time is
 * virtual.
 */
#include "stages/threads/blocking_graph.h"

#include "base/test/check.h"
#include "base/util.h"

#include <math.h>
#include <stdlib.h>

enum { STEPS_MAX = 6, TURNS_MAX = 20000, MS = 1000000 };

/* Of a node that takes nothing. */
enum { TICKETS = 1000 };

/* What threads do, from the first blocking point on. */
struct step {
	uint64_t cpu_ns;
	int64_t memory;
};

struct thread {
	struct thread *next;
	const struct step *steps;
	uint32_t step, step_count;
	uint32_t place;
};

struct driver {
	const struct thread_policy *policy;
	void *state;
	struct resources shared;
	uint64_t now_ns, ready;
	struct thread *first[PLACES_MAX], **end[PLACES_MAX];
	int64_t used, used_max;
	uint32_t under_way;
};

static const struct blocking_site sites[STEPS_MAX] = {
	{ "test", "a", 1 }, { "test", "b", 2 }, { "test", "c", 3 },
	{ "test", "d", 4 }, { "test", "e", 5 }, { "test", "f", 6 },
};

static void start(struct driver *d, bool ignores)
{
	const struct policy *p = policy_find("capriccio");

	CHECK_NUMBER(p->workers, ==, POLICY_WORKERS_FIBRES);
	CHECK(p->pick == NULL);
	*d = (struct driver){ .policy = p->threads, .now_ns = MS };
	d->state = calloc(1, d->policy->state_bytes);
	CHECK(d->state != NULL);
	resources_init(&d->shared, NULL);
	d->policy->start(d->state, ignores ? NULL : &d->shared);
}

static void stop(struct driver *d)
{
	for (uint32_t i = 0; i < PLACES_MAX; i++)
		while (d->first[i] != NULL) {
			struct thread *t = d->first[i];

			d->first[i] = t->next;
			free(t);
		}
	free(d->state);
}

static void push(struct driver *d, struct thread *t)
{
	if (d->first[t->place] == NULL)
		d->end[t->place] = &d->first[t->place];
	t->next = NULL;
	*d->end[t->place] = t;
	d->end[t->place] = &t->next;
	d->ready |= UINT64_C(1) << t->place;
}

/* Its first blocking point is `site`; each further one has its own. */
static uint32_t begin(struct driver *d, uint32_t site, const struct step *steps,
		      uint32_t count)
{
	struct thread *t = calloc(1, sizeof(*t));

	CHECK(t != NULL);
	CHECK_NUMBER(site + count, <=, STEPS_MAX);
	t->steps = steps;
	t->step_count = count;
	t->place = d->policy->arrive(d->state, PLACE_NONE, &sites[site], NULL);
	push(d, t);
	d->under_way++;
	return t->place;
}

static void take(struct driver *d, int64_t memory)
{
	resources_take(&d->shared, RESOURCE_MEMORY, memory);
	d->used += memory;
	if (d->used > d->used_max)
		d->used_max = d->used;
}

static uint32_t pick(struct driver *d)
{
	uint32_t place = d->policy->pick(d->state, d->ready, d->now_ns);

	CHECK_NUMBER(place, <, PLACES_MAX);
	CHECK(d->ready >> place & 1);
	return place;
}

/* One turn of one thread.  Returns the place it was taken from. */
static uint32_t run_turn(struct driver *d)
{
	uint32_t from = pick(d);
	struct thread *t = d->first[from];
	const struct step *s = &t->steps[t->step++];
	struct usage used = {
		.cpu_ns = s->cpu_ns,
		.taken = { [RESOURCE_MEMORY] = s->memory },
	};

	d->first[from] = t->next;
	if (t->next == NULL)
		d->ready &= ~(UINT64_C(1) << from);
	d->now_ns += s->cpu_ns;
	take(d, s->memory);
	if (t->step == t->step_count) {
		d->policy->leave(d->state, from, &used);
		d->under_way--;
		free(t);
		return from;
	}
	t->place = d->policy->arrive(d->state, from, &sites[t->step], &used);
	push(d, t);
	return from;
}

static void run_all(struct driver *d)
{
	for (uint32_t turns = 0; d->ready != 0; turns++) {
		CHECK_NUMBER(turns, <, TURNS_MAX);
		(void)run_turn(d);
	}
	CHECK_NUMBER(d->under_way, ==, 0);
}

static struct blocking_graph_copy *read_graph(const struct driver *d)
{
	struct blocking_graph_copy *c = calloc(1, sizeof(*c));

	CHECK(c != NULL);
	(void)blocking_graph_add(c, d->policy->graph(d->state), d->now_ns,
				 NULL);
	return c;
}

static double read_tickets(const struct driver *d, uint32_t place)
{
	struct blocking_graph_copy *c = read_graph(d);
	double tickets = c->nodes[place].tickets;

	free(c);
	return tickets;
}

/* The share of CPU time that the report shows, in percent. */
static double read_cpu(const struct driver *d)
{
	struct blocking_graph_copy *c = read_graph(d);
	const struct resource_state *cpu = &c->resources[RESOURCES];
	double percent = 100 * (double)cpu->used / (double)cpu->capacity;

	free(c);
	return percent;
}

/* --- Three kinds of threads: they take, give, and do neither. --- */

static const struct step takes = { MS / 10, 1000 };
static const struct step gives = { MS / 10, -1000 };
static const struct step neither = { MS / 10, 0 };

enum { TAKES, GIVES, NEITHER };

/* The policy has seen each kind, memory use is 0 again, no thread is left. */
static void teach(struct driver *d, uint64_t limit)
{
	resources_set_capacity(&d->shared, RESOURCE_MEMORY, limit);
	for (uint32_t i = 0; i < 50; i++) {
		CHECK_NUMBER(begin(d, TAKES, &takes, 1), ==, TAKES);
		CHECK_NUMBER(begin(d, GIVES, &gives, 1), ==, GIVES);
		CHECK_NUMBER(begin(d, NEITHER, &neither, 1), ==, NEITHER);
		run_all(d);
	}
	CHECK_NUMBER(d->used, ==, 0);
}

/* Let it see this utilisation; one more thread of each kind is ready then. */
static void show_use(struct driver *d, double utilisation, uint64_t limit)
{
	take(d, (int64_t)(utilisation * (double)limit) - d->used);
	(void)begin(d, TAKES, &takes, 1);
	(void)begin(d, GIVES, &gives, 1);
	(void)begin(d, NEITHER, &neither, 1);
	d->now_ns += 2 * MS;
	(void)pick(d);
}

static void test_tickets_follow_use(void)
{
	enum { LIMIT = 1000000 };
	struct driver d;
	double taker = TICKETS, giver = TICKETS;

	start(&d, false);
	teach(&d, LIMIT);
	for (uint32_t percent = 0; percent <= 110; percent += 5) {
		show_use(&d, percent / 100.0, LIMIT);
		double t = read_tickets(&d, TAKES);
		double g = read_tickets(&d, GIVES);

		CHECK_NUMBER(fabs(read_tickets(&d, NEITHER) - TICKETS), <=, 1);
		CHECK_NUMBER(t, <=, taker);
		CHECK_NUMBER(g, >=, giver);
		if (percent <= 50)
			CHECK_NUMBER(t, ==, g);
		if (percent > 50 && percent <= 95)
			CHECK(t < taker && g > giver);
		if (percent >= 100)
			CHECK_NUMBER(t, ==, 0);
		taker = t;
		giver = g;
	}
	stop(&d);
}

static void test_tickets_return_late(void)
{
	enum { LIMIT = 1000000 };
	struct driver d;
	double before;

	start(&d, false);
	teach(&d, LIMIT);
	show_use(&d, 0.80, LIMIT);
	before = read_tickets(&d, TAKES);
	show_use(&d, 0.77, LIMIT);
	CHECK_NUMBER(read_tickets(&d, TAKES), ==, before);
	show_use(&d, 0.81, LIMIT);
	CHECK_NUMBER(read_tickets(&d, TAKES), <, before);
	show_use(&d, 0.70, LIMIT);
	CHECK_NUMBER(read_tickets(&d, TAKES), >, before);
	/* One that has none gets some only when use is well below the limit. */
	show_use(&d, 1.00, LIMIT);
	CHECK_NUMBER(read_tickets(&d, TAKES), ==, 0);
	show_use(&d, 0.97, LIMIT);
	CHECK_NUMBER(read_tickets(&d, TAKES), ==, 0);
	show_use(&d, 0.94, LIMIT);
	CHECK_NUMBER(read_tickets(&d, TAKES), >, 0);
	stop(&d);
}

static void test_turns_are_in_proportion_to_tickets(void)
{
	enum { LIMIT = 1000000, TURNS = 3000 };
	static const double uses[] = { 0, 0.6, 0.65, 0.7 };
	struct driver d;

	start(&d, false);
	teach(&d, LIMIT);
	for (uint32_t i = 0; i < ARRAY_SIZE(uses); i++) {
		uint32_t turns[3] = { 0 };
		double sum = 0;

		show_use(&d, uses[i], LIMIT);
		for (uint32_t n = 0; n < TURNS; n++)
			turns[pick(&d)]++;
		for (uint32_t k = 0; k < 3; k++)
			sum += read_tickets(&d, k);
		for (uint32_t k = 0; k < 3; k++)
			CHECK_NUMBER(fabs(turns[k] -
					  TURNS * read_tickets(&d, k) / sum),
				     <=, 3);
	}
	stop(&d);
}

static void test_a_node_that_gives_runs_first(void)
{
	enum { LIMIT = 1000000, COUNT = 100 };
	struct driver d;

	start(&d, false);
	teach(&d, LIMIT);
	for (uint32_t i = 0; i < COUNT; i++) {
		(void)begin(&d, TAKES, &takes, 1);
		(void)begin(&d, GIVES, &gives, 1);
	}
	take(&d, LIMIT + COUNT * 1000);
	d.now_ns += MS;
	for (uint32_t i = 0; i < COUNT; i++)
		CHECK_NUMBER(run_turn(&d), ==, GIVES);
	/* And then, as something must run: */
	CHECK_NUMBER(run_turn(&d), ==, TAKES);
	stop(&d);
}

static void test_an_idle_node_saves_no_turns(void)
{
	struct driver d;
	uint32_t turns[3] = { 0 };

	start(&d, false);
	teach(&d, 1000000);
	for (uint32_t i = 0; i < 1000; i++) {
		(void)begin(&d, TAKES, &neither, 1);
		CHECK_NUMBER(run_turn(&d), ==, TAKES);
	}
	for (uint32_t i = 0; i < 100; i++) {
		(void)begin(&d, TAKES, &neither, 1);
		(void)begin(&d, NEITHER, &neither, 1);
	}
	for (uint32_t i = 0; i < 100; i++)
		turns[run_turn(&d)]++;
	CHECK_NUMBER(turns[TAKES], >=, 48);
	CHECK_NUMBER(turns[NEITHER], >=, 48);
	stop(&d);
}

/* --- A pipeline: decode takes a picture, scale gives most of it back. --- */

static const struct step line[] = {
	{ 8 * MS, 10000000 },
	{ 2 * MS, -9000000 },
	{ MS, 0 },
	{ 2 * MS, -1000000 },
};

static const struct step endless[] = {
	{ MS, 1000 },
	{ MS, 1000 },
	{ MS, 1000 },
	{ MS, 1000 },
};

/* Uploads arrive all at once; how much memory do they take? */
static int64_t run_uploads(uint32_t count, uint64_t limit, bool ignores)
{
	struct driver d;
	int64_t used_max;

	start(&d, ignores);
	resources_set_capacity(&d.shared, RESOURCE_MEMORY, limit);
	for (uint32_t i = 0; i < 20; i++) {
		(void)begin(&d, 0, line, ARRAY_SIZE(line));
		run_all(&d);
	}
	d.used_max = 0;
	for (uint32_t i = 0; i < count; i++)
		(void)begin(&d, 0, line, ARRAY_SIZE(line));
	run_all(&d);
	CHECK_NUMBER(d.used, ==, 0);
	used_max = d.used_max;
	stop(&d);
	return used_max;
}

static void test_admits_as_much_as_memory_allows(void)
{
	enum { COUNT = 64, PICTURE = 10000000, LIMIT = 60000000 };

	/* First come, first served: all are decoded before one is scaled. */
	CHECK_NUMBER(run_uploads(COUNT, LIMIT, true), ==,
		     (int64_t)COUNT * PICTURE);
	CHECK_NUMBER(run_uploads(COUNT, LIMIT, false), <=, LIMIT);
	/* Too small for two: one after the other goes through. */
	CHECK_NUMBER(run_uploads(COUNT, PICTURE, false), <=, 2 * PICTURE);
}

static void test_the_largest_holder_runs(void)
{
	struct driver d;

	/* Each step takes, nothing is given back. */
	start(&d, false);
	resources_set_capacity(&d.shared, RESOURCE_MEMORY, 1000000);
	for (uint32_t i = 0; i < 20; i++) {
		(void)begin(&d, 0, endless, 4);
		run_all(&d);
	}
	take(&d, 2000000);
	for (uint32_t i = 0; i < 3; i++)
		(void)begin(&d, 0, endless, 4);
	d.now_ns += 2 * MS;
	/* The one that has begun holds more than those that have not. */
	for (uint32_t i = 0; i < 12; i++)
		CHECK_NUMBER(run_turn(&d), ==, i % 4);
	CHECK_NUMBER(d.ready, ==, 0);
	stop(&d);
}

/* --- Uploads with several variants: each is a thread. --- */

enum { VARIANTS = 3, PICTURE = 3000, RESULT = 100, OTHER = 1500, MORE = 200 };

/* One thread passes from `from` to a site; SITE_END: it ends. */
enum { SITE_END = STEPS_MAX };

static uint32_t pass(struct driver *d, uint32_t from, uint32_t site,
		     int64_t memory)
{
	struct usage used = {
		.cpu_ns = MS,
		.taken = { [RESOURCE_MEMORY] = memory },
	};

	take(d, memory);
	d->now_ns += MS;
	if (site < SITE_END)
		return d->policy->arrive(d->state, from, &sites[site], &used);
	d->policy->leave(d->state, from, &used);
	return PLACE_NONE;
}

/*
 * Sites 0 to 3.  The last variant gives the picture back.  Returns the place
 * where each thread holds its own result, and nothing else.
 */
static uint32_t run_variants(struct driver *d)
{
	const struct thread_policy *p = d->policy;
	uint32_t begin = p->arrive(d->state, PLACE_NONE, &sites[0], NULL);
	uint32_t at[VARIANTS], scaled = PLACE_NONE;

	for (uint32_t i = 1; i < VARIANTS; i++)
		at[i] = p->arrive(d->state, begin, &sites[1], NULL);
	at[0] = pass(d, begin, 1, PICTURE);
	for (uint32_t i = 0; i < VARIANTS; i++)
		at[i] = scaled =
			pass(d, at[i], 2,
			     i + 1 < VARIANTS ? RESULT : RESULT - PICTURE);
	for (uint32_t i = 0; i < VARIANTS; i++)
		at[i] = pass(d, at[i], 3, MORE);
	for (uint32_t i = 0; i < VARIANTS; i++)
		(void)pass(d, at[i], SITE_END, -RESULT - MORE);
	return scaled;
}

/* Sites 4, 5 and 0.  Returns the place where the thread holds OTHER. */
static uint32_t run_single(struct driver *d)
{
	uint32_t begin =
		d->policy->arrive(d->state, PLACE_NONE, &sites[4], NULL);
	uint32_t holds = pass(d, begin, 5, OTHER);
	uint32_t end = pass(d, holds, 0, MORE);

	(void)pass(d, end, SITE_END, -OTHER - MORE);
	return holds;
}

static void test_what_variants_share_counts_once(void)
{
	enum { LIMIT = 10000 };
	struct driver d;
	uint32_t scaled, holds;

	start(&d, false);
	resources_set_capacity(&d.shared, RESOURCE_MEMORY, LIMIT);
	for (uint32_t i = 0; i < 50; i++) {
		scaled = run_variants(&d);
		holds = run_single(&d);
	}
	CHECK_NUMBER(d.used, ==, 0);
	CHECK_NUMBER(scaled, !=, holds);
	take(&d, 2 * LIMIT);
	d.now_ns += 2 * MS;
	d.ready = UINT64_C(1) << scaled | UINT64_C(1) << holds;
	/* Threads at either of them take, so none has tickets. */
	CHECK_NUMBER(pick(&d), ==, holds);
	CHECK_NUMBER(read_tickets(&d, scaled), ==, 0);
	CHECK_NUMBER(read_tickets(&d, holds), ==, 0);
	stop(&d);
}

static void test_short_work_left_gets_more_turns_when_busy(void)
{
	struct driver d;

	start(&d, false);
	for (uint32_t i = 0; i < 200; i++)
		(void)begin(&d, 0, line, ARRAY_SIZE(line));
	run_all(&d);
	(void)begin(&d, 0, line, ARRAY_SIZE(line));
	(void)pick(&d);
	for (uint32_t i = 1; i < 4; i++)
		CHECK_NUMBER(read_tickets(&d, i), >, read_tickets(&d, i - 1));
	CHECK_NUMBER(read_tickets(&d, 0), >=, TICKETS / 4);
	CHECK_NUMBER(read_tickets(&d, 3), <=, TICKETS * 4);
	/* Not so when the core is idle nearly all the time. */
	d.now_ns += UINT64_C(10000) * MS;
	(void)pick(&d);
	for (uint32_t i = 1; i < 4; i++)
		CHECK_NUMBER(fabs(read_tickets(&d, i) - TICKETS), <=, 1);
	stop(&d);
}

/* Nothing is picked meanwhile: neither while idle nor during a long turn. */
static void test_the_report_follows_cpu_use_at_any_time(void)
{
	static const struct step second = { 1000 * (uint64_t)MS, 0 };
	struct driver d;

	start(&d, false);
	for (uint32_t i = 0; i < 200; i++)
		(void)begin(&d, 0, line, ARRAY_SIZE(line));
	run_all(&d);
	CHECK_NUMBER(read_cpu(&d), >, 99);
	d.now_ns += 32 * (uint64_t)MS;
	CHECK_NUMBER(read_cpu(&d), >, 40);
	CHECK_NUMBER(read_cpu(&d), <, 60);
	d.now_ns += 1000 * (uint64_t)MS;
	CHECK_NUMBER(read_cpu(&d), <, 1);

	(void)begin(&d, 0, &second, 1);
	(void)pick(&d);
	d.now_ns += 32 * (uint64_t)MS;
	CHECK_NUMBER(read_cpu(&d), >, 40);
	CHECK_NUMBER(read_cpu(&d), <, 60);
	d.now_ns += 68 * (uint64_t)MS;
	CHECK_NUMBER(read_cpu(&d), >, 99);
	stop(&d);
}

static void test_resources_can_be_ignored(void)
{
	struct driver d;

	start(&d, true);
	for (uint32_t i = 0; i < 10; i++)
		CHECK_NUMBER(begin(&d, 0, line, ARRAY_SIZE(line)), ==, 0);
	run_all(&d);
	CHECK(d.policy->graph(d.state) == NULL);
	stop(&d);
}

/* Whatever threads do, one that is ready is picked. */
static void test_any_use_is_survived(void)
{
	enum { ROUNDS = 200000 };
	static const int64_t odd[] = {
		0, 1, -1, 1000, -1000, INT64_MAX / ROUNDS, -(INT64_MAX / ROUNDS)
	};
	struct driver d;
	uint32_t state = 1, place = PLACE_NONE;

	start(&d, false);
	resources_set_capacity(&d.shared, RESOURCE_MEMORY, 1000);
	resources_set_capacity(&d.shared, RESOURCE_FILES, 1);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		state = state * 1664525 + 1013904223;
		struct usage used = { .cpu_ns = (uint64_t)1 << (state >> 27) };

		for (uint32_t r = 0; r < RESOURCES; r++) {
			used.taken[r] =
				odd[(state >> (8 + 3 * r)) % ARRAY_SIZE(odd)];
			resources_take(&d.shared, r, used.taken[r]);
		}
		if (place != PLACE_NONE && state >> 29 == 0) {
			d.policy->leave(d.state, place, &used);
			place = PLACE_NONE;
		} else {
			place = d.policy->arrive(
				d.state, place,
				&sites[(state >> 16) % STEPS_MAX],
				place == PLACE_NONE || state >> 29 == 1 ?
					NULL :
					&used);
		}
		d.now_ns += used.cpu_ns;
		d.ready = place == PLACE_NONE ? 1 : UINT64_C(1) << place | 1;
		(void)pick(&d);
	}
	stop(&d);
}

int main(void)
{
	test_tickets_follow_use();
	test_tickets_return_late();
	test_turns_are_in_proportion_to_tickets();
	test_a_node_that_gives_runs_first();
	test_an_idle_node_saves_no_turns();
	test_admits_as_much_as_memory_allows();
	test_the_largest_holder_runs();
	test_what_variants_share_counts_once();
	test_short_work_left_gets_more_turns_when_busy();
	test_the_report_follows_cpu_use_at_any_time();
	test_resources_can_be_ignored();
	test_any_use_is_survived();
	return 0;
}
