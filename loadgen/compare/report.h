/* SPDX-License-Identifier: MIT */
/* Report: results -> report.md, report.html and the plots, in one folder. */
#ifndef LOADGEN_COMPARE_REPORT_H
#define LOADGEN_COMPARE_REPORT_H

#include "base/error.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdio.h>

/* What the user should know at once; each may be empty. */
struct report_notes {
	struct error no_plots;   /* why there are none */
	struct error not_judged; /* why it is not known what others took */
	char disturbed[1024];    /* which runs others have disturbed */
};

/*
 * Write both documents, replacing existing ones.  Results that others have
 * disturbed, or of which this is not known, are reported with a banner above
 * all figures, which is also in the notes.  False: `error` says what is wrong
 * with the results or which file could not be written; that file is unchanged.
 */
MUST_CHECK bool report_write(const char *folder, const cJSON *results,
			     struct report_notes *notes, struct error *error);

/*
 * Print how the arms of `results` differ from the arms of the same names in
 * `before`, the results of an earlier comparison: Welch's t test, corrected by
 * Holm's method for the arms of a figure.  False: `error` says which of the two
 * are no results, which conditions differ (results_are_alike()), or that no arm
 * is in both.
 */
MUST_CHECK bool report_print_changes(FILE *out, const cJSON *results,
				     const cJSON *before, struct error *error);

#endif
