/* SPDX-License-Identifier: MIT */
/*
 * search: a search engine and its clients in one process, after Gordon,
 * UCAM-CL-TR-781, section 4.3.  README.md of this folder's parent says what it
 * prints.
 */
#include "check.h"
#include "server.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
	"usage: search [OPTIONS] INDEX\n"
	"Answer queries by the index, which search_index has made.\n"
	"\n"
	"The server:\n"
	"  --threads         a thread for each client, instead of stages\n"
	"  --policy NAME     which stage a worker visits next; default cohort\n"
	"  --regime R        for how long: exhaustive, gated, n-gated=N, or\n"
	"                    time-gated=US\n"
	"  --blind           workers do not see the queues, and idle "
	"exponentially\n"
	"  --pool STAGE=N    with --policy pool-per-stage; also several times\n"
	"  --replicas N      of the stages, each on its own cores\n"
	"  --few-stages      small steps are no stages\n"
	"  --at-once         read the lists of a query's words at the same "
	"time\n"
	"  --cores LIST      such as 0,2-3\n"
	"  --cache MB        of replies to several words; default 64\n"
	"\n"
	"The clients:\n"
	"  --clients N       default 64; each sends its next query when it "
	"has\n"
	"                    the answer to the last\n"
	"  --seconds S       default 30\n"
	"  --warmup S        before that; default 5\n"
	"  --count N         so many queries instead, all of them measured\n"
	"  --queries FILE    a query on each line; one that begins with / is "
	"a\n"
	"                    target, such as /search/two%20words\n"
	"  --requests N      without FILE: made from the index; default "
	"100000,\n"
	"                    again and again\n"
	"  --zipf S          document of rank r in proportion to 1/r^S; "
	"default 1\n"
	"  --seed N          default 1\n"
	"\n"
	"  --query TEXT      print the answer to this, and nothing else\n"
	"  --stages          print what each stage has done, too\n"
	"  --check           compare each answer with what all documents say\n"
	"  --help            print this\n";

enum { PERCENTILES_LEAST = 100 };
/* As httperf, which Gordon used, and as `loadgen compare`. */
static const double sample_seconds = 5, steady = 1.1;

struct options {
	struct server_config server;
	struct schedule schedule;
	const char *index, *queries, *query, *cores, *policy;
	struct zipf zipf;
	bool is_threaded, is_checked, prints_stages;
	const char *pools[STEPS];
	uint32_t pool_count;
};

/* --- Options. --- */

enum option_id {
	OPTION_THREADS = 1,
	OPTION_POLICY,
	OPTION_REGIME,
	OPTION_BLIND,
	OPTION_POOL,
	OPTION_REPLICAS,
	OPTION_FEW_STAGES,
	OPTION_AT_ONCE,
	OPTION_CORES,
	OPTION_CACHE,
	OPTION_CLIENTS,
	OPTION_SECONDS,
	OPTION_WARMUP,
	OPTION_COUNT,
	OPTION_QUERIES,
	OPTION_REQUESTS,
	OPTION_ZIPF,
	OPTION_SEED,
	OPTION_QUERY,
	OPTION_STAGES,
	OPTION_CHECK,
	OPTION_HELP,
};

static const struct option option_names[] = {
	{ "threads", no_argument, NULL, OPTION_THREADS },
	{ "policy", required_argument, NULL, OPTION_POLICY },
	{ "regime", required_argument, NULL, OPTION_REGIME },
	{ "blind", no_argument, NULL, OPTION_BLIND },
	{ "pool", required_argument, NULL, OPTION_POOL },
	{ "replicas", required_argument, NULL, OPTION_REPLICAS },
	{ "few-stages", no_argument, NULL, OPTION_FEW_STAGES },
	{ "at-once", no_argument, NULL, OPTION_AT_ONCE },
	{ "cores", required_argument, NULL, OPTION_CORES },
	{ "cache", required_argument, NULL, OPTION_CACHE },
	{ "clients", required_argument, NULL, OPTION_CLIENTS },
	{ "seconds", required_argument, NULL, OPTION_SECONDS },
	{ "warmup", required_argument, NULL, OPTION_WARMUP },
	{ "count", required_argument, NULL, OPTION_COUNT },
	{ "queries", required_argument, NULL, OPTION_QUERIES },
	{ "requests", required_argument, NULL, OPTION_REQUESTS },
	{ "zipf", required_argument, NULL, OPTION_ZIPF },
	{ "seed", required_argument, NULL, OPTION_SEED },
	{ "query", required_argument, NULL, OPTION_QUERY },
	{ "stages", no_argument, NULL, OPTION_STAGES },
	{ "check", no_argument, NULL, OPTION_CHECK },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ NULL, 0, NULL, 0 },
};

