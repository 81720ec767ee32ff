/* SPDX-License-Identifier: MIT */
#include "service/store/spool.h"

#include "base/util.h"
#include "service/store/store_files.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

enum {
	SHARDS = 256, /* folders of entries, by the first two digits */
	SHARD_BYTES = 3,
	TEMPORARY_DIGITS = 16, /* of each of two numbers */
	TEMPORARY_BYTES = 2 * TEMPORARY_DIGITS + 2,
	/* Other threads may interfere, but hardly this often. */
	MOVES_MAX = 8,
	BLOCK_BYTES_MIN = 512,
	/* Network file systems report the size of a transfer instead. */
	BLOCK_BYTES_MAX = 64 << 10,
};

struct store {
	int root, tmp, marker;
	struct checks *checks;
	struct spool *spool;
	uint64_t quota_bytes;
	uint64_t block_bytes; /* of the file system */
	uint64_t opened_ns;   /* names in tmp/ begin with it */
	_Atomic uint64_t used_bytes;
	_Atomic uint64_t temporary_next;
	_Atomic uint64_t put_count;
	_Atomic uint64_t same_count;
	_Atomic uint64_t deleted_count;
	_Atomic uint64_t full_count;
	_Atomic uint64_t failed_count;
};

static enum store_answer answer_of_write(void)
{
	switch (errno) {
	case ENOSPC:
	case EDQUOT:
	case EFBIG: /* over `ulimit -f` */
		return STORE_FULL;
	default:
		return STORE_FAILED;
	}
}

static enum store_answer answer_of_read(void)
{
	switch (errno) {
	case ENOENT:
	case ENOTDIR: /* not made by a store, and the same for ELOOP */
	case ELOOP:
		return STORE_NOT_FOUND;
	default:
		return STORE_FAILED;
	}
}

/* The folder that holds the entry `id`. */
static int open_shard(const struct store *s, const char *id)
{
	assert(store_is_id(id));
	return folder_open(s->root, (const char[]){ id[0], id[1], '\0' });
}

/* False: failed, see errno. */
static bool make_folders(int root)
{
	char shard[SHARD_BYTES];

	static const char *const names[] = { "tmp", SPOOL_FOLDER,
					     SPOOL_FAILED_FOLDER };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (mkdirat(root, names[i], 0777) != 0 && errno != EEXIST)
			return false;
	for (unsigned int i = 0; i < SHARDS; i++) {
		(void)snprintf(shard, sizeof(shard), "%02x", i);
		if (mkdirat(root, shard, 0777) != 0 && errno != EEXIST)
			return false;
	}
	return fsync(root) == 0;
}

/* Is it a name made by name_temporary()? */
static bool is_temporary(const char *name)
{
	static const char digits[] = "0123456789abcdef";

	return strspn(name, digits) == TEMPORARY_DIGITS &&
	       name[TEMPORARY_DIGITS] == '-' &&
	       strspn(name + TEMPORARY_DIGITS + 1, digits) ==
		       TEMPORARY_DIGITS &&
	       name[TEMPORARY_BYTES - 1] == '\0';
}

/* Remove entries that a crash left half made or half removed. */
static bool clear_temporary(const struct store *s)
{
	DIR *list = folder_list(s->tmp, ".");
	const char *name;

	if (list == NULL)
		return false;
	while ((name = folder_next(list)) != NULL)
		if (is_temporary(name))
			(void)folder_remove(s->tmp, name);
	(void)closedir(list);
	return true;
}

/* Add up the bytes of all entries of a folder.  False: it is not readable. */
static bool count_folder(struct store *s, const char *name)
{
	DIR *list = folder_list(s->root, name);
	const char *id;

	if (list == NULL)
		return false;
	while ((id = folder_next(list)) != NULL)
		if (store_is_id(id))
			atomic_fetch_add(&s->used_bytes,
					 folder_disk_bytes(dirfd(list), id));
	(void)closedir(list);
	return true;
}

