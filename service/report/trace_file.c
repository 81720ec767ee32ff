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
	struct trace_json json; /* the writer's, until it is joined */
	pthread_t writer;
	_Atomic bool stopping;
	int failed_errno; /* of the first write that failed; 0: none */
};

static void flush(struct trace_file *f)
{
	errno = 0;
	bool has_failed = fflush(f->json.to) != 0 || ferror(f->json.to);

	if (has_failed && f->failed_errno == 0)
		f->failed_errno = errno != 0 ? errno : EIO;
}

static void *write_visits(void *arg)
{
	struct trace_file *f = arg;

	(void)pthread_setname_np(pthread_self(), "trace");
	while (!atomic_load(&f->stopping)) {
		(void)usleep(INTERVAL_US);
		trace_json_add(&f->json);
		flush(f);
	}
	return NULL;
}

struct trace_file *trace_file_start(FILE *to, const struct group *group)
{
	struct trace_file *f = calloc(1, sizeof(*f));

	if (f != NULL && trace_json_begin(&f->json, to, group, 0) &&
	    pthread_create(&f->writer, NULL, write_visits, f) == 0)
		return f;
	(void)fclose(to);
	if (f != NULL)
		free(f->json.next);
	free(f);
	return NULL;
}

bool trace_file_stop(struct trace_file *f, uint64_t *missed_count)
{
	atomic_store(&f->stopping, true);
	(void)pthread_join(f->writer, NULL);
	trace_json_add(&f->json);
	*missed_count = f->json.missed_count;
	trace_json_end(&f->json);

	flush(f);
	if (fclose(f->json.to) != 0 && f->failed_errno == 0)
		f->failed_errno = errno;
	int failed_errno = f->failed_errno;

	free(f);
	errno = failed_errno;
	return failed_errno == 0;
}
