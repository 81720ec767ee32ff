/* SPDX-License-Identifier: MIT */
/*
 * A line of four stages for tests.  Every item checks its own way along the
 * line: each stage is visited in turn, by one thread at a time, in one replica,
 * and the waiting time only grows.  A handler that finds a violation aborts.
 *
 * line_send() -> [0] -> [1] -> [2] -> [3] -> finished
 */
#ifndef STAGES_TEST_LINE_H
#define STAGES_TEST_LINE_H

#include "base/util.h"
#include "stages/stage.h"
#include "stages/stats.h"

#include <pthread.h>
#include <stdatomic.h>

enum { LINE_STAGES = 4 };
extern const char *const line_names[LINE_STAGES];

struct item {
	struct event event; /* must be the first member */
	pthread_t sender;
	uint32_t number; /* for use by the test */
	uint32_t at;     /* stage whose turn it is */
	int cpu;         /* where its first handler ran */
	uint64_t waited_ns;
	bool is_accepted; /* the result of line_send() */
	_Atomic uint32_t handlers_now;
	_Atomic uint32_t finished_count;
	_Atomic uint32_t dropped_count; /* a queue within the line was full */
};

struct place;

/* A test's own check, called from handlers. */
typedef void line_look_fn(struct item *item, const struct place *place);

struct line_setup {
	struct schedule schedule;
	const struct cores *cores;
	bool is_unbound; /* the cores are fake: workers may run anywhere */
	uint32_t slots;
	uint32_t delay_ns_max; /* the longest random delay of a handler */
	enum stage_type types[LINE_STAGES];
	/* Optional: called when a handler has begun, and before it sends on. */
	line_look_fn *begins, *ends;
	void *seen; /* for `begins` and `ends` */
};

struct place {
	struct line *line;
	uint32_t index;
};

struct line {
	struct line_setup setup;
	struct stage_group *group;
	struct stage *stages[LINE_STAGES];
	struct place places[LINE_STAGES];
	_Atomic bool gate_is_closed; /* handlers wait at their beginning */
	_Atomic uint64_t finished_count;
	_Atomic uint64_t dropped_count;
	/* Sum over finished and dropped items. */
	_Atomic uint64_t waited_ns_total;
};

/* Call `test` with every policy, shared and, on two cores, replicated. */
typedef void line_test_fn(const struct line_setup *setup);
void line_each_setup(line_test_fn *test);

/* Make the group and its stages, without starting it. */
void line_init(struct line *l, const struct line_setup *setup);
void line_start(struct line *l, const struct line_setup *setup);

/* Returns what stage_send() returned. */
MUST_CHECK bool line_send(struct line *l, struct item *item);

/*
 * Wait until all `count` items have left the line.  The caller may not be a
 * handler.
 */
void line_await(struct line *l, uint64_t count);

/* Free a line that has stopped or never started. */
void line_release(struct line *l);

/*
 * Threads that each send an equal share of `items`, with tiny random delays.
 * `persist`: they repeat a send that was refused.
 */
enum { CROWD_THREADS = 3 };
struct crowd {
	struct line *line;
	struct item *items;
	uint32_t item_count; /* items of each thread */
	bool persist;
	_Atomic uint32_t next_share;
	pthread_t threads[CROWD_THREADS];
};

void crowd_start(struct crowd *c);
void crowd_join(struct crowd *c);

void pause_ns(uint64_t ns);

#endif
