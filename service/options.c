/* SPDX-License-Identifier: MIT */
#include "service/options.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Of each stage with --policy pool-per-stage, unless --pool is given. */
static const uint32_t pool_threads[PIPELINE_STEPS] = {
	[PIPELINE_DECODE] = 3,
	[PIPELINE_SCALE] = 1,
	[PIPELINE_BLUR] = 2,
	[PIPELINE_ENCODE] = 3,
};

/* Each takes the text after "=".  False: it is not what `values` says. */
typedef bool set_fn(struct options *o, const char *text);

static bool to_number(const char *text, uint64_t least, uint64_t most,
		      uint64_t *out)
{
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	unsigned long long n = strtoull(text, &end, 10);

	if (errno != 0 || *end != '\0' || n < least || n > most)
		return false;
	*out = n;
	return true;
}

static bool to_number32(const char *text, uint32_t least, uint32_t most,
			uint32_t *out)
{
	uint64_t n;

	if (!to_number(text, least, most, &n))
		return false;
	*out = (uint32_t)n;
	return true;
}

static bool set_listen(struct options *o, const char *text)
{
	o->listen = text;
	return true;
}

static bool set_cores(struct options *o, const char *text)
{
	o->cores = text;
	return true;
}

static bool set_uploads(struct options *o, const char *text)
{
	return to_number32(text, 1, 1000000, &o->uploads_max);
}

static bool set_connections(struct options *o, const char *text)
{
	return to_number32(text, 1, 1000000, &o->connections_max);
}

static bool set_body(struct options *o, const char *text)
{
	uint64_t mib;

	if (!to_number(text, 1, 4095, &mib))
		return false;
	o->body_bytes_max = mib << 20;
	return true;
}

static bool set_side(struct options *o, const char *text)
{
	return to_number32(text, 1, 65500, &o->limits.side_px_max);
}

static bool set_megapixels(struct options *o, const char *text)
{
	uint64_t megapixels;

	if (!to_number(text, 1, 4290, &megapixels))
		return false;
	o->limits.pixels_max = megapixels * 1000000;
	return true;
}

static bool set_scans(struct options *o, const char *text)
{
	return to_number32(text, 1, 1000, &o->limits.scans_max);
}

static bool set_decode_memory(struct options *o, const char *text)
{
	uint64_t mib;

	if (!to_number(text, 1, 65536, &mib))
		return false;
	o->limits.decode_bytes_max = mib << 20;
	return true;
}

static bool set_drain(struct options *o, const char *text)
{
	uint32_t seconds;

	if (!to_number32(text, 0, 3600, &seconds))
		return false;
	o->drain_ms = seconds * 1000;
	return true;
}

static bool set_trace(struct options *o, const char *text)
{
	o->trace = text;
	return true;
}

static bool set_graph(struct options *o, const char *text)
{
	o->graph = text;
	return true;
}

static bool set_save_graph(struct options *o, const char *text)
{
	o->save_graph = text;
	return true;
}

static bool set_list(struct options *o, const char *text)
{
	(void)text;
	o->what = OPTIONS_LIST;
	return true;
}

static bool set_help(struct options *o, const char *text)
{
	(void)text;
	o->what = OPTIONS_HELP;
	return true;
}

static bool set_version(struct options *o, const char *text)
{
	(void)text;
	o->what = OPTIONS_VERSION;
	return true;
}

/* Beside the flags of scheduling, schedule_flags. */
static const struct {
	struct schedule_flag flag;
	set_fn *set;
} table[] = {
	{ { "listen", "ADDRESS:PORT", "127.0.0.1:8080",
	    "where to accept connections; port 0: any free one" },
	  set_listen },
	{ { "cores", "LIST", NULL,
	    "CPUs to run stages on, such as 0,2,4-7; default: all allowed,\n"
	    "physical cores first, within the cgroup's CPU quota; threads of\n"
	    "--policy thread-per-connection are not bound" },
	  set_cores },
	{ { "max-uploads", "N", "256",
	    "uploads taken and not yet finished; more get a 503" },
	  set_uploads },
	{ { "max-connections", "N", "512", "open connections" },
	  set_connections },
	{ { "max-body", "MIB", "32", "bytes of a request's body" }, set_body },
	{ { "max-side", "PIXELS", "65500",
	    "width and height of an uploaded picture" },
	  set_side },
	{ { "max-megapixels", "N", "100",
	    "width times height of an uploaded picture, and of its result, "
	    "in\nmillions" },
	  set_megapixels },
	{ { "max-scans", "N", "64",
	    "scans of a progressive JPEG, or 16 at --max-megapixels" },
	  set_scans },
	{ { "max-decode-memory", "MIB", "512", "memory to decode one picture" },
	  set_decode_memory },
	{ { "drain-timeout", "SECONDS", "8",
	    "on SIGTERM, wait this long for replies to be sent" },
	  set_drain },
	{ { "trace", "FILE", NULL,
	    "write every visit of a worker, for Perfetto or chrome://tracing" },
	  set_trace },
	{ { "save-graph", "FILE", NULL,
	    "on SIGTERM, write the measured stage graph" },
	  set_save_graph },
	{ { "graph", "FILE", NULL,
	    "with --balance partition: divide the stages as this graph says" },
	  set_graph },
	{ { "list-policies", NULL, NULL, "list the policies and exit" },
	  set_list },
	{ { "help", NULL, NULL, "print this and exit" }, set_help },
	{ { "version", NULL, NULL, "print the version and exit" },
	  set_version },
};

