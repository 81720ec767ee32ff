/* SPDX-License-Identifier: MIT */
/* Options: the command line of loadgen, checked. */
#ifndef LOADGEN_OPTIONS_H
#define LOADGEN_OPTIONS_H

#include "loadgen/client/arrivals.h"
#include "base/options.h"
#include "loadgen/rates.h"
#include "loadgen/report/verify.h"

#include <stdbool.h>
#include <stdint.h>

enum { COUNTER_NAME_MAX = 63 };

struct load_options {
	const char *url;
	const char *dataset;
	bool all_files;
	double rate_per_s; /* 0: a closed loop, or the trace's own rate */
	enum arrivals_kind arrivals;
	const char *trace; /* file with the times of ARRIVALS_TRACE */
	uint64_t connections;
	uint64_t passes;   /* 0: until the duration or the trace is over */
	double duration_s; /* 0: as long as the passes or the trace take */
	uint64_t seed;
	double timeout_s;
	const char *step;           /* NULL: no sweep */
	struct steps steps;         /* `step`, parsed */
	const char *find_max;       /* NULL: no search */
	const char *require;        /* NULL: no goal for the run */
	struct objective objective; /* `find_max` or `require`, parsed */
	double warm_up_s;           /* 0: none */
	/* Field of the form to send; NULL: send the bare file. */
	const char *multipart;
	const char *params;       /* file of queries; NULL: none */
	const char *api_key_file; /* NULL: none */
	const char *ca_file;      /* NULL: as the system trusts */
	bool is_insecure;
	bool calibrate;
	double disturbed_percent;   /* a run above this gives no verdict */
	uint64_t server_pid;        /* 0: search for it */
	const char *server_counter; /* NULL: none */
	enum verify_kind verify;
	const char *golden; /* NULL: do not compare */
	const char *json;   /* file names; NULL: do not write */
	const char *csv;
	const char *percentiles;
	const char *save; /* folder for replies; NULL: do not save */
	/* If --help or the like was given, other members may be unset. */
	struct flags_asked asked;
};

/*
 * Read the command line.  Its strings are lent to `o`.  False: `error` names
 * the option and its value.
 */
MUST_CHECK bool load_options_parse(struct load_options *o, int argc,
				   char **argv, struct error *error);

/* Is it the name of a Prometheus counter, of at most COUNTER_NAME_MAX bytes? */
bool counter_name_is_valid(const char *name);

/* The flags of loadgen, from which --help is printed. */
extern const struct program load_program;

#endif
