/* SPDX-License-Identifier: MIT */
/*
 * Readiness: should a balancer send more uploads here?
 *
 * It turns false while a quarter of the places and of the memory is left, so
 * before any upload that takes less than that is refused, and true again when
 * half is free.  Between the two it stays what it was, so that it does not
 * change with every upload.
 */
#ifndef SERVICE_READINESS_H
#define SERVICE_READINESS_H

#include "service/pipeline/pipeline.h"

enum readiness {
	READINESS_OK,
	READINESS_STOPPING,
	READINESS_PLACES_TAKEN,
	READINESS_MEMORY_TAKEN,
	READINESS_REFUSED, /* an upload, of late */
};

enum { READINESS_REFUSED_MS = 5000 }; /* how long a refusal is remembered */

struct readiness_view {
	struct pipeline_load load;
	bool is_stopping;
	uint64_t refused_ns; /* when the last upload was; 0: none */
	uint64_t now_ns;
};

/*
 * `was_full`: what the last decision left there, at first false.  It tells of
 * places and memory alone, whatever else the answers were for.
 */
enum readiness readiness_decide(bool *was_full,
				const struct readiness_view *view);

/* A sentence for those that are not READINESS_OK. */
const char *readiness_reason(enum readiness readiness);

#endif
