/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/comparison.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/machine_usage.h"
#include "base/options.h"
#include "base/random.h"
#include "loadgen/compare/process.h"
#include "loadgen/compare/report.h"
#include "loadgen/compare/results.h"
#include "loadgen/dataset/dataset.h"

#include "version.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	COMPARE_DONE = 0,
	COMPARE_FAILED = 1,
	COMPARE_USAGE = 2,
	COMPARE_INTERRUPTED = 130,
	/*
	 * A server is overloaded if it needs this many times as long as the
	 * requests took to arrive.  At higher rates the queue would grow until
	 * the end, so response times would depend on the duration alone.
	 */
	OVERLOAD = 3,
};

struct compare_options {
	const char *plan;
	const char *output;
	const char *report;
	const char *with;
	const char *dataset;
	const char *arms;
	uint64_t repetitions; /* 0: the plan's */
	uint64_t connections; /* the same */
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
	{ "connections", "N", NULL,
	  "connections of the closed loop; default: the plan's",
	  FLAG_FIELD(struct compare_options, connections), .least = 1,
	  .most = PLAN_CONNECTIONS_MAX },
	{ "arms", "NAME,...", NULL, "only these arms; default: all",
	  FLAG_FIELD(struct compare_options, arms) },
	{ "report", "DIR", NULL,
	  "measure nothing: report what is in DIR/results.json",
	  FLAG_FIELD(struct compare_options, report) },
	{ "with", "FILE", NULL,
	  "print how the arms differ from those of an earlier results.json, by "
	  "Welch's t test; machine, data set, query and connections must be "
	  "the same",
	  FLAG_FIELD(struct compare_options, with) },
	FLAGS_ASKED(struct compare_options, asked),
	{ 0 },
};

static const struct flag_group groups[] = { { .flags = flags }, { 0 } };

static const struct program program = {
	.name = "loadgen compare",
	.summary = "measure servers in turn and report",
	.usage = "PLAN.json --output DIR [OPTION]... | "
		 "--report DIR [--with FILE]",
	.about = "Measure the servers of a plan in turn, and report how they "
		 "differ.",
	.groups = groups,
	.keys = plan_keys,
	.notes = "A plan is a JSON file that says which servers are started "
		 "and measured, and by which loads. Plans to begin with are in "
		 "loadgen/plans; docs/loadgen.md describes them and the "
		 "report.",
	.exit_status = "0 done, 1 an arm failed or a file could not be "
		       "written, 2 wrong usage or plan, 130 interrupted.",
	.see_also = "loadgen(1)",
	.operand = "FILE.json",
	.follows_getopt = true,
};

struct comparison {
	struct plan plan;
	const char *folder; /* of --output */
	cJSON *results;
	bool live; /* progress goes to a terminal */
	uint64_t repetitions_done;
	double spent_s;        /* on these */
	uint64_t random;       /* the state; the same in each comparison */
	double capacity_per_s; /* of the first arm, in this repetition */
	struct error error;    /* why an arm failed */
};

/* One arm's server, from its start to its stop, and the runs against it. */
struct turn {
	const struct arm *arm;
	uint64_t repetition;
	uint64_t slice;
	struct server_process server;
	double makespan_s; /* of the last run */
};

static volatile sig_atomic_t interrupted;

static void interrupt(int signal_number)
{
	(void)signal_number;
	interrupted = 1;
}

/* An estimate: remaining repetitions take as long as those until now. */
static double minutes_left(const struct comparison *c)
{
	uint64_t left = c->plan.repetitions - c->repetitions_done;

	return (double)left * c->spent_s / (double)c->repetitions_done / 60;
}

/* On a terminal, show what is done now, in a line that is overwritten. */
static void show_activity(const struct comparison *c, const struct turn *turn,
			  const char *what)
{
	if (!c->live)
		return;
	fprintf(stderr, "\r\033[Krepetition %" PRIu64 "/%" PRIu64 ", %s: %s",
		turn->repetition, c->plan.repetitions, turn->arm->name, what);
	if (c->repetitions_done > 0)
		fprintf(stderr, "; about %.0f min left", minutes_left(c) + 0.5);
}

