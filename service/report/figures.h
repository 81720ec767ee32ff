/* SPDX-License-Identifier: MIT */
/*
 * Figures: the table of figures.def, and the value of each.
 *
 *	stats_read() -> struct counts -> /stats, /metrics, /v1/live
 *
 * A group's figures are members of one struct, the `from` of its row: struct
 * counts, for a stage struct stage_stats or stage_view, for a worker struct
 * worker_counts.  `from` below points to such a struct.
 *
 * Threads    Any number of threads.
 */
#ifndef SERVICE_FIGURES_H
#define SERVICE_FIGURES_H

#include "service/http/http_config.h"
#include "service/report/report.h"
#include "service/decoder/decoders.h"
#include "service/hooks/hooks.h"
#include "service/store/inbox.h"
#include "service/http/handlers/images/packer.h"
#include "service/store/store.h"

#include "base/json.h"

enum figure_group {
#define GROUP(id, ...) id,
#include "service/report/figures.def"
	GROUPS,
	GROUPS_OF_SERVER =
		EVENTS /* the groups before it are of struct counts */
};

/* Metrics whose samples metrics.c prints. */
enum figure_family {
	FAMILY_NONE,
#define FAMILY(group, is, function, ...) FAMILY_##function,
#include "service/report/figures.def"
};

enum { COUNTER = 1, GAUGE = 2, TIME = 4, LIVE = 8 };

/* A row of figures.def. */
struct figure {
	enum figure_group group;
	unsigned is;
	const char *name, *metric, *sentence;
	size_t offset, bytes; /* the member, if it is one */
	/* The value in /stats, computed; NULL: it is a member. */
	double (*compute)(const void *from);
	/* Of a histogram: this quantile in /stats, at most `most`. */
	double quantile;
	uint64_t (*most)(const void *from);
	/* The sum of all values; NULL: the metric is no histogram. */
	uint64_t (*sum)(const void *from);
	enum figure_family family;
};

/* A member is 0 if the system does not report it. */
struct process_stats {
	uint64_t started_unix_ns;
	uint64_t cpu_ns;
	uint64_t resident_bytes, resident_bytes_peak;
	uint64_t virtual_bytes;
	/* Context switches, including those of ended threads. */
	uint64_t switch_count;
	uint64_t file_count, file_count_max; /* open files */
};

/* What was read for a report. */
struct counts {
	bool always; /* true */
	bool has_fibres, has_threads;
	bool has_store, has_disk, has_quota, is_remote, has_inbox;
	bool has_originals, has_packer, has_hooks;
	bool has_decoder;
	bool has_hardware;
	uint64_t uptime_ns;
	uint32_t uploads_max;
	struct process_stats process;
	struct pipeline_stats pipeline;
	struct stage_view recent[PIPELINE_STAGES];
	struct fibre_stats fibres;
	struct uthreads_counts threads;
	struct store_stats store;
	struct inbox_stats inbox;
	struct packer_stats packer;
	struct hooks_stats hooks;
	struct decoder_stats decoder;
	struct http_report http; /* zero in /stats */
};

struct worker_counts {
	struct worker_stats worker;
	uint64_t uptime_ns;
};

/* `http` may be NULL. */
void stats_read(struct stats_source *source, const struct http_report *http,
		struct counts *out);

/* The first figure of a group; all are one after the other. */
const struct figure *figures_of(enum figure_group group);

/* The next figure of the same group; NULL: there is none. */
const struct figure *figure_next(const struct figure *f);

/* Does this server have the group? */
bool figures_are_used(enum figure_group group, const struct counts *c);

/* The object of /stats, such as "uploads"; "": the outermost. */
const char *figures_object(enum figure_group group);

/* Add those figures of a group that /stats has, and that are all of `is`. */
void figures_add(struct json *j, enum figure_group group, unsigned is,
		 const void *from);

/* The same for an object of /stats; nothing if the server has none of it. */
void figures_add_object(struct json *j, const char *object, unsigned is,
			const struct counts *c);

/* The value as in /stats. */
double figure_number(const struct figure *f, const void *from);

/* The value of a member as it is. */
uint64_t figure_count(const struct figure *f, const void *from);

/* The flags of the schedule. */
char *stats_schedule(const struct pipeline_config *config);

/* A quantile in ms: the upper end of its bucket, but at most `max_ns`. */
double stats_quantile_ms(const struct histogram_copy *h, double q,
			 uint64_t max_ns);

#endif
