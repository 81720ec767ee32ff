/* SPDX-License-Identifier: MIT */
#include "service/store/remote/helper/cache.h"

#include "base/clock.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const char mark_name[] = "darkroom-store-cache";

enum {
	BLOCK_BYTES = 4 << 10,
	LOCK_TRIES = 50, /* of LOCK_WAIT_MS each */
	LOCK_WAIT_MS = 100,
	EVICT_TRIES = 64, /* copies that could not be removed, for one draft */
	RENEW_S = 60,
	LOOK_S = 1, /* between two looks at the file system */
	FOLDERS = 256,
};

TAILQ_HEAD(copies, copy);

struct copy {
	char id[STORE_ID_BYTES]; /* first: it is the key of the tree */
	uint64_t bytes;
	struct timespec changed; /* when SHA-256 was checked; 0: never */
	uint64_t renewed_ns;
	time_t modified; /* at the start */
	TAILQ_ENTRY(copy) link;
};

struct cache {
	int root, tmp, mark;
	uint64_t quota_bytes, used_bytes, evictions;
	uint64_t failures, looked_ns, free_bytes;
	int error; /* errno of the last failure */
	uint64_t draft_next;
	void *tree;         /* of copies, by id */
	struct copies uses; /* the first was not used for longest */
	LIST_HEAD(drafts, cache_draft) drafts;
};

static uint64_t charge(uint64_t bytes)
{
	return (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
}

static int compare_ids(const void *a, const void *b)
{
	return memcmp(a, b, STORE_ID_BYTES);
}

static struct copy *find_copy(struct cache *c, const char *id)
{
	struct copy **found = tfind(id, &c->tree, compare_ids);

	return found != NULL ? *found : NULL;
}

/* -1: errno; the folder is missing, or something else has its name. */
static int open_part(const struct cache *c, const char *id)
{
	char name[3] = { id[0], id[1], '\0' };

	return folder_open(c->root, name);
}

static void forget(struct cache *c, struct copy *e)
{
	(void)tdelete(e, &c->tree, compare_ids);
	TAILQ_REMOVE(&c->uses, e, link);
	c->used_bytes -= charge(e->bytes);
	free(e);
}

/* False: the file could not be removed, and still counts. */
static bool remove_copy(struct cache *c, struct copy *e)
{
	int part = open_part(c, e->id);
	bool is_gone;

	if (part < 0)
		is_gone = errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
	else
		is_gone = unlinkat(part, e->id, 0) == 0 || errno == ENOENT;
	if (part >= 0)
		(void)close(part);
	if (is_gone)
		forget(c, e);
	return is_gone;
}

/* False: the room cannot be made. */
static bool make_room(struct cache *c, uint64_t bytes)
{
	uint32_t tries = 0;

	if (bytes > c->quota_bytes)
		return false;
	while (c->used_bytes > c->quota_bytes - bytes) {
		struct copy *e = TAILQ_FIRST(&c->uses);

		if (e == NULL || tries == EVICT_TRIES)
			return false;
		if (remove_copy(c, e)) {
			c->evictions++;
		} else {
			/* Next time others come first. */
			TAILQ_REMOVE(&c->uses, e, link);
			TAILQ_INSERT_TAIL(&c->uses, e, link);
			tries++;
		}
	}
	return true;
}

/* NULL: no memory. */
static struct copy *add_copy(struct cache *c, const char *id, uint64_t bytes)
{
	struct copy *e = calloc(1, sizeof(*e));

	if (e == NULL)
		return NULL;
	(void)memcpy(e->id, id, sizeof(e->id));
	e->bytes = bytes;
	if (tsearch(e, &c->tree, compare_ids) == NULL) {
		free(e);
		return NULL;
	}
	TAILQ_INSERT_TAIL(&c->uses, e, link);
	c->used_bytes += charge(bytes);
	return e;
}

/* -- Finding -- */

static bool is_same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* Is it the file that was checked?  Else it is checked now. */
static bool is_good(struct copy *e, int fd)
{
	struct stat file;

	if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) ||
	    (uint64_t)file.st_size != e->bytes)
		return false;
	if (is_same_time(file.st_ctim, e->changed))
		return true;
	if (package_check(fd, e->bytes, e->id) != STORE_OK)
		return false;
	e->changed = file.st_ctim;
	return true;
}