static bool is_left_out(const struct comparison *c,
			const struct results_run *run)
{
	return results_disturbed_percent(run->result) >
	       plan_left_out_percent(&c->plan);
}

/* What others did to a run; nothing, if they did not disturb it. */
static void explain_disturbance(const struct comparison *c,
				const struct results_run *run, char text[128])
{
	double percent = results_disturbed_percent(run->result);
	char rest[40] = "";

	*text = '\0';
	if (!(percent > c->plan.disturbed_percent))
		return;
	if (run->is_repeated)
		snprintf(rest, sizeof(rest), "; attempt %" PRIu64 " of %d",
			 run->attempt + 1, MACHINE_ATTEMPTS);
	else if (is_left_out(c, run))
		snprintf(rest, sizeof(rest), "; left out");
	snprintf(text, 128, "; disturbed (others took %.0f %% of the cores)%s",
		 percent, rest);
}

/* Print a line that stays, about a run that has ended. */
static void show_result(const struct comparison *c,
			const struct results_run *run)
{
	char load[40] = "closed loop", p90[40] = "-", others[128];
	double p90_ms = json_number(run->result, "response_ms.p90", NAN);

	if (!isnan(p90_ms))
		snprintf(p90, sizeof(p90), "%.1f ms", p90_ms);
	if (run->load == LOAD_OPEN)
		snprintf(load, sizeof(load), "open loop at %g %%",
			 run->percent_of_capacity);
	explain_disturbance(c, run, others);
	fprintf(stderr,
		"%srepetition %" PRIu64
		", %s, %s: %.1f responses/s, p90 %s%s\n",
		c->live ? "\r\033[K" : "", run->repetition, run->arm, load,
		json_number(run->result, "responses_per_s", 0), p90, others);
}

static bool write_results(const struct comparison *c, struct error *error)
{
	char *json = cJSON_Print(c->results);
	char *text = NULL;
	bool written;

	if (json == NULL || asprintf(&text, "%s\n", json) < 0)
		text = NULL;
	written = file_write_text(c->folder, "results.json", text, error);
	free(text);
	cJSON_free(json);
	return written;
}

