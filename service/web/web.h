/* SPDX-License-Identifier: MIT */
/*
 * Web: the files of the page that shows a running server, compiled into the
 * program unchanged.  To add a file, add a line to files.def.
 *
 * Threads    Any.
 */
#ifndef SERVICE_WEB_H
#define SERVICE_WEB_H

#include <stdbool.h>
#include <stddef.h>

struct web_file {
	const char *name; /* name of the file in this folder */
	const char *type; /* media type */
	const char *bytes;
	size_t count;
};

/* False: no file has that name. */
bool web_find(const char *name, struct web_file *out);

#endif
