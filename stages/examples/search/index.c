/* SPDX-License-Identifier: MIT */
#include "index.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	DOCUMENTS_OF_TXN = 500, /* what a transaction changes is in memory */
	MODE = 0644,
	LIST_FIRST = 64,
};

/* Addresses, not space on the disk. */
#define MAP_BYTES ((size_t)16 << 30)

/* The last tree is made when the index is complete. */
static const char complete[] = "complete";

static const struct {
	const char *name;
	unsigned int flags;
} trees[INDEX_TREES] = {
	[TITLES] = { "titles", MDB_DUPSORT | MDB_DUPFIXED | MDB_INTEGERDUP },
	[TERMS] = { "terms", MDB_DUPSORT | MDB_DUPFIXED | MDB_INTEGERDUP },
	[WORDS] = { "words", 0 },
	[SOUNDS] = { "sounds", MDB_DUPSORT },
	[DOCUMENTS] = { "documents", MDB_INTEGERKEY },
};

static bool fail(char why[WHY_BYTES], const char *path, int error)
{
	snprintf(why, WHY_BYTES, "%s: %s", path, mdb_strerror(error));
	return false;
}

static MDB_val value_of(const void *data, size_t length)
{
	return (MDB_val){ .mv_data = (void *)data, .mv_size = length };
}

/* Opens the trees, or makes them. */
static int open_trees(MDB_txn *txn, MDB_dbi dbis[INDEX_TREES],
		      unsigned int flags)
{
	int error = 0;

	for (int i = 0; i < INDEX_TREES && error == 0; i++)
		error = mdb_dbi_open(txn, trees[i].name, trees[i].flags | flags,
				     &dbis[i]);
	return error;
}

static int open_env(MDB_env **env, const char *path, unsigned int flags,
		    size_t map_bytes)
{
	int error = mdb_env_create(env);

	if (error == 0)
		error = mdb_env_set_maxdbs(*env, INDEX_TREES + 1);
	if (error == 0 && map_bytes > 0)
		error = mdb_env_set_mapsize(*env, map_bytes);
	if (error == 0)
		error = mdb_env_open(*env, path, MDB_NOSUBDIR | flags, MODE);
	return error;
}

/* --- Making. --- */

struct index_writer {
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi trees[INDEX_TREES];
	uint32_t document_count;
	const char *path;
};

static bool create(struct index_writer *w, char why[WHY_BYTES])
{
	int file = open(w->path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, MODE);
	int error = file < 0 ? errno : 0;

	if (file >= 0)
		close(file);
	if (error == 0)
		error = open_env(&w->env, w->path, MDB_NOSYNC | MDB_NOLOCK,
				 MAP_BYTES);
	if (error == 0)
		error = mdb_txn_begin(w->env, NULL, 0, &w->txn);
	if (error == 0)
		error = open_trees(w->txn, w->trees, MDB_CREATE);
	return error == 0 ? true : fail(why, w->path, error);
}

struct index_writer *index_create(const char *path, char why[WHY_BYTES])
{
	struct index_writer *w = calloc(1, sizeof(*w));

	if (w == NULL) {
		(void)fail(why, path, ENOMEM);
		return NULL;
	}
	w->path = path;
	if (create(w, why))
		return w;
	index_writer_free(w);
	return NULL;
}

/* What is there already is no error. */
static int put(struct index_writer *w, enum index_tree tree, MDB_val key,
	       MDB_val value)
{
	unsigned int flags = trees[tree].flags & MDB_DUPSORT ? MDB_NODUPDATA :
							       MDB_NOOVERWRITE;
	int error = mdb_put(w->txn, w->trees[tree], &key, &value, flags);

	return error == MDB_KEYEXIST ? 0 : error;
}

static int add_word(struct index_writer *w, char word[WORD_BYTES])
{
	char sound[SOUND_BYTES];
	MDB_val value = value_of(word, strlen(word));
	int error;

	if (word_is_common(word))
		return 0;
	word_sound(word, sound);
	error = put(w, WORDS, value, value_of("", 0));
	if (error == 0)
		error = put(w, SOUNDS, value_of(sound, strlen(sound)), value);
	if (error != 0)
		return error;
	word_stem(word);
	return put(w, TERMS, value_of(word, strlen(word)),
		   value_of(&w->document_count, sizeof(w->document_count)));
}

