/* SPDX-License-Identifier: MIT */
#include "loadgen/setup.h"

#include "loadgen/api_key.h"
#include "loadgen/csv.h"
#include "loadgen/params_file.h"
#include "loadgen/trace_file.h"
#include "loadgen/url.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

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

static bool read_api_key(struct setup *s, const struct options *o,
			 struct error *error)
{
	if (o->api_key_file == NULL)
		return true;
	s->api_key = api_key_read(o->api_key_file, error);
	return s->api_key != NULL || blame(error, "api-key-file");
}

/* NULL is no file, and fine. */
static bool open_file(const char *path, const char *option, FILE **out,
		      struct error *error)
{
	if (path == NULL)
		return true;
	*out = fopen(path, "we");
	if (*out != NULL)
		return true;
	error_set(error, "--%s %s: %s", option, path, strerror(errno));
	return false;
}

static bool open_outputs(struct setup *s, const struct options *o,
			 struct error *error)
{
	if (o->save != NULL) {
		s->save = save_new(o->save, &s->dataset, error);
		if (s->save == NULL)
			return blame(error, "save");
	}
	if (o->golden != NULL && access(o->golden, R_OK | X_OK) != 0) {
		error_set(error, "--golden %s: %s", o->golden, strerror(errno));
		return false;
	}
	if (!open_file(o->json, "json", &s->json, error) ||
	    !open_file(o->csv, "csv", &s->csv, error) ||
	    !open_file(o->percentiles, "percentiles", &s->percentiles, error))
		return false;
	if (s->csv != NULL)
		csv_write_names(s->csv);
	return true;
}

static bool find_server(struct setup *s, const struct options *o,
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

static bool load_dataset(struct setup *s, const struct options *o,
			 struct error *error)
{
	if (!dataset_load(&s->dataset, o->dataset, o->all_files,
			  DATASET_BYTES_MAX, error))
		return blame(error, "dataset");
	return o->multipart == NULL ||
	       dataset_wrap(&s->dataset, o->multipart, error) ||
	       blame(error, "multipart");
}

static bool make_targets(struct setup *s, const struct options *o,
			 struct error *error)
{
	struct url url = { 0 };
	bool made;

	if (o->params != NULL && !params_read(&s->params, o->params, error))
		return blame(error, "params");
	made = url_parse(&url, o->url, error) &&
	       targets_init(&s->targets, url.target, &s->dataset, &s->params,
			    error);
	url_release(&url);
	return made;
}

bool setup_init(struct setup *s, struct options *o, struct error *error)
{
	if (!raise_file_limit(o->connections, error))
		return false;
	if (o->trace != NULL && !read_trace(s, o, error))
		return false;
	return read_api_key(s, o, error) && load_dataset(s, o, error) &&
	       make_targets(s, o, error) && open_outputs(s, o, error) &&
	       find_server(s, o, error);
}

static bool close_file(FILE *file, const char *option, struct error *error)
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
	bool whole = save_free(s->save, error) || blame(error, "save");

	whole &= close_file(s->json, "json", error);
	whole &= close_file(s->csv, "csv", error);
	whole &= close_file(s->percentiles, "percentiles", error);
	free(s->unloaded_ns);
	free(s->api_key);
	trace_release(&s->trace);
	targets_release(&s->targets);
	params_release(&s->params);
	dataset_release(&s->dataset);
	*s = (struct setup){ 0 };
	return whole;
}
