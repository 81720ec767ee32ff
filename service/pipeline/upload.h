/* SPDX-License-Identifier: MIT */
/*
 * Upload: one request's picture on its way through the pipeline, and what is
 * made of it: one variant, or several of one decode.
 *
 *	decode -+-> scale > blur > encode -+-> store
 *	        +-> scale > blur > encode -+
 *	        variants[0], [1], ...
 *
 * Ownership  From pipeline_submit() to done() the pipeline owns the upload and
 *            what it points to, variants too; before and after, the caller.
 */
#ifndef SERVICE_UPLOAD_H
#define SERVICE_UPLOAD_H

#include "service/pipeline/auxiliary.h"
#include "service/pipeline/budget.h"

#include "imgops/imgops.h"
#include "imgops/placeholder.h"
#include "stages/stage.h"

#include <inttypes.h>

/* As X-Request-Id ends with it. */
#define UPLOAD_NUMBER "%06" PRIx64

enum pipeline_step {
	PIPELINE_DECODE,
	PIPELINE_SCALE,
	PIPELINE_BLUR,
	PIPELINE_ENCODE,
	PIPELINE_STEPS,                  /* by the workers of the schedule */
	PIPELINE_STORE = PIPELINE_STEPS, /* by others: auxiliary.h */
};

/* Stages: those of the steps, one to store, one for all steps: express.h. */
enum {
	PIPELINE_TIMES = PIPELINE_STORE + 1,
	PIPELINE_EXPRESS = PIPELINE_TIMES,
	PIPELINE_STAGES
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
	UPLOAD_STORE_FULL,  /* its results found no room */
	UPLOAD_NOT_STORED,  /* nor could they be written for another reason */
};

enum { VARIANTS_MAX = 16, VARIANT_NAME_BYTES = 33 };

/* One picture to be made of an upload.  Zero it, then fill the first part. */
struct variant {
	char name
		[VARIANT_NAME_BYTES]; /* "": of a plain request, its only one */
	struct img_recipe recipe;

	/* Valid from done() on, if the upload has a result. */
	uint8_t *jpeg; /* NULL without; see upload_free_results() */
	size_t jpeg_bytes;
	struct img_size size;
	uint32_t notes; /* IMG_NOTE_... */

	/* The pipeline's own. */
	struct upload *upload;
	struct event event;
	struct img_view view;
	struct image image;
	uint64_t foretold_ns[PIPELINE_STEPS];
	uint64_t begun_ns[PIPELINE_STEPS];
	uint64_t service_ns[PIPELINE_STEPS];
};

/* One request on its way.  Zero it, then fill the first part. */
struct upload {
	uint64_t number; /* told in traces; 0: none */
	const uint8_t *jpeg;
	size_t jpeg_bytes;
	/*
	 * Of pipeline_budget(): at least what `jpeg` takes.  The caller lowers
	 * it to what the reply takes when `jpeg` is gone, and to 0 at the end;
	 * in between it is the pipeline's.
	 */
	struct charge charge;
	uint64_t jpeg_charge_bytes; /* of it, for `jpeg` */
	struct variant *variants;   /* equal in `lenient` */
	uint32_t variant_count;     /* 1 .. VARIANTS_MAX */
	bool wants_placeholder;
	uint64_t deadline_ns; /* of CLOCK_MONOTONIC; 0: none */
	/* Asked before each step: does nobody wait for it?  NULL: somebody. */
	bool (*is_gone)(const struct upload *u);
	/* Called once if it could be decoded.  NULL: nobody cares. */
	void (*on_decoded)(struct upload *u);
	/*
	 * The last step, which may block: keep the results somewhere.  Returns
	 * UPLOAD_ENDED or why not.  NULL: there is no such step.
	 */
	enum upload_end (*store)(struct upload *u);
	/* Called once, by a worker or by pipeline_submit(); must not block. */
	void (*done)(struct upload *u);

	/*
	 * Valid from done() on; `end` also if not taken.  There are results of
	 * all variants, or of none.
	 */
	enum upload_end end;
	enum img_err err;
	struct img_header header;           /* once it could be read */
	struct img_placeholder placeholder; /* if wanted */
	uint64_t submitted_ns; /* of CLOCK_MONOTONIC; also if not taken */
	uint64_t begun_ns[PIPELINE_TIMES]; /* by the first variant; 0: never */
	uint64_t service_ns[PIPELINE_TIMES]; /* of all variants; 0: none */
	uint64_t waited_ns;                  /* of all, in all queues */

	/* The pipeline's own. */
	struct pipeline *pipeline;
	struct errand errand;              /* all its steps, then to store it */
	struct image decoded;              /* shared: only to be read */
	const struct variant *decoded_for; /* the one that needs most of it */
	const struct variant *smallest;    /* the placeholder is of */
	uint64_t foretold_ns;              /* of all variants */
	uint64_t foretold_bytes;
	bool is_express;                /* no event of it is with the workers */
	_Atomic uint64_t left_ns;       /* foretold, of all variants */
	_Atomic uint32_t running_count; /* variants under way */
	_Atomic uint32_t unscaled_count; /* that still need `decoded` */
	_Atomic bool is_failed;          /* who sets it says why */
};

/* What the results take, as img_pool_block_count() has it. */
uint64_t upload_result_bytes(const struct upload *u);

/* Before pipeline_free().  Without results it does nothing. */
void upload_free_results(struct upload *u);

#endif
