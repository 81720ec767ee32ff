/* SPDX-License-Identifier: MIT */
#include "loadgen/objective.h"

#include "loadgen/number.h"

#include <string.h>

static const double behind_share = 0.02;

static const char *skip_spaces(const char *text)
{
	return text + strspn(text, " ");
}

/* Step over `word` and the spaces around it.  False: it is not here. */
static bool take_word(const char **text, const char *word)
{
	const char *start = skip_spaces(*text);
	size_t length = strlen(word);

	if (strncmp(start, word, length) != 0)
		return false;
	*text = skip_spaces(start + length);
	return true;
}

/* '<' and a decimal number more than 0. */
static bool take_limit(const char **text, double *limit)
{
	if (!take_word(text, "<") || !number_take(text, limit))
		return false;
	*text = skip_spaces(*text);
	return *limit > 0;
}

/* "p99" is also the beginning of "p99.9", but '<' must follow. */
static bool take_figure(const char **text, struct objective *o)
{
	for (int i = 0; i < FIGURE_COUNT; i++) {
		const char *after = *text;

		if (take_word(&after, figure_names[i]) && *after == '<') {
			*text = after;
			o->figure = (enum figure)i;
			return true;
		}
	}
	return false;
}

static bool take_time(const char **text, struct objective *o)
{
	if (!take_figure(text, o) || !take_limit(text, &o->below_ms))
		return false;
	if (take_word(text, "ms"))
		return true;
	o->below_ms *= 1000;
	return take_word(text, "s");
}

static bool take_errors(const char **text, struct objective *o)
{
	double percent;

	if (!take_word(text, "errors") || !take_limit(text, &percent) ||
	    percent > 100)
		return false;
	o->errors_below = percent / 100;
	return take_word(text, "%");
}

bool objective_parse(struct objective *o, const char *text, struct error *error)
{
	struct objective parsed = { 0 };
	const char *rest = text;

	if (take_time(&rest, &parsed) &&
	    (*rest == '\0' || (take_word(&rest, ",") &&
			       take_errors(&rest, &parsed) && *rest == '\0'))) {
		*o = parsed;
		return true;
	}
	error_set(error,
		  "'%s': not as p90 < 200 ms or p99 < 1 s, errors < 1 %% "
		  "(mean, p50, p90, p99, p99.9 or max)",
		  text);
	return false;
}

void objective_print(FILE *out, const struct objective *o)
{
	fprintf(out, "%s < %g ms", figure_names[o->figure], o->below_ms);
	if (o->errors_below > 0)
		fprintf(out, ", errors < %g %%", 100 * o->errors_below);
}

static bool has_errors(const struct objective *o, const struct trial *t)
{
	uint64_t errors = t->request_count - t->ok_count;

	return errors > 0 &&
	       (double)errors >= o->errors_below * (double)t->request_count;
}

static bool is_behind(const struct objective *o, const struct trial *t)
{
	double late = (double)(t->request_count - t->in_time_count);

	return late > behind_share * (double)t->request_count +
			      t->rate_per_s * o->below_ms / 1000;
}

enum shortfall objective_judge(const struct objective *o, const struct trial *t)
{
	if (has_errors(o, t))
		return SHORTFALL_ERRORS;
	if (is_behind(o, t))
		return SHORTFALL_BEHIND;
	if (t->response_ns == NULL ||
	    !(t->response_ns->figures[o->figure] < o->below_ms * 1e6))
		return SHORTFALL_SLOW;
	return SHORTFALL_NONE;
}

const char *shortfall_name(enum shortfall s)
{
	static const char *const names[] = {
		[SHORTFALL_NONE] = "kept",
		[SHORTFALL_ERRORS] = "errors",
		[SHORTFALL_BEHIND] = "behind",
		[SHORTFALL_SLOW] = "slow",
	};

	return names[s];
}
