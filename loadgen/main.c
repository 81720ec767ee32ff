/* SPDX-License-Identifier: MIT */
/*
 * loadgen: options -> setup -> run -> report; or the command `compare`.
 *
 * Only this file ends the program.  It prints the results and errors of a
 * measurement; run.c shows its progress, and compare/comparison.c prints for
 * itself.
 */
#include "loadgen/run.h"
#include "loadgen/compare/comparison.h"
#include "loadgen/options.h"
#include "loadgen/report/report.h"
#include "loadgen/sweep.h"

#include "base/file.h"
#include "version.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum exit_code {
	EXIT_ALL_OK = 0,
	EXIT_NOT_ALL_OK = 1,
	EXIT_USAGE = 2,
	EXIT_INTERRUPTED = 130, /* the code with which a shell reports SIGINT */
};

static volatile sig_atomic_t interrupted;

static void interrupt(int signal_number)
{
	(void)signal_number;
	interrupted = 1;
}

/* The first Ctrl-C ends the run, the second one ends the program. */
static void catch_signals(void)
{
	struct sigaction action = {
		.sa_handler = interrupt,
		.sa_flags = (int)SA_RESETHAND,
	};

	sigaction(SIGINT, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static enum exit_code print_error(enum exit_code code,
				  const struct error *error)
{
	fprintf(stderr, "loadgen: %s\n", error->text);
	return code;
}

/* Was the goal of --require met?  A run that is too disturbed does not say. */
static enum exit_code check_goal(const struct report *report)
{
	const struct load_options *o = report->options;
	struct outcome *outcome = report->outcome;
	struct record *r = &outcome->record;
	struct summary response_ns;
	bool any = samples_summarize(&r->response, &response_ns);
	bool is_timed = o->arrivals != ARRIVALS_NONE && o->duration_s > 0;
	enum shortfall shortfall = objective_judge(
		&o->objective,
		&(struct rate_trial){
			.rate_per_s = is_timed ? o->rate_per_s : 0,
			.request_count = r->request_count,
			.ok_count = r->ok_count,
			.in_time_count = outcome->in_time_count,
			.response_ns = any ? &response_ns : NULL,
		});

	printf("required        ");
	objective_print(stdout, &o->objective);
	if (report->disturbance == DISTURBANCE_HIGH) {
		printf(": no verdict\n");
		fprintf(stderr,
			"loadgen: --require: no verdict: other programs and "
			"the hypervisor took %.1f %% of the cores, more than "
			"--disturbed %g\n",
			report->disturbed_percent, o->disturbed_percent);
		return EXIT_NOT_ALL_OK;
	}
	printf(": %s\n", shortfall_name(shortfall));
	return shortfall == SHORTFALL_NONE ? EXIT_ALL_OK : EXIT_NOT_ALL_OK;
}

static enum exit_code check_answers(const struct record *r)
{
	if (r->ok_count == r->request_count)
		return EXIT_ALL_OK;
	fprintf(stderr,
		"loadgen: %" PRIu64 " of %" PRIu64
		" requests were not answered 2xx\n",
		r->request_count - r->ok_count, r->request_count);
	return EXIT_NOT_ALL_OK;
}

static enum exit_code report_wrong_replies(const char *option,
					   const struct reply_checks *c)
{
	if (c->wrong_count == 0)
		return EXIT_ALL_OK;
	fprintf(stderr,
		"loadgen: --%s: %" PRIu64 " of %" PRIu64
		" replies were wrong; first %s\n",
		option, c->wrong_count, c->checked_count, c->first_wrong.text);
	return EXIT_NOT_ALL_OK;
}

static enum exit_code measure(const struct load_options *o,
			      const struct setup *setup)
{
	struct outcome outcome = { 0 };
	struct report report;
	struct error error;
	enum exit_code code = EXIT_ALL_OK;

	if (!run_once(setup, o, &interrupted, &outcome, &error))
		code = print_error(EXIT_NOT_ALL_OK, &error);
	report = report_make(o, setup->dataset.count, &outcome);
	report_print(stdout, &report);
	if (setup->json != NULL && !report_write_json(setup->json, &report)) {
		error_set(&error, "--json %s: %s", o->json, strerror(errno));
		code = print_error(EXIT_NOT_ALL_OK, &error);
	}
	if (setup->percentiles != NULL &&
	    !percentiles_write(setup->percentiles, &outcome.record.response))
		/* setup_finish() reports the reason. */
		code = EXIT_NOT_ALL_OK;
	if ((o->require != NULL ?
		     check_goal(&report) :
		     check_answers(&outcome.record)) != EXIT_ALL_OK ||
	    report_wrong_replies("verify", &outcome.verified) != EXIT_ALL_OK ||
	    report_wrong_replies("golden", &outcome.golden) != EXIT_ALL_OK)
		code = EXIT_NOT_ALL_OK;
	outcome_release(&outcome);
	return code;
}

static enum exit_code sweep(const struct load_options *o,
			    const struct setup *setup)
{
	struct sweep_config config = {
		.setup = setup,
		.options = o,
		.stop = &interrupted,
		.table = stdout,
		.json = setup->json,
	};
	struct error error;

	if (sweep_run(&config, &error))
		return EXIT_ALL_OK;
	return print_error(EXIT_NOT_ALL_OK, &error);
}

static enum exit_code set_up_and_measure(struct load_options *o)
{
	struct setup setup = { 0 };
	struct error error;
	enum exit_code code;

	if (!setup_init(&setup, o, &error))
		code = print_error(EXIT_USAGE, &error);
	else if (o->calibrate && !calibrate(&setup, o, &interrupted, &error))
		code = print_error(EXIT_NOT_ALL_OK, &error);
	else if (o->warm_up_s > 0 && !warm_up(&setup, o, &interrupted, &error))
		code = print_error(EXIT_NOT_ALL_OK, &error);
	else if (o->step != NULL || o->find_max != NULL)
		code = sweep(o, &setup);
	else
		code = measure(o, &setup);
	if (!setup_finish(&setup, &error) && code != EXIT_USAGE)
		code = print_error(EXIT_NOT_ALL_OK, &error);
	return interrupted ? EXIT_INTERRUPTED : code;
}

int main(int argc, char **argv)
{
	struct load_options options;
	struct error error;
	enum exit_code code = EXIT_ALL_OK;

	file_fill_standard();
	catch_signals();
	if (argc > 1 && strcmp(argv[1], "compare") == 0)
		return program_finish(&load_program,
				      compare_command(argc - 1, argv + 1));
	if (!load_options_parse(&options, argc, argv, &error)) {
		code = print_error(EXIT_USAGE, &error);
		fprintf(stderr, "Try 'loadgen --help'.\n");
	} else if (!program_answer(&load_program, &options.asked,
				   DARKROOM_COMMIT, stdout)) {
		code = set_up_and_measure(&options);
	}
	return program_finish(&load_program, code);
}
