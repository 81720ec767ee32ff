/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <stdlib.h>
#include <string.h>

struct check {
	struct reader reader;
	uint32_t count;
	struct text {
		struct document document;
		struct word {
			char word[WORD_BYTES], stem[WORD_BYTES];
			char sound[SOUND_BYTES];
		} * words;
		uint32_t count;
	} * texts;
};

/* What is found, and the words that are looked for. */
struct search {
	const char *error;
	struct document found[FOUND_MAX];
	uint32_t found_count;
	char words[TERMS_MAX][WORD_BYTES];
	uint32_t word_count;
	bool is_corrected;
};

/* False: no memory. */
static bool add_words(struct text *t, const char *text, size_t length)
{
	const char *at = text;
	char word[WORD_BYTES];
	struct word *w;

	while (word_next(&at, text + length, word)) {
		void *larger = realloc(t->words, (t->count + UINT64_C(1)) *
							 sizeof(t->words[0]));

		if (larger == NULL)
			return false;
		t->words = larger;
		if (word_is_common(word))
			continue;
		w = &t->words[t->count++];
		memcpy(w->word, word, sizeof(word));
		memcpy(w->stem, word, sizeof(word));
		word_stem(w->stem);
		word_sound(word, w->sound);
	}
	return true;
}

struct check *check_new(const struct index *x)
{
	struct check *c = calloc(1, sizeof(*c));
	bool ok;

	if (c == NULL)
		return NULL;
	c->texts = calloc(x->document_count + UINT64_C(1), sizeof(c->texts[0]));
	ok = c->texts != NULL && reader_init(&c->reader, x);
	for (uint32_t i = 0; i < x->document_count && ok; i++) {
		struct text *t = &c->texts[i];
		struct document *d = &t->document;

		ok = reader_document(&c->reader, i + 1, d);
		c->count++;
		ok = ok && add_words(t, d->title, d->title_length) &&
		     add_words(t, d->text, d->text_length);
	}
	if (ok)
		return c;
	check_free(c);
	return NULL;
}

void check_free(struct check *c)
{
	if (c == NULL)
		return;
	for (uint32_t i = 0; i < c->count; i++)
		free(c->texts[i].words);
	free(c->texts);
	reader_destroy(&c->reader);
	free(c);
}

static void found(struct search *s, const struct text *t)
{
	if (s->found_count < FOUND_MAX)
		s->found[s->found_count++] = t->document;
}

static bool is_title(const struct document *d, const char *text)
{
	char lower[TITLE_BYTES];

	for (size_t i = 0; i <= d->title_length; i++)
		lower[i] = d->title[i] >= 'A' && d->title[i] <= 'Z' ?
				   (char)(d->title[i] - 'A' + 'a') :
				   d->title[i];
	return strcmp(d->title, text) == 0 || strcmp(lower, text) == 0;
}

static bool find_titles(const struct check *c, struct search *s,
			const char *text)
{
	for (uint32_t i = 0; i < c->count; i++)
		if (is_title(&c->texts[i].document, text))
			found(s, &c->texts[i]);
	return s->found_count > 0;
}

/* Sets what is wrong with the words, or the words. */
static void find_words(struct search *s, const char *text)
{
	const char *at = text, *end = text + strlen(text);
	char word[WORD_BYTES];
	uint32_t all = 0;

	for (; word_next(&at, end, word); all++) {
		if (word_is_common(word))
			continue;
		if (s->word_count == TERMS_MAX)
			s->error = "too many";
		else
			memcpy(s->words[s->word_count++], word, sizeof(word));
	}
	if (all > TOKENS_MAX || s->word_count == 0)
		s->error = "too many, or none";
}

/* Has `w` the sound, and is it a better correction of `word` than `best`? */
static bool is_better(const struct word *w, const char *sound, const char *word,
		      const char *best)
{
	unsigned int distance, least;

	if (strcmp(w->sound, sound) != 0)
		return false;
	if (best[0] == '\0')
		return true;
	distance = word_distance(word, w->word);
	least = word_distance(word, best);
	return distance < least ||
	       (distance == least && strcmp(w->word, best) < 0);
}

static void correct(const struct check *c, struct search *s, char *word)
{
	char sound[SOUND_BYTES], best[WORD_BYTES] = "";

	word_sound(word, sound);
	for (uint32_t i = 0; i < c->count; i++) {
		for (uint32_t k = 0; k < c->texts[i].count; k++) {
			const struct word *w = &c->texts[i].words[k];

			if (strcmp(w->word, word) == 0)
				return;
			if (is_better(w, sound, word, best))
				memcpy(best, w->word, sizeof(best));
		}
	}
	s->is_corrected = true;
	if (best[0] != '\0')
		memcpy(word, best, sizeof(best));
}

static void correct_words(const struct check *c, struct search *s,
			  char text[TERMS_MAX * WORD_BYTES])
{
	text[0] = '\0';
	for (uint32_t i = 0; i < s->word_count; i++) {
		correct(c, s, s->words[i]);
		if (i > 0)
			strcat(text, " ");
		strcat(text, s->words[i]);
	}
}

static bool has_stem(const struct text *t, const char *stem)
{
	for (uint32_t i = 0; i < t->count; i++)
		if (strcmp(t->words[i].stem, stem) == 0)
			return true;
	return false;
}

static void find_documents(const struct check *c, struct search *s)
{
	for (uint32_t k = 0; k < s->word_count; k++)
		word_stem(s->words[k]);
	for (uint32_t i = 0; i < c->count; i++) {
		bool has_all = true;

		for (uint32_t k = 0; k < s->word_count && has_all; k++)
			has_all = has_stem(&c->texts[i], s->words[k]);
		if (has_all)
			found(s, &c->texts[i]);
	}
}

static void search(const struct check *c, struct search *s, const char *target,
		   size_t length)
{
	char text[TEXT_BYTES], lower[TEXT_BYTES];
	char corrected[TERMS_MAX * WORD_BYTES];

	s->error = target_decode(target, length, text, lower);
	if (s->error != NULL || find_titles(c, s, text) ||
	    find_titles(c, s, lower))
		return;
	find_words(s, lower);
	if (s->error != NULL)
		return;
	correct_words(c, s, corrected);
	if (!s->is_corrected || !find_titles(c, s, corrected))
		find_documents(c, s);
}

bool check_is_right(const struct check *c, const char *target, size_t length,
		    const struct answer *answer)
{
	struct search s = { .error = NULL };
	char *pages = malloc((size_t)2 * PAGE_BYTES);
	size_t is_length, expected_length;
	bool ok = false;

	if (pages == NULL)
		return false;
	search(c, &s, target, length);
	if ((s.error == NULL) == (answer->error == NULL) &&
	    reply_inflate(answer->reply, answer->reply_length, pages,
			  &is_length)) {
		char *expected = pages + PAGE_BYTES;

		expected_length =
			s.error != NULL ?
				page_format_error(answer->error, expected) :
				page_format(s.found, s.found_count, expected);
		ok = is_length == expected_length &&
		     memcmp(pages, expected, is_length) == 0;
	}
	free(pages);
	return ok;
}
