/* SPDX-License-Identifier: MIT */
/* stages_sim: a stage graph under a schedule, in virtual time. */
#include "stages/sim/options.h"
#include "stages/sim/report.h"

#include "base/file.h"
#include "version.h"

#include <errno.h>
#include <string.h>

enum { EXIT_USAGE = 2 };

/* The file of --json could not be opened or written. */
static int complain(const struct sim_options *o, int status)
{
	fprintf(stderr, "stages_sim: --json '%s': %s\n", o->json,
		strerror(errno));
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
	FILE *json = o->json != NULL ? file_open_figures(o->json) : NULL;
	bool is_written = true;

	if (o->json != NULL && json == NULL)
		return complain(o, EXIT_USAGE);
	sim_run(&o->config, &result);
	report_print(stdout, &report);
	if (json != NULL) {
		is_written = report_print_json(json, &report);
		is_written = fclose(json) == 0 && is_written;
	}
	sim_result_release(&result);
	return is_written ? 0 : complain(o, 1);
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
