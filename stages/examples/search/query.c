/* SPDX-License-Identifier: MIT */
#include "query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

const char *const step_names[STEPS] = {
	"decode",  "titles",   "tokens", "stopwords", "spelling",
	"sounds",  "stems",    "single", "cache",     "lists",
	"combine", "contents", "format", "deflate",
};

const char *const answer_names[ANSWER_KINDS] = {
	"errors", "titles", "single", "multi", "cached",
};

static const char prefix[] = "/search/";
static const char unreadable[] = "the index cannot be read";

enum {
	SUMMARY_BYTES = 160, /* of a document's text, in a page */
	KEY_BYTES = TERMS_MAX * WORD_BYTES,
	/* Small, as each query has a compressor of its own: 32 KB. */
	WINDOW_BITS = 12,
	MEMORY_LEVEL = 5,
};

struct query {
	const struct index *index;
	struct cache *cache;
	const char *target;
	size_t target_length;
	char text[TEXT_BYTES], lower[TEXT_BYTES];
	char words[TOKENS_MAX][WORD_BYTES];
	uint32_t word_count;
	char key[KEY_BYTES]; /* in the cache: the stems */
	/* What is read for each word; the first reader reads all else, too. */
	struct term {
		struct reader reader;
		struct list list;
		bool is_unreadable;
	} terms[TERMS_MAX];
	struct list all; /* the lists, one after the other */
	uint32_t found[FOUND_MAX];
	struct document documents[FOUND_MAX];
	uint32_t found_count;
	enum answer_kind kind;
	bool is_corrected;
	const char *error;
	size_t page_length, reply_length;
	z_stream deflater;
	char page[PAGE_BYTES];
	unsigned char reply[REPLY_BYTES];
};

/* --- A query, from its beginning to its end. --- */

void query_free(struct query *q)
{
	if (q == NULL)
		return;
	for (uint32_t i = 0; i < TERMS_MAX; i++) {
		reader_destroy(&q->terms[i].reader);
		free(q->terms[i].list.ids);
	}
	free(q->all.ids);
	(void)deflateEnd(&q->deflater);
	free(q);
}

struct query *query_new(const struct index *x, struct cache *cache)
{
	struct query *q = calloc(1, sizeof(*q));
	bool ok =
		q != NULL && deflateInit2(&q->deflater, Z_DEFAULT_COMPRESSION,
					  Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL,
					  Z_DEFAULT_STRATEGY) == Z_OK;

	if (ok) {
		q->index = x;
		q->cache = cache;
	}
	for (uint32_t i = 0; i < TERMS_MAX && ok; i++)
		ok = reader_init(&q->terms[i].reader, x);
	if (ok)
		return q;
	query_free(q);
	return NULL;
}

void query_begin(struct query *q, const char *target, size_t length)
{
	q->target = target;
	q->target_length = length;
	q->word_count = 0;
	q->found_count = 0;
	q->key[0] = '\0';
	q->kind = ANSWER_ERROR;
	q->is_corrected = false;
	q->error = NULL;
	q->page_length = 0;
	q->reply_length = 0;
	for (uint32_t i = 0; i < TERMS_MAX; i++)
		q->terms[i].is_unreadable = false;
}

struct answer query_answer(const struct query *q)
{
	return (struct answer){ .kind = q->kind,
				.is_corrected = q->is_corrected,
				.error = q->error,
				.reply = q->reply,
				.reply_length = q->reply_length };
}

static enum step fail(struct query *q, const char *error)
{
	q->kind = ANSWER_ERROR;
	q->error = error;
	return STEP_FORMAT;
}

static struct reader *reader_of(struct query *q)
{
	return &q->terms[0].reader;
}

/* --- decode --- */

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 'a' - 'A';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* How many bytes the character has whose first is `c`; 0: it is none. */
static size_t utf8_length(unsigned char c)
{
	if (c < 0x80)
		return c >= ' ' && c != 0x7f ? 1 : 0;
	if (c >= 0xc2 && c <= 0xdf)
		return 2;
	if (c >= 0xe0 && c <= 0xef)
		return 3;
	return c >= 0xf0 && c <= 0xf4 ? 4 : 0;
}

/* UTF-8 without control characters; surrogates are not looked for. */
static bool is_text(const char *text, size_t length)
{
	for (size_t i = 0; i < length;) {
		size_t bytes = utf8_length((unsigned char)text[i]);

		if (bytes == 0 || bytes > length - i)
			return false;
		for (size_t k = 1; k < bytes; k++)
			if (((unsigned char)text[i + k] & 0xc0) != 0x80)
				return false;
		i += bytes;
	}
	return true;
}

