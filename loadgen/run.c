/* SPDX-License-Identifier: MIT */
#include "loadgen/run.h"

#include "base/clock.h"
#include "base/file.h"
#include "loadgen/client/arrivals.h"
#include "loadgen/client/client.h"
#include "loadgen/client/request.h"
#include "loadgen/report/report.h"
#include "loadgen/report/server_counter.h"
#include "loadgen/report/verify.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	FILES_SPARE = 32, /* open files that are not connections */
	CALIBRATE_PASSES = 3,
	PROGRESS_RECENT = 1000,
	/*
	 * The p90 in the progress line is that of the replies of the last 5 s.
	 */
	RECENT_S = 5,
};

#define LINE_CLEAR "\r\033[K"

/* Raise the limit of open files to its maximum.  False: it is too low. */
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

/* Prepend the option's name to the error. */
static bool setup_fail(struct error *error, const char *option)
{
	struct error why = *error;

	error_set(error, "--%s: %s", option, why.text);
	return false;
}

static bool setup_read_trace(struct setup *s, struct load_options *o,
			     struct error *error)
{
	if (!trace_read(&s->trace, o->trace, error))
		return setup_fail(error, "arrivals");
	if (!(o->rate_per_s > 0))
		o->rate_per_s = trace_rate_per_s(&s->trace);
	return true;
}

/* If `path` is NULL, no file is opened. */
static bool setup_open_file(const char *path, const char *option, FILE **out,
			    struct error *error)
{
	if (path == NULL)
		return true;
	*out = fopen(path, "we");
	if (*out != NULL)
		return true;
	return error_fail(error, "--%s %s: %s", option, path, strerror(errno));
}

static bool setup_open_json(struct setup *s, const char *path,
			    struct error *error)
{
	if (path == NULL)
		return true;
	s->json = file_open_figures(path, error);
	return s->json != NULL;
}

static bool setup_open_outputs(struct setup *s, const struct load_options *o,
			       struct error *error)
{
	if (o->save != NULL) {
		s->save = save_new(o->save, &s->dataset, error);
		if (s->save == NULL)
			return setup_fail(error, "save");
	}
	if (o->golden != NULL && access(o->golden, R_OK | X_OK) != 0) {
		error_set(error, "--golden %s: %s", o->golden, strerror(errno));
		return false;
	}
	if (!setup_open_json(s, o->json, error) ||
	    !setup_open_file(o->csv, "csv", &s->csv, error) ||
	    !setup_open_file(o->percentiles, "percentiles", &s->percentiles,
			     error))
		return false;
	if (s->csv != NULL)
		csv_write_names(s->csv);
	return true;
}

static bool setup_find_server(struct setup *s, const struct load_options *o,
			      struct error *error)
{
	struct url url = { 0 };

	if (o->server_pid != 0) {
		if (processes_add_pid(&s->server, (pid_t)o->server_pid))
			return true;
		error_set(error, "--pid %" PRIu64 ": no such process",
			  o->server_pid);
		return false;
	}
	if (!url_parse(&url, o->url, error))
		return false;
	processes_add_listeners(&s->server, url.host,
				(uint16_t)strtoul(url.port, NULL, 10));
	url_release(&url);
	return true;
}

static bool setup_load_dataset(struct setup *s, const struct load_options *o,
			       struct error *error)
{
	if (!dataset_load(&s->dataset, o->dataset, o->all_files,
			  DATASET_BYTES_MAX, error))
		return setup_fail(error, "dataset");
	return o->multipart == NULL ||
	       dataset_wrap(&s->dataset, o->multipart, error) ||
	       setup_fail(error, "multipart");
}

/* Does the server have the counter? */
static bool setup_try_counter(const struct setup *s,
			      const struct load_options *o, struct error *error)
{
	double ignored;

	return o->server_counter == NULL ||
	       server_counter_read(o, s->source.api_key, &ignored, error);
}

