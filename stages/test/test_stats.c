/* SPDX-License-Identifier: MIT */
/*
 * Promise: the counts of stages, of workers, in histograms, in traces and in
 * the graph agree.  A sender that runs handlers waits for an exclusive stage;
 * this counts as waiting, not as service.
 */
#include "base/error.h"
#include "stages/flags.h"
#include "stages/group.h"
#include "stages/test/line.h"
#include "stages/test/watchdog.h"

#include "base/clock.h"
#include "base/test/check.h"

#include <string.h>
#include <time.h>

enum { ITEMS = 500, SPANS = 100, OPEN_MAX = ITEMS, WORKERS_MAX = 32 };

static struct item items[ITEMS];
/* The stages at which traces show an item; bit i: stage i. */
static uint32_t handled_at[ITEMS];

static void send_all(struct line *l)
{
	for (uint32_t i = 0; i < ITEMS; i++) {
		items[i] = (struct item){ .event.number = i + 1 };
		CHECK(line_send(l, &items[i]));
		if (i % 50 == 0)
			line_await(l, i); /* so that workers sleep, too */
	}
	line_await(l, ITEMS);
	group_stop(l->group);
}

static void check_stage(const struct line *l, const struct stage_stats *s)
{
	bool has_queues =
		l->setup.schedule.policy->workers != POLICY_WORKERS_CALLER;

	CHECK_NUMBER(s->arrived_count, ==, ITEMS);
	CHECK_NUMBER(s->handled_count, ==, ITEMS);
	CHECK_NUMBER(s->started_count, ==, ITEMS);
	CHECK_NUMBER(s->refused_count, ==, 0);
	CHECK_NUMBER(s->waits.count, ==, ITEMS);
	CHECK_NUMBER(s->services.count, ==, ITEMS);
	CHECK_NUMBER(s->totals.count, ==, ITEMS);
	CHECK_NUMBER(s->cohorts.count, ==,
		     s->visit_count - s->visit_empty_count);
	CHECK_NUMBER(s->wait_ns_max, <=, s->wait_ns);
	CHECK_NUMBER(s->service_ns_max, <=, s->service_ns);
	CHECK_NUMBER(s->service_ns, >, 0);
	/* The longest is in the highest bucket that is not empty. */
	CHECK_NUMBER(histogram_quantile(&s->services, 1), >=,
		     s->service_ns_max);
	CHECK_NUMBER(histogram_quantile(&s->waits, 1), >=, s->wait_ns_max);
	/* Back from an interruption is a switch, too. */
	CHECK(l->setup.schedule.has_thresholds ||
	      s->switch_count <= s->visit_count);
	CHECK_NUMBER(s->queued_count, ==, 0);
	CHECK(!has_queues || s->queued_count_max <= s->queued_count_total);
	CHECK_NUMBER(s->queued_count_total, <=, s->queued_count_max * ITEMS);
}

static uint64_t process_cpu_ns(void)
{
	struct timespec t;

	CHECK_NUMBER(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t), ==, 0);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The counts of all workers add up to those of the stages. */
