/* SPDX-License-Identifier: MIT */
/*
 * List: the images of a store, in the order of their ids, a page at a time.
 *
 * Threads    Any number.
 * Limits     A page has at most LIST_PAGE_MAX images.  A call looks at no more
 *            entries than that, so a page may have fewer, or none, although
 *            there are more: `next` is where to go on.
 */
#ifndef SERVICE_STORE_LIST_H
#define SERVICE_STORE_LIST_H

#include "service/store/entries.h"

enum { LIST_PAGE_MAX = 1000 };

/* Which images to list. */
struct list_query {
	char after[STORE_ID_BYTES];  /* only ids behind this; "": all */
	char prefix[STORE_ID_BYTES]; /* of the ids; "": any */
	/* Only those that were stored in this time, in seconds since 1970. */
	uint64_t since_s, until_s;
	uint32_t limit; /* of the page */
};

struct list_page {
	struct listed {
		char id[STORE_ID_BYTES];
		uint64_t stored_s; /* when meta.json was written */
	} images[LIST_PAGE_MAX];
	uint32_t count;
	/* `after` of the next page, an id or a key; "": no more */
	char next[STORE_ID_BYTES];
};

/* Take an image into the page, unless its time is another. */
void list_add(struct list_page *p, const struct list_query *q, const char *id,
	      uint64_t stored_s);

/* List the images in the folders 00 to ff of `root`. */
MUST_CHECK enum store_answer list_folders(int root, const struct list_query *q,
					  struct list_page *out);

#endif
