/* SPDX-License-Identifier: MIT */
/*
 * The program: read the options, choose the cores, run the server.
 *
 * Until the log runs, only this file and resources.c print.  Only this file
 * calls exit().
 */
#include "base/error.h"
#include "service/decoder/decoders.h"
#include "service/direct/uthread.h"
#include "service/http/connection/clients.h"
#include "service/http/http.h"
#include "service/http/connection/listen.h"
#include "service/http/head/auth.h"
#include "service/http/head/browsers.h"
#include "service/http/head/formats.h"
#include "service/http/head/params.h"
#include "service/http/head/query.h"
#include "service/http/head/urls.h"
#include "service/http/handlers/watch/agent.h"
#include "service/pipeline/pipeline_graph.h"
#include "service/pipeline/watermarks.h"
#include "service/hooks/protocol.h"
#include "service/resources.h"
#include "service/server.h"
#include "service/user.h"

#include "stages/stage.h"
#include "stages/tally.h"
#include "stages/threads/resources.h"
#include "stages/flags.h"

#include "base/clock.h"
#include "base/file.h"

#include "version.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	OWN_FILES = 64,      /* descriptors that every server may need */
	IO_THREAD_FILES = 2, /* of each I/O thread: to wait, and to be woken */
};

static _Noreturn void refuse_flag(const struct options *o, const char *flag,
				  const char *value, const char *why)
{
	exit(resources_refuse(o, EXIT_USAGE, flag, value, why));
}

/*
 * Pictures have a pool of their own (buffers.h), so malloc() serves only small
 * things.  By default each thread could have an arena, and each arena would
 * keep memory.  One arena per core is enough, because no more threads than
 * cores run at the same time.
 */
static void tune_malloc(uint32_t core_count)
{
	(void)mallopt(M_ARENA_MAX, (int)core_count);
}

/*
 * The most files that can be open at the same time.  A store needs one for each
 * reply, and some for its calls.
 */
static uint64_t count_files(const struct options *o,
			    const struct pipeline_config *c)
{
	uint64_t slots = clients_slots(o->connections_max);
	uint64_t workers =
		group_workers_max(&c->schedule, pipeline_steps(c->stages).count,
				  cores_count(c->cores));
	uint64_t counters = o->counts_hardware ? PERF_COUNTERS : 0;
	uint64_t io_threads = options_io_threads(o, (uint32_t)workers);
	uint64_t count = OWN_FILES + slots + workers * counters +
			 io_threads * IO_THREAD_FILES;

	if (o->admin_listen != NULL)
		count += clients_slots(HTTP_ADMIN_CONNECTIONS_MAX);
	if (o->agent_listen != NULL)
		count += AGENT_FILES;
	if (o->store != NULL && pipeline_store_has_threads(&c->schedule))
		count += slots +
			 o->store_threads * (STORE_CALL_FILES + counters);
	else if (o->store != NULL)
		count += slots * (1 + STORE_CALL_FILES);
	return count;
}

/* The most connections for which `files` open files are enough, or 0. */
static uint32_t connections_for(const struct options *o,
				const struct pipeline_config *c, uint64_t files)
{
	struct options fewer = *o;
	uint32_t least = 0, most = o->connections_max;

	while (least < most) {
		fewer.connections_max = least + (most - least + 1) / 2;
		if (count_files(&fewer, c) <= files)
			least = fewer.connections_max;
		else
			most = fewer.connections_max - 1;
	}
	return least;
}

static _Noreturn void refuse_files(const struct options *o,
				   const struct pipeline_config *c,
				   uint64_t limit)
{
	uint32_t fitting = connections_for(o, c, limit);
	char value[16], why[160];
	int at = snprintf(why, sizeof(why),
			  "%" PRIu64 " open files are needed, and the limit "
			  "is %" PRIu64 " (ulimit -Hn): raise it",
			  count_files(o, c), limit);

	if (fitting > 0)
		(void)snprintf(why + at, sizeof(why) - (size_t)at,
			       ", or lower --max-connections to %" PRIu32,
			       fitting);
	(void)snprintf(value, sizeof(value), "%" PRIu32, o->connections_max);
	refuse_flag(o, "max-connections", value, why);
}

