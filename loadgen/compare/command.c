/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/command.h"

#include "loadgen/compare/comparison.h"
#include "loadgen/compare/json_file.h"
#include "loadgen/compare/plan.h"
#include "loadgen/compare/reports.h"
#include "loadgen/compare/results.h"
#include "loadgen/error.h"
#include "loadgen/number.h"

#include <errno.h>
#include <getopt.h>
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

static const char help[] =
	"usage: loadgen compare PLAN.json --output DIR [OPTIONS]\n"
	"       loadgen compare --report DIR\n"
	"\n"
	"Measure the servers of a plan in turns, and report.\n"
	"\n"
	"  --output DIR        write results.json, report.md, report.html and\n"
	"                      plots there; made if missing\n"
	"  --dataset DIR       send these files (default: the plan's)\n"
	"  --repetitions N     measure every arm N times (default: the "
	"plan's)\n"
	"  --arms NAME,...     only these arms (default: all of the plan)\n"
	"  --report DIR        measure nothing: report what is in\n"
	"                      DIR/results.json\n"
	"  --help              print this and exit\n";

struct command {
	const char *plan;
	const char *output;
	const char *report;
	const char *dataset;
	const char *repetitions;
	const char *arms;
	bool help;
};

static volatile sig_atomic_t interrupted;

static void interrupt(int signal_number)
{
	(void)signal_number;
	interrupted = 1;
}

/* However often: servers must be stopped before this program ends. */
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

static bool parse(struct command *command, int argc, char **argv)
{
	static const struct option options[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "report", required_argument, NULL, 'R' },
		{ "dataset", required_argument, NULL, 'd' },
		{ "repetitions", required_argument, NULL, 'r' },
		{ "arms", required_argument, NULL, 'a' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'o':
			command->output = optarg;
			break;
		case 'R':
			command->report = optarg;
			break;
		case 'd':
			command->dataset = optarg;
			break;
		case 'r':
			command->repetitions = optarg;
			break;
		case 'a':
			command->arms = optarg;
			break;
		case 'h':
			command->help = true;
			break;
		default:
			return false; /* getopt_long() has said why */
		}
	}
	command->plan = optind < argc ? argv[optind] : NULL;
	return argc - optind <= 1;
}

static bool override_repetitions(struct plan *plan, const char *text,
				 struct error *error)
{
	if (number_read_whole(text, 1, PLAN_REPETITIONS_MAX,
			      &plan->repetitions))
		return true;
	error_set(error, "--repetitions '%s': not a number from 1 to %d", text,
		  PLAN_REPETITIONS_MAX);
	return false;
}

static bool override_plan(const struct command *command, struct plan *plan,
			  struct error *error)
{
	if (command->dataset != NULL)
		plan->dataset = command->dataset;
	if (plan->dataset == NULL) {
		error_set(error,
			  "--dataset DIR is missing, and the plan has none");
		return false;
	}
	return (command->repetitions == NULL ||
		override_repetitions(plan, command->repetitions, error)) &&
	       (command->arms == NULL ||
		plan_choose_arms(plan, command->arms, error));
}

/* Results are never written over those of another comparison. */
static bool make_folder(const char *folder, struct error *error)
{
	char *path = NULL;
	bool made = false;

	if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
		error_set(error, "--output %s: %s", folder, strerror(errno));
		return false;
	}
	if (asprintf(&path, "%s/results.json", folder) >= 0 &&
	    access(path, F_OK) == 0) {
		error_set(error, "%s is there already", path);
		free(path);
		return false;
	}
	free(path);
	if (asprintf(&path, "%s/logs", folder) < 0)
		path = NULL;
	made = path != NULL && (mkdir(path, 0777) == 0 || errno == EEXIST);
	if (!made)
		error_set(error, "--output %s: %s", folder, strerror(errno));
	free(path);
	return made;
}

static int report(const char *folder, const cJSON *results)
{
	struct error error;

	if (!reports_write(folder, results, &error))
		return complain(COMPARE_FAILED, &error);
	printf("%s/report.html, report.md, results.json\n", folder);
	return COMPARE_DONE;
}

static int report_again(const char *folder)
{
	struct error error;
	char *path = NULL;
	cJSON *results = NULL;
	int code;

	if (asprintf(&path, "%s/results.json", folder) >= 0)
		results = json_file_read(path, &error);
	else
		error_set(&error, "out of memory");
	code = results != NULL ? report(folder, results) :
				 complain(COMPARE_USAGE, &error);
	cJSON_Delete(results);
	free(path);
	return code;
}

static int compare(const struct command *command, const struct plan *plan)
{
	struct comparison_config config = {
		.plan = plan,
		.folder = command->output,
		.progress = stderr,
		.live = isatty(STDERR_FILENO) != 0,
		.stop = &interrupted,
	};
	struct error error;
	cJSON *results;
	int code = COMPARE_DONE;

	if (!make_folder(command->output, &error))
		return complain(COMPARE_USAGE, &error);
	if (!comparison_run(&config, &results, &error))
		code = complain(COMPARE_FAILED, &error);
	else
		code = report(command->output, results);
	cJSON_Delete(results);
	return interrupted ? COMPARE_INTERRUPTED : code;
}

int compare_command(int argc, char **argv)
{
	struct command command = { 0 };
	struct plan plan = { 0 };
	struct error error;
	int code;

	catch_signals();
	if (!parse(&command, argc, argv)) {
		fprintf(stderr, "Try 'loadgen compare --help'.\n");
		return COMPARE_USAGE;
	}
	if (command.help) {
		fputs(help, stdout);
		return COMPARE_DONE;
	}
	if (command.report != NULL && command.plan == NULL)
		return report_again(command.report);
	if (command.plan == NULL || command.output == NULL) {
		error_set(&error,
			  "PLAN.json and --output DIR, or --report DIR");
		return complain(COMPARE_USAGE, &error);
	}
	if (plan_load(&plan, command.plan, &error) &&
	    override_plan(&command, &plan, &error))
		code = compare(&command, &plan);
	else
		code = complain(COMPARE_USAGE, &error);
	plan_release(&plan);
	return code;
}