bool setup_init(struct setup *s, struct load_options *o, struct error *error)
{
	if (!raise_file_limit(o->connections, error))
		return false;
	if (o->trace != NULL && !setup_read_trace(s, o, error))
		return false;
	return setup_load_dataset(s, o, error) &&
	       request_source_init(&s->source, &s->dataset, o->url, o->params,
				   o->api_key_file, error) &&
	       setup_open_outputs(s, o, error) &&
	       setup_find_server(s, o, error) && setup_try_counter(s, o, error);
}

static bool setup_close_file(FILE *file, const char *option,
			     struct error *error)
{
	bool written;

	if (file == NULL)
		return true;
	errno = 0;
	written = !ferror(file);
	if (fclose(file) == 0 && written)
		return true;
	error_set(error, "--%s: %s", option,
		  errno != 0 ? strerror(errno) : "not all could be written");
	return false;
}

bool setup_finish(struct setup *s, struct error *error)
{
	bool whole = save_free(s->save, error) || setup_fail(error, "save");

	whole &= setup_close_file(s->json, "json", error);
	whole &= setup_close_file(s->csv, "csv", error);
	whole &= setup_close_file(s->percentiles, "percentiles", error);
	free(s->unloaded_ns);
	trace_release(&s->trace);
	request_source_release(&s->source);
	dataset_release(&s->dataset);
	*s = (struct setup){ 0 };
	return whole;
}

/* The progress line: a line on a terminal that is rewritten once a second. */
struct progress {
	FILE *out;             /* a terminal; NULL: show nothing */
	uint64_t request_goal; /* 0: the run ends by time */
	uint64_t began_ns;
	/* When the line was last shown; begins as began_ns. */
	uint64_t shown_ns;

	/* Written only by progress_*(); they begin as 0. */
	uint64_t shown_ok_count;
	uint64_t reply_count;
	struct {
		uint64_t ended_ns; /* since the run's begin */
		uint64_t response_ns;
	} recent[PROGRESS_RECENT]; /* the last 2xx replies, as a ring */
};

/* Count a result for the p90 of the last seconds. */
static void progress_note(struct progress *p, const struct result *result)
{
	size_t slot = p->reply_count % PROGRESS_RECENT;

	if (p->out == NULL || !result_is_ok(result))
		return;
	p->recent[slot].ended_ns = result->ended_ns;
	p->recent[slot].response_ns = result->response_ns;
	p->reply_count++;
}

/* NAN: there were too few 2xx replies in the last RECENT_S. */
static double recent_p90_ns(const struct progress *p, uint64_t now_ns)
{
	uint64_t run_ns = now_ns - p->began_ns;
	struct samples recent = { 0 };
	struct summary s;
	double ns = NAN;

	for (size_t i = 0; i < PROGRESS_RECENT && i < p->reply_count; i++)
		if (p->recent[i].ended_ns + RECENT_S * NS_PER_S >= run_ns &&
		    samples_reserve(&recent))
			samples_add(&recent, (double)p->recent[i].response_ns);
	if (samples_summarize(&recent, &s))
		ns = s.figures[FIGURE_P90];
	samples_release(&recent);
	return ns;
}

/* Was the line shown a second ago or earlier? */
static bool progress_is_due(const struct progress *p, uint64_t now_ns)
{
	return p->out != NULL && now_ns - p->shown_ns >= NS_PER_S;
}

/* Show `r`, and the number of requests in flight. */
static void progress_show(struct progress *p, const struct record *r,
			  uint32_t in_flight_count, uint64_t now_ns)
{
	double s = (double)(now_ns - p->shown_ns) / (double)NS_PER_S;
	double p90_ns = recent_p90_ns(p, now_ns);

	fprintf(p->out, LINE_CLEAR "%" PRIu64 " s, %" PRIu64,
		(now_ns - p->began_ns) / NS_PER_S, r->request_count);
	if (p->request_goal != 0)
		fprintf(p->out, "/%" PRIu64, p->request_goal);
	fprintf(p->out,
		" requests, %.1f responses/s, %" PRIu32 " in flight, p90 ",
		(double)(r->ok_count - p->shown_ok_count) / s, in_flight_count);
	if (!isnan(p90_ns))
		fprintf(p->out, "%.1f ms", p90_ns / (double)NS_PER_MS);
	else
		fprintf(p->out, "-");
	fprintf(p->out, ", %" PRIu64 " errors", r->request_count - r->ok_count);
	fflush(p->out);
	p->shown_ns = now_ns;
	p->shown_ok_count = r->ok_count;
}

