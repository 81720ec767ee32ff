/* SPDX-License-Identifier: MIT */
/*
 * A store in a folder of the disk.  In this order: the folders and the marker,
 * images, the spool, opening and closing.  entries.c writes and removes single
 * entries.
 */
#include "service/store/kind.h"
#include "service/store/store.h"

#include "base/clock.h"
#include "base/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <pwd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum {
	SHARDS = STORE_SHARDS, /* folders, by the first two digits */
	SHARD_BYTES = 3,
	COUNTED_FOLDERS = SHARDS + 2, /* all folders except tmp/ */
	FOLDERS = COUNTED_FOLDERS + 1,
};

enum {
	BUCKETS = 256,
	IMAGE_BLOCKS = 3, /* a folder, meta.json and a picture */
};

/*
 * The holds on some ids, and a lock.  A thread that changes an entry keeps the
 * lock while it writes to the disk, so that an upload and a DELETE of the same
 * id follow each other.  Ids are spread evenly over the buckets, so threads
 * with other ids rarely wait.
 */
struct bucket {
	pthread_mutex_t lock;
	struct spool_hold *first;
};

struct spool {
	struct folder *store;
	struct entries *entries;            /* of the images */
	struct entry_folder folder, failed; /* spool/ and failed/ */
	struct bucket buckets[BUCKETS];
	_Atomic uint64_t waiting_count;
	_Atomic uint64_t written_count;
	_Atomic uint64_t finished_count;
	_Atomic uint64_t recovered_count;
	_Atomic uint64_t failed_count;
	_Atomic uint64_t damaged_count;
};

/* Folders of entries by the first two digits of their keys, with a quota. */
struct tree {
	struct folder *store;
	int root;         /* -1: there is none */
	const char *path; /* in the store, with its "/" */
	const char *flag; /* that sets its quota */
	struct entries entries;
};

struct folder {
	struct store store; /* first: see folder_of() */
	int marker;         /* a descriptor, which is locked */
	char *path;         /* for the log */
	/* The entries of `images` include those of the spool. */
	struct tree images, originals;
	struct spool spool;
};

static struct folder *folder_of(struct store *s)
{
	return container_of(s, struct folder, store);
}

static struct tree *tree_of(struct folder *s, const char *key)
{
	return store_is_original(key) ? &s->originals : &s->images;
}

/* An entries_failed_fn; also for an image that cannot be opened. */
static void tell_failed(void *arg, const char *file, int error)
{
	struct tree *t = arg;
	struct store *s = &t->store->store;

	if (error == 0)
		store_tell_failure(s,
				   "the store is full: the quota is reached "
				   "(--%s)",
				   t->flag);
	else
		store_tell_failure(s, "%s (%s): '%s/%s%s'", strerror(error),
				   errno_name(error), t->store->path, t->path,
				   file);
}

static const char originals_name[] = "originals";

/*
 * The name of folder `i` of the images; if it is a shard, `shard` gets the
 * text.  A tree of originals has the shards and tmp/.
 */
static const char *folder_name(uint32_t i, char shard[SHARD_BYTES])
{
	static const char *const names[] = { "spool", "failed", "tmp" };

	if (i >= SHARDS)
		return names[i - SHARDS];
	(void)snprintf(shard, SHARD_BYTES, "%02x", i);
	return shard;
}

/* False: failed, see errno. */
static bool make_folders(int root)
{
	char shard[SHARD_BYTES];

	for (uint32_t i = 0; i < FOLDERS; i++)
		if (mkdirat(root, folder_name(i, shard), 0777) != 0 &&
		    errno != EEXIST)
			return false;
	return fsync(root) == 0;
}

static bool count_used(struct folder *s)
{
	char shard[SHARD_BYTES];

	for (uint32_t i = 0; i < COUNTED_FOLDERS; i++)
		if (!entries_count(&s->images.entries, s->images.root,
				   folder_name(i, shard)))
			return false;
	return true;
}

static const char marker_name[] = "darkroom-store";
static const char marker_text[] = "darkroom store, version 1\n";

enum { MARKER_BYTES = sizeof(marker_text) - 1 };

