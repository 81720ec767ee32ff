/* SPDX-License-Identifier: MIT */
/*
 * Promise: a sent event is taken or refused, never both; handlers may send any
 * number on; the counters add up; and misuse aborts.
 */
#include "base/test/check.h"
#include "stages/event.h"
#include "stages/test/line.h"
#include "stages/test/watchdog.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ITEMS = 2000, FAN_OUT_ROUNDS = 200 };

static struct item items[ITEMS];

static void clear_items(void)
{
	for (uint32_t i = 0; i < ITEMS; i++)
		items[i] = (struct item){ 0 };
}

static void test_counters_add_up(const struct line_setup *setup)
{
	struct line l;
	uint64_t waited_ns_total = 0;

	clear_items();
	line_start(&l, setup);
	/* Handlers are short, so visits take events while the sender pushes. */
	for (uint32_t i = 0; i < ITEMS; i++)
		CHECK(line_send(&l, &items[i]));
	line_await(&l, ITEMS);
	group_stop(l.group);
	for (uint32_t i = 0; i < LINE_STAGES; i++) {
		struct stage_stats s;

		stage_read(l.stages[i], &s);
		CHECK_NUMBER(s.arrived_count, ==, ITEMS);
		CHECK_NUMBER(s.handled_count, ==, ITEMS);
		CHECK_NUMBER(s.refused_count, ==, 0);
		CHECK_NUMBER(s.queued_count, ==, 0);
		CHECK_NUMBER(s.visit_count, >=, 1);
		CHECK_NUMBER(s.visit_empty_count, <, s.visit_count);
		CHECK_NUMBER(s.visit_count - s.visit_empty_count, <=,
			     s.handled_count);
		CHECK_NUMBER(s.wait_ns_max, <=, s.wait_ns);
		CHECK_NUMBER(s.service_ns, >, 0);
		CHECK_NUMBER(s.service_ns_max, <=, s.service_ns);
		waited_ns_total += s.wait_ns;
	}
	/* The total is the sum of the items' waits, to the nanosecond. */
	CHECK_NUMBER(waited_ns_total, ==, l.waited_ns_total);
	line_release(&l);
}

static void
test_full_queue_refuses_and_loses_nothing(const struct line_setup *s)
{
	struct line_setup narrow = *s;
	struct line l;
	struct stage_stats stats;
	uint64_t accepted = 0, dropped = 0, refused = 0;
	/* A central queue has the room of all stages; a ring has 2^k - 1. */
	uint32_t room = s->schedule.policy->has_central_queue ? 15 : 3;

	if (s->schedule.policy->workers == POLICY_WORKERS_CALLER)
		return; /* no queues */
	clear_items();
	narrow.slots = 3;
	line_start(&l, &narrow);
	atomic_store(&l.gate_is_closed, true);
	/* Send until each replica has refused; items go to replicas in turn. */
	for (uint32_t i = 0; i < 50; i++) {
		if (line_send(&l, &items[i])) {
			items[i].is_accepted = true;
			accepted++;
		} else {
			CHECK(event_peek(&items[i].event)->stage == NULL);
			refused++;
		}
	}
	CHECK_NUMBER(accepted, >=, room * s->schedule.part_count);
	CHECK_NUMBER(refused, >=, 50 - (room + 2) * s->schedule.part_count);
	stage_read(l.stages[0], &stats);
	CHECK_NUMBER(stats.refused_count, ==, refused);
	CHECK_NUMBER(stats.arrived_count, ==, accepted);
	/*
	 * The other accepted items are at the gate, at most one for each
	 * worker.
	 */
	CHECK_NUMBER(stats.queued_count, <=, room * s->schedule.part_count);
	CHECK_NUMBER(accepted - stats.queued_count, <=,
		     group_worker_count(l.group));
	CHECK_NUMBER(stats.queued_count_max, ==, room);
	atomic_store(&l.gate_is_closed, false);
	line_await(&l, accepted);

	/* All items can be sent again, even those that were refused. */
	for (uint32_t i = 0; i < 50; i++)
		if (!items[i].is_accepted) {
			while (!line_send(&l, &items[i]))
				refused++;
			accepted++;
		}
	group_stop(l.group);
	CHECK_NUMBER(l.finished_count + l.dropped_count, ==, accepted);
	for (uint32_t i = 0; i < LINE_STAGES; i++) {
		stage_read(l.stages[i], &stats);
		dropped += stats.refused_count;
	}
	CHECK_NUMBER(dropped, ==, refused + l.dropped_count);
	line_release(&l);
}

