/* SPDX-License-Identifier: MIT */
/*
 * Three steps; this file has a part for each:
 *
 *	threads' rings -> struct tracks (spans, sorted) -> JSON -> file or reply
 *
 * Viewers want spans sorted by time, and a visit before its events: the first
 * event starts when the visit does, and the last one ends when it does.  Sleeps
 * are left out; they are the gaps between visits.  A viewer fills each slice
 * with colour, so a sleep would look like work.
 */
#include "service/report/report.h"

#include "base/json.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* The spans of one worker, or another kernel thread (group_track_count()). */
struct track {
	const struct stage_group *group;
	uint32_t number;     /* within the group */
	uint32_t step_first; /* see struct worker_group */
	uint64_t next;       /* number of the next span to read */
};

struct track_span {
	struct span span;
	uint32_t track;
	bool is_first; /* this is the first event of its request */
};

struct tracks {
	struct track *tracks;
	uint32_t track_count;
	bool is_followed;
	uint32_t step_first;      /* where requests begin */
	struct track_span *spans; /* taken by the last tracks_take() */
	size_t span_count, span_room;
	/* Spans that were overwritten, or for which there was no memory. */
	uint64_t missed_count;
};

enum {
	CHUNK_SPANS = 256,
	ROOM_FIRST = 1024,
	/*
	 * If more events than this wait for the end of their visit, they are
	 * taken before the visit has ended, because the ring would overwrite
	 * them.
	 */
	OPEN_MAX = TRACE_SPANS / 2,
};

/*
 * Begin the tracks of a pipeline, which must outlive them.
 *
 * is_followed: tracks_take() is called again and again.  The events of a visit
 * that has not ended stay in the ring until the visit ends, if there is room.
 * A request's first event is one of the first step.
 * Not followed: tracks_take() is called once.  A request's first event is the
 * earliest one that was found.
 *
 * False: no memory; there is nothing to release.
 */
static bool tracks_init(struct tracks *t, const struct pipeline *p,
			bool is_followed)
{
	struct worker_group groups[WORKER_GROUPS_MAX];
	uint32_t group_count = pipeline_worker_groups(p, groups), count = 0;

	for (uint32_t i = 0; i < group_count; i++)
		count += group_track_count(groups[i].group);
	*t = (struct tracks){
		.is_followed = is_followed,
		.step_first = groups[0].step_first,
		.tracks = calloc(count, sizeof(*t->tracks)),
	};
	if (t->tracks == NULL)
		return false;
	for (uint32_t i = 0; i < group_count; i++)
		for (uint32_t k = 0; k < group_track_count(groups[i].group);
		     k++)
			t->tracks[t->track_count++] = (struct track){
				.group = groups[i].group,
				.number = k,
				.step_first = groups[i].step_first,
			};
	return true;
}

static uint32_t step_of(const struct tracks *t, const struct track_span *s)
{
	return t->tracks[s->track].step_first + s->span.stage;
}

static const char *tracks_stage_name(const struct tracks *t,
				     const struct track_span *s)
{
	return pipeline_step_names[step_of(t, s)];
}

/* False: no memory. */
static bool keep_span(struct tracks *t, uint32_t track, const struct span *span)
{
	if (t->span_count == t->span_room) {
		size_t room = t->span_room > 0 ? 2 * t->span_room : ROOM_FIRST;
		struct track_span *spans =
			realloc(t->spans, room * sizeof(*spans));

		if (spans == NULL)
			return false;
		t->spans = spans;
		t->span_room = room;
	}
	t->spans[t->span_count++] =
		(struct track_span){ .span = *span, .track = track };
	return true;
}

/*
 * The number of events that wait for the end of their visit, after `span`;
 * `open` is the number before it.
 */
static uint64_t count_open(uint64_t open, const struct span *span)
{
	switch (span->kind) {
	case SPAN_EVENT:
		return open + 1;
	case SPAN_VISIT:
		return open > span->number ? open - span->number : 0;
	case SPAN_SLEEP:
		break;
	}
	return 0;
}

static bool is_wanted(const struct span *span, uint64_t since_ns,
		      uint64_t until_ns)
{
	return span->kind != SPAN_SLEEP && span->end_ns > since_ns &&
	       span->start_ns < until_ns;
}

/*
 * Take the spans of a track; if it is followed, only up to the end of the last
 * visit.  False: no memory.
 */
