/* SPDX-License-Identifier: MIT */
/*
 * Jobs: uploads of one photo, for tests of the pipeline.
 */
#ifndef SERVICE_TEST_JOBS_H
#define SERVICE_TEST_JOBS_H

#include "service/pipeline/pipeline.h"

#include "stages/stage.h"

#include <stdatomic.h>

struct job {
	struct upload upload;
	struct variant variants[VARIANTS_MAX];
	_Atomic int done_count;
	int turn;
};

extern uint8_t *photo;
extern size_t photo_bytes;

void read_photo(const char *path);

/* Scale the photo into this square, so that many uploads take little time. */
void shrink_photo(const struct cores *cores, uint32_t side_px);

/*
 * A configuration for tests: one part, 100 megapixels, any memory.  A test may
 * change it.
 */
struct pipeline_config job_config(const struct policy *policy,
				  const struct cores *cores,
				  uint32_t uploads_max);
struct pipeline *start_configured(const struct pipeline_config *config);

struct pipeline *start_scheduled(const struct schedule *schedule,
				 const struct cores *cores,
				 uint32_t uploads_max, uint64_t pixels_max);
struct pipeline *start(const struct policy *policy, const struct cores *cores,
		       uint32_t replicas, uint32_t uploads_max);

/*
 * Prepare an upload of the first `bytes` of the photo, with one variant in a
 * box of 160, and with on_done().  A test may change it.
 */
void prepare(struct job *job, size_t bytes, double blur);

/* Count one upload as done. */
void on_done(struct upload *u);

/* Wait for done(), but not for ever. */
void wait_done(struct job *job);

#endif
