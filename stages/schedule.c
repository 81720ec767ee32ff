/* SPDX-License-Identifier: MIT */
/*
 * There is one list for each flag that is a choice among words: REGIMES,
 * DISCIPLINES, BALANCES and so on.  A line has the constant of a value, its
 * word, the form of the number after the word, the limit and the factor of that
 * number, the text of --help, and the explanation.  From these lists the macros
 * below make the `values` and `help` of schedule_flags, and a table of struct
 * choice; the words stand nowhere else.
 */
#include "stages/schedule.h"

#include "base/util.h"
#include "base/take.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define COUNT_MAX 1e6       /* events of a visit or in a queue */
#define US_MAX 3600000000.0 /* an hour */
#define AGEING_MAX 1e6
#define NO_NUMBER (-1.0)
#define LONGEST_INITIAL_US 10000
#define AGEING_INITIAL 30 /* found by measurement: docs/scheduling.md */
enum { THREADS_MAX = 1024, PARTS_MAX = 1024, SCHEDULE_CAUSE_BYTES = 48 };

/* The number after a word. */
enum number_form {
	NUMBER_NONE,
	NUMBER_NEEDED,   /* "=N" */
	NUMBER_OPTIONAL, /* "[=N]" */
	NUMBER_DECIMAL,  /* "[=N]", with a fraction; may be 0 */
};

struct choice {
	const char *word;
	enum number_form form;
	double most;     /* of the number */
	uint64_t factor; /* the number is multiplied by this */
	const char *meaning;
};

#define REGIMES(X)                                                             \
	X(REGIME_EXHAUSTIVE, "exhaustive", "", NUMBER_NONE, 0, 0,              \
	  "until no event waits at the stage",                                 \
	  "A visit lasts until no event waits at the stage. Events that "      \
	  "arrive during the visit are handled, too, so a busy stage can "     \
	  "keep a worker for long.")                                           \
	X(REGIME_GATED, "gated", "", NUMBER_NONE, 0, 0,                        \
	  "for as many events as waited when it began",                        \
	  "A visit handles as many events as waited at the stage when it "     \
	  "began; later ones wait for the next visit.")                        \
	X(REGIME_N_GATED, "n-gated", "=N", NUMBER_NEEDED, COUNT_MAX, 1,        \
	  "as gated, but for N events at most",                                \
	  "A visit handles as many events as waited at the stage when it "     \
	  "began, but at most this number. The smaller the number, the "       \
	  "more often a worker looks at the other stages.")                    \
	X(REGIME_TIME_GATED, "time-gated", "=US", NUMBER_NEEDED, US_MAX, 1000, \
	  "until no event waits at the stage, or until US microseconds have "  \
	  "passed and the current event is done",                              \
	  "A visit lasts until no event waits at the stage, or until this "    \
	  "number of microseconds has passed and the current event is "        \
	  "done.")                                                             \
	X(REGIME_CUTOFF, "cutoff", "=US", NUMBER_NEEDED, US_MAX, 1000,         \
	  "as gated, but an event that has run for US microseconds is "        \
	  "paused; the next visit goes on with it after all others",           \
	  "A visit handles as many events as waited at the stage when it "     \
	  "began. It pauses an event that has run for this number of "         \
	  "microseconds; the next visit goes on with that event, after all "   \
	  "others.")

#define LOOKS(X)                                                               \
	X(LOOK_LENGTHS, "lengths", "", NUMBER_NONE, 0, 0,                      \
	  "the lengths of all queues",                                         \
	  "A worker knows how many events wait at each stage, so it visits "   \
	  "no stage where none waits.")                                        \
	X(LOOK_BLIND, "blind", "", NUMBER_NONE, 0, 0,                          \
	  "only whether its last visit found an event, as in the papers",      \
	  "A worker learns whether events wait at a stage only by a visit. "   \
	  "A visit that finds none costs time, too.")

#define IDLES(X)                                                               \
	X(IDLE_WAKE, "wake", "", NUMBER_NONE, 0, 0,                            \
	  "sleep until an event arrives at any stage",                         \
	  "A worker that finds nothing sleeps until an event arrives at any "  \
	  "stage.")                                                            \
	X(IDLE_BACKOFF, "backoff", "[=US]", NUMBER_OPTIONAL, US_MAX, 1000,     \
	  "wait for an event at the stage visited last, for 10 us, 20 us, "    \
	  "40 us and so on, but for US microseconds at most (10000), then "    \
	  "visit the next, as in the papers",                                  \
	  "A worker that finds nothing waits for an event at the stage that "  \
	  "it visited last, each time twice as long, up to this number of "    \
	  "microseconds; then it visits the next stage.")

#define DISCIPLINES(X)                                                         \
	X(DISCIPLINE_FCFS, "fcfs", "", NUMBER_NONE, 0, 0,                      \
	  "the one that arrived first",                                        \
	  "First come, first served: of the waiting events, the one that "     \
	  "has waited longest is handled first.")                              \
	X(DISCIPLINE_LCFS, "lcfs", "", NUMBER_NONE, 0, 0,                      \
	  "the one that arrived last",                                         \
	  "Last come, first served: of the waiting events, the newest is "     \
	  "handled first. Old events wait for as long as new ones arrive.")    \
	X(DISCIPLINE_STACK, "stack", "", NUMBER_NONE, 0, 0,                    \
	  "the newest of those that the worker itself sent to the stage; if "  \
	  "there are none, as fcfs",                                           \
	  "A worker first handles the events that it sent to the stage "       \
	  "itself, newest first, because they are probably still in its "      \
	  "core's cache; then all others, first come, first served.")          \
	X(DISCIPLINE_SRPT, "srpt", "[=AGEING]", NUMBER_DECIMAL, AGEING_MAX, 1, \
	  "the one with the smallest time of arrival + AGEING x predicted "    \
	  "work left; without AGEING, 30, and less while clients that wait "   \
	  "for their replies keep the server busy",                            \
	  "The event with the least predicted work left is handled first; "    \
	  "1 ns of work counts as a number of ns of waiting. Small events "    \
	  "overtake large ones, but not for ever.")                            \
	X(DISCIPLINE_EDF, "edf", "", NUMBER_NONE, 0, 0,                        \
	  "the one with the earliest deadline; those without one are last",    \
	  "Earliest deadline first: of the waiting events, the one whose "     \
	  "deadline is nearest is handled first, and those without a "         \
	  "deadline last.")

