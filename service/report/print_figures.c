/* SPDX-License-Identifier: MIT */
/*
 * Prints the figures of figures.def for script/tables and tests, in one of
 * these forms:
 *
 *	metrics   the table of docs/operations.md
 *	stats     the table of service/README.md
 *	panels    JSON: title, unit and targets of each panel of the row
 *	          "All figures" of deploy/grafana.json
 *	list      a line METRIC, TYPE, with a tab between
 *	live      the names of those that /v1/live has
 */
#include "base/json.h"
#include "base/util.h"

#include <stdlib.h>
#include <string.h>

enum { COUNTER = 1, GAUGE = 2, TIME = 4, LIVE = 8, MANY = 16, TIMES = 32 };

enum group {
#define GROUP(id, ...) id,
#include "service/report/figures.def"
};

static const struct {
	const char *object, *labels, *only;
} groups[] = {
#define GROUP(id, from, object, when, labels, only) { object, labels, only },
#include "service/report/figures.def"
};

static const struct row {
	enum group group;
	unsigned is;
	const char *name, *metric, *labels; /* NULL: none */
	const char *sentence, *more;        /* more: "" if there is none */
} rows[] = {
#define FIGURE(id, is, member, name, metric, sentence, more)                   \
	{ id, is, name, metric, NULL, sentence, more },
#define COMPUTED(id, function, name, sentence)                                 \
	{ id, GAUGE, name, NULL, NULL, sentence, "" },
#define TIMES(id, member, most, sum, mean, name, metric, sentence, more)       \
	{ id, TIME | MANY | TIMES, name, metric, NULL, sentence, more },
#define HISTOGRAM(id, is, member, sum, metric, sentence, more)                 \
	{ id, (is) | MANY, NULL, metric, NULL, sentence, more },
#define FAMILY(id, is, function, metric, labels, sentence, more)               \
	{ id, is, NULL, metric, labels, sentence, more },
#include "service/report/figures.def"
};

static const char *labels_of(const struct row *r)
{
	return r->labels != NULL ? r->labels : groups[r->group].labels;
}

static const char *type_of(const struct row *r)
{
	if ((r->is & MANY) != 0)
		return "histogram";
	return (r->is & COUNTER) != 0 ? "counter" : "gauge";
}

/* What a row is, for a table; `more` only if that is wanted. */
static void print_meaning(const struct row *r, bool with_more)
{
	const char *only = groups[r->group].only;

	if (only[0] != '\0')
		(void)printf("Only with %s: ", only);
	(void)fputs(r->sentence, stdout);
	if (with_more && r->more[0] != '\0')
		(void)printf(" %s%s", r->more,
			     r->more[strlen(r->more) - 1] == '.' ? "" : ".");
}

static void print_metrics(void)
{
	(void)printf("| metric | meaning |\n|---|---|\n");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];

		if (r->metric == NULL)
			continue;
		(void)printf("| `%s", r->metric);
		if (labels_of(r)[0] != '\0')
			(void)printf("{%s}", labels_of(r));
		(void)printf("` | %s",
			     (r->is & MANY) != 0 ? "Histogram: " : "");
		print_meaning(r, true);
		(void)printf(" |\n");
	}
}

static void print_member(const struct row *r)
{
	static const char *const ends[] = { "_mean", "_p50", "_p90", "_p99",
					    "_max" };
	const char *object = groups[r->group].object;

	(void)printf("`%s%s%s%s`", object, object[0] != '\0' ? "." : "",
		     r->name, (r->is & TIMES) != 0 ? ends[0] : "");
	for (size_t i = 1; (r->is & TIMES) != 0 && i < ARRAY_SIZE(ends); i++)
		(void)printf(" `%s%s`", r->name, ends[i]);
}

static void print_stats(void)
{
	(void)printf("| member | metric | meaning |\n|---|---|---|\n");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];

		if (r->name == NULL)
			continue;
		(void)printf("| ");
		print_member(r);
		if (r->metric != NULL)
			(void)printf(" | `%s` | ", r->metric);
		else
			(void)printf(" | | ");
		print_meaning(r, false);
		(void)printf(" |\n");
	}
}

static void print_list(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].metric != NULL)
			(void)printf("%s\t%s\n", rows[i].metric,
				     type_of(&rows[i]));
}

static void print_live(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if ((rows[i].is & LIVE) != 0)
			(void)printf("%s\n", rows[i].name);
}

/* A panel has the metrics of an object of /stats that share a unit. */
struct unit {
	const char *id; /* Grafana's */
	const char *title;
};

