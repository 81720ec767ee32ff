/* SPDX-License-Identifier: MIT */
/*
 * The program: options, then cores, pipeline and HTTP in this order; a signal,
 * then the same backwards.  The only file that prints or exits.
 */
#include "service/clock.h"
#include "service/http.h"
#include "service/listen.h"
#include "service/options.h"
#include "service/params.h"
#include "service/stats.h"

#include "stages/cores.h"
#include "stages/policy.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

enum {
	EXIT_USAGE = 2,
	OWN_FILES = 64,        /* descriptors that are not connections */
	LAST_REPLIES_MS = 500, /* to say 503 to what was abandoned */
};

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

/* Before any thread: they inherit the mask, so main() alone gets signals. */
static sigset_t hold_signals(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	return set;
}

static char *stats_of(void *arg)
{
	return stats_json(arg);
}

static void announce(const struct options *o, uint16_t port,
		     const struct pipeline_config *c)
{
	(void)fprintf(stderr,
		      "darkroom " DARKROOM_VERSION
		      ": listening on %s (port %u), policy %s, "
		      "%u x queues, cores",
		      o->listen, port, c->schedule.policy->name,
		      c->schedule.part_count);
	for (uint32_t i = 0; i < cores_count(c->cores); i++)
		(void)fprintf(stderr, "%c%u", i == 0 ? ' ' : ',',
			      cores_cpu(c->cores, i));
	(void)fputc('\n', stderr);
}

/* From the first connection to the last reply.  Returns the exit status. */
static int serve(const struct options *o, struct pipeline *pipeline,
		 const struct pipeline_config *config, const sigset_t *signals)
{
	const char *why;
	uint16_t port;
	int signal_number;
	struct stats_source stats = { pipeline, config, clock_now_ns() };
	int fd = listen_on(o->listen, &port, &why);

	if (fd < 0) {
		(void)fprintf(stderr, "darkroom: --listen: '%s': %s\n",
			      o->listen, why);
		return EXIT_USAGE;
	}
	struct http *http = http_start(&(struct http_config){
		.listen_fd = fd,
		.pipeline = pipeline,
		.connections_max = o->connections_max,
		.body_bytes_max = o->body_bytes_max,
		.stats_json = stats_of,
		.stats_arg = &stats,
	});

	if (http == NULL) {
		(void)fprintf(stderr, "darkroom: HTTP could not be started\n");
		return EXIT_FAILURE;
	}
	announce(o, port, config);
	(void)sigwait(signals, &signal_number);
	/* The next one ends the program at once. */
	(void)pthread_sigmask(SIG_UNBLOCK, signals, NULL);
	(void)fprintf(stderr, "darkroom: stopping\n");
	http_refuse(http);
	if (!http_wait_answered(http, o->drain_ms)) {
		(void)fprintf(stderr, "darkroom: not all could be answered in "
				      "time\n");
		pipeline_abandon(pipeline);
	}
	pipeline_stop(pipeline);
	(void)http_wait_answered(http, LAST_REPLIES_MS);
	http_stop(http);
	return EXIT_SUCCESS;
}

static int run(const struct options *o)
{
	const char *why;
	char error[SCHEDULE_ERROR_BYTES];
	sigset_t signals = hold_signals();
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
	struct pipeline *pipeline = pipeline_start(&config);
	int status = EXIT_FAILURE;

	if (pipeline == NULL)
		(void)fprintf(stderr,
			      "darkroom: the stages could not be started\n");
	else {
		status = serve(o, pipeline, &config, &signals);
		pipeline_stop(pipeline); /* where serve() could not start */
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
	switch (o.what) {
	case OPTIONS_HELP:
		print_help();
		return EXIT_SUCCESS;
	case OPTIONS_VERSION:
		(void)printf("darkroom " DARKROOM_VERSION "\n");
		return EXIT_SUCCESS;
	case OPTIONS_LIST:
		list_policies();
		return EXIT_SUCCESS;
	case OPTIONS_RUN:
		break;
	}
	if (!raise_file_limit(o.connections_max)) {
		(void)fprintf(stderr,
			      "darkroom: --max-connections: '%u' and %d more "
			      "are over the system's limit of open files\n",
			      o.connections_max, OWN_FILES);
		return EXIT_USAGE;
	}
	return run(&o);
}
