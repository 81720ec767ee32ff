/* SPDX-License-Identifier: MIT */
#include "loadgen/params_file.h"

#include "loadgen/lines.h"
#include "loadgen/number.h"
#include "loadgen/query.h"

#include <string.h>

static const double weight_min = 1e-6;
static const double weight_max = 1e6;

/* False: the line is blamed. */
static bool take_line(struct params *p, struct lines *lines, char *line)
{
	const char *first = strsep(&line, "\t");
	const char *query = line == NULL ? first : line;
	double weight = 1;

	if (line != NULL &&
	    !number_read(first, weight_min, weight_max, &weight))
		lines_blame(lines, "'%s': not a weight from %g to %g", first,
			    weight_min, weight_max);
	else if (!query_is_clean(query))
		lines_blame(lines, "'%s': not a query", query);
	else if (!params_add(p, query, weight))
		lines_blame(lines, "out of memory");
	return !lines->failed;
}

bool params_read(struct params *p, const char *path, struct error *error)
{
	struct lines lines;
	bool is_good;
	char *line;

	if (!lines_open(&lines, path, error))
		return false;
	while ((line = lines_next(&lines)) != NULL)
		if (!take_line(p, &lines, line))
			break;
	is_good = lines_close(&lines);
	if (is_good && p->count == 0) {
		error_set(error, "%s: no query in it", path);
		is_good = false;
	}
	if (!is_good)
		params_release(p);
	return is_good;
}
