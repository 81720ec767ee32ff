/* SPDX-License-Identifier: MIT */
/*
 * Told: a server, for tests of what is told of it live, and that as JSON.  What
 * is missing there ends the test.
 */
#ifndef SERVICE_TEST_TOLD_H
#define SERVICE_TEST_TOLD_H

#include "service/report/live.h"

#include <cjson/cJSON.h>

enum { UPLOADS = 16 }; /* at once */

/* A server as far as it is told of. */
struct told {
	struct pipeline_config config;
	struct sandbox sandbox;
	struct stats_source stats;
	struct live *live;
};

void told_begin(struct told *t, const struct pipeline_config *config);
void told_end(struct told *t);

/* Up to UPLOADS photos of jobs.h.  Until all of them are counted, too. */
void told_upload(struct told *t, uint32_t count, size_t bytes);

/* Without work: they end in their first stage, as their clients are gone. */
void told_upload_gone(struct told *t, uint32_t count);

/* The data of an event of that name, which is freed. */
cJSON *told_data(char *event, const char *name);
cJSON *told_frame(struct told *t, bool is_first);

cJSON *at(const cJSON *list, int place);
cJSON *get(const cJSON *o, const char *name);
double number(const cJSON *o, const char *name);

#endif
