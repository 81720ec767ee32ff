/* SPDX-License-Identifier: MIT */
#include "service/store/entries.h"

#include "base/clock.h"
#include "base/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

enum {
	STAT_BLOCK_BYTES = 512, /* unit of st_blocks on Linux, not in POSIX */
	PIECE_BYTES = 64 << 10, /* bytes read at a time */
	/* Digits of each of the two numbers in a temporary name. */
	TEMPORARY_DIGITS = 16,
	TEMPORARY_BYTES = 2 * TEMPORARY_DIGITS + 2,
	/*
	 * Attempts to move an entry.  Other threads may interfere, but rarely
	 * more often than this.
	 */
	MOVES_MAX = 8,
	BLOCK_BYTES_MIN = 512,
	/*
	 * Network file systems report the size of a transfer as that of a
	 * block.
	 */
	BLOCK_BYTES_MAX = 64 << 10,
};

static const char tmp_folder[] = "tmp";

static const char digits[] = "0123456789abcdef";

static const char ORIGINAL = 'z'; /* the last character of its key */

bool store_is_id(const char *text)
{
	enum { LAST = STORE_ID_BYTES - 2 };
	size_t count = strspn(text, digits);

	if (count == LAST && text[LAST] >= 'g' && text[LAST] < ORIGINAL)
		count++;
	return count == STORE_ID_BYTES - 1 && text[count] == '\0';
}

bool store_is_key(const char *text)
{
	enum { LAST = STORE_ID_BYTES - 2 };

	return store_is_id(text) ||
	       (strspn(text, digits) == LAST && strcmp(text + LAST, "z") == 0);
}

bool store_is_prefix(const char *text)
{
	size_t count = strspn(text, digits);

	return store_is_id(text) ||
	       (text[count] == '\0' && count < STORE_ID_BYTES);
}

void store_original_key(char key[STORE_ID_BYTES], const char *id)
{
	assert(store_is_id(id));
	(void)memcpy(key, id, STORE_ID_BYTES);
	key[STORE_ID_BYTES - 2] = ORIGINAL;
}

bool store_is_original(const char *key)
{
	return key[STORE_ID_BYTES - 2] == ORIGINAL;
}

uint32_t store_id_version(const char *id)
{
	char last = id[STORE_ID_BYTES - 2];

	return last > 'f' ? (uint32_t)(last - 'g') + 2 : 1;
}

bool store_is_sha256(const char *text)
{
	return strspn(text, digits) == STORE_ID_BYTES - 1 &&
	       text[STORE_ID_BYTES - 1] == '\0';
}

/* The length of the name that `text` begins with; 0: none. */
static size_t name_length(const char *text)
{
	size_t n = strspn(text, STORE_NAME_CHARS);

	return n < STORE_NAME_BYTES ? n : 0;
}

bool store_is_name(const char *text)
{
	size_t n = name_length(text);

	return n > 0 && text[n] == '\0';
}

bool store_is_file_name(const char *text)
{
	size_t n = name_length(text), ending;

	if (n == 0 || text[n] != '.')
		return false;
	ending = strspn(text + n + 1, "abcdefghijklmnopqrstuvwxyz0123456789");
	return ending > 0 && ending <= STORE_ENDING_CHARS &&
	       text[n + 1 + ending] == '\0';
}

bool store_has_dots(const char *path)
{
	while (*path != '\0') {
		size_t count = strcspn(path, "/");

		if (count > 0 && count <= 2 && strspn(path, ".") >= count)
			return true;
		path += count;
		path += *path == '/';
	}
	return false;
}

enum store_answer store_write_error(void)
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

static enum store_answer read_error(void)
{
	switch (errno) {
	case ENOENT:
	/* ENOTDIR and ELOOP: something of this name was not made by a store. */
	case ENOTDIR:
	case ELOOP:
		return STORE_NOT_FOUND;
	default:
		return STORE_FAILED;
	}
}

enum store_answer entry_read(int entry, const char *name, int *fd,
			     uint64_t *bytes)
{
	struct stat file;
	/* O_NONBLOCK: opening a pipe must not wait for a writer. */
	int opened =
		store_is_file_name(name) ?
			openat(entry, name,
			       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) :
			-1;

	if (opened < 0)
		return store_is_file_name(name) ? read_error() :
						  STORE_NOT_FOUND;
	if (fstat(opened, &file) != 0 || !S_ISREG(file.st_mode)) {
		(void)close(opened);
		return STORE_NOT_FOUND;
	}
	*fd = opened;
	*bytes = (uint64_t)file.st_size;
	return STORE_OK;
}

