/* SPDX-License-Identifier: MIT */
/*
 * Block list: PDQ hashes of pictures that are refused, and of those that look
 * like them: whose hashes differ in few bits.
 *
 * A line of the file is a hash, 64 hexadecimal digits; behind it may be a comma
 * and the most bits that may differ; then a space and a comment.  Empty lines
 * and lines that begin with # are skipped.
 *
 * A picture is compared as it is displayed and as it is in the file, since
 * lists are made by programs that do the one or the other.  One of which there
 * is too little to see is never refused: PDQ's authors say that hashes of a
 * quality below 50 are not to be compared.
 *
 * Threads    As struct auth: any thread may look at any time, even while
 *            another thread replaces the list.
 * Limits     BLOCK_ENTRIES_MAX hashes.
 */
#ifndef SERVICE_BLOCK_LIST_H
#define SERVICE_BLOCK_LIST_H

#include "imgops/imgops.h"

enum {
	BLOCK_ENTRIES_MAX = 100000,
	BLOCK_DISTANCE_MAX = 64, /* half of what unlike pictures have */
	BLOCK_QUALITY_MIN = 50,
	BLOCK_WHY_BYTES = 128,
};

struct block_list;

/* The entry of the list that a picture is nearest to. */
struct block_match {
	uint8_t hash[IMG_PDQ_BYTES];
	uint32_t distance; /* bits that differ */
};

/*
 * An empty list.  `distance` is the most bits that may differ where a line does
 * not say it.  NULL: no memory.
 */
struct block_list *block_list_new(uint32_t distance);
void block_list_free(struct block_list *b);

/* False: `why` says what is wrong with the file, and the list is as it was. */
MUST_CHECK bool block_list_read(struct block_list *b, const char *path,
				char why[BLOCK_WHY_BYTES]);

/* To pass the list from one process of this program to another: see auth.h. */
size_t block_list_packed_bytes(void);
void block_list_pack(const struct block_list *b, void *to);
void block_list_unpack(struct block_list *b, const void *from);

uint32_t block_list_count(struct block_list *b);

/* True: the picture is refused, for the entry in *match. */
bool block_list_has(struct block_list *b, const struct img_pdq *pdq,
		    struct block_match *match);

#endif
