/* SPDX-License-Identifier: MIT */
/*
 * Effects: a figure of several arms, each compared with that of a baseline.
 *
 * The rules of all comparisons here: Student's t test of the logarithms of the
 * ratios, paired by block or, for two experiments, Welch's; two one-sided tests
 * for equivalence within 2 %; both p corrected by Holm's method for the arms of
 * the figure.
 *
 * Ownership  names and samples are lent.
 */
#ifndef LOADGEN_COMPARE_EFFECTS_H
#define LOADGEN_COMPARE_EFFECTS_H

#include "base/statistics.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* All in per cent. */
enum {
	EFFECT_LEVEL = 95,      /* of intervals */
	EFFECT_SIGNIFICANT = 5, /* a p up to this counts */
	EFFECT_EQUIVALENT = 2,  /* a difference below this is none */
	EFFECT_POWER = 80,
};

enum verdict {
	VERDICT_NONE, /* the baseline, or not enough rounds */
	VERDICT_LESS,
	VERDICT_MORE,
	VERDICT_EQUIVALENT, /* also if a difference was found */
	VERDICT_OPEN,
};

struct effect {
	const char *name;
	const struct sample *sample;
	const struct sample *other; /* of the baseline; NULL: this is it */
	struct sample_ratio ratio;  /* the rest is filled by effects_judge() */
	double p, equivalence_p;    /* corrected */
	enum verdict verdict;
};

/* At most HOLM_TESTS_MAX effects.  `is_apart`: there are no common blocks. */
void effects_judge(struct effect *effects, size_t count, bool is_apart);

/*
 * Write a sentence, without a newline: which difference these rounds could
 * find, and how many rounds find EFFECT_EQUIVALENT.  False: nothing was
 * written, because no effect has a deviation.
 */
bool effects_write_power(const struct effect *effects, size_t count, FILE *out);

#endif