static void raise_file_limit(const struct options *o,
			     const struct pipeline_config *c)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		return;
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
	resources_set_capacity(resources_process(), RESOURCE_FILES,
			       files.rlim_max);
	if (files.rlim_max < count_files(o, c))
		refuse_files(o, c, files.rlim_max);
}

static struct cores *find_cores(const struct options *o)
{
	struct error why;
	struct cores *cores = cores_new(o->cores, why.text);

	if (cores == NULL)
		refuse_flag(o, "cores", o->cores != NULL ? o->cores : "default",
			    why.text);
	return cores;
}

/* Is the error about a value of the schedule that no source has set? */
static bool is_about_default(const struct options *o, const char *error)
{
	static const char *const flags[] = { "policy", "discipline" };
	char cause[24];

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		(void)snprintf(cause, sizeof(cause), " with --%s ", flags[i]);
		if (strstr(error, cause) != NULL)
			return !options_is_given(o, flags[i]);
	}
	return false;
}

/*
 * A pool that was not given is 0 in `o`.  The size of a pool of kernel threads
 * depends on the number of parts, which schedule_complete() finds.
 */
static bool complete_with_pools(const struct options *o, uint32_t core_count,
				struct schedule *s, struct error *error)
{
	if (!schedule_complete(s, pipeline_steps(o->stages).count, core_count,
			       error->text))
		return false;
	if (s->policy->workers != POLICY_WORKERS_STAY)
		return true;
	(void)memcpy(s->pool_threads, o->schedule.pool_threads,
		     sizeof(s->pool_threads));
	options_fit_pools(s, o->stages, core_count);
	return true;
}

static void complete_schedule(const struct options *o, uint32_t core_count,
			      struct schedule *s)
{
	char dropped[OPTIONS_DROPPED_BYTES];
	struct error error;

	*s = o->schedule;
	if (!complete_with_pools(o, core_count, s, &error)) {
		bool drops = is_about_default(o, error.text) &&
			     options_drop_best(o, dropped);

		(void)fprintf(stderr, "darkroom: %s%s%s\n", error.text,
			      drops ? "; " : "", drops ? dropped : "");
		exit(EXIT_USAGE);
	}
	options_choose_slice(o, s);
	if (o->io_threads > 0 && s->policy->workers == POLICY_WORKERS_CALLER) {
		char value[16];

		(void)snprintf(value, sizeof(value), "%" PRIu32, o->io_threads);
		refuse_flag(
			o, "io-threads", value,
			"has no effect: with this policy each connection has a "
			"thread");
	}
	/* Naming a file that would not be used is an error. */
	if (o->graph != NULL && s->balance != BALANCE_PARTITION)
		refuse_flag(
			o, "graph", o->graph,
			"it has an effect only with --balance partition; see "
			"--save-graph");
	if (o->trace != NULL && !schedule_has_tracks(s))
		refuse_flag(o, "trace", o->trace,
			    s->policy->has_thread_model ?
				    "it would stay empty: it needs --io async" :
				    "it would stay empty: this policy has no "
				    "workers");
}

static bool is_web_address(const char *url)
{
	return strncmp(url, "http://", 7) == 0 ||
	       strncmp(url, "https://", 8) == 0;
}

/*
 * Flags of a store or a cache that there is not.  Their default values may be
 * given, because --print-config prints them.
 */
