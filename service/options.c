/* SPDX-License-Identifier: MIT */
#include "service/options.h"

/* Of each stage with --policy pool-per-stage, unless --pool is given. */
static const uint32_t pool_threads[PIPELINE_STEPS] = {
	[PIPELINE_DECODE] = 3,
	[PIPELINE_SCALE] = 1,
	[PIPELINE_BLUR] = 2,
	[PIPELINE_ENCODE] = 3,
};

static const struct flag own_flags[] = {
	{ "listen", "ADDRESS:PORT", "127.0.0.1:8080",
	  "where to accept connections; port 0: any free one",
	  FLAG_FIELD(struct options, listen) },
	{ "cores", "LIST", NULL,
	  "CPUs to run stages on, such as 0,2,4-7; default: all allowed,\n"
	  "physical cores first, within the cgroup's CPU quota; threads of\n"
	  "--policy thread-per-connection are not bound",
	  FLAG_FIELD(struct options, cores) },
	{ "max-uploads", "N", "256",
	  "uploads taken and not yet finished; more get a 503",
	  FLAG_FIELD(struct options, uploads_max), .least = 1,
	  .most = 1000000 },
	{ "max-connections", "N", "512", "open connections",
	  FLAG_FIELD(struct options, connections_max), .least = 1,
	  .most = 1000000 },
	{ "max-body", "SIZE", "32M",
	  "of a request's body; 1.5G, 64M or 100K, a plain number is M",
	  FLAG_FIELD(struct options, body_bytes_max), .unit = FLAG_SIZE,
	  .least = 1 << 10, .most = UINT64_C(4095) << 20 },
	{ "max-side", "PIXELS", "65500",
	  "width and height of an uploaded picture",
	  FLAG_FIELD(struct options, limits.side_px_max), .least = 1,
	  .most = 65500 },
	{ "max-megapixels", "N", "100",
	  "width times height of an uploaded picture, and of its result, "
	  "in\nmillions",
	  FLAG_FIELD(struct options, limits.pixels_max), .unit = FLAG_MILLIONS,
	  .least = 1e6, .most = 4290e6 },
	{ "max-scans", "N", "64",
	  "scans of a progressive JPEG, or 16 at --max-megapixels",
	  FLAG_FIELD(struct options, limits.scans_max), .least = 1,
	  .most = 1000 },
	{ "max-decode-memory", "SIZE", "512M", "to decode one picture",
	  FLAG_FIELD(struct options, limits.decode_bytes_max),
	  .unit = FLAG_SIZE, .least = 1 << 20, .most = UINT64_C(65536) << 20 },
	{ "drain-timeout", "TIME", "8s",
	  "on SIGTERM, wait this long for replies to be sent; 500ms or 8s,\n"
	  "a plain number is seconds",
	  FLAG_FIELD(struct options, drain_ms), .unit = FLAG_TIME,
	  .most = 3600000 },
	{ "trace", "FILE", NULL,
	  "write every visit of a worker, for Perfetto or chrome://tracing",
	  FLAG_FIELD(struct options, trace) },
	{ "save-graph", "FILE", NULL,
	  "on SIGTERM, write the measured stage graph",
	  FLAG_FIELD(struct options, save_graph) },
	{ "graph", "FILE", NULL,
	  "with --balance partition: divide the stages as this graph says",
	  FLAG_FIELD(struct options, graph) },
	{ 0 },
};

/* What to do instead of serving. */
static const struct flag action_flags[] = {
	{ "list-policies", NULL, NULL, "list the policies and exit",
	  FLAG_FIELD(struct options, wants_policies) },
	{ "help", NULL, NULL, "print this and exit",
	  FLAG_FIELD(struct options, wants_help) },
	{ "version", NULL, NULL, "print the version and exit",
	  FLAG_FIELD(struct options, wants_version) },
	{ 0 },
};

static const struct flag *const tables[] = { own_flags, schedule_flags,
					     action_flags, NULL };

static bool take(void *options, const struct flag *f, const char *value,
		 char why[FLAG_WHY_BYTES])
{
	struct options *o = options;

	if (f->type != FLAG_OTHER)
		return flag_set(f, value, o, why);
	return schedule_set(&o->schedule, f->name, value, pipeline_step_names,
			    PIPELINE_STEPS) ||
	       flag_refuse(f, value, why);
}

/*
 * What measured best: docs/scheduling.md.  Only if no flag of scheduling is
 * given: together with others, each has the value of the papers.
 */
static void set_best(struct schedule *s)
{
	s->policy = policy_find("color");
	s->discipline.kind = DISCIPLINE_SRPT;
}

bool options_parse(struct options *o, int argc, char *const *argv,
		   char error[OPTIONS_ERROR_BYTES])
{
	*o = (struct options){ .listen = NULL };
	schedule_init(&o->schedule);
	for (uint32_t i = 0; i < PIPELINE_STEPS; i++)
		o->schedule.pool_threads[i] = pool_threads[i];
	flags_init(own_flags, o);
	if (!flags_read(tables, argv + 1, (uint32_t)argc - 1, take, o, error))
		return false;
	if (o->schedule.given == 0)
		set_best(&o->schedule);
	return true;
}

void options_print_help(FILE *to)
{
	flags_print_help(own_flags, to);
	flags_print_help(action_flags, to);
	(void)fputs("\nHow stages get the CPU (docs/scheduling.md).  Without "
		    "any of these flags:\n--policy color --discipline srpt.  "
		    "With some, the rest as below.\n\n",
		    to);
	flags_print_help(schedule_flags, to);
}