#define BALANCES(X)                                                            \
	X(BALANCE_SHARED, "shared", "", NUMBER_NONE, 0, 0,                     \
	  "all cores serve one stage graph",                                   \
	  "There is one stage graph, and all cores serve it.")                 \
	X(BALANCE_REPLICATE, "replicate", "[=N]", NUMBER_OPTIONAL, PARTS_MAX,  \
	  1,                                                                   \
	  "N replicas of the stage graph, each with its own queues and "       \
	  "cores; without N, one for each core",                               \
	  "There are several replicas of the stage graph, each with its "      \
	  "own queues and cores. They share little, but one can be idle "      \
	  "while events wait in another.")                                     \
	X(BALANCE_PARTITION, "partition", "[=P]", NUMBER_OPTIONAL, PARTS_MAX,  \
	  1,                                                                   \
	  "the stages are divided among P groups of cores; without P, as "     \
	  "many groups as there can be",                                       \
	  "The stages are divided among groups of cores. The code and "        \
	  "tables of a stage stay with its cores; events move from group "     \
	  "to group.")

#define DISTRIBUTES(X)                                                         \
	X(DISTRIBUTE_ROUND_ROBIN, "round-robin", "", NUMBER_NONE, 0, 0,        \
	  "each in turn",                                                      \
	  "New events go to each replica in turn, however busy it is.")        \
	X(DISTRIBUTE_LEAST_LOADED, "least-loaded", "", NUMBER_NONE, 0, 0,      \
	  "the one with the fewest unfinished events",                         \
	  "A new event goes to the replica that has the fewest unfinished "    \
	  "events.")                                                           \
	X(DISTRIBUTE_SIZE, "size", "", NUMBER_NONE, 0, 0,                      \
	  "the one for its size, by predicted work; each gets sizes that "     \
	  "make up its cores' share of the work",                              \
	  "Each replica gets new events of its own interval of sizes, by "     \
	  "predicted work. The intervals follow the recent events, so that "   \
	  "the work is divided evenly.")

#define RESOURCE_RULES(X)                                                      \
	X(RESOURCES_LEARN, "learn", "", NUMBER_NONE, 0, 0,                     \
	  "threads that will give back what is nearly used up run first, "     \
	  "and those that will take it get fewer turns",                       \
	  "What threads take and give back is learned for each place where "   \
	  "they let others run. The less is left of a resource, the fewer "    \
	  "turns get those that will take it.")                                \
	X(RESOURCES_IGNORE, "ignore", "", NUMBER_NONE, 0, 0,                   \
	  "first come, first served",                                          \
	  "Threads run first come, first served, whatever they will use.")

#define MAPPINGS(X)                                                            \
	X(THREADS_1_TO_1, "1:1", "", NUMBER_NONE, 0, 0,                        \
	  "a kernel thread for each connection",                               \
	  "Each connection has a kernel thread. The kernel chooses who "       \
	  "runs, and a thread that waits costs a switch to another.")          \
	X(THREADS_N_TO_1, "n:1", "", NUMBER_NONE, 0, 0,                        \
	  "one kernel thread runs all connections",                            \
	  "One kernel thread runs the threads of all connections, so one "     \
	  "core does all the work.")                                           \
	X(THREADS_N_TO_M, "n:m", "", NUMBER_NONE, 0, 0,                        \
	  "one kernel thread per core runs them, from one queue",              \
	  "One kernel thread per core runs the threads of connections, from "  \
	  "one queue for all. A thread changes its core only where it "        \
	  "waits.")

#define THREAD_IOS(X)                                                          \
	X(THREADS_IO_SYNC, "sync", "", NUMBER_NONE, 0, 0,                      \
	  "it blocks its kernel thread",                                       \
	  "A call that has to wait for a client blocks its kernel thread, as " \
	  "an ordinary read() or write() does.")                               \
	X(THREADS_IO_ASYNC, "async", "", NUMBER_NONE, 0, 0,                    \
	  "it blocks the connection's thread only",                            \
	  "A call that has to wait for a client blocks the thread of this "    \
	  "connection only; its kernel thread goes on with others.")

#define TRANSFER_RULES(X)                                                      \
	X(TRANSFERS_BY_SCHEDULER, "scheduler", "", NUMBER_NONE, 0, 0,          \
	  "the scheduler, without a switch for each piece",                    \
	  "When more of a body can be read or written, the scheduler does it " \
	  "itself. The connection's thread goes on when the whole transfer "   \
	  "is over, so a body of any size costs it one wait.")                 \
	X(TRANSFERS_BY_THREAD, "thread", "", NUMBER_NONE, 0, 0,                \
	  "the connection's thread",                                           \
	  "The connection's thread is woken each time that a piece of a body " \
	  "can be read or written.")

/* "|a|b=N": the first character is skipped. */
#define VALUE(index, word, form, number, most, factor, help, meaning)          \
	"|" word form
#define HELP(index, word, form, number, most, factor, help, meaning)           \
	"\n  " word ": " help
#define CHOICE(index, word, form, number, most, factor, help, meaning)         \
	[index] = { word, number, most, factor, meaning },

