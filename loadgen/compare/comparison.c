/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/comparison.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "loadgen/compare/process.h"
#include "loadgen/compare/results.h"
#include "loadgen/compare/statistics.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	/* A server is overloaded if it needs this many times as long as
	 * the requests took to arrive.  Higher rates would only measure for how
	 * long they were sent. */
	OVERLOAD = 3,
	ARGUMENTS_MAX = 24,
	NUMBER_BYTES = 32,
	CELL_BYTES = 256,
};

/* Turns of one kind: their number, and the time of those until now. */
struct pace {
	uint64_t count;
	uint64_t done;
	double spent_s;
};

struct comparison {
	const struct comparison_config *config;
	cJSON *results;
	struct pace paces[LOAD_OPEN + 1];
	struct sample capacities_per_s; /* of the first arm, closed loops */
	char json_path[PATH_MAX];       /* of one run of loadgen */
	char log_path[PATH_MAX];
	char csv_path[PATH_MAX];
};

/* The life of one server, in which one arm is measured. */
struct turn {
	struct results_run run; /* of what is measured after the warm-up */
	const struct arm *arm;
	struct server_process server;
};

/* One run of loadgen. */
struct measurement {
	uint64_t connections;
	uint64_t seed;
	double rate_per_s;  /* 0: a closed loop */
	uint64_t passes;    /* 0: as many as fit in duration_s */
	double duration_s;  /* 0: as long as the passes take */
	bool checked;       /* replies are verified, and failures located */
	double *makespan_s; /* where it goes; may be NULL */
};

static bool stopped(const struct comparison *c)
{
	return *c->config->stop != 0;
}

/*
 * Estimated from the turns until now; for open loops, before the first one,
 * from the plan.
 */
static double seconds_left(const struct comparison *c)
{
	const struct open_loop *open = &c->config->plan->open;
	const struct pace *closed_pace = &c->paces[LOAD_CLOSED];
	const struct pace *open_pace = &c->paces[LOAD_OPEN];
	double closed_s = closed_pace->spent_s / (double)closed_pace->done;
	double open_s = open->duration_s * (double)open->rate_count;

	if (open_pace->done > 0)
		open_s = open_pace->spent_s / (double)open_pace->done;
	return (double)(closed_pace->count - closed_pace->done) * closed_s +
	       (double)(open_pace->count - open_pace->done) * open_s;
}

/* On a terminal: the line that is overwritten. */
static void show_activity(const struct comparison *c, const struct turn *turn,
			  const char *what)
{
	FILE *out = c->config->progress;

	if (!c->config->live)
		return;
	fprintf(out, "\r\033[Krepetition %" PRIu64 "/%" PRIu64 ", %s: %s",
		turn->run.repetition, c->config->plan->repetitions,
		turn->arm->name, what);
	if (c->paces[LOAD_CLOSED].done > 0)
		fprintf(out, "; about %.0f min left",
			seconds_left(c) / 60 + 0.5);
	fflush(out);
}

/* A line that stays, for each measured run. */
static void show_result(const struct comparison *c,
			const struct results_run *run, const cJSON *result)
{
	FILE *out = c->config->progress;
	char load[40] = "closed loop";

	if (run->load == LOAD_WARM_UP)
		return;
	if (run->load == LOAD_OPEN)
		snprintf(load, sizeof(load), "open loop at %g %%",
			 run->percent_of_capacity);
	fprintf(out,
		"%srepetition %" PRIu64
		", %s, %s: %.1f responses/s, p90 %.1f ms\n",
		c->config->live ? "\r\033[K" : "", run->repetition, run->arm,
		load, json_number(result, "responses_per_s", 0),
		json_number(cJSON_GetObjectItem(result, "response_ms"), "p90",
			    0));
}

static bool write_results(const struct comparison *c, struct error *error)
{
	char path[PATH_MAX];
	struct file_draft draft;
	char *text = cJSON_Print(c->results);
	bool written = false;

	snprintf(path, sizeof(path), "%s/results.json", c->config->folder);
	if (text == NULL) {
		error_set(error, "%s: out of memory", path);
	} else if (file_draft_open(&draft, path, error)) {
		fprintf(draft.out, "%s\n", text);
		written = file_draft_commit(&draft, error);
	}
	cJSON_free(text);
	return written;
}

