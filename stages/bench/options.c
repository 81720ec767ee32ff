/* SPDX-License-Identifier: MIT */
/*
 * A flag is "--NAME VALUE" or "--NAME=VALUE".  Those of the schedule may stand
 * in an arm, where they come after those given for all arms, so win.
 */
#include "stages/bench/options.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum number {
	NUMBER_CLIENTS,
	NUMBER_RATE,
	NUMBER_REQUESTS,
	NUMBER_SECONDS,
	NUMBER_WARMUP,
	NUMBER_ROUNDS,
	NUMBER_SCALE,
	NUMBER_MEMORY,
	NUMBER_SEED,
	NUMBERS
};

static const struct {
	const char *name;
	double least, most;
	bool is_whole;
	const char *help;
} numbers[NUMBERS] = {
	{ "clients", 1, 65536, true,
	  "N: requests under way, at most (16; with --rate 1024)" },
	{ "rate", 1e-3, 1e9, false,
	  "R: requests due per second, Poisson; without it, one begins\n"
	  "when one ends" },
	{ "requests", 1, 1e8, true, "N: how many are counted (2000)" },
	{ "seconds", 1e-3, 1e5, false,
	  "S: count those of so long a time instead" },
	{ "warmup", 0, 1e8, true, "N: not counted, before those (200)" },
	{ "rounds", 1, 1000, true, "N: so many runs of each arm, in turn (1)" },
	{ "scale", 0, 1e6, false, "X: times of the graph, times X (1)" },
	{ "memory", 0, 1e9, true,
	  "BYTES: of a request's buffer, all of it touched at each stage; if\n"
	  "the graph has sizes, of a mean one, others in proportion (0)" },
	{ "seed", 0, 1e15, true,
	  "N: of all random numbers; each round takes the next (1)" },
};

enum text { TEXT_GRAPH, TEXT_JSON, TEXT_ARM, TEXTS };

static const struct {
	const char *name, *help;
} texts[TEXTS] = {
	{ "graph", "FILE: stages, times, routes; see stages/sim/model.h" },
	{ "json", "FILE: all figures of all runs" },
	{ "arm", "'FLAG...': a schedule to compare; may be repeated" },
};

enum toggle { TOGGLE_EMPTY, TOGGLE_WAKE, TOGGLE_HELP, TOGGLES };

static const struct {
	const char *name, *help;
} toggles[TOGGLES] = {
	{ "empty", "cost of an event at a stage: empty handlers" },
	{ "wake", "time from a send to sleeping workers to the handler" },
	{ "help", "print this" },
};

/* What each mode takes if nothing else is given. */
static const double initials[][NUMBERS] = {
	[MODE_LOAD] = { 16, 0, 2000, 0, 200, 1, 1, 0, 1 },
	[MODE_EMPTY] = { 16, 0, 100, 0, 20, 1, 0, 0, 1 },
	[MODE_WAKE] = { 1, 0, 1000, 0, 20, 1, 0, 0, 1 },
};

enum {
	EMPTY_LAPS = 10000,
	WAKE_PAUSE_NS = 1000000, /* by then they sleep */
	OPEN_CLIENTS = 1024,
	FLAGS_MAX = 64
};

struct flag {
	const char *name, *value;
};

/* The command line as it was found. */
struct given {
	double numbers[NUMBERS]; /* NAN: not given */
	const char *texts[TEXTS];
	bool toggles[TOGGLES];
	const char *arms[ARMS_MAX];
	uint32_t arm_count;
	struct flag flags[FLAGS_MAX]; /* of the schedule */
	uint32_t flag_count;
};

static const char cores_help[] =
	"LIST: CPUs that workers run on (default: all allowed)";

static void print_flag(FILE *out, const char *name, const char *help)
{
	fprintf(out, "  --%-11s ", name);
	for (; *help != '\0'; help++) {
		fputc(*help, out);
		if (*help == '\n')
			fprintf(out, "%16s", "");
	}
	fputc('\n', out);
}