static bool count_used(struct store *s)
{
	char shard[SHARD_BYTES];

	if (s->quota_bytes == 0)
		return true;
	for (unsigned int i = 0; i < SHARDS; i++) {
		(void)snprintf(shard, sizeof(shard), "%02x", i);
		if (!count_folder(s, shard))
			return false;
	}
	return count_folder(s, SPOOL_FOLDER) &&
	       count_folder(s, SPOOL_FAILED_FOLDER);
}

static bool read_block_bytes(struct store *s)
{
	struct statvfs system;

	if (fstatvfs(s->root, &system) != 0)
		return false;
	s->block_bytes = system.f_frsize;
	if (s->block_bytes < BLOCK_BYTES_MIN)
		s->block_bytes = BLOCK_BYTES_MIN;
	if (s->block_bytes > BLOCK_BYTES_MAX)
		s->block_bytes = BLOCK_BYTES_MAX;
	return true;
}

static const char marker_name[] = "darkroom-store";
static const char marker_text[] = "darkroom store, version 1\n";

enum { MARKER_BYTES = sizeof(marker_text) - 1 };

/*
 * Is the folder empty, except for what a new file system contains or a crash in
 * store_open() left?
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

/* After a crash, the marker is complete or empty. */
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
 * Returns the descriptor that holds the lock.  -1: *why, or else errno, is the
 * reason; a folder that is no store has not changed.
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

static bool store_begin(struct store *s, const char *path, const char **why)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	s->opened_ns =
		(uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	*why = NULL;
	s->root = folder_open(AT_FDCWD, path);
	if (s->root >= 0)
		s->marker = store_claim(s->root, why);
	if (s->marker >= 0 && make_folders(s->root)) {
		s->tmp = folder_open(s->root, "tmp");
		if (s->tmp >= 0 && read_block_bytes(s) && clear_temporary(s) &&
		    count_used(s))
			s->spool = spool_open(s);
		if (s->spool != NULL)
			return true;
	}
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
	s->quota_bytes = quota_bytes;
	s->root = s->tmp = s->marker = -1;
	s->checks = checks_new();
	if (s->checks == NULL)
		*why = strerror(ENOMEM);
	else if (store_begin(s, path, why))
		return s;
	store_close(s);
	return NULL;
}

void store_close(struct store *s)
{
	if (s == NULL)
		return;

	const int fds[] = { s->tmp, s->root, s->marker };

	spool_close(s->spool);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
	checks_free(s->checks);
	free(s);
}

static void name_temporary(struct store *s, char name[TEMPORARY_BYTES])
{
	(void)snprintf(name, TEMPORARY_BYTES, "%016" PRIx64 "-%016" PRIx64,
		       s->opened_ns, atomic_fetch_add(&s->temporary_next, 1));
}

/* False: the quota would be exceeded. */
static bool reserve_bytes(struct store *s, uint64_t bytes)
{
	uint64_t used = atomic_load(&s->used_bytes);

	if (s->quota_bytes == 0)
		return true;
	do {
		if (used > s->quota_bytes || bytes > s->quota_bytes - used)
			return false;
	} while (!atomic_compare_exchange_weak(&s->used_bytes, &used,
					       used + bytes));
	return true;
}

static void release_bytes(struct store *s, uint64_t bytes)
{
	if (s->quota_bytes > 0)
		(void)atomic_fetch_sub(&s->used_bytes, bytes);
}

/* Bytes of an entry on the disk: whole blocks, and one for its folder. */
static uint64_t estimate_bytes(const struct store *s,
			       const struct store_file *files,
			       uint32_t file_count)
{
	uint64_t block_count = 1;

	for (uint32_t i = 0; i < file_count; i++)
		block_count += (files[i].count - 1) / s->block_bytes + 1;
	return block_count * s->block_bytes;
}

/*
 * Write the entry as `name` into tmp/.  *reserved: the estimated size before,
 * the real size after.
 */
