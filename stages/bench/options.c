/* SPDX-License-Identifier: MIT */
/*
 * Those of the schedule may stand in an arm, where they come after those given
 * for all arms, so win.
 */
#include "stages/bench/options.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
	EMPTY_LAPS = 10000,
	WAKE_PAUSE_NS = 1000000, /* by then they sleep */
	WORDS_MAX = 64
};

/* The command line as it was found. */
struct given {
	struct run_config config;
	uint32_t round_count;
	double duration_s;
	const char *graph, *json;
	const char *arms[ARMS_MAX];
	uint32_t arm_count;
	bool is_empty, is_wake, is_help;
};

static const struct flag own_flags[] = {
	{ "graph", "FILE", NULL,
	  "stages, times, routes; see stages/sim/model.h",
	  FLAG_FIELD(struct given, graph) },
	{ "json", "FILE", NULL, "all figures of all runs",
	  FLAG_FIELD(struct given, json) },
	{ "arm", "'FLAG...'", NULL, "a schedule to compare; may be repeated",
	  .type = FLAG_OTHER },
	{ "clients", "N", NULL,
	  "requests under way, at most (16; with --rate 1024)",
	  FLAG_FIELD(struct given, config.client_count), .least = 1,
	  .most = 65536 },
	{ "rate", "R", NULL,
	  "requests due per second, Poisson; without it, one begins\n"
	  "when one ends",
	  FLAG_FIELD(struct given, config.rate_per_s), .least = 1e-3,
	  .most = 1e9 },
	{ "requests", "N", NULL, "how many are counted (2000)",
	  FLAG_FIELD(struct given, config.request_count), .least = 1,
	  .most = 1e8 },
	{ "seconds", "S", NULL, "count those of so long a time instead",
	  FLAG_FIELD(struct given, duration_s), .least = 1e-3, .most = 1e5 },
	{ "warmup", "N", NULL, "not counted, before those (200)",
	  FLAG_FIELD(struct given, config.warmup_count), .most = 1e8 },
	{ "rounds", "N", NULL, "so many runs of each arm, in turn (1)",
	  FLAG_FIELD(struct given, round_count), .least = 1, .most = 1000 },
	{ "scale", "X", NULL, "times of the graph, times X (1)",
	  FLAG_FIELD(struct given, config.scale), .most = 1e6 },
	{ "memory", "BYTES", NULL,
	  "of a request's buffer, all of it touched at each stage; if\n"
	  "the graph has sizes, of a mean one, others in proportion (0)",
	  FLAG_FIELD(struct given, config.memory_bytes), .most = 1e9 },
	{ "seed", "N", NULL,
	  "of all random numbers; each round takes the next (1)",
	  FLAG_FIELD(struct given, config.seed), .most = 1e15 },
	{ "empty", NULL, NULL, "cost of an event at a stage: empty handlers",
	  FLAG_FIELD(struct given, is_empty) },
	{ "wake", NULL, NULL,
	  "time from a send to sleeping workers to the handler",
	  FLAG_FIELD(struct given, is_wake) },
	{ "help", NULL, NULL, "print this", FLAG_FIELD(struct given, is_help) },
	{ 0 },
};

/* Of an arm, beside the schedule's. */
static const struct flag arm_flags[] = {
	{ "cores", "LIST", NULL,
	  "CPUs that workers run on; default: all allowed",
	  .type = FLAG_OTHER },
	{ 0 },
};

static const struct flag *const tables[] = { own_flags, arm_flags,
					     schedule_flags, NULL };
static const struct flag *const arm_tables[] = { arm_flags, schedule_flags,
						 NULL };

/* What each mode takes if nothing else is given. */
static const struct given initials[] = {
	[MODE_LOAD] = { .config = { .scale = 1,
				    .lap_count = 1,
				    .request_count = 2000,
				    .warmup_count = 200,
				    .seed = 1 },
			.round_count = 1 },
	[MODE_EMPTY] = { .config = { .lap_count = EMPTY_LAPS,
				     .request_count = 100,
				     .warmup_count = 20,
				     .seed = 1 },
			 .round_count = 1 },
	[MODE_WAKE] = { .config = { .scale = 1,
				    .pause_ns = WAKE_PAUSE_NS,
				    .lap_count = 1,
				    .request_count = 1000,
				    .warmup_count = 20,
				    .seed = 1 },
			.round_count = 1 },
};

void options_print_help(FILE *out)
{
	fputs("Usage: stages_bench --graph FILE [OPTION]...\n"
	      "Run a stage graph in threads, under one schedule or several in "
	      "turn, and print\nmedians (least - most) as Markdown.\n\n",
	      out);
	flags_print_help(own_flags, out);
	fputs("\nFor all arms or in one, as for darkroom:\n\n", out);
	flags_print_help(arm_flags, out);
	flags_print_help(schedule_flags, out);
}

__attribute__((format(printf, 2, 3))) static bool
fail(char error[OPTIONS_ERROR_BYTES], const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(error, OPTIONS_ERROR_BYTES, format, args);
	va_end(args);
	return false;
}