static void check_workers(const struct line *l)
{
	struct worker_stats sum = { 0 };
	uint64_t visits = 0, empty = 0, switches = 0, service_ns = 0;

	for (uint32_t i = 0; i < group_worker_count(l->group); i++) {
		struct worker_stats w;

		group_read_worker(l->group, i, &w);
		CHECK_NUMBER(w.part, <, l->setup.schedule.part_count);
		sum.work.handled_count += w.work.handled_count;
		sum.work.visit_count += w.work.visit_count;
		sum.work.visit_empty_count += w.work.visit_empty_count;
		sum.work.switch_count += w.work.switch_count;
		sum.sleep_count += w.sleep_count;
		sum.work.service_ns += w.work.service_ns;
		CHECK_NUMBER(w.cpu_ns, >, 0);
		sum.cpu_ns += w.cpu_ns;
		CHECK_NUMBER(w.stolen_count, ==, 0);
	}
	if (group_worker_count(l->group) == 0)
		return;
	CHECK_NUMBER(sum.cpu_ns, <=, process_cpu_ns());
	for (uint32_t i = 0; i < LINE_STAGES; i++) {
		struct stage_stats s;

		stage_read(l->stages[i], &s);
		visits += s.visit_count;
		empty += s.visit_empty_count;
		switches += s.switch_count;
		service_ns += s.service_ns;
	}
	CHECK_NUMBER(sum.work.handled_count, ==, LINE_STAGES * ITEMS);
	CHECK_NUMBER(sum.work.visit_count, ==, visits);
	CHECK_NUMBER(sum.work.visit_empty_count, ==, empty);
	CHECK_NUMBER(sum.work.switch_count, ==, switches);
	CHECK_NUMBER(sum.work.service_ns, ==, service_ns);
	CHECK_NUMBER(sum.sleep_count, >, 0);
}

/* The contents of one worker's trace up to now. */
struct told {
	struct span open[OPEN_MAX]; /* events in no visit yet */
	uint32_t open_count;
	uint64_t end_ns; /* end of the last visit or sleep */
	uint64_t events[LINE_STAGES], visits[LINE_STAGES];
	uint64_t sleeps, asleep_ns;
};

/*
 * The events of `visit` are the last ones before it that are in no other visit.
 */
static void check_visit(struct told *t, const struct span *visit)
{
	CHECK_NUMBER(visit->number, <=, t->open_count);
	for (uint64_t i = 0; i < visit->number; i++) {
		const struct span *ev = &t->open[--t->open_count];

		CHECK_NUMBER(ev->stage, ==, visit->stage);
		CHECK_NUMBER(ev->start_ns, >=, visit->start_ns);
		CHECK_NUMBER(ev->end_ns, <=, visit->end_ns);
	}
	t->events[visit->stage] += visit->number;
	t->visits[visit->stage]++;
}

/* Each item is handled once at each stage. */
static void check_event(struct told *t, const struct span *ev)
{
	CHECK_NUMBER(ev->number, >=, 1);
	CHECK_NUMBER(ev->number, <=, ITEMS);
	CHECK(!(handled_at[ev->number - 1] & 1u << ev->stage));
	handled_at[ev->number - 1] |= 1u << ev->stage;
	CHECK_NUMBER(t->open_count, <, OPEN_MAX);
	t->open[t->open_count++] = *ev;
}

/* Spans are in the order of their ends; an interruption is within another. */
static void check_span(struct told *t, const struct span *span)
{
	CHECK_NUMBER(span->end_ns, >=, span->start_ns);
	CHECK_NUMBER(span->end_ns, >=, t->end_ns);
	if (span->kind == SPAN_EVENT) {
		check_event(t, span);
		return;
	}
	if (span->kind == SPAN_SLEEP) {
		CHECK_NUMBER(span->start_ns, >=, t->end_ns);
		CHECK_NUMBER(t->open_count, ==, 0);
		t->sleeps++;
		t->asleep_ns += span->end_ns - span->start_ns;
	} else
		check_visit(t, span);
	t->end_ns = span->end_ns;
}

static void check_trace(const struct line *l, uint32_t worker, struct told *t)
{
	struct span copy[SPANS];
	uint64_t next = 0, missed = 0;
	uint32_t count;
	struct worker_stats w;

	while ((count = group_read_trace(l->group, worker, &next, copy, SPANS,
					 &missed)) > 0)
		for (uint32_t i = 0; i < count; i++)
			check_span(t, &copy[i]);
	CHECK_NUMBER(missed, ==, 0);
	CHECK_NUMBER(t->open_count, ==, 0);
	group_read_worker(l->group, worker, &w);
	/* Workers of pools may also be parked. */
	CHECK_NUMBER(t->sleeps, >=, w.sleep_count);
	CHECK_NUMBER(w.asleep_since_ns, ==, 0);
	CHECK_NUMBER(t->asleep_ns, ==, w.asleep_ns);
}