static const struct choice regimes[] = { REGIMES(CHOICE) };
static const struct choice looks[] = { LOOKS(CHOICE) };
static const struct choice idles[] = { IDLES(CHOICE) };
static const struct choice disciplines[] = { DISCIPLINES(CHOICE) };
static const struct choice balances[] = { BALANCES(CHOICE) };
static const struct choice distributes[] = { DISTRIBUTES(CHOICE) };
static const struct choice resource_rules[] = { RESOURCE_RULES(CHOICE) };
static const struct choice mappings[] = { MAPPINGS(CHOICE) };
static const struct choice thread_ios[] = { THREAD_IOS(CHOICE) };
static const struct choice transfer_rules[] = { TRANSFER_RULES(CHOICE) };

/* Indices of schedule_flags. */
enum {
	POLICY_FLAG,
	REGIME_FLAG,
	LOOK_FLAG,
	IDLE_FLAG,
	DISCIPLINE_FLAG,
	SLICE_FLAG,
	BALANCE_FLAG,
	DISTRIBUTE_FLAG,
	STEAL_FLAG,
	POOL_FLAG,
	THRESHOLD_FLAG,
	RESOURCES_FLAG,
	THREADS_FLAG,
	IO_FLAG,
	TRANSFERS_FLAG,
	QUANTUM_FLAG,
	FLAG_COUNT
};

static const char *policy_word(uint32_t i)
{
	return policy_list[i] != NULL ? policy_list[i]->name : NULL;
}

const struct flag schedule_flags[] = {
	[POLICY_FLAG] = { "policy", "NAME", "cohort",
			  "which stage a free worker visits next; see "
			  "--list-policies",
			  .type = FLAG_OTHER, .word = policy_word },
	[REGIME_FLAG] = { "regime", &REGIMES(VALUE)[1], "exhaustive",
			  "how long a worker's visit at a stage lasts:" REGIMES(
				  HELP),
			  .type = FLAG_OTHER },
	[LOOK_FLAG] = { "look", &LOOKS(VALUE)[1], "lengths",
			"what a worker knows of the queues before it visits a "
			"stage:" LOOKS(HELP),
			.type = FLAG_OTHER },
	[IDLE_FLAG] = { "idle", &IDLES(VALUE)[1], "wake",
			"what a worker does that has found nothing:" IDLES(
				HELP),
			.type = FLAG_OTHER },
	[DISCIPLINE_FLAG] = { "discipline", &DISCIPLINES(VALUE)[1], "fcfs",
			      "which of the waiting events is handled "
			      "first:" DISCIPLINES(HELP),
			      .type = FLAG_OTHER },
	[SLICE_FLAG] = { "slice", "US", "0",
			 "with lcfs, srpt or edf, pause an event that has run "
			 "for US "
			 "microseconds when the\nqueue has one that comes "
			 "before it; 0: pause none\n(darkroom with srpt or "
			 "edf: 1000)",
			 .type = FLAG_OTHER },
	[BALANCE_FLAG] = { "balance", &BALANCES(VALUE)[1], "shared",
			   "how the cores share the stages (with --policy "
			   "capriccio: replicate):" BALANCES(HELP),
			   .type = FLAG_OTHER },
	[DISTRIBUTE_FLAG] = { "distribute", &DISTRIBUTES(VALUE)[1],
			      "round-robin",
			      "with --balance replicate, the replica that "
			      "a new event goes to\n(with --policy capriccio: "
			      "least-loaded):" DISTRIBUTES(HELP),
			      .type = FLAG_OTHER },
	[STEAL_FLAG] = { "steal", NULL, NULL,
			 "with --balance replicate, a replica that has no "
			 "work takes a share of the events that wait in "
			 "another; with --distribute size, only smaller ones, "
			 "and before its own",
			 .type = FLAG_OTHER },
	[POOL_FLAG] = { "pool", "STAGE=THREADS,...|auto", NULL,
			"with --policy pool-per-stage, the number of threads "
			"of each stage; auto: a stage gets one more while its "
			"queue is long, and loses one that was idle for a "
			"second",
			.type = FLAG_OTHER },
	[THRESHOLD_FLAG] = { "threshold", "STAGE=LENGTH[:US],...", NULL,
			     "a worker interrupts its visit at another "
			     "stage when more than LENGTH events wait at STAGE "
			     "(0: no such limit), or when events wait there "
			     "and no worker has come for US microseconds",
			     .type = FLAG_OTHER },
	[RESOURCES_FLAG] = { "resources", &RESOURCE_RULES(VALUE)[1], "learn",
			     "with --policy capriccio, which thread runs "
			     "next:" RESOURCE_RULES(HELP),
			     .type = FLAG_OTHER },
	[THREADS_FLAG] = { "threads", &MAPPINGS(VALUE)[1], "n:m",
			   "with --policy servlib, the kernel threads that run "
			   "the threads of connections:" MAPPINGS(HELP),
			   .type = FLAG_OTHER },
	[IO_FLAG] = { "io", &THREAD_IOS(VALUE)[1], "async",
		      "with --policy servlib, what a call does that has to "
		      "wait for a client (with --threads 1:1: "
		      "sync):" THREAD_IOS(HELP),
		      .type = FLAG_OTHER },
	[TRANSFERS_FLAG] = { "transfers", &TRANSFER_RULES(VALUE)[1],
			     "scheduler",
			     "with --policy servlib, who goes on with a body "
			     "that had to wait for its "
			     "client:" TRANSFER_RULES(HELP),
			     .type = FLAG_OTHER },
	[QUANTUM_FLAG] = { "quantum", "US", "0",
			   "with --policy servlib, a connection's thread that "
			   "has run for US microseconds lets others run; 0: it "
			   "runs until it waits",
			   .type = FLAG_OTHER },
	{ 0 },
};

const struct policy *const policy_list[] = {
#define POLICY(name) &policy_##name,
#include "stages/policies/list.h"
#undef POLICY
	NULL
};

void policies_print(FILE *out)
{
	for (const struct policy *const *p = policy_list; *p != NULL; p++)
		(void)fprintf(out, "%-22s %s\n", (*p)->name, (*p)->summary);
}

