/* SPDX-License-Identifier: MIT */
/*
 * loadgen: options -> dataset -> client -> record -> report.
 *
 * The only file that prints to the user or ends the program.
 */
#include "loadgen/arrivals.h"
#include "loadgen/client.h"
#include "loadgen/clock.h"
#include "loadgen/dataset.h"
#include "loadgen/options.h"
#include "loadgen/order.h"
#include "loadgen/progress.h"
#include "loadgen/record.h"
#include "loadgen/report.h"
#include "loadgen/save.h"

#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum exit_code {
	EXIT_ALL_OK = 0,
	EXIT_NOT_ALL_OK = 1,
	EXIT_USAGE = 2,
	EXIT_INTERRUPTED = 130, /* as a shell reports SIGINT */
};

enum { FILES_SPARE = 32 }; /* open files that are no connection */

struct run {
	struct options options;
	struct dataset dataset;
	struct order order;
	struct arrivals arrivals; /* of an open loop */
	struct record record;
	struct save *save; /* NULL: do not save */
	FILE *json;        /* NULL: do not write */
	struct progress progress;
	struct client *client;
	struct error error; /* the last; empty: all is well */
};

static volatile sig_atomic_t interrupted;

static void interrupt(int signal_number)
{
	(void)signal_number;
	interrupted = 1;
}

/* Ctrl-C ends the run, and a second one the program. */
static void catch_signals(void)
{
	struct sigaction action = {
		.sa_handler = interrupt,
		.sa_flags = (int)SA_RESETHAND,
	};

	sigaction(SIGINT, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static double cpu_s(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* Let this process open as many files as it may.  False: too few. */
static bool raise_file_limit(uint64_t connections, struct error *error)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (connections + FILES_SPARE <= limit.rlim_max)
		return true;
	error_set(error,
		  "--connections %" PRIu64 ": this process may open %llu files",
		  connections, (unsigned long long)limit.rlim_max);
	return false;
}

static enum exit_code complain(const struct run *run)
{
	fprintf(stderr, "loadgen: %s\n", run->error.text);
	return EXIT_NOT_ALL_OK;
}

/* Say which option the error comes from. */
static bool blame(struct run *run, const char *option)
{
	struct error why = run->error;

	error_set(&run->error, "--%s: %s", option, why.text);
	return false;
}

static bool open_outputs(struct run *run)
{
	const struct options *o = &run->options;

	if (o->save != NULL) {
		run->save = save_new(o->save, &run->dataset, &run->error);
		if (run->save == NULL)
			return blame(run, "save");
	}
	if (o->json != NULL) {
		run->json = fopen(o->json, "we");
		if (run->json == NULL) {
			error_set(&run->error, "--json %s: %s", o->json,
				  strerror(errno));
			return false;
		}
	}
	return true;
}

/* A client_done_fn. */
static bool take_result(const struct result *result, void *arg)
{
	struct run *run = arg;

	if (!record_add(&run->record, result)) {
		error_set(&run->error, "out of memory for response times");
		return false;
	}
	progress_show(&run->progress, &run->record, clock_now_ns());
	return run->save == NULL || save_add(run->save, result, &run->error);
}

static bool make_client(struct run *run)
{
	const struct options *o = &run->options;
	struct client_config config = {
		.url = o->url,
		.dataset = &run->dataset,
		.order = &run->order,
		.connections = (uint32_t)o->connections,
		.duration_ns = (uint64_t)(o->duration_s * (double)NS_PER_S),
		.timeout_ns = (uint64_t)(o->timeout_s * (double)NS_PER_S),
		.keep_replies = run->save != NULL,
		.stop = &interrupted,
		.done = take_result,
		.arg = run,
	};

	if (o->arrivals != ARRIVALS_NONE) {
		arrivals_init(&run->arrivals, o->arrivals, o->rate_per_s,
			      o->seed);
		config.arrivals = &run->arrivals;
	}
	if (order_init(&run->order, run->dataset.count, o->passes, o->seed))
		run->client = client_new(&config);
	if (run->client == NULL)
		error_set(&run->error, "--connections %" PRIu64 ": %s",
			  o->connections, strerror(ENOMEM));
	return run->client != NULL;
}

/* All that can be wrong with the options comes out before anything is sent. */
static bool prepare(struct run *run)
{
	const struct options *o = &run->options;

	if (!raise_file_limit(o->connections, &run->error))
		return false;
	if (!dataset_load(&run->dataset, o->dataset, o->all_files,
			  DATASET_BYTES_MAX, &run->error))
		return blame(run, "dataset");
	return open_outputs(run) && make_client(run);
}

static bool write_json(struct run *run, const struct report *report)
{
	bool written;

	if (run->json == NULL)
		return true;
	written = report_write_json(run->json, report);
	if (fclose(run->json) == 0 && written)
		return true;
	error_set(&run->error, "--json %s: %s", run->options.json,
		  strerror(errno));
	return false;
}

static bool finish_saving(struct run *run)
{
	struct save *save = run->save;

	run->save = NULL;
	return save_free(save, &run->error) || blame(run, "save");
}

/* Send everything.  False: the error says what broke the run off. */
static bool send_all(struct run *run, struct report *report)
{
	double before_s = cpu_s();
	uint64_t now_ns = clock_now_ns();
	enum client_end end;

	run->progress = (struct progress){
		.out = isatty(STDERR_FILENO) ? stderr : NULL,
		.request_goal = run->options.passes * run->dataset.count,
		.began_ns = now_ns,
		.shown_ns = now_ns,
	};
	end = client_run(run->client);
	report->client_cpu_s = cpu_s() - before_s;
	report->makespan_ns = client_makespan_ns(run->client);
	progress_clear(&run->progress);
	if (end == CLIENT_GAVE_UP)
		error_set(&run->error, "gave up: %s",
			  client_error(run->client));
	if (end == CLIENT_BROKEN)
		error_set(&run->error, "libcurl or epoll failed");
	return run->error.text[0] == '\0';
}

static enum exit_code measure(struct run *run)
{
	const struct record *r = &run->record;
	struct report report = {
		.options = &run->options,
		.files = run->dataset.count,
		.record = &run->record,
	};
	enum exit_code code = EXIT_ALL_OK;

	if (!send_all(run, &report))
		code = complain(run);
	report_print(stdout, &report);
	if (!write_json(run, &report))
		code = complain(run);
	if (!finish_saving(run))
		code = complain(run);
	if (r->ok_count < r->request_count) {
		fprintf(stderr,
			"loadgen: %" PRIu64 " of %" PRIu64
			" requests were not answered 2xx\n",
			r->request_count - r->ok_count, r->request_count);
		code = EXIT_NOT_ALL_OK;
	}
	return interrupted ? EXIT_INTERRUPTED : code;
}

static void release(struct run *run)
{
	struct error ignored;

	client_free(run->client);
	save_free(run->save, &ignored);
	record_release(&run->record);
	order_release(&run->order);
	dataset_release(&run->dataset);
	curl_global_cleanup();
}

int main(int argc, char **argv)
{
	struct run run = { 0 };
	enum exit_code code = EXIT_ALL_OK;

	catch_signals();
	curl_global_init(CURL_GLOBAL_DEFAULT);
	if (!options_parse(&run.options, argc, argv, &run.error)) {
		complain(&run);
		fprintf(stderr, "Try 'loadgen --help'.\n");
		code = EXIT_USAGE;
	} else if (run.options.help) {
		options_print_help(stdout);
	} else if (!prepare(&run)) {
		complain(&run);
		code = EXIT_USAGE;
	} else {
		code = measure(&run);
	}
	release(&run);
	return code;
}