static struct unit unit_of(const struct row *r)
{
	static const struct unit units[] = {
		{ "short", "now" },        { "cps", "per second" },
		{ "bytes", "bytes" },      { "Bps", "bytes per second" },
		{ "s", "seconds" },        { "percentunit", "share of time" },
		{ "short", "90 % below" }, { "s", "seconds, 90 % below" },
	};
	bool is_bytes =
		r->metric != NULL && strstr(r->metric, "_bytes") != NULL;
	int at = (r->is & TIME) != 0 ? 4 : is_bytes ? 2 : 0;

	if ((r->is & MANY) != 0)
		return units[(r->is & TIME) != 0 ? 7 : 6];
	return units[at + ((r->is & COUNTER) != 0 ? 1 : 0)];
}

static const char *object_of(const struct row *r)
{
	const char *object = groups[r->group].object;

	return object[0] != '\0' ? object : "server";
}

static bool share_panel(const struct row *a, const struct row *b)
{
	return a->metric != NULL && b->metric != NULL &&
	       strcmp(object_of(a), object_of(b)) == 0 &&
	       strcmp(unit_of(a).title, unit_of(b).title) == 0;
}

/* METRIC {{label}} {{label}} */
static void make_legend(char *to, size_t bytes, const struct row *r)
{
	const char *labels = labels_of(r);
	size_t at = (size_t)snprintf(to, bytes, "%s", r->metric);

	while (labels[0] != '\0') {
		size_t length = strcspn(labels, ",");

		at += (size_t)snprintf(to + at, bytes - at, " {{%.*s}}",
				       (int)length, labels);
		labels += length + (labels[length] == ',' ? 1 : 0);
	}
}

/* A rate, a value, or a quantile of a histogram. */
static void add_target(struct json *j, const struct row *r, uint32_t number)
{
	static const char series[] = "{instance=~\"$instance\"}";
	const char *labels = labels_of(r);
	const char *comma = labels[0] != '\0' ? "," : "";
	char query[512], legend[256], id[8];

	if ((r->is & MANY) != 0)
		(void)snprintf(query, sizeof(query),
			       "histogram_quantile(0.9, sum by (le%s%s) "
			       "(rate(%s_bucket%s[$__rate_interval])))",
			       comma, labels, r->metric, series);
	else if ((r->is & COUNTER) != 0)
		(void)snprintf(query, sizeof(query),
			       "sum by (%s) (rate(%s%s[$__rate_interval]))",
			       labels, r->metric, series);
	else
		(void)snprintf(query, sizeof(query), "%s%s", r->metric, series);
	make_legend(legend, sizeof(legend), r);
	(void)snprintf(id, sizeof(id), "F%u", number);
	json_open_object(j, NULL);
	json_add_text(j, "expr", query);
	json_add_text(j, "legendFormat", legend);
	json_add_text(j, "refId", id);
	json_close(j);
}

static void add_panel(struct json *j, size_t first)
{
	char title[64];
	uint32_t count = 0;

	(void)snprintf(title, sizeof(title), "%s: %s", object_of(&rows[first]),
		       unit_of(&rows[first]).title);
	json_open_object(j, NULL);
	json_add_text(j, "title", title);
	json_add_text(j, "unit", unit_of(&rows[first]).id);
	json_open_array(j, "targets");
	for (size_t i = first; i < ARRAY_SIZE(rows); i++)
		if (share_panel(&rows[i], &rows[first]))
			add_target(j, &rows[i], count++);
	json_close(j);
	json_close(j);
}

static void print_panels(void)
{
	struct json j;

	json_begin(&j, stdout, JSON_COMPACT);
	json_open_array(&j, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t before = 0;

		while (before < i && !share_panel(&rows[before], &rows[i]))
			before++;
		if (before == i && rows[i].metric != NULL)
			add_panel(&j, i);
	}
	json_close(&j);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *form;
		void (*print)(void);
	} forms[] = {
		{ "metrics", print_metrics }, { "stats", print_stats },
		{ "panels", print_panels },   { "list", print_list },
		{ "live", print_live },
	};

	for (size_t i = 0; argc == 2 && i < ARRAY_SIZE(forms); i++)
		if (strcmp(argv[1], forms[i].form) == 0) {
			forms[i].print();
			return fflush(stdout) == 0 ? EXIT_SUCCESS :
						     EXIT_FAILURE;
		}
	(void)fprintf(stderr,
		      "usage: print_figures metrics|stats|panels|list|live\n");
	return 2;
}