const struct policy *policy_find(const char *name)
{
	for (const struct policy *const *p = policy_list; *p != NULL; p++)
		if (strcmp((*p)->name, name) == 0)
			return *p;
	return NULL;
}

void schedule_init(struct schedule *s)
{
	*s = (struct schedule){
		.policy = &policy_cohort,
		.discipline = { .ageing = AGEING_INITIAL,
				.follows_load = true },
		.threads = { .mapping = THREADS_N_TO_M,
			     .io = THREADS_IO_ASYNC,
			     .transfers = TRANSFERS_BY_SCHEDULER },
	};
	for (uint32_t i = 0; i < STAGES_MAX; i++)
		s->pool_threads[i] = 1;
}

/* A value that was read, or is to be printed. */
struct value {
	uint32_t choice; /* in the table of choices */
	bool has_number;
	double number;
};

/* Read "=N" after the word. */
static bool read_choice_number(const struct choice *c, const char **at,
			       struct value *v)
{
	uint64_t whole;

	if (!take_word(at, "="))
		return c->form != NUMBER_NEEDED;
	v->has_number = true;
	if (c->form == NUMBER_NONE)
		return false;
	if (c->form == NUMBER_DECIMAL)
		return take_decimal(at, c->most, &v->number);
	if (!take_number(at, 1, (uint64_t)c->most, &whole))
		return false;
	v->number = (double)whole;
	return true;
}

static bool read_choice(const struct choice *choices, uint32_t count,
			const char *text, struct value *v)
{
	for (uint32_t i = 0; i < count; i++) {
		const char *at = text;

		*v = (struct value){ .choice = i };
		if (take_word(&at, choices[i].word) &&
		    read_choice_number(&choices[i], &at, v) && take_end(at))
			return true;
	}
	return false;
}

enum { NAME_BYTES = 65 }; /* of a stage, in messages */

/* The names that --pool and --threshold may use. */
struct stage_names {
	const char *const *names;
	uint32_t count;
};

/* Read the text after "STAGE=". */
typedef bool read_entry_fn(struct schedule *s, const char **at, uint32_t stage);

/* Entries with commas between them; at most one for each stage. */
static bool read_entries(struct schedule *s, const char *at,
			 const struct stage_names *stages,
			 read_entry_fn *read_entry)
{
	uint32_t stage, seen = 0; /* bit i: stage i */

	do {
		if (!take_name(&at, stages->names, stages->count, &stage) ||
		    (seen >> stage & 1) || !read_entry(s, &at, stage))
			return false;
		seen |= UINT32_C(1) << stage;
	} while (take_word(&at, ","));
	return take_end(at);
}

static bool read_pool_entry(struct schedule *s, const char **at, uint32_t stage)
{
	uint64_t threads;

	if (!take_number(at, 1, THREADS_MAX, &threads))
		return false;
	s->pool_threads[stage] = (uint32_t)threads;
	return true;
}

static bool read_threshold_entry(struct schedule *s, const char **at,
				 uint32_t stage)
{
	uint64_t length, us = 0;

	if (!take_number(at, 0, (uint64_t)COUNT_MAX, &length) ||
	    (take_word(at, ":") && !take_number(at, 1, (uint64_t)US_MAX, &us)))
		return false;
	s->thresholds[stage] = (struct threshold){
		.queued_count = (uint32_t)length,
		.unvisited_ns = us * 1000,
	};
	return length > 0 || us > 0;
}

/* Read microseconds. */
static bool read_us(const char *at, uint64_t *out_ns)
{
	uint64_t us;

	if (!take_number(&at, 0, (uint64_t)US_MAX, &us) || !take_end(at))
		return false;
	*out_ns = us * 1000;
	return true;
}

#define READ(choices, text, value)                                             \
	read_choice(choices, ARRAY_SIZE(choices), text, value)

static struct idle read_idle(const struct value *v)
{
	double us = v->has_number ? v->number : LONGEST_INITIAL_US;

	return (struct idle){
		.kind = (enum idle_kind)v->choice,
		.longest_ns = (uint64_t)us * idles[v->choice].factor,
	};
}

/* The flags of struct thread_model.  False: `text` is no value of the flag. */
static bool read_thread_value(struct thread_model *m, uint32_t flag,
			      const char *text)
{
	struct value v;
	bool ok;

	switch (flag) {
	case THREADS_FLAG:
		ok = READ(mappings, text, &v);
		if (ok)
			m->mapping = (enum thread_mapping)v.choice;
		return ok;
	case IO_FLAG:
		ok = READ(thread_ios, text, &v);
		if (ok)
			m->io = (enum thread_io)v.choice;
		return ok;
	case TRANSFERS_FLAG:
		ok = READ(transfer_rules, text, &v);
		if (ok)
			m->transfers = (enum thread_transfers)v.choice;
		return ok;
	default:
		return read_us(text, &m->quantum_ns);
	}
}

/* How events are divided among cores; or one of read_thread_value(). */
static bool read_balance_value(struct schedule *s, uint32_t flag,
			       const char *text)
{
	struct value v;
	bool ok;

	switch (flag) {
	case BALANCE_FLAG:
		ok = READ(balances, text, &v);
		if (ok) {
			s->balance = (enum balance)v.choice;
			s->part_count = (uint32_t)v.number;
		}
		return ok;
	case DISTRIBUTE_FLAG:
		ok = READ(distributes, text, &v);
		if (ok)
			s->distribute = (enum distribute)v.choice;
		return ok;
	case STEAL_FLAG:
		s->steal = true;
		return true;
	default:
		return read_thread_value(&s->threads, flag, text);
	}
}