__attribute__((format(printf, 2, 3))) static void
add_word(cJSON *command, const char *format, ...)
{
	char word[PATH_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(word, sizeof(word), format, args);
	va_end(args);
	cJSON_AddItemToArray(command, cJSON_CreateString(word));
}

/* The command line of a run of loadgen. */
static cJSON *make_command(const struct comparison *c, const struct turn *turn,
			   const struct results_run *run)
{
	static const char *const verify[] = { "size", "decode" };
	const struct plan *plan = &c->plan;
	const struct closed_loop *closed = &plan->closed;
	bool is_open = run->load == LOAD_OPEN;
	bool is_warm_up = run->load == LOAD_WARM_UP;
	uint64_t seed =
		is_open ? run->repetition :
			  (run->repetition - 1) * closed->slices + run->slice;
	cJSON *command = cJSON_CreateArray();

	add_word(command, "/proc/self/exe");
	add_word(command, "--dataset=%s", plan->dataset);
	add_word(command, "--json=%s/logs/run.json", c->folder);
	add_word(command, "--connections=%" PRIu64,
		 plan_connections(turn->arm, is_open ? plan->open.connections :
						       closed->connections));
	add_word(command, "--seed=%" PRIu64, is_warm_up ? 0 : seed);
	if (plan->cacert != NULL)
		add_word(command, "--cacert=%s", plan->cacert);
	if (plan->params != NULL)
		add_word(command, "--params=%s", plan->params);
	if (plan->server_counter != NULL)
		add_word(command, "--server-counter=%s", plan->server_counter);
	if (is_open)
		add_word(command, "--rate=%.6f",
			 c->capacity_per_s * run->percent_of_capacity / 100);
	if (is_warm_up || (!is_open && closed->passes > 0))
		add_word(command, "--passes=%" PRIu64,
			 is_warm_up ? 1 : closed->passes);
	else
		add_word(command, "--duration=%.6f",
			 is_open ? plan->open.duration_s : closed->duration_s);
	if (is_warm_up)
		add_word(command, "--csv=%s/logs/warm-up.csv", c->folder);
	if (is_warm_up && plan->verify != PLAN_VERIFY_NONE)
		add_word(command, "--verify=%s", verify[plan->verify]);
	add_word(command, "%s", turn->server.url);
	return command;
}

/* Returns loadgen's JSON.  NULL: loadgen failed or was interrupted. */
static cJSON *run_loadgen(struct comparison *c, const cJSON *command)
{
	char json_path[PATH_MAX], log_path[PATH_MAX];
	const struct process_config config = { .command = command,
					       .log = log_path };
	cJSON *result = NULL;
	int status;

	snprintf(json_path, PATH_MAX, "%s/logs/run.json", c->folder);
	snprintf(log_path, PATH_MAX, "%s/logs/loadgen.log", c->folder);
	unlink(json_path);
	if (!process_run(&config, &interrupted, &status, &c->error))
		return NULL;
	/* Exit status 1 is a result too: not all requests were answered. */
	if (WIFEXITED(status) && WEXITSTATUS(status) <= 1)
		result =
			json_read_file(json_path, RESULTS_BYTES_MAX, &c->error);
	else
		process_explain(&c->error, "loadgen", &status, log_path);
	unlink(json_path);
	return result;
}

/*
 * Was every request of a warm-up or a closed loop answered 2xx (or 503, if the
 * plan allows it), and were all checked replies right?
 */
static bool check_result(const struct plan *plan, const cJSON *result,
			 struct error *error)
{
	double requests = json_number(result, "requests", 0);
	double failed = requests - results_count_ok(result);
	double wrong = json_number(result, "verify.wrong", 0);

	if (plan->refusals == PLAN_REFUSALS_COUNT)
		failed -= results_count_refused(result);

	if (requests <= 0)
		return error_fail(error, "nothing was sent");
	if (failed > 0)
		return error_fail(error,
				  "%.0f of %.0f requests were not answered "
				  "2xx; the first: %s",
				  failed, requests,
				  json_text(result, "first_failed"));
	return wrong <= 0 ||
	       error_fail(error, "%.0f of %.0f replies are wrong: %s", wrong,
			  json_number(result, "verify.checked", 0),
			  json_text(result, "verify.first_wrong"));
}

/* Was the run disturbed, and may it be made again? */
static bool must_repeat(const struct comparison *c,
			const struct results_run *run)
{
	return run->load != LOAD_WARM_UP && !interrupted &&
	       machine_must_repeat(results_disturbed_percent(run->result),
				   c->plan.disturbed_percent, run->attempt);
}

/*
 * Run loadgen once and add its result to the results, also if replies are
 * missing or wrong.  False: loadgen failed, or, except in an open loop, a reply
 * is missing or wrong.
 */
static bool measure_once(struct comparison *c, struct turn *turn,
			 struct results_run *run)
{
	cJSON *command = make_command(c, turn, run);
	cJSON *result = run_loadgen(c, command);

	cJSON_Delete(command);
	if (result == NULL)
		return false;
	run->result = result;
	run->is_repeated = must_repeat(c, run);
	turn->makespan_s = json_number(result, "makespan_s", 0);
	if (run->load != LOAD_WARM_UP)
		show_result(c, run);
	results_add(c->results, run, result);
	/* In an open loop an overloaded server may refuse requests. */
	return write_results(c, &c->error) &&
	       (run->load == LOAD_OPEN ||
		check_result(&c->plan, result, &c->error));
}

/* As measure_once(), until a run is not disturbed. */
static bool measure(struct comparison *c, struct turn *turn, enum load load,
		    double percent_of_capacity)
{
	static const char *const activities[] = { "warm-up", "closed loop",
						  "open loop" };
	struct results_run run = {
		.arm = turn->arm->name,
		.load = load,
		.repetition = turn->repetition,
		.slice = turn->slice,
		.percent_of_capacity = percent_of_capacity,
	};
	bool done;

	do {
		run.attempt++;
		show_activity(c, turn, activities[load]);
		done = measure_once(c, turn, &run);
	} while (done && run.is_repeated);
	return done;
}

static bool start_server(struct comparison *c, struct turn *turn)
{
	char log[PATH_MAX];

	show_activity(c, turn, "start");
	snprintf(log, sizeof(log), "%s/logs/arm-%td.log", c->folder,
		 turn->arm - c->plan.arms + 1);
	return server_process_start(&turn->server, turn->arm, c->plan.query,
				    log, &interrupted, &c->error);
}

static bool turn_failed(struct comparison *c, const struct turn *turn)
{
	struct error why = c->error;

	return error_fail(&c->error, "arm '%s', repetition %" PRIu64 ": %s",
			  turn->arm->name, turn->repetition, why.text);
}

/* The arms in random order, by the method of Fisher and Yates. */
static void shuffle(struct turn *order[PLAN_ARMS_MAX],
		    struct turn turns[PLAN_ARMS_MAX], size_t count,
		    uint64_t *state)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = random_below(state, i + 1);

		order[i] = order[at];
		order[at] = &turns[i];
	}
}

