/* SPDX-License-Identifier: MIT */
#include "loadgen/options.h"

#include "base/machine_usage.h"
#include "base/util.h"
#include "loadgen/client/request.h"

#include <inttypes.h>
#include <string.h>

enum {
	CLOSED_CONNECTIONS = 4,
	OPEN_CONNECTIONS = 256,
	FIND_MAX_RATE_PER_S = 10,
	FIND_MAX_DURATION_S = 10,
};

#define FIELD(name) FLAG_FIELD(struct load_options, name)

static const struct flag dataset_flags[] = {
	{ "dataset", "DIR|LIST", NULL,
	  "send the pictures below DIR (*.jpg, *.jpeg, *.png, *.webp, *.avif, "
	  "*.heic, *.heif, *.jxl, *.gif, *.ppm, *.pgm, *.pnm), "
	  "except hidden ones; or the files in LIST, one PATH per line, "
	  "relative to LIST's folder, and after it, if needed, a TAB and what "
	  "to add to the URL's query; all files are read before the run; "
	  "required",
	  FIELD(dataset) },
	{ "all-files", NULL, NULL, "send the files of other names too",
	  FIELD(all_files) },
	{ "multipart", "FIELD", NULL,
	  "send each file as FIELD of a form, as browsers do; default: as the "
	  "body of the request",
	  FIELD(multipart) },
	{ "params", "FILE", NULL,
	  "add to the query of each request a line of FILE, chosen at random; "
	  "a "
	  "line is a query such as w=320&h=240, or its weight, a TAB and the "
	  "query",
	  FIELD(params) },
	{ "api-key-file", "FILE", NULL,
	  "send the first key in FILE, a line that does not begin with #, as "
	  "\"Authorization: Bearer KEY\"",
	  FIELD(api_key_file) },
	{ "cacert", "FILE", NULL,
	  "with https://, trust only servers whose certificate is signed by "
	  "one in FILE (PEM); default: those that the system trusts",
	  FIELD(ca_file) },
	{ "insecure", NULL, NULL,
	  "with https://, do not check the server's certificate",
	  FIELD(is_insecure) },
	{ 0 },
};

static const struct flag rate_flags[] = {
	{ "connections", "N", NULL,
	  "keep-alive connections; each sends its next request when its last "
	  "reply is complete (default: 4); with --rate, opened when needed, at "
	  "most N (default: 256)",
	  FIELD(connections), .least = 1, .most = 100000 },
	{ "rate", "R", NULL,
	  "open loop: send R requests per second, at times that do not depend "
	  "on the replies; default: closed loop",
	  FIELD(rate_per_s), .least = 0.001, .most = 1000000 },
	{ "arrivals", "poisson|constant|trace=FILE", NULL,
	  "when requests are due: poisson: at random, as with independent "
	  "users (default); constant: with equal gaps; trace=FILE: at the "
	  "times in FILE, one per line, in seconds, none before the last one, "
	  "and once, or until --duration; --rate stretches them to that rate",
	  .type = FLAG_OTHER },
	{ "passes", "N", NULL, "send every file N times (default: 1)",
	  FIELD(passes), .least = 1, .most = 1000000 },
	{ "duration", "S", NULL,
	  "instead of --passes, send for S seconds, then finish what was sent; "
	  "with --rate, send all requests that are due within S seconds, "
	  "however late",
	  FIELD(duration_s), .least = 0.001, .most = 1000000 },
	{ "step", "F:T:B:S", NULL,
	  "open loop at the rates F, F + B .. T, for S seconds each, and a "
	  "table of them; default: one run",
	  .type = FLAG_OTHER },
	{ "find-max", "GOAL", NULL,
	  "find, within 2 %, the highest rate that meets a goal such as "
	  "\"p90 < 200 ms\" or \"p99 < 1 s, errors < 1 %\". Doubles the "
	  "rate, then bisects; each rate has two runs of --duration "
	  "(default: 10), and a third if they disagree. It begins with --rate "
	  "(default: 10). A run lasts longer if its percentile needs more "
	  "replies. A rate also fails if the "
	  "server falls behind or, unless the goal names errors, if a request "
	  "fails",
	  .type = FLAG_OTHER },
	{ "require", "GOAL", NULL,
	  "of the run, as with --find-max: if it is missed, the exit status is "
	  "1",
	  .type = FLAG_OTHER },
	{ "disturbed", "PERCENT", TEXT_OF(MACHINE_NO_VERDICT_PERCENT),
	  "a run gives no verdict for --find-max or --require if other "
	  "programs and the hypervisor took more than this of the machine's "
	  "cores, if that is known; --find-max makes it again, up to three "
	  "times in all, and then gives up; 100: each run gives one",
	  FIELD(disturbed_percent), .least = 0.1, .most = 100 },
	{ "warm-up", "S", NULL,
	  "send for S seconds before what is measured, once", FIELD(warm_up_s),
	  .least = 0.001, .most = 1000000 },
	{ "seed", "N", "1",
	  "seed of the shuffle, which differs for each pass, of the times of "
	  "--rate and of the draws of --params",
	  FIELD(seed), .most = 0x1p64 },
	{ "timeout", "S", "60", "limit of one request, connecting included",
	  FIELD(timeout_s), .least = 0.001, .most = 1000000 },
	{ "calibrate", NULL, NULL,
	  "first send every file 3 times without other load, and then report "
	  "how many times longer it took under load",
	  FIELD(calibrate) },
	{ 0 },
};

