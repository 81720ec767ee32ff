/* SPDX-License-Identifier: MIT */
/*
 * Text part: a piece of another text, such as a member of a header's list or
 * the host of a URL.  The other text must stay.
 *
 * Pure.
 */
#ifndef SERVICE_TEXT_PART_H
#define SERVICE_TEXT_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

struct text_part {
	const char *text;
	size_t bytes;
};

/* The whole of a text. */
static inline struct text_part text_part_of(const char *text)
{
	return (struct text_part){ text, strlen(text) };
}

/* Are they equal?  Case is ignored. */
static inline bool text_part_is(struct text_part a, struct text_part b)
{
	return a.bytes == b.bytes && strncasecmp(a.text, b.text, a.bytes) == 0;
}

#endif
