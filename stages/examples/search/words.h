/* SPDX-License-Identifier: MIT */
/*
 * Words of texts and queries: finding them, their stems, and how they sound.
 *
 * Threads    Any number.
 */
#ifndef SEARCH_WORDS_H
#define SEARCH_WORDS_H

#include <stdbool.h>
#include <stddef.h>

enum {
	WORD_BYTES = 32, /* with the NUL; a longer word is cut */
	SOUND_BYTES = 2 * WORD_BYTES,
};

/*
 * The next word of *text, which ends at `end`, in lower case: ASCII letters and
 * digits, and all bytes of other scripts.  Moves *text behind it.  False: there
 * is none.
 */
bool word_next(const char **text, const char *end, char word[WORD_BYTES]);

/* Is it a stopword, such as "the"? */
bool word_is_common(const char *word);

/*
 * Replace an English word by its stem: Porter, "An algorithm for suffix
 * stripping", Program 14:3, 1980.  Words with other bytes than a to z stay.
 */
void word_stem(char word[WORD_BYTES]);

/*
 * How an English word sounds: most of the rules of Metaphone (Philips, Computer
 * Language 7:12, 1990).
 */
void word_sound(const char *word, char sound[SOUND_BYTES]);

/*
 * How many letters must be inserted, deleted or replaced to make one word of
 * the other (Levenshtein).
 */
unsigned int word_distance(const char *a, const char *b);

#endif
