/* SPDX-License-Identifier: MIT */
/* stages_sim: a stage graph under a schedule, in virtual time. */
#include "stages/sim/options.h"
#include "stages/sim/report.h"

#include "base/file.h"
#include "version.h"

enum { EXIT_USAGE = 2 };

static int run(const struct sim_options *o)
{
	struct sim_result result;
	struct report report = {
		.config = &o->config,
		.result = &result,
		.classes = o->classes,
	};
	bool is_written = true;

	sim_run(&o->config, &result);
	if (o->is_json)
		is_written = report_print_json(stdout, &report);
	else
		report_print(stdout, &report);
	sim_result_release(&result);
	return is_written ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct sim_options o;
	struct error error;
	int status = 0;

	file_fill_standard();
	if (!sim_options_parse(&o, argc, argv, &error)) {
		fprintf(stderr, "stages_sim: %s\n", error.text);
		status = EXIT_USAGE;
	} else if (!program_answer(&sim_program, &o.asked, DARKROOM_COMMIT,
				   stdout)) {
		status = run(&o);
	}
	if (!file_finish(stdout, &error)) {
		fprintf(stderr, "stages_sim: %s\n", error.text);
		status = status != 0 ? status : 1;
	}
	sim_options_release(&o);
	return status;
}
