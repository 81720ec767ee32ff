/* SPDX-License-Identifier: MIT */
/*
 * A publish-subscribe server in one process, after Larus and Parkes, "Using
 * Cohort Scheduling to Enhance Server Performance", USENIX 2002, section 5.2:
 * publications are matched against many subscriptions, in stages or in threads.
 * README.md of this folder's parent says what it prints.
 */
#include "server.h"

#include <stages/stage.h>

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char usage[] =
	"usage: pubsub [OPTIONS]\n"
	"Match publications against subscriptions, all of them random.\n"
	"  --threads          a thread for each publication that is under "
	"way,\n"
	"                     instead of stages\n"
	"  --cohort N         with stages: at most N publications in one "
	"visit;\n"
	"                     default: no limit\n"
	"  --shared           with stages: every core looks at all "
	"subscriptions\n"
	"  --cores LIST       with stages: on these CPUs, such as 0,2-3\n"
	"  --under-way N      publications at once; default 128\n"
	"  --publications N   default 100000\n"
	"  --subscriptions N  default 1000000\n"
	"  --attributes N     of a publication; default 32, at most 64\n"
	"  --values N         of an attribute; default 35\n"
	"  --equal N, --unequal N   predicates of a subscription, with =, and\n"
	"                     with < or >; default 2 and 3, at most 7 "
	"together\n"
	"  --subsets N        of the subscriptions, a stage for each; default "
	"16,\n"
	"                     at most 30\n"
	"  --seed N           of the random numbers; default 1\n"
	"  --check            compare each subscription with each "
	"publication,\n"
	"                     too; then they have any number of predicates\n"
	"  --help             print this\n";

struct options {
	struct workload workload;
	struct server_config server;
	uint32_t subscription_count;
	const char *cores;
	bool is_threaded, is_checked;
};

enum option_id {
	OPTION_THREADS = 1,
	OPTION_COHORT,
	OPTION_SHARED,
	OPTION_CORES,
	OPTION_UNDER_WAY,
	OPTION_PUBLICATIONS,
	OPTION_SUBSCRIPTIONS,
	OPTION_ATTRIBUTES,
	OPTION_VALUES,
	OPTION_EQUAL,
	OPTION_UNEQUAL,
	OPTION_SUBSETS,
	OPTION_SEED,
	OPTION_CHECK,
	OPTION_HELP,
};

static const struct option option_names[] = {
	{ "threads", no_argument, NULL, OPTION_THREADS },
	{ "cohort", required_argument, NULL, OPTION_COHORT },
	{ "shared", no_argument, NULL, OPTION_SHARED },
	{ "cores", required_argument, NULL, OPTION_CORES },
	{ "under-way", required_argument, NULL, OPTION_UNDER_WAY },
	{ "publications", required_argument, NULL, OPTION_PUBLICATIONS },
	{ "subscriptions", required_argument, NULL, OPTION_SUBSCRIPTIONS },
	{ "attributes", required_argument, NULL, OPTION_ATTRIBUTES },
	{ "values", required_argument, NULL, OPTION_VALUES },
	{ "equal", required_argument, NULL, OPTION_EQUAL },
	{ "unequal", required_argument, NULL, OPTION_UNEQUAL },
	{ "subsets", required_argument, NULL, OPTION_SUBSETS },
	{ "seed", required_argument, NULL, OPTION_SEED },
	{ "check", no_argument, NULL, OPTION_CHECK },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ NULL, 0, NULL, 0 },
};

static void wrong_usage(void)
{
	fputs(usage, stderr);
	exit(2);
}

/* Ends the program unless `text` is a number from `least` to `most`. */
static uint32_t number(const char *text, uint32_t least, uint32_t most)
{
	char *rest;
	unsigned long long n;

	errno = 0;
	n = strtoull(text, &rest, 10);
	if (*text < '0' || *text > '9' || *rest != '\0' || errno != 0 ||
	    n < least || n > most) {
		fprintf(stderr,
			"pubsub: %s is not a number from %" PRIu32
			" to %" PRIu32 "\n",
			text, least, most);
		exit(2);
	}
	return (uint32_t)n;
}

static void read_workload(struct options *o, int id, const char *text)
{
	if (id == OPTION_SUBSCRIPTIONS)
		o->subscription_count = number(text, 1, 100000000);
	else if (id == OPTION_ATTRIBUTES)
		o->workload.attributes = number(text, 1, ATTRIBUTES_MAX);
	else if (id == OPTION_VALUES)
		o->workload.values = number(text, 1, INT32_MAX);
	else if (id == OPTION_EQUAL)
		o->workload.equal = number(text, 0, PREDICATES_MAX);
	else if (id == OPTION_UNEQUAL)
		o->workload.unequal = number(text, 0, PREDICATES_MAX);
	else if (id == OPTION_SEED)
		o->workload.seed = number(text, 0, UINT32_MAX);
	else
		wrong_usage();
}

