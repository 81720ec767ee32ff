/* SPDX-License-Identifier: MIT */
#include "service/pipeline/block_list.h"

#include "base/file.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nettle/base16.h>

enum {
	WORDS = IMG_PDQ_BYTES / 8,
	HASH_CHARS = 2 * IMG_PDQ_BYTES,
	FILE_BYTES_MAX = 32 << 20,
};

struct entry {
	uint64_t words[WORDS];
	uint32_t distance; /* the most */
};

struct entries {
	uint32_t count;
	struct entry list[BLOCK_ENTRIES_MAX];
};

struct block_list {
	pthread_rwlock_t lock; /* protects `entries` */
	uint32_t distance;
	struct entries entries;
};

struct block_list *block_list_new(uint32_t distance)
{
	struct block_list *b = calloc(1, sizeof(*b));

	if (b == NULL)
		return NULL;
	(void)pthread_rwlock_init(&b->lock, NULL);
	b->distance = distance;
	return b;
}

void block_list_free(struct block_list *b)
{
	if (b == NULL)
		return;
	(void)pthread_rwlock_destroy(&b->lock);
	free(b);
}

/* --- The file --- */

/* The end of a line's distance, or NULL: there is none. */
static const char *read_distance(struct entry *e, const char *at)
{
	char *end;
	unsigned long distance;

	if (*at < '0' || *at > '9')
		return NULL;
	distance = strtoul(at, &end, 10);
	if (distance > BLOCK_DISTANCE_MAX)
		return NULL;
	e->distance = (uint32_t)distance;
	return end;
}

/* Nettle passes over it. */
static bool has_space(const char hash[HASH_CHARS])
{
	for (int i = 0; i < HASH_CHARS; i++)
		if (hash[i] <= ' ')
			return true;
	return false;
}

/* What is wrong with the line, of `chars`; NULL: nothing. */
static const char *read_line(struct entry *e, const char *line, size_t chars)
{
	struct base16_decode_ctx hex;
	size_t bytes = sizeof(e->words);
	const char *end = line + HASH_CHARS;

	base16_decode_init(&hex);
	if (chars < HASH_CHARS || has_space(line) ||
	    !base16_decode_update(&hex, &bytes, (uint8_t *)e->words, HASH_CHARS,
				  line) ||
	    bytes != sizeof(e->words))
		return "does not begin with 64 hexadecimal digits";
	if (*end == ',') {
		end = read_distance(e, end + 1);
		if (end == NULL)
			return "has a distance that is not from 0 to 64";
	}
	if (end < line + chars && *end != ' ' && *end != '\t')
		return "has more than a hash, a distance and, after a space, a "
		       "comment";
	return NULL;
}

static bool read_lines(struct entries *to, uint32_t distance, const char *text,
		       char why[BLOCK_WHY_BYTES])
{
	uint32_t number = 1;

	for (const char *line = text; *line != '\0'; number++) {
		size_t chars = strcspn(line, "\r\n");
		const char *wrong = NULL;

		if (chars > 0 && line[0] != '#') {
			struct entry *e = &to->list[to->count];

			if (to->count == BLOCK_ENTRIES_MAX) {
				(void)snprintf(why, BLOCK_WHY_BYTES,
					       "has more than %d hashes",
					       BLOCK_ENTRIES_MAX);
				return false;
			}
			e->distance = distance;
			wrong = read_line(e, line, chars);
			to->count++;
		}
		if (wrong != NULL) {
			(void)snprintf(why, BLOCK_WHY_BYTES, "line %u %s",
				       number, wrong);
			return false;
		}
		line += chars;
		line += *line == '\r';
		line += *line == '\n';
	}
	return true;
}

bool block_list_read(struct block_list *b, const char *path,
		     char why[BLOCK_WHY_BYTES])
{
	struct entries *read = calloc(1, sizeof(*read));
	const char *unreadable = "no memory";
	char *text = NULL;
	bool ok;

	if (read != NULL)
		text = file_read_text(path, FILE_BYTES_MAX, &unreadable);
	if (text == NULL)
		(void)snprintf(why, BLOCK_WHY_BYTES, "%s", unreadable);
	ok = text != NULL && read_lines(read, b->distance, text, why);
	if (ok)
		block_list_unpack(b, read);
	free(text);
	free(read);
	return ok;
}

size_t block_list_packed_bytes(void)
{
	return sizeof(struct entries);
}

static size_t used_bytes(const struct entries *e)
{
	return offsetof(struct entries, list) +
	       (size_t)e->count * sizeof(e->list[0]);
}

void block_list_pack(const struct block_list *b, void *to)
{
	memcpy(to, &b->entries, used_bytes(&b->entries));
}

void block_list_unpack(struct block_list *b, const void *from)
{
	const struct entries *e = from;

	(void)pthread_rwlock_wrlock(&b->lock);
	if (e->count <= BLOCK_ENTRIES_MAX)
		memcpy(&b->entries, e, used_bytes(e));
	(void)pthread_rwlock_unlock(&b->lock);
}

uint32_t block_list_count(struct block_list *b)
{
	uint32_t count;

	(void)pthread_rwlock_rdlock(&b->lock);
	count = b->entries.count;
	(void)pthread_rwlock_unlock(&b->lock);
	return count;
}

/* --- Looking --- */

/* More than `most` is not counted to the end. */
static uint32_t distance_of(const struct entry *e, const uint64_t hash[WORDS],
			    uint32_t most)
{
	uint32_t bits = 0;

	for (uint32_t i = 0; i < WORDS && bits <= most; i++)
		bits += (uint32_t)__builtin_popcountll(e->words[i] ^ hash[i]);
	return bits;
}

/* The caller holds the lock. */
static bool look(const struct entries *entries, const uint8_t *hash,
		 struct block_match *match)
{
	uint64_t words[WORDS];
	bool is_found = false;

	memcpy(words, hash, sizeof(words));
	for (uint32_t i = 0; i < entries->count; i++) {
		const struct entry *e = &entries->list[i];
		uint32_t distance = distance_of(e, words, e->distance);

		if (distance > e->distance ||
		    (is_found && distance >= match->distance))
			continue;
		is_found = true;
		memcpy(match->hash, e->words, sizeof(match->hash));
		match->distance = distance;
	}
	return is_found;
}

bool block_list_has(struct block_list *b, const struct img_pdq *pdq,
		    struct block_match *match)
{
	bool is_found;

	if (pdq->quality < BLOCK_QUALITY_MIN)
		return false;
	(void)pthread_rwlock_rdlock(&b->lock);
	is_found = look(&b->entries, pdq->upright, match) ||
		   look(&b->entries, pdq->stored, match);
	(void)pthread_rwlock_unlock(&b->lock);
	return is_found;
}