/* The command line of one run of loadgen. */
struct arguments {
	const char *words[ARGUMENTS_MAX + 1];
	char numbers[ARGUMENTS_MAX][NUMBER_BYTES];
	size_t count;
};

static void add_option(struct arguments *a, const char *option,
		       const char *value)
{
	assert(a->count + 2 <= ARGUMENTS_MAX);
	a->words[a->count++] = option;
	a->words[a->count++] = value;
}

static void add_number(struct arguments *a, const char *option, int decimals,
		       double value)
{
	char *text = a->numbers[a->count];

	snprintf(text, NUMBER_BYTES, "%.*f", decimals, value);
	add_option(a, option, text);
}

static void make_arguments(struct arguments *a, const struct comparison *c,
			   const struct turn *turn, const struct measurement *m)
{
	const struct plan *plan = c->config->plan;

	a->words[a->count++] = "/proc/self/exe";
	add_option(a, "--dataset", plan->dataset);
	add_option(a, "--json", c->json_path);
	add_number(a, "--connections", 0, (double)m->connections);
	add_number(a, "--seed", 0, (double)m->seed);
	if (m->rate_per_s > 0)
		add_number(a, "--rate", 6, m->rate_per_s);
	if (m->passes > 0)
		add_number(a, "--passes", 0, (double)m->passes);
	else
		add_number(a, "--duration", 6, m->duration_s);
	if (m->checked && plan->verify != NULL)
		add_option(a, "--verify", plan->verify);
	if (m->checked)
		add_option(a, "--csv", c->csv_path);
	a->words[a->count++] = turn->server.url;
}

/* NULL: it failed or was interrupted. */
static cJSON *run_loadgen(const struct comparison *c, const struct turn *turn,
			  const struct measurement *m, struct error *error)
{
	struct arguments arguments = { 0 };
	struct process process = { 0 };
	const struct process_config config = {
		.command = arguments.words,
		.log = c->log_path,
	};
	cJSON *result = NULL;
	int status;

	make_arguments(&arguments, c, turn, m);
	unlink(c->json_path);
	if (!process_start(&process, &config, error))
		return NULL;
	process_wait(&process, c->config->stop, &status);
	/* Exit status 1 is a result too: not all requests were answered. */
	if (WIFEXITED(status) && WEXITSTATUS(status) <= 1)
		result = json_read_file(c->json_path, RESULTS_BYTES_MAX, error);
	else
		process_explain(error, "loadgen", &status, c->log_path);
	unlink(c->json_path);
	return result;
}

/* Columns as in the first row of loadgen's CSV; the others are not needed. */
enum column { COLUMN_FILE = 4, COLUMN_STATUS, COLUMN_ERROR, COLUMN_COUNT };

/*
 * Read one cell, without its quotes (RFC 4180); a long one is cut.  Returns
 * what ended it: ',', '\n' or EOF.
 */
static int read_cell(FILE *in, char cell[CELL_BYTES])
{
	bool quoted = false;
	size_t length = 0;
	int c = getc(in);

	if (c == '"') {
		quoted = true;
		c = getc(in);
	}
	while (c != EOF && (quoted || (c != ',' && c != '\n'))) {
		if (quoted && c == '"') {
			c = getc(in);
			quoted = c == '"';
			if (!quoted)
				continue;
		}
		if (c != '\r' && length < CELL_BYTES - 1)
			cell[length++] = (char)c;
		c = getc(in);
	}
	cell[length] = '\0';
	return c;
}

/* False: there is no further row. */
static bool read_row(FILE *in, char cells[COLUMN_COUNT][CELL_BYTES])
{
	char ignored[CELL_BYTES];
	int end = ',';

	for (int i = 0; end == ','; i++)
		end = read_cell(in, i < COLUMN_COUNT ? cells[i] : ignored);
	return end == '\n';
}