__attribute__((noreturn)) static void refuse(const char *what, const char *why)
{
	fprintf(stderr, "search: %s: %s\n", what, why);
	exit(2);
}

/* Ends the program unless `text` is a number from `least` to `most`. */
static double number(const char *text, double least, double most)
{
	char *rest, why[WHY_BYTES];
	double n = strtod(text, &rest);

	if (*text >= '0' && *text <= '9' && *rest == '\0' && n >= least &&
	    n <= most)
		return n;
	snprintf(why, sizeof(why), "it is not a number from %.10g to %.10g",
		 least, most);
	refuse(text, why);
}

static uint32_t count(const char *text, uint32_t least, uint32_t most)
{
	double n = number(text, least, most);

	if (n != (uint32_t)n)
		refuse(text, "it is not a whole number");
	return (uint32_t)n;
}

static struct regime regime(const char *text)
{
	static const struct {
		const char *word;
		enum regime_kind kind;
		uint64_t factor; /* 0: no number */
	} regimes[] = {
		{ "exhaustive", REGIME_EXHAUSTIVE, 0 },
		{ "gated", REGIME_GATED, 0 },
		{ "n-gated=", REGIME_N_GATED, 1 },
		{ "time-gated=", REGIME_TIME_GATED, 1000 },
	};

	for (size_t i = 0; i < sizeof(regimes) / sizeof(regimes[0]); i++) {
		size_t length = strlen(regimes[i].word);
		struct regime r = { .kind = regimes[i].kind };

		if (strncmp(text, regimes[i].word, length) != 0)
			continue;
		if (regimes[i].factor == 0 && text[length] == '\0')
			return r;
		if (regimes[i].factor == 0)
			continue;
		r.limit =
			regimes[i].factor * count(text + length, 1, 1000000000);
		return r;
	}
	refuse(text, "there is no such regime");
}

static bool read_schedule(struct options *o, int id, const char *text)
{
	struct schedule *s = &o->schedule;

	if (id == OPTION_POLICY) {
		s->policy = policy_find(text);
		if (s->policy == NULL)
			refuse(text, "there is no such policy");
		s->given |= 1U << SCHEDULE_POLICY;
	} else if (id == OPTION_REGIME) {
		s->regime = regime(text);
		s->given |= 1U << SCHEDULE_REGIME;
	} else if (id == OPTION_BLIND) {
		s->look = LOOK_BLIND;
		s->idle = idle_thesis;
		s->given |= 1U << SCHEDULE_LOOK | 1U << SCHEDULE_IDLE;
	} else if (id == OPTION_POOL) {
		if (o->pool_count == STEPS)
			refuse(text, "there are more pools than stages");
		o->pools[o->pool_count++] = text;
		s->given |= 1U << SCHEDULE_POOL;
	} else if (id == OPTION_REPLICAS) {
		s->balance = BALANCE_REPLICATE;
		s->part_count = count(text, 1, 1024);
		s->given |= 1U << SCHEDULE_BALANCE;
	} else {
		return false;
	}
	return true;
}

static bool read_server(struct options *o, int id, const char *text)
{
	if (id == OPTION_THREADS)
		o->is_threaded = true;
	else if (id == OPTION_FEW_STAGES)
		o->server.has_few_stages = true;
	else if (id == OPTION_AT_ONCE)
		o->server.reads_at_once = true;
	else if (id == OPTION_CORES)
		o->cores = text;
	else if (id == OPTION_CACHE)
		o->server.cache_bytes = (size_t)(1e6 * number(text, 0, 1e5));
	else
		return read_schedule(o, id, text);
	return true;
}

static bool read_clients(struct options *o, int id, const char *text)
{
	if (id == OPTION_CLIENTS)
		o->server.client_count = count(text, 1, 100000);
	else if (id == OPTION_SECONDS)
		o->server.seconds = number(text, 0.1, 1e6);
	else if (id == OPTION_WARMUP)
		o->server.warmup_seconds = number(text, 0, 1e6);
	else if (id == OPTION_COUNT)
		o->server.query_count = count(text, 1, UINT32_MAX);
	else if (id == OPTION_QUERIES)
		o->queries = text;
	else if (id == OPTION_REQUESTS)
		o->zipf.count = count(text, 1, 100000000);
	else if (id == OPTION_ZIPF)
		o->zipf.exponent = number(text, 0, 10);
	else if (id == OPTION_SEED)
		o->zipf.seed = count(text, 0, UINT32_MAX);
	else
		return false;
	return true;
}

