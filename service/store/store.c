/* SPDX-License-Identifier: MIT */
/*
 * In this order: the folders and the marker, images, checks of files that are
 * read, the spool, opening and closing.  entries.c writes and removes single
 * entries.
 */
#include "service/store/store.h"

#include "base/clock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nettle/base16.h>
#include <nettle/sha2.h>

enum {
	SHARDS = 256, /* folders of images, by the first two digits */
	SHARD_BYTES = 3,
	COUNTED_FOLDERS = SHARDS + 2, /* all folders except tmp/ */
	FOLDERS = COUNTED_FOLDERS + 1,
};

/*
 * Reading a file to its end only to check it costs as much as sending it.  So
 * the store remembers which files were intact, and those properties of them
 * that change when the file changes.  It does so only for a limited time,
 * because a disk can lose data.
 */
enum {
	SETS = 4096,
	WAYS = 4, /* files of a set */
	READ_BYTES = 64 << 10,
	KNOWN_BYTES = 8, /* bytes of a SHA-256 that are remembered */
};

#define REMEMBERED_NS (3600 * NS_PER_S)

struct known_file {
	uint64_t inode, bytes;
	/* Ctime: the system sets it, programs cannot. */
	struct timespec changed;
	uint8_t sha256[KNOWN_BYTES];
	uint64_t until_ns; /* valid until then; 0: no file */
};

struct checks {
	pthread_mutex_t lock;
	struct known_file files[SETS][WAYS];
};

enum { BUCKETS = 256 };

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
	struct store *store;
	int folder, failed; /* descriptors of spool/ and failed/ */
	struct bucket buckets[BUCKETS];
	_Atomic uint64_t waiting_count;
	_Atomic uint64_t written_count;
	_Atomic uint64_t finished_count;
	_Atomic uint64_t recovered_count;
	_Atomic uint64_t failed_count;
	_Atomic uint64_t damaged_count;
};

struct store {
	int root, marker; /* descriptors; the marker's is locked */
	struct entries entries;
	struct checks checks;
	struct spool spool;
	_Atomic uint64_t put_count;
	_Atomic uint64_t same_count;
	_Atomic uint64_t deleted_count;
	_Atomic uint64_t full_count;
	_Atomic uint64_t failed_count;
};

/* The name of folder `i`; if it is a shard, `shard` gets the text. */
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

