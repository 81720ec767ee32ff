/* SPDX-License-Identifier: MIT */
#include "stages/schedule.h"

#include <inttypes.h>
#include <math.h>

static void print_regime(const struct regime *r, FILE *to)
{
	static const struct {
		const char *word;
		uint64_t unit; /* of its number; 0: it has none */
	} table[] = {
		[REGIME_EXHAUSTIVE] = { "exhaustive", 0 },
		[REGIME_GATED] = { "gated", 0 },
		[REGIME_N_GATED] = { "n-gated", 1 },
		[REGIME_TIME_GATED] = { "time-gated", 1000 },
		[REGIME_CUTOFF] = { "cutoff", 1000 },
	};

	(void)fprintf(to, " --regime %s", table[r->kind].word);
	if (table[r->kind].unit > 0)
		(void)fprintf(to, "=%" PRIu64, r->limit / table[r->kind].unit);
}

static void print_discipline(const struct discipline *d, FILE *to)
{
	static const char *const words[] = {
		[DISCIPLINE_FCFS] = "fcfs",
		[DISCIPLINE_LCFS] = "lcfs",
		[DISCIPLINE_STACK] = "stack",
		[DISCIPLINE_SRPT] = "srpt",
	};

	(void)fprintf(to, " --discipline %s", words[d->kind]);
	if (d->kind == DISCIPLINE_SRPT)
		(void)fprintf(to, "=%.*f",
			      d->ageing == floor(d->ageing) ? 0 : 6, d->ageing);
}

static void print_balance(const struct schedule *s, FILE *to)
{
	static const char *const words[] = {
		[BALANCE_SHARED] = "shared",
		[BALANCE_REPLICATE] = "replicate",
		[BALANCE_PARTITION] = "partition",
	};

	(void)fprintf(to, " --balance %s", words[s->balance]);
	if (s->balance != BALANCE_SHARED)
		(void)fprintf(to, "=%" PRIu32, s->part_count);
	if (s->balance != BALANCE_REPLICATE || s->part_count == 1)
		return;
	(void)fprintf(to, " --distribute %s",
		      s->distribute == DISTRIBUTE_LEAST_LOADED ?
			      "least-loaded" :
			      "round-robin");
	if (s->steal)
		(void)fprintf(to, " --steal");
}

static void print_pool(const struct schedule *s, const char *const *stages,
		       uint32_t stage_count, FILE *to)
{
	(void)fprintf(to, " --pool %s", s->pool_is_auto ? "auto" : "");
	for (uint32_t i = 0; !s->pool_is_auto && i < stage_count; i++)
		(void)fprintf(to, "%s%s=%" PRIu32, i > 0 ? "," : "", stages[i],
			      s->pool_threads[i]);
}

static void print_thresholds(const struct schedule *s,
			     const char *const *stages, uint32_t stage_count,
			     FILE *to)
{
	const char *before = " --threshold ";

	for (uint32_t i = 0; i < stage_count; i++) {
		const struct threshold *t = &s->thresholds[i];

		if (t->queued_count == 0 && t->unvisited_ns == 0)
			continue;
		(void)fprintf(to, "%s%s=%" PRIu32, before, stages[i],
			      t->queued_count);
		if (t->unvisited_ns > 0)
			(void)fprintf(to, ":%" PRIu64, t->unvisited_ns / 1000);
		before = ",";
	}
}

void schedule_print(const struct schedule *s, const char *const *stages,
		    uint32_t stage_count, FILE *to)
{
	enum policy_workers workers = s->policy->workers;

	(void)fprintf(to, "--policy %s", s->policy->name);
	if (workers == POLICY_WORKERS_CALLER)
		return;
	if (workers == POLICY_WORKERS_ROAM && !s->policy->has_central_queue)
		print_regime(&s->regime, to);
	print_discipline(&s->discipline, to);
	print_balance(s, to);
	if (workers == POLICY_WORKERS_STAY)
		print_pool(s, stages, stage_count, to);
	if (s->has_thresholds)
		print_thresholds(s, stages, stage_count, to);
}
