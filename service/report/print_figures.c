/* SPDX-License-Identifier: MIT */
/*
 * Prints the rows of figures.def as JSON, for script/tables and tests: an array
 * of objects with the columns of a row and of its group.
 */
#include "service/report/figures.h"

#include "base/json.h"
#include "base/util.h"

#include <stdlib.h>

enum { MANY = LIVE << 1 }; /* a histogram */

static const struct {
	const char *object, *labels, *only;
} groups[] = {
#define GROUP(id, from, object, when, labels, only) { object, labels, only },
#include "service/report/figures.def"
};

static const struct row {
	enum figure_group group;
	unsigned is;
	const char *name, *metric, *labels; /* labels: NULL: the group's */
	const char *sentence, *more;
} rows[] = {
#define FIGURE(id, is, member, name, metric, sentence, more)                   \
	{ id, is, name, metric, NULL, sentence, more },
#define COMPUTED(id, function, name, sentence)                                 \
	{ id, GAUGE, name, NULL, NULL, sentence, "" },
#define TIMES(id, member, most, sum, mean, name, metric, sentence, more)       \
	{ id, TIME | MANY, name, metric, NULL, sentence, more },
#define HISTOGRAM(id, is, member, sum, metric, sentence, more)                 \
	{ id, (is) | MANY, NULL, metric, NULL, sentence, more },
#define FAMILY(id, is, function, metric, labels, sentence, more)               \
	{ id, is, NULL, metric, labels, sentence, more },
#include "service/report/figures.def"
};

static void add_row(struct json *j, const struct row *r)
{
	const char *type = (r->is & COUNTER) != 0 ? "counter" : "gauge";

	json_open_object(j, NULL);
	json_add_text(j, "object", groups[r->group].object);
	json_add_text(j, "name", r->name);
	json_add_text(j, "metric", r->metric);
	json_add_text(j, "type", (r->is & MANY) != 0 ? "histogram" : type);
	json_add_bool(j, "time", (r->is & TIME) != 0);
	json_add_bool(j, "live", (r->is & LIVE) != 0);
	json_add_text(j, "labels",
		      r->labels != NULL ? r->labels : groups[r->group].labels);
	json_add_text(j, "only", groups[r->group].only);
	json_add_text(j, "sentence", r->sentence);
	json_add_text(j, "more", r->more);
	json_close(j);
}

int main(void)
{
	struct json j;

	json_begin(&j, stdout, JSON_LINES);
	json_open_array(&j, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		add_row(&j, &rows[i]);
	json_close(&j);
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
