/* SPDX-License-Identifier: MIT */
/*
 * Options: the command line, one table for parsing and --help.
 */
#ifndef SERVICE_OPTIONS_H
#define SERVICE_OPTIONS_H

#include "service/pipeline.h"

enum { OPTIONS_ERROR_BYTES = FLAGS_ERROR_BYTES };

struct options {
	const char *listen;
	struct schedule schedule; /* not complete: cores are not known */
	const char *cores;        /* NULL: default */
	uint32_t uploads_max;
	uint32_t connections_max;
	uint64_t body_bytes_max;
	struct img_limits limits;
	uint32_t drain_ms;
	const char *trace;      /* files; NULL: none */
	const char *graph;      /* to read */
	const char *save_graph; /* to write */
	bool wants_help, wants_version, wants_policies;
};

/*
 * Read the command line.  False: `error` is a sentence that names the flag and
 * its value.  Strings in `o` point into `argv`.
 */
MUST_CHECK bool options_parse(struct options *o, int argc, char *const *argv,
			      char error[OPTIONS_ERROR_BYTES]);

/* Flags with their values, defaults and help. */
void options_print_help(FILE *to);

#endif
