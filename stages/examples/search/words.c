/* SPDX-License-Identifier: MIT */
#include "words.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* --- Words of a text. --- */

static bool is_of_word(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c >= 0x80;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool word_next(const char **text, const char *end, char word[WORD_BYTES])
{
	const char *at = *text;
	size_t length = 0;

	while (at < end && !is_of_word((unsigned char)*at))
		at++;
	for (; at < end && is_of_word((unsigned char)*at); at++)
		if (length < WORD_BYTES - 1)
			word[length++] = lower(*at);
	word[length] = '\0';
	*text = at;
	return length > 0;
}

/* Sorted, as strcmp() does. */
static const char *const common_words[] = {
	"a",     "about", "after", "all",  "also", "an",    "and",   "any",
	"are",   "as",    "at",    "be",   "been", "but",   "by",    "can",
	"do",    "does",  "for",   "from", "had",  "has",   "have",  "how",
	"i",     "if",    "in",    "into", "is",   "it",    "its",   "may",
	"more",  "no",    "not",   "of",   "on",   "or",    "other", "so",
	"such",  "than",  "that",  "the",  "then", "there", "these", "they",
	"this",  "to",    "was",   "we",   "were", "what",  "when",  "where",
	"which", "who",   "will",  "with", "you",  "your",
};

static int compare_texts(const void *a, const void *b)
{
	return strcmp(a, *(const char *const *)b);
}

bool word_is_common(const char *word)
{
	return bsearch(word, common_words,
		       sizeof(common_words) / sizeof(common_words[0]),
		       sizeof(common_words[0]), compare_texts) != NULL;
}

unsigned int word_distance(const char *a, const char *b)
{
	unsigned int row[WORD_BYTES];
	size_t width = strlen(b);

	for (unsigned int k = 0; k <= width; k++)
		row[k] = k;
	for (unsigned int i = 1; a[i - 1] != '\0'; i++) {
		unsigned int diagonal = row[0];

		row[0] = i;
		for (size_t k = 1; k <= width; k++) {
			unsigned int best = diagonal + (a[i - 1] != b[k - 1]);

			diagonal = row[k];
			if (row[k] + 1 < best)
				best = row[k] + 1;
			if (row[k - 1] + 1 < best)
				best = row[k - 1] + 1;
			row[k] = best;
		}
	}
	return row[width];
}

/* --- Stems.  The numbers of the steps are those of the paper. --- */

struct stem {
	char *w;
	size_t n; /* its length */
};

static bool is_vowel(const char *w, size_t i)
{
	if (w[i] == 'y')
		return i > 0 && !is_vowel(w, i - 1);
	return strchr("aeiou", w[i]) != NULL;
}

/* How often a vowel is followed by a consonant in the first n letters. */
static unsigned int measure(const char *w, size_t n)
{
	unsigned int count = 0;

	for (size_t i = 1; i < n; i++)
		count += is_vowel(w, i - 1) && !is_vowel(w, i);
	return count;
}

static bool has_vowel(const char *w, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_vowel(w, i))
			return true;
	return false;
}

/* Consonant, vowel, consonant, of which the last is not w, x or y. */
static bool ends_short(const char *w, size_t n)
{
	return n >= 3 && !is_vowel(w, n - 3) && is_vowel(w, n - 2) &&
	       !is_vowel(w, n - 1) && strchr("wxy", w[n - 1]) == NULL;
}

static bool ends(const struct stem *s, const char *suffix)
{
	size_t length = strlen(suffix);

	return s->n >= length &&
	       memcmp(s->w + s->n - length, suffix, length) == 0;
}

/* `to` is not longer than `suffix`, or there is room for one letter more. */
static void replace(struct stem *s, const char *suffix, const char *to)
{
	s->n -= strlen(suffix);
	memcpy(s->w + s->n, to, strlen(to) + 1);
	s->n += strlen(to);
}

struct suffix {
	const char *suffix, *to;
};