static bool count_used(struct store *s)
{
	char shard[SHARD_BYTES];

	for (uint32_t i = 0; i < COUNTED_FOLDERS; i++)
		if (!entries_count(&s->entries, s->root, folder_name(i, shard)))
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

/* Open the folder that holds the image `id`. */
static enum store_answer open_shard(const struct store *s, const char *id,
				    int *shard)
{
	assert(store_is_id(id));
	return folder_find(s->root, (const char[]){ id[0], id[1], '\0' },
			   shard);
}

static enum store_answer put_image(struct store *s, const char *id,
				   const struct store_file *files,
				   uint32_t file_count, bool *moved)
{
	int shard;
	enum store_answer answer;

	if (open_shard(s, id, &shard) != STORE_OK)
		return store_write_error();
	answer = entry_put(&s->entries, shard, id, files, file_count, moved);
	folder_close(shard);
	return answer;
}

enum store_answer store_put(struct store *s, const char *id,
			    const struct store_file *files, uint32_t file_count)
{
	bool moved = false;
	enum store_answer answer = put_image(s, id, files, file_count, &moved);

	switch (answer) {
	case STORE_OK:
		atomic_fetch_add(moved ? &s->put_count : &s->same_count, 1);
		break;
	case STORE_FULL:
		atomic_fetch_add(&s->full_count, 1);
		break;
	default:
		atomic_fetch_add(&s->failed_count, 1);
	}
	return answer;
}

enum store_answer store_find(const struct store *s, const char *id, int *entry)
{
	int shard;
	enum store_answer answer = open_shard(s, id, &shard);

	if (answer != STORE_OK)
		return answer;
	answer = folder_find(shard, id, entry);
	folder_close(shard);
	return answer;
}

enum store_answer store_delete(struct store *s, const char *id)
{
	int shard;
	enum store_answer answer = STORE_FAILED;

	if (open_shard(s, id, &shard) == STORE_OK) {
		answer = entry_remove(&s->entries, shard, id);
		folder_close(shard);
	}
	if (answer == STORE_OK)
		atomic_fetch_add(&s->deleted_count, 1);
	if (answer == STORE_FAILED)
		atomic_fetch_add(&s->failed_count, 1);
	return answer;
}

/* Fill *f for an open file.  False: failed, see errno. */
static bool describe_file(struct known_file *f, int fd,
			  const uint8_t sha256[SHA256_DIGEST_SIZE])
{
	struct stat file;

	if (fstat(fd, &file) != 0)
		return false;
	*f = (struct known_file){ .inode = file.st_ino,
				  .bytes = (uint64_t)file.st_size,
				  .changed = file.st_ctim };
	(void)memcpy(f->sha256, sha256, KNOWN_BYTES);
	return true;
}

static bool is_same(const struct known_file *a, const struct known_file *b)
{
	return a->inode == b->inode && a->bytes == b->bytes &&
	       a->changed.tv_sec == b->changed.tv_sec &&
	       a->changed.tv_nsec == b->changed.tv_nsec &&
	       memcmp(a->sha256, b->sha256, KNOWN_BYTES) == 0;
}

static struct known_file *set_of(struct checks *c, uint64_t inode)
{
	return c->files[inode * UINT64_C(0x9e3779b97f4a7c15) >> 52];
}

_Static_assert(SETS == 1 << (64 - 52), "set_of() returns one of 2^12 sets");

static bool checks_knows(struct checks *c, const struct known_file *f)
{
	const struct known_file *set = set_of(c, f->inode);
	uint64_t now_ns = clock_now_ns();
	bool found = false;

	(void)pthread_mutex_lock(&c->lock);
	for (uint32_t i = 0; i < WAYS; i++)
		found |= set[i].until_ns > now_ns && is_same(&set[i], f);
	(void)pthread_mutex_unlock(&c->lock);
	return found;
}

/* Remember `f` in place of the file of its set that would expire first. */
static void checks_remember(struct checks *c, const struct known_file *f)
{
	struct known_file *set = set_of(c, f->inode), *oldest = &set[0];

	(void)pthread_mutex_lock(&c->lock);
	for (uint32_t i = 1; i < WAYS; i++)
		if (set[i].until_ns < oldest->until_ns)
			oldest = &set[i];
	*oldest = *f;
	oldest->until_ns = clock_now_ns() + REMEMBERED_NS;
	(void)pthread_mutex_unlock(&c->lock);
}

/* False: it cannot be read, see errno. */
static bool hash_file(int fd, uint8_t sha256[SHA256_DIGEST_SIZE])
{
	uint8_t piece[READ_BYTES];
	struct sha256_ctx ctx;
	off_t at = 0;

	sha256_init(&ctx);
	for (;;) {
		ssize_t n = pread(fd, piece, sizeof(piece), at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		if (n == 0)
			break;
		sha256_update(&ctx, (size_t)n, piece);
		at += n;
	}
	sha256_digest(&ctx, SHA256_DIGEST_SIZE, sha256);
	return true;
}

/* False: the text is not a SHA-256 in hexadecimal digits. */
static bool read_sha256(uint8_t out[SHA256_DIGEST_SIZE], const char *text)
{
	struct base16_decode_ctx ctx;
	size_t bytes = SHA256_DIGEST_SIZE;

	base16_decode_init(&ctx);
	return store_is_id(text) &&
	       base16_decode_update(&ctx, &bytes, out, STORE_ID_BYTES - 1,
				    text) &&
	       base16_decode_final(&ctx);
}

bool store_is_checked(struct store *s, int fd, const char *sha256)
{
	uint8_t expected[SHA256_DIGEST_SIZE];
	struct known_file file;

	return read_sha256(expected, sha256) &&
	       describe_file(&file, fd, expected) &&
	       checks_knows(&s->checks, &file);
}

enum store_answer store_check(struct store *s, int fd, const char *sha256)
{
	uint8_t expected[SHA256_DIGEST_SIZE], found[SHA256_DIGEST_SIZE];
	struct known_file file;

	if (!read_sha256(expected, sha256))
		return STORE_DAMAGED;
	/*
	 * Done before reading, so that a change while reading is noticed later.
	 */
	if (!describe_file(&file, fd, expected))
		return STORE_FAILED;
	if (!hash_file(fd, found))
		/* EIO: the disk has lost a block. */
		return errno == EIO ? STORE_DAMAGED : STORE_FAILED;
	if (memcmp(found, expected, sizeof(found)) != 0)
		return STORE_DAMAGED;
	checks_remember(&s->checks, &file);
	return STORE_OK;
}

static const char upload_name[] = "upload.jpg";
static const char request_name[] = "request.txt";
static const char problem_name[] = "problem.json";

static struct bucket *bucket_lock(struct spool *s, const char *id)
{
	char digits[] = { id[0], id[1], '\0' };
	struct bucket *b;

	assert(store_is_id(id));
	b = &s->buckets[strtoul(digits, NULL, 16)];
	(void)pthread_mutex_lock(&b->lock);
	return b;
}

/* Does not change errno. */
static void bucket_unlock(struct bucket *b)
{
	(void)pthread_mutex_unlock(&b->lock);
}

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

/* Does the folder contain an entry of that id, or anything with that name? */
static bool folder_contains(int folder, const char *id)
{
	struct stat entry;

	return fstatat(folder, id, &entry, AT_SYMLINK_NOFOLLOW) == 0;
}

static enum store_answer spool_take_out(struct spool *s, const char *id)
{
	enum store_answer answer =
		entry_remove(&s->store->entries, s->folder, id);

	/*
	 * After STORE_FAILED, the entry may have been removed without being
	 * synced.
	 */
	if (answer == STORE_OK ||
	    (answer == STORE_FAILED && !folder_contains(s->folder, id)))
		atomic_fetch_sub(&s->waiting_count, 1);
	return answer;
}

bool spool_list(const struct spool *s, bool (*take)(void *arg, const char *id),
		void *arg)
{
	DIR *list = folder_list(s->folder, ".");
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
	return folder_contains(s->folder, id);
}

/* Read a small file and append a NUL. */
static enum store_answer read_text(int entry, const char *name,
				   char text[SPOOL_TEXT_BYTES])
{
	uint64_t bytes;
	int fd;
	enum store_answer answer = store_read(entry, name, &fd, &bytes);

	if (answer != STORE_OK)
		return answer;
	if (bytes >= SPOOL_TEXT_BYTES)
		answer = STORE_NOT_FOUND;
	else if (read(fd, text, (size_t)bytes) != (ssize_t)bytes)
		answer = STORE_FAILED;
	if (answer == STORE_OK)
		text[bytes] = '\0';
	folder_close(fd);
	return answer;
}

enum store_answer spool_find_failed(const struct spool *s, const char *id,
				    char text[SPOOL_TEXT_BYTES])
{
	int entry = folder_open(s->failed, id);
	enum store_answer answer;

	if (entry < 0)
		return STORE_NOT_FOUND;
	answer = read_text(entry, problem_name, text);
	(void)close(entry);
	return answer;
}

enum store_answer spool_put(struct spool *s, struct spool_hold *h,
			    const char *request, const void *jpeg,
			    size_t jpeg_bytes)
{
	const struct store_file files[] = {
		{ upload_name, jpeg, jpeg_bytes },
		{ request_name, request, strlen(request) },
	};
	struct bucket *b = bucket_lock(s, h->id);
	bool was_there = folder_contains(s->folder, h->id), moved;
	/* This replaces a damaged entry of an earlier run. */
	enum store_answer answer =
		entry_put(&s->store->entries, s->folder, h->id, files,
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
	enum store_answer answer = folder_find(s->folder, id, &entry);

	if (answer != STORE_OK)
		return answer;
	answer = read_text(entry, request_name, out->request);
	if (answer == STORE_OK)
		answer = store_read(entry, upload_name, &out->fd, &out->bytes);
	folder_close(entry);
	return answer;
}

enum store_answer spool_finish(struct spool *s, struct spool_hold *h,
			       const struct store_file *files,
			       uint32_t file_count)
{
	struct bucket *b = bucket_lock(s, h->id);
	enum store_answer answer =
		folder_contains(s->folder, h->id) ?
			store_put(s->store, h->id, files, file_count) :
			STORE_NOT_FOUND;

	if (answer == STORE_OK || answer == STORE_NOT_FOUND)
		end_hold(b, h);
	if (answer == STORE_OK) {
		/* If this fails, a later run stores the same image again. */
		(void)spool_take_out(s, h->id);
		if (folder_contains(s->failed, h->id))
			(void)entry_remove(&s->store->entries, s->failed,
					   h->id);
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
	enum store_answer answer =
		entry_extend(&s->store->entries, s->folder, h->id, &file);

	if (answer == STORE_OK)
		answer = entry_move(&s->store->entries, s->folder, s->failed,
				    h->id);
	/*
	 * If the entry was moved but not synced, it may be tried again after a
	 * power loss.
	 */
	if (answer == STORE_FAILED && !folder_contains(s->folder, h->id))
		answer = STORE_OK;
	if (answer == STORE_OK) {
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

	if (answer != STORE_FAILED)
		answer = worst_answer(answer, entry_remove(&s->store->entries,
							   s->failed, id));
	if (answer != STORE_FAILED)
		answer = worst_answer(answer, store_delete(s->store, id));
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
static bool spool_begin(struct spool *s, int root)
{
	s->folder = folder_open(root, "spool");
	s->failed = folder_open(root, "failed");
	return s->folder >= 0 && s->failed >= 0 && spool_list(s, count_one, s);
}

static bool store_begin(struct store *s, const char *path, uint64_t quota_bytes,
			const char **why)
{
	*why = NULL;
	s->root = folder_open(AT_FDCWD, path);
	if (s->root >= 0)
		s->marker = store_claim(s->root, why);
	if (s->marker >= 0 && make_folders(s->root) &&
	    entries_open(&s->entries, s->root, quota_bytes) && count_used(s) &&
	    spool_begin(&s->spool, s->root))
		return true;
	if (*why == NULL)
		*why = strerror(errno);
	return false;
}

struct store *store_open(const char *path, uint64_t quota_bytes,
			 const char **why)
{
	struct store *s = calloc(1, sizeof(*s));

	if (s == NULL) {
		*why = strerror(ENOMEM);
		return NULL;
	}
	s->root = s->marker = s->entries.tmp = -1;
	s->spool.folder = s->spool.failed = -1;
	s->spool.store = s;
	(void)pthread_mutex_init(&s->checks.lock, NULL);
	for (uint32_t i = 0; i < BUCKETS; i++)
		(void)pthread_mutex_init(&s->spool.buckets[i].lock, NULL);
	if (store_begin(s, path, quota_bytes, why))
		return s;
	store_close(s);
	return NULL;
}

void store_close(struct store *s)
{
	if (s == NULL)
		return;

	const int fds[] = { s->spool.folder, s->spool.failed, s->entries.tmp,
			    s->root, s->marker };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
	for (uint32_t i = 0; i < BUCKETS; i++)
		(void)pthread_mutex_destroy(&s->spool.buckets[i].lock);
	(void)pthread_mutex_destroy(&s->checks.lock);
	free(s);
}

struct spool *store_spool(struct store *s)
{
	return &s->spool;
}

void store_stats(const struct store *s, struct store_stats *out)
{
	*out = (struct store_stats){
		.quota_bytes = s->entries.quota_bytes,
		.used_bytes = atomic_load(&s->entries.used_bytes),
		.put_count = atomic_load(&s->put_count),
		.same_count = atomic_load(&s->same_count),
		.deleted_count = atomic_load(&s->deleted_count),
		.full_count = atomic_load(&s->full_count),
		.failed_count = atomic_load(&s->failed_count),
	};
	spool_stats(&s->spool, &out->spool);
}