static bool take_track(struct tracks *t, uint32_t track, uint64_t since_ns,
		       uint64_t until_ns)
{
	struct track *from = &t->tracks[track];
	struct span chunk[CHUNK_SPANS];
	uint64_t next = from->next, open = 0, before;
	size_t taken_count = t->span_count;

	do {
		before = next;

		uint32_t count =
			group_read_trace(from->group, from->number, &next,
					 chunk, CHUNK_SPANS, &t->missed_count);

		if (next - count != before) {
			/*
			 * Spans were overwritten, and among them the visit of
			 * the open events.
			 */
			open = 0;
			from->next = next - count;
			taken_count = t->span_count;
		}
		for (uint32_t i = 0; i < count; i++) {
			if (is_wanted(&chunk[i], since_ns, until_ns) &&
			    !keep_span(t, track, &chunk[i])) {
				t->missed_count += count - i;
				from->next = next;
				return false;
			}
			open = count_open(open, &chunk[i]);
			if (t->is_followed && open > 0 && open < OPEN_MAX)
				continue;
			from->next = next - count + i + 1;
			taken_count = t->span_count;
		}
	} while (next != before);
	t->span_count = taken_count;
	return true;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Sorts visits first, then the events of each request in order of time. */
static int by_request(const void *a, const void *b)
{
	const struct span *x = &((const struct track_span *)a)->span;
	const struct span *y = &((const struct track_span *)b)->span;

	if (x->kind != y->kind)
		return x->kind == SPAN_VISIT ? -1 : 1;
	if (x->number != y->number)
		return compare_numbers(x->number, y->number);
	return compare_numbers(x->start_ns, y->start_ns);
}

static int by_time(const void *a, const void *b)
{
	const struct span *x = &((const struct track_span *)a)->span;
	const struct span *y = &((const struct track_span *)b)->span;

	if (x->start_ns != y->start_ns)
		return compare_numbers(x->start_ns, y->start_ns);
	if (x->end_ns != y->end_ns)
		return compare_numbers(y->end_ns, x->end_ns);
	return compare_numbers(x->kind, y->kind);
}

static void find_first(struct tracks *t)
{
	const struct span *before = NULL;

	qsort(t->spans, t->span_count, sizeof(*t->spans), by_request);
	for (size_t i = 0; i < t->span_count; i++) {
		struct track_span *s = &t->spans[i];

		if (s->span.kind != SPAN_EVENT)
			continue;
		s->is_first =
			before == NULL || before->number != s->span.number;
		before = &s->span;
	}
}

static void expect_first(struct tracks *t)
{
	for (size_t i = 0; i < t->span_count; i++)
		t->spans[i].is_first =
			step_of(t, &t->spans[i]) == t->step_first;
}

/*
 * Take the spans that ended since the last call, if they ended after `since_ns`
 * and started before `until_ns`.  False: no memory for all of them.
 */
static bool tracks_take(struct tracks *t, uint64_t since_ns, uint64_t until_ns)
{
	bool is_all = true;

	t->span_count = 0;
	for (uint32_t i = 0; i < t->track_count; i++)
		is_all = take_track(t, i, since_ns, until_ns) && is_all;
	if (t->span_count == 0)
		return is_all;
	if (t->is_followed)
		expect_first(t);
	else
		find_first(t);
	qsort(t->spans, t->span_count, sizeof(*t->spans), by_time);
	return is_all;
}

static void tracks_release(struct tracks *t)
{
	free(t->tracks);
	free(t->spans);
}

/*
 * A viewer shows the thread whose number is that of its process as the main
 * thread.
 */
enum { PROCESS = 1, THREAD_FIRST = 1 };

/* Begin what a viewer should know of a thread, or with 0 of the process. */
static void open_metadata(struct json *j, const char *name, uint32_t thread)
{
	json_open_object(j, NULL);
	json_add_text(j, "name", name);
	json_add_text(j, "ph", "M");
	json_add_whole(j, "pid", PROCESS);
	if (thread > 0)
		json_add_whole(j, "tid", thread);
	json_open_object(j, "args");
}

/* End the object and its member "args". */
static void close_event(struct json *j)
{
	json_close(j);
	json_close(j);
}

static void begin_trace(struct json *j, FILE *to, const struct tracks *t)
{
	json_begin(j, to, JSON_LINES);
	json_open_array(j, NULL);
	open_metadata(j, "process_name", 0);
	json_add_text(j, "name", "darkroom");
	close_event(j);
	for (uint32_t i = 0; i < t->track_count; i++) {
		const struct track *track = &t->tracks[i];
		char name[TRACK_NAME_BYTES];

		group_name_track(track->group, track->number, name);
		open_metadata(j, "thread_name", THREAD_FIRST + i);
		json_add_text(j, "name", name);
		close_event(j);
		open_metadata(j, "thread_sort_index", THREAD_FIRST + i);
		json_add_whole(j, "sort_index", THREAD_FIRST + i);
		close_event(j);
	}
}

/* Begin the object of a visit or an event. */
static void open_slice(struct json *j, const char *name, const char *kind,
		       const struct track_span *s)
{
	uint64_t start_ns = s->span.start_ns;

	json_open_object(j, NULL);
	json_add_text(j, "name", name);
	json_add_text(j, "cat", kind);
	json_add_text(j, "ph", "X");
	json_add_decimal(j, "ts", start_ns, 3);
	json_add_decimal(j, "dur", s->span.end_ns - start_ns, 3);
	json_add_whole(j, "pid", PROCESS);
	json_add_whole(j, "tid", THREAD_FIRST + s->track);
}

/* The last event of a request is not known, so every event has flow_out. */
static void add_flow(struct json *j, const struct track_span *s)
{
	char id[32];

	(void)snprintf(id, sizeof(id), "0x%" PRIx64, s->span.number);
	json_add_text(j, "bind_id", id);
	json_add_bool(j, "flow_out", true);
	if (!s->is_first)
		json_add_bool(j, "flow_in", true);
}

static void add_spans(struct json *j, const struct tracks *t)
{
	for (size_t i = 0; i < t->span_count; i++) {
		const struct track_span *s = &t->spans[i];
		const char *stage = tracks_stage_name(t, s);
		bool is_visit = s->span.kind == SPAN_VISIT;
		char name[64], number[32];

		(void)snprintf(name, sizeof(name), "%s %" PRIx64, stage,
			       s->span.number);
		(void)snprintf(number, sizeof(number), UPLOAD_NUMBER,
			       s->span.number);
		open_slice(j, is_visit ? stage : name,
			   is_visit ? "visit" : "event", s);
		if (!is_visit)
			add_flow(j, s);
		json_open_object(j, "args");
		if (is_visit)
			json_add_whole(j, "events", s->span.number);
		else
			json_add_text(j, "request", number);
		close_event(j);
	}
}

static void end_trace(struct json *j)
{
	json_close(j);
	(void)fputc('\n', j->out);
}

char *trace_window(const struct pipeline *p, uint64_t since_ns,
		   uint64_t until_ns)
{
	struct tracks t;
	struct text text;
	struct json j;
	FILE *to;
	char *json = NULL;

	if (!tracks_init(&t, p, false))
		return NULL;
	to = tracks_take(&t, since_ns, until_ns) ? text_open(&text) : NULL;
	if (to != NULL) {
		begin_trace(&j, to, &t);
		add_spans(&j, &t);
		end_trace(&j);
		json = text_close(&text, to);
	}
	tracks_release(&t);
	return json;
}

enum { INTERVAL_US = 100000 }; /* between two readings of the rings */

struct trace_file {
	FILE *to;
	/* Used by the writer's thread until it is joined. */
	struct json json;
	struct tracks tracks;
	pthread_t writer;
	_Atomic bool stopping;
	int failed_errno; /* errno of the first failed write; 0: none */
};

static void trace_flush(struct trace_file *f)
{
	errno = 0;
	bool has_failed = fflush(f->to) != 0 || ferror(f->to);

	if (has_failed && f->failed_errno == 0)
		f->failed_errno = errno != 0 ? errno : EIO;
}

/* If there is no memory for spans, they are counted as missed. */
static void trace_append(struct trace_file *f)
{
	(void)tracks_take(&f->tracks, 0, UINT64_MAX);
	add_spans(&f->json, &f->tracks);
}

static void *write_spans(void *arg)
{
	struct trace_file *f = arg;

	(void)pthread_setname_np(pthread_self(), "trace");
	while (!atomic_load(&f->stopping)) {
		(void)usleep(INTERVAL_US);
		trace_append(f);
		trace_flush(f);
	}
	return NULL;
}

struct trace_file *trace_file_start(FILE *to, const struct pipeline *p)
{
	struct trace_file *f = calloc(1, sizeof(*f));

	if (f != NULL && tracks_init(&f->tracks, p, true)) {
		f->to = to;
		begin_trace(&f->json, to, &f->tracks);
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
	trace_append(f);
	*missed_count = f->tracks.missed_count;
	end_trace(&f->json);
	tracks_release(&f->tracks);

	trace_flush(f);
	if (fclose(f->to) != 0 && f->failed_errno == 0)
		f->failed_errno = errno;
	int failed_errno = f->failed_errno;

	free(f);
	errno = failed_errno;
	return failed_errno == 0;
}