/*
 * Is the folder empty, except for what a new file system contains, and what a
 * crash in store_open() has left?
 */
static bool is_new(int root)
{
	DIR *list = folder_list(root, ".");
	const char *name;

	if (list == NULL)
		return false;
	do
		name = folder_next(list);
	while (name != NULL && (strcmp(name, marker_name) == 0 ||
				strcmp(name, "lost+found") == 0));
	(void)closedir(list);
	return name == NULL;
}

/* If a crash interrupts this, the marker is either complete or empty. */
static bool write_marker(int root)
{
	int marker =
		openat(root, marker_name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	bool ok;

	if (marker < 0)
		return false;
	ok = pwrite(marker, marker_text, MARKER_BYTES, 0) == MARKER_BYTES &&
	     fsync(marker) == 0 && fsync(root) == 0;
	folder_close(marker);
	return ok;
}

static bool claim_marker(int root, int marker, bool new, const char **why)
{
	char text[MARKER_BYTES + 1];
	ssize_t count;

	if (flock(marker, LOCK_EX | LOCK_NB) != 0) {
		if (errno == EWOULDBLOCK)
			*why = "is in use by another server";
		return false;
	}
	count = pread(marker, text, sizeof(text), 0);
	if (count == MARKER_BYTES &&
	    memcmp(text, marker_text, MARKER_BYTES) == 0)
		return true;
	if (count == 0 && new)
		return write_marker(root);
	*why = "is not a store of this version of the program";
	return false;
}

/*
 * Check that the folder is a store, or make a new folder one, and lock it.
 * Returns the descriptor that holds the lock. -1: the reason is *why or, if
 * that is NULL, errno; a folder that is not a store has not changed.
 */
static int store_claim(int root, const char **why)
{
	/* O_RDONLY, so that the file system can be remounted read-only. */
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	bool new = is_new(root);
	int marker =
		openat(root, marker_name, new ? flags | O_CREAT : flags, 0666);

	if (marker < 0) {
		if (errno == ENOENT || errno == ELOOP)
			*why = "is neither empty nor a store of this program";
		return -1;
	}
	if (claim_marker(root, marker, new, why))
		return marker;
	folder_close(marker);
	return -1;
}

/*
 * Open the folder that holds the entry `key`.  If the result is not STORE_OK,
 * it has its name nevertheless.
 */
static enum store_answer open_shard(const struct tree *t, const char *key,
				    struct entry_folder *shard)
{
	assert(store_is_key(key));
	*shard = (struct entry_folder){ .fd = -1, .name = { key[0], key[1] } };
	if (t->root < 0)
		return STORE_NOT_FOUND;
	return folder_find(t->root, shard->name, &shard->fd);
}

/* Is the folder that was opened still at its path? */
static bool is_at_its_path(const struct folder *s)
{
	struct stat there, open;

	return stat(s->path, &there) == 0 &&
	       fstat(s->images.root, &open) == 0 &&
	       there.st_dev == open.st_dev && there.st_ino == open.st_ino;
}

static const char moved_text[] = "its folder was moved, removed or unmounted";

/*
 * What is written to a folder that is not at its path is lost for the next
 * server, or hidden by what was mounted there.  False: told; *why says it, too.
 */
static bool is_in_place(struct folder *s, struct error *why)
{
	if (is_at_its_path(s))
		return true;
	error_set(why, "%s", moved_text);
	store_tell_failure(&s->store, "%s: '%s'", moved_text, s->path);
	errno = ENOENT;
	return false;
}

static struct bucket *bucket_lock(struct spool *s, const char *id)
{
	char digits[] = { id[0], id[1], '\0' };
	struct bucket *b;

	assert(store_is_key(id));
	b = &s->buckets[strtoul(digits, NULL, 16)];
	(void)pthread_mutex_lock(&b->lock);
	return b;
}

/* Does not change errno. */
static void bucket_unlock(struct bucket *b)
{
	(void)pthread_mutex_unlock(&b->lock);
}

/* The put() of the kind. */
static enum store_answer folder_put_image(struct store *s, const char *id,
					  const struct store_file *files,
					  uint32_t file_count,
					  const char *version,
					  uint64_t deadline_ns, bool *is_same,
					  struct error *why)
{
	struct folder *f = folder_of(s);
	struct tree *t = tree_of(f, id);
	struct entry_folder shard;
	enum store_answer answer;
	bool moved = false;

	(void)deadline_ns, (void)version;
	if (!is_in_place(f, why))
		return STORE_FAILED;
	if (open_shard(t, id, &shard) != STORE_OK) {
		tell_failed(t, shard.name, errno);
		return store_write_error();
	}
	answer = entry_put(&t->entries, &shard, id, files, file_count, &moved);
	folder_close(shard.fd);
	*is_same = !moved;
	return answer;
}

/* The extend() of the kind. */
static enum store_answer folder_extend_image(struct store *s, const char *id,
					     const struct store_file *files,
					     uint32_t file_count,
					     struct error *why)
{
	struct folder *f = folder_of(s);
	struct tree *t = tree_of(f, id);
	struct entry_folder shard;
	struct bucket *b;
	enum store_answer answer;

	if (!is_in_place(f, why))
		return STORE_FAILED;
	answer = open_shard(t, id, &shard);
	if (answer != STORE_OK)
		return answer;
	b = bucket_lock(&f->spool, id);
	for (uint32_t i = 0; answer == STORE_OK && i < file_count; i++)
		answer = entry_extend(&t->entries, &shard, id, &files[i]);
	bucket_unlock(b);
	folder_close(shard.fd);
	return answer;
}

/* The replace() of the kind. */
static enum store_answer folder_replace_image(struct store *s, const char *id,
					      const struct store_file *files,
					      uint32_t file_count,
					      struct error *why)
{
	struct folder *f = folder_of(s);
	struct tree *t = tree_of(f, id);
	struct entry_folder shard;
	enum store_answer answer;

	if (!is_in_place(f, why))
		return STORE_FAILED;
	answer = open_shard(t, id, &shard);
	if (answer == STORE_OK) {
		answer = entry_replace(&t->entries, &shard, id, files,
				       file_count);
		folder_close(shard.fd);
	}
	return answer;
}

/* The list_originals() of the kind. */
static DIR *folder_list_originals(struct store *s, uint32_t shard)
{
	const struct tree *t = &folder_of(s)->originals;
	char name[SHARD_BYTES];

	return t->root >= 0 ? folder_list(t->root, folder_name(shard, name)) :
			      NULL;
}

static enum store_answer folder_find_image(struct store *s, const char *id,
					   bool is_fresh, uint64_t deadline_ns,
					   struct store_image *image,
					   struct error *why)
{
	struct tree *t = tree_of(folder_of(s), id);
	struct entry_folder shard;
	enum store_answer answer = open_shard(t, id, &shard);

	(void)is_fresh;
	(void)deadline_ns;
	(void)why;
	image->is_package = false;
	if (answer == STORE_OK) {
		answer = folder_find(shard.fd, id, &image->fd);
		folder_close(shard.fd);
	}
	if (answer == STORE_FAILED) {
		char path[ENTRIES_PATH_BYTES];
		int error = errno;

		(void)snprintf(path, sizeof(path), "%s/%s", shard.name, id);
		tell_failed(t, path, error);
		errno = error;
	}
	return answer;
}

static enum store_answer folder_list_images(struct store *s,
					    const struct list_query *q,
					    uint64_t deadline_ns,
					    struct list_page *out,
					    struct error *why)
{
	(void)deadline_ns;
	(void)why;
	return list_folders(folder_of(s)->images.root, q, out);
}

static enum store_answer folder_remove_image(struct store *s, const char *id,
					     uint64_t deadline_ns,
					     struct error *why)
{
	struct tree *t = tree_of(folder_of(s), id);
	struct entry_folder shard;
	enum store_answer answer;

	(void)deadline_ns;
	(void)why;
	if (t->root < 0)
		return STORE_NOT_FOUND;
	answer = open_shard(t, id, &shard);
	if (answer == STORE_OK) {
		answer = entry_remove(&t->entries, &shard, id);
		folder_close(shard.fd);
	} else {
		tell_failed(t, shard.name, errno);
		answer = STORE_FAILED;
	}
	return answer;
}

static const char upload_name[] = "upload.jpg";
static const char request_name[] = "request.txt";
static const char problem_name[] = "problem.json";
static const char attempts_name[] = "attempts.txt"; /* a number */

/* Caller holds the lock, here and in the next two functions. */
static void add_hold(struct bucket *b, struct spool_hold *h)
{
	h->next = b->first;
	b->first = h;
}

static void end_hold(struct bucket *b, struct spool_hold *h)
{
	struct spool_hold **at = &b->first;

	while (*at != h)
		at = &(*at)->next;
	*at = h->next;
}

static bool is_held(const struct bucket *b, const char *id)
{
	const struct spool_hold *h = b->first;

	while (h != NULL && strcmp(h->id, id) != 0)
		h = h->next;
	return h != NULL;
}

/* Does another thread hold the same id? */
static bool is_shared(const struct bucket *b, const struct spool_hold *h)
{
	const struct spool_hold *other = b->first;

	while (other != NULL && (other == h || strcmp(other->id, h->id) != 0))
		other = other->next;
	return other != NULL;
}

/* Does the folder contain an entry of that id, or anything with that name? */
static bool folder_contains(int folder, const char *id)
{
	struct stat entry;

	return fstatat(folder, id, &entry, AT_SYMLINK_NOFOLLOW) == 0;
}

static enum store_answer spool_take_out(struct spool *s, const char *id)
{
	enum store_answer answer = entry_remove(s->entries, &s->folder, id);

	/*
	 * After STORE_FAILED, the entry may have been removed without being
	 * synced.
	 */
	if (answer == STORE_OK ||
	    (answer == STORE_FAILED && !folder_contains(s->folder.fd, id)))
		atomic_fetch_sub(&s->waiting_count, 1);
	return answer;
}

bool spool_list(const struct spool *s, bool (*take)(void *arg, const char *id),
		void *arg)
{
	DIR *list = folder_list(s->folder.fd, ".");
	const char *id = "";
	bool ok = list != NULL;

	while (ok && (id = folder_next(list)) != NULL)
		ok = !store_is_id(id) || take(arg, id);
	if (list != NULL)
		(void)closedir(list);
	return ok;
}

bool spool_has(const struct spool *s, const char *id)
{
	return folder_contains(s->folder.fd, id);
}

/* Read a small file and append a NUL. */
static enum store_answer read_text(int entry, const char *name,
				   char text[SPOOL_TEXT_BYTES])
{
	uint64_t bytes;
	int fd;
	enum store_answer answer = entry_read(entry, name, &fd, &bytes);

	if (answer != STORE_OK)
		return answer;
	if (bytes >= SPOOL_TEXT_BYTES)
		answer = STORE_NOT_FOUND;
	else if (read(fd, text, (size_t)bytes) != (ssize_t)bytes)
		answer = errno == EIO ? STORE_DAMAGED : STORE_FAILED;
	if (answer == STORE_OK)
		text[bytes] = '\0';
	folder_close(fd);
	return answer;
}

enum store_answer spool_find_failed(const struct spool *s, const char *id,
				    char text[SPOOL_TEXT_BYTES])
{
	int entry = folder_open(s->failed.fd, id);
	enum store_answer answer;

	if (entry < 0)
		return STORE_NOT_FOUND;
	answer = read_text(entry, problem_name, text);
	(void)close(entry);
	return answer == STORE_NOT_FOUND ? STORE_DAMAGED : answer;
}

enum store_answer spool_put(struct spool *s, struct spool_hold *h,
			    const char *request, const void *jpeg,
			    size_t jpeg_bytes)
{
	const struct store_file files[] = {
		{ upload_name, jpeg, jpeg_bytes },
		{ request_name, request, strlen(request) },
	};
	struct bucket *b;
	bool was_there, moved;
	enum store_answer answer;
	struct error ignored;

	if (!is_in_place(s->store, &ignored))
		return STORE_FAILED;
	b = bucket_lock(s, h->id);
	was_there = folder_contains(s->folder.fd, h->id);
	/* This replaces a damaged entry of an earlier run. */
	answer = entry_put(s->entries, &s->folder, h->id, files,
			   ARRAY_SIZE(files), &moved);

	atomic_fetch_add(&s->waiting_count, moved && !was_there);
	if (answer == STORE_OK) {
		atomic_fetch_add(&s->written_count, moved);
		add_hold(b, h);
	} else if (moved && !is_held(b, h->id)) {
		/* The entry could not be synced: remove it. */
		(void)spool_take_out(s, h->id);
	}
	bucket_unlock(b);
	return answer;
}

void spool_hold(struct spool *s, struct spool_hold *h)
{
	struct bucket *b = bucket_lock(s, h->id);

	add_hold(b, h);
	bucket_unlock(b);
}

void spool_release(struct spool *s, struct spool_hold *h)
{
	struct bucket *b = bucket_lock(s, h->id);

	end_hold(b, h);
	bucket_unlock(b);
}

void spool_drop(struct spool *s, struct spool_hold *h)
{
	struct bucket *b = bucket_lock(s, h->id);

	end_hold(b, h);
	if (!is_held(b, h->id))
		(void)spool_take_out(s, h->id);
	bucket_unlock(b);
}

enum store_answer spool_read(const struct spool *s, const char *id,
			     struct spool_entry *out)
{
	int entry;
	enum store_answer answer = folder_find(s->folder.fd, id, &entry);

	if (answer != STORE_OK)
		return answer;
	answer = read_text(entry, request_name, out->request);
	if (answer == STORE_OK)
		answer = entry_read(entry, upload_name, &out->fd, &out->bytes);
	folder_close(entry);
	return answer;
}

uint32_t spool_attempts(const struct spool *s, const char *id)
{
	char text[SPOOL_TEXT_BYTES];
	int entry = folder_open(s->folder.fd, id);
	enum store_answer answer;

	if (entry < 0)
		return 0;
	answer = read_text(entry, attempts_name, text);
	folder_close(entry);
	return answer == STORE_OK ? (uint32_t)strtoul(text, NULL, 10) : 0;
}

enum store_answer spool_set_attempts(struct spool *s, const char *id,
				     uint32_t count)
{
	struct bucket *b = bucket_lock(s, id);
	char text[16];
	struct store_file file = { attempts_name, text, 0 };
	enum store_answer answer;

	file.count = (size_t)snprintf(text, sizeof(text), "%u\n", count);
	answer = count == 0 ? entry_reduce(s->entries, &s->folder, id,
					   attempts_name) :
			      entry_extend(s->entries, &s->folder, id, &file);
	bucket_unlock(b);
	return answer;
}

/* The time at which the upload was written. */
uint64_t spool_stamp(const struct spool *s, const char *id)
{
	int entry = folder_open(s->folder.fd, id);
	struct stat file;
	uint64_t stamp = 0;

	if (entry < 0)
		return 0;
	if (fstatat(entry, upload_name, &file, AT_SYMLINK_NOFOLLOW) == 0)
		stamp = (uint64_t)file.st_mtim.tv_sec * UINT64_C(1000000000) +
			(uint64_t)file.st_mtim.tv_nsec;
	folder_close(entry);
	return stamp;
}

enum store_answer spool_finish(struct spool *s, struct spool_hold *h,
			       const struct store_file *files,
			       uint32_t file_count)
{
	struct bucket *b = bucket_lock(s, h->id);
	struct error ignored;
	enum store_answer answer =
		folder_contains(s->folder.fd, h->id) ?
			store_put(&s->store->store, h->id, files, file_count, 0,
				  &ignored) :
			STORE_NOT_FOUND;

	if (answer == STORE_OK && h->stored != NULL)
		answer = h->stored(h);
	if (answer == STORE_OK || answer == STORE_NOT_FOUND)
		end_hold(b, h);
	if (answer == STORE_OK) {
		/* If this fails, a later run stores the same image again. */
		(void)spool_take_out(s, h->id);
		if (folder_contains(s->failed.fd, h->id))
			(void)entry_remove(s->entries, &s->failed, h->id);
		atomic_fetch_add(&s->finished_count, 1);
	}
	bucket_unlock(b);
	return answer;
}

enum store_answer spool_fail(struct spool *s, struct spool_hold *h,
			     const char *problem, bool is_damaged)
{
	const struct store_file file = { problem_name, problem,
					 strlen(problem) };
	struct bucket *b = bucket_lock(s, h->id);
	enum store_answer answer;

	/* Another upload has put good files there since these were read. */
	if (is_damaged && is_shared(b, h)) {
		end_hold(b, h);
		bucket_unlock(b);
		return STORE_NOT_FOUND;
	}
	answer = entry_extend(s->entries, &s->folder, h->id, &file);
	/* A folder has this name: it stays there. */
	if (answer == STORE_FAILED && errno == EISDIR)
		answer = STORE_OK;
	if (answer == STORE_OK)
		answer = entry_move(s->entries, &s->folder, &s->failed, h->id);
	/*
	 * If the entry was moved but not synced, it may be tried again after a
	 * power loss.
	 */
	if (answer == STORE_FAILED && !folder_contains(s->folder.fd, h->id))
		answer = STORE_OK;
	if (answer == STORE_OK) {
		/* Moved back to spool/, it may be tried as often as before. */
		(void)entry_reduce(s->entries, &s->failed, h->id,
				   attempts_name);
		atomic_fetch_sub(&s->waiting_count, 1);
		atomic_fetch_add(&s->failed_count, 1);
		atomic_fetch_add(&s->damaged_count, is_damaged);
	} else if (answer == STORE_NOT_FOUND && is_damaged) {
		/*
		 * The entry is not a folder, so problem.json cannot be added.
		 */
		atomic_fetch_add(&s->damaged_count,
				 spool_take_out(s, h->id) == STORE_OK);
	}
	if (answer == STORE_OK || answer == STORE_NOT_FOUND)
		end_hold(b, h);
	bucket_unlock(b);
	return answer;
}

/*
 * STORE_FAILED if one of the two is STORE_FAILED; otherwise the first answer
 * that is not STORE_NOT_FOUND.
 */
static enum store_answer worst_answer(enum store_answer a, enum store_answer b)
{
	if (a == STORE_FAILED || b == STORE_NOT_FOUND)
		return a;
	return b;
}

enum store_answer spool_delete(struct spool *s, const char *id)
{
	struct bucket *b = bucket_lock(s, id);
	enum store_answer answer = spool_take_out(s, id);
	struct error ignored;

	if (answer != STORE_FAILED)
		answer = worst_answer(answer,
				      entry_remove(s->entries, &s->failed, id));
	if (answer != STORE_FAILED)
		answer = worst_answer(answer, store_delete(&s->store->store, id,
							   0, &ignored));
	bucket_unlock(b);
	return answer;
}

void spool_count_recovered(struct spool *s)
{
	atomic_fetch_add(&s->recovered_count, 1);
}

void spool_stats(const struct spool *s, struct spool_stats *out)
{
	*out = (struct spool_stats){
		.waiting_count = atomic_load(&s->waiting_count),
		.written_count = atomic_load(&s->written_count),
		.finished_count = atomic_load(&s->finished_count),
		.recovered_count = atomic_load(&s->recovered_count),
		.failed_count = atomic_load(&s->failed_count),
		.damaged_count = atomic_load(&s->damaged_count),
	};
}
static bool count_one(void *arg, const char *id)
{
	struct spool *s = arg;

	(void)id;
	atomic_fetch_add(&s->waiting_count, 1);
	return true;
}

/* False: failed, see errno. */
static bool open_folder(struct entry_folder *f, int root, const char *name)
{
	(void)snprintf(f->name, sizeof(f->name), "%s", name);
	f->fd = folder_open(root, name);
	return f->fd >= 0;
}

/* False: failed, see errno. */
static bool spool_begin(struct spool *s, int root)
{
	return open_folder(&s->folder, root, "spool") &&
	       open_folder(&s->failed, root, "failed") &&
	       spool_list(s, count_one, s);
}

/* False: it is missing, or something else, such as a link; see errno. */
static bool is_folder(int root, const char *name)
{
	struct stat found;

	if (fstatat(root, name, &found, AT_SYMLINK_NOFOLLOW) != 0)
		return false;
	if (!S_ISDIR(found.st_mode))
		errno = ENOTDIR;
	return S_ISDIR(found.st_mode);
}

/*
 * May this process read and write all folders?  False: errno says why not, and
 * `file` is the folder.
 */
static bool may_write(const struct folder *s, char file[ENTRIES_PATH_BYTES])
{
	char shard[SHARD_BYTES];

	for (uint32_t i = 0; i < FOLDERS; i++) {
		const char *name = folder_name(i, shard);

		(void)snprintf(file, ENTRIES_PATH_BYTES, "%s", name);
		if (!is_folder(s->images.root, name) ||
		    faccessat(s->images.root, name, R_OK | W_OK | X_OK, 0) != 0)
			return false;
	}
	file[0] = '\0';
	return true;
}

/* Is there room for the smallest image?  False also if that is not known. */
static bool has_room(const struct entries *e)
{
	uint64_t used = atomic_load(&e->used_bytes);
	struct statvfs disk;

	if (e->quota_bytes > 0 &&
	    used + IMAGE_BLOCKS * e->block_bytes > e->quota_bytes)
		return false;
	/* Some file systems have no limit of files: f_files is 0. */
	return fstatvfs(e->tmp, &disk) == 0 && disk.f_bavail > 0 &&
	       (disk.f_files == 0 || disk.f_favail > 0);
}

static enum store_answer folder_look(struct store *store, struct error *why)
{
	struct folder *s = folder_of(store);
	char file[ENTRIES_PATH_BYTES];

	if (!is_at_its_path(s)) {
		error_set(why, "%s", moved_text);
		return STORE_FAILED;
	}
	if (!may_write(s, file)) {
		error_set(why, "%s: %s", file, strerror(errno));
		return STORE_FAILED;
	}
	if (has_room(&s->images.entries))
		return STORE_OK;
	error_set(why, "there is no room for another image");
	return STORE_FULL;
}

/* A store that is only full is taken: its images can be read and removed. */
static bool can_store(struct folder *s, char file[ENTRIES_PATH_BYTES])
{
	return entries_try(&s->images.entries, file) ||
	       store_write_error() == STORE_FULL;
}

/* There is no folder at `path`: say how to make it for this process' user. */
static void explain_missing(struct error *why, const char *path)
{
	const struct passwd *u = getpwuid(geteuid());
	const struct group *g = getgrgid(getegid());
	char user[33], group[33];

	(void)snprintf(user, sizeof(user), "%u", geteuid());
	(void)snprintf(group, sizeof(group), "%u", getegid());
	error_set(why,
		  "there is no such folder: make it for the server's user: "
		  "install -d -o %.32s -g %.32s -m 750 %s",
		  u != NULL ? u->pw_name : user, g != NULL ? g->gr_name : group,
		  path);
}

static bool make_original_folders(int root)
{
	char shard[SHARD_BYTES];

	for (uint32_t i = 0; i < SHARDS; i++)
		if (mkdirat(root, folder_name(i, shard), 0777) != 0 &&
		    errno != EEXIST)
			return false;
	return (mkdirat(root, "tmp", 0777) == 0 || errno == EEXIST) &&
	       fsync(root) == 0;
}

static bool count_originals(struct tree *t)
{
	char shard[SHARD_BYTES];

	for (uint32_t i = 0; i < SHARDS; i++)
		if (!entries_count(&t->entries, t->root, folder_name(i, shard)))
			return false;
	return true;
}

/* The folder of originals, if there is one.  False: failed, see errno. */
static bool open_originals(struct tree *t, int root)
{
	t->root = folder_open(root, originals_name);
	if (t->root < 0)
		return errno == ENOENT;
	return make_original_folders(t->root) &&
	       entries_open(&t->entries, t->root, 0);
}

/* The keep_originals() of the kind. */
static bool folder_keep_originals(struct store *store, uint64_t quota_bytes)
{
	struct folder *s = folder_of(store);
	struct tree *t = &s->originals;

	if (t->root < 0 &&
	    (mkdirat(s->images.root, originals_name, 0777) != 0 ||
	     fsync(s->images.root) != 0 || !open_originals(t, s->images.root)))
		return false;
	t->entries.quota_bytes = quota_bytes;
	return count_originals(t);
}

static bool folder_begin(struct folder *s, const char *path,
			 uint64_t quota_bytes, struct error *why)
{
	const char *text = NULL;
	char file[ENTRIES_PATH_BYTES] = "";

	s->path = strdup(path);
	s->images.root = folder_open(AT_FDCWD, path);
	if (s->images.root >= 0)
		s->marker = store_claim(s->images.root, &text);
	if (s->marker >= 0 && s->path != NULL && make_folders(s->images.root) &&
	    may_write(s, file) &&
	    entries_open(&s->images.entries, s->images.root, quota_bytes) &&
	    count_used(s) && spool_begin(&s->spool, s->images.root) &&
	    can_store(s, file) && open_originals(&s->originals, s->images.root))
		return true;
	if (text != NULL)
		error_set(why, "%s", text);
	else if (s->images.root < 0 && errno == ENOENT)
		explain_missing(why, path);
	else
		file_explain(why, path, file, errno);
	return false;
}

static void folder_free(struct store *store)
{
	struct folder *s = folder_of(store);
	const int fds[] = { s->spool.folder.fd,
			    s->spool.failed.fd,
			    s->images.entries.tmp,
			    s->images.root,
			    s->originals.entries.tmp,
			    s->originals.root,
			    s->marker };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
	for (uint32_t i = 0; i < BUCKETS; i++)
		(void)pthread_mutex_destroy(&s->spool.buckets[i].lock);
	free(s->path);
	free(s);
}

static void folder_stats(struct store *store, struct store_stats *out)
{
	const struct folder *s = folder_of(store);
	struct statvfs disk;

	out->quota_bytes = s->images.entries.quota_bytes;
	out->used_bytes = atomic_load(&s->images.entries.used_bytes);
	out->original_quota_bytes = s->originals.entries.quota_bytes;
	out->original_used_bytes =
		atomic_load(&s->originals.entries.used_bytes);
	if (fstatvfs(s->images.entries.tmp, &disk) == 0) {
		out->disk_bytes = disk.f_blocks * disk.f_frsize;
		out->disk_free_bytes = disk.f_bavail * disk.f_frsize;
		out->disk_files = disk.f_files;
		out->disk_free_files = disk.f_favail;
	}
	spool_stats(&s->spool, &out->spool);
}

static const struct store_kind folder_kind = {
	.put = folder_put_image,
	.replace = folder_replace_image,
	.list_originals = folder_list_originals,
	.extend = folder_extend_image,
	.keep_originals = folder_keep_originals,
	.find = folder_find_image,
	.list = folder_list_images,
	.remove = folder_remove_image,
	.look = folder_look,
	.stats = folder_stats,
	.free = folder_free,
};

static void tree_init(struct tree *t, struct folder *s, const char *path,
		      const char *flag)
{
	*t = (struct tree){
		.store = s,
		.root = -1,
		.path = path,
		.flag = flag,
		.entries = { .failed = tell_failed, .failed_arg = t, .tmp = -1 }
	};
}

struct store *store_open(const char *path, uint64_t quota_bytes,
			 struct error *why)
{
	struct folder *s = calloc(1, sizeof(*s));

	error_set(why, "%s", strerror(ENOMEM));
	if (s == NULL)
		return NULL;
	s->marker = -1;
	tree_init(&s->images, s, "", "store-quota");
	tree_init(&s->originals, s, "originals/", "original-quota");
	s->spool.folder.fd = s->spool.failed.fd = -1;
	s->spool.store = s;
	s->spool.entries = &s->images.entries;
	for (uint32_t i = 0; i < BUCKETS; i++)
		(void)pthread_mutex_init(&s->spool.buckets[i].lock, NULL);
	if (store_init(&s->store, &folder_kind, &s->spool) &&
	    folder_begin(s, path, quota_bytes, why))
		return &s->store;
	store_close(&s->store);
	return NULL;
}