/* Start a server, warm it up, and let it wait. */
static bool begin_turn(struct comparison *c, struct turn *turn)
{
	bool done = start_server(c, turn) && measure(c, turn, LOAD_WARM_UP, 0);

	server_process_pause(&turn->server);
	return done;
}

/* Measure once, in a closed loop or, if percent > 0, in an open one. */
static bool take_turn(struct comparison *c, struct turn *turn, double percent)
{
	bool done;

	server_process_resume(&turn->server);
	done = measure(c, turn, percent > 0 ? LOAD_OPEN : LOAD_CLOSED, percent);
	server_process_pause(&turn->server);
	return done || turn_failed(c, turn);
}

static bool measure_closed(struct comparison *c, struct turn turns[])
{
	struct turn *order[PLAN_ARMS_MAX];
	bool done = true;

	for (uint64_t slice = 1; slice <= c->plan.closed.slices; slice++) {
		shuffle(order, turns, c->plan.arm_count, &c->random);
		for (size_t i = 0;
		     i < c->plan.arm_count && done && !interrupted; i++) {
			order[i]->slice = slice;
			done = take_turn(c, order[i], 0);
		}
	}
	return done;
}

/* The rates follow from the closed loops of the same repetition. */
static bool find_capacity(struct comparison *c, uint64_t repetition)
{
	const char *arm = c->plan.arms[0].name;
	bool all_left_out;

	c->capacity_per_s = results_capacity_per_s(c->results, &c->plan, arm,
						   repetition, &all_left_out);
	if (!(c->capacity_per_s > 0))
		return error_fail(&c->error,
				  "arm '%s' had no responses in closed loops, "
				  "so percent_of_capacity has no meaning",
				  arm);
	if (all_left_out)
		fprintf(stderr,
			"%srepetition %" PRIu64
			", %s: all closed loops were left out; the rates of "
			"the open loops follow from these\n",
			c->live ? "\r\033[K" : "", repetition, arm);
	return true;
}

static bool measure_open(struct comparison *c, struct turn turns[])
{
	const struct open_loop *open = &c->plan.open;
	struct turn *order[PLAN_ARMS_MAX];
	bool done = true;

	if (open->rate_count > 0 && !interrupted &&
	    !find_capacity(c, turns[0].repetition))
		return false;
	for (size_t i = 0; i < c->plan.arm_count; i++) {
		turns[i].slice = 0;
		turns[i].makespan_s = 0;
	}
	for (size_t rate = 0; rate < open->rate_count; rate++) {
		shuffle(order, turns, c->plan.arm_count, &c->random);
		for (size_t i = 0;
		     i < c->plan.arm_count && done && !interrupted; i++)
			if (order[i]->makespan_s < OVERLOAD * open->duration_s)
				done = take_turn(c, order[i],
						 open->percents[rate]);
	}
	return done;
}

/*
 * All servers run from the begin to the end of a repetition, one of them awake.
 * They are ended in every case.
 */