static void read_option(struct options *o, int id, const char *text)
{
	if (id == OPTION_HELP)
		exit(fputs(usage, stdout) < 0 || fflush(stdout) != 0);
	else if (id == OPTION_THREADS)
		o->is_threaded = true;
	else if (id == OPTION_COHORT)
		o->server.cohort_max = number(text, 1, 1000000);
	else if (id == OPTION_SHARED)
		o->server.is_shared = true;
	else if (id == OPTION_CORES)
		o->cores = text;
	else if (id == OPTION_UNDER_WAY)
		o->server.under_way_count = number(text, 1, 100000);
	else if (id == OPTION_PUBLICATIONS)
		o->server.publication_count = number(text, 1, UINT32_MAX);
	else if (id == OPTION_SUBSETS)
		o->server.subset_count = number(text, 1, SUBSETS_MAX);
	else if (id == OPTION_CHECK)
		o->is_checked = true;
	else
		read_workload(o, id, text);
}

static void read_options(struct options *o, int argc, char **argv)
{
	const struct workload *w = &o->workload;
	int id;

	while ((id = getopt_long(argc, argv, "", option_names, NULL)) != -1)
		read_option(o, id, optarg);
	if (optind < argc || w->equal + w->unequal > PREDICATES_MAX ||
	    (!o->is_checked && w->equal + w->unequal > w->attributes))
		wrong_usage();
	if (o->is_checked) {
		o->workload.is_odd = true;
		o->workload.lowest = -(int32_t)(w->values / 2);
	}
}

static struct subscription *subscriptions_new(const struct options *o)
{
	struct subscription *all =
		malloc(o->subscription_count * sizeof(all[0]));

	for (uint32_t i = 0; all != NULL && i < o->subscription_count; i++)
		workload_subscription(&o->workload, i, &all[i]);
	return all;
}

static bool serve(const struct options *o, struct server_result *result)
{
	char why[STAGES_WHY_BYTES];
	struct cores *cores;
	bool ok;

	if (o->is_threaded)
		return serve_by_threads(&o->server, result);
	cores = cores_new(o->cores, why);
	if (cores == NULL) {
		fprintf(stderr, "pubsub: --cores %s\n", why);
		return false;
	}
	ok = serve_by_stages(&o->server, cores, result);
	cores_free(cores);
	return ok;
}

/* Words and values in turn, for a reader and for scripts. */
static bool report(const struct options *o, const struct server_result *r)
{
	double count = (double)r->publication_count;

	printf("publications %" PRIu64 "  seconds %.3f  per-second %.1f"
	       "  cpu-us %.2f  matches %.2f  sum %016" PRIx64
	       "  cohort %.1f  megabytes %.1f",
	       r->publication_count, r->seconds, count / r->seconds,
	       1e6 * r->cpu_seconds / count, (double)r->match_count / count,
	       r->sum, r->cohort,
	       (double)matcher_bytes(o->server.matcher) / 1e6);
	if (o->is_checked)
		printf("  wrong %" PRIu64, r->wrong_count);
	printf("\n");
	return fflush(stdout) == 0 && r->wrong_count == 0;
}

int main(int argc, char **argv)
{
	struct options o = {
		.workload = { .seed = 1,
			      .attributes = 32,
			      .values = 35,
			      .equal = 2,
			      .unequal = 3 },
		.server = { .subset_count = 16,
			    .publication_count = 100000,
			    .under_way_count = 128 },
		.subscription_count = 1000000,
	};
	struct subscription *all;
	struct matcher *matcher;
	struct server_result result;
	bool ok;

	read_options(&o, argc, argv);
	all = subscriptions_new(&o);
	matcher = all == NULL ? NULL :
				matcher_new(all, o.subscription_count,
					    o.server.subset_count);
	o.server.matcher = matcher;
	o.server.workload = &o.workload;
	o.server.check_count = o.subscription_count;
	if (o.is_checked) {
		o.server.check = all;
	} else {
		free(all);
		all = NULL;
	}
	if (matcher == NULL)
		fprintf(stderr, "pubsub: no memory\n");
	ok = matcher != NULL && serve(&o, &result) && report(&o, &result);
	matcher_free(matcher);
	free(all);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
