/* SPDX-License-Identifier: MIT */
/*
 * The index of a collection of documents: a file of B-trees (LMDB).
 *
 *	titles     title, as it is and in lower case -> documents
 *	terms      stem of a word                    -> documents with it
 *	words      word                              -> nothing
 *	sounds     how a word sounds                 -> words
 *	documents  number                            -> title and text
 *
 * Terms have duplicate keys, one for each document, as in Gordon's server.
 * Numbers of documents begin with 1, in the order in which they were added.
 *
 * Trust      The file is believed: it must be one that search_index has made.
 * Threads    One thread makes an index; the file is not changed any more then.
 *            Any number read it, each at a time with a reader of its own.
 */
#ifndef SEARCH_INDEX_H
#define SEARCH_INDEX_H

#include "words.h"

#include <lmdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TITLE_BYTES = 128, WHY_BYTES = 256 };

#define MUST_CHECK __attribute__((warn_unused_result))

enum index_tree { TITLES, TERMS, WORDS, SOUNDS, DOCUMENTS, INDEX_TREES };

/* --- Making one. --- */

struct index_writer;

/* NULL: `why` says why.  The file must not exist. */
struct index_writer *index_create(const char *path, char why[WHY_BYTES]);

/* The words of the title and the text are indexed; a long title is cut. */
MUST_CHECK bool index_add(struct index_writer *w, const char *title,
			  const char *text, size_t length, char why[WHY_BYTES]);

/* The index is complete; without this nobody can open it. */
MUST_CHECK bool index_finish(struct index_writer *w, char why[WHY_BYTES]);

/* NULL is fine.  The file stays. */
void index_writer_free(struct index_writer *w);

/* --- Reading. --- */

struct index {
	MDB_env *env;
	MDB_dbi trees[INDEX_TREES];
	uint32_t document_count;
};

/* NULL: `why` says why. */
struct index *index_open(const char *path, char why[WHY_BYTES]);
void index_close(struct index *x); /* NULL is fine */

/* Zeroed before reader_init(). */
struct reader {
	const struct index *index;
	MDB_txn *txn;
	MDB_cursor *cursors[INDEX_TREES];
};

/* A part of the file: valid until the index is closed. */
struct document {
	const char *title, *text;
	size_t title_length, text_length;
};

/* Numbers of documents, in ascending order. */
struct list {
	uint32_t *ids;
	size_t count, capacity;
};

/* False: no memory. */
MUST_CHECK bool reader_init(struct reader *r, const struct index *x);
void reader_destroy(struct reader *r);

/*
 * The documents with this key, at most `most`; none if there is no such key.
 * False: the file cannot be read, or no memory.
 */
MUST_CHECK bool reader_list(struct reader *r, enum index_tree tree,
			    const char *key, size_t most, struct list *out);
bool reader_has_word(struct reader *r, const char *word);

/*
 * Replace `word` by the word of the index that sounds the same and has the most
 * similar spelling, first by alphabet.  False: there is none.
 */
bool reader_correct(struct reader *r, char word[WORD_BYTES]);

/* False: there is no such document. */
bool reader_document(struct reader *r, uint32_t id, struct document *out);

#endif