static int add_words(struct index_writer *w, const char *text, size_t length)
{
	char word[WORD_BYTES];
	const char *at = text;
	int error = 0;

	while (error == 0 && word_next(&at, text + length, word))
		error = add_word(w, word);
	return error;
}

static int add_title(struct index_writer *w, const char *title, size_t length)
{
	MDB_val id = value_of(&w->document_count, sizeof(w->document_count));
	char lower[TITLE_BYTES];
	int error = put(w, TITLES, value_of(title, length), id);

	for (size_t i = 0; i < length; i++)
		lower[i] = title[i] >= 'A' && title[i] <= 'Z' ?
				   (char)(title[i] - 'A' + 'a') :
				   title[i];
	if (error == 0)
		error = put(w, TITLES, value_of(lower, length), id);
	return error;
}

/* The title, a NUL, and the text. */
static int add_document(struct index_writer *w, const char *title,
			size_t title_length, const char *text, size_t length)
{
	MDB_val key = value_of(&w->document_count, sizeof(w->document_count));
	MDB_val value = value_of(NULL, title_length + 1 + length);
	int error = mdb_put(w->txn, w->trees[DOCUMENTS], &key, &value,
			    MDB_RESERVE | MDB_APPEND);
	char *to = value.mv_data;

	if (error != 0)
		return error;
	memcpy(to, title, title_length);
	to[title_length] = '\0';
	memcpy(to + title_length + 1, text, length);
	return 0;
}

bool index_add(struct index_writer *w, const char *title, const char *text,
	       size_t length, char why[WHY_BYTES])
{
	size_t title_length = strnlen(title, TITLE_BYTES - 1);
	int error = 0;

	if (title_length == 0)
		return true;
	w->document_count++;
	if (w->document_count % DOCUMENTS_OF_TXN == 0) {
		error = mdb_txn_commit(w->txn);
		w->txn = NULL;
		if (error == 0)
			error = mdb_txn_begin(w->env, NULL, 0, &w->txn);
	}
	if (error == 0)
		error = add_document(w, title, title_length, text, length);
	if (error == 0)
		error = add_title(w, title, title_length);
	if (error == 0)
		error = add_words(w, title, title_length);
	if (error == 0)
		error = add_words(w, text, length);
	return error == 0 ? true : fail(why, w->path, error);
}

bool index_finish(struct index_writer *w, char why[WHY_BYTES])
{
	MDB_dbi dbi;
	int error = mdb_dbi_open(w->txn, complete, MDB_CREATE, &dbi);

	if (error == 0) {
		error = mdb_txn_commit(w->txn);
		w->txn = NULL;
	}
	if (error == 0)
		error = mdb_env_sync(w->env, 1);
	return error == 0 ? true : fail(why, w->path, error);
}

void index_writer_free(struct index_writer *w)
{
	if (w == NULL)
		return;
	if (w->txn != NULL)
		mdb_txn_abort(w->txn);
	if (w->env != NULL)
		mdb_env_close(w->env);
	free(w);
}

/* --- Reading. --- */

static int find_trees(struct index *x)
{
	MDB_txn *txn;
	MDB_stat stat;
	MDB_dbi dbi;
	int error = mdb_txn_begin(x->env, NULL, MDB_RDONLY, &txn);

	if (error != 0)
		return error;
	error = mdb_dbi_open(txn, complete, 0, &dbi);
	if (error == 0)
		error = open_trees(txn, x->trees, 0);
	if (error == 0)
		error = mdb_stat(txn, x->trees[DOCUMENTS], &stat);
	if (error != 0) {
		mdb_txn_abort(txn);
		return error;
	}
	x->document_count = (uint32_t)stat.ms_entries;
	return mdb_txn_commit(txn); /* so that the trees stay open */
}

struct index *index_open(const char *path, char why[WHY_BYTES])
{
	struct index *x = calloc(1, sizeof(*x));
	int error = x == NULL ? ENOMEM : 0;

	if (error == 0)
		error = open_env(&x->env, path,
				 MDB_RDONLY | MDB_NOLOCK | MDB_NOTLS, 0);
	if (error == 0)
		error = find_trees(x);
	if (error == 0)
		return x;
	(void)fail(why, path, error);
	if (error == MDB_NOTFOUND)
		snprintf(why, WHY_BYTES, "%s: it is not complete", path);
	index_close(x);
	return NULL;
}

