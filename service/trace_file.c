/* SPDX-License-Identifier: MIT */
#include "service/trace_file.h"

#include "service/trace_json.h"

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
};

static void *write_visits(void *arg)
{
	struct trace_file *f = arg;

	while (!atomic_load(&f->stopping)) {
		(void)usleep(INTERVAL_US);
		trace_json_add(&f->json);
		(void)fflush(f->json.to);
	}
	return NULL;
}

struct trace_file *trace_file_start(const char *path, const struct group *group)
{
	struct trace_file *f = calloc(1, sizeof(*f));
	FILE *to = f != NULL ? fopen(path, "we") : NULL;

	if (to == NULL) {
		free(f);
		return NULL;
	}
	if (trace_json_begin(&f->json, to, group, 0) &&
	    pthread_create(&f->writer, NULL, write_visits, f) == 0) {
		(void)pthread_setname_np(f->writer, "trace");
		return f;
	}
	(void)fclose(to);
	free(f->json.next);
	free(f);
	errno = EAGAIN;
	return NULL;
}

bool trace_file_stop(struct trace_file *f, uint64_t *missed_count)
{
	atomic_store(&f->stopping, true);
	(void)pthread_join(f->writer, NULL);
	trace_json_add(&f->json);
	*missed_count = f->json.missed_count;
	trace_json_end(&f->json);

	bool ok = !ferror(f->json.to);

	ok = fclose(f->json.to) == 0 && ok;
	free(f);
	return ok;
}
