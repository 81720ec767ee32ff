/* SPDX-License-Identifier: MIT */
/*
 * Tracks: what the workers of all lanes did, a track for each, in the order in
 * which viewers of traces want it: by time, and a visit before its events, of
 * which the first starts, and the last ends, when it does.
 *
 * Sleeps are left out: they are the gaps between visits.
 *
 * Threads    One; the pipeline may run.
 * Limits     Memory for what one tracks_take() takes, which rings of
 *            TRACE_SPANS bound.
 */
#ifndef SERVICE_TRACKS_H
#define SERVICE_TRACKS_H

#include "service/pipeline/pipeline.h"

/* A worker. */
struct track {
	const struct group *group;
	uint32_t worker;     /* of the group */
	uint32_t step_first; /* as in struct pipeline_lane */
	uint64_t next;       /* of its spans */
};

struct track_span {
	struct span span;
	uint32_t track;
	bool is_first; /* of a request's events: none was before */
};

struct tracks {
	struct track *tracks;
	uint32_t track_count;
	bool is_followed;
	struct track_span *spans; /* what was taken last */
	size_t span_count, span_room;
	uint64_t missed_count; /* overwritten, or no memory */
};

/*
 * Of a pipeline that lives longer.  Followed, it is taken again and again; then
 * a visit under way has its events wait for it in the ring, if they can, and a
 * request's first event is that of a first stage.  Else it is taken once, and
 * the first is what there is.  False: no memory; nothing to release.
 */
MUST_CHECK bool tracks_init(struct tracks *t, const struct pipeline *p,
			    bool is_followed);

/*
 * Take what ended since the last time, if it ended after `since_ns` and started
 * before `until_ns`.  False: no memory for all.
 */
bool tracks_take(struct tracks *t, uint64_t since_ns, uint64_t until_ns);

const char *tracks_stage_name(const struct tracks *t,
			      const struct track_span *s);

void tracks_release(struct tracks *t);

#endif
