/* SPDX-License-Identifier: MIT */
/*
 * Tables: those of M. E. Gordon's thesis (UCAM-CL-TR-781, tables 4.4 to 4.6)
 * with more columns, and one of the open loops.
 *
 * Rows stand by the mean throughput, the best first, in all of them.  A dash:
 * not measured.
 */
#ifndef LOADGEN_COMPARE_TABLES_H
#define LOADGEN_COMPARE_TABLES_H

#include "loadgen/compare/document.h"
#include "loadgen/compare/figures.h"
#include "loadgen/compare/plan.h"

/* Table 4.4: throughput, and what may be said of differences. */
void tables_throughput(const struct document *d, const struct figures *f);

/* Table 4.5: what clients see. */
void tables_client(const struct document *d, const struct figures *f);

/* The same of response times as of throughput. */
void tables_response_time(const struct document *d, const struct figures *f);

/* Table 4.6: what it costs the server. */
void tables_server(const struct document *d, const struct figures *f);

/* The same of CPU time per image as of throughput. */
void tables_cpu(const struct document *d, const struct figures *f);

/* Medians, and of how many of the arm's runs. */
void tables_open_loop(const struct document *d, const struct figures *f,
		      const struct plan *plan);

#endif
