/* SPDX-License-Identifier: MIT */
/*
 * Option table: every option, for those who read the command line and for
 * those who read --help.
 */
#ifndef LOADGEN_OPTION_TABLE_H
#define LOADGEN_OPTION_TABLE_H

#include <stddef.h>
#include <stdint.h>

enum option_kind {
	KIND_FLAG,     /* bool, no value */
	KIND_TEXT,     /* const char * */
	KIND_COUNT,    /* uint64_t, from min to max */
	KIND_DECIMAL,  /* double, from 0.001 to max */
	KIND_ARRIVALS, /* enum arrivals_kind, and a trace */
	KIND_STEPS,    /* const char *, and struct steps */
	KIND_GOAL,     /* const char *, and struct objective */
	KIND_VERIFY,   /* enum verify_kind */
};

/* Everything about an option but what it is for. */
struct option_spec {
	const char *name;
	const char *value; /* as the help calls it */
	enum option_kind kind;
	size_t offset; /* in struct options */
	uint64_t min;
	uint64_t max;
	const char *help; /* one to three lines */
};

enum { OPTIONS_MAX = 64 };

extern const struct option_spec option_specs[];
extern const size_t option_spec_count; /* OPTIONS_MAX at most */

#endif
