/* SPDX-License-Identifier: MIT */
#include "loadgen/setup.h"

#include "loadgen/trace_file.h"

#include <inttypes.h>
#include <sys/resource.h>

enum { FILES_SPARE = 32 }; /* open files that are no connection */

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

/* Say which option the error comes from. */
static bool blame(struct error *error, const char *option)
{
	struct error why = *error;

	error_set(error, "--%s: %s", option, why.text);
	return false;
}

static bool read_trace(struct setup *s, struct options *o, struct error *error)
{
	if (!trace_read(&s->trace, o->trace, error))
		return blame(error, "arrivals");
	if (!(o->rate_per_s > 0))
		o->rate_per_s = trace_rate_per_s(&s->trace);
	return true;
}

bool setup_init(struct setup *s, struct options *o, struct error *error)
{
	if (!raise_file_limit(o->connections, error))
		return false;
	if (o->trace != NULL && !read_trace(s, o, error))
		return false;
	if (!dataset_load(&s->dataset, o->dataset, o->all_files,
			  DATASET_BYTES_MAX, error))
		return blame(error, "dataset");
	if (o->save != NULL) {
		s->save = save_new(o->save, &s->dataset, error);
		if (s->save == NULL)
			return blame(error, "save");
	}
	return true;
}

bool setup_finish(struct setup *s, struct error *error)
{
	bool whole = save_free(s->save, error) || blame(error, "save");

	trace_release(&s->trace);
	dataset_release(&s->dataset);
	*s = (struct setup){ 0 };
	return whole;
}
