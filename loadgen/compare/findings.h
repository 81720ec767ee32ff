/* SPDX-License-Identifier: MIT */
/*
 * Findings: what the figures say and do not say, in sentences.
 *
 * Every sentence depends on the figures; there is none that always stands.
 */
#ifndef LOADGEN_COMPARE_FINDINGS_H
#define LOADGEN_COMPARE_FINDINGS_H

#include "loadgen/compare/document.h"
#include "loadgen/compare/figures.h"
#include "loadgen/compare/plan.h"

/* Which arms differ from the first in throughput, and which do not. */
void findings_compare(const struct document *d, const struct figures *f);

/* What makes the figures doubtful; nothing, if there is nothing. */
void findings_warn(const struct document *d, const struct figures *f,
		   const struct plan *plan);

#endif
