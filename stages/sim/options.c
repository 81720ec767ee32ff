/* SPDX-License-Identifier: MIT */
#include "stages/sim/options.h"

#include <assert.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { CORES_MAX = 1024, FLAGS_MAX = 64, GIVEN_MAX = 128 };

enum number {
	NUMBER_CORES,
	NUMBER_LOAD,
	NUMBER_RATE,
	NUMBER_CLIENTS,
	NUMBER_REQUESTS,
	NUMBER_WARMUP,
	NUMBER_SEED,
	NUMBER_SWITCH,
	NUMBER_QUEUE,
	NUMBER_ERROR,
	NUMBERS
};

/* Options that take one number. */
static const struct {
	const char *name;
	double min, max, initial;
	const char *help;
} numbers[NUMBERS] = {
	{ "cores", 1, CORES_MAX, 1, "N: so many" },
	{ "load", 1e-6, 1e3, 0,
	  "X: requests per second, as the share of the cores they need" },
	{ "rate", 1e-9, 1e12, 0, "R: the same, in requests" },
	{ "clients", 1, 1e6, 0,
	  "N: closed loop; each sends anew when it is answered" },
	{ "requests", 1, 1e9, 1e6, "N: how many are counted" },
	{ "warmup", 0, 1e9, 1e5, "N: how many are not, before those" },
	{ "seed", 0, 1e15, 1, "N: of all random numbers" },
	{ "switch", 0, 1e12, 0, "NS: cost of each visit" },
	{ "queue-ns", 0, 1e12, 0,
	  "NS: a push or a pop keeps the queue for so long" },
	{ "error", 0, 10, 0,
	  "SIGMA: predicted work is wrong by a lognormal factor" },
};

enum text { TEXT_GRAPH, TEXT_GAPS, TEXT_PARTS, TEXT_CLASSES, TEXTS };

static const struct {
	const char *name, *help;
} texts[TEXTS] = {
	{ "graph", "FILE: what to simulate; see stages/sim/README.md" },
	{ "gaps", "FILE: seconds between arrivals, one per line" },
	{ "parts", "STAGE=PART,...: of --balance partition, else METIS cuts" },
	{ "classes", "SIZE,...: classes to report; default: p50, p90, p99" },
};

enum switch_ { SWITCH_CONSTANT, SWITCH_JSON, SWITCH_HELP, SWITCHES };

static const struct {
	const char *name, *help;
} switches[SWITCHES] = {
	{ "constant", "equal gaps between arrivals; else Poisson" },
	{ "json", "print JSON" },
	{ "help", "print this" },
};

/* The command line as it was found. */
struct given {
	double numbers[NUMBERS];
	const char *texts[TEXTS];
	bool switches[SWITCHES];
	struct {
		const char *name, *text;
	} flags[GIVEN_MAX]; /* of the schedule */
	uint32_t flag_count;
};

/* Each line of `text`. */
static void print_indented(FILE *out, const char *text)
{
	while (*text != '\0') {
		int length = (int)strcspn(text, "\n");

		fprintf(out, "                 %.*s\n", length, text);
		text += length + (text[length] == '\n');
	}
}

