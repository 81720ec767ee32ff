/* SPDX-License-Identifier: MIT */
/*
 * The program: options, then cores, pipeline and server in this order, and the
 * same backwards.  Only this file and server.c print, only this one exits.
 */
#include "service/params.h"
#include "service/server.h"

#include "stages/cores.h"
#include "stages/policy.h"

#include <malloc.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { OWN_FILES = 64 }; /* descriptors that are not connections */

static void print_help(void)
{
	(void)printf("darkroom: an image upload service\n\n"
		     "usage: darkroom [OPTIONS]\n\n");
	options_print_help(stdout);
	(void)printf("\nPOST / takes a JPEG, raw or as multipart/form-data. "
		     "Query parameters:\n\n");
	params_print_help(stdout);
}

static void list_policies(void)
{
	for (const struct policy *const *p = policy_list; *p != NULL; p++)
		(void)printf("%-22s %s\n", (*p)->name, (*p)->summary);
}

static _Noreturn void refuse(const char *what, const char *value,
			     const char *why)
{
	(void)fprintf(stderr, "darkroom: %s: '%s' %s\n", what, value, why);
	exit(EXIT_USAGE);
}

/*
 * Pictures have a pool (buffers.h); this is for the bodies of requests, which
 * are larger than malloc's usual limit for giving memory back at once.  Keeping
 * them saves three in four page faults, for some 25 MiB more when idle.  An
 * arena per thread would keep that much for each; threads beyond the cores do
 * not run at the same time anyway.
 */
static void tune_malloc(uint32_t core_count)
{
	(void)mallopt(M_MMAP_THRESHOLD, 64 << 20);
	(void)mallopt(M_TRIM_THRESHOLD, 256 << 20);
	(void)mallopt(M_ARENA_MAX, (int)core_count);
}

/* Every connection is a file descriptor.  False: the system gives too few. */
static bool raise_file_limit(uint32_t connections_max)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		return true;
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
	return files.rlim_max >= (rlim_t)connections_max + OWN_FILES;
}

/* What the schedule has no use for. */
static void refuse_useless_files(const struct options *o,
				 const struct schedule *s)
{
	if (o->graph != NULL && s->balance != BALANCE_PARTITION)
		refuse("--graph", o->graph,
		       "is for --balance partition; see --save-graph");
	if (o->trace != NULL && s->policy->workers == POLICY_WORKERS_CALLER)
		refuse("--trace", o->trace,
		       "would stay empty: this policy has no workers");
}

static int run(const struct options *o)
{
	const char *why;
	char error[SCHEDULE_ERROR_BYTES];

	if (!raise_file_limit(o->connections_max)) {
		(void)fprintf(stderr,
			      "darkroom: --max-connections: '%u' and %d more "
			      "are over the system's limit of open files\n",
			      o->connections_max, OWN_FILES);
		return EXIT_USAGE;
	}

	sigset_t signals = server_hold_signals();
	struct cores *cores = cores_new(o->cores, &why);

	if (cores == NULL)
		refuse("--cores", o->cores != NULL ? o->cores : "default", why);

	tune_malloc(cores_count(cores));

	struct pipeline_config config = {
		.schedule = o->schedule,
		.cores = cores,
		.uploads_max = o->uploads_max,
		.limits = o->limits,
	};

	if (!schedule_complete(&config.schedule, PIPELINE_STEPS,
			       cores_count(cores), error)) {
		(void)fprintf(stderr, "darkroom: %s\n", error);
		exit(EXIT_USAGE);
	}
	refuse_useless_files(o, &config.schedule);

	struct pipeline *pipeline = pipeline_start(&config);
	int status = EXIT_FAILURE;

	if (pipeline == NULL)
		(void)fprintf(stderr,
			      "darkroom: the stages could not be started\n");
	else {
		status = server_run(o, pipeline, &config, &signals);
		pipeline_stop(pipeline); /* where it could not start */
	}
	pipeline_free(pipeline);
	cores_free(cores);
	return status;
}

int main(int argc, char **argv)
{
	struct options o;
	char error[OPTIONS_ERROR_BYTES];

	if (!options_parse(&o, argc, argv, error)) {
		(void)fprintf(stderr, "darkroom: %s; see --help\n", error);
		return EXIT_USAGE;
	}
	if (o.wants_help)
		print_help();
	else if (o.wants_version)
		(void)printf("darkroom " DARKROOM_VERSION "\n");
	else if (o.wants_policies)
		list_policies();
	else
		return run(&o);
	return EXIT_SUCCESS;
}
