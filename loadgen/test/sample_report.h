/* SPDX-License-Identifier: MIT */
/* Reports of made-up runs, to test what is told of them. */
#ifndef LOADGEN_TEST_SAMPLE_REPORT_H
#define LOADGEN_TEST_SAMPLE_REPORT_H

#include "loadgen/report.h"

struct sample {
	struct options options;
	struct setup setup;
	struct outcome outcome;
};

/*
 * A closed loop of 2 s: 90 replies of 1 .. 90 ms to 1 MB and 0.2 megapixels
 * each, but the first, which is to none; 8 times busy and 2 resets.
 */
void sample_init_closed(struct sample *s);

/*
 * An open loop of 1 s: 100 replies after 10 ms each to requests that left 1 ms
 * late at most, and one that waited for a connection.
 */
void sample_init_open(struct sample *s);

/* A server of two processes that used 1.5 s of CPU time. */
void sample_add_server(struct sample *s);

/* --calibrate; --verify, which found nothing; --golden, which found 3 of 90. */
void sample_ask_for_all(struct sample *s);

void sample_release(struct sample *s);

struct report sample_report(struct sample *s);

/* The caller frees the text. */
char *sample_json(struct sample *s);

/* With runs of spaces as one space, so that columns may move. */
char *sample_text(struct sample *s);

#endif
