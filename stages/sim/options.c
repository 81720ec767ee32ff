/* SPDX-License-Identifier: MIT */
#include "stages/sim/options.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { CORES_MAX = 1024 };

/* The command line as it was found. */
struct given {
	struct engine_config config;
	double load;
	const char *graph, *gaps, *parts, *classes;
	bool is_json, is_help;
};

static const struct flag own_flags[] = {
	{ "graph", "FILE", NULL, "what to simulate; see stages/sim/README.md",
	  FLAG_FIELD(struct given, graph) },
	{ "load", "X", NULL,
	  "requests per second, as the share of the cores they need",
	  FLAG_FIELD(struct given, load), .least = 1e-4, .most = 1e3 },
	{ "rate", "R", NULL, "the same, in requests",
	  FLAG_FIELD(struct given, config.rate_per_s), .least = 1e-4,
	  .most = 1e12 },
	{ "clients", "N", NULL,
	  "closed loop; each sends anew when it is answered",
	  FLAG_FIELD(struct given, config.client_count), .least = 1,
	  .most = 1e6 },
	{ "gaps", "FILE", NULL, "seconds between arrivals, one per line",
	  FLAG_FIELD(struct given, gaps) },
	{ "constant", NULL, NULL, "equal gaps between arrivals; else Poisson",
	  FLAG_FIELD(struct given, config.is_constant) },
	{ "cores", "N", "1", "so many",
	  FLAG_FIELD(struct given, config.core_count), .least = 1,
	  .most = CORES_MAX },
	{ "requests", "N", "1000000", "how many are counted",
	  FLAG_FIELD(struct given, config.request_count), .least = 1,
	  .most = 1e9 },
	{ "warmup", "N", "100000", "how many are not, before those",
	  FLAG_FIELD(struct given, config.warmup_count), .most = 1e9 },
	{ "seed", "N", "1", "of all random numbers",
	  FLAG_FIELD(struct given, config.seed), .most = 1e15 },
	{ "switch", "NS", "0", "cost of each visit",
	  FLAG_FIELD(struct given, config.switch_ns), .most = 1e12 },
	{ "queue-ns", "NS", "0", "a push or a pop keeps the queue for so long",
	  FLAG_FIELD(struct given, config.queue_ns), .most = 1e12 },
	{ "error", "SIGMA", "0",
	  "predicted work is wrong by a lognormal factor",
	  FLAG_FIELD(struct given, config.error_sigma), .most = 10 },
	{ "parts", "STAGE=PART,...", NULL,
	  "of --balance partition; else METIS cuts",
	  FLAG_FIELD(struct given, parts) },
	{ "classes", "SIZE,...", NULL,
	  "classes to report; else by p50, p90 and p99 of sizes",
	  FLAG_FIELD(struct given, classes) },
	{ "json", NULL, NULL, "print JSON", FLAG_FIELD(struct given, is_json) },
	{ "help", NULL, NULL, "print this", FLAG_FIELD(struct given, is_help) },
	{ 0 },
};

static const struct flag *const tables[] = { own_flags, schedule_flags, NULL };

