/* SPDX-License-Identifier: MIT */
#include "loadgen/calibrate.h"

#include "loadgen/client.h"
#include "loadgen/clock.h"
#include "loadgen/requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PASSES = 3 };

/* What came of one file; in ascending order. */
struct passes {
	uint64_t ns[PASSES];
	unsigned ok_count;
};

/* A client_done_fn. */
static bool take_result(const struct result *result, void *arg)
{
	struct passes *all = arg;
	struct passes *p = &all[result->file];
	unsigned place;

	if (!result_is_ok(result))
		return true;
	for (place = p->ok_count++;
	     place > 0 && p->ns[place - 1] > result->from_first_byte_ns;
	     place--)
		p->ns[place] = p->ns[place - 1];
	p->ns[place] = result->from_first_byte_ns;
	return true;
}

static bool send_all(const struct client_config *config, struct error *error)
{
	struct client *client = client_new(config, error);
	enum client_end end;

	if (client == NULL)
		return false;
	end = client_run(client);
	if (end != CLIENT_FINISHED)
		error_set(error, "--calibrate: %s",
			  end == CLIENT_GAVE_UP ? client_error(client) :
			  end == CLIENT_STOPPED ? "interrupted" :
						  "epoll failed");
	client_free(client);
	return end == CLIENT_FINISHED;
}

static bool out_of_memory(struct error *error)
{
	error_set(error, "--calibrate: %s", strerror(ENOMEM));
	return false;
}

bool calibrate(struct setup *setup, const struct options *o,
	       const volatile sig_atomic_t *stop, struct error *error)
{
	uint32_t count = setup->dataset.count;
	struct passes *passes = calloc(count, sizeof(*passes));
	struct requests requests = {
		.dataset = &setup->dataset,
		.params = &setup->params,
		.targets = &setup->targets,
		.fields = setup->api_key,
		.passes = PASSES,
		.seed = o->seed,
	};
	struct client_config config = {
		.url = o->url,
		.requests = &requests,
		.connections = 1,
		.timeout_ns = (uint64_t)(o->timeout_s * (double)NS_PER_S),
		.stop = stop,
		.done = take_result,
		.arg = passes,
	};
	bool done;

	setup->unloaded_ns = calloc(count, sizeof(*setup->unloaded_ns));
	if (passes == NULL || setup->unloaded_ns == NULL ||
	    !requests_begin(&requests))
		done = out_of_memory(error);
	else
		done = send_all(&config, error);
	for (uint32_t i = 0; done && i < count; i++)
		if (passes[i].ok_count == PASSES)
			setup->unloaded_ns[i] = passes[i].ns[PASSES / 2];
	requests_end(&requests);
	free(passes);
	return done;
}
