/* SPDX-License-Identifier: MIT */
#include "service/http/http_range.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

/* Digits at *at; what is over 2^64 - 1 is as good as that.  False: none. */
static bool read_number(const char **at, uint64_t *out)
{
	const char *begin = *at;

	*out = 0;
	for (; **at >= '0' && **at <= '9'; ++*at) {
		uint64_t digit = (uint64_t)(**at - '0');

		*out = *out > (UINT64_MAX - digit) / 10 ? UINT64_MAX :
							  *out * 10 + digit;
	}
	return *at > begin;
}

static bool ends(const char *at)
{
	return at[strspn(at, " \t")] == '\0';
}

/* "-5": the last bytes. */
static enum range_kind last(uint64_t count, uint64_t file_bytes,
			    struct range *out)
{
	if (count == 0 || file_bytes == 0)
		return RANGE_NONE;
	if (count > file_bytes)
		count = file_bytes;
	*out = (struct range){ file_bytes - count, count };
	return RANGE_PART;
}

enum range_kind range_read(const char *text, uint64_t file_bytes,
			   struct range *out)
{
	static const char unit[] = "bytes=";
	uint64_t from, to = UINT64_MAX;

	if (text == NULL || strncasecmp(text, unit, sizeof(unit) - 1) != 0)
		return RANGE_ALL;
	text += sizeof(unit) - 1;
	text += strspn(text, " \t");
	if (*text == '-') {
		text++;
		return read_number(&text, &from) && ends(text) ?
			       last(from, file_bytes, out) :
			       RANGE_ALL;
	}
	if (!read_number(&text, &from) || *text++ != '-')
		return RANGE_ALL;
	if ((!ends(text) && !read_number(&text, &to)) || !ends(text) ||
	    to < from)
		return RANGE_ALL;
	if (from >= file_bytes)
		return RANGE_NONE;
	if (to >= file_bytes)
		to = file_bytes - 1;
	*out = (struct range){ from, to - from + 1 };
	return RANGE_PART;
}

bool etag_is_listed(const char *list, const char *etag)
{
	size_t bytes = strlen(etag);

	if (list == NULL)
		return false;
	for (;;) {
		list += strspn(list, " \t,");
		if (*list == '*')
			return true;
		/* Weak or strong is the same here (8.8.3.2). */
		if (strncmp(list, "W/", 2) == 0)
			list += 2;
		if (*list != '"')
			return false;
		if (strncmp(list, etag, bytes) == 0)
			return true;
		list = strchr(list + 1, '"');
		if (list == NULL)
			return false;
		list++;
	}
}