/* Every event that was handled was in a visit. */
static void check_traces(const struct line *l)
{
	uint64_t events[LINE_STAGES] = { 0 }, visits[LINE_STAGES] = { 0 };

	(void)memset(handled_at, 0, sizeof(handled_at));
	for (uint32_t i = 0; i < group_worker_count(l->group); i++) {
		struct told t = { 0 };

		check_trace(l, i, &t);
		for (uint32_t k = 0; k < LINE_STAGES; k++) {
			events[k] += t.events[k];
			visits[k] += t.visits[k];
		}
	}
	for (uint32_t i = 0;
	     i < LINE_STAGES && group_worker_count(l->group) > 0; i++) {
		struct stage_stats s;

		stage_read(l->stages[i], &s);
		CHECK_NUMBER(events[i], ==, ITEMS);
		CHECK_NUMBER(visits[i], ==, s.visit_count);
	}
}

static void check_graph(const struct line *l)
{
	struct stage_graph graph;

	group_read_graph(l->group, &graph);
	CHECK_NUMBER(graph.stage_count, ==, LINE_STAGES);
	for (uint32_t i = 0; i < LINE_STAGES; i++) {
		struct stage_stats s;

		stage_read(l->stages[i], &s);
		CHECK_NUMBER(graph.names[i], ==, line_names[i]);
		CHECK_NUMBER(graph.service_ns[i], ==, s.service_ns);
		for (uint32_t k = 0; k < LINE_STAGES; k++)
			CHECK_NUMBER(graph.sent_counts[i][k], ==,
				     (k == i + 1 ? ITEMS : 0));
	}
}

static void test_counts_add_up(const struct line_setup *setup)
{
	struct line l;
	struct line_setup with_delays = *setup;

	with_delays.delay_ns_max = 2000;
	line_start(&l, &with_delays);
	send_all(&l);
	for (uint32_t i = 0; i < LINE_STAGES; i++) {
		struct stage_stats s;

		stage_read(l.stages[i], &s);
		check_stage(&l, &s);
	}
	check_workers(&l);
	check_traces(&l);
	check_graph(&l);
	line_release(&l);
}

static void *watch_times(void *arg)
{
	const struct line *l = arg;
	uint64_t asleep_ns[WORKERS_MAX] = { 0 }, cpu_ns[WORKERS_MAX] = { 0 };
	struct worker_stats w;

	while (atomic_load(&l->finished_count) < ITEMS)
		for (uint32_t i = 0; i < group_worker_count(l->group); i++) {
			group_read_worker(l->group, i, &w);
			CHECK_NUMBER(w.asleep_ns, >=, asleep_ns[i]);
			CHECK_NUMBER(w.cpu_ns, >=, cpu_ns[i]);
			asleep_ns[i] = w.asleep_ns;
			cpu_ns[i] = w.cpu_ns;
		}
	return NULL;
}

static void test_times_never_go_back(const struct line_setup *setup)
{
	struct line l;
	pthread_t watcher;

	line_start(&l, setup);
	CHECK_NUMBER(group_worker_count(l.group), <=, WORKERS_MAX);
	CHECK_NUMBER(pthread_create(&watcher, NULL, watch_times, &l), ==, 0);
	for (uint32_t i = 0; i < ITEMS; i++) {
		items[i] = (struct item){ .event.number = i + 1 };
		CHECK(line_send(&l, &items[i]));
		line_await(&l, i + 1);
	}
	CHECK_NUMBER(pthread_join(watcher, NULL), ==, 0);
	group_stop(l.group);
	line_release(&l);
}