/* The first suffix of the list that the word has counts. */
static void replace_first(struct stem *s, const struct suffix *list,
			  unsigned int more_than)
{
	for (; list->suffix != NULL; list++) {
		if (!ends(s, list->suffix))
			continue;
		if (measure(s->w, s->n - strlen(list->suffix)) > more_than)
			replace(s, list->suffix, list->to);
		return;
	}
}

static const struct suffix step_2[] = {
	{ "ational", "ate" }, { "tional", "tion" }, { "enci", "ence" },
	{ "anci", "ance" },   { "izer", "ize" },    { "abli", "able" },
	{ "alli", "al" },     { "entli", "ent" },   { "eli", "e" },
	{ "ousli", "ous" },   { "ization", "ize" }, { "ation", "ate" },
	{ "ator", "ate" },    { "alism", "al" },    { "iveness", "ive" },
	{ "fulness", "ful" }, { "ousness", "ous" }, { "aliti", "al" },
	{ "iviti", "ive" },   { "biliti", "ble" },  { NULL, NULL },
};

static const struct suffix step_3[] = {
	{ "icate", "ic" }, { "ative", "" },  { "alize", "al" },
	{ "iciti", "ic" }, { "ical", "ic" }, { "ful", "" },
	{ "ness", "" },    { NULL, NULL },
};

static const struct suffix step_4[] = {
	{ "al", "" },    { "ance", "" }, { "ence", "" }, { "er", "" },
	{ "ic", "" },    { "able", "" }, { "ible", "" }, { "ant", "" },
	{ "ement", "" }, { "ment", "" }, { "ent", "" },  { "ou", "" },
	{ "ism", "" },   { "ate", "" },  { "iti", "" },  { "ous", "" },
	{ "ive", "" },   { "ize", "" },  { NULL, NULL },
};

/* Step 1a: plurals. */
static void stem_plural(struct stem *s)
{
	if (ends(s, "sses"))
		replace(s, "sses", "ss");
	else if (ends(s, "ies"))
		replace(s, "ies", "i");
	else if (ends(s, "s") && !ends(s, "ss"))
		replace(s, "s", "");
}

/* Step 1b: "ed" and "ing". */
static void stem_past(struct stem *s)
{
	const char *suffix = ends(s, "ed") ? "ed" : "ing";

	if (ends(s, "eed")) {
		if (measure(s->w, s->n - 3) > 0)
			replace(s, "eed", "ee");
		return;
	}
	if (!ends(s, suffix) || !has_vowel(s->w, s->n - strlen(suffix)))
		return;
	replace(s, suffix, "");
	if (ends(s, "at") || ends(s, "bl") || ends(s, "iz"))
		replace(s, "", "e");
	else if (s->n >= 2 && s->w[s->n - 1] == s->w[s->n - 2] &&
		 !is_vowel(s->w, s->n - 1) &&
		 strchr("lsz", s->w[s->n - 1]) == NULL)
		s->w[--s->n] = '\0';
	else if (measure(s->w, s->n) == 1 && ends_short(s->w, s->n))
		replace(s, "", "e");
}

/* Step 5: "e" and "ll" at the end. */
static void stem_end(struct stem *s)
{
	unsigned int m;

	if (ends(s, "e")) {
		m = measure(s->w, s->n - 1);
		if (m > 1 || (m == 1 && !ends_short(s->w, s->n - 1)))
			replace(s, "e", "");
	}
	if (ends(s, "ll") && measure(s->w, s->n) > 1)
		replace(s, "l", "");
}

void word_stem(char word[WORD_BYTES])
{
	struct stem s = { .w = word, .n = strlen(word) };

	if (s.n <= 2 || strspn(word, "abcdefghijklmnopqrstuvwxyz") != s.n)
		return;
	stem_plural(&s);
	stem_past(&s);
	if (ends(&s, "y") && has_vowel(s.w, s.n - 1)) /* 1c */
		replace(&s, "y", "i");
	replace_first(&s, step_2, 0);
	replace_first(&s, step_3, 0);
	if (!ends(&s, "ion"))
		replace_first(&s, step_4, 1);
	else if ((ends(&s, "sion") || ends(&s, "tion")) &&
		 measure(s.w, s.n - 3) > 1)
		replace(&s, "ion", "");
	stem_end(&s);
}

