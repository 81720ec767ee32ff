/* SPDX-License-Identifier: MIT */
/*
 * Metrics: the text of GET /metrics, in Prometheus' text format.
 *
 * The table in docs/operations.md describes each metric.
 *
 * Threads    Any number of threads at the same time.
 */
#ifndef SERVICE_METRICS_H
#define SERVICE_METRICS_H

#include "service/http/http_config.h"
#include "service/report/stats.h"

/* The caller frees the text.  NULL: no memory. */
char *metrics_text(struct stats_source *source, const struct http_report *http);

#endif
