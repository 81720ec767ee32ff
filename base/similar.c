/* SPDX-License-Identifier: MIT */
#include "base/similar.h"

#include <ctype.h>
#include <string.h>

/* In shorter words no change is allowed; in short ones, one is. */
enum { LETTERS_MIN = 3, LETTERS_SHORT = 5 };

struct similar similar_begin(const char *word)
{
	size_t bytes = strlen(word);

	return (struct similar){
		.word = word,
		.distance = bytes > SIMILAR_BYTES_MAX ? 0 :
			    bytes < LETTERS_MIN       ? 1 :
			    bytes <= LETTERS_SHORT    ? 2 :
							3,
	};
}

static int letter(char c)
{
	return c == '_' ? '-' : tolower((unsigned char)c);
}

static uint32_t least_of(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/*
 * How many letters must be inserted, deleted, changed or exchanged with their
 * neighbour to get `b` from `a` (optimal string alignment).  Both have at most
 * SIMILAR_BYTES_MAX bytes.
 */
static uint32_t distance(const char *a, const char *b)
{
	/* Of the letters of `a` up to the last but one, the last, and this. */
	uint32_t rows[3][SIMILAR_BYTES_MAX + 1];
	uint32_t a_bytes = (uint32_t)strlen(a), b_bytes = (uint32_t)strlen(b);

	for (uint32_t k = 0; k <= b_bytes; k++)
		rows[0][k] = k;
	for (uint32_t i = 1; i <= a_bytes; i++) {
		uint32_t *row = rows[i % 3];
		const uint32_t *last = rows[(i + 2) % 3];
		const uint32_t *before = rows[(i + 1) % 3];

		row[0] = i;
		for (uint32_t k = 1; k <= b_bytes; k++) {
			int la = letter(a[i - 1]), lb = letter(b[k - 1]);

			row[k] = least_of(last[k - 1] + (la != lb),
					  least_of(last[k], row[k - 1]) + 1);
			if (i > 1 && k > 1 && la == letter(b[k - 2]) &&
			    lb == letter(a[i - 2]))
				row[k] = least_of(row[k], before[k - 2] + 1);
		}
	}
	return rows[a_bytes % 3][b_bytes];
}

void similar_try(struct similar *s, const char *name, const char *meant)
{
	uint32_t d;

	if (s->distance == 0 || strlen(name) > SIMILAR_BYTES_MAX)
		return;
	d = distance(s->word, name);
	if (d >= s->distance)
		return;
	s->distance = d;
	s->meant = meant;
}