void options_print_help(FILE *out)
{
	fputs("Usage: stages_bench --graph FILE [OPTION]...\n"
	      "Run a stage graph in threads, under one schedule or several in "
	      "turn, and print\nmedians (least - most) as Markdown.\n\n",
	      out);
	for (int i = 0; i < TEXTS; i++)
		print_flag(out, texts[i].name, texts[i].help);
	for (int i = 0; i < NUMBERS; i++)
		print_flag(out, numbers[i].name, numbers[i].help);
	for (int i = 0; i < TOGGLES; i++)
		print_flag(out, toggles[i].name, toggles[i].help);
	fputs("\nFor all arms or in one, as for darkroom:\n", out);
	print_flag(out, "cores", cores_help);
	for (const struct schedule_flag *f = schedule_flags; f->name != NULL;
	     f++)
		print_flag(out, f->name, f->help);
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

/* Does a schedule have a flag of this name, or an arm: --cores? */
static bool is_schedule_flag(const char *name, bool *has_value)
{
	const struct schedule_flag *f = schedule_flags;

	*has_value = true;
	if (strcmp(name, "cores") == 0)
		return true;
	while (f->name != NULL && strcmp(f->name, name) != 0)
		f++;
	*has_value = f->name == NULL || f->values != NULL;
	return f->name != NULL;
}

static bool set_number(struct given *g, const struct flag *f, bool *is_known,
		       char error[OPTIONS_ERROR_BYTES])
{
	int i = 0;
	char *end;

	while (i < NUMBERS && strcmp(numbers[i].name, f->name) != 0)
		i++;
	*is_known = i < NUMBERS;
	if (!*is_known)
		return false;
	double x = g->numbers[i] = strtod(f->value, &end);

	return (end != f->value && *end == '\0' && x >= numbers[i].least &&
		x <= numbers[i].most &&
		(!numbers[i].is_whole || x == floor(x))) ||
	       fail(error, "--%s '%s': not a %snumber from %g to %g", f->name,
		    f->value, numbers[i].is_whole ? "whole " : "",
		    numbers[i].least, numbers[i].most);
}

static bool set_text(struct given *g, const struct flag *f,
		     char error[OPTIONS_ERROR_BYTES])
{
	int i = 0;

	while (i < TEXTS && strcmp(texts[i].name, f->name) != 0)
		i++;
	if (i == TEXTS)
		return fail(error, "--%s: no such option", f->name);
	if (i != TEXT_ARM) {
		g->texts[i] = f->value;
		return true;
	}
	if (g->arm_count == ARMS_MAX)
		return fail(error, "--arm: more than %d", ARMS_MAX);
	g->arms[g->arm_count++] = f->value;
	return true;
}

static bool set_toggle(struct given *g, const char *name)
{
	for (int i = 0; i < TOGGLES; i++)
		if (strcmp(toggles[i].name, name) == 0)
			return g->toggles[i] = true;
	return false;
}

/*
 * Take the flag at words[*at], and its value; *at goes behind it.  Cuts
 * "--NAME=VALUE" in two.  `f->value` NULL: it is a flag without.
 */
static bool take_flag(char **words, uint32_t count, uint32_t *at,
		      struct flag *f, char error[OPTIONS_ERROR_BYTES])
{
	char *word = words[(*at)++];
	bool has_value = true;

	if (strncmp(word, "--", 2) != 0)
		return fail(error, "'%s': no such option", word);
	f->name = word + 2;
	f->value = strchr(word, '=');
	if (f->value != NULL)
		word[f->value++ - word] = '\0';
	(void)is_schedule_flag(f->name, &has_value);
	for (int i = 0; i < TOGGLES; i++)
		has_value &= strcmp(toggles[i].name, f->name) != 0;
	if (!has_value)
		return f->value == NULL ||
		       fail(error, "--%s takes no value", f->name);
	if (f->value == NULL && *at < count)
		f->value = words[(*at)++];
	return f->value != NULL ||
	       fail(error, "--%s: its value is missing", f->name);
}

static bool read_given(struct given *g, int argc, char **argv,
		       char error[OPTIONS_ERROR_BYTES])
{
	struct flag f;
	bool has_value, is_number;

	*g = (struct given){ .arm_count = 0 };
	for (int i = 0; i < NUMBERS; i++)
		g->numbers[i] = NAN;
	for (uint32_t at = 1; at < (uint32_t)argc;) {
		if (!take_flag(argv, (uint32_t)argc, &at, &f, error))
			return false;
		if (is_schedule_flag(f.name, &has_value)) {
			if (g->flag_count == FLAGS_MAX)
				return fail(error, "too many flags");
			g->flags[g->flag_count++] = f;
		} else if (f.value == NULL) {
			(void)set_toggle(g, f.name);
		} else if (!set_number(g, &f, &is_number, error) &&
			   (is_number || !set_text(g, &f, error))) {
			return false;
		}
	}
	return true;
}

static bool set_flag(struct options *o, struct arm *a, const struct flag *f,
		     char error[OPTIONS_ERROR_BYTES])
{
	const char *names[STAGES_MAX], *why = NULL;

	for (uint32_t i = 0; i < o->model.stage_count; i++)
		names[i] = o->model.stages[i].name;
	if (strcmp(f->name, "cores") != 0)
		return schedule_set(&a->schedule, f->name, f->value, names,
				    o->model.stage_count) ||
		       fail(error, "--%s '%s': see --help", f->name,
			    f->value != NULL ? f->value : "");
	cores_free(a->cores);
	a->cores = cores_new(f->value, &why);
	return a->cores != NULL ||
	       fail(error, "--cores '%s' %s", f->value, why);
}

/* The words of an arm, in `words`, cut out of `text`. */
static uint32_t split(char *text, char *words[FLAGS_MAX])
{
	uint32_t count = 0;
	char *word, *rest = text;

	while ((word = strsep(&rest, " ")) != NULL && count < FLAGS_MAX)
		if (*word != '\0')
			words[count++] = word;
	return count;
}

static bool set_own_flags(struct options *o, struct arm *a,
			  char error[OPTIONS_ERROR_BYTES])
{
	char *words[FLAGS_MAX], *copy = strdup(a->name);
	struct flag f;
	bool has_value, ok = copy != NULL;
	uint32_t count = ok ? split(copy, words) : 0;

	for (uint32_t at = 0; ok && at < count;)
		ok = take_flag(words, count, &at, &f, error) &&
		     (is_schedule_flag(f.name, &has_value) ||
		      fail(error, "--%s: not a flag of an arm", f.name)) &&
		     set_flag(o, a, &f, error);
	free(copy);
	return ok;
}

static bool read_arm(struct options *o, const struct given *g, const char *text,
		     char error[OPTIONS_ERROR_BYTES])
{
	struct arm *a = &o->arms[o->arm_count++];
	char why[SCHEDULE_ERROR_BYTES];
	const char *no_cores = NULL;
	bool ok = true;

	schedule_init(&a->schedule);
	a->name = strdup(text);
	for (uint32_t i = 0; ok && i < g->flag_count; i++)
		ok = set_flag(o, a, &g->flags[i], error);
	if (!ok || a->name == NULL || !set_own_flags(o, a, error))
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

	o->graph_path = g->texts[TEXT_GRAPH];
	if (o->graph_path == NULL)
		return fail(error, "--graph FILE is missing");
	return model_load(&o->model, o->graph_path, &why) ||
	       fail(error, "--graph '%s': %s", o->graph_path, why);
}

static void read_config(struct options *o, const struct given *g)
{
	double x[NUMBERS];

	for (int i = 0; i < NUMBERS; i++)
		x[i] = isnan(g->numbers[i]) ? initials[o->mode][i] :
					      g->numbers[i];
	if (isnan(g->numbers[NUMBER_CLIENTS]) && x[NUMBER_RATE] > 0)
		x[NUMBER_CLIENTS] = OPEN_CLIENTS;
	o->round_count = (uint32_t)x[NUMBER_ROUNDS];
	o->config = (struct run_config){
		.model = &o->model,
		.scale = x[NUMBER_SCALE],
		.memory_bytes = (uint64_t)x[NUMBER_MEMORY],
		.client_count = (uint32_t)x[NUMBER_CLIENTS],
		.rate_per_s = x[NUMBER_RATE],
		.pause_ns = o->mode == MODE_WAKE ? WAKE_PAUSE_NS : 0,
		.lap_count = o->mode == MODE_EMPTY ? EMPTY_LAPS : 1,
		.warmup_count = (uint64_t)x[NUMBER_WARMUP],
		.request_count = (uint64_t)x[NUMBER_REQUESTS],
		.duration_ns = (uint64_t)(x[NUMBER_SECONDS] * 1e9),
		.seed = (uint64_t)x[NUMBER_SEED],
	};
}

bool options_parse(struct options *o, int argc, char **argv,
		   char error[OPTIONS_ERROR_BYTES])
{
	struct given g;

	*o = (struct options){ .mode = MODE_LOAD };
	if (!read_given(&g, argc, argv, error))
		return false;
	o->is_help = g.toggles[TOGGLE_HELP];
	if (o->is_help)
		return true;
	if (g.toggles[TOGGLE_EMPTY] && g.toggles[TOGGLE_WAKE])
		return fail(error, "--empty and --wake are two runs");
	if (g.toggles[TOGGLE_EMPTY] || g.toggles[TOGGLE_WAKE])
		o->mode = g.toggles[TOGGLE_EMPTY] ? MODE_EMPTY : MODE_WAKE;
	o->json_path = g.texts[TEXT_JSON];
	if (!read_graph(o, &g, error))
		return false;
	read_config(o, &g);
	for (uint32_t i = 0; i < g.arm_count; i++)
		if (!read_arm(o, &g, g.arms[i], error))
			return false;
	return g.arm_count > 0 || read_arm(o, &g, "", error);
}

void options_release(struct options *o)
{
	for (uint32_t i = 0; i < o->arm_count; i++) {
		cores_free(o->arms[i].cores);
		free(o->arms[i].name);
	}
	model_release(&o->model);
}
