/* SPDX-License-Identifier: MIT */
/* stages_sim: a stage graph under a schedule, in virtual time. */
#include "stages/sim/options.h"
#include "stages/sim/report.h"

enum { EXIT_USAGE = 2 };

static int run(const struct options *o)
{
	struct engine_result result;
	struct report report = {
		.config = &o->config,
		.result = &result,
		.classes = o->classes,
	};
	bool is_written = true;

	engine_run(&o->config, &result);
	if (report.classes.bound_count == 0)
		summary_classify(&result, &report.classes);
	if (o->is_json)
		is_written = report_print_json(stdout, &report);
	else
		report_print(stdout, &report);
	engine_release(&result);
	return is_written ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct options o;
	char error[OPTIONS_ERROR_BYTES];
	int status = 0;

	if (!options_parse(&o, argc, argv, error)) {
		fprintf(stderr, "stages_sim: %s\n", error);
		status = EXIT_USAGE;
	} else if (o.is_help) {
		options_print_help(stdout);
	} else {
		status = run(&o);
	}
	options_release(&o);
	return status;
}
