/* SPDX-License-Identifier: MIT */
#include "service/options.h"

#include "stages/policy.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { REPLICAS_PER_CORE = 0, POOL_THREADS_MAX = 1024 };

/* What is being read, beside the options themselves. */
struct parse {
	struct options *o;
	uint32_t pools_given; /* bit i: of step i */
};

/* Each takes the text after "=".  False: it is not what `values` says. */
typedef bool set_fn(struct parse *p, const char *text);

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

static bool set_listen(struct parse *p, const char *text)
{
	p->o->listen = text;
	return true;
}

static bool set_policy(struct parse *p, const char *text)
{
	p->o->policy = policy_find(text);
	return p->o->policy != NULL;
}

static bool set_balance(struct parse *p, const char *text)
{
	static const char replicate[] = "replicate";
	size_t bytes = sizeof(replicate) - 1;

	if (strcmp(text, "shared") == 0) {
		p->o->replica_count = 1;
		return true;
	}
	p->o->replica_count = REPLICAS_PER_CORE;
	if (strncmp(text, replicate, bytes) != 0)
		return false;
	if (text[bytes] == '\0')
		return true;
	return text[bytes] == '=' &&
	       to_number32(text + bytes + 1, 1, 1024, &p->o->replica_count);
}

static bool set_cores(struct parse *p, const char *text)
{
	p->o->cores = text;
	return true;
}

/* One "stage=threads"; ends where the next begins. */
static bool set_pool_entry(struct parse *p, const char *text, size_t bytes)
{
	char number[16];

	for (uint32_t i = 0; i < PIPELINE_STEPS; i++) {
		const char *name = pipeline_step_name(i);
		size_t name_bytes = strlen(name);

		if (bytes <= name_bytes ||
		    memcmp(text, name, name_bytes) != 0 ||
		    text[name_bytes] != '=')
			continue;
		text += name_bytes + 1;
		bytes -= name_bytes + 1;
		if (bytes >= sizeof(number))
			return false;
		memcpy(number, text, bytes);
		number[bytes] = '\0';
		if (p->pools_given & (1u << i))
			return false;
		p->pools_given |= 1u << i;
		return to_number32(number, 1, POOL_THREADS_MAX,
				   &p->o->threads[i]);
	}
	return false;
}

static bool set_pool(struct parse *p, const char *text)
{
	for (;;) {
		size_t bytes = strcspn(text, ",");

		if (!set_pool_entry(p, text, bytes))
			return false;
		if (text[bytes] == '\0')
			return true;
		text += bytes + 1;
	}
}

static bool set_uploads(struct parse *p, const char *text)
{
	return to_number32(text, 1, 1000000, &p->o->uploads_max);
}

static bool set_connections(struct parse *p, const char *text)
{
	return to_number32(text, 1, 1000000, &p->o->connections_max);
}

static bool set_body(struct parse *p, const char *text)
{
	uint64_t mib;

	if (!to_number(text, 1, 4095, &mib))
		return false;
	p->o->body_bytes_max = mib << 20;
	return true;
}

static bool set_side(struct parse *p, const char *text)
{
	return to_number32(text, 1, 65500, &p->o->limits.side_px_max);
}

static bool set_megapixels(struct parse *p, const char *text)
{
	uint64_t megapixels;

	if (!to_number(text, 1, 4290, &megapixels))
		return false;
	p->o->limits.pixels_max = megapixels * 1000000;
	return true;
}

static bool set_scans(struct parse *p, const char *text)
{
	return to_number32(text, 1, 1000, &p->o->limits.scans_max);
}

static bool set_decode_memory(struct parse *p, const char *text)
{
	uint64_t mib;

	if (!to_number(text, 1, 65536, &mib))
		return false;
	p->o->limits.decode_bytes_max = mib << 20;
	return true;
}

static bool set_drain(struct parse *p, const char *text)
{
	uint32_t seconds;

	if (!to_number32(text, 0, 3600, &seconds))
		return false;
	p->o->drain_ms = seconds * 1000;
	return true;
}

static bool set_list(struct parse *p, const char *text)
{
	(void)text;
	p->o->what = OPTIONS_LIST;
	return true;
}

static bool set_help(struct parse *p, const char *text)
{
	(void)text;
	p->o->what = OPTIONS_HELP;
	return true;
}

static bool set_version(struct parse *p, const char *text)
{
	(void)text;
	p->o->what = OPTIONS_VERSION;
	return true;
}

