/* SPDX-License-Identifier: MIT */
/* Charts: which plots a report has, each a file and a part of the document. */
#ifndef LOADGEN_COMPARE_CHARTS_H
#define LOADGEN_COMPARE_CHARTS_H

#include "loadgen/compare/document.h"
#include "loadgen/compare/figures.h"
#include "loadgen/compare/plan.h"
#include "loadgen/error.h"

#include <stdbool.h>

/* A chart without data is left out.  False: one could not be written. */
MUST_CHECK bool charts_boxes(const struct document *d, const struct figures *f,
			     const char *folder, struct error *error);
MUST_CHECK bool charts_response_times(const struct document *d,
				      const struct figures *f,
				      const char *folder, struct error *error);
MUST_CHECK bool charts_open_loop(const struct document *d,
				 const struct figures *f,
				 const struct plan *plan, const char *folder,
				 struct error *error);

#endif