enum { TABLE_SIZE = sizeof(table) / sizeof(table[0]) };

static bool is_named(const struct schedule_flag *f, const char *arg)
{
	size_t bytes = strcspn(arg, "=");

	return arg[0] == '-' && arg[1] == '-' && strlen(f->name) == bytes - 2 &&
	       memcmp(f->name, arg + 2, bytes - 2) == 0;
}

/* The flag that "--name" or "--name=value" is for; NULL: none. */
static const struct schedule_flag *find(const char *arg, set_fn **set)
{
	*set = NULL;
	for (uint32_t i = 0; i < TABLE_SIZE; i++)
		if (is_named(&table[i].flag, arg)) {
			*set = table[i].set;
			return &table[i].flag;
		}
	for (const struct schedule_flag *f = schedule_flags; f->name != NULL;
	     f++)
		if (is_named(f, arg))
			return f;
	return NULL;
}

/* One of `table`, if it has a `set`, else one of scheduling. */
static bool set_flag(struct options *o, const struct schedule_flag *f,
		     set_fn *set, const char *value)
{
	return set != NULL ? set(o, value) :
			     schedule_set(&o->schedule, f->name, value,
					  pipeline_step_names, PIPELINE_STEPS);
}

/* Take argv[*at] and, if that is how it is given, its value behind it. */
static bool take(struct options *o, int argc, char *const *argv, int *at,
		 char *error)
{
	const char *arg = argv[*at];
	const char *value = strchr(arg, '=');
	set_fn *set;
	const struct schedule_flag *f = find(arg, &set);

	if (f == NULL)
		(void)snprintf(error, OPTIONS_ERROR_BYTES,
			       "there is no option '%s'", arg);
	else if (f->values == NULL && value != NULL)
		(void)snprintf(error, OPTIONS_ERROR_BYTES,
			       "--%s takes no value", f->name);
	else if (f->values != NULL && value == NULL && *at + 1 == argc)
		(void)snprintf(error, OPTIONS_ERROR_BYTES,
			       "--%s needs a value: %s", f->name, f->values);
	else {
		if (value != NULL)
			value++;
		else if (f->values != NULL)
			value = argv[++*at];
		if (set_flag(o, f, set, value))
			return true;
		(void)snprintf(error, OPTIONS_ERROR_BYTES,
			       "--%s: '%s' is not a valid %s", f->name, value,
			       f->values);
	}
	return false;
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
	*o = (struct options){ .what = OPTIONS_RUN };
	schedule_init(&o->schedule);
	for (uint32_t i = 0; i < PIPELINE_STEPS; i++)
		o->schedule.pool_threads[i] = pool_threads[i];
	for (uint32_t i = 0; i < TABLE_SIZE; i++) {
		bool ok = table[i].flag.initial == NULL ||
			  table[i].set(o, table[i].flag.initial);

		assert(ok);
		(void)ok;
	}
	for (int at = 1; at < argc; at++)
		if (!take(o, argc, argv, &at, error))
			return false;
	if (o->schedule.given == 0)
		set_best(&o->schedule);
	return true;
}

static void print_flag(FILE *to, const struct schedule_flag *f)
{
	(void)fprintf(to, "  --%s%s%s", f->name, f->values != NULL ? " " : "",
		      f->values != NULL ? f->values : "");
	if (f->initial != NULL)
		(void)fprintf(to, "   (default %s)", f->initial);
	(void)fputs("\n      ", to);
	for (const char *c = f->help; *c != '\0'; c++) {
		(void)fputc(*c, to);
		if (*c == '\n')
			(void)fputs("      ", to);
	}
	(void)fputc('\n', to);
}

void options_print_help(FILE *to)
{
	for (uint32_t i = 0; i < TABLE_SIZE; i++)
		print_flag(to, &table[i].flag);
	(void)fputs(
		"\nHow stages get the CPU (docs/scheduling.md).  Without any "
		"of "
		"these flags:\n--policy color --discipline srpt.  With some, "
		"the rest as below.\n\n",
		to);
	for (const struct schedule_flag *f = schedule_flags; f->name != NULL;
	     f++)
		print_flag(to, f);
}
