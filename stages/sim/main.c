/* SPDX-License-Identifier: MIT */
/* stages_sim: a stage graph under a schedule, in virtual time. */
#include "stages/sim/options.h"

#include "base/file.h"
#include "stages/flags.h"
#include "version.h"

enum { EXIT_USAGE = 2 };

static int complain(const struct error *error, int status)
{
	fprintf(stderr, "stages_sim: %s\n", error->text);
	return status;
}

static int run(const struct sim_options *o)
{
	struct sim_result result;
	struct report report = {
		.config = &o->config,
		.result = &result,
		.classes = o->classes,
	};
	struct error error;
	FILE *json = NULL;
	int status = 0;

	if (o->json != NULL) {
		json = file_open_figures(o->json, &error);
		if (json == NULL)
			return complain(&error, EXIT_USAGE);
	}
	sim_run(&o->config, &result);
	report_print(stdout, &report);
	if (json != NULL) {
		report_print_json(json, &report);
		if (!file_close_figures(json, o->json, &error))
			status = complain(&error, 1);
	}
	sim_result_release(&result);
	return status;
}

int main(int argc, char **argv)
{
	struct sim_options o;
	struct error error;
	int status = 0;

	file_fill_standard();
	if (!sim_options_parse(&o, argc, argv, &error)) {
		status = complain(&error, EXIT_USAGE);
	} else if (program_answer(&sim_program, &o.asked, DARKROOM_COMMIT,
				  stdout)) {
		status = 0;
	} else if (o.wants_policies) {
		policies_print(stdout);
	} else {
		status = run(&o);
	}
	sim_options_release(&o);
	return program_finish(&sim_program, status);
}
