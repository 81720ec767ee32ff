/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/findings.h"

static const double SIGNIFICANT_P = 0.05;

static const struct sample *throughput(const struct arm_figures *arm)
{
	return &arm->metrics[METRIC_MEGABYTES_PER_S];
}

/* Fewer runs than that can never differ enough. */
static bool enough_runs(const struct figures *f)
{
	const struct sample *first = throughput(&f->arms[0]);

	for (size_t i = 1; i < f->arm_count; i++)
		if (statistics_least_p(throughput(&f->arms[i])->count,
				       first->count) > SIGNIFICANT_P)
			return false;
	return true;
}

static void compare_one(const struct document *d, const struct arm_figures *arm,
			const struct arm_figures *first)
{
	double p = sample_p(throughput(arm), throughput(first));
	double share = sample_median(throughput(arm)) /
			       sample_median(throughput(first)) -
		       1;

	if (p > SIGNIFICANT_P)
		document_item(d,
			      "%s and %s do not differ as far as can be told "
			      "(median %+.1f %%, p = %.3g).",
			      arm->name, first->name, 100 * share, p);
	else
		document_item(d,
			      "%s is %s than %s (median %+.1f %%, p = %.3g).",
			      arm->name, share > 0 ? "faster" : "slower",
			      first->name, 100 * share, p);
}

void findings_compare(const struct document *d, const struct figures *f)
{
	const struct arm_figures *first = &f->arms[0];
	size_t runs = throughput(first)->count;

	if (f->arm_count < 2)
		return;
	if (!enough_runs(f)) {
		document_paragraph(
			d,
			"With so few runs (%zu of %s) no difference can be "
			"told from chance at p <= %g: take the figures as "
			"samples.",
			runs, first->name, SIGNIFICANT_P);
		return;
	}
	document_paragraph(
		d,
		"Throughput against %s, the first measured, by Mann and "
		"Whitney's test, two-sided, not corrected for the number of "
		"comparisons (%zu):",
		first->name, f->arm_count - 1);
	document_list_begin(d);
	for (size_t i = 0; i < f->arm_count; i++)
		if (f->ranking[i] != 0)
			compare_one(d, &f->arms[f->ranking[i]], first);
	document_list_end(d);
}

/* In how many runs at this rate something was not answered. */
static size_t count_losses(const struct arm_figures *arm, size_t rate)
{
	const struct sample *s = &arm->open[rate][OPEN_FAILED_PERCENT];
	size_t count = 0;

	for (size_t i = 0; i < s->count; i++)
		count += s->values[i] > 0;
	return count;
}

static bool anything_to_warn_of(const struct figures *f,
				const struct plan *plan)
{
	for (size_t i = 0; i < f->arm_count; i++)
		for (size_t k = 0; k < plan->open.rate_count; k++)
			if (count_losses(&f->arms[i], k) > 0)
				return true;
	return f->warning_count > 0;
}

static void warn_of_arm(const struct document *d, const struct arm_figures *arm,
			const struct plan *plan)
{
	for (size_t k = 0; k < plan->open.rate_count; k++) {
		const struct sample *s = &arm->open[k][OPEN_FAILED_PERCENT];
		size_t losses = count_losses(arm, k);

		if (losses > 0)
			document_item(
				d,
				"%s, open loop at %g %%: not all requests were "
				"answered 2xx in %zu of %zu runs, and %.2f %% "
				"were not in the worst; the response times are "
				"those of the others.",
				arm->name, plan->open.percents[k], losses,
				s->count, sample_max(s));
	}
}

void findings_warn(const struct document *d, const struct figures *f,
		   const struct plan *plan)
{
	if (!anything_to_warn_of(f, plan))
		return;
	document_heading(d, "Warnings");
	document_list_begin(d);
	for (size_t i = 0; i < f->arm_count; i++)
		warn_of_arm(d, &f->arms[i], plan);
	for (size_t i = 0; i < f->warning_count; i++)
		document_item(d, "%s: %s (runs: %zu%s).", f->warnings[i].arm,
			      f->warnings[i].text, f->warnings[i].count,
			      f->warnings[i].count > 1 ?
				      "; figures of the first" :
				      "");
	document_list_end(d);
}