const char *target_decode(const char *target, size_t length,
			  char text[TEXT_BYTES], char lower[TEXT_BYTES])
{
	size_t at = strlen(prefix), count = 0;

	if (length < at || memcmp(target, prefix, at) != 0)
		return "not found";
	for (; at < length; count++) {
		int c = (unsigned char)target[at++];

		if (count == TEXT_BYTES - 1)
			return "the query is too long";
		if (c == '%') {
			int high = at < length ? hex(target[at]) : -1;
			int low = at + 1 < length ? hex(target[at + 1]) : -1;

			if (high < 0 || low < 0)
				return "a % is not followed by two digits";
			c = high << 4 | low;
			at += 2;
		} else if (c == '+') {
			c = ' ';
		}
		text[count] = (char)c;
		lower[count] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
	}
	text[count] = lower[count] = '\0';
	if (count == 0)
		return "the query is empty";
	return is_text(text, count) ? NULL : "the query is not text";
}

static enum step decode(struct query *q)
{
	const char *error =
		target_decode(q->target, q->target_length, q->text, q->lower);

	return error == NULL ? STEP_TITLES : fail(q, error);
}

/* --- titles, and words --- */

/* The first documents of a key are the answer. */
static enum step find(struct query *q, enum index_tree tree, const char *key,
		      enum answer_kind kind)
{
	struct list *list = &q->terms[0].list;

	if (!reader_list(reader_of(q), tree, key, FOUND_MAX, list))
		return fail(q, unreadable);
	q->kind = kind;
	q->found_count = (uint32_t)list->count;
	for (uint32_t i = 0; i < q->found_count; i++)
		q->found[i] = list->ids[i];
	return STEP_CONTENTS;
}

static enum step titles(struct query *q)
{
	enum step next = find(q, TITLES, q->text, ANSWER_TITLE);

	if (q->error == NULL && q->found_count == 0)
		next = find(q, TITLES, q->lower, ANSWER_TITLE);
	if (q->error != NULL || q->found_count > 0)
		return next;
	/* With corrected words, they are known already. */
	return q->is_corrected ? STEP_STEMS : STEP_TOKENS;
}

static enum step tokens(struct query *q)
{
	const char *at = q->lower, *end = at + strlen(at);
	char word[WORD_BYTES];

	while (word_next(&at, end, word)) {
		if (q->word_count == TOKENS_MAX)
			return fail(q, "the query has too many words");
		memcpy(q->words[q->word_count++], word, sizeof(word));
	}
	return STEP_STOPWORDS;
}

static enum step stopwords(struct query *q)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < q->word_count; i++) {
		if (word_is_common(q->words[i]))
			continue;
		if (left != i)
			memcpy(q->words[left], q->words[i], WORD_BYTES);
		left++;
	}
	q->word_count = left;
	if (left == 0)
		return fail(q, "the query has no word to look for");
	if (left > TERMS_MAX)
		return fail(q, "the query has too many words");
	return STEP_SPELLING;
}

static enum step spelling(struct query *q)
{
	for (uint32_t i = 0; i < q->word_count; i++)
		if (!reader_has_word(reader_of(q), q->words[i]))
			return STEP_SOUNDS;
	return STEP_STEMS;
}

static enum step sounds(struct query *q)
{
	char *to = q->lower;

	for (uint32_t i = 0; i < q->word_count; i++) {
		size_t length;

		if (!reader_has_word(reader_of(q), q->words[i]))
			(void)reader_correct(reader_of(q), q->words[i]);
		/* TERMS_MAX words, and a space after each, fit. */
		length = strlen(q->words[i]);
		memcpy(to, q->words[i], length);
		to[length] = ' ';
		to += length + 1;
	}
	to[-1] = '\0';
	memcpy(q->text, q->lower, sizeof(q->text));
	q->is_corrected = true;
	return STEP_TITLES;
}

