/* SPDX-License-Identifier: MIT */
#include "workload.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum {
	WORDS_MAX = 64, /* of a document, among which a query chooses */
	QUERY_BYTES = 256,
	WORD_LEAST = 3,
};

static const char no_memory[] = "no memory";

/* --- Requests. --- */

static bool add_target(struct workload *w, char *target, size_t length)
{
	if (w->count == w->capacity) {
		size_t capacity = 2 * w->capacity + 16;
		struct request *larger =
			realloc(w->requests, capacity * sizeof(larger[0]));

		if (larger == NULL) {
			free(target);
			return false;
		}
		w->requests = larger;
		w->capacity = capacity;
	}
	w->requests[w->count++] = (struct request){ target, length };
	return true;
}

bool workload_add(struct workload *w, const char *query, size_t length)
{
	static const char prefix[] = "/search/", digits[] = "0123456789ABCDEF";
	char *target = malloc(sizeof(prefix) + 3 * length), *to;

	if (target == NULL)
		return false;
	memcpy(target, prefix, sizeof(prefix) - 1);
	to = target + sizeof(prefix) - 1;
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)query[i];

		if (c == ' ') {
			*to++ = '+';
		} else if (c < ' ' || c >= 0x7f || strchr("%+#?", c) != NULL) {
			*to++ = '%';
			*to++ = digits[c >> 4];
			*to++ = digits[c & 0xf];
		} else {
			*to++ = (char)c;
		}
	}
	return add_target(w, target, (size_t)(to - target));
}

static bool add_line(struct workload *w, const char *line, size_t length)
{
	char *target;

	if (length == 0 || line[0] != '/')
		return workload_add(w, line, length);
	target = malloc(length);
	if (target == NULL)
		return false;
	memcpy(target, line, length);
	return add_target(w, target, length);
}

bool workload_read(struct workload *w, const char *path, char why[WHY_BYTES])
{
	FILE *file = fopen(path, "r");
	char *line = NULL;
	size_t capacity = 0;
	ssize_t length;
	bool ok = file != NULL, has_memory = true;

	while (has_memory && ok &&
	       (length = getline(&line, &capacity, file)) >= 0) {
		if (length > 0 && line[length - 1] == '\n')
			length--;
		has_memory = add_line(w, line, (size_t)length);
	}
	ok = ok && ferror(file) == 0;
	if (!ok)
		snprintf(why, WHY_BYTES, "%s: %s", path, strerror(errno));
	else if (!has_memory)
		snprintf(why, WHY_BYTES, "%s", no_memory);
	else if (w->count == 0)
		snprintf(why, WHY_BYTES, "%s: it has no query", path);
	if (file != NULL)
		(void)fclose(file);
	free(line);
	return ok && has_memory && w->count > 0;
}

void workload_free(struct workload *w)
{
	for (size_t i = 0; i < w->count; i++)
		free(w->requests[i].target);
	free(w->requests);
}

/* --- Random ones. --- */

/* SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). */
static uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static uint32_t random_below(uint64_t *state, uint32_t limit)
{
	return (uint32_t)((random_next(state) >> 32) * limit >> 32);
}

struct maker {
	uint64_t random;
	struct reader reader;
	uint32_t document_count;
	uint32_t *by_rank; /* documents */
	double *sums;      /* of the weights of all ranks up to this one */
};

static bool maker_init(struct maker *m, const struct index *x,
		       const struct zipf *z)
{
	uint32_t n = x->document_count;
	double sum = 0;

	m->random = z->seed;
	m->document_count = n;
	m->by_rank = malloc((n + 1) * sizeof(m->by_rank[0]));
	m->sums = malloc((n + 1) * sizeof(m->sums[0]));
	if (m->by_rank == NULL || m->sums == NULL ||
	    !reader_init(&m->reader, x))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t other = random_below(&m->random, i + 1);

		m->by_rank[i] = i + 1;
		m->by_rank[i] = m->by_rank[other];
		m->by_rank[other] = i + 1;
		sum += pow(i + 1, -z->exponent);
		m->sums[i] = sum;
	}
	return true;
}

static void maker_destroy(struct maker *m)
{
	reader_destroy(&m->reader);
	free(m->by_rank);
	free(m->sums);
}

static uint32_t random_document(struct maker *m)
{
	uint32_t low = 0, high = m->document_count - 1;
	double point = m->sums[high] * 0x1p-53 *
		       (double)(random_next(&m->random) >> 11);

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (m->sums[middle] > point)
			high = middle;
		else
			low = middle + 1;
	}
	return m->by_rank[low];
}

static uint32_t words_of(const struct document *d,
			 char words[WORDS_MAX][WORD_BYTES])
{
	const char *at = d->text, *end = at + d->text_length;
	uint32_t count = 0;

	while (count < WORDS_MAX && word_next(&at, end, words[count]))
		if (strlen(words[count]) >= WORD_LEAST &&
		    !word_is_common(words[count]))
			count++;
	return count;
}

/* Another vowel in its middle, which hardly changes how it sounds. */
static void misspell(struct maker *m, char *word)
{
	static const char vowels[] = "aeiou";

	for (char *c = word + 1; *c != '\0'; c++) {
		if (strchr(vowels, *c) != NULL) {
			*c = vowels[random_below(&m->random, 5)];
			return;
		}
	}
}

static size_t make_words(struct maker *m, const struct document *d,
			 uint32_t count, bool is_misspelled,
			 char query[QUERY_BYTES])
{
	char words[WORDS_MAX][WORD_BYTES];
	uint32_t of = words_of(d, words);
	size_t length = 0;

	for (uint32_t i = 0; i < count && of > 0; i++) {
		char *word = words[random_below(&m->random, of)];

		if (i == 0 && is_misspelled)
			misspell(m, word);
		length += (size_t)snprintf(query + length, QUERY_BYTES - length,
					   "%s%s", i > 0 ? " " : "", word);
	}
	return length;
}

static size_t make_query(struct maker *m, char query[QUERY_BYTES])
{
	uint32_t percent = random_below(&m->random, 100);
	struct document d;
	size_t length = 0;

	if (!reader_document(&m->reader, random_document(m), &d))
		return 0;
	if (percent >= 90)
		length = make_words(m, &d, 2, true, query);
	else if (percent >= 75)
		length = make_words(m, &d, 3, false, query);
	else if (percent >= 60)
		length = make_words(m, &d, 2, false, query);
	else if (percent >= 50)
		length = make_words(m, &d, 1, false, query);
	if (length > 0)
		return length;
	memcpy(query, d.title, d.title_length);
	return d.title_length;
}

bool workload_make(struct workload *w, const struct index *x,
		   const struct zipf *z, char why[WHY_BYTES])
{
	struct maker m = { .random = 0 };
	char query[QUERY_BYTES];
	bool ok;

	if (x->document_count == 0) {
		snprintf(why, WHY_BYTES, "the index has no document");
		return false;
	}
	ok = maker_init(&m, x, z);
	for (size_t i = 0; i < z->count && ok; i++)
		ok = workload_add(w, query, make_query(&m, query));
	maker_destroy(&m);
	if (!ok)
		snprintf(why, WHY_BYTES, "%s", no_memory);
	return ok;
}
