/* SPDX-License-Identifier: MIT */
/*
 * The program: options, then cores and server in this order, and the same
 * backwards.  Only this file, opened.c and secrets.c print, before there is a
 * log, and only this one exits.
 */
#include "service/http/clients.h"
#include "service/http/http.h"
#include "service/http/listen.h"
#include "service/opened.h"
#include "service/pipeline/partition.h"
#include "service/http/query.h"
#include "service/server.h"

#include "stages/cores.h"
#include "stages/perf.h"
#include "stages/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { OWN_FILES = 64 }; /* descriptors that every server may have */

/* Or a socket takes the place of a closed stderr, and gets what is logged. */
static void fill_standard_files(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)open("/dev/null", O_RDWR);
}

static void print_help(void)
{
	(void)printf("darkroom: an image upload service\n\n"
		     "usage: darkroom [OPTIONS]\n\n");
	options_print_help(stdout);
	(void)printf("\nPOST / takes a JPEG, raw or as multipart/form-data. "
		     "Query parameters:\n\n");
	query_print_help(stdout);
}

static void list_policies(void)
{
	for (const struct policy *const *p = policy_list; *p != NULL; p++)
		(void)printf("%-22s %s\n", (*p)->name, (*p)->summary);
}

static _Noreturn void refuse(const struct options *o, const char *flag,
			     const char *value, const char *why)
{
	exit(opened_complain(o, EXIT_USAGE, flag, value, why));
}

/*
 * Uploads have a pool (buffers.h); this is for what little else there is.  An
 * arena for each thread would keep memory for each, and threads beyond the
 * cores do not run at the same time anyway.
 */
static void tune_malloc(uint32_t core_count)
{
	(void)mallopt(M_ARENA_MAX, (int)core_count);
}

/* At most.  Of a store: a file for each reply, and those of calls. */
static uint64_t count_files(const struct options *o,
			    const struct pipeline_config *c)
{
	uint64_t places = clients_places(o->connections_max);
	uint64_t workers = group_workers_max(&c->schedule, PIPELINE_STEPS,
					     cores_count(c->cores));
	uint64_t count = OWN_FILES + places + workers * PERF_COUNTERS;

	if (o->admin_listen != NULL)
		count += clients_places(HTTP_ADMIN_CONNECTIONS_MAX);
	if (o->store != NULL && workers > 0)
		count += places +
			 o->store_threads * (STORE_CALL_FILES + PERF_COUNTERS);
	if (o->store != NULL && workers == 0)
		count += places * (1 + STORE_CALL_FILES);
	return count;
}

static void raise_file_limit(const struct options *o,
			     const struct pipeline_config *c)
{
	struct rlimit files;
	char value[16];

	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		return;
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
	(void)snprintf(value, sizeof(value), "%u", o->connections_max);
	if (files.rlim_max < count_files(o, c))
		refuse(o, "max-connections", value,
		       "with some more, over the system's limit of open files");
}

static struct cores *find_cores(const struct options *o)
{
	const char *why;
	struct cores *cores = cores_new(o->cores, &why);

	if (cores == NULL)
		refuse(o, "cores", o->cores != NULL ? o->cores : "default",
		       why);
	return cores;
}

static void complete_schedule(const struct options *o, uint32_t core_count,
			      struct schedule *s)
{
	char error[SCHEDULE_ERROR_BYTES];

	*s = o->schedule;
	if (!schedule_complete(s, PIPELINE_STEPS, core_count, error)) {
		(void)fprintf(stderr, "darkroom: %s\n", error);
		exit(EXIT_USAGE);
	}
	if (o->express_ms > 0 && s->policy->workers == POLICY_WORKERS_CALLER) {
		char value[16];

		(void)snprintf(value, sizeof(value), "%ums", o->express_ms);
		refuse(o, "express", value,
		       "has no use here: this policy has no workers");
	}
	/* Files that it has no use for. */
	if (o->graph != NULL && s->balance != BALANCE_PARTITION)
		refuse(o, "graph", o->graph,
		       "it is for --balance partition; see --save-graph");
	if (o->trace != NULL && s->policy->workers == POLICY_WORKERS_CALLER)
		refuse(o, "trace", o->trace,
		       "it would stay empty: this policy has no workers");
}

/* Whatever is done next, with what queries are read later. */
static void check_presets(const struct options *o)
{
	char why[PARAMS_DETAIL_BYTES];

	if (!presets_check(o->presets, why))
		refuse(o, "presets", o->presets, why);
}

/* What else the server would find wrong at its start. */
static void check_start(const struct options *o)
{
	struct secrets secrets;
	struct stage_graph graph;
	const char *why;
	int status = secrets_load(&secrets, o);

	secrets_release(&secrets);
	if (status != EXIT_SUCCESS)
		exit(status);

	if (!listen_check(o->listen, &why))
		refuse(o, "listen", o->listen, why);
	if (o->admin_listen != NULL && !listen_check(o->admin_listen, &why))
		refuse(o, "admin-listen", o->admin_listen, why);
	if (o->graph != NULL && !partition_load(&graph, o->graph, &why))
		refuse(o, "graph", o->graph, why);
	if (o->save_graph != NULL && !opened_can_save_graph(o, &why))
		refuse(o, "save-graph", o->save_graph, why);
}

static int serve(const struct options *o, const struct pipeline_config *config)
{
	sigset_t signals = server_hold_signals();

	tune_malloc(cores_count(config->cores));
	return server_run(o, config, &signals);
}

/* Serve, or tell what would be served with. */
static int run(const struct options *o)
{
	struct cores *cores = find_cores(o);
	struct pipeline_config config = {
		.cores = cores,
		.uploads_max = o->uploads_max,
		.limits = o->limits,
		.memory_bytes_max = o->memory_bytes_max,
		.store_threads = o->store != NULL ? o->store_threads : 0,
		.errands_max = clients_places(o->connections_max),
		.express_ns = (uint64_t)o->express_ms * 1000000,
	};
	int status = EXIT_SUCCESS;

	complete_schedule(o, cores_count(cores), &config.schedule);
	raise_file_limit(o, &config);
	check_presets(o);
	if (o->wants_check)
		check_start(o);
	else if (o->wants_config)
		status = options_print(o, &config.schedule, stdout) ?
				 EXIT_SUCCESS :
				 EXIT_FAILURE;
	else
		status = serve(o, &config);
	cores_free(cores);
	return status;
}

int main(int argc, char **argv)
{
	struct options o;
	char error[OPTIONS_ERROR_BYTES];
	int status = EXIT_SUCCESS;

	fill_standard_files();
	if (!options_parse(&o, argc, argv, environ, error)) {
		(void)fprintf(stderr, "darkroom: %s; see --help\n", error);
		status = EXIT_USAGE;
	} else if (o.wants_help)
		print_help();
	else if (o.wants_version)
		(void)printf("darkroom " DARKROOM_VERSION "\n");
	else if (o.wants_policies)
		list_policies();
	else
		status = run(&o);
	options_release(&o);
	return status;
}
