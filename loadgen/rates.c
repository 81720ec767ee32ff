/* SPDX-License-Identifier: MIT */
#include "loadgen/rates.h"

#include "base/take.h"
#include "base/util.h"

#include <math.h>
#include <string.h>

enum { NUMBER_COUNT = 4 };

/* Limits of the numbers in steps. */
static const double number_min = 0.001;
static const double number_max = 1e6;
/* Binary rounding may lose up to this part of a step. */
static const double rounding = 1e-6;

/* The share of the requests that may be unanswered at the end; see rates.h. */
static const double behind_share = 0.02;
static const double search_max_per_s = 1e6;
static const double search_precision = 0.02;

/* Decimal numbers with ':' between them. */
static bool steps_parse_numbers(const char *text, double numbers[NUMBER_COUNT])
{
	for (int i = 0; i < NUMBER_COUNT; i++) {
		if (!take_real(&text, &numbers[i]) ||
		    *text != (i < NUMBER_COUNT - 1 ? ':' : '\0') ||
		    numbers[i] < number_min || numbers[i] > number_max)
			return false;
		text++;
	}
	return true;
}

static double steps_between(const struct steps *s)
{
	return (s->to_per_s - s->from_per_s) / s->by_per_s + rounding;
}

bool steps_parse(struct steps *s, const char *text, struct error *error)
{
	double numbers[NUMBER_COUNT];
	struct steps parsed;

	if (!steps_parse_numbers(text, numbers)) {
		error_set(error,
			  "'%s': not FROM:TO:BY:SECONDS, each a number from "
			  "0.001 to 1000000",
			  text);
		return false;
	}
	parsed = (struct steps){ numbers[0], numbers[1], numbers[2],
				 numbers[3] };
	if (parsed.to_per_s < parsed.from_per_s) {
		error_set(error, "'%s': TO, %g, is less than FROM, %g", text,
			  parsed.to_per_s, parsed.from_per_s);
		return false;
	}
	if (steps_between(&parsed) >= STEPS_MAX) {
		error_set(error, "'%s': not 1 to %d steps", text, STEPS_MAX);
		return false;
	}
	*s = parsed;
	return true;
}

int steps_count(const struct steps *s)
{
	return (int)steps_between(s) + 1;
}

double steps_rate_per_s(const struct steps *s, int i)
{
	return s->from_per_s + i * s->by_per_s;
}

static const char *skip_spaces(const char *text)
{
	return text + strspn(text, " ");
}

/* Skip `word` and the spaces around it.  False: it does not come next. */
static bool take_spaced_word(const char **text, const char *word)
{
	const char *start = skip_spaces(*text);
	size_t length = strlen(word);

	if (strncmp(start, word, length) != 0)
		return false;
	*text = skip_spaces(start + length);
	return true;
}

/* '<' and a decimal number more than 0. */
static bool objective_take_limit(const char **text, double *limit)
{
	if (!take_spaced_word(text, "<") || !take_real(text, limit))
		return false;
	*text = skip_spaces(*text);
	return *limit > 0;
}

/* "p99" is also the beginning of "p99.9", so '<' must follow. */
static bool objective_take_figure(const char **text, struct objective *o)
{
	for (int i = 0; i < FIGURE_COUNT; i++) {
		const char *after = *text;

		if (take_spaced_word(&after, figure_names[i]) &&
		    *after == '<') {
			*text = after;
			o->figure = (enum figure)i;
			return true;
		}
	}
	return false;
}

static bool objective_take_time(const char **text, struct objective *o)
{
	if (!objective_take_figure(text, o) ||
	    !objective_take_limit(text, &o->below_ms))
		return false;
	if (take_spaced_word(text, "ms"))
		return true;
	o->below_ms *= 1000;
	return take_spaced_word(text, "s");
}

static bool objective_take_errors(const char **text, struct objective *o)
{
	double percent;

	if (!take_spaced_word(text, "errors") ||
	    !objective_take_limit(text, &percent) || percent > 100)
		return false;
	o->errors_below = percent / 100;
	return take_spaced_word(text, "%");
}

static bool is_figure(const char *name, size_t bytes)
{
	int i = 0;

	while (i < FIGURE_COUNT && (strlen(figure_names[i]) != bytes ||
				    memcmp(figure_names[i], name, bytes) != 0))
		i++;
	return i < FIGURE_COUNT;
}

