/* SPDX-License-Identifier: MIT */
/* Queries: what stands behind the '?' of a URL, as "w=320&h=240". */
#ifndef LOADGEN_QUERY_H
#define LOADGEN_QUERY_H

#include <stdbool.h>

/* It can be sent as it is: visible ASCII, not empty, no '?' first, no '#'. */
static inline bool query_is_clean(const char *query)
{
	if (*query == '\0' || *query == '?')
		return false;
	for (; *query != '\0'; query++)
		if (*query <= ' ' || *query > '~' || *query == '#')
			return false;
	return true;
}

#endif