static void read_option(struct options *o, int id, const char *text)
{
	if (id == OPTION_HELP)
		exit(fputs(usage, stdout) < 0 || fflush(stdout) != 0);
	else if (id == OPTION_QUERY)
		o->query = text;
	else if (id == OPTION_STAGES)
		o->prints_stages = true;
	else if (id == OPTION_CHECK)
		o->is_checked = true;
	else if (!read_server(o, id, text) && !read_clients(o, id, text)) {
		fputs(usage, stderr);
		exit(2);
	}
}

static void read_options(struct options *o, int argc, char **argv)
{
	int id;

	while ((id = getopt_long(argc, argv, "", option_names, NULL)) != -1)
		read_option(o, id, optarg);
	if (optind + 1 != argc) {
		fputs(usage, stderr);
		exit(2);
	}
	o->index = argv[optind];
	if (o->is_threaded &&
	    (o->schedule.given != 0 || o->server.has_few_stages ||
	     o->server.reads_at_once || o->prints_stages))
		refuse("--threads", "there are no stages");
}

/* A stage of the flag --pool; its number is that among the stages there are. */
static void set_pool(struct options *o, const char *text)
{
	size_t length = strcspn(text, "=");
	uint32_t stage = 0;

	for (int i = 0; i < STEPS; i++) {
		if (!server_has_stage((enum step)i, o->server.has_few_stages))
			continue;
		if (strlen(step_names[i]) == length &&
		    strncmp(text, step_names[i], length) == 0 &&
		    text[length] == '=') {
			o->schedule.pool_threads[stage] =
				count(text + length + 1, 1, 1024);
			return;
		}
		stage++;
	}
	refuse(text, "there is no such stage");
}

static void complete_schedule(struct options *o)
{
	char why[STAGES_WHY_BYTES];

	if (o->schedule.policy->workers == POLICY_WORKERS_CALLER)
		refuse(o->schedule.policy->name,
		       "clients have no threads; --threads is such a server");
	for (uint32_t i = 0; i < o->pool_count; i++)
		set_pool(o, o->pools[i]);
	if (!schedule_complete(&o->schedule,
			       server_stage_count(o->server.has_few_stages),
			       cores_count(o->server.cores), why))
		refuse("the schedule", why);
	o->server.schedule = &o->schedule;
}

/* --- The report: words and values in turn, for people and for scripts. --- */