static const struct {
	const char *name;
	const char *values;  /* NULL: takes none */
	const char *initial; /* set before the command line is read; or NULL */
	set_fn *set;
	const char *help;
} table[] = {
	{ "listen", "ADDRESS:PORT", "127.0.0.1:8080", set_listen,
	  "where to accept connections; port 0: any free one" },
	{ "policy", "NAME", "cohort", set_policy,
	  "how stages get the CPU; see --list-policies" },
	{ "balance", "replicate[=N]|shared", "shared", set_balance,
	  "a stage graph per core (or N of them), to which uploads are dealt\n"
	  "round robin; or one for all cores" },
	{ "cores", "LIST", NULL, set_cores,
	  "CPUs to run stages on, such as 0,2,4-7; default: all allowed,\n"
	  "physical cores first, within the cgroup's CPU quota" },
	{ "pool", "STAGE=THREADS,...", "decode=3,scale=1,blur=2,encode=3",
	  set_pool, "threads of each stage with --policy pool-per-stage" },
	{ "max-uploads", "N", "256", set_uploads,
	  "uploads taken and not yet finished; more get a 503" },
	{ "max-connections", "N", "512", set_connections, "open connections" },
	{ "max-body", "MIB", "32", set_body, "bytes of a request's body" },
	{ "max-side", "PIXELS", "65500", set_side,
	  "width and height of an uploaded picture" },
	{ "max-megapixels", "N", "100", set_megapixels,
	  "width times height of an uploaded picture, and of its result, in\n"
	  "millions" },
	{ "max-scans", "N", "64", set_scans,
	  "scans of a progressive JPEG, or 16 at --max-megapixels" },
	{ "max-decode-memory", "MIB", "512", set_decode_memory,
	  "memory to decode one picture" },
	{ "drain-timeout", "SECONDS", "8", set_drain,
	  "on SIGTERM, wait this long for replies to be sent" },
	{ "list-policies", NULL, NULL, set_list, "list the policies and exit" },
	{ "help", NULL, NULL, set_help, "print this and exit" },
	{ "version", NULL, NULL, set_version, "print the version and exit" },
};

enum { TABLE_SIZE = sizeof(table) / sizeof(table[0]) };

/* The entry that "--name" or "--name=value" is for; TABLE_SIZE: none. */
static uint32_t find(const char *arg)
{
	size_t bytes = strcspn(arg, "=");

	for (uint32_t i = 0; i < TABLE_SIZE; i++)
		if (arg[0] == '-' && arg[1] == '-' &&
		    strlen(table[i].name) == bytes - 2 &&
		    memcmp(table[i].name, arg + 2, bytes - 2) == 0)
			return i;
	return TABLE_SIZE;
}

/* Take argv[*at] and, if that is how it is given, its value behind it. */
static bool take(struct parse *p, int argc, char *const *argv, int *at,
		 char *error)
{
	const char *arg = argv[*at];
	const char *value = strchr(arg, '=');
	uint32_t i = find(arg);

	if (i == TABLE_SIZE)
		(void)snprintf(error, OPTIONS_ERROR_BYTES,
			       "there is no option '%s'", arg);
	else if (table[i].values == NULL && value != NULL)
		(void)snprintf(error, OPTIONS_ERROR_BYTES,
			       "--%s takes no value", table[i].name);
	else if (table[i].values != NULL && value == NULL && *at + 1 == argc)
		(void)snprintf(error, OPTIONS_ERROR_BYTES,
			       "--%s needs a value: %s", table[i].name,
			       table[i].values);
	else {
		if (value != NULL)
			value++;
		else if (table[i].values != NULL)
			value = argv[++*at];
		if (table[i].set(p, value))
			return true;
		(void)snprintf(error, OPTIONS_ERROR_BYTES,
			       "--%s: '%s' is not a valid %s", table[i].name,
			       value, table[i].values);
	}
	return false;
}

/* Combinations that make no sense are refused, with the reason. */
static bool combine(const struct parse *p, char *error)
{
	struct options *o = p->o;
	bool pools = o->policy->workers == POLICY_WORKERS_STAY;
	const char *why = NULL;

	if (p->pools_given != 0 && !pools)
		why = "--pool: this policy has no pools";
	if (o->policy->workers == POLICY_WORKERS_CALLER &&
	    o->replica_count != 1)
		why = "--balance: this policy has no queues to replicate";
	if (why != NULL)
		(void)snprintf(error, OPTIONS_ERROR_BYTES, "%s (--policy %s)",
			       why, o->policy->name);
	return why == NULL;
}

bool options_parse(struct options *o, int argc, char *const *argv,
		   char error[OPTIONS_ERROR_BYTES])
{
	struct parse p = { .o = o };

	*o = (struct options){ .what = OPTIONS_RUN };
	for (uint32_t i = 0; i < TABLE_SIZE; i++) {
		bool ok = table[i].initial == NULL ||
			  table[i].set(&p, table[i].initial);

		assert(ok);
		(void)ok;
	}
	p.pools_given = 0;
	for (int at = 1; at < argc; at++)
		if (!take(&p, argc, argv, &at, error))
			return false;
	return combine(&p, error);
}

void options_print_help(FILE *to)
{
	for (uint32_t i = 0; i < TABLE_SIZE; i++) {
		(void)fprintf(to, "  --%s%s%s", table[i].name,
			      table[i].values != NULL ? " " : "",
			      table[i].values != NULL ? table[i].values : "");
		if (table[i].initial != NULL)
			(void)fprintf(to, "   (default %s)", table[i].initial);
		(void)fputs("\n      ", to);
		for (const char *c = table[i].help; *c != '\0'; c++) {
			(void)fputc(*c, to);
			if (*c == '\n')
				(void)fputs("      ", to);
		}
		(void)fputc('\n', to);
	}
}