static int compare_words(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Sorted, each once, so that equal queries have equal keys. */
static enum step stems(struct query *q)
{
	uint32_t count = 1;
	char *to = q->key;

	for (uint32_t i = 0; i < q->word_count; i++)
		word_stem(q->words[i]);
	qsort(q->words, q->word_count, WORD_BYTES, compare_words);
	for (uint32_t i = 1; i < q->word_count; i++)
		if (strcmp(q->words[i], q->words[count - 1]) != 0)
			memmove(q->words[count++], q->words[i], WORD_BYTES);
	q->word_count = count;
	for (uint32_t i = 0; i < count; i++) {
		size_t length = strlen(q->words[i]);

		memcpy(to, q->words[i], length);
		to[length] = ' ';
		to += length + 1;
	}
	to[-1] = '\0';
	return count == 1 ? STEP_SINGLE : STEP_CACHE;
}

/* --- The cache: a table of replies by the stems of their queries. --- */

enum { REPLY_USUAL = 1024 };

struct cache {
	size_t slots, bytes, bytes_max;
	size_t hand; /* the slot that is emptied next */
	struct cached {
		char *key; /* NULL: the slot is empty */
		unsigned char *reply;
		size_t length;
	} * table;
};

struct cache *cache_new(size_t bytes)
{
	struct cache *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->bytes_max = bytes;
	c->slots = bytes / REPLY_USUAL + 1;
	c->table = calloc(c->slots, sizeof(c->table[0]));
	if (c->table != NULL)
		return c;
	free(c);
	return NULL;
}

static void cache_empty(struct cache *c, size_t slot)
{
	struct cached *old = &c->table[slot];

	if (old->key == NULL)
		return;
	c->bytes -= old->length + strlen(old->key);
	free(old->key);
	free(old->reply);
	*old = (struct cached){ .key = NULL };
}

void cache_free(struct cache *c)
{
	if (c == NULL)
		return;
	for (size_t i = 0; i < c->slots; i++)
		cache_empty(c, i);
	free(c->table);
	free(c);
}

/* FNV-1a. */
static size_t cache_slot(const struct cache *c, const char *key)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *key != '\0'; key++)
		hash = (hash ^ (unsigned char)*key) * UINT64_C(0x100000001b3);
	return (hash ^ hash >> 32) % c->slots;
}

/* Without memory, or without room, the reply is not kept. */
static void cache_store(struct cache *c, const struct query *q)
{
	size_t slot = cache_slot(c, q->key);
	size_t bytes = q->reply_length + strlen(q->key);
	struct cached new = { .key = strdup(q->key),
			      .reply = malloc(q->reply_length),
			      .length = q->reply_length };

	if (new.key == NULL || new.reply == NULL || bytes > c->bytes_max) {
		free(new.key);
		free(new.reply);
		return;
	}
	memcpy(new.reply, q->reply, q->reply_length);
	cache_empty(c, slot);
	while (c->bytes + bytes > c->bytes_max) {
		cache_empty(c, c->hand);
		c->hand = (c->hand + 1) % c->slots;
	}
	c->table[slot] = new;
	c->bytes += bytes;
}

/* A query comes here for its reply and, if there is none, once more with it. */
static enum step cache(struct query *q)
{
	const struct cached *c;

	if (q->cache == NULL)
		return q->reply_length > 0 ? STEP_END : STEP_LISTS;
	if (q->reply_length > 0) {
		cache_store(q->cache, q);
		return STEP_END;
	}
	c = &q->cache->table[cache_slot(q->cache, q->key)];
	if (c->key == NULL || strcmp(c->key, q->key) != 0)
		return STEP_LISTS;
	memcpy(q->reply, c->reply, c->length);
	q->reply_length = c->length;
	q->kind = ANSWER_CACHED;
	return STEP_END;
}

/* --- Several words --- */

uint32_t query_term_count(const struct query *q)
{
	return q->word_count;
}

void query_read_list(struct query *q, uint32_t i)
{
	struct term *t = &q->terms[i];

	t->is_unreadable = !reader_list(&t->reader, TERMS, q->words[i],
					SIZE_MAX, &t->list);
}

static enum step lists(struct query *q)
{
	for (uint32_t i = 0; i < q->word_count; i++)
		query_read_list(q, i);
	return STEP_COMBINE;
}