static bool take_repetition(struct comparison *c, uint64_t repetition)
{
	const struct plan *plan = &c->plan;
	struct turn turns[PLAN_ARMS_MAX], *order[PLAN_ARMS_MAX];
	bool done = true;

	c->random = repetition;
	for (size_t i = 0; i < plan->arm_count; i++)
		turns[i] = (struct turn){ .arm = &plan->arms[i],
					  .repetition = repetition };
	shuffle(order, turns, plan->arm_count, &c->random);
	for (size_t i = 0; i < plan->arm_count && done && !interrupted; i++)
		done = begin_turn(c, order[i]) || turn_failed(c, order[i]);
	done = done && measure_closed(c, turns) && measure_open(c, turns);
	for (size_t i = 0; i < plan->arm_count; i++)
		server_process_stop(&turns[i].server);
	return done || interrupted;
}

/*
 * True: done, or interrupted.  False: c->error says which arm failed, and why.
 * Either way c->results has what was measured, and whether this is all.
 */
static bool measure_all(struct comparison *c)
{
	for (uint64_t r = 1; r <= c->plan.repetitions && !interrupted; r++) {
		uint64_t began_ns = clock_now_ns();

		results_set_stop(c->results, r, RESULTS_INTERRUPTED);
		if (!take_repetition(c, r)) {
			results_set_stop(c->results, r, c->error.text);
			return false;
		}
		c->repetitions_done++;
		c->spent_s +=
			(double)(clock_now_ns() - began_ns) / (double)NS_PER_S;
	}
	if (!interrupted)
		results_set_stop(c->results, 0, NULL);
	return true;
}

static int complain(int code, const struct error *error)
{
	fprintf(stderr, "loadgen compare: %s\n", error->text);
	return code;
}

static int write_report(const char *folder, const cJSON *results)
{
	struct report_notes notes;
	struct error error;

	if (!report_write(folder, results, &notes, &error))
		return complain(COMPARE_FAILED, &error);
	if (*notes.not_judged.text != '\0')
		printf("NOT JUDGED: %s\n", notes.not_judged.text);
	if (*notes.disturbed != '\0')
		printf("DISTURBED: %s\n", notes.disturbed);
	if (*notes.no_plots.text != '\0')
		printf("no plots, only tables: %s\n", notes.no_plots.text);
	printf("%s/report.html, report.md, results.json\n", folder);
	return COMPARE_DONE;
}

/* The report and, if `before` is not NULL, the changes since then. */
static int write_all(const char *folder, const cJSON *results,
		     const cJSON *before)
{
	struct error error;
	int code = write_report(folder, results);

	if (code == COMPARE_DONE && before != NULL &&
	    !report_print_changes(stdout, results, before, &error))
		code = complain(COMPARE_FAILED, &error);
	return code;
}

static int report_again(const char *folder, const cJSON *before)
{
	struct error error;
	char path[PATH_MAX];
	cJSON *results;
	int code;

	snprintf(path, sizeof(path), "%s/results.json", folder);
	results = json_read_file(path, RESULTS_BYTES_MAX, &error);
	if (results == NULL)
		return complain(COMPARE_USAGE, &error);
	code = write_all(folder, results, before);
	cJSON_Delete(results);
	return code;
}

/*
 * Results of another comparison are never overwritten.  One that failed before
 * its first run has none, and a mistake in its plan may be mended.
 */
static bool check_results(const char *folder, const char *path,
			  struct error *error)
{
	struct error ignored;
	cJSON *results;
	size_t runs;

	if (access(path, F_OK) != 0)
		return true;
	results = json_read_file(path, RESULTS_BYTES_MAX, &ignored);
	runs = results_count_runs(results);
	if (results == NULL)
		error_set(error,
			  "%s is there already: give another --output, or "
			  "remove it",
			  path);
	else if (runs > 0)
		error_set(error,
			  "%s is there already, with %zu runs: give another "
			  "--output, or remove it; --report %s makes its "
			  "reports again",
			  path, runs, folder);
	cJSON_Delete(results);
	return results != NULL && runs == 0;
}