/* An event that splits: the first stage sends it and its twin on. */
struct twin {
	struct event event; /* must be the first member */
	struct twin *other; /* NULL: the second of the two */
	uint32_t joined;
};

struct fan_out {
	struct stage *join;
	_Atomic uint32_t joined_count;
	/* The order in which the caller ran handlers. */
	uint32_t order[2 * FAN_OUT_ROUNDS];
	uint32_t order_count;
	bool keeps_order;
	_Atomic uint32_t depth; /* handlers that the caller runs now */
};

static void enter_handler(struct fan_out *f, uint32_t mark)
{
	if (!f->keeps_order)
		return;
	CHECK_NUMBER(atomic_fetch_add(&f->depth, 1), ==, 0); /* not nested */
	f->order[f->order_count++ % (2 * FAN_OUT_ROUNDS)] = mark;
}

static void leave_handler(struct fan_out *f)
{
	if (f->keeps_order)
		(void)atomic_fetch_sub(&f->depth, 1);
}

static void split(struct event *ev, void *arg)
{
	struct fan_out *f = arg;
	struct twin *t = (struct twin *)ev;
	struct twin *other = t->other;

	enter_handler(f, 0);
	while (!stage_send(f->join, &other->event))
		;
	while (!stage_send(f->join, ev))
		;
	leave_handler(f);
}

static void join(struct event *ev, void *arg)
{
	struct fan_out *f = arg;
	struct twin *t = (struct twin *)ev;

	enter_handler(f, t->other == NULL ? 1 : 2);
	t->joined++;
	(void)atomic_fetch_add(&f->joined_count, 1);
	leave_handler(f);
}

static void test_handler_may_send_two(const struct line_setup *setup)
{
	static struct twin twins[FAN_OUT_ROUNDS][2];
	static struct fan_out f;
	struct stage_stats stats;
	struct stage_group *g = group_new(&(struct group_config){
		.schedule = &setup->schedule, .cores = setup->cores });
	struct stage_config config = {
		.name = "split",
		.handler = split,
		.arg = &f,
		.slots = 2 * FAN_OUT_ROUNDS,
	};
	struct stage *first = group_add(g, &config);

	(void)memset(twins, 0, sizeof(twins));
	config.name = "join";
	config.handler = join;
	f = (struct fan_out){ .join = group_add(g, &config) };
	f.keeps_order =
		setup->schedule.policy->workers == POLICY_WORKERS_CALLER;
	CHECK(group_start(g));
	for (uint32_t i = 0; i < FAN_OUT_ROUNDS; i++) {
		twins[i][0].other = &twins[i][1];
		CHECK(stage_send(first, &twins[i][0].event));
		if (f.keeps_order) { /* in turn, before the send returned */
			CHECK_NUMBER(f.order_count, ==, 3);
			CHECK_NUMBER(f.order[0], ==, 0);
			CHECK_NUMBER(f.order[1], ==, 1);
			CHECK_NUMBER(f.order[2], ==, 2);
			f.order_count = 0;
		}
	}
	group_stop(g);
	CHECK_NUMBER(f.joined_count, ==, 2 * FAN_OUT_ROUNDS);
	for (uint32_t i = 0; i < FAN_OUT_ROUNDS; i++)
		CHECK(twins[i][0].joined == 1 && twins[i][1].joined == 1);
	stage_read(f.join, &stats);
	CHECK_NUMBER(stats.arrived_count, ==, 2 * FAN_OUT_ROUNDS);
	CHECK_NUMBER(stats.handled_count, ==, 2 * FAN_OUT_ROUNDS);
	group_free(g);
}

/* A handler that sends into another group is outside of that group. */
struct outside {
	struct event event; /* must be the first member */
	struct line *inner;
	struct item item;
};

static void send_inside(struct event *ev, void *arg)
{
	struct outside *o = (struct outside *)ev;

	(void)arg;
	o->item.is_accepted = line_send(o->inner, &o->item);
}

static void test_handler_may_send_to_another_group(const struct line_setup *s)
{
	struct line l;
	struct outside o = { .inner = &l };

	for (const struct policy *const *p = policy_list(); *p != NULL; p++) {
		struct schedule outer;

		schedule_init(&outer);
		outer.policy = *p;
		outer.part_count = 1;
		struct stage_group *g = group_new(&(struct group_config){
			.schedule = &outer, .cores = s->cores });
		struct stage *first =
			group_add(g, &(struct stage_config){
					     .name = "outer",
					     .handler = send_inside,
					     .slots = 1,
				     });

		o.item = (struct item){ 0 };
		line_start(&l, s);
		CHECK(group_start(g));
		CHECK(stage_send(first, &o.event));
		group_stop(g);
		CHECK(o.item.is_accepted);
		group_stop(l.group);
		CHECK_NUMBER(l.finished_count, ==, 1);
		line_release(&l);
		group_free(g);
	}
}

