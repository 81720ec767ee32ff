/* SPDX-License-Identifier: MIT */
#include "service/http/handlers/images/conditions.h"
#include "service/http/head/field_values.h"

#include "base/take.h"

#include <string.h>
#include <strings.h>

static const char match[] = "If-Match", none_match[] = "If-None-Match";

static bool is_given(const struct request_head *head, const char *name)
{
	return http_field_find(head->fields, head->field_count, name) != NULL;
}

bool conditions_exist(const struct request_head *head)
{
	return is_given(head, match) || is_given(head, none_match);
}

enum condition conditions_check(const struct request_head *head,
				const char *etag)
{
	if (is_given(head, match) &&
	    !field_has_tag(head, match, etag, FIELD_TAGS_STRONG))
		return CONDITION_UNLIKE;
	if (field_has_tag(head, none_match, etag, FIELD_TAGS_WEAK))
		return CONDITION_KNOWN;
	return CONDITION_HOLDS;
}

/*
 * Read the digits at *at; a number above 2^64 - 1 is read as 2^64 - 1.  False:
 * there are no digits.
 */
static bool read_range_number(const char **at, uint64_t *out)
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

/* "-5": the last bytes. */
static enum range_kind range_of_last(uint64_t count, uint64_t file_bytes,
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
		return read_range_number(&text, &from) && take_end(text) ?
			       range_of_last(from, file_bytes, out) :
			       RANGE_ALL;
	}
	if (!read_range_number(&text, &from) || *text++ != '-')
		return RANGE_ALL;
	if ((!take_end(text) && !read_range_number(&text, &to)) ||
	    !take_end(text) || to < from)
		return RANGE_ALL;
	if (from >= file_bytes)
		return RANGE_NONE;
	if (to >= file_bytes)
		to = file_bytes - 1;
	*out = (struct range){ from, to - from + 1 };
	return RANGE_PART;
}
