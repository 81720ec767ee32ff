/* SPDX-License-Identifier: MIT */
/*
 * Field values: what the headers of a request say that have lists as values,
 * such as Accept, Expect and If-Match (RFC 9110).  Several headers with one
 * name are one list.
 *
 * Pure.  Members are found in the texts of the head, which must stay.
 */
#ifndef SERVICE_FIELD_VALUES_H
#define SERVICE_FIELD_VALUES_H

#include "service/http/head/text_part.h"
#include "service/http/transport.h"

/* Walks through a list.  Set `head` and `name`, and zero the rest. */
struct field_list {
	const struct request_head *head;
	const char *name;
	struct text_part item; /* the member found last, without white space */

	/* Private. */
	size_t field_count; /* headers that were looked at */
	struct text_part rest;
};

/*
 * Find the next member that is not empty.  A comma between quotes does not end
 * it.  False: there are no more.
 */
bool field_list_next(struct field_list *l);

/* Is `word` in the list?  Case is ignored. */
bool field_has_word(const struct request_head *head, const char *name,
		    const char *word);

/*
 * How much the client wants this media type, such as "image/jpeg", by its
 * Accept: 0, not at all, to FIELD_QUALITY_MAX, which is also the answer if it
 * has sent no Accept.  Of the ranges that match, the most specific one counts.
 * A member of the list that is not valid is ignored.
 */
enum { FIELD_QUALITY_MAX = 1000 };

uint32_t field_quality(const struct request_head *head, const char *type);

/* The same, by ranges that name the type itself.  0: there are none. */
uint32_t field_quality_named(const struct request_head *head, const char *type);

/*
 * Is `tag`, an entity tag with its quotes, in the list?  "*" alone stands for
 * any.  `tag` NULL: there is nothing to compare with, which no list names; "":
 * it is not known, and only "*" stands for it.
 * FIELD_TAGS_STRONG: a weak tag of the list, W/"x", is not equal to any.
 */
enum field_tags { FIELD_TAGS_STRONG, FIELD_TAGS_WEAK };

bool field_has_tag(const struct request_head *head, const char *name,
		   const char *tag, enum field_tags comparison);

#endif
