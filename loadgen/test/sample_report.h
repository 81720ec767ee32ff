/* SPDX-License-Identifier: MIT */
/* Reports of made-up runs, to test how they are written. */
#ifndef LOADGEN_TEST_SAMPLE_REPORT_H
#define LOADGEN_TEST_SAMPLE_REPORT_H

#include "loadgen/report/report.h"

struct sample {
	struct load_options options;
	struct outcome outcome;
};

/*
 * A closed loop of 2 s: 90 replies 200 after 1 .. 90 ms, 8 replies 503 and 2
 * resets.  Each file has 1 MB and 0.2 megapixels, except the first, which is
 * empty.
 */
void sample_init_closed(struct sample *s);

/*
 * An open loop of 1 s: 100 replies after 10 ms each to requests that were sent
 * at most 1 ms late, and one to a request that waited for a connection.
 */
void sample_init_open(struct sample *s);

/* A server of two processes that used 1.5 s of CPU time. */
void sample_add_server(struct sample *s);

/*
 * As with --calibrate, --verify (no reply is wrong) and --golden (3 of 90 are
 * wrong).
 */
void sample_ask_for_all(struct sample *s);

void sample_release(struct sample *s);

struct report sample_report(struct sample *s);

/* The JSON, which the caller frees. */
char *sample_json(struct sample *s);

/*
 * The text for people.  Several spaces are reduced to one, so that columns may
 * move.  The caller frees it.
 */
char *sample_text(struct sample *s);

#endif
