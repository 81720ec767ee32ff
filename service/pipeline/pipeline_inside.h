/* SPDX-License-Identifier: MIT */
/*
 * What a pipeline consists of: for pipeline.c, its tests and pipeline_graph.c.
 */
#ifndef SERVICE_PIPELINE_INSIDE_H
#define SERVICE_PIPELINE_INSIDE_H

#include "service/pipeline/pipeline.h"

#include <stdatomic.h>

/* A stage's argument: which step of which pipeline it runs. */
struct pipeline_stage {
	struct pipeline *pipeline;
	enum pipeline_step step;
	struct stage *stage;
};

/* Since start. */
struct pipeline_counts {
	_Atomic uint64_t sent;
	_Atomic uint64_t refused;
	_Atomic uint64_t abandoned;
	_Atomic uint64_t finished;
	_Atomic uint64_t failed;
	_Atomic uint64_t late, gone; /* of those that failed */
	/* By the stage of their last step: finished; sent to the store. */
	_Atomic uint64_t results[PIPELINE_STAGES], stored[PIPELINE_STAGES];
	_Atomic uint64_t tasks; /* by pipeline_send_task() */
	/* Of those that finished. */
	_Atomic uint64_t pixels_in, pixels_out;
	_Atomic uint64_t inside_ns;
	struct histogram inside;
};

/* The express thread, and what the choice of uploads for it depends on. */
struct express {
	struct auxiliary *thread; /* NULL: there is none */
	uint64_t limit_ns;        /* an upload is small if it takes less */
	uint32_t core_count;
	_Atomic uint32_t large_count; /* events of large uploads with workers */
	_Atomic uint64_t queued_ns;   /* of uploads with the express thread */
};

struct express_view {
	uint64_t limit_ns;
	uint32_t core_count;
	uint32_t large_count;
	uint64_t queued_ns;
};

/*
 * Does an upload of `upload_ns` of CPU time end sooner on the express thread?
 * Pure; used by pipeline.c and its test.
 */
bool express_is_better(const struct express_view *view, uint64_t upload_ns);

struct pipeline {
	struct pipeline_config config;
	struct buffers *buffers;
	const struct memory *memory; /* of `buffers` */
	struct budget budget;
	struct memory_estimate memory_estimate;
	struct group *group;
	struct pipeline_stage stages[PIPELINE_STEPS];
	struct auxiliary *store; /* NULL: none */
	struct express express;

	struct pipeline_counts counts;
	_Atomic uint32_t in_flight_count;
	struct departures departures; /* of uploads that were queued */
	_Atomic bool abandoning;
};

#endif
