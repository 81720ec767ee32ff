/* SPDX-License-Identifier: MIT */
#include "stages/sim/options.h"

#include "base/error.h"
#include "base/quantiles.h"
#include "base/take.h"
#include "base/util.h"
#include "stages/flags.h"
#include "stages/graph.h"

#include <inttypes.h>
#include <stdlib.h>

enum { CORES_MAX = 1024, FLEET_CORES_MAX = 4096, SPLIT_DRAWS = 100000 };

#define HELD_ORDERS "fcfs|size"

/* The command line as it was found. */
struct given {
	struct sim_config config;
	double load;
	const char *graph, *gaps, *parts, *classes, *policy_file;
	const char *json;
	uint32_t limit; /* requests for each core of a node */
	double agent_ms, agent_half_ms;
	int held_order; /* index into HELD_ORDERS */
	bool wants_policies;
	struct flags_asked asked;
};

static const struct flag own_flags[] = {
	{ "graph", "FILE", NULL,
	  "the stages to simulate; see stages/sim/README.md in the sources",
	  FLAG_FIELD(struct given, graph) },
	{ "load", "X", NULL,
	  "requests per second, as a share of the time of all cores; above 1, "
	  "queues grow until the end, and the report says so",
	  FLAG_FIELD(struct given, load), .least = 1e-4, .most = 1e3 },
	{ "rate", "R", NULL, "requests per second",
	  FLAG_FIELD(struct given, config.rate_per_s), .least = 1e-4,
	  .most = 1e12 },
	{ "clients", "N", NULL,
	  "closed loop: each of N clients sends its next request when the last "
	  "is answered",
	  FLAG_FIELD(struct given, config.client_count), .least = 1,
	  .most = 1e6 },
	{ "gaps", "FILE", NULL, "seconds between arrivals, one per line",
	  FLAG_FIELD(struct given, gaps) },
	{ "constant", NULL, NULL,
	  "equal gaps between arrivals; default: Poisson arrivals",
	  FLAG_FIELD(struct given, config.is_constant) },
	{ "cores", "N", "1", "number of cores of each node",
	  FLAG_FIELD(struct given, config.core_count), .least = 1,
	  .most = CORES_MAX },
	{ "nodes", "N", "1",
	  "number of nodes, each with that many cores and the same schedule",
	  FLAG_FIELD(struct given, config.node_count), .least = 1,
	  .most = DISPATCH_NODES_MAX },
	{ "dispatch", DISPATCH_NAMES, "least-work",
	  "how the node of a request is chosen; pooled: one node has all cores",
	  FLAG_CHOICE_FIELD(struct given, config.dispatch) },
	{ "dispatch-limit", "C", NULL,
	  "C requests for each core are the most at a node; the others wait in "
	  "the dispatcher",
	  FLAG_FIELD(struct given, limit), .least = 1, .most = 1e6 },
	{ "dispatch-queue", HELD_ORDERS, "fcfs",
	  "which of those that wait in the dispatcher goes first: the oldest, "
	  "or the smallest",
	  FLAG_CHOICE_FIELD(struct given, held_order) },
	{ "agent-ms", "MS", "200",
	  "time from one report of a node's agent to the next",
	  FLAG_FIELD(struct given, agent_ms), .least = 1e-3, .most = 1e6 },
	{ "agent-half", "MS", "1000",
	  "work left for each core at which an agent reports half the weight",
	  FLAG_FIELD(struct given, agent_half_ms), .least = 1e-3, .most = 1e6 },
	{ "requests", "N", "1000000", "number of requests that are counted",
	  FLAG_FIELD(struct given, config.request_count), .least = 1,
	  .most = 1e9 },
	{ "warmup", "N", "100000",
	  "number of requests before these that are not counted",
	  FLAG_FIELD(struct given, config.warmup_count), .most = 1e9 },
	{ "seed", "N", "1", "seed of all random numbers",
	  FLAG_FIELD(struct given, config.seed), .most = 1e15 },
	{ "switch", "NS", "0", "cost of each visit",
	  FLAG_FIELD(struct given, config.switch_ns), .most = 1e12 },
	{ "queue-ns", "NS", "0", "time that a push or a pop locks the queue",
	  FLAG_FIELD(struct given, config.queue_ns), .most = 1e12 },
	{ "pause-gap", "NS", "100000",
	  "work of a handler from one point at which it may be paused to the "
	  "next, with --slice",
	  FLAG_FIELD(struct given, config.pause_gap_ns), .least = 1,
	  .most = 1e12 },
	{ "error", "SIGMA", "0",
	  "predicted work is wrong by a lognormal factor of this sigma",
	  FLAG_FIELD(struct given, config.error_sigma), .most = 10 },
	{ "parts", "STAGE=PART,...", NULL,
	  "the part of each stage, with --balance partition; default: METIS "
	  "divides the graph",
	  FLAG_FIELD(struct given, parts) },
	{ "classes", "SIZE,...", NULL,
	  "bounds of size classes to report; default: p50, p90 and p99 of "
	  "sizes",
	  FLAG_FIELD(struct given, classes) },
	{ "json", "FILE", NULL,
	  "write the report to FILE too, as JSON; -, or no FILE: to standard "
	  "output, instead of the text",
	  FLAG_FIELD(struct given, json), .alone = "-" },
	POLICY_FILE_FLAG(struct given, policy_file),
	{ "list-policies", NULL, NULL, "list the policies and exit",
	  FLAG_FIELD(struct given, wants_policies) },
	FLAGS_ASKED(struct given, asked),
	{ 0 },
};