/* False: `text` is not a value of the flag. */
static bool read_value(struct schedule *s, uint32_t flag, const char *text,
		       const struct stage_names *stages)
{
	struct value v;
	bool ok = true;

	switch (flag) {
	case POLICY_FLAG:
		s->policy = policy_find(text);
		return s->policy != NULL;
	case REGIME_FLAG:
		ok = READ(regimes, text, &v);
		if (ok)
			s->regime = (struct regime){
				.kind = (enum regime_kind)v.choice,
				.limit = (uint64_t)v.number *
					 regimes[v.choice].factor,
			};
		return ok;
	case LOOK_FLAG:
		ok = READ(looks, text, &v);
		if (ok)
			s->look = (enum look)v.choice;
		return ok;
	case IDLE_FLAG:
		ok = READ(idles, text, &v);
		if (ok)
			s->idle = read_idle(&v);
		return ok;
	case DISCIPLINE_FLAG:
		ok = READ(disciplines, text, &v);
		if (ok)
			s->discipline = (struct discipline){
				.kind = (enum discipline_kind)v.choice,
				.ageing = v.has_number ? v.number :
							 AGEING_INITIAL,
				.follows_load = !v.has_number,
			};
		return ok;
	case SLICE_FLAG:
		return read_us(text, &s->slice_ns);
	case RESOURCES_FLAG:
		ok = READ(resource_rules, text, &v);
		if (ok)
			s->resource_rule = (enum resource_rule)v.choice;
		return ok;
	case POOL_FLAG:
		s->pool_is_auto = strcmp(text, "auto") == 0;
		return s->pool_is_auto ||
		       read_entries(s, text, stages, read_pool_entry);
	case THRESHOLD_FLAG:
		s->has_thresholds = true;
		return read_entries(s, text, stages, read_threshold_entry);
	default:
		return read_balance_value(s, flag, text);
	}
}

static uint32_t find_flag(const char *name)
{
	uint32_t flag = 0;

	while (flag < FLAG_COUNT &&
	       strcmp(schedule_flags[flag].name, name) != 0)
		flag++;
	assert(flag < FLAG_COUNT);
	return flag;
}

bool schedule_set(struct schedule *s, const char *name, const char *text,
		  const char *const *stages, uint32_t stage_count)
{
	struct stage_names names = { .names = stages, .count = stage_count };
	uint32_t flag = find_flag(name);

	assert(stage_count <= STAGES_MAX);
	if ((text == NULL) != (schedule_flags[flag].values == NULL) ||
	    !read_value(s, flag, text, &names))
		return false;
	s->given |= 1u << flag;
	return true;
}

/*
 * The first name before a "=" of "STAGE=...,STAGE=..." that is no stage.
 * False: there is none.
 */
static bool find_no_stage(const char *text, const char *const *stages,
			  uint32_t stage_count, char name[NAME_BYTES])
{
	for (; text != NULL; text = strchr(text, ',')) {
		uint32_t i = 0;
		size_t bytes;

		text += *text == ',';
		bytes = strcspn(text, "=,");
		if (bytes == 0 || text[bytes] != '=')
			return false;
		while (i < stage_count && (strlen(stages[i]) != bytes ||
					   memcmp(stages[i], text, bytes) != 0))
			i++;
		if (i == stage_count) {
			(void)snprintf(name, NAME_BYTES, "%.*s", (int)bytes,
				       text);
			return true;
		}
	}
	return false;
}

bool schedule_refuse(const char *name, const char *text,
		     const char *const *stages, uint32_t stage_count,
		     struct error *why)
{
	uint32_t flag = find_flag(name);
	char stage[NAME_BYTES];
	size_t at;

	if ((flag == POOL_FLAG || flag == THRESHOLD_FLAG) &&
	    find_no_stage(text, stages, stage_count, stage))
		return flags_refuse_name(stage, stages, stage_count, "stage",
					 why);
	if (flag != POLICY_FLAG)
		return flag_refuse(&schedule_flags[flag], text, why);
	at = (size_t)snprintf(why->text, sizeof(why->text),
			      "'%.32s' is not a policy; there are", text);
	for (const struct policy *const *p = policy_list;
	     *p != NULL && at < sizeof(why->text); p++)
		at += (size_t)snprintf(why->text + at, sizeof(why->text) - at,
				       "%s %s", p == policy_list ? "" : ",",
				       (*p)->name);
	return false;
}

/*
 * Facts about a schedule.  The lowest FLAG_COUNT bits are those of
 * schedule.given.
 */
#define FACT(number) (UINT64_C(1) << (FLAG_COUNT + (number)))
#define CALLS FACT(0)
#define STAYS FACT(1)
#define ROAMS FACT(2)
#define IS_CENTRAL FACT(3)
#define IS_DIVIDED FACT(4) /* replicated or partitioned */
#define IS_PARTITIONED FACT(5)
#define HAS_STACKS FACT(6)
#define HAS_ONE_REPLICA FACT(7)
#define HAS_NO_RANKS FACT(8)
#define HAS_SLICES FACT(9)
#define IS_THREADED FACT(10)     /* user-level threads */
#define HAS_LARGE_PARTS FACT(11) /* of several cores */
#define HAS_NO_MODEL FACT(12)    /* of the threads of connections */
#define IS_1_TO_1 FACT(13)
#define IS_N_TO_1 FACT(14)
#define IS_SYNC FACT(15)
#define IS_ASYNC FACT(16)
#define NEEDS_LENGTHS FACT(17)
#define IS_BLIND FACT(18)
#define BY_POLICY                                                              \
	(CALLS | STAYS | ROAMS | IS_CENTRAL | IS_THREADED | HAS_NO_MODEL |     \
	 NEEDS_LENGTHS)

/* Of the threads of connections. */
static uint64_t find_thread_facts(const struct schedule *s)
{
	static const uint64_t by_mapping[] = {
		[THREADS_1_TO_1] = IS_1_TO_1,
		[THREADS_N_TO_1] = IS_N_TO_1,
		[THREADS_N_TO_M] = 0,
	};

	if (!s->policy->has_thread_model)
		return HAS_NO_MODEL;
	return by_mapping[s->threads.mapping] |
	       (s->threads.io == THREADS_IO_SYNC ? IS_SYNC : IS_ASYNC);
}

