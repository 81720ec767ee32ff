/* SPDX-License-Identifier: MIT */
/*
 * Metrics: what /metrics tells, in Prometheus' text format.
 *
 * The table in docs/operations.md describes each.
 *
 * Threads    Any, at once.
 */
#ifndef SERVICE_METRICS_H
#define SERVICE_METRICS_H

#include "service/http/http.h"
#include "service/report/stats.h"

/* For the caller to free().  NULL: no memory. */
char *metrics_text(struct stats_source *source, const struct http_report *http);

#endif
