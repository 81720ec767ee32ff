/* SPDX-License-Identifier: MIT */
/*
 * Inside metrics*.c: the parts of /metrics.
 */
#ifndef SERVICE_METRICS_PARTS_H
#define SERVICE_METRICS_PARTS_H

#include "service/report/metric.h"

#include "service/http/http.h"
#include "service/pipeline/pipeline.h"

#define METRICS_COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { METRICS_LABELS_BYTES = 128 };

/* metrics_http.c */
void metrics_print_http(FILE *to, const struct http_report *http);

/* metrics_stages.c */
void metrics_print_stages(FILE *to, const struct pipeline_stats *p);

/* False: no memory. */
bool metrics_print_workers(FILE *to, const struct group *g);

#endif