/* Does `misuse` abort?  In a child, before this process has any thread. */
static void expect_abort(void (*misuse)(const struct line_setup *),
			 const struct line_setup *setup)
{
	int status;
	pid_t child = fork();

	CHECK_NUMBER(child, >=, 0);
	if (child == 0) {
		(void)close(STDERR_FILENO); /* the assertion's message */
		(void)signal(SIGABRT, SIG_DFL);
		misuse(setup);
		_exit(0);
	}
	CHECK_NUMBER(waitpid(child, &status, 0), ==, child);
	CHECK(WIFSIGNALED(status));
	CHECK_NUMBER(WTERMSIG(status), ==, SIGABRT);
}

static void send_before_start(const struct line_setup *setup)
{
	struct line l;

	line_init(&l, setup);
	(void)!line_send(&l, &items[0]);
}

static void send_twice(const struct line_setup *setup)
{
	struct line l;

	line_start(&l, setup);
	atomic_store(&l.gate_is_closed, true);
	/* As if it had been sent there. */
	event_inside(&items[0].event)->stage = l.stages[1];
	(void)!line_send(&l, &items[0]);
}

static void start_twice(const struct line_setup *setup)
{
	struct line l;

	line_start(&l, setup);
	group_stop(l.group);
	(void)!group_start(l.group);
}

static void free_running(const struct line_setup *setup)
{
	struct line l;

	if (setup->schedule.policy->workers == POLICY_WORKERS_CALLER)
		/*
		 * This schedule has no threads, so there is nothing to notice.
		 */
		abort();
	line_start(&l, setup);
	line_release(&l);
}

static void test_misuse_aborts(const struct line_setup *setup)
{
	clear_items();
	expect_abort(send_before_start, setup);
	expect_abort(send_twice, setup);
	expect_abort(start_twice, setup);
	expect_abort(free_running, setup);
}

/* --- A pass-through stage between two others. --- */

static struct {
	struct stage *passed, *last;
	pthread_t sender;
	bool is_inside, is_nested;
	_Atomic uint32_t passed_count, last_count;
} through;

static void pass(struct event *ev, void *arg)
{
	(void)arg;
	CHECK(!through.is_nested || through.is_inside);
	if (through.is_nested)
		CHECK(pthread_equal(through.sender, pthread_self()));
	CHECK(!stage_can_wait());
	stage_pause_point();
	atomic_fetch_add(&through.passed_count, 1);
	CHECK(stage_send(through.last, ev));
}

static void send_through(struct event *ev, void *arg)
{
	(void)arg;
	through.sender = pthread_self();
	through.is_inside = true;
	CHECK(stage_send(through.passed, ev));
	if (through.is_nested) {
		CHECK_NUMBER(through.passed_count, ==, 1);
		CHECK(!stage_can_wait());
	}
	through.is_inside = false;
}

static void end(struct event *ev, void *arg)
{
	(void)ev;
	(void)arg;
	atomic_fetch_add(&through.last_count, 1);
}

static void check_passed(const struct stage *s, const struct stage *from,
			 uint32_t sent_by)
{
	struct stage_stats stats;

	stage_read(s, &stats);
	CHECK_NUMBER(stats.arrived_count, ==, 1);
	CHECK_NUMBER(stats.handled_count, ==, 1);
	CHECK_NUMBER(stats.queued_count, ==, 0);
	CHECK_NUMBER(stats.wait_ns, ==, 0);
	stage_read(from, &stats);
	CHECK_NUMBER(stats.handled_count, ==, sent_by);
}

static void end_in_passing(struct event *ev, void *arg)
{
	(void)ev;
	(void)arg;
	atomic_fetch_add(&through.passed_count, 1);
}

/* The event has ended when the send returns, so its sender cannot wait. */
static void send_to_its_end(struct event *ev, void *arg)
{
	(void)arg;
	CHECK(stage_send(through.passed, ev));
	CHECK(!stage_can_wait());
	atomic_fetch_add(&through.last_count, 1);
}

