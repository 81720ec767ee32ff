/* SPDX-License-Identifier: MIT */
/*
 * Announcements: the server's longer messages to its log.
 */
#ifndef SERVICE_ANNOUNCE_H
#define SERVICE_ANNOUNCE_H

#include "service/log/log.h"
#include "service/opened.h"
#include "service/report/stats.h"

/* Version, addresses, schedule and cores. */
void announce_start(struct log *l, const struct options *o,
		    const struct opened *opened,
		    const struct pipeline_config *config);

void announce_sandbox(struct log *l, const struct sandbox *sandbox);

/* What /stats tells: as JSON, or as tables for people. */
void announce_stats(struct log *l, struct stats_source *source);

#endif