/*
 * The first request of a CSV file that was not answered 2xx, as "; the first:
 * a.jpg: status 500".  Empty: there is none.
 */
static struct error find_first_failure(const char *csv_path)
{
	struct error failure = { "" };
	FILE *in = fopen(csv_path, "re");
	char cells[COLUMN_COUNT][CELL_BYTES] = { "" };
	const char *reason = cells[COLUMN_ERROR];
	bool found = false;

	if (in == NULL)
		return failure;
	if (read_row(in, cells)) /* names */
		while (!found && read_row(in, cells))
			found = cells[COLUMN_STATUS][0] != '2';
	fclose(in);
	if (found)
		error_set(&failure, "; the first: %s: %s%s", cells[COLUMN_FILE],
			  *reason != '\0' ? reason : "status ",
			  *reason != '\0' ? "" : cells[COLUMN_STATUS]);
	return failure;
}

/* Was every request of a warm-up or a closed loop answered, and rightly? */
static bool check_result(const struct comparison *c, const cJSON *result,
			 bool has_csv, struct error *error)
{
	const cJSON *verify = cJSON_GetObjectItem(result, "verify");
	const cJSON *wrong_text = cJSON_GetObjectItem(verify, "first_wrong");
	double wrong = json_number(verify, "wrong", 0);
	double requests = json_number(result, "requests", 0);
	double failed = requests - results_count_ok(result);
	struct error first = { "" };

	if (requests <= 0) {
		error_set(error, "nothing was sent");
	} else if (failed > 0) {
		if (has_csv)
			first = find_first_failure(c->csv_path);
		error_set(error,
			  "%.0f of %.0f requests were not answered 2xx%s",
			  failed, requests, first.text);
	} else if (wrong > 0) {
		error_set(error, "%.0f of %.0f replies are wrong: %s", wrong,
			  json_number(verify, "checked", 0),
			  cJSON_IsString(wrong_text) ? wrong_text->valuestring :
						       "?");
	} else {
		return true;
	}
	return false;
}

/* Measure, keep the result, right or wrong, and say whether it is right. */
static bool measure(struct comparison *c, struct turn *turn,
		    const struct results_run *run, const struct measurement *m,
		    struct error *error)
{
	cJSON *result = run_loadgen(c, turn, m, error);

	if (result == NULL)
		return false;
	if (m->makespan_s != NULL)
		*m->makespan_s = json_number(result, "makespan_s", 0);
	if (run->load == LOAD_CLOSED && turn->arm == c->config->plan->arms)
		sample_add(&c->capacities_per_s,
			   json_number(result, "responses_per_s", 0));
	show_result(c, run, result);
	results_add(c->results, run, result);
	if (!write_results(c, error))
		return false;
	/* An overloaded server may refuse requests. */
	return run->load == LOAD_OPEN ||
	       check_result(c, result, m->checked, error);
}

static bool warm_up(struct comparison *c, struct turn *turn,
		    struct error *error)
{
	struct results_run run = turn->run;
	const struct measurement m = {
		.connections = plan_connections(
			turn->arm, c->config->plan->closed.connections),
		.passes = 1,
		.checked = true,
	};

	show_activity(c, turn, "warm-up");
	run.load = LOAD_WARM_UP;
	return measure(c, turn, &run, &m, error);
}

static bool measure_closed(struct comparison *c, struct turn *turn,
			   struct error *error)
{
	const struct closed_loop *closed = &c->config->plan->closed;
	const struct measurement m = {
		.connections = plan_connections(turn->arm, closed->connections),
		.seed = turn->run.repetition,
		.passes = closed->passes,
		.duration_s = closed->duration_s,
	};

	show_activity(c, turn, "closed loop");
	return measure(c, turn, &turn->run, &m, error);
}

static bool measure_open(struct comparison *c, struct turn *turn,
			 struct error *error)
{
	const struct open_loop *open = &c->config->plan->open;
	double capacity_per_s = sample_median(&c->capacities_per_s);
	double makespan_s = 0;