static uint64_t find_facts(const struct schedule *s, uint32_t core_count)
{
	static const uint64_t workers[] = {
		[POLICY_WORKERS_CALLER] = CALLS,
		[POLICY_WORKERS_STAY] = STAYS,
		[POLICY_WORKERS_ROAM] = ROAMS,
		[POLICY_WORKERS_FIBRES] = IS_THREADED,
	};
	uint64_t facts =
		s->given | workers[s->policy->workers] | find_thread_facts(s);

	if (s->policy->has_central_queue)
		facts |= IS_CENTRAL;
	if (s->policy->needs_lengths)
		facts |= NEEDS_LENGTHS;
	if (s->look == LOOK_BLIND)
		facts |= IS_BLIND;
	if (s->balance != BALANCE_SHARED)
		facts |= IS_DIVIDED;
	if (s->balance == BALANCE_PARTITION)
		facts |= IS_PARTITIONED;
	if (s->discipline.kind == DISCIPLINE_STACK)
		facts |= HAS_STACKS;
	if (s->balance != BALANCE_REPLICATE || s->part_count == 1)
		facts |= HAS_ONE_REPLICA;
	if (!discipline_has_ranks(&s->discipline))
		facts |= HAS_NO_RANKS;
	if (s->slice_ns > 0)
		facts |= HAS_SLICES;
	if (s->part_count < core_count)
		facts |= HAS_LARGE_PARTS;
	return facts;
}

#define GIVEN(flag) (UINT64_C(1) << flag##_FLAG)

/* Choices that contradict each other, and why. */
static const struct {
	uint64_t facts; /* the line counts if all are true */
	const char *what, *why;
} senseless[] = {
	{ CALLS | GIVEN(REGIME), "--regime", "it visits no stages" },
	{ CALLS | GIVEN(LOOK), "--look", "it has no queues" },
	{ CALLS | GIVEN(IDLE), "--idle", "it has no workers" },
	{ CALLS | GIVEN(DISCIPLINE), "--discipline", "it has no queues" },
	{ CALLS | HAS_SLICES, "--slice", "it has no queues" },
	{ CALLS | IS_DIVIDED, "--balance", "it has no workers" },
	{ CALLS | GIVEN(DISTRIBUTE), "--distribute", "it has no queues" },
	{ CALLS | GIVEN(STEAL), "--steal", "it has no queues" },
	{ CALLS | GIVEN(POOL), "--pool", "it has no workers" },
	{ CALLS | GIVEN(THRESHOLD), "--threshold", "it has no queues" },
	{ STAYS | GIVEN(REGIME), "--regime", "its threads stay at a stage" },
	{ STAYS | GIVEN(LOOK), "--look", "its threads stay at a stage" },
	{ STAYS | GIVEN(IDLE), "--idle", "its threads stay at a stage" },
	{ STAYS | HAS_STACKS, "--discipline stack",
	  "its threads send to stages that others visit" },
	{ STAYS | IS_PARTITIONED, "--balance partition",
	  "its threads belong to stages already" },
	{ STAYS | GIVEN(STEAL), "--steal", "its threads stay at a stage" },
	{ STAYS | GIVEN(THRESHOLD), "--threshold",
	  "its threads stay at a stage" },
	{ ROAMS | GIVEN(POOL), "--pool", "it has one thread per core" },
	{ IS_CENTRAL | GIVEN(REGIME), "--regime", "a visit is one event" },
	{ IS_CENTRAL | GIVEN(LOOK), "--look",
	  "it has one queue for all stages" },
	{ IS_CENTRAL | GIVEN(IDLE), "--idle",
	  "it has one queue for all stages" },
	{ IS_CENTRAL | HAS_STACKS, "--discipline stack",
	  "it has one queue for all stages" },
	{ IS_CENTRAL | IS_PARTITIONED, "--balance partition",
	  "a stage is visited wherever its event is taken" },
	{ IS_CENTRAL | GIVEN(THRESHOLD), "--threshold",
	  "a visit is one event" },
	{ NEEDS_LENGTHS | IS_BLIND, "--look blind",
	  "it chooses by the lengths of the queues" },
	{ CALLS | GIVEN(RESOURCES), "--resources",
	  "the kernel chooses among its threads" },
	{ STAYS | GIVEN(RESOURCES), "--resources",
	  "the kernel chooses among its threads" },
	{ ROAMS | GIVEN(RESOURCES), "--resources",
	  "it chooses among stages, not threads" },
	{ IS_THREADED | GIVEN(REGIME), "--regime", "it visits no stages" },
	{ IS_THREADED | GIVEN(LOOK), "--look", "it visits no stages" },
	{ IS_THREADED | GIVEN(IDLE), "--idle", "it visits no stages" },
	{ IS_THREADED | GIVEN(DISCIPLINE), "--discipline",
	  "its threads come first come, first served at each place" },
	{ IS_THREADED | GIVEN(SLICE), "--slice",
	  "its threads go on until they block" },
	{ IS_THREADED | IS_PARTITIONED, "--balance partition",
	  "a thread runs all stages of its event" },
	{ IS_THREADED | HAS_LARGE_PARTS,
	  "--balance with fewer replicas than cores",
	  "one kernel thread runs all threads of a replica" },
	{ IS_THREADED | GIVEN(STEAL), "--steal", "a thread stays on its core" },
	{ IS_THREADED | GIVEN(POOL), "--pool", "it has one thread per core" },
	{ IS_THREADED | GIVEN(THRESHOLD), "--threshold",
	  "it visits no stages" },
	{ HAS_NO_MODEL | GIVEN(THREADS), "--threads",
	  "only servlib runs the threads of connections itself" },
	{ HAS_NO_MODEL | GIVEN(IO), "--io",
	  "only servlib reads and writes by itself" },
	{ HAS_NO_MODEL | GIVEN(TRANSFERS), "--transfers",
	  "only servlib reads and writes by itself" },
	{ HAS_NO_MODEL | GIVEN(QUANTUM), "--quantum",
	  "only servlib lets the threads of connections take turns" },
	{ IS_1_TO_1 | IS_ASYNC, "--io async",
	  "a kernel thread has nothing else to do" },
	{ IS_1_TO_1 | GIVEN(TRANSFERS), "--transfers",
	  "the kernel wakes the thread itself for each piece" },
	{ IS_1_TO_1 | GIVEN(QUANTUM), "--quantum",
	  "the kernel lets its threads take turns already" },
	{ IS_N_TO_1 | IS_SYNC, "--io sync",
	  "while one connection waits, all others would" },
	{ IS_SYNC | GIVEN(TRANSFERS), "--transfers",
	  "a thread waits in the call for each piece" },
	{ HAS_ONE_REPLICA | GIVEN(DISTRIBUTE), "--distribute",
	  "there is no other to choose" },
	{ HAS_ONE_REPLICA | GIVEN(STEAL), "--steal",
	  "there is no other to take from" },
	{ HAS_NO_RANKS | HAS_SLICES, "--slice",
	  "no event comes before one that has begun" },
};

