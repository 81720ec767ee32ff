/* SPDX-License-Identifier: MIT */
/*
 * Similar: which known name was probably meant by an unknown one, as in
 * "did you mean '--policy'?".
 *
 *	struct similar s = similar_begin("polcy");
 *	similar_try(&s, "policy", "policy");    for each known name
 *	s.meant                                 NULL: no name is near
 *
 * Two names are near if few letters must be inserted, deleted, changed or
 * exchanged with their neighbour to get one from the other: none in a word of
 * one or two letters, because it would be near to too many; one in a word of up
 * to 5 letters; otherwise two.  Capitals count as small letters, and '_' counts
 * as '-'.
 *
 * Ownership  texts are lent.
 * Limits     names of more than SIMILAR_BYTES_MAX bytes are near to none.
 */
#ifndef BASE_SIMILAR_H
#define BASE_SIMILAR_H

#include <stdint.h>

enum { SIMILAR_BYTES_MAX = 64 };

struct similar {
	const char *word;
	uint32_t distance; /* only names nearer than this are better */
	const char *meant; /* of the nearest name; NULL: none is near */
};

struct similar similar_begin(const char *word);

/* If `name` is nearer than the names before, set s->meant to `meant`. */
void similar_try(struct similar *s, const char *name, const char *meant);

#endif
