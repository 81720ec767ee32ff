/* SPDX-License-Identifier: MIT */
/*
 * Pipeline counts: what became of uploads, since start.
 *
 * Threads    Any, at once.
 */
#ifndef SERVICE_PIPELINE_COUNTS_H
#define SERVICE_PIPELINE_COUNTS_H

#include "service/pipeline/pipeline.h"

struct pipeline_counts {
	_Atomic uint64_t sent;
	_Atomic uint64_t refused;
	_Atomic uint64_t finished;
	_Atomic uint64_t failed;
	_Atomic uint64_t late, gone; /* of those that failed */
	/* By their last stage: those that finished; those sent to the store. */
	_Atomic uint64_t results[PIPELINE_STAGES], kept[PIPELINE_STAGES];
	_Atomic uint64_t errands; /* to the store, from outside */
	/* Of those that finished. */
	_Atomic uint64_t pixels_in, pixels_out;
	_Atomic uint64_t inside_ns;
	struct histogram inside;
};

/* Its steps are over, and it goes to the store. */
void pipeline_count_kept(struct pipeline_counts *c, const struct upload *u);

/* A sent upload has ended now; call it before anybody can know. */
void pipeline_count_end(struct pipeline_counts *c, const struct upload *u);

/* Into the members of `out` of the same names. */
void pipeline_counts_read(const struct pipeline_counts *c,
			  struct pipeline_stats *out);

#endif
