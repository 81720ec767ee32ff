/* SPDX-License-Identifier: MIT */
/* stages_bench: a stage graph in threads, under several schedules in turn. */
#include "stages/bench/report.h"
#include "stages/bench/work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 2 };

static void show_progress(const struct options *o, uint32_t at,
			  const struct run_result *result)
{
	int i = 0;

	while (figure_abouts[i].mode != o->mode)
		i++;
	fprintf(stderr, "round %u, %s: %s %.1f\n", at / o->arm_count + 1,
		o->arms[at % o->arm_count].name, figure_abouts[i].title,
		result->figures[i]);
}

static int run_all(struct options *o)
{
	uint32_t count = o->round_count * o->arm_count;
	struct run_result *results = calloc(count, sizeof(*results));
	int status = 0;

	o->config.steps_per_ns = work_measure_speed();
	for (uint32_t i = 0; i < count && status == 0; i++) {
		const struct arm *arm = &o->arms[i % o->arm_count];
		struct run_config config = o->config;

		config.seed += i / o->arm_count;
		if (results == NULL ||
		    !run(&config, &arm->schedule, arm->cores, &results[i])) {
			fputs("stages_bench: no memory or threads\n", stderr);
			status = 1;
		} else {
			show_progress(o, i, &results[i]);
		}
	}
	if (status == 0)
		report_print(stdout, o, results);
	if (status == 0 && o->json_path != NULL && !report_save(o, results)) {
		fprintf(stderr, "stages_bench: --json '%s': %s\n", o->json_path,
			strerror(errno));
		status = 1;
	}
	free(results);
	return status;
}

int main(int argc, char **argv)
{
	struct options o;
	char error[OPTIONS_ERROR_BYTES];
	int status = 0;

	if (!options_parse(&o, argc, argv, error)) {
		fprintf(stderr, "stages_bench: %s\n", error);
		status = EXIT_USAGE;
	} else if (o.is_help) {
		options_print_help(stdout);
	} else {
		status = run_all(&o);
	}
	options_release(&o);
	return status;
}