static void check_store_needed(const struct options *o)
{
	const struct {
		const char *flag, *needed;
		bool is_there;
	} flags[] = {
		{ "store-quota", "it needs --store DIR", o->store != NULL },
		{ "store-threads", "it needs --store", o->store != NULL },
		{ "spool", "it needs --store DIR", o->store != NULL },
		{ "store-original", "it needs --store", o->store != NULL },
		{ "original-quota", "it needs --store DIR", o->store != NULL },
		{ "inbox-quota", "it needs --store", o->store != NULL },
		{ "inbox-time", "it needs --store", o->store != NULL },
		{ "store-cache-quota", "it needs --store-cache DIR",
		  o->store_cache != NULL },
	};
	char value[FLAG_NUMBER_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		if (!flags[i].is_there &&
		    options_is_changed(o, flags[i].flag, value))
			refuse_flag(o, flags[i].flag, value, flags[i].needed);
	if (o->inbox != NULL && o->store == NULL)
		refuse_flag(o, "inbox", o->inbox, "it needs --store");
}

/* Can originals be packed? */
static void check_packing(const struct options *o)
{
	if (o->store_original != ORIGINAL_JXL)
		return;
	if (!img_can_repack())
		refuse_flag(o, "store-original", "jxl",
			    "this program is built without libjxl, so it packs "
			    "no JPEGs: give raw");
	if (remote_is_url(o->store))
		refuse_flag(o, "store-original", "jxl",
			    "only the originals of a store in a folder are "
			    "packed: give raw");
}

/* Flags of webhooks. */
static void check_hooks(const struct options *o)
{
	const char *why,
		*first = o->webhook != NULL ? "webhook" : "webhook-allow";
	const char *value = o->webhook != NULL ? o->webhook : o->webhook_allow;
	struct hooks_schedule schedule;
	struct error error;

	if (!hooks_read_schedule(&schedule, o->webhook_retry, &error))
		refuse_flag(o, "webhook-retry", o->webhook_retry, error.text);
	if (o->webhook != NULL && !hook_check_url(o->webhook, &why))
		refuse_flag(o, "webhook", o->webhook, why);
	if (o->webhook_allow != NULL &&
	    !hook_check_origins(o->webhook_allow, &why))
		refuse_flag(o, "webhook-allow", o->webhook_allow, why);
	if (value == NULL && o->webhook_key_file != NULL)
		refuse_flag(o, "webhook-key-file", o->webhook_key_file,
			    "it needs --webhook or --webhook-allow");
	if (value == NULL)
		return;
	if (o->webhook_key_file == NULL)
		refuse_flag(o, first, value, "it needs --webhook-key-file");
	if (o->store == NULL)
		refuse_flag(o, first, value, "it needs --store");
	if (remote_is_url(o->store) && o->inbox == NULL)
		refuse_flag(o, first, value,
			    "with an object store it needs --inbox DIR, where "
			    "events wait");
}

/* s3:/photos and S3://photos would be folders. */
static void check_scheme(const struct options *o)
{
	const char *rest;
	char why[160];

	if (o->store == NULL || remote_is_url(o->store) ||
	    strncasecmp(o->store, "s3:", 3) != 0)
		return;
	rest = o->store + 3;
	(void)snprintf(why, sizeof(why), "did you mean s3://%.100s?",
		       rest + strspn(rest, "/"));
	refuse_flag(o, "store", o->store, why);
}

/* Flags of one kind of store with the other kind are mistakes. */
static void check_store(const struct options *o)
{
	const struct {
		const char *flag, *value;
	} remote[] = {
		{ "s3-endpoint", o->s3_endpoint },
		{ "s3-region", o->s3_region },
		{ "s3-path-style", o->s3_path_style ? "true" : NULL },
		{ "s3-credentials-file", o->s3_credentials_file },
		{ "store-cache", o->store_cache },
	};
	bool is_remote = o->store != NULL && remote_is_url(o->store);
	struct remote_config config;
	struct error why;
	char quota[FLAG_NUMBER_BYTES];

	check_scheme(o);
	check_store_needed(o);
	check_packing(o);
	for (size_t i = 0; !is_remote && i < ARRAY_SIZE(remote); i++)
		if (remote[i].value != NULL)
			refuse_flag(o, remote[i].flag, remote[i].value,
				    "it needs --store s3://BUCKET");
	if (!is_remote)
		return;
	if (!resources_read_store_url(o, &config, &why))
		refuse_flag(o, "store", o->store, why.text);
	if (options_is_changed(o, "store-quota", quota))
		refuse_flag(o, "store-quota", quota,
			    "it is for a folder; object stores have quotas of "
			    "their own");
	if (o->s3_endpoint != NULL && !is_web_address(o->s3_endpoint))
		refuse_flag(o, "s3-endpoint", o->s3_endpoint,
			    "it must begin with http:// or https://");
	if (o->spool == SPOOL_STORE && options_is_given(o, "spool"))
		refuse_flag(
			o, "spool", "store",
			"it needs --store DIR: an object store has no spool");
}

static bool has_port_0(const char *address)
{
	const char *colon = strrchr(address, ':');

	return colon != NULL && strcmp(colon, ":0") == 0;
}

/* Each port has an address of its own; the system chooses for port 0. */
static void check_addresses(const struct options *o)
{
	const char *const all[LISTEN_USES] = { o->listen, o->admin_listen,
					       o->agent_listen };
	char why[64];

	for (uint32_t i = 1; i < LISTEN_USES; i++)
		for (uint32_t k = 0; k < i; k++) {
			if (all[i] == NULL || all[k] == NULL ||
			    strcmp(all[i], all[k]) != 0 || has_port_0(all[i]))
				continue;
			(void)snprintf(why, sizeof(why),
				       "this is also the address of --%s",
				       listen_flags[k]);
			refuse_flag(o, listen_flags[i], all[i], why);
		}
}

static void check_urls(const struct options *o)
{
	const char *why;

	if (o->public_url != NULL && !urls_check_public(o->public_url, &why))
		refuse_flag(o, "public-url", o->public_url, why);
	if (o->admin_url != NULL && !urls_check_admin(o->admin_url, &why))
		refuse_flag(o, "admin-url", o->admin_url, why);
	if (o->admin_url != NULL && o->admin_listen == NULL)
		refuse_flag(o, "admin-url", o->admin_url,
			    "it needs --admin-listen");
}

/* Their names become values of a parameter. */
static void read_watermarks(const struct options *o, struct watermarks *w)
{
	const char *names[WATERMARKS_MAX];
	struct error error;

	if (!watermarks_read(w, o->watermark, &error))
		refuse_flag(o, "watermark", o->watermark, error.text);
	for (uint32_t i = 0; i < w->count; i++)
		names[i] = w->list[i].name;
	params_set_watermarks(names, w->count);
}

static void load_watermarks(const struct options *o, struct watermarks *w)
{
	struct error error;

	if (!watermarks_load(w, &error))
		refuse_flag(o, "watermark", o->watermark, error.text);
}

/* Check the flags that are needed only when a request comes. */
static void check_values(const struct options *o)
{
	struct networks networks;
	struct formats formats;
	char why_no_list[NETWORKS_WHY_BYTES];
	char why[PARAMS_DETAIL_BYTES];
	const char *why_not;
	struct error error;
	uint32_t isolated;

	if (!presets_check(o->presets, why))
		refuse_flag(o, "presets", o->presets, why);
	if (!formats_read(&formats, o->formats, IMG_RESULT_FORMATS, why))
		refuse_flag(o, "formats", o->formats, why);
	if (o->host_names != NULL &&
	    !browsers_check_names(o->host_names, &why_not))
		refuse_flag(o, "host", o->host_names, why_not);
	if (o->cors_origins != NULL &&
	    !browsers_check_origins(o->cors_origins, &why_not))
		refuse_flag(o, "cors-origin", o->cors_origins, why_not);
	check_urls(o);
	check_addresses(o);
	if (!networks_read(&networks, o->trusted_proxies, why_no_list))
		refuse_flag(o, "trusted-proxies", o->trusted_proxies,
			    why_no_list);
	if (!options_isolated(o, &isolated, &error))
		refuse_flag(o, "isolate", o->isolate, error.text);
	check_store(o);
	check_hooks(o);
}

/* For --check-config: what the server would refuse at its start. */
static void check_start(const struct options *o)
{
	struct stage_graph graph;
	const char *why;
	struct error why_not;
	uint32_t isolated;
	int status = resources_check_secrets(o);

	if (status == EXIT_SUCCESS)
		status = resources_check_remote(o);
	if (status == EXIT_SUCCESS)
		status = resources_check_hooks(o);
	if (status != EXIT_SUCCESS)
		exit(status);
	if (!listen_check(o->listen, &why))
		refuse_flag(o, "listen", o->listen, why);
	if (o->admin_listen != NULL && !listen_check(o->admin_listen, &why))
		refuse_flag(o, "admin-listen", o->admin_listen, why);
	if (o->agent_listen != NULL && !listen_check(o->agent_listen, &why))
		refuse_flag(o, "agent-listen", o->agent_listen, why);
	if (o->user != NULL && !user_check(o->user, &why_not))
		refuse_flag(o, "user", o->user, why_not.text);
	if (o->graph != NULL &&
	    !pipeline_graph_load(&graph, o->stages, o->graph, &why_not))
		refuse_flag(o, "graph", o->graph, why_not.text);
	if (o->save_graph != NULL && !resources_can_save_graph(o, &why_not))
		refuse_flag(o, "save-graph", o->save_graph, why_not.text);
	if (!options_isolated(o, &isolated, &why_not) ||
	    !decoders_check(o->isolate == NULL ? decoders_installed(isolated) :
						 isolated,
			    &why_not))
		refuse_flag(o, "isolate",
			    o->isolate != NULL ? o->isolate : "default",
			    why_not.text);
}

static int serve(const struct options *o, const struct pipeline_config *config)
{
	sigset_t signals = server_hold_signals();

	tune_malloc(cores_count(config->cores));
	return server_run(o, config, &signals);
}

static const struct caller_threads caller_threads = {
	.is_due = uthread_should_pause,
	.pause = uthread_pause,
	.kernel_thread = uthread_kernel_thread,
};

/* Serve; or, for --check-config and --print-config, check or print options. */
static int run(const struct options *o)
{
	struct cores *cores = find_cores(o);
	struct watermarks watermarks = { .count = 0 };
	struct pipeline_config config = {
		.stages = o->stages,
		.cores = cores,
		.uploads_max = o->uploads_max,
		.counts_hardware = o->counts_hardware,
		.splits_decode = o->split_decode == IDLE_CORES_AUTO,
		.decodes_early = o->early_decode == IDLE_CORES_AUTO,
		.limits = o->limits,
		.output_pixels_max = o->output_pixels_max,
		.cpu_ns_max = (uint64_t)o->cpu_ms_max * NS_PER_MS,
		.memory_bytes_max = o->memory_bytes_max - options_read_bytes(o),
		.store_threads = o->store != NULL ? o->store_threads : 0,
		.tasks_max = clients_slots(o->connections_max),
		.caller_threads = &caller_threads,
		.watermarks = &watermarks,
	};
	int status = EXIT_SUCCESS;

	complete_schedule(o, cores_count(cores), &config.schedule);
	raise_file_limit(o, &config);
	read_watermarks(o, &watermarks);
	check_values(o);
	if (!o->wants_config)
		load_watermarks(o, &watermarks);
	if (o->wants_check)
		check_start(o);
	else if (o->wants_config)
		status = options_print(o, &config.schedule, stdout) ?
				 EXIT_SUCCESS :
				 EXIT_FAILURE;
	else
		status = serve(o, &config);
	watermarks_release(&watermarks);
	cores_free(cores);
	return status;
}

/*
 * The variables are not for the processes that this one starts.  False: `error`
 * says what is wrong with the sockets of the service manager.
 */
static bool inherit_sockets(struct options *o, struct error *error)
{
	static const char *const names[] = { "LISTEN_PID", "LISTEN_FDS",
					     "LISTEN_FDNAMES" };
	const struct listen_variables v = {
		.pid = getenv(names[0]),
		.fds = getenv(names[1]),
		.names = getenv(names[2]),
	};
	bool ok = options_inherit(o, &v, error);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		(void)unsetenv(names[i]);
	return ok;
}

int main(int argc, char **argv)
{
	struct options o;
	struct error error;
	int status = EXIT_SUCCESS;

	file_fill_standard();
	if (!options_parse(&o, argc, argv, environ, &error)) {
		(void)fprintf(stderr, "darkroom: %s; see --help\n", error.text);
		status = EXIT_USAGE;
	} else if (program_answer(&options_program, &o.asked, DARKROOM_COMMIT,
				  stdout)) {
		status = EXIT_SUCCESS;
	} else if (o.wants_policies) {
		policies_print(stdout);
	} else if (!inherit_sockets(&o, &error)) {
		(void)fprintf(stderr, "darkroom: %s\n", error.text);
		status = EXIT_USAGE;
	} else {
		o.commit = DARKROOM_COMMIT;
		status = run(&o);
	}
	options_release(&o);
	return program_finish(&options_program, status);
}
