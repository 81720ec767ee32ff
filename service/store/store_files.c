/* SPDX-License-Identifier: MIT */
#include "service/store/store_files.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nettle/base16.h>
#include <nettle/sha2.h>

void folder_close(int fd)
{
	int saved = errno;

	(void)close(fd);
	errno = saved;
}

bool store_is_id(const char *text)
{
	return strspn(text, "0123456789abcdef") == STORE_ID_BYTES - 1 &&
	       text[STORE_ID_BYTES - 1] == '\0';
}

/* The length of the name that `text` begins with; 0: none. */
static size_t name_length(const char *text)
{
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_-");

	return n < STORE_NAME_BYTES ? n : 0;
}

bool store_is_name(const char *text)
{
	size_t n = name_length(text);

	return n > 0 && text[n] == '\0';
}

bool folder_is_file_name(const char *text)
{
	size_t n = name_length(text);

	return n > 0 && (strcmp(text + n, ".jpg") == 0 ||
			 strcmp(text + n, ".json") == 0 ||
			 strcmp(text + n, ".txt") == 0);
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

enum {
	/* The unit of st_blocks on Linux; POSIX does not define it. */
	STAT_BLOCK_BYTES = 512,
	PIECE_BYTES = 64 << 10, /* read at a time */
};

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

uint64_t folder_disk_bytes(int parent, const char *name)
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

uint64_t folder_remove_file(int folder, const char *name)
{
	struct stat file;
	bool is_file = stat_file(folder, name, &file);

	return folder_is_file_name(name) && unlinkat(folder, name, 0) == 0 &&
			       is_file ?
		       disk_bytes(&file) :
		       0;
}

uint64_t folder_remove(int parent, const char *name)
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

static bool write_all(int fd, const void *bytes, size_t count)
{
	const char *at = bytes;

	while (count > 0) {
		ssize_t n = write(fd, at, count);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		count -= (size_t)n;
	}
	return true;
}

bool folder_add_file(int folder, const struct store_file *f, uint64_t *bytes)
{
	int fd = openat(folder, f->name,
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			0666);

	if (fd < 0)
		return false;
	/* After fsync(): some file systems choose blocks only then. */
	if (write_all(fd, f->bytes, f->count) && fsync(fd) == 0) {
		*bytes += disk_bytes_of(fd);
		return close(fd) == 0;
	}
	folder_close(fd);
	return false;
}

bool folder_write(int parent, const char *name, const struct store_file *files,
		  uint32_t file_count, uint64_t *bytes)
{
	*bytes = 0;
	if (mkdirat(parent, name, 0777) != 0)
		return false;

	int folder = folder_open(parent, name);

	if (folder < 0)
		return false;

	bool ok = true;

	for (uint32_t i = 0; ok && i < file_count; i++)
		ok = folder_add_file(folder, &files[i], bytes);
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

	if (store_read(folder, f->name, &fd, &bytes) != STORE_OK)
		return false;
	same = bytes == f->count && has_bytes(fd, f->bytes, f->count);
	(void)close(fd);
	return same;
}

bool folder_has(int parent, const char *name, const struct store_file *files,
		uint32_t file_count)
{
	int folder = folder_open(parent, name);
	bool same = folder >= 0;

	for (uint32_t i = 0; same && i < file_count; i++)
		same = has_file(folder, &files[i]);
	if (folder >= 0)
		(void)close(folder);
	return same;
}

/*
 * Reading a file to its end only to check it costs as much as sending it.  So
 * the files that were whole are remembered, together with what a change of them
 * would change.  Only for a while, because a disk can lose what it had.
 */
enum {
	SETS = 4096,
	WAYS = 4, /* files of a set */
	READ_BYTES = 64 << 10,
	KNOWN_BYTES = 8, /* of a SHA-256 are remembered */
};

#define REMEMBERED_NS (UINT64_C(3600) * 1000000000)

struct known_file {
	uint64_t inode, bytes;
	struct timespec changed; /* by the system: no program can set it */
	uint8_t sha256[KNOWN_BYTES];
	uint64_t until_ns; /* 0: none */
};

struct checks {
	pthread_mutex_t lock;
	struct known_file files[SETS][WAYS];
};

struct checks *checks_new(void)
{
	struct checks *c = calloc(1, sizeof(*c));

	if (c != NULL)
		(void)pthread_mutex_init(&c->lock, NULL);
	return c;
}

void checks_free(struct checks *c)
{
	if (c == NULL)
		return;
	(void)pthread_mutex_destroy(&c->lock);
	free(c);
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

/* Replace the file of its set that would be forgotten first. */
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

bool checks_has(struct checks *c, int fd, const char *sha256)
{
	uint8_t expected[SHA256_DIGEST_SIZE];
	struct known_file file;

	return read_sha256(expected, sha256) &&
	       describe_file(&file, fd, expected) && checks_knows(c, &file);
}

enum store_answer checks_make(struct checks *c, int fd, const char *sha256)
{
	uint8_t expected[SHA256_DIGEST_SIZE], found[SHA256_DIGEST_SIZE];
	struct known_file file;

	if (!read_sha256(expected, sha256))
		return STORE_DAMAGED;
	/* Before reading: so a change meanwhile is noticed later. */
	if (!describe_file(&file, fd, expected))
		return STORE_FAILED;
	if (!hash_file(fd, found))
		/* EIO: the disk has lost a block. */
		return errno == EIO ? STORE_DAMAGED : STORE_FAILED;
	if (memcmp(found, expected, sizeof(found)) != 0)
		return STORE_DAMAGED;
	checks_remember(c, &file);
	return STORE_OK;
}
