/* SPDX-License-Identifier: MIT */
/* What is kept from frame to frame, and the events around the data. */
#include "service/report/live_state.h"

#include <stdlib.h>
#include <string.h>

FILE *live_begin_event(struct text *text, const char *name)
{
	FILE *to = text_open(text);

	if (to != NULL)
		(void)fprintf(to, "event: %s\ndata: ", name);
	return to;
}

char *live_end_event(struct text *text, FILE *to)
{
	(void)fputs("\n\n", to);
	return text_close(text, to);
}

/* The place of a step's stage in the statistics. */
static uint32_t place_of(const struct pipeline_stats *s, uint32_t step)
{
	uint32_t place = 0;

	while (s->stage_names[place] != pipeline_step_names[step])
		place++;
	return place;
}

static void add_lane(struct live *l, const struct pipeline_stats *s,
		     const struct pipeline_lane *lane)
{
	for (uint32_t i = 0; i < group_worker_count(lane->group); i++) {
		uint32_t place = l->worker_count++;

		l->workers[place] = (struct live_worker){
			.lane = *lane,
			.index = i,
			.stage_first = place_of(s, lane->step_first),
			.spans = l->spans + (size_t)place * LIVE_SPANS_KEPT,
		};
	}
}

/* False: no memory. */
static bool add_workers(struct live *l, const struct pipeline *p)
{
	struct pipeline_lane lanes[PIPELINE_LANES_MAX];
	uint32_t lane_count = pipeline_lanes(p, lanes);
	struct pipeline_stats s;
	size_t count = 1; /* for calloc() where there are none */

	for (uint32_t i = 0; i < lane_count; i++)
		count += group_worker_count(lanes[i].group);
	l->workers = calloc(count, sizeof(*l->workers));
	l->spans = calloc(count * LIVE_SPANS_KEPT, sizeof(*l->spans));
	if (l->workers == NULL || l->spans == NULL)
		return false;
	pipeline_read(p, &s);
	for (uint32_t i = 0; i < lane_count; i++)
		add_lane(l, &s, &lanes[i]);
	return true;
}

struct live *live_new(const struct stats_source *source)
{
	struct live *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->source = source;
	l->part_count = source->config->schedule.part_count;
	l->parts = calloc((size_t)l->part_count * PIPELINE_STEPS,
			  sizeof(*l->parts));
	if (l->parts != NULL && add_workers(l, source->pipeline))
		return l;
	live_free(l);
	return NULL;
}

void live_free(struct live *l)
{
	if (l == NULL)
		return;
	free(l->workers);
	free(l->spans);
	free(l->parts);
	free(l);
}
