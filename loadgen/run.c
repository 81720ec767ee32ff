/* SPDX-License-Identifier: MIT */
#include "loadgen/run.h"

#include "loadgen/arrivals.h"
#include "loadgen/client.h"
#include "loadgen/clock.h"
#include "loadgen/order.h"
#include "loadgen/progress.h"

#include <sys/resource.h>
#include <unistd.h>

struct run {
	const struct setup *setup;
	const struct options *options;
	struct order order;
	struct arrivals arrivals; /* of an open loop */
	struct client *client;
	struct progress progress;
	struct outcome *outcome;
	struct error *error;
	bool is_broken; /* `error` is set */
};

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

/* A client_done_fn. */
static bool take_result(const struct result *from_client, void *arg)
{
	struct run *run = arg;
	const struct dataset *dataset = &run->setup->dataset;
	struct result result = *from_client;
	struct record *record = &run->outcome->record;
	struct save *save = run->setup->save;
	uint64_t now_ns = clock_now_ns();

	result.megapixels = megapixels(&dataset->files[result.file]);
	if (!record_add(record, &result)) {
		error_set(run->error, "out of memory for response times");
		run->is_broken = true;
	} else if (save != NULL && !save_add(save, &result, run->error)) {
		run->is_broken = true;
	}
	if ((double)(now_ns - run->progress.began_ns) <
	    run->options->duration_s * (double)NS_PER_S)
		run->outcome->in_time_count++;
	progress_show(&run->progress, record, now_ns);
	return !run->is_broken;
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
	const struct dataset *dataset = &run->setup->dataset;
	struct client_config config = {
		.url = o->url,
		.dataset = dataset,
		.order = &run->order,
		.connections = (uint32_t)o->connections,
		.duration_ns = (uint64_t)(o->duration_s * (double)NS_PER_S),
		.timeout_ns = (uint64_t)(o->timeout_s * (double)NS_PER_S),
		.keep_replies = run->setup->save != NULL,
		.stop = stop,
		.done = take_result,
		.arg = run,
	};

	if (o->arrivals != ARRIVALS_NONE) {
		init_arrivals(run);
		config.arrivals = &run->arrivals;
	}
	if (order_init(&run->order, dataset->count, o->passes, o->seed))
		run->client = client_new(&config, run->error);
	else
		error_set(run->error, "out of memory for the order");
	run->is_broken = run->client == NULL;
	return !run->is_broken;
}

static void send_all(struct run *run)
{
	double before_s = cpu_s();
	uint64_t now_ns = clock_now_ns();
	enum client_end end;

	run->progress = (struct progress){
		.out = isatty(STDERR_FILENO) ? stderr : NULL,
		.request_goal =
			run->options->passes * run->setup->dataset.count,
		.began_ns = now_ns,
		.shown_ns = now_ns,
	};
	end = client_run(run->client);
	run->outcome->client_cpu_s = cpu_s() - before_s;
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
		.outcome = out,
		.error = error,
	};

	if (make_client(&run, stop))
		send_all(&run);
	client_free(run.client);
	order_release(&run.order);
	return !run.is_broken;
}

void outcome_release(struct outcome *out)
{
	record_release(&out->record);
	*out = (struct outcome){ 0 };
}
