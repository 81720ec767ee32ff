/* SPDX-License-Identifier: MIT */
#include "service/config/options.h"

#include "service/http/clients.h"
#include "service/config/config.h"
#include "service/config/memory_limit.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

enum { SOURCE_BYTES = 192 };

/* Of each stage with --policy pool-per-stage, unless --pool is given. */
static const uint32_t pool_threads[PIPELINE_STEPS] = {
	[PIPELINE_DECODE] = 3,
	[PIPELINE_SCALE] = 1,
	[PIPELINE_BLUR] = 2,
	[PIPELINE_ENCODE] = 3,
};

enum { EXPRESS_MS = 5 }; /* what it does: docs/scheduling.md */

static const struct flag own_flags[] = {
	{ "listen", "ADDRESS:PORT", "127.0.0.1:8080",
	  "where to accept connections; port 0: any free one",
	  FLAG_FIELD(struct options, listen) },
	{ "admin-listen", "ADDRESS:PORT", NULL,
	  "where to tell of the server itself, whatever uploads do: /healthz,\n"
	  "/readyz, /metrics, /stats, /trace; default: by --listen",
	  FLAG_FIELD(struct options, admin_listen) },
	{ "insecure", NULL, NULL,
	  "accept connections of others than this machine without any keys",
	  FLAG_FIELD(struct options, insecure) },
	{ "api-key-file", "FILE", NULL,
	  "who has one of these keys may do all; a key on each line",
	  FLAG_FIELD(struct options, api_key_file) },
	{ "sign-key-file", "FILE", NULL,
	  "keys that uploads may be signed with, see docs/http-api.md",
	  FLAG_FIELD(struct options, sign_key_file) },
	{ "tls-cert", "FILE", NULL,
	  "serve HTTPS alone, with this certificate and its chain, in PEM",
	  FLAG_FIELD(struct options, tls_cert) },
	{ "tls-key", "FILE", NULL, "the certificate's private key, in PEM",
	  FLAG_FIELD(struct options, tls_key) },
	{ "cores", "LIST", NULL,
	  "CPUs to run stages on, such as 0,2,4-7; default: all allowed,\n"
	  "physical cores first, within the cgroup's CPU quota; threads of\n"
	  "--policy thread-per-connection are not bound",
	  FLAG_FIELD(struct options, cores) },
	{ "max-uploads", "N", "256",
	  "uploads taken and not yet finished; more get a 503",
	  FLAG_FIELD(struct options, uploads_max), .least = 1,
	  .most = 1000000 },
	{ "max-connections", "N", "1024",
	  "open connections; for one more, the slowest is closed",
	  FLAG_FIELD(struct options, connections_max), .least = 1,
	  .most = 1000000 },
	{ "max-connections-per-address", "N", "0",
	  "open connections of one client address; 0: any number",
	  FLAG_FIELD(struct options, per_address_max), .most = 1000000 },
	{ "max-requests", "N", "0",
	  "of one connection, before it is closed; 0: any number",
	  FLAG_FIELD(struct options, requests_max), .most = 1e9 },
	{ "header-timeout", "TIME", "10s",
	  "for a new connection, until the request line is there, and from\n"
	  "then on for the rest of the header; 0: none",
	  FLAG_FIELD(struct options, head_ms), .unit = FLAG_TIME,
	  .most = 3600000 },
	{ "idle-timeout", "TIME", "30s",
	  "for a connection to wait for its next request; 0: none",
	  FLAG_FIELD(struct options, idle_ms), .unit = FLAG_TIME,
	  .most = 86400000 },
	{ "min-rate", "SIZE", "1K",
	  "per second, to send a body and to take a reply; 0: any",
	  FLAG_FIELD(struct options, rate_min), .unit = FLAG_SIZE,
	  .most = 1 << 30 },
	{ "max-body", "SIZE", "32M",
	  "of a request's body; 1.5G, 64M or 100K, a plain number is M",
	  FLAG_FIELD(struct options, body_bytes_max), .unit = FLAG_SIZE,
	  .least = 1 << 10, .most = UINT64_C(4095) << 20 },
	{ "memory", "SIZE", NULL,
	  "for all uploads together, with their results; default: by the\n"
	  "limit of the cgroup or machine, see docs/operations.md",
	  FLAG_FIELD(struct options, memory_bytes_max), .unit = FLAG_SIZE,
	  .least = 1 << 20, .most = UINT64_C(1) << 50 },
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
	{ "deadline", "TIME", "60s",
	  "an upload's, from its head to its last step; what is late gets a\n"
	  "503; 0: none",
	  FLAG_FIELD(struct options, deadline_ms), .unit = FLAG_TIME,
	  .most = 86400000 },
	{ "shutdown-delay", "TIME", "0s",
	  "on SIGTERM, go on for this long with /readyz false, so that\n"
	  "balancers see it",
	  FLAG_FIELD(struct options, shutdown_delay_ms), .unit = FLAG_TIME,
	  .most = 600000 },
	{ "drain-timeout", "TIME", "8s",
	  "on SIGTERM, wait this long for replies to be sent; 500ms or 8s,\n"
	  "a plain number is seconds",
	  FLAG_FIELD(struct options, drain_ms), .unit = FLAG_TIME,
	  .most = 3600000 },
	{ "sandbox", "auto|require|off", "auto",
	  "take from the process what it does not need while it serves: as\n"
	  "far as the kernel can, or do not start where it cannot, or nothing",
	  FLAG_CHOICE_FIELD(struct options, sandbox) },
	{ "presets", "SPEC", NULL,
	  "variants that uploads may ask for by name, such as\n"
	  "'thumb:w=320,h=320,fit=cover;page:w=1280'",
	  FLAG_FIELD(struct options, presets) },
	{ "log", "auto|json|text|off", "auto",
	  "a line on stderr for each request; auto: text on a terminal, else\n"
	  "JSON",
	  FLAG_CHOICE_FIELD(struct options, log_mode) },
	{ "log-slow", "TIME", "1s",
	  "mark requests that take so long, from head to reply; 0: none",
	  FLAG_FIELD(struct options, log_slow_ms), .unit = FLAG_TIME,
	  .most = 86400000 },
	{ "store", "DIR", NULL,
	  "keep what POST /v1/images makes in this folder, which must be "
	  "empty\nor a store",
	  FLAG_FIELD(struct options, store) },
	{ "store-quota", "SIZE", "0", "of all files in it; 0: none",
	  FLAG_FIELD(struct options, store_quota_bytes), .unit = FLAG_SIZE,
	  .most = UINT64_C(1) << 60 },
	{ "store-threads", "N", "4", "that write to it",
	  FLAG_FIELD(struct options, store_threads), .least = 1, .most = 1000 },
	{ "express", "TIME", NULL,
	  "an upload foretold to take less CPU time goes past workers that\n"
	  "are all in larger ones, by a thread of its own; 0: none; default:\n"
	  "none if the schedule has a flag, or see below",
	  FLAG_FIELD(struct options, express_ms), .unit = FLAG_TIME,
	  .most = 10000 },
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

static const struct flag file_flags[] = {
	{ "config", "FILE", NULL,
	  "take flags from this JSON file, where neither the command line\n"
	  "nor a variable such as DARKROOM_MAX_BODY gives them",
	  FLAG_FIELD(struct options, config) },
	{ 0 },
};

/* What to do instead of serving: for the command line only. */
static const struct flag action_flags[] = {
	{ "check-config", NULL, NULL,
	  "check all that can be checked without a start, and exit",
	  FLAG_FIELD(struct options, wants_check) },
	{ "print-config", NULL, NULL,
	  "print what all flags come to, as a file for --config, and exit",
	  FLAG_FIELD(struct options, wants_config) },
	{ "list-policies", NULL, NULL, "list the policies and exit",
	  FLAG_FIELD(struct options, wants_policies) },
	{ "help", NULL, NULL, "print this and exit",
	  FLAG_FIELD(struct options, wants_help) },
	{ "version", NULL, NULL, "print the version and exit",
	  FLAG_FIELD(struct options, wants_version) },
	{ 0 },
};

static const struct flag *const tables[] = { own_flags, schedule_flags,
					     file_flags, action_flags, NULL };
static const struct flag *const environment_tables[] = { own_flags,
							 schedule_flags,
							 file_flags, NULL };
static const struct flag *const file_tables[] = { own_flags, schedule_flags,
						  NULL };

static uint32_t place_of(const char *flag)
{
	uint32_t place = 0;

	for (const struct flag *const *t = tables; *t != NULL; t++)
		for (const struct flag *f = *t; f->name != NULL; f++, place++)
			if (strcmp(f->name, flag) == 0)
				return place;
	abort();
}

/* A source being read. */
struct reading {
	struct options *options;
	struct options overruled; /* by a source read before */
	enum options_source source;
};

static bool take(void *reading, const struct flag *f, const char *value,
		 char why[FLAG_WHY_BYTES])
{
	struct reading *r = reading;
	struct options *o = r->options;
	uint32_t place = place_of(f->name);

	assert(place < OPTIONS_MAX);
	if (o->sources[place] > r->source)
		o = &r->overruled;
	o->sources[place] = r->source;
	if (f->values == NULL && value != NULL)
		return true; /* switches are off by default */
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
static void set_best(struct options *o)
{
	o->schedule.policy = policy_find("color");
	o->schedule.discipline.kind = DISCIPLINE_SRPT;
	if (o->sources[place_of("express")] == OPTIONS_DEFAULT)
		o->express_ms = EXPRESS_MS;
}

bool options_parse(struct options *o, int argc, char *const *argv,
		   char *const *environment, char error[OPTIONS_ERROR_BYTES])
{
	struct reading r = { .options = o };

	*o = (struct options){ .listen = NULL };
	schedule_init(&o->schedule);
	for (uint32_t i = 0; i < PIPELINE_STEPS; i++)
		o->schedule.pool_threads[i] = pool_threads[i];
	flags_init(own_flags, o);
	r.source = OPTIONS_COMMAND_LINE;
	if (!flags_read(tables, argv + 1, (uint32_t)argc - 1, take, &r, error))
		return false;
	if (o->wants_help || o->wants_version || o->wants_policies)
		return true;
	r.source = OPTIONS_ENVIRONMENT;
	if (!config_read_environment(environment_tables, environment, take, &r,
				     error))
		return false;
	r.source = OPTIONS_FILE;
	if (o->config != NULL && !config_read_file(file_tables, o->config,
						   &o->file, take, &r, error))
		return false;
	if (o->schedule.given == 0)
		set_best(o);
	if (o->memory_bytes_max == 0)
		o->memory_bytes_max =
			memory_budget_bytes(memory_limit_bytes(),
					    clients_places(o->connections_max));
	return true;
}

void options_release(struct options *o)
{
	cJSON_Delete(o->file);
}

static void print_source(const struct options *o, const char *flag,
			 char name[SOURCE_BYTES])
{
	switch (o->sources[place_of(flag)]) {
	case OPTIONS_FILE:
		(void)snprintf(name, SOURCE_BYTES, "%.100s: %s", o->config,
			       flag);
		break;
	case OPTIONS_ENVIRONMENT:
		config_print_variable(flag, name, SOURCE_BYTES);
		break;
	default:
		(void)snprintf(name, SOURCE_BYTES, "--%s", flag);
	}
}

void options_refuse(const struct options *o, const char *flag,
		    const char *value, const char *why,
		    char refusal[OPTIONS_REFUSAL_BYTES])
{
	char name[SOURCE_BYTES];

	print_source(o, flag, name);
	(void)snprintf(refusal, OPTIONS_REFUSAL_BYTES, "%s: '%.500s': %s", name,
		       value, why);
}

bool options_print(const struct options *o, const struct schedule *s, FILE *to)
{
	char *text = config_print(own_flags, o, s, pipeline_step_names,
				  PIPELINE_STEPS);
	bool ok = text != NULL && fprintf(to, "%s\n", text) > 0 &&
		  fflush(to) == 0;

	cJSON_free(text);
	return ok;
}

void options_print_help(FILE *to)
{
	flags_print_help(own_flags, to);
	flags_print_help(file_flags, to);
	flags_print_help(action_flags, to);
	(void)fputs("\nHow stages get the CPU (docs/scheduling.md).  Without "
		    "any of these flags:\n--policy color --discipline srpt "
		    "--express 5ms.  With some, the rest as below.\n\n",
		    to);
	flags_print_help(schedule_flags, to);
}
