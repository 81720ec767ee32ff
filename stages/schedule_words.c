/* SPDX-License-Identifier: MIT */
#include "stages/schedule_words.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct list {
	struct schedule_word *words;
	uint32_t count;
};

/* Returns its value, for append(). */
static char *add(struct list *l, const char *flag, const char *meaning)
{
	struct schedule_word *w = &l->words[l->count++];

	assert(l->count <= SCHEDULE_WORDS_MAX);
	w->flag = flag;
	w->meaning = meaning;
	w->value[0] = '\0';
	return w->value;
}

__attribute__((format(printf, 2, 3))) static void
append(char value[SCHEDULE_VALUE_BYTES], const char *format, ...)
{
	size_t at = strlen(value), room = SCHEDULE_VALUE_BYTES - at;
	va_list list;
	int bytes;

	va_start(list, format);
	bytes = vsnprintf(value + at, room, format, list);
	va_end(list);
	assert(bytes >= 0 && (size_t)bytes < room);
}

static void add_regime(struct list *l, const struct regime *r)
{
	static const struct {
		const char *word;
		uint64_t unit; /* of its number; 0: it has none */
		const char *meaning;
	} table[] = {
		[REGIME_EXHAUSTIVE] = {
			"exhaustive", 0,
			"A visit lasts until nothing waits at the stage. What "
			"comes meanwhile is handled, too, so a busy stage can "
			"hold a worker for long.",
		},
		[REGIME_GATED] = {
			"gated", 0,
			"A visit handles as many events as waited at the stage "
			"when it began; more wait for the next visit.",
		},
		[REGIME_N_GATED] = {
			"n-gated", 1,
			"A visit handles as many events as waited at the stage "
			"when it began, but at most this number. The smaller "
			"it is, the more often a worker looks at the other "
			"stages.",
		},
		[REGIME_TIME_GATED] = {
			"time-gated", 1000,
			"A visit lasts until nothing waits at the stage, or "
			"until so many microseconds have passed and the event "
			"being handled is done.",
		},
		[REGIME_CUTOFF] = {
			"cutoff", 1000,
			"A visit handles as many events as waited at the stage "
			"when it began. One with more predicted work left than "
			"so many microseconds is passed over once, and handled "
			"at the end of the next visit.",
		},
	};
	char *value = add(l, "regime", table[r->kind].meaning);

	append(value, "%s", table[r->kind].word);
	if (table[r->kind].unit > 0)
		append(value, "=%" PRIu64, r->limit / table[r->kind].unit);
}

static void add_discipline(struct list *l, const struct discipline *d)
{
	static const struct {
		const char *word, *meaning;
	} table[] = {
		[DISCIPLINE_FCFS] = {
			"fcfs",
			"First come, first served: of the events that wait, "
			"the one that has waited longest is handled first.",
		},
		[DISCIPLINE_LCFS] = {
			"lcfs",
			"Last come, first served: of the events that wait, the "
			"newest is handled first. Old ones wait as long as new "
			"ones come.",
		},
		[DISCIPLINE_STACK] = {
			"stack",
			"A worker first handles what it has sent to the stage "
			"itself, the newest first, as that is likely in its "
			"core's cache; then all others, first come, first "
			"served.",
		},
		[DISCIPLINE_SRPT] = {
			"srpt",
			"The event with the least predicted work left is "
			"handled first, where 1 ns of work counts as so many "
			"ns of waiting: small ones overtake large ones, but "
			"not for ever.",
		},
	};
	char *value = add(l, "discipline", table[d->kind].meaning);

	append(value, "%s", table[d->kind].word);
	if (d->kind == DISCIPLINE_SRPT)
		append(value, "=%.*f", d->ageing == floor(d->ageing) ? 0 : 6,
		       d->ageing);
}

static void add_balance(struct list *l, const struct schedule *s)
{
	static const struct {
		const char *word, *meaning;
	} table[] = {
		[BALANCE_SHARED] = {
			"shared",
			"There is one stage graph, and all cores serve it.",
		},
		[BALANCE_REPLICATE] = {
			"replicate",
			"There are so many replicas of the stage graph, each "
			"with queues and cores of its own. They share little; "
			"but one can idle while events wait in another.",
		},
		[BALANCE_PARTITION] = {
			"partition",
			"The stages are divided among so many groups of "
			"cores. A stage's code and tables stay with its cores, "
			"and events move from group to group.",
		},
	};
	char *value = add(l, "balance", table[s->balance].meaning);

	append(value, "%s", table[s->balance].word);
	if (s->balance != BALANCE_SHARED)
		append(value, "=%" PRIu32, s->part_count);
}

static void add_replicas(struct list *l, const struct schedule *s)
{
	if (s->distribute == DISTRIBUTE_LEAST_LOADED)
		append(add(l, "distribute",
			   "A new event goes to the replica that has the "
			   "fewest under way."),
		       "least-loaded");
	else
		append(add(l, "distribute",
			   "New events go to each replica in turn, however "
			   "busy it is."),
		       "round-robin");
	if (s->steal)
		(void)add(l, "steal",
			  "A replica with nothing to do takes a share of the "
			  "events that wait in another.");
}

static void add_pool(struct list *l, const struct schedule *s,
		     const char *const *stages, uint32_t stage_count)
{
	char *value;

	if (s->pool_is_auto) {
		append(add(l, "pool",
			   "A stage gets a thread more while its queue is "
			   "long, and loses one that was idle for a second."),
		       "auto");
		return;
	}
	value = add(l, "pool",
		    "So many threads each stage has, in each replica if there "
		    "are some.");
	for (uint32_t i = 0; i < stage_count; i++)
		append(value, "%s%s=%" PRIu32, i > 0 ? "," : "", stages[i],
		       s->pool_threads[i]);
}

static void add_thresholds(struct list *l, const struct schedule *s,
			   const char *const *stages, uint32_t stage_count)
{
	char *value = add(l, "threshold",
			  "A worker interrupts its visit elsewhere, empties "
			  "this stage and goes back, when more than so many "
			  "events wait here (0: however many), or, of two "
			  "numbers, when some do and nobody came for so many "
			  "microseconds.");
	const char *before = "";

	for (uint32_t i = 0; i < stage_count; i++) {
		const struct threshold *t = &s->thresholds[i];

		if (t->queued_count == 0 && t->unvisited_ns == 0)
			continue;
		append(value, "%s%s=%" PRIu32, before, stages[i],
		       t->queued_count);
		if (t->unvisited_ns > 0)
			append(value, ":%" PRIu64, t->unvisited_ns / 1000);
		before = ",";
	}
}

uint32_t schedule_words(const struct schedule *s, const char *const *stages,
			uint32_t stage_count,
			struct schedule_word out[SCHEDULE_WORDS_MAX])
{
	enum policy_workers workers = s->policy->workers;
	struct list l = { .words = out };

	append(add(&l, "policy", s->policy->meaning), "%s", s->policy->name);
	if (workers == POLICY_WORKERS_CALLER)
		return l.count;
	if (workers == POLICY_WORKERS_ROAM && !s->policy->has_central_queue)
		add_regime(&l, &s->regime);
	add_discipline(&l, &s->discipline);
	add_balance(&l, s);
	if (s->balance == BALANCE_REPLICATE && s->part_count > 1)
		add_replicas(&l, s);
	if (workers == POLICY_WORKERS_STAY)
		add_pool(&l, s, stages, stage_count);
	if (s->has_thresholds)
		add_thresholds(&l, s, stages, stage_count);
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