static int compare_ids(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* All lists, one after the other.  False: a list is missing, or no memory. */
static bool gather(struct query *q)
{
	size_t count = 0;

	for (uint32_t i = 0; i < q->word_count; i++) {
		if (q->terms[i].is_unreadable)
			return false;
		count += q->terms[i].list.count;
	}
	if (count > q->all.capacity) {
		free(q->all.ids);
		q->all.ids = malloc(2 * count * sizeof(q->all.ids[0]));
		q->all.capacity = q->all.ids == NULL ? 0 : 2 * count;
	}
	if (count > q->all.capacity)
		return false;
	q->all.count = 0;
	for (uint32_t i = 0; i < q->word_count; i++) {
		const struct list *l = &q->terms[i].list;

		if (l->count > 0)
			memcpy(q->all.ids + q->all.count, l->ids,
			       l->count * sizeof(l->ids[0]));
		q->all.count += l->count;
	}
	return true;
}

/* By sorting and counting duplicates, as in the thesis; others are faster. */
static enum step combine(struct query *q)
{
	size_t same = 0;

	if (!gather(q))
		return fail(q, unreadable);
	q->kind = ANSWER_MULTI;
	q->found_count = 0;
	if (q->all.count > 0)
		qsort(q->all.ids, q->all.count, sizeof(q->all.ids[0]),
		      compare_ids);
	for (size_t i = 0; i < q->all.count && q->found_count < FOUND_MAX;
	     i++) {
		same = i > 0 && q->all.ids[i] == q->all.ids[i - 1] ? same + 1 :
								     1;
		if (same == q->word_count)
			q->found[q->found_count++] = q->all.ids[i];
	}
	return STEP_CONTENTS;
}

/* --- The page --- */

static enum step contents(struct query *q)
{
	for (uint32_t i = 0; i < q->found_count; i++)
		if (!reader_document(reader_of(q), q->found[i],
				     &q->documents[i]))
			return fail(q, unreadable);
	return STEP_FORMAT;
}

/* A page that is being written; there is room for FOUND_MAX documents. */
struct page {
	char *at;
};

static void add(struct page *p, const char *html)
{
	size_t length = strlen(html);

	memcpy(p->at, html, length);
	p->at += length;
}

/* Text, without what has a meaning in HTML. */
static void add_text(struct page *p, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (text[i] == '<')
			add(p, "&lt;");
		else if (text[i] == '&')
			add(p, "&amp;");
		else
			*p->at++ = (unsigned char)text[i] < ' ' ? ' ' : text[i];
	}
}

size_t page_format(const struct document *documents, uint32_t count,
		   char page[PAGE_BYTES])
{
	struct page p = { page };

	add(&p, "<!DOCTYPE html>\n<meta charset=utf-8>\n"
		"<title>Search</title>\n");
	if (count == 0)
		add(&p, "<p>Nothing was found.\n");
	else
		add(&p, "<table>\n");
	for (uint32_t i = 0; i < count; i++) {
		const struct document *d = &documents[i];
		size_t length = d->text_length;

		add(&p, "<tr><th>");
		add_text(&p, d->title, d->title_length);
		add(&p, "<td>");
		add_text(&p, d->text,
			 length < SUMMARY_BYTES ? length : SUMMARY_BYTES);
		add(&p, "\n");
	}
	if (count > 0)
		add(&p, "</table>\n");
	return (size_t)(p.at - page);
}

size_t page_format_error(const char *error, char page[PAGE_BYTES])
{
	struct page p = { page };

	add(&p, "<!DOCTYPE html>\n<title>Error</title>\n<p>");
	add_text(&p, error, strlen(error));
	add(&p, ".\n");
	return (size_t)(p.at - page);
}

static enum step format(struct query *q)
{
	if (q->error != NULL)
		q->page_length = page_format_error(q->error, q->page);
	else
		q->page_length =
			page_format(q->documents, q->found_count, q->page);
	return STEP_DEFLATE;
}

static enum step deflate_page(struct query *q)
{
	z_stream *z = &q->deflater;

	(void)deflateReset(z);
	z->next_in = (unsigned char *)q->page;
	z->avail_in = (unsigned int)q->page_length;
	z->next_out = q->reply;
	z->avail_out = sizeof(q->reply);
	(void)deflate(z, Z_FINISH); /* there is room */
	q->reply_length = sizeof(q->reply) - z->avail_out;
	return q->kind == ANSWER_MULTI ? STEP_CACHE : STEP_END;
}

bool reply_inflate(const unsigned char *reply, size_t length,
		   char page[PAGE_BYTES], size_t *page_length)
{
	uLongf bytes = PAGE_BYTES;
	bool ok = uncompress((unsigned char *)page, &bytes, reply, length) ==
		  Z_OK;

	*page_length = bytes;
	return ok;
}

enum step query_step(struct query *q, enum step step)
{
	static enum step (*const steps[STEPS])(struct query *) = {
		[STEP_DECODE] = decode,     [STEP_TITLES] = titles,
		[STEP_TOKENS] = tokens,     [STEP_STOPWORDS] = stopwords,
		[STEP_SPELLING] = spelling, [STEP_SOUNDS] = sounds,
		[STEP_STEMS] = stems,       [STEP_SINGLE] = NULL,
		[STEP_CACHE] = cache,       [STEP_LISTS] = lists,
		[STEP_COMBINE] = combine,   [STEP_CONTENTS] = contents,
		[STEP_FORMAT] = format,     [STEP_DEFLATE] = deflate_page,
	};

	if (step == STEP_SINGLE)
		return find(q, TERMS, q->words[0], ANSWER_SINGLE);
	return steps[step](q);
}