/* Note the use, for the next start of the program. */
static void renew(struct copy *e, int fd)
{
	uint64_t now = clock_now_ns();
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
				     { .tv_nsec = UTIME_NOW } };
	struct stat file;

	if (e->renewed_ns != 0 && now - e->renewed_ns < RENEW_S * NS_PER_S)
		return;
	e->renewed_ns = now;
	/* This changes the time of change, too. */
	if (futimens(fd, times) == 0 && fstat(fd, &file) == 0)
		e->changed = file.st_ctim;
}

int cache_find(struct cache *c, const char *id, uint64_t *bytes)
{
	struct copy *e = find_copy(c, id);
	int part, fd;

	if (e == NULL)
		return -1;
	part = open_part(c, id);
	/* O_NONBLOCK: opening a pipe must not wait for a writer. */
	fd = part < 0 ? -1 :
			openat(part, id,
			       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (part >= 0)
		(void)close(part);
	if (fd < 0 || !is_good(e, fd)) {
		if (fd >= 0)
			(void)close(fd);
		(void)remove_copy(c, e);
		return -1;
	}
	TAILQ_REMOVE(&c->uses, e, link);
	TAILQ_INSERT_TAIL(&c->uses, e, link);
	renew(e, fd);
	*bytes = e->bytes;
	return fd;
}

void cache_remove(struct cache *c, const char *id)
{
	struct copy *e = find_copy(c, id);
	struct cache_draft *d;

	if (e != NULL)
		(void)remove_copy(c, e);
	LIST_FOREACH(d, &c->drafts, link)
	d->is_stale |= strcmp(d->id, id) == 0;
}

/* -- Writing -- */

void cache_fail(struct cache *c, int error)
{
	c->failures++;
	c->error = error;
}

/* Returns false, and keeps errno. */
static bool note_failure(struct cache *c)
{
	cache_fail(c, errno);
	return false;
}

bool cache_begin(struct cache *c, struct cache_draft *d, const char *id,
		 uint64_t bytes)
{
	*d = (struct cache_draft){ .fd = -1, .bytes = bytes };
	if (!make_room(c, charge(bytes))) {
		errno = ENOSPC;
		return false;
	}
	(void)snprintf(d->name, sizeof(d->name), "%016" PRIx64,
		       c->draft_next++);
	(void)memcpy(d->id, id, sizeof(d->id));
	d->fd = openat(c->tmp, d->name,
		       O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		       0600);
	if (d->fd < 0)
		return note_failure(c);
	d->is_begun = true;
	c->used_bytes += charge(bytes);
	LIST_INSERT_HEAD(&c->drafts, d, link);
	return true;
}

/* The file stays where it is. */
static void end_draft(struct cache *c, struct cache_draft *d)
{
	c->used_bytes -= charge(d->bytes);
	LIST_REMOVE(d, link);
	d->is_begun = false;
}

void cache_drop(struct cache *c, struct cache_draft *d)
{
	if (!d->is_begun)
		return;
	end_draft(c, d);
	(void)close(d->fd);
	(void)unlinkat(c->tmp, d->name, 0);
}

static bool move_draft(struct cache *c, const struct cache_draft *d)
{
	char name[3] = { d->id[0], d->id[1], '\0' };
	int part;
	bool is_moved;

	if (mkdirat(c->root, name, 0700) != 0 && errno != EEXIST)
		return note_failure(c);
	part = open_part(c, d->id);
	if (part < 0)
		return note_failure(c);
	is_moved =
		renameat(c->tmp, d->name, part, d->id) == 0 || note_failure(c);
	(void)close(part);
	return is_moved;
}

/* Replace the draft's descriptor by one that only reads.  False: errno. */
static bool end_writing(struct cache *c, struct cache_draft *d)
{
	int fd = openat(c->tmp, d->name,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat written, opened;
	bool is_same;

	if (fd < 0)
		return false;
	is_same = fstat(d->fd, &written) == 0 && fstat(fd, &opened) == 0 &&
		  written.st_dev == opened.st_dev &&
		  written.st_ino == opened.st_ino;
	if (!is_same) {
		(void)close(fd);
		errno = ESTALE;
		return false;
	}
	(void)close(d->fd);
	d->fd = fd;
	return true;
}

int cache_commit(struct cache *c, struct cache_draft *d)
{
	struct copy *e;
	struct stat file;

	if (!end_writing(c, d)) {
		(void)note_failure(c);
		cache_drop(c, d);
		return -1;
	}
	e = find_copy(c, d->id);
	end_draft(c, d);
	if (e != NULL && !remove_copy(c, e))
		d->is_stale = true;
	if (d->is_stale || !move_draft(c, d)) {
		(void)unlinkat(c->tmp, d->name, 0);
		return d->fd;
	}
	e = add_copy(c, d->id, d->bytes);
	if (e != NULL && fstat(d->fd, &file) == 0) {
		e->changed = file.st_ctim;
		e->renewed_ns = clock_now_ns();
	}
	return d->fd;
}

void cache_read(struct cache *c, struct store_figures *out)
{
	uint64_t now = clock_now_ns();
	struct statvfs disk;

	if (c->looked_ns == 0 || now - c->looked_ns >= LOOK_S * NS_PER_S) {
		c->looked_ns = now;
		c->free_bytes = fstatvfs(c->root, &disk) == 0 ?
					disk.f_bavail * disk.f_frsize :
					0;
	}
	out->cache_evictions = c->evictions;
	out->cache_failures = c->failures;
	out->now = (struct store_gauges){
		.cache_bytes = c->used_bytes,
		.cache_quota_bytes = c->quota_bytes,
		.cache_free_bytes = c->free_bytes,
		.cache_error = (uint64_t)c->error,
	};
}

/* -- Opening -- */

static bool is_draft_name(const char *name)
{
	return strlen(name) == 16 && strspn(name, "0123456789abcdef") == 16;
}

static void remove_drafts(struct cache *c)
{
	DIR *list = folder_list(c->root, "tmp");
	const char *name;

	while (list != NULL && (name = folder_next(list)) != NULL)
		if (is_draft_name(name))
			(void)unlinkat(c->tmp, name, 0);
	if (list != NULL)
		(void)closedir(list);
}

static bool add_part(struct cache *c, const char *part)
{
	DIR *list = folder_list(c->root, part);
	const char *name;
	bool is_read = true;

	if (list == NULL)
		return true; /* none, or not ours */
	while (is_read && (name = folder_next(list)) != NULL) {
		struct stat file;
		struct copy *e;

		if (!store_is_key(name) || memcmp(name, part, 2) != 0 ||
		    fstatat(dirfd(list), name, &file, AT_SYMLINK_NOFOLLOW) !=
			    0 ||
		    !S_ISREG(file.st_mode))
			continue;
		e = add_copy(c, name, (uint64_t)file.st_size);
		if (e != NULL)
			e->modified = file.st_mtim.tv_sec;
		is_read = e != NULL;
	}
	(void)closedir(list);
	return is_read;
}

static int compare_times(const void *a, const void *b)
{
	const struct copy *const *x = a, *const *y = b;

	return ((*x)->modified > (*y)->modified) -
	       ((*x)->modified < (*y)->modified);
}

static bool sort_copies(struct cache *c)
{
	struct copy **all, *e;
	size_t count = 0, i = 0;

	TAILQ_FOREACH(e, &c->uses, link)
	count++;
	all = calloc(count + 1, sizeof(struct copy *));
	if (all == NULL)
		return false;
	TAILQ_FOREACH(e, &c->uses, link)
	all[i++] = e;
	qsort(all, count, sizeof(struct copy *), compare_times);
	TAILQ_INIT(&c->uses);
	for (i = 0; i < count; i++)
		TAILQ_INSERT_TAIL(&c->uses, all[i], link);
	free(all);
	return true;
}

static bool add_all(struct cache *c)
{
	for (unsigned i = 0; i < FOLDERS; i++) {
		char part[3];

		(void)snprintf(part, sizeof(part), "%02x", i);
		if (!add_part(c, part))
			return false;
	}
	if (!sort_copies(c))
		return false;
	/* The quota may be smaller than it was. */
	(void)make_room(c, 0);
	return true;
}

/* Only an empty folder becomes a cache. */
static bool is_empty(int root)
{
	DIR *list = folder_list(root, ".");
	bool is_empty = list != NULL && folder_next(list) == NULL;

	if (list != NULL)
		(void)closedir(list);
	return is_empty;
}

static bool lock(struct cache *c, const char *path, struct error *error)
{
	for (uint32_t i = 0; i < LOCK_TRIES; i++) {
		struct timespec pause = { .tv_nsec = LOCK_WAIT_MS * NS_PER_MS };

		if (flock(c->mark, LOCK_EX | LOCK_NB) == 0)
			return true;
		if (errno != EWOULDBLOCK)
			return error_fail(error, "%s/%s: %s", path, mark_name,
					  strerror(errno));
		(void)nanosleep(&pause, NULL);
	}
	return error_fail(error, "%s: another process uses this cache", path);
}

/* Set the error to errno's text, and what is there.  Returns false. */
static bool explain(struct error *error, const char *path, const char *file)
{
	struct error why;

	file_explain(&why, path, file, errno);
	return error_fail(error, "%s: %.400s", path, why.text);
}

static bool open_mark(struct cache *c, const char *path, struct error *error)
{
	int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

	c->mark = openat(c->root, mark_name, flags);
	if (c->mark < 0 && errno == ENOENT) {
		if (!is_empty(c->root))
			return error_fail(error,
					  "%s: it has files, but no file %s, "
					  "so it is not a cache; give an empty "
					  "folder",
					  path, mark_name);
		c->mark = openat(c->root, mark_name, flags | O_CREAT, 0600);
	}
	if (c->mark < 0)
		return explain(error, path, mark_name);
	return lock(c, path, error);
}

static bool open_folders(struct cache *c, const char *path, struct error *error)
{
	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		return explain(error, path, "");
	c->root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c->root < 0)
		return explain(error, path, "");
	if (!open_mark(c, path, error))
		return false;
	if (mkdirat(c->root, "tmp", 0700) != 0 && errno != EEXIST)
		return explain(error, path, "");
	c->tmp = folder_open(c->root, "tmp");
	if (c->tmp < 0 || faccessat(c->root, "tmp", R_OK | W_OK | X_OK, 0) != 0)
		return explain(error, path, "tmp");
	return true;
}

struct cache *cache_open(const char *path, uint64_t quota_bytes,
			 struct error *error)
{
	struct cache *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		error_set(error, "too little memory");
		return NULL;
	}
	c->root = c->tmp = c->mark = -1;
	c->quota_bytes = quota_bytes;
	TAILQ_INIT(&c->uses);
	LIST_INIT(&c->drafts);
	if (open_folders(c, path, error)) {
		remove_drafts(c);
		if (add_all(c))
			return c;
		error_set(error, "%s: too little memory", path);
	}
	cache_free(c);
	return NULL;
}

void cache_free(struct cache *c)
{
	struct copy *e;

	if (c == NULL)
		return;
	while ((e = TAILQ_FIRST(&c->uses)) != NULL)
		forget(c, e);
	if (c->tmp >= 0)
		(void)close(c->tmp);
	if (c->mark >= 0)
		(void)close(c->mark);
	if (c->root >= 0)
		(void)close(c->root);
	free(c);
}