static bool write_temporary(struct store *s, const char *name,
			    const struct store_file *files, uint32_t file_count,
			    uint64_t *reserved)
{
	uint64_t bytes;

	if (!folder_write(s->tmp, name, files, file_count, &bytes))
		return false;
	/* Unsigned arithmetic: also correct if `bytes` is larger. */
	release_bytes(s, *reserved - bytes);
	*reserved = bytes;
	return true;
}

/*
 * Move the entry `name` from tmp/ to its place.  *moved: done, and tmp/ has
 * what was there before, if anything.  Else it stays in tmp/, because another
 * thread has made the same entry.  False: failed, see errno.
 */
static bool move_in(const struct store *s, const char *name, int shard,
		    const char *id, const struct store_file *files,
		    uint32_t file_count, bool *moved)
{
	for (int i = 0; i < MOVES_MAX; i++) {
		*moved = true;
		if (renameat(s->tmp, name, shard, id) == 0)
			return true;
		*moved = false;
		if (errno != ENOTEMPTY && errno != EEXIST)
			return false;
		if (folder_has(shard, id, files, file_count))
			return true;
		*moved = true;
		if (renameat2(s->tmp, name, shard, id, RENAME_EXCHANGE) == 0)
			return true;
		*moved = false;
		if (errno != ENOENT) /* deleted meanwhile */
			return false;
	}
	return false;
}

/* STORE_OK: the entry exists; *moved: this call made it. */
static enum store_answer make_entry(struct store *s, int shard, const char *id,
				    const struct store_file *files,
				    uint32_t file_count, bool *moved)
{
	char name[TEMPORARY_BYTES];
	uint64_t bytes = estimate_bytes(s, files, file_count);

	if (!reserve_bytes(s, bytes))
		return STORE_FULL;
	name_temporary(s, name);

	bool ok = write_temporary(s, name, files, file_count, &bytes) &&
		  move_in(s, name, shard, id, files, file_count, moved);
	enum store_answer answer = ok ? STORE_OK : answer_of_write();
	int saved = errno;
	uint64_t discarded = folder_remove(s->tmp, name);

	release_bytes(s, *moved ? discarded : bytes);
	errno = saved;
	return answer;
}

enum store_answer store_place(struct store *s, int folder, const char *id,
			      const struct store_file *files,
			      uint32_t file_count, bool *moved)
{
	enum store_answer answer = STORE_OK;

	for (uint32_t i = 0; i < file_count; i++)
		assert(folder_is_file_name(files[i].name) &&
		       files[i].count > 0);
	*moved = false;
	if (!folder_has(folder, id, files, file_count))
		answer = make_entry(s, folder, id, files, file_count, moved);
	/* Also if another thread moved it: it may not have synced it yet. */
	if (answer == STORE_OK && fsync(folder) != 0)
		answer = answer_of_write();
	return answer;
}

static enum store_answer put_entry(struct store *s, const char *id,
				   const struct store_file *files,
				   uint32_t file_count, bool *moved)
{
	int shard = open_shard(s, id);
	enum store_answer answer;

	if (shard < 0)
		return answer_of_write();
	answer = store_place(s, shard, id, files, file_count, moved);
	folder_close(shard);
	return answer;
}