/* Remove the line. */
static void progress_clear(const struct progress *p)
{
	if (p->out == NULL)
		return;
	fputs(LINE_CLEAR, p->out);
	fflush(p->out);
}

struct run {
	const struct setup *setup;
	const struct load_options *options;
	struct requests requests;
	struct arrivals arrivals; /* only in an open loop */
	struct client *client;
	struct progress progress;
	struct verify *verify; /* NULL: do not verify */
	double counter_before; /* --server-counter, before the run */
	struct outcome *outcome;
	struct error *error;
	bool is_broken; /* `error` is set */
};

static uint64_t peak_memory_bytes(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)usage.ru_maxrss * 1024;
}

static double megapixels(const struct dataset_file *file)
{
	return (double)file->image.width_px * (double)file->image.height_px /
	       1e6;
}

/* Verify a 2xx reply, and compare it with the saved one. */
static void run_check_reply(struct run *run, const struct result *result)
{
	const struct dataset_file *file =
		&run->setup->dataset.files[result->file];
	const char *path = file->path;
	const char *golden = run->options->golden;
	struct error why;

	if (run->verify != NULL)
		reply_checks_add(&run->outcome->verified, path,
				 verify_reply(run->verify, result->reply,
					      result->reply_bytes,
					      result->target, &file->image,
					      &why),
				 &why);
	if (golden != NULL)
		reply_checks_add(&run->outcome->golden, path,
				 saved_reply_equals(golden, path, result->reply,
						    result->reply_bytes, &why),
				 &why);
}

/* Add facts about the file to a result; the client does not know them. */
static void result_add_file(const struct setup *setup, struct result *result)
{
	result->megapixels = megapixels(&setup->dataset.files[result->file]);
	if (setup->unloaded_ns != NULL)
		result->unloaded_ns = setup->unloaded_ns[result->file];
}

/* Keep the first request that was not answered 2xx. */
static void note_failure(struct error *first, const char *path,
			 const struct result *result)
{
	if (result_is_ok(result) || *first->text != '\0')
		return;
	if (result->error != NULL)
		error_set(first, "%s: %s", path, result->error);
	else
		error_set(first, "%s: status %d", path, result->status);
}

/* A client_done_fn. */
static bool run_take_result(const struct result *from_client, void *arg)
{
	struct run *run = arg;
	const struct setup *setup = run->setup;
	struct result result = *from_client;

	result_add_file(setup, &result);
	note_failure(&run->outcome->first_failed,
		     setup->dataset.files[result.file].path, &result);
	if (!record_add(&run->outcome->record, &result)) {
		error_set(run->error, "out of memory for response times");
		run->is_broken = true;
	} else if (setup->save != NULL &&
		   !save_add(setup->save, &result, run->error)) {
		run->is_broken = true;
	}
	if (setup->csv != NULL)
		csv_write_row(setup->csv, &result,
			      setup->dataset.files[result.file].path);
	if (result_is_ok(&result))
		run_check_reply(run, &result);
	if ((double)result.ended_ns <
	    run->options->duration_s * (double)NS_PER_S)
		run->outcome->in_time_count++;
	progress_note(&run->progress, &result);
	return !run->is_broken;
}

/* A client_tick_fn. */
static void run_show_progress(uint32_t in_flight_count, void *arg)
{
	struct run *run = arg;
	uint64_t now_ns = clock_now_ns();

	if (progress_is_due(&run->progress, now_ns))
		progress_show(&run->progress, &run->outcome->record,
			      in_flight_count, now_ns);
}

