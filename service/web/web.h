/* SPDX-License-Identifier: MIT */
/*
 * Web: the files of the page that shows a running server, compiled in as they
 * lie in this folder.  To add one: a line in files.def.
 *
 * Threads    Any.
 */
#ifndef SERVICE_WEB_H
#define SERVICE_WEB_H

#include <stdbool.h>
#include <stddef.h>

struct web_file {
	const char *name; /* as in this folder */
	const char *type; /* its media type */
	const char *bytes;
	size_t count;
};

/* False: there is none of that name. */
bool web_find(const char *name, struct web_file *out);

#endif
