/* SPDX-License-Identifier: MIT */
/* Counts: what a group and its threads did until some moment. */
#ifndef STAGES_BENCH_COUNTS_H
#define STAGES_BENCH_COUNTS_H

#include "stages/bench/figures.h"
#include "stages/stage.h"

struct counts {
	uint64_t at_ns;
	uint64_t finished_count; /* requests; the caller's to fill */
	uint64_t handled_count;  /* events */
	uint64_t visit_count, visit_empty_count, switch_count;
	uint64_t sleep_count, stolen_count;
	uint64_t cpu_ns;
	uint64_t voluntary_count, involuntary_count; /* context switches */
};

/* CPU time and context switches of the calling thread count if `with_own`. */
void counts_read(struct counts *c, const struct group *g,
		 struct stage *const *stages, uint32_t stage_count,
		 bool with_own);

/* The figures that follow from what happened between the two. */
void counts_compare(const struct counts *from, const struct counts *to,
		    double figures[FIGURES]);

#endif