	for (size_t i = 0; i < open->rate_count && !stopped(c) &&
			   makespan_s < OVERLOAD * open->duration_s;
	     i++) {
		struct results_run run = turn->run;
		const struct measurement m = {
			.connections =
				plan_connections(turn->arm, open->connections),
			.seed = turn->run.repetition,
			.rate_per_s = capacity_per_s * open->percents[i] / 100,
			.duration_s = open->duration_s,
			.makespan_s = &makespan_s,
		};

		run.percent_of_capacity = open->percents[i];
		show_activity(c, turn, "open loop");
		if (!measure(c, turn, &run, &m, error))
			return false;
	}
	return true;
}

static bool start_server(struct comparison *c, struct turn *turn,
			 struct error *error)
{
	const struct plan *plan = c->config->plan;
	char log[PATH_MAX];

	show_activity(c, turn, "start");
	snprintf(log, sizeof(log), "%s/logs/arm-%td.log", c->config->folder,
		 turn->arm - plan->arms + 1);
	return server_process_start(&turn->server, turn->arm, plan->query, log,
				    c->config->stop, error);
}

/* The server is stopped in every case. */
static bool take_turn(struct comparison *c, struct turn *turn,
		      struct error *error)
{
	struct pace *pace = &c->paces[turn->run.load];
	uint64_t began_ns = clock_now_ns();
	struct error why;
	bool done =
		start_server(c, turn, &why) && warm_up(c, turn, &why) &&
		(turn->run.load == LOAD_CLOSED ? measure_closed(c, turn, &why) :
						 measure_open(c, turn, &why));

	server_process_stop(&turn->server);
	pace->done++;
	pace->spent_s += (double)(clock_now_ns() - began_ns) / (double)NS_PER_S;
	if (!done && !stopped(c))
		error_set(error, "arm '%s', repetition %" PRIu64 ": %s",
			  turn->arm->name, turn->run.repetition, why.text);
	return done || stopped(c);
}

static bool take_turns(struct comparison *c, enum load load,
		       struct error *error)
{
	const struct plan *plan = c->config->plan;

	for (uint64_t repetition = 1; repetition <= plan->repetitions;
	     repetition++)
		for (size_t i = 0; i < plan->arm_count && !stopped(c); i++) {
			const struct arm *arm =
				&plan->arms[(i + repetition - 1) %
					    plan->arm_count];
			struct turn turn = {
				.run = { arm->name, load, repetition, 0 },
				.arm = arm,
			};

			if (!take_turn(c, &turn, error))
				return false;
		}
	return true;
}

static bool has_capacity(const struct comparison *c, struct error *error)
{
	if (c->capacities_per_s.count > 0 &&
	    sample_median(&c->capacities_per_s) > 0)
		return true;
	error_set(error, "arm '%s' has no capacity to take shares of",
		  c->config->plan->arms[0].name);
	return false;
}

bool comparison_run(const struct comparison_config *config, cJSON **results,
		    struct error *error)
{
	const struct plan *plan = config->plan;
	uint64_t turns = plan->repetitions * plan->arm_count;
	struct comparison c = {
		.config = config,
		.results = results_new(plan),
		.paces[LOAD_CLOSED].count = turns,
		.paces[LOAD_OPEN].count = plan->open.rate_count > 0 ? turns : 0,
	};
	struct error not_written;
	bool done;

	snprintf(c.json_path, PATH_MAX, "%s/logs/run.json", config->folder);
	snprintf(c.log_path, PATH_MAX, "%s/logs/loadgen.log", config->folder);
	snprintf(c.csv_path, PATH_MAX, "%s/logs/warm-up.csv", config->folder);
	done = take_turns(&c, LOAD_CLOSED, error);
	if (done && !stopped(&c) && plan->open.rate_count > 0)
		done = has_capacity(&c, error) &&
		       take_turns(&c, LOAD_OPEN, error);
	if (config->live)
		fprintf(config->progress, "\r\033[K");
	if (!write_results(&c, &not_written) && done) {
		*error = not_written;
		done = false;
	}
	*results = c.results;
	return done;
}
