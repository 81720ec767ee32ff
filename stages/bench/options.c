/* SPDX-License-Identifier: MIT */
/*
 * Flags of the schedule may also be given in an arm.  They are read after those
 * given for all arms, and so replace them.
 */
#include "stages/bench/options.h"

#include "base/error.h"
#include "base/machine_usage.h"
#include "base/util.h"
#include "stages/flags.h"

#include <stdlib.h>
#include <string.h>

enum {
	EMPTY_LAPS = 10000,
	WAKE_PAUSE_NS = 1000000, /* time in which all workers fall asleep */
	WORDS_MAX = 64
};

/* The command line as it was found. */
struct given {
	const char *policy_file;
	struct run_config config;
	uint32_t round_count;
	double duration_s, disturbed_percent;
	const char *graph, *json;
	const char *arms[ARMS_MAX];
	uint32_t arm_count;
	bool is_empty, is_wake;
	uint32_t fibre_counts[FIBRES_COUNTS_MAX];
	uint32_t fibre_count_count;
	bool wants_policies;
	struct flags_asked asked;
};

static const struct flag own_flags[] = {
	{ "graph", "FILE", NULL,
	  "stages, times and routes; see stages/sim/model.h",
	  FLAG_FIELD(struct given, graph) },
	{ "json", "FILE", NULL,
	  "write all figures of all runs to FILE too, as JSON; -: to standard "
	  "output, instead of the text",
	  FLAG_FIELD(struct given, json) },
	{ "arm", "'FLAG...'", NULL, "a schedule to compare; may be repeated",
	  .type = FLAG_OTHER, .repeats = true },
	{ "clients", "N", NULL,
	  "number of requests in progress, at most; default: 16, and 1024 "
	  "with --rate",
	  FLAG_FIELD(struct given, config.client_count), .least = 1,
	  .most = 65536 },
	{ "rate", "R", NULL,
	  "open loop: requests due per second, at random times (Poisson); "
	  "default: closed loop, a request begins when another one ends",
	  FLAG_FIELD(struct given, config.rate_per_s), .least = 1e-3,
	  .most = 1e9 },
	{ "requests", "N", NULL,
	  "number of requests that are counted, or of switches with --fibres; "
	  "default: 2000, or 1000000 switches",
	  FLAG_FIELD(struct given, config.request_count), .least = 1,
	  .most = 1e8 },
	{ "seconds", "S", NULL, "count the requests of S seconds instead",
	  FLAG_FIELD(struct given, duration_s), .least = 1e-3, .most = 1e5 },
	{ "warmup", "N", NULL,
	  "number of requests before these that are not counted; default: 200",
	  FLAG_FIELD(struct given, config.warmup_count), .most = 1e8 },
	{ "rounds", "N", NULL,
	  "run each arm N times; the order of the arms is random in each "
	  "round; "
	  "default: 1",
	  FLAG_FIELD(struct given, round_count), .least = 1, .most = 1000 },
	{ "disturbed", "PERCENT", NULL,
	  "make a run again at once, up to three times in all, if other "
	  "programs and the hypervisor took more than this of the machine's "
	  "cores; shorter runs than 0.5 s are not judged; 100: none; "
	  "default: " TEXT_OF(MACHINE_DISTURBED_PERCENT),
	  FLAG_FIELD(struct given, disturbed_percent), .least = 0.1,
	  .most = 100 },
	{ "scale", "X", NULL, "multiply the graph's times by X; default: 1",
	  FLAG_FIELD(struct given, config.scale), .most = 1e6 },
	{ "memory", "BYTES", NULL,
	  "size of a request's buffer, all of which is touched at each stage; "
	  "if requests have sizes, this is for the mean size, and other "
	  "buffers are in proportion; default: 0",
	  FLAG_FIELD(struct given, config.memory_bytes), .most = 1e9 },
	{ "counters", NULL, NULL,
	  "count cycles, instructions and cache misses of each stage in user "
	  "space, warm-up included, if the machine and the system allow it; "
	  "reading the counters makes switches between stages slower",
	  FLAG_FIELD(struct given, config.counts_hardware) },
	{ "seed", "N", NULL,
	  "seed of all random numbers; each round takes the next; default: 1",
	  FLAG_FIELD(struct given, config.seed), .most = 1e15 },
	{ "empty", NULL, NULL,
	  "measure the cost of an event at a stage, with empty handlers",
	  FLAG_FIELD(struct given, is_empty) },
	{ "wake", NULL, NULL,
	  "measure the time from a send to sleeping workers to the handler",
	  FLAG_FIELD(struct given, is_wake) },
	{ "fibres", "N[,N...]", NULL,
	  "measure what it costs to switch among N user-level threads, "
	  "without --graph; policy: capriccio, if none is given",
	  .type = FLAG_OTHER },
	POLICY_FILE_FLAG(struct given, policy_file),
	{ "list-policies", NULL, NULL, "list the policies and exit",
	  FLAG_FIELD(struct given, wants_policies) },
	FLAGS_ASKED(struct given, asked),
	{ 0 },
};

