/* SPDX-License-Identifier: MIT */
/* Probe: does a server answer HTTP? */
#ifndef LOADGEN_COMPARE_PROBE_H
#define LOADGEN_COMPARE_PROBE_H

#include <stdbool.h>

/*
 * GET `url` once.  True: the first bytes of any HTTP reply came within a
 * second; that replies are right, only uploads can show.
 */
bool probe_answers(const char *url);

#endif
