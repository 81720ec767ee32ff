/* SPDX-License-Identifier: MIT */
/*
 * Promises: whatever system call fails, an entry is whole or not there, nothing
 * is left over, the quota's count stays exact, and the store goes on.  And what
 * was stored is on the disk: all of it was synced, in an order that a loss of
 * power cannot make a part of.
 *
 * Linked with --wrap for the calls that make and move files.
 */
#include "service/test/store_fixture.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>

/* The call after so many more fails with `fails_with`; -1: none does. */
static _Atomic long calls_left = -1;
static int fails_with;

static bool fails(void)
{
	if (atomic_load(&calls_left) < 0 || atomic_fetch_sub(&calls_left, 1))
		return false;
	errno = fails_with;
	return true;
}

#define WRAP(type, name, parameters, arguments)                                \
	type __real_##name parameters;                                         \
	type __wrap_##name parameters;                                         \
	type __wrap_##name parameters                                          \
	{                                                                      \
		return fails() ? (type)-1 : __real_##name arguments;           \
	}

WRAP(int, mkdirat, (int at, const char *name, mode_t mode), (at, name, mode))
WRAP(int, openat, (int at, const char *name, int flags, mode_t mode),
     (at, name, flags, mode))
WRAP(int, renameat2,
     (int at, const char *name, int to, const char *new, unsigned int flags),
     (at, name, to, new, flags))

/* The files and folders synced so far, with a 0 for each rename. */
static struct {
	ino_t inodes[16];
	uint32_t count;
} synced;

static void note(ino_t inode)
{
	if (synced.count < sizeof(synced.inodes) / sizeof(synced.inodes[0]))
		synced.inodes[synced.count++] = inode;
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);

int __wrap_fsync(int fd)
{
	struct stat file;

	if (fails())
		return -1;
	assert(fstat(fd, &file) == 0);
	note(file.st_ino);
	return __real_fsync(fd);
}

int __real_renameat(int at, const char *name, int to, const char *new);
int __wrap_renameat(int at, const char *name, int to, const char *new);

int __wrap_renameat(int at, const char *name, int to, const char *new)
{
	if (fails())
		return -1;
	note(0);
	return __real_renameat(at, name, to, new);
}

ssize_t __real_write(int fd, const void *bytes, size_t count);
ssize_t __wrap_write(int fd, const void *bytes, size_t count);

/* One byte at most, as a disk that gets full or a signal may have it. */
ssize_t __wrap_write(int fd, const void *bytes, size_t count)
{
	return fails() ? -1 : __real_write(fd, bytes, count > 0);
}

typedef enum store_answer operation_fn(struct store *s);

static enum store_answer put_it(struct store *s)
{
	return store_put(s, ID_A, files, FILE_COUNT);
}

static enum store_answer delete_it(struct store *s)
{
	return store_delete(s, ID_A);
}

static enum store_answer put_over_damaged(struct store *s)
{
	return store_put(s, ID_A, files, FILE_COUNT);
}

static void prepare(struct store *s, operation_fn *operation)
{
	if (operation == put_it)
		return;
	assert(store_put(s, ID_A, files, FILE_COUNT) == STORE_OK);
	if (operation == put_over_damaged)
		run("rm aa/" ID_A "/small.jpg");
}

/* The operation with the call after `call_count` failing.  False: none did. */
static bool fail_one(struct store *s, long call_count, int error,
		     enum store_answer expected, operation_fn *operation)
{
	prepare(s, operation);
	uint64_t missing = bytes_on_disk() - stats_of(s).used_bytes;

	errno = 0;
	fails_with = error;
	atomic_store(&calls_left, call_count);
	enum store_answer answer = operation(s);
	int why = errno;
	bool failed = atomic_exchange(&calls_left, -1) < 0;

	/* Not all failures matter, such as one to look for the same. */
	assert(answer == STORE_OK || (failed && answer == expected));
	assert(answer == STORE_OK || expected != STORE_FAILED || why == error);
	assert(bytes_on_disk() == stats_of(s).used_bytes + missing);
	if (answer == STORE_OK && operation == delete_it)
		assert(is_absent(s, ID_A));
	else if (answer == STORE_OK)
		check_whole(s, ID_A);
	else if (operation == put_it && !is_absent(s, ID_A))
		check_whole(s, ID_A); /* the last sync */
	/* The store goes on. */
	assert(put_it(s) == STORE_OK);
	check_whole(s, ID_A);
	assert(delete_it(s) == STORE_OK);
	return failed;
}

static void fail_each(int error, enum store_answer expected,
		      operation_fn *operation)
{
	struct store *s = open_store(1000);
	long call_count = 0;

	while (fail_one(s, call_count, error, expected, operation))
		assert(++call_count < 1000);
	assert(call_count > 3);
	store_close(s);
	store_close(open_store(0));
	check_nothing_is_left();
}

static void test_any_call_may_fail(void)
{
	static operation_fn *const operations[] = { put_it, put_over_damaged,
						    delete_it };

	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		fail_each(EIO, STORE_FAILED, operations[i]);
	fail_each(EROFS, STORE_FAILED, put_it);
	fail_each(EMFILE, STORE_FAILED, put_it);
	fail_each(ENOSPC, STORE_FULL, put_it);
	fail_each(EDQUOT, STORE_FULL, put_it);
}

/* Its place among what was synced. */
static uint32_t when_synced(const char *name)
{
	char path[256];
	struct stat file = { .st_ino = 0 };
	uint32_t i = 0;

	if (name != NULL) {
		(void)snprintf(path, sizeof(path), "%s/aa/%s", folder, name);
		assert(stat(path, &file) == 0);
	}
	while (i < synced.count && synced.inodes[i] != file.st_ino)
		i++;
	assert(i < synced.count);
	return i;
}

static void test_what_is_stored_is_synced(void)
{
	struct store *s = open_store(0);

	synced.count = 0;
	assert(put_it(s) == STORE_OK);

	uint32_t moved = when_synced(NULL);

	assert(when_synced(ID_A "/small.jpg") < moved);
	assert(when_synced(ID_A "/large_1-x.jpg") < moved);
	assert(when_synced(ID_A "/meta.json") < moved);
	assert(when_synced(ID_A) < moved);
	assert(when_synced(".") > moved);
	/* Who finds it there may be faster than who moved it. */
	synced.count = 0;
	assert(put_it(s) == STORE_OK);
	(void)when_synced(".");
	synced.count = 0;
	assert(delete_it(s) == STORE_OK);
	assert(when_synced(".") > when_synced(NULL));
	store_close(s);
}

int main(void)
{
	static void (*const tests[])(void) = { test_any_call_may_fail,
					       test_what_is_stored_is_synced };

	run_tests(tests, sizeof(tests) / sizeof(tests[0]));
	return 0;
}