/* Flags of an arm, in addition to those of the schedule. */
static const struct flag arm_flags[] = {
	{ "cores", "LIST", NULL,
	  "CPUs that workers run on; default: all that are allowed",
	  .type = FLAG_OTHER },
	{ 0 },
};

static const struct flag_group groups[] = {
	{ .flags = own_flags },
	{ .flags = arm_flags,
	  .title = "For all arms or in one, as for darkroom" },
	{ .flags = schedule_flags },
	{ 0 },
};

static const struct flag_group arm_groups[] = {
	{ .flags = arm_flags },
	{ .flags = schedule_flags },
	{ 0 },
};

const struct program stages_bench_program = {
	.name = "stages_bench",
	.summary = "measure schedules on a stage graph, in threads",
	.usage = "--graph FILE [OPTION]...",
	.about = "Run a stage graph in threads, under one schedule or several "
		 "in turn, and print medians (least - most) as Markdown.",
	.groups = groups,
	.exit_status = "0 done, 1 failed, 2 wrong usage.",
	.see_also = "stages_sim(1), darkroom(1)",
};

/* The flags of an arm, as its text gives them. */
static const struct program arm_program = { .groups = arm_groups };

/* The defaults of each mode. */
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
	[MODE_FIBRES] = { .config = { .request_count = 1000000, .seed = 1 },
			  .round_count = 1 },
	[MODE_WAKE] = { .config = { .scale = 1,
				    .pause_ns = WAKE_PAUSE_NS,
				    .lap_count = 1,
				    .request_count = 1000,
				    .warmup_count = 20,
				    .seed = 1 },
			.round_count = 1 },
};

static bool read_fibre_counts(struct given *g, const char *value,
			      struct error *why)
{
	const char *at = value;
	char *end;

	g->fibre_count_count = 0;
	for (;; at = end + 1) {
		unsigned long count = strtoul(at, &end, 10);

		if (end == at || count < 1 || count > FIBRES_MAX ||
		    (*end != ',' && *end != '\0') ||
		    g->fibre_count_count == FIBRES_COUNTS_MAX) {
			error_set(why,
				  "'%s' is not a list of up to %d numbers "
				  "from 1 to %d",
				  value, FIBRES_COUNTS_MAX, FIBRES_MAX);
			return false;
		}
		g->fibre_counts[g->fibre_count_count++] = (uint32_t)count;
		if (*end == '\0')
			return true;
	}
}

/* Read a flag, except those of an arm, which take_for_arm() reads. */
static bool take_own(void *given, const struct flag *f, const char *value,
		     struct error *why)
{
	struct given *g = given;

	if (f->type != FLAG_OTHER)
		return flag_set(f, value, g, why);
	if (flags_find(arm_groups, f->name) != NULL)
		return true;
	if (strcmp(f->name, "fibres") == 0)
		return read_fibre_counts(g, value, why);
	if (g->arm_count == ARMS_MAX) {
		error_set(why, "more than %d", ARMS_MAX);
		return false;
	}
	g->arms[g->arm_count++] = value;
	return true;
}

static bool read_given(struct given *g, enum mode mode, int argc, char **argv,
		       struct error *error)
{
	*g = initials[mode];
	g->disturbed_percent = MACHINE_DISTURBED_PERCENT;
	return flags_read(&stages_bench_program, argv + 1, (uint32_t)argc - 1,
			  take_own, g, error);
}

/* An arm being read. */
struct reading {
	const struct model *model;
	struct arm *arm;
};

static bool take_for_arm(void *reading, const struct flag *f, const char *value,
			 struct error *why)
{
	const struct model *m = ((struct reading *)reading)->model;
	struct arm *a = ((struct reading *)reading)->arm;
	const char *names[STAGES_MAX];
	struct error fault;

	if (flags_find(arm_groups, f->name) == NULL)
		return true;
	if (strcmp(f->name, "cores") == 0) {
		cores_free(a->cores);
		a->cores = cores_new(value, fault.text);
		if (a->cores == NULL)
			error_set(why, "'%s' %s", value, fault.text);
		return a->cores != NULL;
	}
	model_names(m, names);
	return schedule_set(&a->schedule, f->name, value, names,
			    m->stage_count) ||
	       schedule_refuse(f->name, value, names, m->stage_count, why);
}

/* Split `text`, an arm, into `words`.  Returns their number. */
static uint32_t split(char *text, char *words[WORDS_MAX])
{
	uint32_t count = 0;
	char *word, *rest = text;

	while ((word = strsep(&rest, " ")) != NULL && count < WORDS_MAX)
		if (*word != '\0')
			words[count++] = word;
	return count;
}

