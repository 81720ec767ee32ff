/* SPDX-License-Identifier: MIT */
#include "service/report/trace_file.h"

#include "service/report/trace_json.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { INTERVAL_US = 100000 };

struct trace_file {
	FILE *to;
	struct tracks tracks; /* the writer's, until it is joined */
	pthread_t writer;
	_Atomic bool stopping;
	int failed_errno; /* of the first write that failed; 0: none */
};

static void flush(struct trace_file *f)
{
	errno = 0;
	bool has_failed = fflush(f->to) != 0 || ferror(f->to);

	if (has_failed && f->failed_errno == 0)
		f->failed_errno = errno != 0 ? errno : EIO;
}

/* What there is no memory for is counted as missed. */
static void add(struct trace_file *f)
{
	(void)tracks_take(&f->tracks, 0, UINT64_MAX);
	trace_json_add(f->to, &f->tracks);
}

static void *write_spans(void *arg)
{
	struct trace_file *f = arg;

	(void)pthread_setname_np(pthread_self(), "trace");
	while (!atomic_load(&f->stopping)) {
		(void)usleep(INTERVAL_US);
		add(f);
		flush(f);
	}
	return NULL;
}

struct trace_file *trace_file_start(FILE *to, const struct pipeline *p)
{
	struct trace_file *f = calloc(1, sizeof(*f));

	if (f != NULL && tracks_init(&f->tracks, p, true)) {
		f->to = to;
		trace_json_begin(to, &f->tracks);
		if (pthread_create(&f->writer, NULL, write_spans, f) == 0)
			return f;
		tracks_release(&f->tracks);
	}
	(void)fclose(to);
	free(f);
	return NULL;
}

bool trace_file_stop(struct trace_file *f, uint64_t *missed_count)
{
	atomic_store(&f->stopping, true);
	(void)pthread_join(f->writer, NULL);
	add(f);
	*missed_count = f->tracks.missed_count;
	trace_json_end(f->to);
	tracks_release(&f->tracks);

	flush(f);
	if (fclose(f->to) != 0 && f->failed_errno == 0)
		f->failed_errno = errno;
	int failed_errno = f->failed_errno;

	free(f);
	errno = failed_errno;
	return failed_errno == 0;
}
