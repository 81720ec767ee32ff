/* SPDX-License-Identifier: MIT */
/*
 * Inside live*.c: what is kept from frame to frame.
 */
#ifndef SERVICE_LIVE_STATE_H
#define SERVICE_LIVE_STATE_H

#include "service/report/live.h"
#include "service/report/recent.h"
#include "service/text.h"

enum {
	LIVE_SPANS_MAX = 4000, /* in a frame */
	/* Of a worker: those, and one more, whose end is where they begin. */
	LIVE_SPANS_KEPT = LIVE_SPANS_MAX + 1,
};

struct live_worker {
	struct pipeline_lane lane;
	uint32_t index;       /* in the lane's group */
	uint32_t stage_first; /* of the lane, its place in pipeline_stats */
	uint64_t next_span;
	uint64_t service_ns; /* as of the last frame */
	/* Of the frame that is being made: see live_spans.c. */
	uint64_t span_count;
	uint64_t told_since_ns; /* 0: all is told */
	struct span *spans;     /* [count % LIVE_SPANS_KEPT], the newest */
};

struct live {
	const struct stats_source *source;
	uint64_t frame_count;
	uint64_t last_ns; /* when the last frame was made; 0: none to go by */
	struct recent stages[PIPELINE_STAGES];
	uint32_t part_count;
	struct recent *parts; /* [part * PIPELINE_STEPS + step] */
	uint32_t worker_count;
	struct live_worker *workers;
	struct span *spans; /* LIVE_SPANS_KEPT for each */
};

/* An event of that name, to write a line of data to.  NULL: no memory. */
FILE *live_begin_event(struct text *text, const char *name);

/* The event, for the caller to free().  NULL: no memory. */
char *live_end_event(struct text *text, FILE *to);

/*
 * live_spans.c: what workers did since the last frame, as two members, and
 * since when of each that is all.
 */
void live_print_spans(struct live *l, FILE *to, uint64_t now_ns);

#endif