static bool read_own_flags(struct reading *r, const char *text,
			   struct error *error)
{
	char *words[WORDS_MAX], *copy = strdup(text);
	bool ok = copy != NULL &&
		  flags_read(&arm_program, words, split(copy, words),
			     take_for_arm, r, error);

	free(copy);
	return ok;
}

/* In tables: the flags of the arm or, if it has none, its policy. */
static char *name_arm(const struct arm *a, const char *text)
{
	char *name = NULL;

	if (text[strspn(text, " ")] != '\0')
		return strdup(text);
	return asprintf(&name, "--policy %s", a->schedule.policy->name) >= 0 ?
		       name :
		       NULL;
}

static bool read_arm(struct stages_bench_options *o, const char *text, int argc,
		     char **argv, struct error *error)
{
	struct arm *a = &o->arms[o->arm_count++];
	struct reading reading = { .model = &o->model, .arm = a };
	struct error why;

	schedule_init(&a->schedule);
	a->schedule.rules = o->model.rules;
	if (o->mode == MODE_FIBRES)
		a->schedule.policy = policy_find("capriccio");
	if (!flags_read(&stages_bench_program, argv + 1, (uint32_t)argc - 1,
			take_for_arm, &reading, error) ||
	    !read_own_flags(&reading, text, error))
		return false;
	a->name = name_arm(a, text);
	if (a->name == NULL)
		return error_fail(error, "out of memory");
	if (a->cores == NULL && (a->cores = cores_new(NULL, why.text)) == NULL)
		return error_fail(error, "the cores %s", why.text);
	if (!schedule_complete(&a->schedule, o->model.stage_count,
			       cores_count(a->cores), why.text) ||
	    !model_check_types(&o->model, &a->schedule, &why))
		return error_fail(error, "%s%s%s", text,
				  *text != '\0' ? ": " : "", why.text);
	if (o->mode != MODE_FIBRES)
		return true;
	if (o->config.counts_hardware)
		return error_fail(error, "--counters: --fibres has no stages");
	if (a->schedule.policy->threads == NULL)
		return error_fail(error,
				  "--fibres: policy %s has no user-level "
				  "threads",
				  a->schedule.policy->name);
	return cores_count(a->cores) == 1 ||
	       error_fail(error, "--fibres needs one core: --cores N");
}

static bool read_graph(struct stages_bench_options *o, const struct given *g,
		       struct error *error)
{
	struct error why;

	o->graph_path = g->graph;
	if (o->mode == MODE_FIBRES)
		return model_read(&o->model,
				  "{\"stages\": [{\"name\": \"yield\","
				  "\"service_us\": 0}]}",
				  ".", error);
	if (o->graph_path == NULL)
		return error_fail(error, "--graph FILE is missing");
	return model_load(&o->model, o->graph_path, &why) ||
	       error_fail(error, "--graph '%.200s': %s", o->graph_path,
			  why.text);
}

static void read_config(struct stages_bench_options *o, const struct given *g)
{
	o->round_count = g->round_count;
	o->disturbed_percent = g->disturbed_percent;
	o->config = g->config;
	o->fibre_count_count = g->fibre_count_count;
	memcpy(o->fibre_counts, g->fibre_counts, sizeof(o->fibre_counts));
	o->config.model = &o->model;
	o->config.duration_ns = (uint64_t)(g->duration_s * 1e9);
	if (g->config.client_count > 0)
		return;
	if (g->config.rate_per_s > 0)
		o->config.client_count = 1024;
	else
		o->config.client_count = o->mode == MODE_WAKE ? 1 : 16;
}

bool stages_bench_options_parse(struct stages_bench_options *o, int argc,
				char **argv, struct error *error)
{
	struct given g;

	*o = (struct stages_bench_options){ .mode = MODE_LOAD };
	if (!read_given(&g, o->mode, argc, argv, error) ||
	    !policy_load(g.policy_file, error))
		return false;
	o->asked = g.asked;
	o->wants_policies = g.wants_policies;
	if (flags_is_asked(&o->asked) || o->wants_policies)
		return true;
	if (g.is_empty + g.is_wake + (g.fibre_count_count > 0) > 1)
		return error_fail(error, "--empty, --wake and --fibres cannot "
					 "be given together");
	if (g.is_empty || g.is_wake)
		o->mode = g.is_empty ? MODE_EMPTY : MODE_WAKE;
	if (g.fibre_count_count > 0)
		o->mode = MODE_FIBRES;
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

void stages_bench_options_release(struct stages_bench_options *o)
{
	for (uint32_t i = 0; i < o->arm_count; i++) {
		cores_free(o->arms[i].cores);
		free(o->arms[i].name);
	}
	model_release(&o->model);
}
