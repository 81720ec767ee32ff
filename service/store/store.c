/* SPDX-License-Identifier: MIT */
#include "service/store/store_folder.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	SHARDS = 256, /* folders of entries, by the first two digits */
	SHARD_BYTES = 3,
	TEMPORARY_DIGITS = 16, /* of each of two numbers */
	TEMPORARY_BYTES = 2 * TEMPORARY_DIGITS + 2,
	/* Others may come in between, but hardly that often. */
	MOVES_MAX = 8,
};

struct store {
	int root, tmp, marker;
	uint64_t quota_bytes;
	uint64_t opened_ns; /* names in tmp/ begin with it */
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
	case ENOTDIR: /* neither is what stands here of ours */
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

/* False: errno says why. */
static bool make_folders(int root)
{
	char shard[SHARD_BYTES];

	if (mkdirat(root, "tmp", 0777) != 0 && errno != EEXIST)
		return false;
	for (unsigned int i = 0; i < SHARDS; i++) {
		(void)snprintf(shard, sizeof(shard), "%02x", i);
		if (mkdirat(root, shard, 0777) != 0 && errno != EEXIST)
			return false;
	}
	return fsync(root) == 0;
}

/* Is it a name that name_temporary() makes? */
static bool is_temporary(const char *name)
{
	static const char digits[] = "0123456789abcdef";

	return strspn(name, digits) == TEMPORARY_DIGITS &&
	       name[TEMPORARY_DIGITS] == '-' &&
	       strspn(name + TEMPORARY_DIGITS + 1, digits) ==
		       TEMPORARY_DIGITS &&
	       name[TEMPORARY_BYTES - 1] == '\0';
}

/* Remove what a crash left half made or half removed. */
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

static bool count_used(struct store *s)
{
	char shard[SHARD_BYTES];
	uint64_t bytes = 0;

	for (unsigned int i = 0; s->quota_bytes > 0 && i < SHARDS; i++) {
		DIR *list;
		const char *id;

		(void)snprintf(shard, sizeof(shard), "%02x", i);
		list = folder_list(s->root, shard);
		if (list == NULL)
			return false;
		while ((id = folder_next(list)) != NULL)
			if (store_is_id(id))
				bytes += folder_bytes(dirfd(list), id);
		(void)closedir(list);
	}
	atomic_store(&s->used_bytes, bytes);
	return true;
}

static bool begin(struct store *s, const char *path, const char **why)
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
		if (s->tmp >= 0 && clear_temporary(s) && count_used(s))
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
	if (begin(s, path, why))
		return s;
	store_close(s);
	return NULL;
}

void store_close(struct store *s)
{
	if (s == NULL)
		return;

	const int fds[] = { s->tmp, s->root, s->marker };

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
	free(s);
}

static void name_temporary(struct store *s, char name[TEMPORARY_BYTES])
{
	(void)snprintf(name, TEMPORARY_BYTES, "%016" PRIx64 "-%016" PRIx64,
		       s->opened_ns, atomic_fetch_add(&s->temporary_next, 1));
}

/* False: it would be over the quota. */
static bool reserve(struct store *s, uint64_t bytes)
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

static void unreserve(struct store *s, uint64_t bytes)
{
	if (s->quota_bytes > 0)
		(void)atomic_fetch_sub(&s->used_bytes, bytes);
}

/*
 * Put the entry `name` of tmp/ in its place.  *moved: it is there, and in tmp/
 * is what was there before, if anything; else it stays, as another thread has
 * made the same.  False: errno says why.
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

/* Returns STORE_OK if it is there, by this thread if *moved. */
static enum store_answer make(struct store *s, int shard, const char *id,
			      const struct store_file *files,
			      uint32_t file_count, bool *moved)
{
	char name[TEMPORARY_BYTES];
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < file_count; i++)
		bytes += files[i].count;
	if (!reserve(s, bytes))
		return STORE_FULL;
	name_temporary(s, name);

	bool ok = folder_write(s->tmp, name, files, file_count) &&
		  move_in(s, name, shard, id, files, file_count, moved);
	enum store_answer answer = ok ? STORE_OK : answer_of_write();
	int saved = errno;
	uint64_t discarded = folder_remove(s->tmp, name);

	unreserve(s, *moved ? discarded : bytes);
	errno = saved;
	return answer;
}

static enum store_answer put(struct store *s, const char *id,
			     const struct store_file *files,
			     uint32_t file_count, bool *moved)
{
	enum store_answer answer = STORE_OK;
	int shard = open_shard(s, id);

	if (shard < 0)
		return answer_of_write();
	if (!folder_has(shard, id, files, file_count))
		answer = make(s, shard, id, files, file_count, moved);
	/* Also where another thread moved it and may not have got so far. */
	if (answer == STORE_OK && fsync(shard) != 0)
		answer = answer_of_write();
	folder_close(shard);
	return answer;
}

enum store_answer store_put(struct store *s, const char *id,
			    const struct store_file *files, uint32_t file_count)
{
	bool moved = false;

	for (uint32_t i = 0; i < file_count; i++)
		assert(folder_is_file_name(files[i].name) &&
		       files[i].count > 0);

	enum store_answer answer = put(s, id, files, file_count, &moved);

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
	/* Not to wait for whoever might write to a pipe. */
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

enum store_answer store_delete(struct store *s, const char *id)
{
	char name[TEMPORARY_BYTES];
	int shard = open_shard(s, id);
	bool moved = false, ok = shard >= 0;
	int saved;

	name_temporary(s, name);
	ok = ok && renameat(shard, id, s->tmp, name) == 0;
	moved = ok;
	ok = ok && fsync(shard) == 0;
	saved = errno;
	if (moved)
		unreserve(s, folder_remove(s->tmp, name));
	if (shard >= 0)
		(void)close(shard);
	errno = saved;
	if (ok)
		atomic_fetch_add(&s->deleted_count, 1);
	if (ok || errno == ENOENT)
		return ok ? STORE_OK : STORE_NOT_FOUND;
	atomic_fetch_add(&s->failed_count, 1);
	return STORE_FAILED;
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
}
