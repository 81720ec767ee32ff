/* SPDX-License-Identifier: MIT */
#include "loadgen/options.h"

#include "loadgen/number.h"
#include "loadgen/option_table.h"
#include "loadgen/url.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	CLOSED_CONNECTIONS = 4,
	OPEN_CONNECTIONS = 256,
	FIND_MAX_RATE_PER_S = 10,
	FIND_MAX_DURATION_S = 10,
};

static bool parse_count(const struct option_spec *spec, const char *text,
			uint64_t *out, struct error *error)
{
	if (number_read_whole(text, spec->min, spec->max, out))
		return true;
	error_set(error,
		  "--%s '%s': not a whole number from %" PRIu64 " to %" PRIu64,
		  spec->name, text, spec->min, spec->max);
	return false;
}

static bool parse_decimal(const struct option_spec *spec, const char *text,
			  double *out, struct error *error)
{
	if (number_read(text, 0.001, (double)spec->max, out))
		return true;
	error_set(error, "--%s '%s': not a number from 0.001 to %" PRIu64,
		  spec->name, text, spec->max);
	return false;
}

static bool parse_arrivals(const struct option_spec *spec, const char *text,
			   struct options *o, struct error *error)
{
	static const char trace[] = "trace=";
	const char *file = text + sizeof(trace) - 1;

	if (strncmp(text, trace, sizeof(trace) - 1) == 0 && *file != '\0') {
		o->arrivals = ARRIVALS_TRACE;
		o->trace = file;
		return true;
	}
	if (arrivals_find(text, &o->arrivals) && o->arrivals != ARRIVALS_TRACE)
		return true;
	error_set(error, "--%s '%s': not poisson, constant or trace=FILE",
		  spec->name, text);
	return false;
}

/* Say which option the error comes from. */
static bool blame(const struct option_spec *spec, struct error *error)
{
	struct error why = *error;

	error_set(error, "--%s %s", spec->name, why.text);
	return false;
}

static bool parse_verify(const struct option_spec *spec, const char *text,
			 enum verify_kind *out, struct error *error)
{
	if (verify_find(text, out))
		return true;
	error_set(error, "--%s '%s': not size or decode", spec->name, text);
	return false;
}

static bool take(struct options *o, const struct option_spec *spec,
		 const char *text, struct error *error)
{
	void *field = (char *)o + spec->offset;

	switch (spec->kind) {
	case KIND_FLAG:
		*(bool *)field = true;
		return true;
	case KIND_TEXT:
		*(const char **)field = text;
		return true;
	case KIND_COUNT:
		return parse_count(spec, text, field, error);
	case KIND_DECIMAL:
		return parse_decimal(spec, text, field, error);
	case KIND_ARRIVALS:
		return parse_arrivals(spec, text, o, error);
	case KIND_VERIFY:
		return parse_verify(spec, text, field, error);
	case KIND_STEPS:
		o->step = text;
		return steps_parse(&o->steps, text, error) ||
		       blame(spec, error);
	case KIND_GOAL:
		o->find_max = text;
		return objective_parse(&o->objective, text, error) ||
		       blame(spec, error);
	}
	abort();
}

static bool take_options(struct options *o, int argc, char **argv,
			 struct error *error)
{
	struct option known[OPTIONS_MAX + 1] = { 0 };
	int found;
	int i;

	for (i = 0; i < (int)option_spec_count; i++) {
		known[i].name = option_specs[i].name;
		known[i].has_arg = option_specs[i].kind == KIND_FLAG ?
					   no_argument :
					   required_argument;
	}
	optind = 0; /* also resets what getopt_long() remembers */
	opterr = 0;
	while ((found = getopt_long(argc, argv, ":", known, &i)) == 0)
		if (!take(o, &option_specs[i], optarg, error))
			return false;
	if (found == -1)
		return true;
	error_set(error, "%s: %s", argv[optind - 1],
		  found == ':' ? "its value is missing" : "no such option");
	return false;
}

static bool check_url(const char *text, struct error *error)
{
	struct url url = { 0 };
	bool good = url_parse(&url, text, error);

	url_release(&url);
	return good;
}

/* A sweep has rates and durations of its own. */
static bool check_sweep(const struct options *o, struct error *error)
{
	bool is_step = o->step != NULL;
	const struct {
		bool is_given;
		const char *name;
	} others[] = {
		{ is_step && o->find_max != NULL, "--find-max" },
		{ is_step && o->rate_per_s > 0, "--rate" },
		{ is_step && o->duration_s > 0, "--duration" },
		{ o->passes != 0, "--passes" },
		{ o->arrivals == ARRIVALS_TRACE, "--arrivals trace=FILE" },
		{ o->verify != VERIFY_NONE, "--verify" },
		{ o->golden != NULL, "--golden" },
		{ o->csv != NULL, "--csv" },
		{ o->percentiles != NULL, "--percentiles" },
	};

	if (!is_step && o->find_max == NULL)
		return true;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (others[i].is_given) {
			error_set(error, "--%s: not with %s",
				  is_step ? "step" : "find-max",
				  others[i].name);
			return false;
		}
	return true;
}

static bool check_together(const struct options *o, struct error *error)
{
	bool is_sweep = o->step != NULL || o->find_max != NULL;

	if (!check_sweep(o, error))
		return false;
	if (o->calibrate && o->params != NULL) {
		error_set(error, "--calibrate: not with --params, which makes "
				 "requests of one file differ");
		return false;
	}
	if (o->passes != 0 && o->duration_s > 0) {
		error_set(error, "--passes %" PRIu64 " --duration %g: only one",
			  o->passes, o->duration_s);
		return false;
	}
	if (o->arrivals != ARRIVALS_NONE && o->arrivals != ARRIVALS_TRACE &&
	    !(o->rate_per_s > 0) && !is_sweep) {
		error_set(error, "--arrivals %s: --rate is missing",
			  arrivals_name(o->arrivals));
		return false;
	}
	return true;
}

/* Those that depend on other options. */
static void set_defaults(struct options *o)
{
	bool is_open;

	if (o->step != NULL) {
		o->rate_per_s = o->steps.from_per_s;
		o->duration_s = o->steps.duration_s;
	}
	if (o->find_max != NULL && !(o->rate_per_s > 0))
		o->rate_per_s = FIND_MAX_RATE_PER_S;
	if (o->find_max != NULL && !(o->duration_s > 0))
		o->duration_s = FIND_MAX_DURATION_S;
	if (o->passes == 0 && !(o->duration_s > 0) &&
	    o->arrivals != ARRIVALS_TRACE)
		o->passes = 1;
	if (o->rate_per_s > 0 && o->arrivals == ARRIVALS_NONE)
		o->arrivals = ARRIVALS_POISSON;
	is_open = o->arrivals != ARRIVALS_NONE;
	if (o->connections == 0)
		o->connections =
			is_open ? OPEN_CONNECTIONS : CLOSED_CONNECTIONS;
}

bool options_parse(struct options *o, int argc, char **argv,
		   struct error *error)
{
	*o = (struct options){ .seed = 1, .timeout_s = 60 };
	if (!take_options(o, argc, argv, error))
		return false;
	if (o->help)
		return true;
	if (!check_together(o, error))
		return false;
	set_defaults(o);
	if (o->dataset == NULL) {
		error_set(error, "--dataset DIR|LIST is missing");
		return false;
	}
	if (argc == optind) {
		error_set(error, "URL is missing");
		return false;
	}
	if (argc - optind > 1) {
		error_set(error, "'%s': one URL is enough", argv[optind + 1]);
		return false;
	}
	o->url = argv[optind];
	return check_url(o->url, error);
}
