/* SPDX-License-Identifier: MIT */
#include "loadgen/run.h"

#include "loadgen/arrivals.h"
#include "loadgen/client.h"
#include "loadgen/clock.h"
#include "loadgen/csv.h"
#include "loadgen/golden.h"
#include "loadgen/progress.h"
#include "loadgen/promise.h"
#include "loadgen/requests.h"
#include "loadgen/verify.h"

#include <sys/resource.h>
#include <unistd.h>

struct run {
	const struct setup *setup;
	const struct options *options;
	struct requests requests;
	struct arrivals arrivals; /* of an open loop */
	struct client *client;
	struct progress progress;
	struct verify *verify; /* NULL: do not */
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

static double cpu_s(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static double megapixels(const struct dataset_file *file)
{
	return (double)file->image.width_px * (double)file->image.height_px /
	       1e6;
}

static bool verify(struct run *run, const struct result *result,
		   struct error *why)
{
	const struct jpeg_header *image =
		&run->setup->dataset.files[result->file].image;
	struct promise promise;
	bool is_promised = run->options->verify == VERIFY_SIZE &&
			   image->width_px > 0 &&
			   promise_find(&promise, result->target, image);

	return verify_reply(run->verify, result->reply, result->reply_bytes,
			    is_promised ? &promise : NULL, why);
}

/* Of a 2xx reply. */
static void check_reply(struct run *run, const struct result *result)
{
	const char *path = run->setup->dataset.files[result->file].path;
	const char *golden = run->options->golden;
	struct error why;

	if (run->verify != NULL)
		verdict_count(&run->outcome->verified, path,
			      verify(run, result, &why), &why);
	if (golden != NULL)
		verdict_count(&run->outcome->golden, path,
			      golden_compare(golden, path, result->reply,
					     result->reply_bytes, &why),
			      &why);
}

/* What the client does not know of the result. */
static void complete(const struct setup *setup, struct result *result)
{
	result->megapixels = megapixels(&setup->dataset.files[result->file]);
	if (setup->unloaded_ns != NULL)
		result->unloaded_ns = setup->unloaded_ns[result->file];
}

/* A client_done_fn. */
static bool take_result(const struct result *from_client, void *arg)
{
	struct run *run = arg;
	const struct setup *setup = run->setup;
	struct result result = *from_client;

	complete(setup, &result);
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
		check_reply(run, &result);
	if ((double)result.ended_ns <
	    run->options->duration_s * (double)NS_PER_S)
		run->outcome->in_time_count++;
	progress_note(&run->progress, &result);
	return !run->is_broken;
}

/* A client_tick_fn. */
static void show_progress(void *arg)
{
	struct run *run = arg;
	uint64_t now_ns = clock_now_ns();

	if (progress_is_due(&run->progress, now_ns))
		progress_show(&run->progress, &run->outcome->record,
			      client_in_flight_count(run->client), now_ns);
}

static bool make_verify(struct run *run)
{
	if (run->options->verify == VERIFY_NONE)
		return true;
	run->verify = verify_new();
	if (run->verify != NULL)
		return true;
	error_set(run->error, "--verify: out of memory");
	run->is_broken = true;
	return false;
}

static void init_arrivals(struct run *run)
{
	const struct options *o = run->options;

	if (o->arrivals == ARRIVALS_TRACE)
		arrivals_init_trace(&run->arrivals, &run->setup->trace,
				    o->rate_per_s);
	else
		arrivals_init(&run->arrivals, o->arrivals, o->rate_per_s,
			      o->seed);
}

static bool make_client(struct run *run, const volatile sig_atomic_t *stop)
{
	const struct options *o = run->options;
	struct client_config config = {
		.url = o->url,
		.requests = &run->requests,
		.connections = (uint32_t)o->connections,
		.duration_ns = (uint64_t)(o->duration_s * (double)NS_PER_S),
		.timeout_ns = (uint64_t)(o->timeout_s * (double)NS_PER_S),
		.keep_replies = run->setup->save != NULL ||
				o->verify != VERIFY_NONE || o->golden != NULL,
		.stop = stop,
		.done = take_result,
		.tick = show_progress,
		.arg = run,
	};

	if (o->arrivals != ARRIVALS_NONE) {
		init_arrivals(run);
		config.arrivals = &run->arrivals;
	}
	if (requests_begin(&run->requests))
		run->client = client_new(&config, run->error);
	else
		error_set(run->error, "out of memory for the requests");
	run->is_broken = run->client == NULL;
	return !run->is_broken;
}

static void send_all(struct run *run)
{
	struct server_watch watch;
	double before_s;
	uint64_t now_ns = clock_now_ns();
	enum client_end end;

	run->progress = (struct progress){
		.out = isatty(STDERR_FILENO) ? stderr : NULL,
		.request_goal =
			run->options->passes * run->setup->dataset.count,
		.began_ns = now_ns,
		.shown_ns = now_ns,
	};
	server_watch_begin(&watch, &run->setup->server);
	before_s = cpu_s();
	end = client_run(run->client);
	run->outcome->client_cpu_s = cpu_s() - before_s;
	server_watch_end(&watch, &run->outcome->server);
	run->outcome->client_peak_memory_bytes = peak_memory_bytes();
	run->outcome->makespan_ns = client_makespan_ns(run->client);
	progress_clear(&run->progress);
	if (end == CLIENT_GAVE_UP)
		error_set(run->error, "gave up connecting: %s",
			  client_error(run->client));
	if (end == CLIENT_BROKEN)
		error_set(run->error, "epoll failed");
	run->is_broken |= end == CLIENT_GAVE_UP || end == CLIENT_BROKEN;
}

bool run_once(const struct setup *setup, const struct options *o,
	      const volatile sig_atomic_t *stop, struct outcome *out,
	      struct error *error)
{
	struct run run = {
		.setup = setup,
		.options = o,
		.requests = { .dataset = &setup->dataset,
			      .params = &setup->params,
			      .fields = setup->api_key,
			      .targets = &setup->targets,
			      .passes = o->passes,
			      .seed = o->seed },
		.outcome = out,
		.error = error,
	};

	if (make_verify(&run) && make_client(&run, stop))
		send_all(&run);
	client_free(run.client);
	verify_free(run.verify);
	requests_end(&run.requests);
	return !run.is_broken;
}

void outcome_release(struct outcome *out)
{
	record_release(&out->record);
	*out = (struct outcome){ 0 };
}
