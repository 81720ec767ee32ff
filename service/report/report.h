/* SPDX-License-Identifier: MIT */
/*
 * Report: what a server tells of itself, as http.h asks for it.
 *
 * Threads    Those of http.h; report_open() and _close(): one, before and after
 *            there are such.
 */
#ifndef SERVICE_REPORT_H
#define SERVICE_REPORT_H

#include "service/http/http.h"
#include "service/report/live.h"

struct report {
	struct stats_source *stats;
	struct live *live;
};

/* `stats` has its pipeline, and both outlive the report.  False: no memory. */
MUST_CHECK bool report_open(struct report *r, struct stats_source *stats);

/* The members of `config` that ask for it. */
void report_serve(struct report *r, struct http_config *config);

void report_close(struct report *r);

#endif