void options_print_help(FILE *out)
{
	fputs("Usage: stages_sim --graph FILE [OPTION]...\n"
	      "Run a stage graph under a schedule, in virtual time.\n\n"
	      "One of --load, --rate, --clients and --gaps.\n",
	      out);
	for (int i = 0; i < TEXTS; i++)
		fprintf(out, "  --%-12s %s\n", texts[i].name, texts[i].help);
	for (int i = 0; i < NUMBERS; i++)
		fprintf(out, "  --%-12s %s (default: %g)\n", numbers[i].name,
			numbers[i].help, numbers[i].initial);
	for (int i = 0; i < SWITCHES; i++)
		fprintf(out, "  --%-12s %s\n", switches[i].name,
			switches[i].help);
	fputs("\nThe schedule, as for darkroom:\n", out);
	for (const struct schedule_flag *f = schedule_flags; f->name != NULL;
	     f++) {
		fprintf(out, "  --%s %s (default: %s)\n", f->name,
			f->values != NULL ? f->values : "",
			f->initial != NULL ? f->initial : "none");
		print_indented(out, f->help);
	}
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

/* Option `at` of all, as list_options() orders them. */
static bool take(struct given *g, int at, const char *name, const char *text,
		 char error[OPTIONS_ERROR_BYTES])
{
	if (at < NUMBERS)
		return read_number(text, numbers[at].min, numbers[at].max,
				   &g->numbers[at]) ||
		       fail(error, "--%s '%s': not a number from %g to %g",
			    name, text, numbers[at].min, numbers[at].max);
	at -= NUMBERS;
	if (at < TEXTS) {
		g->texts[at] = text;
		return true;
	}
	at -= TEXTS;
	if (at < SWITCHES) {
		g->switches[at] = true;
		return true;
	}
	if (g->flag_count == GIVEN_MAX)
		return fail(error, "too many flags");
	g->flags[g->flag_count].name = name;
	g->flags[g->flag_count++].text = text;
	return true;
}

static void list_options(struct option list[FLAGS_MAX])
{
	int count = 0;

	for (int i = 0; i < NUMBERS; i++)
		list[count++] = (struct option){ numbers[i].name,
						 required_argument, NULL, 0 };
	for (int i = 0; i < TEXTS; i++)
		list[count++] = (struct option){ texts[i].name,
						 required_argument, NULL, 0 };
	for (int i = 0; i < SWITCHES; i++)
		list[count++] = (struct option){ switches[i].name, no_argument,
						 NULL, 0 };
	for (const struct schedule_flag *f = schedule_flags; f->name != NULL;
	     f++) {
		assert(count < FLAGS_MAX - 1);
		list[count++] =
			(struct option){ f->name,
					 f->values != NULL ? required_argument :
							     no_argument,
					 NULL, 0 };
	}
}

static bool read_given(struct given *g, int argc, char **argv,
		       char error[OPTIONS_ERROR_BYTES])
{
	struct option list[FLAGS_MAX] = { { 0 } };
	int found, at;

	*g = (struct given){ .flag_count = 0 };
	for (int i = 0; i < NUMBERS; i++)
		g->numbers[i] = numbers[i].initial;
	list_options(list);
	optind = 0; /* also resets what getopt_long() remembers */
	opterr = 0;
	while ((found = getopt_long(argc, argv, ":", list, &at)) == 0)
		if (!take(g, at, list[at].name, optarg, error))
			return false;
	if (found != -1)
		return fail(error, "%s: %s", argv[optind - 1],
			    found == ':' ? "its value is missing" :
					   "no such option");
	return optind == argc ||
	       fail(error, "'%s': no such option", argv[optind]);
}

static bool read_graph(struct options *o, const struct given *g,
		       char error[OPTIONS_ERROR_BYTES])
{
	const char *path = g->texts[TEXT_GRAPH], *why = NULL;

	if (path == NULL)
		return fail(error, "--graph FILE is missing");
	return model_load(&o->model, path, &why) ||
	       fail(error, "--graph '%s': %s", path, why);
}

static bool read_schedule(struct options *o, const struct given *g,
			  char error[OPTIONS_ERROR_BYTES])
{
	const char *names[STAGES_MAX];
	char why[SCHEDULE_ERROR_BYTES];
	uint32_t stages = o->model.stage_count;

	for (uint32_t i = 0; i < stages; i++)
		names[i] = o->model.stages[i].name;
	schedule_init(&o->schedule);
	for (uint32_t i = 0; i < g->flag_count; i++)
		if (!schedule_set(&o->schedule, g->flags[i].name,
				  g->flags[i].text, names, stages))
			return fail(error, "--%s '%s': see --help",
				    g->flags[i].name, g->flags[i].text);
	if (!schedule_complete(&o->schedule, stages,
			       (uint32_t)g->numbers[NUMBER_CORES], why))
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
	const char *path = g->texts[TEXT_GAPS], *why = NULL;
	double load = g->numbers[NUMBER_LOAD];

	c->rate_per_s = g->numbers[NUMBER_RATE];
	c->client_count = (uint32_t)g->numbers[NUMBER_CLIENTS];
	if ((load > 0) + (c->rate_per_s > 0) + (c->client_count > 0) +
		    (path != NULL) !=
	    1)
		return fail(error, "one of --load, --rate, --clients and "
				   "--gaps is needed");
	if (load > 0)
		c->rate_per_s = load * c->core_count * 1e9 /
				model_work_ns(&o->model, by_stage);
	if (path == NULL)
		return true;
	o->gaps_s = distribution_load_numbers(path, &c->gap_count, &why);
	c->gaps_s = o->gaps_s;
	return o->gaps_s != NULL || fail(error, "--gaps '%s': %s", path, why);
}

static void read_config(struct options *o, const struct given *g)
{
	o->config = (struct engine_config){
		.model = &o->model,
		.schedule = &o->schedule,
		.core_count = (uint32_t)g->numbers[NUMBER_CORES],
		.is_constant = g->switches[SWITCH_CONSTANT],
		.warmup_count = (uint64_t)g->numbers[NUMBER_WARMUP],
		.request_count = (uint64_t)(g->numbers[NUMBER_WARMUP] +
					    g->numbers[NUMBER_REQUESTS]),
		.seed = (uint64_t)g->numbers[NUMBER_SEED],
		.switch_ns = (uint64_t)g->numbers[NUMBER_SWITCH],
		.queue_ns = (uint64_t)g->numbers[NUMBER_QUEUE],
		.error_sigma = g->numbers[NUMBER_ERROR],
	};
}

bool options_parse(struct options *o, int argc, char **argv,
		   char error[OPTIONS_ERROR_BYTES])
{
	struct given g;

	*o = (struct options){ .is_json = false };
	if (!read_given(&g, argc, argv, error))
		return false;
	o->is_json = g.switches[SWITCH_JSON];
	o->is_help = g.switches[SWITCH_HELP];
	if (o->is_help)
		return true;
	read_config(o, &g);
	if (!read_graph(o, &g, error) || !read_schedule(o, &g, error) ||
	    !read_arrivals(o, &g, error))
		return false;
	if (g.texts[TEXT_PARTS] != NULL &&
	    o->schedule.balance != BALANCE_PARTITION)
		return fail(error, "--parts: for --balance partition only");
	if (g.texts[TEXT_PARTS] == NULL && !cut_graph(o))
		return fail(error, "out of memory");
	if (!read_list(o, g.texts[TEXT_PARTS], read_part))
		return fail(error, "--parts '%s': not STAGE=PART,...",
			    g.texts[TEXT_PARTS]);
	return read_list(o, g.texts[TEXT_CLASSES], read_class) ||
	       fail(error, "--classes '%s': not sizes that ascend",
		    g.texts[TEXT_CLASSES]);
}

void options_release(struct options *o)
{
	model_release(&o->model);
	free(o->gaps_s);
	o->gaps_s = NULL;
}
