/* SPDX-License-Identifier: MIT */
#include "service/store/list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
	SHARDS = 256,
	NAMES_MAX = 2 * LIST_PAGE_MAX, /* then only the first are kept */
};

/* The first ids of a folder, in order. */
struct names {
	char ids[NAMES_MAX][STORE_ID_BYTES];
	uint32_t count;
	bool has_more; /* than are kept */
};

static int compare_ids(const void *a, const void *b)
{
	return strcmp(a, b);
}

static bool is_wanted(const struct list_query *q, const char *id)
{
	return store_is_id(id) && strcmp(id, q->after) > 0 &&
	       strncmp(id, q->prefix, strlen(q->prefix)) == 0;
}

/* Sort them, and keep those of a page. */
static void keep_first(struct names *n)
{
	qsort(n->ids, n->count, sizeof(n->ids[0]), compare_ids);
	if (n->count <= LIST_PAGE_MAX)
		return;
	n->count = LIST_PAGE_MAX;
	n->has_more = true;
}

/* False: the folder cannot be read, see errno. */
static bool read_names(int root, const char *shard, const struct list_query *q,
		       struct names *n)
{
	DIR *list = folder_list(root, shard);
	const char *name;

	n->count = 0;
	n->has_more = false;
	if (list == NULL)
		return false;
	while ((name = folder_next(list)) != NULL) {
		if (!is_wanted(q, name))
			continue;
		(void)memcpy(n->ids[n->count++], name, STORE_ID_BYTES);
		if (n->count == NAMES_MAX)
			keep_first(n);
	}
	(void)closedir(list);
	keep_first(n);
	return true;
}

void list_add(struct list_page *p, const struct list_query *q, const char *id,
	      uint64_t stored_s)
{
	struct listed *l = &p->images[p->count];

	if (stored_s < q->since_s || stored_s > q->until_s)
		return;
	(void)memcpy(l->id, id, STORE_ID_BYTES);
	l->stored_s = stored_s;
	p->count++;
}

/* False: the image was removed, or has no text. */
static bool read_time(int root, const char *id, uint64_t *stored_s)
{
	char path[STORE_ID_BYTES + 16];
	struct stat meta;

	(void)snprintf(path, sizeof(path), "%.2s/%s/meta.json", id, id);
	if (fstatat(root, path, &meta, AT_SYMLINK_NOFOLLOW) != 0)
		return false;
	*stored_s = (uint64_t)meta.st_mtim.tv_sec;
	return true;
}

/* Take the images of a folder.  True: the page is full. */
static bool add_names(int root, const struct names *n,
		      const struct list_query *q, uint32_t *looked,
		      struct list_page *out)
{
	for (uint32_t i = 0; i < n->count; i++) {
		uint64_t stored_s;

		if (out->count == q->limit || *looked == LIST_PAGE_MAX)
			return true;
		if (read_time(root, n->ids[i], &stored_s))
			list_add(out, q, n->ids[i], stored_s);
		(void)memcpy(out->next, n->ids[i], STORE_ID_BYTES);
		(*looked)++;
	}
	return n->has_more;
}

/* Can ids that are wanted begin with these two digits? */
static bool is_shard_wanted(const struct list_query *q, const char *shard)
{
	size_t digits = strlen(q->prefix) < 2 ? strlen(q->prefix) : 2;

	return strncmp(shard, q->after, 2) >= 0 &&
	       strncmp(shard, q->prefix, digits) == 0;
}

enum store_answer list_folders(int root, const struct list_query *q,
			       struct list_page *out)
{
	struct names *n = malloc(sizeof(*n));
	uint32_t looked = 0;
	bool is_full = false;

	out->count = 0;
	(void)memcpy(out->next, q->after, sizeof(out->next));
	if (n == NULL)
		return STORE_FAILED;
	for (uint32_t i = 0; i < SHARDS && !is_full; i++) {
		char shard[4];

		(void)snprintf(shard, sizeof(shard), "%02x", i & 0xff);
		if (!is_shard_wanted(q, shard))
			continue;
		if (!read_names(root, shard, q, n)) {
			free(n);
			return STORE_FAILED;
		}
		is_full = add_names(root, n, q, &looked, out);
	}
	free(n);
	if (!is_full)
		out->next[0] = '\0';
	return STORE_OK;
}
