/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/effects.h"

#include <math.h>

enum { BLOCKS_TOLD = 1000 }; /* more do not matter */

static enum verdict judge(const struct effect *e)
{
	if (isnan(e->p))
		return VERDICT_NONE;
	if (e->equivalence_p <= EFFECT_SIGNIFICANT / 100.0)
		return VERDICT_EQUIVALENT;
	if (e->p > EFFECT_SIGNIFICANT / 100.0)
		return VERDICT_OPEN;
	return e->ratio.ratio < 1 ? VERDICT_LESS : VERDICT_MORE;
}

void effects_judge(struct effect *effects, size_t count, bool is_apart)
{
	double p[HOLM_TESTS_MAX], equivalence_p[HOLM_TESTS_MAX];

	for (size_t i = 0; i < count; i++) {
		struct effect *e = &effects[i];

		p[i] = equivalence_p[i] = NAN;
		if (e->other == NULL)
			continue;
		e->ratio = (is_apart ? sample_compare_apart : sample_compare)(
			e->sample, e->other, EFFECT_LEVEL / 100.0);
		p[i] = e->ratio.p;
		equivalence_p[i] = sample_equivalence_p(
			&e->ratio, 1 + EFFECT_EQUIVALENT / 100.0);
	}
	holm_correct(p, count);
	holm_correct(equivalence_p, count);
	for (size_t i = 0; i < count; i++) {
		effects[i].p = p[i];
		effects[i].equivalence_p = equivalence_p[i];
		effects[i].verdict = judge(&effects[i]);
	}
}

bool effects_write_power(const struct effect *effects, size_t count, FILE *out)
{
	const struct effect *widest = NULL;
	double tests = 0;

	for (size_t i = 0; i < count; i++) {
		if (effects[i].verdict == VERDICT_NONE)
			continue;
		tests++;
		if (widest == NULL ||
		    effects[i].ratio.deviation > widest->ratio.deviation)
			widest = &effects[i];
	}
	if (widest == NULL || !(widest->ratio.deviation > 0))
		return false;

	double needed = sample_blocks_needed(
		widest->ratio.deviation, 1 + EFFECT_EQUIVALENT / 100.0,
		EFFECT_SIGNIFICANT / 100.0 / tests, EFFECT_POWER / 100.0);
	double deviation = widest->ratio.deviation;
	size_t blocks = widest->ratio.blocks;
	double alpha = EFFECT_SIGNIFICANT / 100.0 / tests;
	double least = 100 * (sample_least_ratio(deviation, blocks, alpha,
						 EFFECT_POWER / 100.0) -
			      1);

	/* With very few repetitions, it may be millions. */
	fprintf(out,
		"Power: of %s, whose ratios scatter most, %zu repetitions find "
		"a difference of %s%.1f %% in %d of 100 cases; for one of %d "
		"%% it takes ",
		widest->name, blocks, least > 100 ? "more than " : "",
		fmin(least, 100), EFFECT_POWER, EFFECT_EQUIVALENT);
	if (needed > BLOCKS_TOLD)
		fprintf(out, "more than 1,000 repetitions.");
	else
		fprintf(out, "%.0f repetitions.", needed);
	return true;
}