static const struct flag_group groups[] = {
	{ .flags = own_flags },
	{ .flags = schedule_flags, .title = "The schedule, as for darkroom" },
	{ 0 },
};

const struct program sim_program = {
	.name = "stages_sim",
	.summary = "run a stage graph under a schedule in virtual time",
	.usage = "--graph FILE [OPTION]...",
	.about = "Run a stage graph under a schedule, in virtual time, and "
		 "print response times and what each stage did.\n\n"
		 "One of --load, --rate, --clients and --gaps is needed.",
	.groups = groups,
	.exit_status = "0 done, 1 the report could not be written, 2 wrong "
		       "usage.",
	.see_also = "stages_bench(1), darkroom(1)",
};

/*
 * Read a flag, except those of the schedule, which take_for_schedule() reads.
 */
static bool take_own(void *given, const struct flag *f, const char *value,
		     struct error *why)
{
	return f->type == FLAG_OTHER || flag_set(f, value, given, why);
}

/* Called after the graph has been read, because these flags need its stages. */
static bool take_for_schedule(void *options, const struct flag *f,
			      const char *value, struct error *why)
{
	struct sim_options *o = options;
	const char *names[STAGES_MAX];

	if (f->type != FLAG_OTHER)
		return true;
	model_names(&o->model, names);
	return schedule_set(&o->schedule, f->name, value, names,
			    o->model.stage_count) ||
	       schedule_refuse(f->name, value, names, o->model.stage_count,
			       why);
}

static bool read_graph(struct sim_options *o, const struct given *g,
		       struct error *error)
{
	struct error why;

	if (g->graph == NULL)
		return error_fail(error, "--graph FILE is missing");
	return model_load(&o->model, g->graph, &why) ||
	       error_fail(error, "--graph '%.200s': %s", g->graph, why.text);
}

static bool read_schedule(struct sim_options *o, int argc, char **argv,
			  struct error *error)
{
	schedule_init(&o->schedule);
	o->schedule.rules = o->model.rules;
	if (!flags_read(&sim_program, argv + 1, (uint32_t)argc - 1,
			take_for_schedule, o, error))
		return false;
	if (!schedule_complete(&o->schedule, o->model.stage_count,
			       o->config.core_count, error->text) ||
	    !model_check_types(&o->model, &o->schedule, error))
		return false;
	if (o->schedule.pool_is_auto)
		return error_fail(error, "--pool auto: pools that grow are "
					 "not simulated");
	if (o->schedule.policy->workers == POLICY_WORKERS_ROAM &&
	    (o->schedule.given >> SCHEDULE_POOL & 1) != 0)
		return error_fail(error,
				  "--pool with --policy %s: user-level "
				  "threads that wait are not simulated",
				  o->schedule.policy->name);
	/* It would visit on for ever at the same time. */
	return o->schedule.look == LOOK_LENGTHS ||
	       o->schedule.idle.patience_ns == 0 || o->config.switch_ns > 0 ||
	       error_fail(error, "--idle: patience in microseconds needs "
				 "--switch, the time of a visit in vain");
}

/*
 * The size below which the share `share` of the work is, so that each group of
 * nodes gets work in proportion to its nodes.
 */
static double find_split(const struct model *m, double share)
{
	static double sizes[SPLIT_DRAWS];
	struct model_path path = { 0 };
	struct random draws;
	double sum = 0, below = 0;
	uint32_t at = 0;

	random_init(&draws, 1, STREAM_DISPATCH);
	for (uint32_t i = 0; i < SPLIT_DRAWS; i++) {
		model_draw(m, &draws, &path);
		sizes[i] = path.size;
		sum += path.size;
	}
	model_path_release(&path);
	quantiles_sort(sizes, SPLIT_DRAWS);
	while (at + 1 < SPLIT_DRAWS && below + sizes[at] <= share * sum)
		below += sizes[at++];
	return sizes[at];
}

static bool read_fleet(struct sim_options *o, const struct given *g,
		       struct error *error)
{
	struct sim_config *c = &o->config;

