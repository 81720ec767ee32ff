/* SPDX-License-Identifier: MIT */
#include "loadgen/option_table.h"

#include "loadgen/options.h"

#include <stdio.h>

enum { HELP_COLUMN = 22 };

#define HELP_NEXT "\n                      "
#define FIELD(name) offsetof(struct options, name)

const struct option_spec option_specs[] = {
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
	{ "api-key-file", "FILE", KIND_TEXT, FIELD(api_key_file), 0, 0,
	  "send the first key in FILE, a line that does not begin" HELP_NEXT
	  "with #, as \"Authorization: Bearer KEY\" (default: none)" },
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

#define OPTION_COUNT (sizeof(option_specs) / sizeof(*option_specs))
_Static_assert(OPTION_COUNT <= OPTIONS_MAX, "as option_table.h promises");
const size_t option_spec_count = OPTION_COUNT;

void options_print_help(FILE *out)
{
	fputs("Usage: loadgen --dataset DIR|LIST [OPTION]... URL\n"
	      "Upload JPEGs to a server, by POST, and report how fast it was."
	      "\n\n",
	      out);
	for (size_t i = 0; i < option_spec_count; i++) {
		int used = fprintf(out, "  --%s %s", option_specs[i].name,
				   option_specs[i].value);

		fprintf(out, "%*s%s\n", HELP_COLUMN - used, "",
			option_specs[i].help);
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