/* As above, when visits lie within each other. */
static void
test_counts_of_interrupted_visits_add_up(const struct line_setup *setup)
{
	struct line_setup with_thresholds = *setup;
	struct schedule *s = &with_thresholds.schedule;
	struct error error;

	CHECK(schedule_set(s, "threshold", "b=2,c=1", line_names, LINE_STAGES));
	if (schedule_complete(s, LINE_STAGES, cores_count(setup->cores),
			      error.text))
		test_counts_add_up(&with_thresholds);
}

static const char *const long_names[LINE_STAGES] = {
	"decompression", "normalisation", "transformation", "compression-again"
};

static void check_names_differ(const struct stage_group *g)
{
	struct worker_stats w, other;

	for (uint32_t i = 0; i < group_worker_count(g); i++) {
		group_read_worker(g, i, &w);
		CHECK_NUMBER(w.name[0], !=, '\0');
		for (uint32_t j = 0; j < i; j++) {
			group_read_worker(g, j, &other);
			CHECK(strcmp(w.name, other.name) != 0);
		}
	}
}

static void no_handler(struct event *ev, void *arg)
{
	(void)ev;
	(void)arg;
}

static void test_names_of_threads_differ(const struct line_setup *setup)
{
	struct stage_group *g = group_new(&(struct group_config){
		.schedule = &setup->schedule,
		.cores = setup->cores,
	});

	for (uint32_t i = 0; i < LINE_STAGES; i++)
		CHECK(group_add(g, &(struct stage_config){
					   .name = long_names[i],
					   .handler = no_handler,
					   .slots = 1,
				   }) != NULL);
	CHECK(group_start(g));
	check_names_differ(g);
	group_stop(g);
	group_free(g);
}

#define HELD_NS UINT64_C(20000000)

/* The first item stays in the stage until the second has waited for long. */
static void hold_stage(struct item *item, const struct place *place)
{
	struct stage *s = place->line->stages[0];

	if (place->index > 0 || item != &items[0])
		return;
	while (atomic_load(&s->stations[0]->entry->left.sleepers) == 0)
		pause_ns(100000);
	pause_ns(HELD_NS);
}

static void *send_first(void *line)
{
	CHECK(line_send(line, &items[0]));
	return NULL;
}

static void test_waiting_for_a_stage_is_no_service(void)
{
	struct error why;
	struct line_setup setup = {
		.cores = cores_new(NULL, why.text),
		.types = { STAGE_EXCLUSIVE },
		.begins = hold_stage,
		.slots = 1,
	};
	struct stage_stats s = { 0 };
	pthread_t sender;
	struct line l;

	schedule_init(&setup.schedule);
	setup.schedule.policy = policy_find("thread-per-connection");
	setup.schedule.part_count = 1;
	items[0] = items[1] = (struct item){ 0 };
	line_start(&l, &setup);
	uint64_t start_ns = clock_now_ns();

	CHECK_NUMBER(pthread_create(&sender, NULL, send_first, &l), ==, 0);
	while (s.started_count == 0)
		stage_read(l.stages[0], &s);
	CHECK(line_send(&l, &items[1]));
	CHECK_NUMBER(pthread_join(sender, NULL), ==, 0);
	group_stop(l.group);
	stage_read(l.stages[0], &s);
	CHECK_NUMBER(items[1].event.waited_ns, >=, HELD_NS);
	CHECK_NUMBER(s.wait_ns, ==, items[1].event.waited_ns);
	/* One after the other. */
	CHECK_NUMBER(s.service_ns, <=, clock_now_ns() - start_ns);
	line_release(&l);
	cores_free((struct cores *)setup.cores);
}

int main(void)
{
	watchdog_start();
	line_each_setup(test_counts_add_up);
	line_each_setup(test_counts_of_interrupted_visits_add_up);
	line_each_setup(test_names_of_threads_differ);
	line_each_setup(test_times_never_go_back);
	test_waiting_for_a_stage_is_no_service();
	return 0;
}
