/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/first_failure.h"

#include <string.h>

/* Columns as in the first row; the rest is not needed. */
enum column { COLUMN_FILE = 4, COLUMN_STATUS, COLUMN_ERROR, COLUMN_COUNT };

enum { CELL_BYTES = 256 };

/*
 * Read one cell, cut if it is long, its quotes taken off (RFC 4180).  Returns
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

bool first_failure_find(const char *csv, struct error *failure)
{
	FILE *in = fopen(csv, "re");
	char cells[COLUMN_COUNT][CELL_BYTES] = { "" };
	bool found = false;

	if (in == NULL)
		return false;
	if (read_row(in, cells)) /* names */
		while (!found && read_row(in, cells))
			found = cells[COLUMN_STATUS][0] != '2';
	fclose(in);
	if (found && cells[COLUMN_ERROR][0] != '\0')
		error_set(failure, "%s: %s", cells[COLUMN_FILE],
			  cells[COLUMN_ERROR]);
	else if (found)
		error_set(failure, "%s: status %s", cells[COLUMN_FILE],
			  cells[COLUMN_STATUS]);
	return found;
}