/* Why is it no objective?  Its first mistake; else it is empty. */
static void objective_explain(const char *text, struct error *why)
{
	const char *at = skip_spaces(text);
	size_t bytes = strcspn(at, " <>=");
	double number;

	*why->text = '\0';
	if (bytes > 0 && !is_figure(at, bytes)) {
		error_set(why,
			  "there is no %.*s at the begin; there are mean, p50, "
			  "p90, p99, p99.9 and max; ",
			  (int)min_u64(bytes, 32), at);
		return;
	}
	at = skip_spaces(at + bytes);
	if (*at == '>' || *at == '=' || (*at == '<' && at[1] == '=')) {
		error_set(why, "only <; ");
		return;
	}
	if (*at != '<')
		return;
	at = skip_spaces(at + 1);
	if (!take_real(&at, &number))
		return;
	at = skip_spaces(at);
	if (*at == '\0' || *at == ',')
		error_set(why, "the unit is missing: ms or s; ");
}

bool objective_parse(struct objective *o, const char *text, struct error *error)
{
	struct objective parsed = { 0 };
	const char *rest = text;
	struct error why;

	if (objective_take_time(&rest, &parsed) &&
	    (*rest == '\0' ||
	     (take_spaced_word(&rest, ",") &&
	      objective_take_errors(&rest, &parsed) && *rest == '\0'))) {
		*o = parsed;
		return true;
	}
	objective_explain(text, &why);
	error_set(error,
		  "'%s': %snot as p90 < 200 ms or p99 < 1 s, errors < 1 %% "
		  "(mean, p50, p90, p99, p99.9 or max)",
		  text, why.text);
	return false;
}

void objective_print(FILE *out, const struct objective *o)
{
	fprintf(out, "%s < %g ms", figure_names[o->figure], o->below_ms);
	if (o->errors_below > 0)
		fprintf(out, ", errors < %g %%", 100 * o->errors_below);
}

static bool trial_has_errors(const struct objective *o,
			     const struct rate_trial *t)
{
	uint64_t errors = t->request_count - t->ok_count;

	return errors > 0 &&
	       (double)errors >= o->errors_below * (double)t->request_count;
}

static bool trial_is_behind(const struct objective *o,
			    const struct rate_trial *t)
{
	double late = (double)(t->request_count - t->in_time_count);

	return t->rate_per_s > 0 &&
	       late > behind_share * (double)t->request_count +
			       t->rate_per_s * o->below_ms / 1000;
}

enum shortfall objective_judge(const struct objective *o,
			       const struct rate_trial *t)
{
	if (trial_has_errors(o, t))
		return SHORTFALL_ERRORS;
	if (trial_is_behind(o, t))
		return SHORTFALL_BEHIND;
	if (t->response_ns != NULL && isnan(t->response_ns->figures[o->figure]))
		return SHORTFALL_FEW;
	if (t->response_ns == NULL ||
	    !(t->response_ns->figures[o->figure] < o->below_ms * 1e6))
		return SHORTFALL_SLOW;
	return SHORTFALL_NONE;
}

double objective_least_s(const struct objective *o, double rate_per_s)
{
	double needed = (double)figure_samples[o->figure];

	return needed > 1 ? (needed + 4 * sqrt(needed)) / rate_per_s : 0;
}

const char *shortfall_name(enum shortfall s)
{
	static const char *const names[] = {
		[SHORTFALL_NONE] = "kept",
		[SHORTFALL_ERRORS] = "errors",
		[SHORTFALL_BEHIND] = "behind",
		[SHORTFALL_FEW] = "too few replies",
		[SHORTFALL_SLOW] = "slow",
	};

	return names[s];
}

enum { VOTES_NEEDED = 2 };

bool vote_is_open(const struct vote *v)
{
	return v->met < VOTES_NEEDED && v->missed < VOTES_NEEDED;
}

bool vote_result(const struct vote *v)
{
	return v->met >= VOTES_NEEDED;
}

double search_next(const struct search *s)
{
	double held = s->held_per_s;
	double failed = s->failed_per_s;

	if (held == 0 && failed == 0)
		return s->first_per_s;
	if (failed == 0)
		return held < search_max_per_s ?
			       fmin(2 * held, search_max_per_s) :
			       0;
	if (held == 0)
		return failed > s->lowest_per_s ?
			       fmax(failed / 2, s->lowest_per_s) :
			       0;
	return failed - held > search_precision * held ? (held + failed) / 2 :
							 0;
}

void search_note(struct search *s, bool held)
{
	double rate_per_s = search_next(s);

	if (held)
		s->held_per_s = rate_per_s;
	else
		s->failed_per_s = rate_per_s;
}