/* The flags that a line of `senseless` is about, such as "--policy color". */
static void name_cause(char text[SCHEDULE_CAUSE_BYTES], uint64_t facts,
		       const struct schedule *s)
{
	if ((facts & BY_POLICY) != 0)
		(void)snprintf(text, SCHEDULE_CAUSE_BYTES, "--policy %s",
			       s->policy->name);
	else if ((facts & (IS_1_TO_1 | IS_N_TO_1)) != 0)
		(void)snprintf(text, SCHEDULE_CAUSE_BYTES, "--threads %s",
			       mappings[s->threads.mapping].word);
	else if ((facts & IS_SYNC) != 0)
		(void)snprintf(text, SCHEDULE_CAUSE_BYTES, "--io %s",
			       thread_ios[s->threads.io].word);
	else if ((facts & HAS_NO_RANKS) != 0)
		(void)snprintf(text, SCHEDULE_CAUSE_BYTES, "--discipline %s",
			       disciplines[s->discipline.kind].word);
	else
		(void)snprintf(text, SCHEDULE_CAUSE_BYTES, "one replica");
}

/*
 * The defaults of a policy with a scheduler for each core.  A thread never
 * leaves its core, so it begins where the fewest are.
 */
static void spread_fibres(struct schedule *s)
{
	if ((s->given & GIVEN(BALANCE)) == 0 && s->balance == BALANCE_SHARED) {
		s->balance = BALANCE_REPLICATE;
		s->part_count = 0;
	}
	if ((s->given & GIVEN(DISTRIBUTE)) == 0 &&
	    s->balance == BALANCE_REPLICATE)
		s->distribute = DISTRIBUTE_LEAST_LOADED;
}

/* Defaults that depend on other choices. */
static void set_defaults(struct schedule *s, uint32_t core_count)
{
	if (s->policy->workers == POLICY_WORKERS_FIBRES && core_count > 1)
		spread_fibres(s);
	if (s->threads.mapping == THREADS_1_TO_1 && (s->given & GIVEN(IO)) == 0)
		s->threads.io = THREADS_IO_SYNC;
}

bool schedule_complete(struct schedule *s, uint32_t stage_count,
		       uint32_t core_count, char error[SCHEDULE_ERROR_BYTES])
{
	bool is_partitioned = s->balance == BALANCE_PARTITION;
	uint32_t most = core_count;

	assert(stage_count >= 1 && core_count >= 1);
	set_defaults(s, core_count);
	if (is_partitioned && stage_count < most)
		most = stage_count;
	if (s->balance == BALANCE_SHARED)
		s->part_count = 1;
	else if (s->part_count == 0)
		s->part_count = most;

	uint64_t facts = find_facts(s, core_count);

	for (size_t i = 0; i < ARRAY_SIZE(senseless); i++) {
		if ((senseless[i].facts & ~facts) != 0)
			continue;
		char cause[SCHEDULE_CAUSE_BYTES];

		name_cause(cause, senseless[i].facts, s);
		(void)snprintf(error, SCHEDULE_ERROR_BYTES,
			       "%s makes no sense with %s: %s",
			       senseless[i].what, cause, senseless[i].why);
		return false;
	}
	if (s->part_count <= most)
		return true;
	(void)snprintf(error, SCHEDULE_ERROR_BYTES,
		       "--balance asks for %u %s, but there are %u %s",
		       s->part_count, is_partitioned ? "parts" : "replicas",
		       most, most < core_count ? "stages" : "cores");
	return false;
}

struct word_list {
	struct schedule_word *words;
	uint32_t count;
};

/* Adds a word.  Returns its value, still empty, for word_print(). */
static char *word_add(struct word_list *l, uint32_t flag, const char *meaning)
{
	struct schedule_word *w = &l->words[l->count++];

	assert(l->count <= SCHEDULE_WORDS_MAX);
	w->flag = schedule_flags[flag].name;
	w->meaning = meaning;
	w->value[0] = '\0';
	return w->value;
}

__attribute__((format(printf, 2, 3))) static void
word_print(char value[SCHEDULE_VALUE_BYTES], const char *format, ...)
{
	size_t at = strlen(value), room = SCHEDULE_VALUE_BYTES - at;
	va_list list;
	int bytes;

	va_start(list, format);
	bytes = vsnprintf(value + at, room, format, list);
	va_end(list);
	assert(bytes >= 0 && (size_t)bytes < room);
}

/*
 * `number` is in the unit of struct schedule; it is ignored if the choice never
 * has a number.  NO_NUMBER: none is written.
 */
