/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/command.h"

#include "base/options.h"
#include "loadgen/compare/comparison.h"
#include "loadgen/compare/plan.h"
#include "loadgen/compare/report.h"
#include "loadgen/compare/results.h"

#include "version.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	COMPARE_DONE = 0,
	COMPARE_FAILED = 1,
	COMPARE_USAGE = 2,
	COMPARE_INTERRUPTED = 130,
};

struct compare_options {
	const char *plan;
	const char *output;
	const char *report;
	const char *dataset;
	const char *arms;
	uint64_t repetitions; /* 0: the plan's */
	struct flags_asked asked;
};

static const struct flag flags[] = {
	{ "output", "DIR", NULL,
	  "write results.json, report.md, report.html and plots there; made "
	  "if missing",
	  FLAG_FIELD(struct compare_options, output) },
	{ "dataset", "DIR", NULL, "send these files; default: the plan's",
	  FLAG_FIELD(struct compare_options, dataset) },
	{ "repetitions", "N", NULL,
	  "measure every arm N times; default: the plan's",
	  FLAG_FIELD(struct compare_options, repetitions), .least = 1,
	  .most = PLAN_REPETITIONS_MAX },
	{ "arms", "NAME,...", NULL, "only these arms; default: all",
	  FLAG_FIELD(struct compare_options, arms) },
	{ "report", "DIR", NULL,
	  "measure nothing: report what is in DIR/results.json",
	  FLAG_FIELD(struct compare_options, report) },
	FLAGS_ASKED(struct compare_options, asked),
	{ 0 },
};

static const struct flag_group groups[] = { { .flags = flags }, { 0 } };

static const struct program program = {
	.name = "loadgen compare",
	.summary = "measure servers in turn and report",
	.usage = "PLAN.json --output DIR [OPTION]... | "
		 "--report DIR",
	.about = "Measure the servers of a plan in turn, and report how they "
		 "differ.",
	.groups = groups,
	.exit_status = "0 done, 1 an arm failed or a file could not be "
		       "written, 2 wrong usage or plan, 130 interrupted.",
	.see_also = "loadgen(1)",
	.operand = "PLAN.json",
	.follows_getopt = true,
};

static volatile sig_atomic_t interrupted;

static void interrupt(int signal_number)
{
	(void)signal_number;
	interrupted = 1;
}

/* Servers must be stopped first, however many signals come. */
static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = interrupt };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

static int complain(int code, const struct error *error)
{
	fprintf(stderr, "loadgen compare: %s\n", error->text);
	return code;
}

/* A flag_take_fn. */
static bool take_option(void *options, const struct flag *f, const char *value,
			struct error *why)
{
	struct compare_options *o = options;

	if (f != NULL)
		return flag_set(f, value, o, why);
	if (o->plan != NULL) {
		error_set(why, "there is a second plan, '%s'", value);
		return false;
	}
	o->plan = value;
	return true;
}

static bool override_plan(const struct compare_options *o, struct plan *plan,
			  struct error *error)
{
	if (o->dataset != NULL)
		plan->dataset = o->dataset;
	if (o->repetitions > 0)
		plan->repetitions = o->repetitions;
	if (plan->dataset == NULL) {
		error_set(error,
			  "--dataset DIR is missing, and the plan has none");
		return false;
	}
	return o->arms == NULL || plan_choose_arms(plan, o->arms, error);
}

static bool load_plan(const struct compare_options *o, struct plan *plan,
		      struct error *error)
{
	struct error why;
	cJSON *json = json_read_file(o->plan, RESULTS_BYTES_MAX, error);

	if (json == NULL)
		return false;
	if (plan_read(plan, json, &why))
		return override_plan(o, plan, error);
	error_set(error, "%s: %s", o->plan, why.text);
	return false;
}

/* Results are never written over those of another comparison. */
static bool make_folder(const char *folder, struct error *error)
{
	char *results = NULL;
	char *logs = NULL;
	bool made = false;

	if (asprintf(&results, "%s/results.json", folder) < 0 ||
	    asprintf(&logs, "%s/logs", folder) < 0)
		error_set(error, "out of memory");
	else if (access(results, F_OK) == 0)
		error_set(error, "%s is there already", results);
	else if ((mkdir(folder, 0777) != 0 && errno != EEXIST) ||
		 (mkdir(logs, 0777) != 0 && errno != EEXIST))
		error_set(error, "--output %s: %s", folder, strerror(errno));
	else
		made = true;
	free(results);
	free(logs);
	return made;
}

static int write_report(const char *folder, const cJSON *results)
{
	struct error error;
	struct error note;

	if (!report_write(folder, results, &note, &error))
		return complain(COMPARE_FAILED, &error);
	if (*note.text != '\0')
		printf("no plots, only tables: %s\n", note.text);
	printf("%s/report.html, report.md, results.json\n", folder);
	return COMPARE_DONE;
}

static int report_again(const char *folder)
{
	struct error error = { "out of memory" };
	char *path = NULL;
	cJSON *results = NULL;
	int code;

	if (asprintf(&path, "%s/results.json", folder) >= 0)
		results = json_read_file(path, RESULTS_BYTES_MAX, &error);
	code = results != NULL ? write_report(folder, results) :
				 complain(COMPARE_USAGE, &error);
	cJSON_Delete(results);
	free(path);
	return code;
}

static int run_comparison(const char *folder, const struct plan *plan)
{
	struct comparison_config config = {
		.plan = plan,
		.folder = folder,
		.progress = stderr,
		.live = isatty(STDERR_FILENO) != 0,
		.stop = &interrupted,
	};
	struct error error;
	cJSON *results;
	int code;

	if (!make_folder(folder, &error))
		return complain(COMPARE_USAGE, &error);
	if (!comparison_run(&config, &results, &error))
		code = complain(COMPARE_FAILED, &error);
	else
		code = write_report(folder, results);
	cJSON_Delete(results);
	return interrupted ? COMPARE_INTERRUPTED : code;
}

int compare_command(int argc, char **argv)
{
	struct compare_options options = { 0 };
	struct plan plan = { 0 };
	struct error error;
	int code;

	catch_signals();
	if (!flags_read(&program, argv + 1, (uint32_t)argc - 1, take_option,
			&options, &error))
		return complain(COMPARE_USAGE, &error);
	if (program_answer(&program, &options.asked, DARKROOM_COMMIT, stdout))
		return COMPARE_DONE;
	if (options.report != NULL && options.plan == NULL)
		return report_again(options.report);
	if (options.plan == NULL || options.output == NULL) {
		error_set(&error,
			  "PLAN.json and --output DIR, or --report DIR");
		return complain(COMPARE_USAGE, &error);
	}
	if (load_plan(&options, &plan, &error))
		code = run_comparison(options.output, &plan);
	else
		code = complain(COMPARE_USAGE, &error);
	plan_release(&plan);
	return code;
}