void options_print_help(FILE *out)
{
	fputs("Usage: stages_sim --graph FILE [OPTION]...\n"
	      "Run a stage graph under a schedule, in virtual time.\n\n"
	      "One of --load, --rate, --clients and --gaps.\n\n",
	      out);
	flags_print_help(own_flags, out);
	fputs("\nThe schedule, as for darkroom:\n\n", out);
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

static bool read_number(const char *text, double min, double max, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return end != text && *end == '\0' && *out >= min && *out <= max;
}

/* A flag of the schedule waits for take_for_schedule(). */
static bool take_own(void *given, const struct flag *f, const char *value,
		     char why[FLAG_WHY_BYTES])
{
	return f->type == FLAG_OTHER || flag_set(f, value, given, why);
}

/* What it needs of the graph is known. */
static bool take_for_schedule(void *options, const struct flag *f,
			      const char *value, char why[FLAG_WHY_BYTES])
{
	struct options *o = options;
	const char *names[STAGES_MAX];

	if (f->type != FLAG_OTHER)
		return true;
	for (uint32_t i = 0; i < o->model.stage_count; i++)
		names[i] = o->model.stages[i].name;
	return schedule_set(&o->schedule, f->name, value, names,
			    o->model.stage_count) ||
	       flag_refuse(f, value, why);
}

static bool read_graph(struct options *o, const struct given *g,
		       char error[OPTIONS_ERROR_BYTES])
{
	const char *path = g->graph, *why = NULL;

	if (path == NULL)
		return fail(error, "--graph FILE is missing");
	return model_load(&o->model, path, &why) ||
	       fail(error, "--graph '%s': %s", path, why);
}

static bool read_schedule(struct options *o, int argc, char **argv,
			  char error[OPTIONS_ERROR_BYTES])
{
	char why[SCHEDULE_ERROR_BYTES];

	schedule_init(&o->schedule);
	if (!flags_read(tables, argv + 1, (uint32_t)argc - 1, take_for_schedule,
			o, error))
		return false;
	if (!schedule_complete(&o->schedule, o->model.stage_count,
			       o->config.core_count, why))
		return fail(error, "%s", why);
	return !o->schedule.pool_is_auto ||
	       fail(error, "--pool auto: pools that grow are not simulated");
}

/* Put "scale=1" into `parts`. */
static bool read_part(struct options *o, char *text)
{
	char *number = strchr(text, '=');
	double part;

	if (number == NULL)
		return false;
	*number++ = '\0';
	for (uint32_t i = 0; i < o->model.stage_count; i++) {
		if (strcmp(o->model.stages[i].name, text) != 0)
			continue;
		if (!read_number(number, 0, o->schedule.part_count - 1, &part))
			return false;
		o->config.parts[i] = (uint32_t)part;
		return true;
	}
	return false;
}

static bool read_class(struct options *o, char *text)
{
	struct size_classes *c = &o->classes;
	double bound;

	if (c->bound_count == SUMMARY_CLASSES_MAX - 1 ||
	    !read_number(text, 0, 1e15, &bound) ||
	    (c->bound_count > 0 && bound <= c->bounds[c->bound_count - 1]))
		return false;
	c->bounds[c->bound_count++] = bound;
	return true;
}

/* Items between commas. */
static bool read_list(struct options *o, const char *list,
		      bool (*read_item)(struct options *, char *))
{
	char *copy = strdup(list != NULL ? list : ""), *rest = copy, *item;
	bool ok = copy != NULL;

	while (ok && (item = strsep(&rest, ",")) != NULL)
		ok = *item == '\0' ? list == NULL : read_item(o, item);
	free(copy);
	return ok;
}

/* Parts as a server would make them after a trial run.  False: no memory. */
static bool cut_graph(struct options *o)
{
	struct stage_graph graph;

	model_weigh(&o->model, &graph);
	return o->schedule.balance != BALANCE_PARTITION ||
	       graph_cut(&graph, o->schedule.part_count, o->config.parts);
}

static bool read_arrivals(struct options *o, const struct given *g,
			  char error[OPTIONS_ERROR_BYTES])
{
	struct engine_config *c = &o->config;
	double by_stage[STAGES_MAX];
	const char *path = g->gaps, *why = NULL;

	if ((g->load > 0) + (c->rate_per_s > 0) + (c->client_count > 0) +
		    (path != NULL) !=
	    1)
		return fail(error, "one of --load, --rate, --clients and "
				   "--gaps is needed");
	if (g->load > 0)
		c->rate_per_s = g->load * c->core_count * 1e9 /
				model_work_ns(&o->model, by_stage);
	if (path == NULL)
		return true;
	o->gaps_s = distribution_load_numbers(path, &c->gap_count, &why);
	c->gaps_s = o->gaps_s;
	return o->gaps_s != NULL || fail(error, "--gaps '%s': %s", path, why);
}

bool options_parse(struct options *o, int argc, char **argv,
		   char error[OPTIONS_ERROR_BYTES])
{
	struct given g = { .is_help = false };

	*o = (struct options){ .is_json = false };
	flags_init(own_flags, &g);
	if (!flags_read(tables, argv + 1, (uint32_t)argc - 1, take_own, &g,
			error))
		return false;
	o->is_json = g.is_json;
	o->is_help = g.is_help;
	if (o->is_help)
		return true;
	o->config = g.config;
	o->config.model = &o->model;
	o->config.schedule = &o->schedule;
	o->config.request_count += g.config.warmup_count;
	if (!read_graph(o, &g, error) || !read_schedule(o, argc, argv, error) ||
	    !read_arrivals(o, &g, error))
		return false;
	if (g.parts != NULL && o->schedule.balance != BALANCE_PARTITION)
		return fail(error, "--parts: for --balance partition only");
	if (g.parts == NULL && !cut_graph(o))
		return fail(error, "out of memory");
	if (!read_list(o, g.parts, read_part))
		return fail(error, "--parts '%s': not STAGE=PART,...", g.parts);
	return read_list(o, g.classes, read_class) ||
	       fail(error, "--classes '%s': not sizes that ascend", g.classes);
}

void options_release(struct options *o)
{
	model_release(&o->model);
	free(o->gaps_s);
	o->gaps_s = NULL;
}
