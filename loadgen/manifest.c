/* SPDX-License-Identifier: MIT */
#include "loadgen/manifest.h"

#include "loadgen/lines.h"
#include "loadgen/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* `path` as seen from the folder of `manifest`.  NULL: out of memory. */
static char *locate(const char *manifest, const char *path)
{
	const char *slash = strrchr(manifest, '/');
	int folder_bytes = slash == NULL ? 0 : (int)(slash + 1 - manifest);
	char *location;

	if (*path == '/')
		folder_bytes = 0;
	if (asprintf(&location, "%.*s%s", folder_bytes, manifest, path) < 0)
		return NULL;
	return location;
}

/* False: the line is blamed. */
static bool take_line(struct dataset *d, struct lines *lines, char *line)
{
	const char *path = strsep(&line, "\t");
	const char *query = line; /* NULL: no TAB */
	char *location;
	struct error why;

	if (query != NULL && !query_is_clean(query)) {
		lines_blame(lines, "'%s': not a query", query);
		return false;
	}
	location = locate(lines->path, path);
	if (location == NULL)
		lines_blame(lines, "%s", strerror(ENOMEM));
	else if (!dataset_add(d, location, path, query, &why))
		lines_blame(lines, "%s: %s", path, why.text);
	free(location);
	return !lines->failed;
}

bool manifest_load(struct dataset *d, const char *path, struct error *error)
{
	struct lines lines;
	char *line;

	if (!lines_open(&lines, path, error))
		return false;
	while ((line = lines_next(&lines)) != NULL)
		if (!take_line(d, &lines, line))
			break;
	if (!lines_close(&lines))
		return false;
	if (d->count == 0)
		error_set(error, "%s: no file is listed", path);
	return d->count > 0;
}
