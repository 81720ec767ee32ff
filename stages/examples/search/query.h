/* SPDX-License-Identifier: MIT */
/*
 * Queries: the steps by which one is answered.  They know neither stages nor
 * threads; a server calls them one after the other.
 *
 *	decode -> titles      if it is one: contents
 *	tokens -> stopwords -> spelling -> stems
 *	                      if a word is unknown: sounds -> titles, or stems
 *	one word:             single -> contents
 *	several:              cache   if it is there: the end
 *	                      lists -> combine -> contents
 *	contents -> format -> deflate -> the end; of several words: by the cache
 *
 * The steps and their order are those of Gordon, UCAM-CL-TR-781, section 4.3.3.
 *
 * Threads    A query is in one step at a time, in any thread.  Queries share
 *            the cache: only one of them may be in STEP_CACHE.
 */
#ifndef SEARCH_QUERY_H
#define SEARCH_QUERY_H

#include "index.h"

enum step {
	STEP_DECODE,    /* checks the request, and undoes its encoding */
	STEP_TITLES,    /* is it a title? */
	STEP_TOKENS,    /* its words */
	STEP_STOPWORDS, /* without the common ones */
	STEP_SPELLING,  /* are all words in the collection? */
	STEP_SOUNDS,    /* those that are not: one that sounds the same */
	STEP_STEMS,
	STEP_SINGLE,  /* the documents with the only word */
	STEP_CACHE,   /* was it answered before? */
	STEP_LISTS,   /* the documents of each word: query_read_list() */
	STEP_COMBINE, /* those that have all words */
	STEP_CONTENTS,
	STEP_FORMAT, /* a page of HTML */
	STEP_DEFLATE,
	STEPS,
	STEP_END = STEPS, /* it has its answer */
};

extern const char *const step_names[STEPS];

enum {
	TERMS_MAX = 8,    /* words of a query, without stopwords */
	TOKENS_MAX = 24,  /* all of its words */
	TEXT_BYTES = 256, /* of a query, decoded, with a NUL */
	FOUND_MAX = 10,   /* documents of an answer */
	PAGE_BYTES = 24576,
	REPLY_BYTES = PAGE_BYTES + 1024,
};

/* How a query was answered. */
enum answer_kind {
	ANSWER_ERROR, /* it is none */
	ANSWER_TITLE,
	ANSWER_SINGLE,
	ANSWER_MULTI,
	ANSWER_CACHED, /* the same words as before */
	ANSWER_KINDS,
};

extern const char *const answer_names[ANSWER_KINDS];

struct cache;
struct query;

/* For about so many bytes of replies; 0: always empty.  NULL: no memory. */
struct cache *cache_new(size_t bytes);
void cache_free(struct cache *c);

/* The cache may be NULL.  NULL: no memory. */
struct query *query_new(const struct index *x, struct cache *cache);
void query_free(struct query *q);

/*
 * `target` is that of a request, /search/TEXT, where %20 and + are spaces.  It
 * must last until the answer.
 */
void query_begin(struct query *q, const char *target, size_t length);

/* Do one step.  Returns the next one; the first is STEP_DECODE. */
enum step query_step(struct query *q, enum step step);

/*
 * Instead of STEP_LISTS, in any order and in several threads at once, for each
 * `i` below query_term_count(); then comes STEP_COMBINE.
 */
uint32_t query_term_count(const struct query *q);
void query_read_list(struct query *q, uint32_t i);

/* After STEP_END, until the next query_begin(). */
struct answer {
	enum answer_kind kind;
	bool is_corrected;          /* a word was not in the collection */
	const char *error;          /* NULL: it has been answered */
	const unsigned char *reply; /* the page, by zlib */
	size_t reply_length;
};

struct answer query_answer(const struct query *q);

/* --- For a server that is checked. --- */

/* The page of these documents, as STEP_FORMAT makes it; returns its length. */
size_t page_format(const struct document *documents, uint32_t count,
		   char page[PAGE_BYTES]);
size_t page_format_error(const char *error, char page[PAGE_BYTES]);

/*
 * STEP_DECODE alone: the text of a query, as it is and in lower case.  NULL, or
 * why it is none.
 */
const char *target_decode(const char *target, size_t length,
			  char text[TEXT_BYTES], char lower[TEXT_BYTES]);

/* The page of a reply.  False: it is none. */
bool reply_inflate(const unsigned char *reply, size_t length,
		   char page[PAGE_BYTES], size_t *page_length);

#endif