void index_close(struct index *x)
{
	if (x == NULL)
		return;
	if (x->env != NULL)
		mdb_env_close(x->env);
	free(x);
}

bool reader_init(struct reader *r, const struct index *x)
{
	int error = mdb_txn_begin(x->env, NULL, MDB_RDONLY, &r->txn);

	r->index = x;
	for (int i = 0; i < INDEX_TREES && error == 0; i++)
		error = mdb_cursor_open(r->txn, x->trees[i], &r->cursors[i]);
	return error == 0;
}

void reader_destroy(struct reader *r)
{
	for (int i = 0; i < INDEX_TREES; i++)
		if (r->cursors[i] != NULL)
			mdb_cursor_close(r->cursors[i]);
	if (r->txn != NULL)
		mdb_txn_abort(r->txn);
}

/* False: no memory. */
static bool list_add(struct list *l, const void *ids, size_t count)
{
	if (l->count + count > l->capacity) {
		size_t capacity = 2 * (l->count + count) + LIST_FIRST;
		uint32_t *larger =
			realloc(l->ids, capacity * sizeof(larger[0]));

		if (larger == NULL)
			return false;
		l->ids = larger;
		l->capacity = capacity;
	}
	memcpy(l->ids + l->count, ids, count * sizeof(l->ids[0]));
	l->count += count;
	return true;
}

bool reader_list(struct reader *r, enum index_tree tree, const char *key,
		 size_t most, struct list *out)
{
	MDB_val k = value_of(key, strlen(key)), ids;
	MDB_cursor *cursor = r->cursors[tree];
	int error;

	out->count = 0;
	if (k.mv_size == 0 || k.mv_size >= TITLE_BYTES)
		return true;
	error = mdb_cursor_get(cursor, &k, &ids, MDB_SET);
	/* A page of them at once; one alone is what MDB_SET has given. */
	if (error == 0)
		error = mdb_cursor_get(cursor, &k, &ids, MDB_GET_MULTIPLE);
	while (error == 0 && out->count < most) {
		size_t count = ids.mv_size / sizeof(uint32_t);

		if (count > most - out->count)
			count = most - out->count;
		if (!list_add(out, ids.mv_data, count))
			return false;
		error = mdb_cursor_get(cursor, &k, &ids, MDB_NEXT_MULTIPLE);
	}
	return error == 0 || error == MDB_NOTFOUND;
}

bool reader_has_word(struct reader *r, const char *word)
{
	MDB_val key = value_of(word, strlen(word)), value;

	return mdb_cursor_get(r->cursors[WORDS], &key, &value, MDB_SET) == 0;
}

bool reader_correct(struct reader *r, char word[WORD_BYTES])
{
	char sound[SOUND_BYTES], best[WORD_BYTES] = "";
	unsigned int least = UINT32_MAX;
	MDB_val key, value;
	int error;

	word_sound(word, sound);
	key = value_of(sound, strlen(sound));
	error = mdb_cursor_get(r->cursors[SOUNDS], &key, &value, MDB_SET);
	while (error == 0) {
		char other[WORD_BYTES];
		unsigned int distance;

		memcpy(other, value.mv_data, value.mv_size);
		other[value.mv_size] = '\0';
		distance = word_distance(word, other);
		if (distance < least) {
			least = distance;
			memcpy(best, other, sizeof(best));
		}
		error = mdb_cursor_get(r->cursors[SOUNDS], &key, &value,
				       MDB_NEXT_DUP);
	}
	if (best[0] == '\0')
		return false;
	memcpy(word, best, sizeof(best));
	return true;
}

bool reader_document(struct reader *r, uint32_t id, struct document *out)
{
	MDB_val key = value_of(&id, sizeof(id)), value;

	if (mdb_cursor_get(r->cursors[DOCUMENTS], &key, &value, MDB_SET) != 0)
		return false;
	out->title = value.mv_data;
	out->title_length = strnlen(out->title, TITLE_BYTES - 1);
	out->text = out->title + out->title_length + 1;
	out->text_length = value.mv_size - out->title_length - 1;
	return true;
}
