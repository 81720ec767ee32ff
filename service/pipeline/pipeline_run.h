/* SPDX-License-Identifier: MIT */
/*
 * Inside pipeline*.c: what a pipeline is, and how an upload goes through it.
 */
#ifndef SERVICE_PIPELINE_RUN_H
#define SERVICE_PIPELINE_RUN_H

#include "service/pipeline/pipeline.h"

#include "service/pipeline/drain.h"
#include "service/pipeline/express.h"
#include "service/pipeline/forecast.h"
#include "service/pipeline/pipeline_counts.h"

#include <stdatomic.h>

/* A stage's argument: which step of which pipeline it runs. */
struct pipeline_place {
	struct pipeline *pipeline;
	enum pipeline_step step;
	struct stage *stage;
};

struct pipeline {
	struct pipeline_config config;
	struct buffers *buffers;
	const struct img_memory *memory; /* of `buffers` */
	struct budget budget;
	struct forecast forecast;
	struct group *group;
	struct pipeline_place places[PIPELINE_STEPS];
	struct auxiliary *store; /* NULL: none */
	struct express express;

	struct pipeline_counts counts;
	_Atomic uint32_t in_flight_count;
	struct drain drain; /* of what was queued */
	_Atomic bool abandoning;
};

/* The handler of every stage; `arg` is its place. */
void pipeline_take_step(struct event *ev, void *arg);

/* An errand's run(): all steps of an upload, in the express lane. */
void pipeline_take_steps(struct errand *e);

/* The first reason stands; variants under way stop at their next step. */
void pipeline_fail(struct upload *u, enum upload_end end, enum img_err err);

/* Nothing of it runs any more: count it, and call done(). */
void pipeline_finish(struct pipeline *p, struct upload *u);

#endif
