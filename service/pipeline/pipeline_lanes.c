/* SPDX-License-Identifier: MIT */
#include "service/pipeline/pipeline_lanes.h"

#include "service/pipeline/pipeline_run.h"

const char *const pipeline_step_names[PIPELINE_STAGES] = {
	[PIPELINE_DECODE] = "decode", [PIPELINE_SCALE] = "scale",
	[PIPELINE_BLUR] = "blur",     [PIPELINE_ENCODE] = "encode",
	[PIPELINE_STORE] = "store",   [PIPELINE_EXPRESS] = "express",
};

/* Returns how many there are then. */
static uint32_t add_lane(struct pipeline_lane *out, uint32_t count,
			 const struct auxiliary *a, uint32_t step_first)
{
	if (a == NULL)
		return count;
	out[count] = (struct pipeline_lane){ auxiliary_group(a), step_first };
	return count + 1;
}

uint32_t pipeline_lanes(const struct pipeline *p,
			struct pipeline_lane out[PIPELINE_LANES_MAX])
{
	uint32_t count = 1;

	out[0] = (struct pipeline_lane){ p->group, PIPELINE_DECODE };
	count = add_lane(out, count, p->store, PIPELINE_STORE);
	return add_lane(out, count, p->express.lane, PIPELINE_EXPRESS);
}

uint32_t pipeline_step_part(const struct pipeline *p, enum pipeline_step step)
{
	return stage_part(p->places[step].stage);
}

void pipeline_read_part(const struct pipeline *p, uint32_t part,
			struct stage_stats out[PIPELINE_STEPS])
{
	for (uint32_t i = 0; i < PIPELINE_STEPS; i++)
		stage_read_part(p->places[i].stage, part, &out[i]);
}