static const struct flag check_flags[] = {
	{ "pid", "N", NULL,
	  "the server's process, whose CPU time and memory are reported; "
	  "default: the one that listens at the URL's port on this machine",
	  FIELD(server_pid), .least = 1, .most = INT32_MAX },
	{ "server-counter", "NAME", NULL,
	  "report by how much this Prometheus counter of the server grew "
	  "during the run, in all and per second; it is read from /metrics at "
	  "the URL's host and port, and summed over its labels",
	  .type = FLAG_OTHER },
	{ "verify", "decode|size", NULL,
	  "decode: 2xx replies must decode as JPEGs or be whole PNGs, WebPs, "
	  "AVIFs, JPEG XLs or "
	  "PPMs; "
	  "size: "
	  "they must also have "
	  "the size that w, h, fit, enlarge and orient of the query require. "
	  "It "
	  "costs the client CPU time, so use a run of its own",
	  .type = FLAG_OTHER },
	{ "golden", "DIR", NULL,
	  "2xx replies must be identical to those that --save DIR wrote "
	  "earlier; costs CPU time, too",
	  FIELD(golden) },
	{ "json", "FILE", NULL,
	  "write the report to FILE too, as JSON; -: to standard output, "
	  "instead of the text",
	  FIELD(json) },
	{ "csv", "FILE", NULL, "write a row for each request to FILE",
	  FIELD(csv) },
	{ "percentiles", "FILE", NULL,
	  "write the response times to FILE in the format of HdrHistogram",
	  FIELD(percentiles) },
	{ "save", "DIR", NULL,
	  "write the bodies of 2xx replies to DIR, and status.tsv: path, "
	  "status or error, reply bytes; this takes time from the run that is "
	  "measured",
	  FIELD(save) },
	FLAGS_ASKED(struct load_options, asked),
	{ 0 },
};

static const struct flag_group groups[] = {
	{ .flags = dataset_flags, .title = "Requests" },
	{ .flags = rate_flags, .title = "Load" },
	{ .flags = check_flags, .title = "Checks and reports" },
	{ 0 },
};

const struct program load_program = {
	.name = "loadgen",
	.summary = "upload JPEGs to a server and report how fast it was",
	.usage = "--dataset DIR|LIST [OPTION]... URL",
	.about = "Upload JPEGs to a server, by POST, and report how fast it "
		 "was.\n\n"
		 "\"loadgen compare\" compares servers; see loadgen compare "
		 "--help.",
	.groups = groups,
	.notes = "Rates count the requests answered 2xx. Response time runs "
		 "from the last byte sent to the last byte received; with "
		 "--rate, from the time when the request should have been "
		 "sent, so that waiting for a connection counts.",
	.exit_status = "0 all requests were answered 2xx, 1 some were not, or "
		       "a reply was wrong, or the goal of --require was "
		       "missed or has no verdict, or the output could not be "
		       "written, 2 wrong usage, 130 interrupted (the report "
		       "covers the time until then).",
	.see_also = "darkroom(1), loadgen-compare(1)",
	.operand = "compare|URL",
	.follows_getopt = true,
};

static bool take_arrivals(struct load_options *o, const char *text,
			  struct error *why)
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
	error_set(why, "'%s' is not poisson, constant or trace=FILE", text);
	return false;
}

static bool take_verify(struct load_options *o, const char *text,
			struct error *why)
{
	if (verify_find(text, &o->verify))
		return true;
	error_set(why, "'%s' is not size or decode", text);
	return false;
}

