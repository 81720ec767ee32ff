/* SPDX-License-Identifier: MIT */
/*
 * The border: HTTP above (http.c), stages and pictures below (pipeline.c).
 *
 *	http.c --- pipeline_submit() -> decode > scale > blur > encode [> store]
 *	http.c <------ u->done(u) ------ the last step of its last variant
 *
 * Above it nobody knows a stage; below it nobody knows a connection.
 *
 * Ownership  See upload.h.
 * Threads    pipeline_start(), _stop() and _free(): one.  The rest: any, at
 *            once, between the first and the last of these.
 * Limits     At most `uploads_max` uploads are inside at any time; more are
 *            refused.  Every queue has room for all variants of all.
 * Memory     What comes in, what is made of it and what goes out is charged to
 *            pipeline_budget(): foretold before it is queued, and to the byte
 *            where it lies in pipeline_memory().  Where a forecast is too low
 *            (imgops/cost.h says when), memory_bytes_max holds all the same,
 *            and some upload ends with IMG_ERR_NO_MEMORY.
 */
#ifndef SERVICE_PIPELINE_H
#define SERVICE_PIPELINE_H

#include "service/pipeline/pipeline_lanes.h"
#include "service/pipeline/upload.h"

#include "imgops/imgops.h"
#include "imgops/pool.h"
#include "stages/stage.h"
#include "stages/stats.h"

#include <stdio.h>

struct pipeline_config {
	struct schedule schedule;  /* complete */
	const struct cores *cores; /* must outlive the pipeline */
	uint32_t uploads_max;
	struct img_limits limits;
	uint64_t memory_bytes_max; /* of all uploads; UINT64_MAX: no limit */
	/*
	 * Of the store stage; 0: there is none, and no upload may ask for it.
	 * Where the schedule has no workers it has none either.
	 */
	uint32_t store_threads;
	uint32_t errands_max; /* sent at any time; see pipeline_send_errand() */
	/*
	 * Uploads foretold to take less may go by a lane of their own, see
	 * express.h; 0: none does.  Only where the schedule has workers.
	 */
	uint64_t express_ns;
};

/* How full it is. */
struct pipeline_load {
	uint32_t in_flight_count, uploads_max;
	uint64_t used_bytes, limit_bytes; /* of pipeline_budget() */
};

struct pipeline_stats {
	uint64_t sent_count;     /* taken by pipeline_submit() */
	uint64_t refused_count;  /* by pipeline_count_refused() */
	uint64_t finished_count; /* ended with all its pictures */
	uint64_t failed_count;   /* ended without any */
	uint64_t late_count;     /* of those: UPLOAD_LATE */
	uint64_t gone_count;     /* UPLOAD_GONE */
	uint32_t in_flight_count;
	/* Of those that finished: uploaded, and in all their results. */
	uint64_t pixels_in, pixels_out;
	uint64_t inside_ns; /* from their first queue to their result */
	struct histogram_copy inside;
	struct img_pool_stats buffers;
	struct budget_stats memory;
	uint32_t stage_count;
	const char *stage_names[PIPELINE_STAGES];
	struct stage_stats stages[PIPELINE_STAGES];
};

/* NULL: no memory, or no threads. */
struct pipeline *pipeline_start(const struct pipeline_config *config);

/* The schedule and the lane as flags, with defaults, on a part of a line. */
void pipeline_print_schedule(const struct pipeline_config *config, FILE *to);

/* For what stages/ tells of a running group, and for group_partition(). */
struct group *pipeline_group(const struct pipeline *p);

/* Threads that run stages; 0: pipeline_submit() runs them itself. */
uint32_t pipeline_worker_count(const struct pipeline *p);

/*
 * Is there a place for an upload that begins to come in?  pipeline_submit()
 * asks again.
 */
MUST_CHECK bool pipeline_has_place(const struct pipeline *p);

/*
 * For the statistics: an upload was turned away, here or before it came here,
 * as there is no room for it.
 */
void pipeline_count_refused(struct pipeline *p);

/*
 * Is the header there, in the first u->jpeg_bytes of an upload that still comes
 * in?  True: u->end and u->err say what pipeline_submit() would refuse or fail
 * it for, whatever comes behind; UPLOAD_ENDED and IMG_OK: nothing by now.
 */
MUST_CHECK bool pipeline_peek(struct pipeline *p, struct upload *u);

/*
 * True: the pipeline owns `u` until it calls u->done(u), which may be before
 * this returns; of a file whose header says that it will not be read, it is.
 * False: u->end says why not; the caller still owns `u`.
 */
MUST_CHECK bool pipeline_submit(struct pipeline *p, struct upload *u);

/*
 * Run `e` in the store stage, which there must be.  False: the pipeline has
 * stopped; the errand is still the caller's.
 */
MUST_CHECK bool pipeline_send_errand(struct pipeline *p, struct errand *e);

/* What uploads take; charge it before memory is asked for. */
struct budget *pipeline_budget(struct pipeline *p);

/* Where uploads lie, bodies too. */
const struct img_memory *pipeline_memory(const struct pipeline *p);

/* What an upload of so many bytes will likely be charged, besides its body. */
uint64_t pipeline_likely_bytes(const struct pipeline *p, uint64_t body_bytes);

/* When a refused upload may find room, in whole s, 1 .. 60: see drain.h. */
uint32_t pipeline_retry_after_s(struct pipeline *p);

void pipeline_read(const struct pipeline *p, struct pipeline_stats *out);

struct pipeline_load pipeline_load(const struct pipeline *p);

/*
 * End what is inside without a result as soon as its running step is over;
 * done() is called as ever.
 */
void pipeline_abandon(struct pipeline *p);

/* Refuse, finish what is inside, end the workers.  Twice does no harm. */
void pipeline_stop(struct pipeline *p);
void pipeline_free(struct pipeline *p);

#endif
