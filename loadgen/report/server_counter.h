/* SPDX-License-Identifier: MIT */
/*
 * Server counter: what the server itself has counted, such as bytes that it
 * has processed.  It is read from its /metrics, in Prometheus's text format,
 * before and after a run; the difference is of the run, and of all else that
 * the server did meanwhile.
 *
 * A counter has a sample for each combination of its labels; its value is
 * their sum.
 */
#ifndef LOADGEN_REPORT_SERVER_COUNTER_H
#define LOADGEN_REPORT_SERVER_COUNTER_H

#include "base/error.h"
#include "loadgen/options.h"

#include <stdbool.h>

/*
 * Read the counter o->server_counter from the server of o->url.  `fields` are
 * more header lines, with CRLF; NULL: none.  Blocks for at most o->timeout_s,
 * besides the resolver.  False: `error` names the option and says why.
 */
MUST_CHECK bool server_counter_read(const struct load_options *o,
				    const char *fields, double *value,
				    struct error *error);

/*
 * Add up the samples of a counter in the text of /metrics.  False: it has none.
 */
MUST_CHECK bool server_counter_sum(const char *text, const char *name,
				   double *sum);

#endif