static void word_add_choice(struct word_list *l, uint32_t flag,
			    const struct choice *c, double number)
{
	char *value = word_add(l, flag, c->meaning);

	word_print(value, "%s", c->word);
	if (c->form == NUMBER_NONE || number == NO_NUMBER)
		return;
	number /= (double)c->factor;
	word_print(value, "=%.*f", number == floor(number) ? 0 : 6, number);
}

static void word_add_pool(struct word_list *l, const struct schedule *s,
			  const char *const *stages, uint32_t stage_count)
{
	char *value;

	if (s->pool_is_auto) {
		word_print(word_add(l, POOL_FLAG,
				    "A stage gets one more thread while its "
				    "queue is long, and loses a thread that "
				    "was idle for a second."),
			   "auto");
		return;
	}
	value = word_add(l, POOL_FLAG,
			 "The number of threads of each stage; if there are "
			 "replicas, in each of them.");
	for (uint32_t i = 0; i < stage_count; i++)
		word_print(value, "%s%s=%" PRIu32, i > 0 ? "," : "", stages[i],
			   s->pool_threads[i]);
}

static void word_add_thresholds(struct word_list *l, const struct schedule *s,
				const char *const *stages, uint32_t stage_count)
{
	char *value = word_add(
		l, THRESHOLD_FLAG,
		"A worker interrupts its visit elsewhere, empties this stage "
		"and goes back, when more than this number of events wait "
		"here (0: no such limit), or, if there are two numbers, when "
		"events wait and no worker came for the second number of "
		"microseconds.");
	const char *before = "";

	for (uint32_t i = 0; i < stage_count; i++) {
		const struct threshold *t = &s->thresholds[i];

		if (t->queued_count == 0 && t->unvisited_ns == 0)
			continue;
		word_print(value, "%s%s=%" PRIu32, before, stages[i],
			   t->queued_count);
		if (t->unvisited_ns > 0)
			word_print(value, ":%" PRIu64, t->unvisited_ns / 1000);
		before = ",";
	}
}

static bool has_replicas(const struct schedule *s)
{
	return s->balance == BALANCE_REPLICATE && s->part_count > 1;
}

static void word_add_balance(struct word_list *l, const struct schedule *s)
{
	word_add_choice(l, BALANCE_FLAG, &balances[s->balance], s->part_count);
	if (has_replicas(s))
		word_add_choice(l, DISTRIBUTE_FLAG, &distributes[s->distribute],
				0);
}

static void word_add_visits(struct word_list *l, const struct schedule *s)
{
	word_add_choice(l, REGIME_FLAG, &regimes[s->regime.kind],
			(double)s->regime.limit);
	word_add_choice(l, LOOK_FLAG, &looks[s->look], 0);
	word_add_choice(l, IDLE_FLAG, &idles[s->idle.kind],
			(double)s->idle.longest_ns);
}

static void word_add_threads(struct word_list *l, const struct thread_model *m)
{
	word_add_choice(l, THREADS_FLAG, &mappings[m->mapping], 0);
	word_add_choice(l, IO_FLAG, &thread_ios[m->io], 0);
	if (m->io == THREADS_IO_ASYNC)
		word_add_choice(l, TRANSFERS_FLAG,
				&transfer_rules[m->transfers], 0);
	if (m->quantum_ns > 0)
		word_print(word_add(l, QUANTUM_FLAG,
				    "A thread that has run for this number of "
				    "microseconds lets others run, if there "
				    "are any."),
			   "%" PRIu64, m->quantum_ns / 1000);
}

uint32_t schedule_words(const struct schedule *s, const char *const *stages,
			uint32_t stage_count,
			struct schedule_word out[SCHEDULE_WORDS_MAX])
{
	enum policy_workers workers = s->policy->workers;
	struct word_list l = { .words = out };

	word_print(word_add(&l, POLICY_FLAG, s->policy->meaning), "%s",
		   s->policy->name);
	if (s->policy->has_thread_model)
		word_add_threads(&l, &s->threads);
	if (workers == POLICY_WORKERS_CALLER)
		return l.count;
	if (workers == POLICY_WORKERS_FIBRES) {
		word_add_choice(&l, RESOURCES_FLAG,
				&resource_rules[s->resource_rule], 0);
		word_add_balance(&l, s);
		return l.count;
	}
	if (workers == POLICY_WORKERS_ROAM && !s->policy->has_central_queue)
		word_add_visits(&l, s);
	word_add_choice(&l, DISCIPLINE_FLAG, &disciplines[s->discipline.kind],
			s->discipline.follows_load ? NO_NUMBER :
						     s->discipline.ageing);
	if (discipline_has_ranks(&s->discipline))
		word_print(word_add(&l, SLICE_FLAG,
				    s->slice_ns == 0 ?
					    "No event is paused for another." :
					    "An event that has run for this "
					    "number of microseconds is paused "
					    "when another that waits comes "
					    "before it."),
			   "%" PRIu64, s->slice_ns / 1000);
	word_add_balance(&l, s);
	if (has_replicas(s) && s->steal)
		(void)word_add(
			&l, STEAL_FLAG,
			s->distribute == DISTRIBUTE_SIZE ?
				"A core first takes events that wait in a "
				"replica of smaller sizes." :
				"A replica with nothing to do takes a share of "
				"the events that wait in another.");
	if (workers == POLICY_WORKERS_STAY)
		word_add_pool(&l, s, stages, stage_count);
	if (s->has_thresholds)
		word_add_thresholds(&l, s, stages, stage_count);
	return l.count;
}

void schedule_print(const struct schedule *s, const char *const *stages,
		    uint32_t stage_count, FILE *to)
{
	struct schedule_word words[SCHEDULE_WORDS_MAX];
	uint32_t count = schedule_words(s, stages, stage_count, words);

	for (uint32_t i = 0; i < count; i++)
		(void)fprintf(to, "%s--%s%s%s", i > 0 ? " " : "", words[i].flag,
			      words[i].value[0] != '\0' ? " " : "",
			      words[i].value);
}