static int compare_floats(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/* The most answers in one of the samples of 5 s, for each second. */
static double max_rate(const struct server_result *r)
{
	size_t samples = (size_t)(r->seconds / sample_seconds), most = 0;
	size_t *counts = calloc(samples + 1, sizeof(counts[0]));

	if (samples == 0 || counts == NULL) {
		free(counts);
		return (double)r->answer_count / r->seconds;
	}
	for (size_t i = 0; i < r->answer_count; i++) {
		double sample = r->answers[i].at_seconds / sample_seconds;

		if (sample >= 0 && sample < (double)samples)
			counts[(size_t)sample]++;
	}
	for (size_t i = 0; i < samples; i++)
		most = counts[i] > most ? counts[i] : most;
	free(counts);
	return (double)most / sample_seconds;
}

/* Mean response time of the second half of the run, to that of the first. */
static double growth(const struct server_result *r)
{
	double sums[2] = { 0, 0 }, counts[2] = { 0, 0 };

	for (size_t i = 0; i < r->answer_count; i++) {
		int half = r->answers[i].at_seconds > r->seconds / 2;

		sums[half] += r->answers[i].seconds;
		counts[half]++;
	}
	return counts[0] > 0 && counts[1] > 0 && sums[0] > 0 ?
		       sums[1] / counts[1] * counts[0] / sums[0] :
		       1;
}

static void report_times(const struct server_result *r)
{
	static const struct {
		const char *name;
		double share;
	} percentiles[] = { { "p50", 0.5 }, { "p95", 0.95 }, { "p99", 0.99 } };
	size_t n = r->answer_count;
	float *times = malloc((n + 1) * sizeof(times[0]));
	double sum = 0;

	if (times == NULL || n == 0) {
		free(times);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		times[i] = r->answers[i].seconds;
		sum += times[i];
	}
	qsort(times, n, sizeof(times[0]), compare_floats);
	printf("  mean-ms %.3f", 1000 * sum / (double)n);
	for (size_t i = 0; i < sizeof(percentiles) / sizeof(percentiles[0]);
	     i++)
		if (n >= PERCENTILES_LEAST)
			printf("  %s-ms %.3f", percentiles[i].name,
			       1000 * times[(size_t)(percentiles[i].share *
						     (double)n)]);
	printf("  max-ms %.3f", 1000 * times[n - 1]);
	free(times);
}

static void report_stages(const struct server_result *r)
{
	for (int i = 0; i < STEPS; i++) {
		const struct stage_stats *s = &r->stages[i];
		double handled = (double)s->handled_count;
		uint64_t visits = s->visit_count - s->visit_empty_count;

		if (!r->has_stats[i] || s->handled_count == 0)
			continue;
		printf("stage %-9s  handled %" PRIu64 "  service-us %.2f"
		       "  wait-us %.1f  cohort %.1f\n",
		       step_names[i], s->handled_count,
		       (double)s->service_ns / 1000 / handled,
		       (double)s->wait_ns / 1000 / handled,
		       visits > 0 ? handled / (double)visits : 0);
	}
}

static bool report(const struct options *o, const struct server_result *r)
{
	double n = (double)r->answer_count, change = growth(r);

	printf("answers %zu  seconds %.3f  per-second %.1f"
	       "  max-per-second %.1f",
	       r->answer_count, r->seconds, n / r->seconds, max_rate(r));
	report_times(r);
	printf("  growth %.3f  steady %s  cpu-us %.1f", change,
	       change <= steady && change >= 1 / steady ? "yes" : "no",
	       n > 0 ? 1e6 * r->cpu_seconds / n : 0);
	for (int i = 0; i < ANSWER_KINDS; i++)
		printf("  %s %" PRIu64, answer_names[i], r->counts[i]);
	printf("  corrected %" PRIu64, r->corrected_count);
	if (o->server.query_count > 0)
		printf("  sum %016" PRIx64, r->sum);
	if (o->is_checked)
		printf("  wrong %" PRIu64, r->wrong_count);
	printf("\n");
	if (o->prints_stages)
		report_stages(r);
	return fflush(stdout) == 0 && r->wrong_count == 0;
}

/* --- */

static bool print_answer(const struct options *o, const struct request *r)
{
	struct query *q = query_new(o->server.index, NULL);
	char *page = malloc(PAGE_BYTES);
	enum step step = STEP_DECODE;
	struct answer a;
	size_t length;
	bool ok = q != NULL && page != NULL;

	if (ok) {
		query_begin(q, r->target, r->length);
		while (step != STEP_END)
			step = query_step(q, step);
		a = query_answer(q);
		ok = reply_inflate(a.reply, a.reply_length, page, &length) &&
		     fwrite(page, 1, length, stdout) == length &&
		     fflush(stdout) == 0 && a.error == NULL;
	}
	free(page);
	query_free(q);
	return ok;
}

static bool measure(struct options *o)
{
	struct server_result *result = malloc(sizeof(*result));
	struct check *check = NULL;
	char why[STAGES_WHY_BYTES];
	struct cores *cores = cores_new(o->cores, why);
	bool ok = result != NULL;

	if (cores == NULL)
		refuse(o->cores == NULL ? "--cores" : o->cores, why);
	o->server.cores = cores;
	if (!o->is_threaded)
		complete_schedule(o);
	if (o->is_checked && ok) {
		check = check_new(o->server.index);
		ok = check != NULL;
	}
	o->server.check = check;
	ok = ok && serve(&o->server, result);
	ok = ok && report(o, result);
	if (result != NULL)
		free(result->answers);
	free(result);
	check_free(check);
	cores_free(cores);
	return ok;
}

static bool load(struct workload *w, const struct options *o,
		 char why[WHY_BYTES])
{
	if (o->query != NULL)
		return workload_add(w, o->query, strlen(o->query));
	if (o->queries != NULL)
		return workload_read(w, o->queries, why);
	return workload_make(w, o->server.index, &o->zipf, why);
}

int main(int argc, char **argv)
{
	struct options o = {
		.server = { .cache_bytes = 64000000,
			    .client_count = 64,
			    .warmup_seconds = 5,
			    .seconds = 30 },
		.zipf = { .seed = 1, .exponent = 1, .count = 100000 },
	};
	struct workload workload = { .requests = NULL };
	char why[WHY_BYTES] = "no memory";
	struct index *index;
	bool ok;

	schedule_init(&o.schedule);
	read_options(&o, argc, argv);
	index = index_open(o.index, why);
	o.server.index = index;
	o.server.workload = &workload;
	ok = index != NULL && load(&workload, &o, why);
	if (!ok)
		fprintf(stderr, "search: %s\n", why);
	else if (o.query != NULL)
		ok = print_answer(&o, &workload.requests[0]);
	else
		ok = measure(&o);
	workload_free(&workload);
	index_close(index);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
