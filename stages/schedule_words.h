/* SPDX-License-Identifier: MIT */
/*
 * Words of a schedule: each choice that matters, as its flag, the flag's value,
 * and what it means for people who watch.
 *
 * What has no use with the rest, as a regime where nobody visits stages, has no
 * word.  A policy brings its own meaning (policy.h).
 *
 * Threads    Any.
 * Limits     A value longer than its buffer is a bug: of STAGES_MAX stages,
 *            names may have 10 characters.
 */
#ifndef STAGES_SCHEDULE_WORDS_H
#define STAGES_SCHEDULE_WORDS_H

#include "stages/schedule.h"

enum { SCHEDULE_WORDS_MAX = 8, SCHEDULE_VALUE_BYTES = STAGES_MAX * 32 };

struct schedule_word {
	const char *flag;                 /* its name, as  policy */
	char value[SCHEDULE_VALUE_BYTES]; /* as given; "": it is a switch */
	const char *meaning;              /* whole sentences; never freed */
};

/* All of a complete schedule, defaults included; returns how many. */
uint32_t schedule_words(const struct schedule *s, const char *const *stages,
			uint32_t stage_count,
			struct schedule_word out[SCHEDULE_WORDS_MAX]);

/* The same as the flags that would give it, without a line's end. */
void schedule_print(const struct schedule *s, const char *const *stages,
		    uint32_t stage_count, FILE *to);

#endif