/* A flag of an arm waits for take_for_arm(). */
static bool take_own(void *given, const struct flag *f, const char *value,
		     char why[FLAG_WHY_BYTES])
{
	struct given *g = given;

	if (f->type != FLAG_OTHER)
		return flag_set(f, value, g, why);
	if (flags_find(arm_tables, f->name) != NULL)
		return true;
	if (g->arm_count == ARMS_MAX) {
		(void)snprintf(why, FLAG_WHY_BYTES, "more than %d", ARMS_MAX);
		return false;
	}
	g->arms[g->arm_count++] = value;
	return true;
}

static bool read_given(struct given *g, enum mode mode, int argc, char **argv,
		       char error[OPTIONS_ERROR_BYTES])
{
	*g = initials[mode];
	return flags_read(tables, argv + 1, (uint32_t)argc - 1, take_own, g,
			  error);
}

/* An arm being read. */
struct reading {
	const struct model *model;
	struct arm *arm;
};

static bool take_for_arm(void *reading, const struct flag *f, const char *value,
			 char why[FLAG_WHY_BYTES])
{
	const struct model *m = ((struct reading *)reading)->model;
	struct arm *a = ((struct reading *)reading)->arm;
	const char *names[STAGES_MAX], *fault = NULL;

	if (flags_find(arm_tables, f->name) == NULL)
		return true;
	if (strcmp(f->name, "cores") == 0) {
		cores_free(a->cores);
		a->cores = cores_new(value, &fault);
		if (a->cores == NULL)
			(void)snprintf(why, FLAG_WHY_BYTES, "'%s' %s", value,
				       fault);
		return a->cores != NULL;
	}
	for (uint32_t i = 0; i < m->stage_count; i++)
		names[i] = m->stages[i].name;
	return schedule_set(&a->schedule, f->name, value, names,
			    m->stage_count) ||
	       flag_refuse(f, value, why);
}

/* The words of an arm, in `words`, cut out of `text`. */
static uint32_t split(char *text, char *words[WORDS_MAX])
{
	uint32_t count = 0;
	char *word, *rest = text;

	while ((word = strsep(&rest, " ")) != NULL && count < WORDS_MAX)
		if (*word != '\0')
			words[count++] = word;
	return count;
}

static bool read_own_flags(struct reading *r, char error[OPTIONS_ERROR_BYTES])
{
	char *words[WORDS_MAX], *copy = strdup(r->arm->name);
	bool ok = copy != NULL &&
		  flags_read(arm_tables, words, split(copy, words),
			     take_for_arm, r, error);

	free(copy);
	return ok;
}

static bool read_arm(struct options *o, const char *text, int argc, char **argv,
		     char error[OPTIONS_ERROR_BYTES])
{
	struct arm *a = &o->arms[o->arm_count++];
	struct reading reading = { .model = &o->model, .arm = a };
	char why[SCHEDULE_ERROR_BYTES];
	const char *no_cores = NULL;

	schedule_init(&a->schedule);
	a->name = strdup(text);
	if (a->name == NULL ||
	    !flags_read(tables, argv + 1, (uint32_t)argc - 1, take_for_arm,
			&reading, error) ||
	    !read_own_flags(&reading, error))
		return false;
	if (a->cores == NULL && (a->cores = cores_new(NULL, &no_cores)) == NULL)
		return fail(error, "the cores %s", no_cores);
	return schedule_complete(&a->schedule, o->model.stage_count,
				 cores_count(a->cores), why) ||
	       fail(error, "%s%s%s", text, *text != '\0' ? ": " : "", why);
}

static bool read_graph(struct options *o, const struct given *g,
		       char error[OPTIONS_ERROR_BYTES])
{
	const char *why = NULL;

	o->graph_path = g->graph;
	if (o->graph_path == NULL)
		return fail(error, "--graph FILE is missing");
	return model_load(&o->model, o->graph_path, &why) ||
	       fail(error, "--graph '%s': %s", o->graph_path, why);
}

static void read_config(struct options *o, const struct given *g)
{
	o->round_count = g->round_count;
	o->config = g->config;
	o->config.model = &o->model;
	o->config.duration_ns = (uint64_t)(g->duration_s * 1e9);
	if (g->config.client_count > 0)
		return;
	if (g->config.rate_per_s > 0)
		o->config.client_count = 1024;
	else
		o->config.client_count = o->mode == MODE_WAKE ? 1 : 16;
}

bool options_parse(struct options *o, int argc, char **argv,
		   char error[OPTIONS_ERROR_BYTES])
{
	struct given g;

	*o = (struct options){ .mode = MODE_LOAD };
	if (!read_given(&g, o->mode, argc, argv, error))
		return false;
	o->is_help = g.is_help;
	if (o->is_help)
		return true;
	if (g.is_empty && g.is_wake)
		return fail(error, "--empty and --wake are two runs");
	if (g.is_empty || g.is_wake)
		o->mode = g.is_empty ? MODE_EMPTY : MODE_WAKE;
	o->json_path = g.json;
	if (!read_given(&g, o->mode, argc, argv, error) ||
	    !read_graph(o, &g, error))
		return false;
	read_config(o, &g);
	for (uint32_t i = 0; i < g.arm_count; i++)
		if (!read_arm(o, g.arms[i], argc, argv, error))
			return false;
	return g.arm_count > 0 || read_arm(o, "", argc, argv, error);
}

void options_release(struct options *o)
{
	for (uint32_t i = 0; i < o->arm_count; i++) {
		cores_free(o->arms[i].cores);
		free(o->arms[i].name);
	}
	model_release(&o->model);
}
