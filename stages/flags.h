/* SPDX-License-Identifier: MIT */
/*
 * Flags: a schedule as flags of the command line.  The server, the simulator
 * and the benchmark read, print and explain their schedules by this module; a
 * program without such flags does not need it (stage.h).
 *
 * The words of all flags stand in choices.h.  Parsing, --help, printing and the
 * explanations for people (/stats, the live page) read them there.
 */
#ifndef STAGES_FLAGS_H
#define STAGES_FLAGS_H

#include "base/error.h"
#include "base/options.h"
#include "base/util.h"
#include "stages/stage.h"

#include <stdio.h>

/*
 * Flag i is that of choice i (enum schedule_choice).  `values` and `help` are
 * made from the words of the choices.
 */
extern const struct flag schedule_flags[];

/* What --list-policies prints: a line for each. */
void policies_print(FILE *out);

/*
 * Add the policy of a shared object (STAGES_POLICY_FILE(), policy.h), before
 * the flags of the schedule are read; its code runs with all rights of the
 * program.  One thread calls this.  NULL is fine.
 */
MUST_CHECK bool policy_load(const char *path, struct error *error);

/* The flag for it, of programs that have one. */
#define POLICY_FILE_FLAG(parent, field)                                        \
	{                                                                      \
		"policy-file", "FILE", NULL,                                   \
			"a shared object with a policy of your own, which "    \
			"--policy may name; see stages/policy.h",              \
			FLAG_FIELD(parent, field)                              \
	}

/*
 * Set one flag, `name` as in the table.  `text` is the value, NULL for a flag
 * that takes none; `stages` are the names of those that --pool, --threshold,
 * --regime and --discipline may name.  If a flag is set again, the last value
 * counts; with --pool and --threshold, the last value for each stage.  So it is
 * with --regime and --discipline, if the last value begins with a stage;
 * otherwise it is for all stages.  False: `text` is not one of the flag's
 * values.
 */
MUST_CHECK bool schedule_set(struct schedule *s, const char *name,
			     const char *text, const char *const *stages,
			     uint32_t stage_count);

/*
 * Write to `why` that `text` is not a value of this flag, and which values
 * there are (for --policy: all names), or which of its stages there is not.
 * Returns false.
 */
bool schedule_refuse(const char *name, const char *text,
		     const char *const *stages, uint32_t stage_count,
		     struct error *why);

/*
 * A value must fit into its buffer: with STAGES_MAX stages, their names may
 * have at most 10 characters.
 */
enum {
	SCHEDULE_WORDS_MAX = SCHEDULE_CHOICES,
	SCHEDULE_VALUE_BYTES = STAGES_MAX * 36,
};

/* One choice of a schedule, explained. */
struct schedule_word {
	const char *flag;                 /* its name, such as "policy" */
	char value[SCHEDULE_VALUE_BYTES]; /* its value; "": a switch */
	const char *meaning;              /* whole sentences; never freed */
};

/*
 * All choices of a complete schedule, including defaults.  Returns their
 * number.  A choice without effect is left out, such as a regime if no worker
 * visits stages.
 */
uint32_t schedule_words(const struct schedule *s, const char *const *stages,
			uint32_t stage_count,
			struct schedule_word out[SCHEDULE_WORDS_MAX]);

/*
 * Print a schedule as flags that give the same schedule again, without a
 * newline.
 */
void schedule_print(const struct schedule *s, const char *const *stages,
		    uint32_t stage_count, FILE *to);

#endif