bool counter_name_is_valid(const char *name)
{
	static const char characters[] = "abcdefghijklmnopqrstuvwxyz"
					 "ABCDEFGHIJKLMNOPQRSTUVWXYZ_:"
					 "0123456789";
	size_t length = strspn(name, characters);

	return length >= 1 && length <= COUNTER_NAME_MAX &&
	       name[length] == '\0' && !(*name >= '0' && *name <= '9');
}

static bool take_server_counter(struct load_options *o, const char *text,
				struct error *why)
{
	o->server_counter = text;
	if (counter_name_is_valid(text))
		return true;
	error_set(
		why,
		"'%s' is not a counter's name, of up to %d letters, digits, _ "
		"and :",
		text, COUNTER_NAME_MAX);
	return false;
}

static bool take_url(struct load_options *o, const char *text,
		     struct error *error)
{
	if (o->url == NULL) {
		o->url = text;
		return true;
	}
	error_set(error, "'%s': one URL is enough", text);
	return false;
}

/* A flag_take_fn. */
static bool take_option(void *options, const struct flag *f, const char *value,
			struct error *why)
{
	struct load_options *o = options;

	if (f == NULL)
		return take_url(o, value, why);
	if (f->type != FLAG_OTHER)
		return flag_set(f, value, o, why);
	if (strcmp(f->name, "arrivals") == 0)
		return take_arrivals(o, value, why);
	if (strcmp(f->name, "verify") == 0)
		return take_verify(o, value, why);
	if (strcmp(f->name, "server-counter") == 0)
		return take_server_counter(o, value, why);
	if (strcmp(f->name, "step") == 0) {
		o->step = value;
		return steps_parse(&o->steps, value, why);
	}
	if (strcmp(f->name, "require") == 0)
		o->require = value;
	else
		o->find_max = value;
	return objective_parse(&o->objective, value, why);
}

static bool check_url(const char *text, struct error *error)
{
	struct url url = { 0 };
	bool good = url_parse(&url, text, error);

	url_release(&url);
	return good;
}

/* A sweep has rates and durations of its own. */
static bool check_sweep(const struct load_options *o, struct error *error)
{
	bool is_step = o->step != NULL;
	const struct {
		bool is_given;
		const char *name;
	} others[] = {
		{ is_step && o->find_max != NULL, "--find-max" },
		{ is_step && o->rate_per_s > 0, "--rate" },
		{ is_step && o->duration_s > 0, "--duration" },
		{ o->require != NULL, "--require" },
		{ o->passes != 0, "--passes" },
		{ o->arrivals == ARRIVALS_TRACE, "--arrivals trace=FILE" },
		{ o->verify != VERIFY_NONE, "--verify" },
		{ o->golden != NULL, "--golden" },
		{ o->csv != NULL, "--csv" },
		{ o->percentiles != NULL, "--percentiles" },
	};

	if (!is_step && o->find_max == NULL)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (others[i].is_given) {
			error_set(error, "--%s: not with %s",
				  is_step ? "step" : "find-max",
				  others[i].name);
			return false;
		}
	return true;
}

static bool check_together(const struct load_options *o, struct error *error)
{
	bool is_sweep = o->step != NULL || o->find_max != NULL;

	if (!check_sweep(o, error))
		return false;
	if (o->calibrate && o->params != NULL) {
		error_set(error, "--calibrate: not with --params, which makes "
				 "requests of one file differ");
		return false;
	}
	if (o->warm_up_s > 0 && o->arrivals == ARRIVALS_TRACE) {
		error_set(error, "--warm-up: not with --arrivals trace=FILE, "
				 "whose requests are sent once");
		return false;
	}
	if (o->passes != 0 && o->arrivals == ARRIVALS_TRACE) {
		error_set(error, "--passes: not with --arrivals trace=FILE, "
				 "which says when to end");
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

/* Defaults that depend on other options. */
static void set_derived(struct load_options *o)
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

bool load_options_parse(struct load_options *o, int argc, char **argv,
			struct error *error)
{
	*o = (struct load_options){ .seed = 1 };
	for (const struct flag_group *g = groups; g->flags != NULL; g++)
		flags_init(g->flags, o);
	if (!flags_read(&load_program, argv + 1, (uint32_t)argc - 1,
			take_option, o, error))
		return false;
	if (flags_is_asked(&o->asked))
		return true;
	if (!check_together(o, error))
		return false;
	set_derived(o);
	if (o->dataset == NULL) {
		error_set(error, "--dataset DIR|LIST is missing");
		return false;
	}
	if (o->url == NULL) {
		error_set(error, "URL is missing");
		return false;
	}
	return check_url(o->url, error);
}
