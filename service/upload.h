/* SPDX-License-Identifier: MIT */
/*
 * Upload: one request's picture on its way through the pipeline.
 *
 * Ownership  From pipeline_submit() to done() the pipeline owns the upload and
 *            what it points to; before and after, the caller.
 */
#ifndef SERVICE_UPLOAD_H
#define SERVICE_UPLOAD_H

#include "service/budget.h"

#include "imgops/imgops.h"
#include "stages/stage.h"

enum pipeline_step {
	PIPELINE_DECODE,
	PIPELINE_SCALE,
	PIPELINE_BLUR,
	PIPELINE_ENCODE,
	PIPELINE_STEPS,
};

/* How an upload ended, or why it was not taken. */
enum upload_end {
	UPLOAD_ENDED,       /* by itself: see `err` */
	UPLOAD_NO_PLACE,    /* not taken: all places taken, or stopping */
	UPLOAD_MEMORY_FULL, /* not taken: the budget does not allow it now */
	UPLOAD_TOO_MUCH,    /* not taken: and it never will */
	UPLOAD_ABANDONED,   /* by pipeline_abandon() */
	UPLOAD_LATE,        /* its deadline passed before its next step */
	UPLOAD_GONE,        /* nobody waits for it any more */
};

/* One request on its way.  Zero it, then fill the first part. */
struct upload {
	const uint8_t *jpeg;
	size_t jpeg_bytes;
	/*
	 * Of pipeline_budget(): at least what `jpeg` takes.  The caller lowers
	 * it to what the reply takes when `jpeg` is gone, and to 0 at the end;
	 * in between it is the pipeline's.
	 */
	struct charge charge;
	uint64_t jpeg_charge_bytes; /* of it, for `jpeg` */
	struct img_recipe recipe;
	uint64_t deadline_ns; /* of CLOCK_MONOTONIC; 0: none */
	/* Asked before each step: does nobody wait for it?  NULL: somebody. */
	bool (*is_gone)(const struct upload *u);
	/* Called once, by a worker or by pipeline_submit(); must not block. */
	void (*done)(struct upload *u);

	/*
	 * Valid from done() on; `end` also if not taken.  `reply` ends with
	 * pipeline_reply_free().
	 */
	enum upload_end end;
	enum img_err err;
	uint8_t *reply; /* NULL without a result */
	size_t reply_bytes;
	uint32_t notes;                      /* IMG_NOTE_... of the result */
	uint64_t service_ns[PIPELINE_STEPS]; /* 0: step not taken */
	uint64_t waited_ns;                  /* in all queues together */

	/* The pipeline's own. */
	struct event event;
	struct img_header header;
	struct img_view view;
	struct image image;
	uint64_t foretold_ns[PIPELINE_STEPS];
	uint64_t foretold_bytes;
};

#endif
