/* SPDX-License-Identifier: MIT */
#include "loadgen/options.h"

#include "loadgen/url.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
	CLOSED_CONNECTIONS = 4,
	OPEN_CONNECTIONS = 256,
	FIND_MAX_RATE_PER_S = 10,
	FIND_MAX_DURATION_S = 10,
};

enum kind {
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
struct spec {
	const char *name;
	const char *value; /* as the help calls it */
	enum kind kind;
	size_t offset; /* in struct options */
	uint64_t min;
	uint64_t max;
	const char *help; /* one to three lines */
};

enum { HELP_COLUMN = 22 };

#define HELP_NEXT "\n                      "
#define FIELD(name) offsetof(struct options, name)

static const struct spec specs[] = {
	{ "dataset", "DIR|LIST", KIND_TEXT, FIELD(dataset), 0, 0,
	  "send the *.jpg and *.jpeg files below DIR, hidden ones" HELP_NEXT
	  "left out; or the files of a list, one PATH per line, from" HELP_NEXT
	  "its folder on, and after a TAB, if need be, what to add" HELP_NEXT
	  "to the URL's query; all are read first (no default)" },
	{ "all-files", "", KIND_FLAG, FIELD(all_files), 0, 0,
	  "send the files of other names too (default: no)" },
	{ "multipart", "FIELD", KIND_TEXT, FIELD(multipart), 0, 0,
	  "send each file as FIELD of a form, as browsers do" HELP_NEXT
	  "(default: as the body of the request)" },
	{ "params", "FILE", KIND_TEXT, FIELD(params), 0, 0,
	  "add to the query of each request a line of FILE, drawn by" HELP_NEXT
	  "--seed; a line is a query as w=320&h=240, or its weight," HELP_NEXT
	  "a TAB and the query (default: none)" },
	{ "connections", "N", KIND_COUNT, FIELD(connections), 1, 100000,
	  "keep-alive connections; each sends its next request when" HELP_NEXT
	  "its last reply is complete (default: 4); with --rate," HELP_NEXT
	  "as many as are needed, but N at most (default: 256)" },
	{ "rate", "R", KIND_DECIMAL, FIELD(rate_per_s), 0, 1000000,
	  "open loop: send R requests per second, at times that do" HELP_NEXT
	  "not depend on the replies (default: closed loop)" },
	{ "arrivals", "KIND", KIND_ARRIVALS, FIELD(arrivals), 0, 0,
	  "of --rate: poisson, as by independent users, or constant," HELP_NEXT
	  "with equal gaps (default: poisson); or trace=FILE, with" HELP_NEXT
	  "one time in seconds per line, replayed once, as it is" HELP_NEXT
	  "or stretched to --rate" },
	{ "passes", "N", KIND_COUNT, FIELD(passes), 1, 1000000,
	  "send every file N times (default: 1)" },
	{ "duration", "S", KIND_DECIMAL, FIELD(duration_s), 0, 1000000,
	  "instead, send for S seconds, then let requests in flight" HELP_NEXT
	  "finish; with --rate, send all that is meant to be sent" HELP_NEXT
	  "within S seconds, however late (default: none)" },
	{ "step", "F:T:B:S", KIND_STEPS, FIELD(step), 0, 0,
	  "open loop at the rates F, F + B .. T, for S seconds each," HELP_NEXT
	  "and a table of them (default: one run)" },
	{ "find-max", "GOAL", KIND_GOAL, FIELD(find_max), 0, 0,
	  "the highest rate, to 2 %, that keeps \"p90 < 200 ms\" or" HELP_NEXT
	  "\"p99 < 1 s, errors < 1 %\": doubles, then bisects, with a" HELP_NEXT
	  "run of --duration (default: 10) for each rate, first of" HELP_NEXT
	  "--rate (default: 10).  A server fails too if it falls" HELP_NEXT
	  "behind, or by any error if errors are not named" },
	{ "seed", "N", KIND_COUNT, FIELD(seed), 0, UINT64_MAX,
	  "of the shuffle, which is fresh for each pass, and of the" HELP_NEXT
	  "times of --rate and the draws of --params (default: 1)" },
	{ "timeout", "S", KIND_DECIMAL, FIELD(timeout_s), 0, 1000000,
	  "of one request, connecting included (default: 60)" },
	{ "calibrate", "", KIND_FLAG, FIELD(calibrate), 0, 0,
	  "first send every file 3 times, alone, and then tell how" HELP_NEXT
	  "many times longer it took under load (default: no)" },
	{ "pid", "N", KIND_COUNT, FIELD(server_pid), 1, INT32_MAX,
	  "the server's process, whose use of the machine is to be" HELP_NEXT
	  "told (default: what listens at the URL's port here)" },
	{ "verify", "KIND", KIND_VERIFY, FIELD(verify), 0, 0,
	  "decode: 2xx replies must decode as JPEGs; size: and have" HELP_NEXT
	  "the size that w, h, fit, enlarge and orient of the query" HELP_NEXT
	  "promise (default: no; it costs the client CPU time, so" HELP_NEXT
	  "it is for a pass of its own)" },
	{ "golden", "DIR", KIND_TEXT, FIELD(golden), 0, 0,
	  "2xx replies must be, to the byte, those that --save DIR" HELP_NEXT
	  "wrote earlier (default: no; costs CPU time, too)" },
	{ "json", "FILE", KIND_TEXT, FIELD(json), 0, 0,
	  "write the report to FILE too (default: none)" },
	{ "csv", "FILE", KIND_TEXT, FIELD(csv), 0, 0,
	  "write a row for each request to FILE (default: none)" },
	{ "percentiles", "FILE", KIND_TEXT, FIELD(percentiles), 0, 0,
	  "write the response times to FILE as HdrHistogram does" HELP_NEXT
	  "(default: none)" },
	{ "save", "DIR", KIND_TEXT, FIELD(save), 0, 0,
	  "write the bodies of 2xx replies to DIR, and status.tsv:" HELP_NEXT
	  "path, status or error, reply bytes (default: none; this" HELP_NEXT
	  "takes time out of the run that is measured)" },
	{ "help", "", KIND_FLAG, FIELD(help), 0, 0, "print this" },
};

enum { SPEC_COUNT = sizeof(specs) / sizeof(*specs) };

void options_print_help(FILE *out)
{
	fputs("Usage: loadgen --dataset DIR|LIST [OPTION]... URL\n"
	      "Upload JPEGs to a server, by POST, and report how fast it was."
	      "\n\n",
	      out);
	for (size_t i = 0; i < SPEC_COUNT; i++) {
		int used = fprintf(out, "  --%s %s", specs[i].name,
				   specs[i].value);

		fprintf(out, "%*s%s\n", HELP_COLUMN - used, "", specs[i].help);
	}
	fputs("\n"
	      "Rates count the requests answered 2xx.  Response time runs from "
	      "the last byte\n"
	      "sent to the last byte received; with --rate, from the time the "
	      "request should\n"
	      "have been sent, so that waiting for a connection counts.\n\n"
	      "Exit status: 0 all requests were answered 2xx, 1 some were "
	      "not, or wrongly,\n"
	      "2 wrong usage, 130 interrupted (the report covers what was "
	      "done).\n",
	      out);
}

/* A whole number, digits only. */
static bool parse_count(const struct spec *spec, const char *text,
			uint64_t *out, struct error *error)
{
	size_t digits = strspn(text, "0123456789");

	errno = 0;
	*out = strtoull(text, NULL, 10);
	if (digits > 0 && text[digits] == '\0' && errno == 0 &&
	    *out >= spec->min && *out <= spec->max)
		return true;
	error_set(error,
		  "--%s '%s': not a whole number from %" PRIu64 " to %" PRIu64,
		  spec->name, text, spec->min, spec->max);
	return false;
}

static bool parse_decimal(const struct spec *spec, const char *text,
			  double *out, struct error *error)
{
	size_t digits = strspn(text, "0123456789.");
	char *end;

	*out = strtod(text, &end);
	if (digits > 0 && text[digits] == '\0' && *end == '\0' &&
	    *out >= 0.001 && *out <= (double)spec->max)
		return true;
	error_set(error, "--%s '%s': not a number from 0.001 to %" PRIu64,
		  spec->name, text, spec->max);
	return false;
}

static bool parse_arrivals(const struct spec *spec, const char *text,
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
static bool blame(const struct spec *spec, struct error *error)
{
	struct error why = *error;

	error_set(error, "--%s %s", spec->name, why.text);
	return false;
}

static bool parse_verify(const struct spec *spec, const char *text,
			 enum verify_kind *out, struct error *error)
{
	if (verify_find(text, out))
		return true;
	error_set(error, "--%s '%s': not size or decode", spec->name, text);
	return false;
}

static bool take(struct options *o, const struct spec *spec, const char *text,
		 struct error *error)
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
	struct option known[SPEC_COUNT + 1] = { 0 };
	int found;
	int i;

	for (i = 0; i < SPEC_COUNT; i++) {
		known[i].name = specs[i].name;
		known[i].has_arg = specs[i].kind == KIND_FLAG ?
					   no_argument :
					   required_argument;
	}
	optind = 0; /* also resets what getopt_long() remembers */
	opterr = 0;
	while ((found = getopt_long(argc, argv, ":", known, &i)) == 0)
		if (!take(o, &specs[i], optarg, error))
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