static void test_event_may_end_in_passing(const struct line_setup *setup)
{
	struct stage_group *g = group_new(&(struct group_config){
		.schedule = &setup->schedule,
		.cores = setup->cores,
	});
	struct stage *first = group_add(g, &(struct stage_config){
						   .name = "first",
						   .handler = send_to_its_end,
						   .slots = 1,
					   });
	struct event ev = { .number = 1 };

	through.passed = group_add(g, &(struct stage_config){
					      .name = "passed",
					      .handler = end_in_passing,
					      .slots = 1,
					      .type = STAGE_PASS_THROUGH,
				      });
	through.passed_count = through.last_count = 0;
	CHECK(group_start(g));
	CHECK(stage_send(first, &ev));
	group_stop(g);
	CHECK_NUMBER(through.passed_count, ==, 1);
	CHECK_NUMBER(through.last_count, ==, 1);
	group_free(g);
}

/* `is_first`: it is sent to the pass-through stage, from outside. */
static void pass_one(const struct line_setup *setup, bool is_first)
{
	struct stage_group *g = group_new(&(struct group_config){
		.schedule = &setup->schedule,
		.cores = setup->cores,
	});
	struct stage *first = group_add(g, &(struct stage_config){
						   .name = "first",
						   .handler = send_through,
						   .slots = 1,
					   });
	struct event ev = { .number = 1 };

	through.passed = group_add(g, &(struct stage_config){
					      .name = "passed",
					      .handler = pass,
					      .slots = 1,
					      .type = STAGE_PASS_THROUGH,
				      });
	through.last = group_add(g, &(struct stage_config){ .name = "last",
							    .handler = end,
							    .slots = 1 });
	through.passed_count = through.last_count = 0;
	through.is_nested =
		setup->schedule.policy->workers != POLICY_WORKERS_CALLER;
	through.sender = pthread_self();
	through.is_inside = is_first;
	CHECK(group_start(g));
	CHECK(stage_send(is_first ? through.passed : first, &ev));
	if (is_first)
		CHECK_NUMBER(through.passed_count, ==, 1);
	group_stop(g);
	CHECK_NUMBER(through.last_count, ==, 1);
	CHECK_NUMBER(ev.born_ns, >, 0);
	check_passed(through.passed, first, !is_first);
	CHECK(!stage_send(through.passed, &ev)); /* it has stopped */
	CHECK_NUMBER(through.passed_count, ==, 1);
	group_free(g);
}

static void test_pass_through_is_a_call(const struct line_setup *setup)
{
	pass_one(setup, false);
	pass_one(setup, true);
}

/* --- Without workers: what a handler sends may wait for its sender. --- */

static struct postponed postponed;

/* line_setup.ends */
static void postpone_at_first(struct item *item, const struct place *place)
{
	(void)item;
	if (place->index == 0)
		stage_postpone(&postponed);
}

static void *stop_line(void *line)
{
	group_stop(((struct line *)line)->group);
	return NULL;
}

static void check_handled(const struct line *l, uint64_t first, uint64_t others)
{
	for (uint32_t i = 0; i < LINE_STAGES; i++) {
		struct stage_stats s;

		stage_read(l->stages[i], &s);
		CHECK_NUMBER(s.handled_count, ==, (i == 0 ? first : others));
	}
}

static void test_sender_runs_what_was_postponed(const struct line_setup *s)
{
	struct line_setup setup = *s;
	struct item item = { .number = 0 }, next = { .number = 1 };
	struct stage_graph graph;
	pthread_t stops;
	struct line l;

	if (s->schedule.policy->workers != POLICY_WORKERS_CALLER)
		return;
	setup.ends = postpone_at_first;
	line_start(&l, &setup);
	for (uint32_t i = 0; i < 2; i++) {
		postponed = (struct postponed){ .group = NULL };
		CHECK(line_send(&l, i == 0 ? &item : &next));
		check_handled(&l, i + 1, i);
		/* The second time, when it stops already. */
		if (i == 1)
			CHECK_NUMBER(
				pthread_create(&stops, NULL, stop_line, &l), ==,
				0);
		stage_run_postponed(&postponed);
		check_handled(&l, i + 1, i + 1);
	}
	CHECK_NUMBER(pthread_join(stops, NULL), ==, 0);
	CHECK_NUMBER(l.finished_count, ==, 2);
	/* The stage has sent them, not its sender. */
	group_read_graph(l.group, &graph);
	CHECK_NUMBER(graph.sent_counts[0][1], ==, 2);
	line_release(&l);
}

int main(void)
{
	watchdog_start();
	line_each_setup(test_misuse_aborts);
	line_each_setup(test_counters_add_up);
	line_each_setup(test_full_queue_refuses_and_loses_nothing);
	line_each_setup(test_handler_may_send_two);
	line_each_setup(test_handler_may_send_to_another_group);
	line_each_setup(test_pass_through_is_a_call);
	line_each_setup(test_event_may_end_in_passing);
	line_each_setup(test_sender_runs_what_was_postponed);
	return 0;
}