static bool run_make_verify(struct run *run)
{
	if (run->options->verify == VERIFY_NONE)
		return true;
	run->verify = verify_new(run->options->verify);
	if (run->verify != NULL)
		return true;
	error_set(run->error, "--verify: out of memory");
	run->is_broken = true;
	return false;
}

static void run_init_arrivals(struct run *run)
{
	const struct load_options *o = run->options;

	if (o->arrivals == ARRIVALS_TRACE)
		arrivals_init_trace(&run->arrivals, &run->setup->trace,
				    o->rate_per_s);
	else
		arrivals_init(&run->arrivals, o->arrivals, o->rate_per_s,
			      o->seed);
}

static bool run_make_client(struct run *run, const volatile sig_atomic_t *stop)
{
	const struct load_options *o = run->options;
	struct client_config config = {
		.url = o->url,
		.ca_file = o->ca_file,
		.is_insecure = o->is_insecure,
		.requests = &run->requests,
		.connections = (uint32_t)o->connections,
		.duration_ns = (uint64_t)(o->duration_s * (double)NS_PER_S),
		.timeout_ns = (uint64_t)(o->timeout_s * (double)NS_PER_S),
		.keep_replies = run->setup->save != NULL ||
				o->verify != VERIFY_NONE || o->golden != NULL,
		.stop = stop,
		.done = run_take_result,
		.tick = run_show_progress,
		.arg = run,
	};

	if (o->arrivals != ARRIVALS_NONE) {
		run_init_arrivals(run);
		config.arrivals = &run->arrivals;
	}
	if (requests_begin(&run->requests))
		run->client = client_new(&config, run->error);
	else
		error_set(run->error, "out of memory for the requests");
	run->is_broken = run->client == NULL;
	return !run->is_broken;
}

static void run_send_all(struct run *run)
{
	struct server_watch watch;
	struct machine_watch machine;
	uint64_t before_ns;
	uint64_t now_ns = clock_now_ns();
	struct client_outcome ended;

	run->progress = (struct progress){
		.out = isatty(STDERR_FILENO) ? stderr : NULL,
		.request_goal =
			run->options->passes * run->setup->dataset.count,
		.began_ns = now_ns,
		.shown_ns = now_ns,
	};
	server_watch_begin(&watch, &run->setup->server);
	machine_watch_begin(&machine);
	before_ns = clock_cpu_ns();
	ended = client_run(run->client);
	run->outcome->client_cpu_s =
		(double)(clock_cpu_ns() - before_ns) / (double)NS_PER_S;
	machine_watch_end(&machine, &run->outcome->machine);
	server_watch_end(&watch, &run->outcome->server);
	record_halves(&run->outcome->record, run->outcome->half_means_ns);
	run->outcome->client_peak_memory_bytes = peak_memory_bytes();
	run->outcome->makespan_ns = ended.makespan_ns;
	progress_clear(&run->progress);
	if (ended.end == CLIENT_GAVE_UP)
		error_set(run->error, "gave up connecting: %s", ended.error);
	if (ended.end == CLIENT_BROKEN)
		error_set(run->error, "epoll failed");
	run->is_broken |=
		ended.end == CLIENT_GAVE_UP || ended.end == CLIENT_BROKEN;
}

static bool run_read_counter(struct run *run, double *value)
{
	if (run->options->server_counter != NULL &&
	    !server_counter_read(run->options, run->setup->source.api_key,
				 value, run->error))
		run->is_broken = true;
	return !run->is_broken;
}

/* A counter that has fallen is that of a server that was started again. */
static void run_count(struct run *run)
{
	double after = 0, counted;

	if (run->is_broken || run->options->server_counter == NULL ||
	    !run_read_counter(run, &after))
		return;
	counted = after - run->counter_before;
	if (counted >= 0) {
		run->outcome->counted = counted;
		return;
	}
	error_set(run->error,
		  "--server-counter %s: it fell from %.17g to %.17g in the run",
		  run->options->server_counter, run->counter_before, after);
	run->is_broken = true;
}

