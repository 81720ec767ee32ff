/* SPDX-License-Identifier: MIT */
/*
 * Told: a server for tests of the live reports, and these reports as JSON.  If
 * a member is missing, the test fails.
 */
#ifndef SERVICE_TEST_TOLD_H
#define SERVICE_TEST_TOLD_H

#include "service/report/report.h"

#include <cjson/cJSON.h>

enum { UPLOADS = 16 /* uploads at the same time */, TOLD_IN_FLIGHT = 3 };

/* The parts of a server that reports are made from. */
struct told {
	struct pipeline_config config;
	struct sandbox sandbox;
	struct stats_source stats;
	struct live *live;
	struct minute minute; /* the test itself adds replies to it */
};

void told_begin(struct told *t, const struct pipeline_config *config);
void told_end(struct told *t);

/*
 * Upload `count` <= UPLOADS photos of jobs.h, and wait until all of them are
 * counted.
 */
void told_upload(struct told *t, uint32_t count, size_t bytes);

/*
 * Upload photos whose clients have disconnected: they end in their first stage,
 * without work.
 */
void told_upload_gone(struct told *t, uint32_t count);

/* The JSON data of `event`, whose name must be `name`.  Frees `event`. */
cJSON *told_data(char *event, const char *name);
cJSON *told_frame(struct told *t, bool is_first);

cJSON *at(const cJSON *list, int place);
cJSON *get(const cJSON *o, const char *name);
double number(const cJSON *o, const char *name);

#endif
