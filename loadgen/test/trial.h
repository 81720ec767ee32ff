/* SPDX-License-Identifier: MIT */
/*
 * Trial: a run of the client over made-up files, and what came of it.
 *
 * What every result must be is asserted as it comes in.
 */
#ifndef LOADGEN_TEST_TRIAL_H
#define LOADGEN_TEST_TRIAL_H

#include "loadgen/client.h"
#include "loadgen/record.h"
#include "loadgen/test/server.h"

enum { TRIAL_FILES = 20, TRIAL_CONNECTIONS = 3 };

struct trial {
	struct dataset dataset;
	struct client_config config;
	uint64_t passes;
	enum arrivals_kind arrivals; /* ARRIVALS_NONE: a closed loop */
	double rate_per_s;
	struct record record;
	unsigned sent[TRIAL_FILES];        /* results, by file */
	uint64_t response_ns[TRIAL_FILES]; /* of the last, by file */
	uint64_t stop_after;      /* results before `done` says no; 0: never */
	uint64_t interrupt_after; /* results before `stop` is set; 0: never */
	volatile sig_atomic_t stop;
	const char *reply; /* of every 2xx, if kept; NULL: the upload */
	uint64_t nap_at;   /* the result at which the client sleeps; 0: none */
	uint64_t nap_ns;
	uint32_t nap_file;
	uint64_t nap_began_ns;
	uint64_t nap_ended_ns;
	enum client_end end;
	uint64_t makespan_ns;
	const char *error; /* of the client */
};

/* One pass in a closed loop; change what else is wanted before the run. */
void trial_init(struct trial *t, const char *url);
void trial_release(struct trial *t);

void trial_run(struct trial *t);

/* Start the server, run `t` against it, stop it; then its counts hold. */
void trial_run_with(struct trial *t, struct server *server);

/* From empty to one that no socket takes at once. */
size_t trial_size(uint32_t file);

/* The order in which a pass sends the files. */
void trial_order(uint32_t files[TRIAL_FILES]);

#endif