static bool make_folder(const char *folder, struct error *error)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/results.json", folder);
	if (!check_results(folder, path, error))
		return false;
	snprintf(path, sizeof(path), "%s/logs", folder);
	if ((mkdir(folder, 0777) == 0 || errno == EEXIST) &&
	    (mkdir(path, 0777) == 0 || errno == EEXIST))
		return true;
	return error_fail(error, "--output %s: %s", folder, strerror(errno));
}

/* Each run of loadgen reads it; a mistake is found before servers start. */
static bool check_dataset(const char *path, struct error *error)
{
	struct dataset dataset = { 0 };
	struct error why;

	if (!dataset_load(&dataset, path, false, DATASET_BYTES_MAX, &why))
		return error_fail(error, "--dataset: %s", why.text);
	dataset_release(&dataset);
	return true;
}

/* Read the plan, let the options override it, and make the folder. */
static bool prepare(struct comparison *c, const struct compare_options *o,
		    struct error *error)
{
	struct plan *plan = &c->plan;
	struct error why;
	cJSON *json = json_read_file(o->plan, RESULTS_BYTES_MAX, error);

	if (json == NULL)
		return false;
	if (!plan_read(plan, json, &why))
		return error_fail(error, "%s: %s", o->plan, why.text);
	if (o->dataset != NULL)
		plan->dataset = o->dataset;
	if (o->repetitions > 0)
		plan->repetitions = o->repetitions;
	if (o->connections > 0)
		plan_set_connections(plan, o->connections);
	if (plan->dataset == NULL)
		return error_fail(error, "--dataset DIR is missing, and the "
					 "plan has none");
	c->folder = o->output;
	return (o->arms == NULL || plan_choose_arms(plan, o->arms, error)) &&
	       check_dataset(plan->dataset, error) &&
	       make_folder(o->output, error);
}

static int run_comparison(const struct compare_options *o, const cJSON *before)
{
	struct comparison c = { .live = isatty(STDERR_FILENO) != 0 };
	int code = COMPARE_USAGE;
	struct error ignored;
	bool done = false;

	if (prepare(&c, o, &c.error))
		c.results = results_new(&c.plan);
	if (c.results != NULL &&
	    (before == NULL ||
	     results_are_alike(c.results, before, &c.error))) {
		done = measure_all(&c);
		done = write_results(&c, done ? &c.error : &ignored) && done;
		code = COMPARE_FAILED;
		if (c.live)
			fprintf(stderr, "\r\033[K");
	}
	code = done ? write_all(c.folder, c.results, before) :
		      complain(code, &c.error);
	cJSON_Delete(c.results);
	plan_release(&c.plan);
	return interrupted ? COMPARE_INTERRUPTED : code;
}

/* A flag_take_fn. */
static bool take_option(void *options, const struct flag *f, const char *value,
			struct error *why)
{
	struct compare_options *o = options;

	if (f != NULL)
		return flag_set(f, value, o, why);
	if (o->plan != NULL)
		return error_fail(why, "there is a second plan, '%s'", value);
	o->plan = value;
	return true;
}

int compare_command(int argc, char **argv)
{
	/*
	 * A signal only sets a flag: servers must be stopped before the program
	 * ends.
	 */
	const struct sigaction action = { .sa_handler = interrupt };
	struct compare_options options = { 0 };
	struct error error;
	cJSON *before = NULL;
	int code;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	if (!flags_read(&program, argv + 1, (uint32_t)argc - 1, take_option,
			&options, &error))
		return complain(COMPARE_USAGE, &error);
	if (program_answer(&program, &options.asked, DARKROOM_COMMIT, stdout))
		return COMPARE_DONE;
	if (options.plan != NULL ? options.output == NULL :
				   options.report == NULL) {
		error_set(&error, "PLAN.json and --output DIR, or --report "
				  "DIR, each with or without --with FILE");
		return complain(COMPARE_USAGE, &error);
	}
	if (options.with != NULL) {
		before =
			json_read_file(options.with, RESULTS_BYTES_MAX, &error);
		if (before == NULL)
			return complain(COMPARE_USAGE, &error);
	}
	code = options.plan != NULL ? run_comparison(&options, before) :
				      report_again(options.report, before);
	cJSON_Delete(before);
	return code;
}