/* --- Sounds. --- */

static const char vowels[] = "aeiou", consonants[] = "bcdfghjklmnpqrstvwxz",
		  front[] = "iey", at_end[] = "";

/* The first rule that fits counts; NULL: any letter, or none. */
static const struct sound_rule {
	const char *before; /* the letter before is one of these */
	const char *text;
	const char *after; /* the letter after; at_end: none */
	const char *sound;
} sound_rules[] = {
	{ "m", "b", at_end, "" },       { NULL, "b", NULL, "B" },
	{ "s", "c", front, "" },        { "s", "ch", NULL, "K" },
	{ NULL, "ci", "a", "X" },       { NULL, "ch", NULL, "X" },
	{ NULL, "c", front, "S" },      { NULL, "ck", NULL, "K" },
	{ NULL, "c", NULL, "K" },       { NULL, "dg", front, "j" },
	{ NULL, "d", NULL, "T" },       { NULL, "gh", vowels, "K" },
	{ NULL, "gh", consonants, "" }, { NULL, "gh", at_end, "" },
	{ NULL, "gn", at_end, "n" },    { NULL, "g", front, "j" },
	{ NULL, "g", NULL, "K" },       { NULL, "h", vowels, "H" },
	{ NULL, "h", NULL, "" },        { NULL, "k", NULL, "K" },
	{ NULL, "ph", NULL, "f" },      { NULL, "p", NULL, "P" },
	{ NULL, "q", NULL, "K" },       { NULL, "sh", NULL, "X" },
	{ NULL, "si", "oa", "X" },      { NULL, "s", NULL, "S" },
	{ NULL, "ti", "oa", "X" },      { NULL, "th", NULL, "0" },
	{ NULL, "tch", NULL, "X" },     { NULL, "t", NULL, "T" },
	{ NULL, "v", NULL, "f" },       { NULL, "w", vowels, "W" },
	{ NULL, "w", NULL, "" },        { NULL, "x", NULL, "KS" },
	{ NULL, "y", vowels, "Y" },     { NULL, "y", NULL, "" },
	{ NULL, "z", NULL, "S" },
};

static bool is_one_of(char c, const char *letters)
{
	if (letters == NULL)
		return true;
	return c == '\0' ? letters == at_end : strchr(letters, c) != NULL;
}

static const struct sound_rule *find_rule(const char *at, char before)
{
	for (size_t i = 0; i < sizeof(sound_rules) / sizeof(sound_rules[0]);
	     i++) {
		const struct sound_rule *r = &sound_rules[i];
		size_t length = strlen(r->text);

		if (strncmp(at, r->text, length) == 0 &&
		    is_one_of(at[length], r->after) &&
		    (r->before == NULL ||
		     (before != '\0' && strchr(r->before, before) != NULL)))
			return r;
	}
	return NULL;
}

/* The beginning of a word, without letters that are not heard. */
static const char *begin_sound(const char *word)
{
	static const char *const silent[] = { "kn", "gn", "pn", "ae", "wr" };

	for (size_t i = 0; i < sizeof(silent) / sizeof(silent[0]); i++)
		if (strncmp(word, silent[i], 2) == 0)
			return word + 1;
	return word;
}

void word_sound(const char *word, char sound[SOUND_BYTES])
{
	const char *first = begin_sound(word), *at = first;
	size_t length = 0;

	while (*at != '\0') {
		char before = at > first ? at[-1] : '\0';
		const struct sound_rule *r = find_rule(at, before);

		if (*at == before && *at != 'c') {
			at++;
		} else if (r != NULL) {
			memcpy(sound + length, r->sound, strlen(r->sound));
			length += strlen(r->sound);
			at += strlen(r->text);
		} else if (at == first || strchr(vowels, *at) == NULL) {
			sound[length++] = *at++;
		} else {
			at++;
		}
	}
	if (length == 0) /* of a silent letter: not empty, as it is a key */
		sound[length++] = '-';
	sound[length] = '\0';
}