bool run_once(const struct setup *setup, const struct load_options *o,
	      const volatile sig_atomic_t *stop, struct outcome *out,
	      struct error *error)
{
	struct run run = {
		.setup = setup,
		.options = o,
		.requests = { .source = &setup->source,
			      .passes = o->passes,
			      .seed = o->seed },
		.outcome = out,
		.error = error,
	};

	out->counted = NAN;
	if (run_make_verify(&run) && run_make_client(&run, stop) &&
	    run_read_counter(&run, &run.counter_before)) {
		run_send_all(&run);
		run_count(&run);
	}
	client_free(run.client);
	verify_free(run.verify);
	requests_end(&run.requests);
	return !run.is_broken;
}

bool warm_up(const struct setup *setup, const struct load_options *o,
	     const volatile sig_atomic_t *stop, struct error *error)
{
	struct setup plain = *setup;
	struct load_options options = *o;
	struct outcome ignored = { 0 };
	bool whole;

	plain.save = NULL;
	plain.csv = NULL;
	options.verify = VERIFY_NONE;
	options.golden = NULL;
	options.server_counter = NULL;
	options.passes = 0;
	options.duration_s = o->warm_up_s;
	options.seed = ~o->seed; /* other arrivals than those of the run */
	whole = run_once(&plain, &options, stop, &ignored, error);
	outcome_release(&ignored);
	return whole;
}

/* The times of one file in ascending order. */
struct file_times {
	uint64_t ns[CALIBRATE_PASSES];
	unsigned ok_count;
};

/* A client_done_fn. */
static bool calibrate_take_result(const struct result *result, void *arg)
{
	struct file_times *all = arg;
	struct file_times *p = &all[result->file];
	unsigned slot;

	if (!result_is_ok(result))
		return true;
	for (slot = p->ok_count++;
	     slot > 0 && p->ns[slot - 1] > result->from_first_byte_ns; slot--)
		p->ns[slot] = p->ns[slot - 1];
	p->ns[slot] = result->from_first_byte_ns;
	return true;
}

static bool calibrate_send(const struct client_config *config,
			   struct error *error)
{
	struct client *client = client_new(config, error);
	struct client_outcome ended;

	if (client == NULL)
		return false;
	ended = client_run(client);
	if (ended.end != CLIENT_FINISHED)
		error_set(error, "--calibrate: %s",
			  ended.end == CLIENT_GAVE_UP ? ended.error :
			  ended.end == CLIENT_STOPPED ? "interrupted" :
							"epoll failed");
	client_free(client);
	return ended.end == CLIENT_FINISHED;
}

static bool calibrate_no_memory(struct error *error)
{
	error_set(error, "--calibrate: %s", strerror(ENOMEM));
	return false;
}

bool calibrate(struct setup *setup, const struct load_options *o,
	       const volatile sig_atomic_t *stop, struct error *error)
{
	uint32_t count = setup->dataset.count;
	struct file_times *times = calloc(count, sizeof(*times));
	struct requests requests = {
		.source = &setup->source,
		.passes = CALIBRATE_PASSES,
		.seed = o->seed,
	};
	struct client_config config = {
		.url = o->url,
		.ca_file = o->ca_file,
		.is_insecure = o->is_insecure,
		.requests = &requests,
		.connections = 1,
		.timeout_ns = (uint64_t)(o->timeout_s * (double)NS_PER_S),
		.stop = stop,
		.done = calibrate_take_result,
		.arg = times,
	};
	bool done;

	setup->unloaded_ns = calloc(count, sizeof(*setup->unloaded_ns));
	if (times == NULL || setup->unloaded_ns == NULL ||
	    !requests_begin(&requests))
		done = calibrate_no_memory(error);
	else
		done = calibrate_send(&config, error);
	for (uint32_t i = 0; done && i < count; i++)
		if (times[i].ok_count == CALIBRATE_PASSES)
			setup->unloaded_ns[i] =
				times[i].ns[CALIBRATE_PASSES / 2];
	requests_end(&requests);
	free(times);
	return done;
}