	if (c->node_count * c->core_count > FLEET_CORES_MAX)
		return error_fail(error,
				  "--nodes %" PRIu32 " --cores %" PRIu32
				  ": more than %d cores",
				  c->node_count, c->core_count,
				  FLEET_CORES_MAX);
	if (g->limit > 0 && !dispatch_has_limit(c->dispatch))
		return error_fail(error, "--dispatch-limit: not with "
					 "pooled, guarded or split");
	if (g->held_order != 0 && g->limit == 0)
		return error_fail(error, "--dispatch-queue: needs "
					 "--dispatch-limit");
	c->node_limit = g->limit * c->core_count;
	c->held_by_size = g->held_order == 1;
	c->agent_ns = (uint64_t)(g->agent_ms * 1e6);
	c->agent_half_ns = (uint64_t)(g->agent_half_ms * 1e6);
	if (c->dispatch == DISPATCH_SPLIT)
		c->split = find_split(
			&o->model, (double)dispatch_first_group(c->node_count) /
					   c->node_count);
	if (c->dispatch == DISPATCH_POOLED) {
		c->core_count *= c->node_count;
		c->node_count = 1;
	}
	return true;
}

/* "decode=0,encode=1" */
static bool read_parts(struct sim_options *o, const char *at)
{
	const char *names[STAGES_MAX];
	uint32_t stage;
	uint64_t part;

	model_names(&o->model, names);
	do {
		if (!take_name(&at, names, o->model.stage_count, &stage) ||
		    !take_number(&at, 0, o->schedule.part_count - 1, &part))
			return false;
		o->config.parts[stage] = (uint32_t)part;
	} while (take_word(&at, ","));
	return take_end(at);
}

/* "10,20.5" */
static bool read_classes(struct size_classes *c, const char *at)
{
	double bound, least = -1;

	do {
		if (c->bound_count == SUMMARY_CLASSES_MAX - 1 ||
		    !take_real(&at, &bound) || bound <= least || bound > 1e15)
			return false;
		c->bounds[c->bound_count++] = least = bound;
	} while (take_word(&at, ","));
	return take_end(at);
}

/* Parts as a server would make them after a trial run.  False: no memory. */
static bool cut_graph(struct sim_options *o)
{
	struct stage_graph graph;

	model_weigh(&o->model, &graph);
	return o->schedule.balance != BALANCE_PARTITION ||
	       graph_cut(&graph, o->schedule.part_count, o->config.parts);
}

/* Exactly one flag must say when requests arrive. */
static bool check_arrivals(const struct given *g, struct error *error)
{
	const struct {
		const char *flag;
		bool is_given;
	} ways[] = {
		{ "--load", g->load > 0 },
		{ "--rate", g->config.rate_per_s > 0 },
		{ "--clients", g->config.client_count > 0 },
		{ "--gaps", g->gaps != NULL },
	};
	const char *first = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		if (ways[i].is_given && first != NULL)
			return error_fail(error,
					  "%s: not with %s, which also says "
					  "when requests arrive",
					  ways[i].flag, first);
		if (ways[i].is_given)
			first = ways[i].flag;
	}
	return first != NULL ||
	       error_fail(error, "one of --load, --rate, --clients and --gaps "
				 "is needed");
}

static bool read_arrivals(struct sim_options *o, const struct given *g,
			  struct error *error)
{
	struct sim_config *c = &o->config;
	double by_stage[STAGES_MAX];
	const char *path = g->gaps;
	struct error why;

	if (!check_arrivals(g, error))
		return false;
	if (g->load > 0)
		c->rate_per_s = g->load * c->core_count * c->node_count * 1e9 /
				model_work_ns(&o->model, by_stage);
	if (path == NULL)
		return true;
	o->gaps_s = distribution_load_numbers(path, &c->gap_count, &why);
	c->gaps_s = o->gaps_s;
	return o->gaps_s != NULL ||
	       error_fail(error, "--gaps '%.200s': %s", path, why.text);
}

bool sim_options_parse(struct sim_options *o, int argc, char **argv,
		       struct error *error)
{
	struct given g = { .json = NULL };

	*o = (struct sim_options){ .json = NULL };
	flags_init(own_flags, &g);
	if (!flags_read(&sim_program, argv + 1, (uint32_t)argc - 1, take_own,
			&g, error) ||
	    !policy_load(g.policy_file, error))
		return false;
	o->json = g.json;
	o->asked = g.asked;
	o->wants_policies = g.wants_policies;
	if (flags_is_asked(&o->asked) || o->wants_policies)
		return true;
	o->config = g.config;
	o->config.model = &o->model;
	o->config.schedule = &o->schedule;
	o->config.request_count += g.config.warmup_count;
	if (!read_graph(o, &g, error) || !read_fleet(o, &g, error) ||
	    !read_schedule(o, argc, argv, error) ||
	    !read_arrivals(o, &g, error))
		return false;
	if (g.parts != NULL && o->schedule.balance != BALANCE_PARTITION)
		return error_fail(error,
				  "--parts: for --balance partition only");
	if (g.parts == NULL && !cut_graph(o))
		return error_fail(error, "out of memory");
	if (g.parts != NULL && !read_parts(o, g.parts))
		return error_fail(error, "--parts '%s': not STAGE=PART,...",
				  g.parts);
	return g.classes == NULL || read_classes(&o->classes, g.classes) ||
	       error_fail(error, "--classes '%s': not sizes that ascend",
			  g.classes);
}

void sim_options_release(struct sim_options *o)
{
	model_release(&o->model);
	free(o->gaps_s);
	o->gaps_s = NULL;
}