enum store_answer store_put(struct store *s, const char *id,
			    const struct store_file *files, uint32_t file_count)
{
	bool moved = false;

	enum store_answer answer = put_entry(s, id, files, file_count, &moved);

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

enum store_answer store_find(const struct store *s, const char *id, int *folder)
{
	int shard = open_shard(s, id);
	int fd = shard >= 0 ? folder_open(shard, id) : -1;
	enum store_answer answer = fd >= 0 ? STORE_OK : answer_of_read();

	if (shard >= 0)
		folder_close(shard);
	if (fd >= 0)
		*folder = fd;
	return answer;
}

enum store_answer store_read(int folder, const char *name, int *fd,
			     uint64_t *bytes)
{
	struct stat file;
	/* O_NONBLOCK: opening a pipe must not wait for a writer. */
	int opened =
		folder_is_file_name(name) ?
			openat(folder, name,
			       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) :
			-1;

	if (opened < 0)
		return folder_is_file_name(name) ? answer_of_read() :
						   STORE_NOT_FOUND;
	if (fstat(opened, &file) != 0 || !S_ISREG(file.st_mode)) {
		(void)close(opened);
		return STORE_NOT_FOUND;
	}
	*fd = opened;
	*bytes = (uint64_t)file.st_size;
	return STORE_OK;
}

bool store_is_checked(const struct store *s, int fd, const char *sha256)
{
	return checks_has(s->checks, fd, sha256);
}

enum store_answer store_check(const struct store *s, int fd, const char *sha256)
{
	return checks_make(s->checks, fd, sha256);
}

enum store_answer store_take_out(struct store *s, int folder, const char *id)
{
	char name[TEMPORARY_BYTES];
	bool moved, ok;
	int saved;

	name_temporary(s, name);
	moved = renameat(folder, id, s->tmp, name) == 0;
	ok = moved && fsync(folder) == 0;
	saved = errno;
	if (moved)
		release_bytes(s, folder_remove(s->tmp, name));
	errno = saved;
	if (ok || errno == ENOENT)
		return ok ? STORE_OK : STORE_NOT_FOUND;
	return STORE_FAILED;
}

enum store_answer store_extend(struct store *s, int folder, const char *id,
			       const struct store_file *file)
{
	uint64_t bytes = (file->count - 1) / s->block_bytes * s->block_bytes +
			 s->block_bytes;
	uint64_t added = 0;
	int entry = folder_open(folder, id), saved;
	enum store_answer answer = STORE_OK;

	if (entry < 0)
		return answer_of_read();
	release_bytes(s, folder_remove_file(entry, file->name));
	if (!reserve_bytes(s, bytes)) {
		folder_close(entry);
		return STORE_FULL;
	}
	if (!folder_add_file(entry, file, &added) || fsync(entry) != 0) {
		answer = answer_of_write();
		saved = errno;
		(void)folder_remove_file(entry, file->name);
		errno = saved;
		added = 0;
	}
	release_bytes(s, bytes - added);
	folder_close(entry);
	return answer;
}

enum store_answer store_move(struct store *s, int from, int to, const char *id)
{
	if (renameat(from, id, to, id) != 0) {
		if (errno != ENOTEMPTY && errno != EEXIST)
			return answer_of_read();
		if (store_take_out(s, to, id) == STORE_FAILED ||
		    renameat(from, id, to, id) != 0)
			return STORE_FAILED;
	}
	return fsync(to) == 0 && fsync(from) == 0 ? STORE_OK : STORE_FAILED;
}

int store_root(const struct store *s)
{
	return s->root;
}

struct spool *store_spool(const struct store *s)
{
	return s->spool;
}

enum store_answer store_delete(struct store *s, const char *id)
{
	int shard = open_shard(s, id);
	enum store_answer answer = STORE_FAILED;

	if (shard >= 0) {
		answer = store_take_out(s, shard, id);
		folder_close(shard);
	}
	if (answer == STORE_OK)
		atomic_fetch_add(&s->deleted_count, 1);
	if (answer == STORE_FAILED)
		atomic_fetch_add(&s->failed_count, 1);
	return answer;
}

void store_stats(const struct store *s, struct store_stats *out)
{
	*out = (struct store_stats){
		.quota_bytes = s->quota_bytes,
		.used_bytes = atomic_load(&s->used_bytes),
		.put_count = atomic_load(&s->put_count),
		.same_count = atomic_load(&s->same_count),
		.deleted_count = atomic_load(&s->deleted_count),
		.full_count = atomic_load(&s->full_count),
		.failed_count = atomic_load(&s->failed_count),
	};
	spool_stats(s->spool, &out->spool);
}