void folder_close(int fd)
{
	int saved = errno;

	(void)close(fd);
	errno = saved;
}

int folder_open(int parent, const char *name)
{
	return openat(parent, name,
		      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

DIR *folder_list(int parent, const char *name)
{
	int fd = folder_open(parent, name);
	DIR *list = fd >= 0 ? fdopendir(fd) : NULL;

	if (fd >= 0 && list == NULL)
		folder_close(fd);
	return list;
}

const char *folder_next(DIR *list)
{
	const struct dirent *next;

	do
		next = readdir(list);
	while (next != NULL && (strcmp(next->d_name, ".") == 0 ||
				strcmp(next->d_name, "..") == 0));
	return next != NULL ? next->d_name : NULL;
}

enum store_answer folder_find(int parent, const char *name, int *fd)
{
	int opened = folder_open(parent, name);

	if (opened < 0)
		return read_error();
	*fd = opened;
	return STORE_OK;
}

static uint64_t disk_bytes(const struct stat *file)
{
	return (uint64_t)file->st_blocks * STAT_BLOCK_BYTES;
}

/* The bytes that an open file or folder takes on the disk. */
static uint64_t disk_bytes_of(int fd)
{
	struct stat file;

	return fstat(fd, &file) == 0 ? disk_bytes(&file) : 0;
}

/* False: it is not a regular file. */
static bool stat_file(int folder, const char *name, struct stat *file)
{
	return fstatat(folder, name, file, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(file->st_mode);
}

/*
 * The bytes that the folder and its files take on the disk, in whole blocks.
 * 0: there is no such folder.
 */
static uint64_t folder_disk_bytes(int parent, const char *name)
{
	DIR *list = folder_list(parent, name);
	struct stat file;
	const char *next;
	uint64_t bytes;

	if (list == NULL)
		return 0;
	bytes = disk_bytes_of(dirfd(list));
	while ((next = folder_next(list)) != NULL)
		if (stat_file(dirfd(list), next, &file))
			bytes += disk_bytes(&file);
	(void)closedir(list);
	return bytes;
}

/* Returns the bytes that the file took on the disk; 0: it was not removed. */
static uint64_t folder_remove_file(int folder, const char *name)
{
	struct stat file;
	bool is_file = stat_file(folder, name, &file);

	return store_is_file_name(name) && unlinkat(folder, name, 0) == 0 &&
			       is_file ?
		       disk_bytes(&file) :
		       0;
}

/*
 * Remove the folder and its files as far as possible.  If it contains anything
 * other than files, that stays, and so does the folder.  If `name` is not a
 * folder, it is removed as a file.  Returns the bytes freed on the disk.
 */
static uint64_t folder_remove(int parent, const char *name)
{
	DIR *list = folder_list(parent, name);
	const char *next;
	uint64_t bytes = 0, folder_bytes;

	if (list == NULL) {
		(void)unlinkat(parent, name, 0);
		return 0;
	}
	folder_bytes = disk_bytes_of(dirfd(list));
	while ((next = folder_next(list)) != NULL)
		bytes += folder_remove_file(dirfd(list), next);
	(void)closedir(list);
	if (unlinkat(parent, name, AT_REMOVEDIR) == 0)
		bytes += folder_bytes;
	return bytes;
}

/*
 * Add a file to an open folder and sync it.  The bytes that it takes on the
 * disk are added to *bytes.  False: a part of it may exist.
 */
static bool folder_add_file(int folder, const struct store_file *f,
			    uint64_t *bytes)
{
	int fd = openat(folder, f->name,
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			0666);

	if (fd < 0)
		return false;
	/*
	 * Counted after fsync(), because some file systems choose blocks only
	 * then.
	 */
	if (file_write_all(fd, f->bytes, f->count) && fsync(fd) == 0) {
		*bytes += disk_bytes_of(fd);
		return close(fd) == 0;
	}
	folder_close(fd);
	return false;
}

/*
 * Make a folder with these files and sync it.  *bytes: its size on the disk.
 * False: a part of it may exist; *failed is the name of the file, or "" for the
 * folder itself.
 */
static bool folder_write(int parent, const char *name,
			 const struct store_file *files, uint32_t file_count,
			 uint64_t *bytes, const char **failed)
{
	*bytes = 0;
	*failed = "";
	if (mkdirat(parent, name, 0777) != 0)
		return false;

	int folder = folder_open(parent, name);

	if (folder < 0)
		return false;

	bool ok = true;

	for (uint32_t i = 0; ok && i < file_count; i++) {
		ok = folder_add_file(folder, &files[i], bytes);
		*failed = ok ? "" : files[i].name;
	}
	ok = ok && fsync(folder) == 0;
	*bytes += disk_bytes_of(folder);
	folder_close(folder);
	return ok;
}

/* Does an open file have exactly these bytes? */
static bool has_bytes(int fd, const uint8_t *bytes, size_t count)
{
	uint8_t piece[PIECE_BYTES];
	size_t at = 0;

	for (;;) {
		ssize_t n = read(fd, piece, sizeof(piece));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0 && at == count;
		if ((size_t)n > count - at ||
		    memcmp(piece, bytes + at, (size_t)n) != 0)
			return false;
		at += (size_t)n;
	}
}

static bool has_file(int folder, const struct store_file *f)
{
	uint64_t bytes;
	int fd;
	bool same;

	if (entry_read(folder, f->name, &fd, &bytes) != STORE_OK)
		return false;
	/* It may have been copied here, and not be on the disk yet. */
	same = bytes == f->count && has_bytes(fd, f->bytes, f->count) &&
	       fsync(fd) == 0;
	(void)close(fd);
	return same;
}

/* Does the folder have all these files, with these bytes? */
static bool folder_has(int parent, const char *name,
		       const struct store_file *files, uint32_t file_count)
{
	int folder = folder_open(parent, name);
	bool same = folder >= 0;

	for (uint32_t i = 0; same && i < file_count; i++)
		same = has_file(folder, &files[i]);
	same = same && fsync(folder) == 0;
	if (folder >= 0)
		(void)close(folder);
	return same;
}

static bool read_block_bytes(struct entries *e)
{
	struct statvfs system;

	if (fstatvfs(e->tmp, &system) != 0)
		return false;
	e->block_bytes = system.f_frsize;
	if (e->block_bytes < BLOCK_BYTES_MIN)
		e->block_bytes = BLOCK_BYTES_MIN;
	if (e->block_bytes > BLOCK_BYTES_MAX)
		e->block_bytes = BLOCK_BYTES_MAX;
	return true;
}

/* Is it a name made by name_temporary()? */
static bool is_temporary(const char *name)
{
	return strspn(name, digits) == TEMPORARY_DIGITS &&
	       name[TEMPORARY_DIGITS] == '-' &&
	       strspn(name + TEMPORARY_DIGITS + 1, digits) ==
		       TEMPORARY_DIGITS &&
	       name[TEMPORARY_BYTES - 1] == '\0';
}

/* Remove entries that a crash left half made or half removed. */
static bool clear_temporary(const struct entries *e)
{
	DIR *list = folder_list(e->tmp, ".");
	const char *name;

	if (list == NULL)
		return false;
	while ((name = folder_next(list)) != NULL)
		if (is_temporary(name))
			(void)folder_remove(e->tmp, name);
	(void)closedir(list);
	return true;
}

bool entries_open(struct entries *e, int root, uint64_t quota_bytes)
{
	e->quota_bytes = quota_bytes;
	e->opened_ns = clock_read_ns(CLOCK_REALTIME);
	e->tmp = folder_open(root, tmp_folder);
	return e->tmp >= 0 && read_block_bytes(e) && clear_temporary(e);
}

bool entries_count(struct entries *e, int root, const char *folder)
{
	DIR *list;
	const char *id;

	if (e->quota_bytes == 0)
		return true;
	list = folder_list(root, folder);
	if (list == NULL)
		return false;
	while ((id = folder_next(list)) != NULL)
		if (store_is_key(id))
			atomic_fetch_add(&e->used_bytes,
					 folder_disk_bytes(dirfd(list), id));
	(void)closedir(list);
	return true;
}

/* The path of a file of an entry; `entry` and `file` may be "". */
static void print_path(char path[ENTRIES_PATH_BYTES], const char *folder,
		       const char *entry, const char *file)
{
	(void)snprintf(path, ENTRIES_PATH_BYTES, "%s%s%s%s%s", folder,
		       entry[0] != '\0' ? "/" : "", entry,
		       file[0] != '\0' ? "/" : "", file);
}

/* Tell the owner of `e` what errno is about.  Does not change errno. */
static void tell_failed(const struct entries *e, const char *folder,
			const char *entry, const char *file)
{
	char path[ENTRIES_PATH_BYTES];
	int saved = errno;

	print_path(path, folder, entry, file);
	if (e->failed != NULL)
		e->failed(e->failed_arg, path, saved);
	errno = saved;
}

/* The answer after a failure that was told, from errno. */
static enum store_answer failed_at(const struct entries *e,
				   const struct entry_folder *folder,
				   const char *entry, const char *file)
{
	tell_failed(e, folder->name, entry, file);
	return store_write_error();
}

/*
 * The answer after an entry could not be opened or moved, from errno; told if
 * the entry is not just missing.
 */
static enum store_answer missing_at(const struct entries *e,
				    const struct entry_folder *folder,
				    const char *id)
{
	enum store_answer answer = read_error();

	if (answer == STORE_FAILED)
		tell_failed(e, folder->name, id, "");
	return answer;
}

/* False: the folder cannot be synced, which was told. */
static bool sync_folder(const struct entries *e,
			const struct entry_folder *folder)
{
	if (fsync(folder->fd) == 0)
		return true;
	tell_failed(e, folder->name, "", "");
	return false;
}

static void name_temporary(struct entries *e, char name[TEMPORARY_BYTES])
{
	(void)snprintf(name, TEMPORARY_BYTES, "%016" PRIx64 "-%016" PRIx64,
		       e->opened_ns, atomic_fetch_add(&e->temporary_next, 1));
}

/* False: the quota would be exceeded. */
static bool reserve_bytes(struct entries *e, uint64_t bytes)
{
	uint64_t used = atomic_load(&e->used_bytes);

	if (e->quota_bytes == 0)
		return true;
	do {
		if (used > e->quota_bytes || bytes > e->quota_bytes - used)
			return false;
	} while (!atomic_compare_exchange_weak(&e->used_bytes, &used,
					       used + bytes));
	return true;
}

static void release_bytes(struct entries *e, uint64_t bytes)
{
	if (e->quota_bytes > 0)
		(void)atomic_fetch_sub(&e->used_bytes, bytes);
}

/* Bytes of a file on the disk: whole blocks. */
static uint64_t estimate_file_bytes(const struct entries *e,
				    const struct store_file *f)
{
	return ((f->count - 1) / e->block_bytes + 1) * e->block_bytes;
}

/* Bytes of an entry on the disk: its files, and a block for its folder. */
static uint64_t estimate_bytes(const struct entries *e,
			       const struct store_file *files,
			       uint32_t file_count)
{
	uint64_t bytes = e->block_bytes;

	for (uint32_t i = 0; i < file_count; i++)
		bytes += estimate_file_bytes(e, &files[i]);
	return bytes;
}

/*
 * Write the entry as `name` into tmp/.  *reserved is the estimated size before
 * the call, and the real size after it.
 */
static bool write_temporary(struct entries *e, const char *name,
			    const struct store_file *files, uint32_t file_count,
			    uint64_t *reserved)
{
	const char *failed;
	uint64_t bytes;

	if (!folder_write(e->tmp, name, files, file_count, &bytes, &failed)) {
		tell_failed(e, tmp_folder, name, failed);
		return false;
	}
	/* Unsigned arithmetic: also correct if `bytes` is larger. */
	release_bytes(e, *reserved - bytes);
	*reserved = bytes;
	return true;
}

/*
 * Move the entry `name` from tmp/ to its place.  *moved is true if this was
 * done: then tmp/ contains what was in that place before, if anything.  *moved
 * is false if another thread has made the same entry: then this one stays in
 * tmp/.  False: failed, see errno.
 */
static bool move_in(const struct entries *e, const char *name, int shard,
		    const char *id, const struct store_file *files,
		    uint32_t file_count, bool *moved)
{
	for (int i = 0; i < MOVES_MAX; i++) {
		*moved = true;
		if (renameat(e->tmp, name, shard, id) == 0)
			return true;
		*moved = false;
		if (errno != ENOTEMPTY && errno != EEXIST)
			return false;
		if (folder_has(shard, id, files, file_count))
			return true;
		*moved = true;
		if (renameat2(e->tmp, name, shard, id, RENAME_EXCHANGE) == 0)
			return true;
		*moved = false;
		if (errno != ENOENT) /* deleted meanwhile */
			return false;
	}
	return false;
}

/* As move_in(); a failure is told. */
static bool move_to_place(const struct entries *e, const char *name,
			  const struct entry_folder *folder, const char *id,
			  const struct store_file *files, uint32_t file_count,
			  bool *moved)
{
	if (move_in(e, name, folder->fd, id, files, file_count, moved))
		return true;
	tell_failed(e, folder->name, id, "");
	return false;
}

/* STORE_OK: the entry exists; *moved is true if this call made it. */
static enum store_answer
make_entry(struct entries *e, const struct entry_folder *folder, const char *id,
	   const struct store_file *files, uint32_t file_count, bool *moved)
{
	char name[TEMPORARY_BYTES];
	uint64_t bytes = estimate_bytes(e, files, file_count);

	if (!reserve_bytes(e, bytes)) {
		errno = 0;
		tell_failed(e, "", "", "");
		return STORE_FULL;
	}
	name_temporary(e, name);

	bool ok = write_temporary(e, name, files, file_count, &bytes) &&
		  move_to_place(e, name, folder, id, files, file_count, moved);
	enum store_answer answer = ok ? STORE_OK : store_write_error();
	int saved = errno;
	uint64_t discarded = folder_remove(e->tmp, name);

	release_bytes(e, *moved ? discarded : bytes);
	errno = saved;
	return answer;
}

bool entries_try(struct entries *e, char file[ENTRIES_PATH_BYTES])
{
	static const struct store_file files[] = { { "trial.txt", "", 1 } };
	char name[TEMPORARY_BYTES];
	const char *failed;
	uint64_t bytes;
	bool ok;
	int saved;

	name_temporary(e, name);
	ok = folder_write(e->tmp, name, files, ARRAY_SIZE(files), &bytes,
			  &failed);
	saved = errno;
	if (!ok)
		print_path(file, tmp_folder, name, failed);
	(void)folder_remove(e->tmp, name);
	errno = saved;
	return ok;
}

enum store_answer entry_put(struct entries *e,
			    const struct entry_folder *folder, const char *id,
			    const struct store_file *files, uint32_t file_count,
			    bool *moved)
{
	enum store_answer answer = STORE_OK;

	for (uint32_t i = 0; i < file_count; i++)
		assert(store_is_file_name(files[i].name) && files[i].count > 0);
	*moved = false;
	if (!folder_has(folder->fd, id, files, file_count))
		answer = make_entry(e, folder, id, files, file_count, moved);
	/*
	 * Also done if another thread moved the entry, because that thread may
	 * not have synced the folder yet.
	 */
	if (answer == STORE_OK && !sync_folder(e, folder))
		answer = store_write_error();
	return answer;
}

/* Write the entry into tmp/, and exchange it with the one in its place. */
static enum store_answer
exchange(struct entries *e, const struct entry_folder *folder, const char *id,
	 const struct store_file *files, uint32_t file_count, uint64_t bytes)
{
	char name[TEMPORARY_BYTES];
	enum store_answer answer;
	bool moved = false;
	int saved;

	name_temporary(e, name);
	if (!write_temporary(e, name, files, file_count, &bytes)) {
		answer = store_write_error();
	} else {
		moved = renameat2(e->tmp, name, folder->fd, id,
				  RENAME_EXCHANGE) == 0;
		answer = moved ? STORE_OK : missing_at(e, folder, id);
	}
	saved = errno;
	/* The new one is durable before the old one goes. */
	if (moved && !sync_folder(e, folder)) {
		answer = store_write_error();
		saved = errno;
	}
	/* In tmp/ is what was in its place, or the new one. */
	release_bytes(e, moved ? folder_remove(e->tmp, name) : bytes);
	if (!moved)
		(void)folder_remove(e->tmp, name);
	errno = saved;
	return answer;
}

enum store_answer entry_replace(struct entries *e,
				const struct entry_folder *folder,
				const char *id, const struct store_file *files,
				uint32_t file_count)
{
	uint64_t bytes = estimate_bytes(e, files, file_count);

	for (uint32_t i = 0; i < file_count; i++)
		assert(store_is_file_name(files[i].name) && files[i].count > 0);
	if (reserve_bytes(e, bytes))
		return exchange(e, folder, id, files, file_count, bytes);
	/* It is smaller than what it would replace: this is no failure. */
	errno = 0;
	return STORE_FULL;
}

uint64_t entry_age_s(int entry)
{
	uint64_t now_s = clock_read_ns(CLOCK_REALTIME) / NS_PER_S;
	struct stat folder;

	if (fstat(entry, &folder) != 0 || folder.st_mtim.tv_sec < 0 ||
	    (uint64_t)folder.st_mtim.tv_sec > now_s)
		return 0;
	return now_s - (uint64_t)folder.st_mtim.tv_sec;
}

static enum store_answer remove_entry(struct entries *e,
				      const struct entry_folder *folder,
				      const char *id, bool is_synced)
{
	char name[TEMPORARY_BYTES];
	bool moved, ok;
	int saved;

	name_temporary(e, name);
	moved = renameat(folder->fd, id, e->tmp, name) == 0;
	ok = moved && (!is_synced || fsync(folder->fd) == 0);
	saved = errno;
	if (moved)
		release_bytes(e, folder_remove(e->tmp, name));
	errno = saved;
	if (ok || errno == ENOENT)
		return ok ? STORE_OK : STORE_NOT_FOUND;
	tell_failed(e, folder->name, id, "");
	return STORE_FAILED;
}

enum store_answer entry_remove(struct entries *e,
			       const struct entry_folder *folder,
			       const char *id)
{
	return remove_entry(e, folder, id, true);
}

enum store_answer entry_drop(struct entries *e,
			     const struct entry_folder *folder, const char *id)
{
	return remove_entry(e, folder, id, false);
}

/*
 * Write the file into tmp/, and move it into an open entry, in place of the one
 * with its name.  Until then that one stays as it is.  False: see errno.
 */
static bool replace_file(struct entries *e, int entry,
			 const struct store_file *file, uint64_t *bytes)
{
	char name[TEMPORARY_BYTES];
	struct store_file draft = *file;
	int saved;

	name_temporary(e, name);
	draft.name = name;
	if (folder_add_file(e->tmp, &draft, bytes) &&
	    renameat(e->tmp, name, entry, file->name) == 0)
		return true;
	saved = errno;
	(void)unlinkat(e->tmp, name, 0);
	errno = saved;
	return false;
}

enum store_answer entry_extend(struct entries *e,
			       const struct entry_folder *folder,
			       const char *id, const struct store_file *file)
{
	uint64_t bytes = estimate_file_bytes(e, file), old_bytes, added = 0;
	int entry = folder_open(folder->fd, id);
	enum store_answer answer = STORE_OK;
	struct stat old;

	assert(store_is_file_name(file->name) && file->count > 0);
	if (entry < 0)
		return missing_at(e, folder, id);
	old_bytes = stat_file(entry, file->name, &old) ? disk_bytes(&old) : 0;
	bytes = bytes > old_bytes ? bytes - old_bytes : 0;
	if (bytes > 0 && !reserve_bytes(e, bytes)) {
		folder_close(entry);
		errno = 0;
		tell_failed(e, "", "", "");
		return STORE_FULL;
	}
	if (replace_file(e, entry, file, &added)) {
		/* Unsigned arithmetic: also correct if the file has grown. */
		release_bytes(e, bytes + old_bytes - added);
		if (fsync(entry) != 0)
			answer = failed_at(e, folder, id, file->name);
	} else {
		answer = failed_at(e, folder, id, file->name);
		release_bytes(e, bytes);
	}
	folder_close(entry);
	return answer;
}

/* A file of entry_append() begins with the number of bytes behind it. */
enum { COUNT_BYTES = 8 };

/* False: it has no such number. */
static bool read_count(int fd, uint64_t *count)
{
	uint8_t bytes[COUNT_BYTES];

	if (pread(fd, bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return false;
	*count = 0;
	for (int i = COUNT_BYTES - 1; i >= 0; i--)
		*count = *count << 8 | bytes[i];
	return true;
}

/* The bytes before the number was written are synced, and then the number. */
static bool write_count(int fd, uint64_t count)
{
	uint8_t bytes[COUNT_BYTES];

	for (int i = 0; i < COUNT_BYTES; i++)
		bytes[i] = (uint8_t)(count >> (8 * i));
	if (fdatasync(fd) != 0)
		return false;
	return pwrite(fd, bytes, sizeof(bytes), 0) == (ssize_t)sizeof(bytes) &&
	       fdatasync(fd) == 0;
}

/* errno is 0: the quota would be exceeded. */
static bool append_to_file(struct entries *e, int fd, uint64_t offset,
			   const struct store_file *more)
{
	const uint64_t end = COUNT_BYTES + offset + more->count;
	const struct store_file whole = { "", NULL, (size_t)end };
	uint64_t before = disk_bytes_of(fd), after;
	uint64_t wanted = estimate_file_bytes(e, &whole);
	bool ok;
	int saved;

	wanted = wanted > before ? wanted - before : 0;
	if (!reserve_bytes(e, wanted)) {
		errno = 0;
		return false;
	}
	ok = lseek(fd, (off_t)(COUNT_BYTES + offset), SEEK_SET) >= 0 &&
	     file_write_all(fd, more->bytes, more->count) &&
	     write_count(fd, offset + more->count);
	saved = errno;
	after = disk_bytes_of(fd);
	/* Unsigned arithmetic: also correct if the file has grown by more. */
	release_bytes(e, before + wanted - after);
	errno = saved;
	return ok;
}

enum store_answer entry_append(struct entries *e,
			       const struct entry_folder *folder,
			       const char *id, const char *name,
			       uint64_t offset, const void *bytes, size_t count)
{
	const struct store_file more = { name, bytes, count };
	int entry = folder_open(folder->fd, id), fd;
	enum store_answer answer = STORE_OK;

	assert(store_is_file_name(name) && count > 0);
	if (entry < 0)
		return missing_at(e, folder, id);
	fd = openat(entry, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
		    0666);
	if (fd < 0 || !append_to_file(e, fd, offset, &more) ||
	    (offset == 0 && fsync(entry) != 0))
		answer = errno == 0 ? STORE_FULL :
				      failed_at(e, folder, id, name);
	if (fd >= 0)
		folder_close(fd);
	folder_close(entry);
	return answer;
}

enum store_answer entry_read_appended(int entry, const char *name, int *fd,
				      uint64_t *bytes)
{
	enum store_answer answer = entry_read(entry, name, fd, bytes);
	uint64_t size, count;

	if (answer != STORE_OK)
		return answer;
	size = *bytes;
	if (read_count(*fd, &count) && size >= COUNT_BYTES &&
	    count <= size - COUNT_BYTES &&
	    lseek(*fd, COUNT_BYTES, SEEK_SET) == COUNT_BYTES) {
		*bytes = count;
		return STORE_OK;
	}
	folder_close(*fd);
	/* A crash came before the first number was synced. */
	return STORE_NOT_FOUND;
}

enum store_answer entry_reduce(struct entries *e,
			       const struct entry_folder *folder,
			       const char *id, const char *name)
{
	int entry = folder_open(folder->fd, id);
	enum store_answer answer = STORE_OK;
	struct stat old;
	uint64_t bytes = 0;

	assert(store_is_file_name(name));
	if (entry < 0)
		return missing_at(e, folder, id);
	if (stat_file(entry, name, &old))
		bytes = disk_bytes(&old);
	if (unlinkat(entry, name, 0) == 0)
		release_bytes(e, bytes);
	else if (errno != ENOENT)
		answer = failed_at(e, folder, id, name);
	if (answer == STORE_OK && fsync(entry) != 0)
		answer = failed_at(e, folder, id, name);
	folder_close(entry);
	return answer;
}

enum store_answer entry_move(struct entries *e, const struct entry_folder *from,
			     const struct entry_folder *to, const char *id)
{
	if (renameat(from->fd, id, to->fd, id) != 0) {
		if (errno != ENOTEMPTY && errno != EEXIST)
			return missing_at(e, from, id);
		if (entry_remove(e, to, id) == STORE_FAILED)
			return STORE_FAILED;
		if (renameat(from->fd, id, to->fd, id) != 0) {
			tell_failed(e, to->name, id, "");
			return STORE_FAILED;
		}
	}
	return sync_folder(e, to) && sync_folder(e, from) ? STORE_OK :
							    STORE_FAILED;
}
