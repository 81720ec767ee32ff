/* SPDX-License-Identifier: MIT */
/*
 * Trial: a run of the client with made-up files, and its results.
 *
 * Each result is checked when it comes.
 */
#ifndef LOADGEN_TEST_TRIAL_H
#define LOADGEN_TEST_TRIAL_H

#include "loadgen/client/client.h"
#include "loadgen/report/record.h"
#include "loadgen/test/server.h"

enum { TRIAL_FILES = 20, TRIAL_CONNECTIONS = 3 };

struct trial {
	struct dataset dataset;
	struct client_config config;
	uint64_t passes;
	enum arrivals_kind arrivals; /* ARRIVALS_NONE: a closed loop */
	double rate_per_s;
	struct record record;
	unsigned sent[TRIAL_FILES]; /* number of results of each file */
	/* Response time of the last result of each file. */
	uint64_t response_ns[TRIAL_FILES];
	uint64_t stop_after; /* results until `done` returns false; 0: never */
	uint64_t interrupt_after; /* results until `stop` is set; 0: never */
	volatile sig_atomic_t stop;
	/* Expected body of each 2xx; NULL: the upload itself. */
	const char *reply;
	uint64_t nap_at; /* the result at which the client sleeps; 0: none */
	uint64_t nap_ns;
	uint32_t nap_file;
	uint64_t nap_began_ns;
	uint64_t nap_ended_ns;
	enum client_end end;
	uint64_t makespan_ns;
	const char *error; /* of the client */
};

/*
 * Prepare one pass in a closed loop.  For another run, change members of `t`.
 */
void trial_init(struct trial *t, const char *url);
void trial_release(struct trial *t);

void trial_run(struct trial *t);

/* Start the server, run `t` with it, and stop it. */
void trial_run_with(struct trial *t, struct server *server);

/* The size of a file: from 0 to more than a socket accepts at once. */
size_t trial_size(uint32_t file);

/* The order in which a pass sends the files. */
void trial_order(uint32_t files[TRIAL_FILES]);

#endif
