/* SPDX-License-Identifier: MIT */
/*
 * Promises: if any system call fails, an entry is whole or absent, nothing is
 * left over, the quota's count stays exact, and the store continues.  Stored
 * data are on the disk: all of them were synced, in an order that leaves no
 * partial entry after a loss of power.
 *
 * Linked with --wrap for the calls that make and move files.
 */
#include "service/store/store.h"

#include "base/test/check.h"
#include "base/util.h"
#include "service/test/store/store_fixture.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>

/* The number of calls until one fails with `fails_with`; -1: none fails. */
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

static _Atomic bool unlinks_fail;

int __real_unlinkat(int at, const char *name, int flags);
int __wrap_unlinkat(int at, const char *name, int flags);

int __wrap_unlinkat(int at, const char *name, int flags)
{
	if (!atomic_load(&unlinks_fail))
		return __real_unlinkat(at, name, flags);
	errno = EIO;
	return -1;
}

/* The files and folders synced until now, with a 0 for each rename. */
static struct {
	ino_t inodes[16];
	uint32_t count;
} synced;

static void note(ino_t inode)
{
	if (synced.count < ARRAY_SIZE(synced.inodes))
		synced.inodes[synced.count++] = inode;
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);

int __wrap_fsync(int fd)
{
	struct stat file;

	if (fails())
		return -1;
	CHECK_NUMBER(fstat(fd, &file), ==, 0);
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

/* Writes at most one byte, as may happen on a full disk or after a signal. */
ssize_t __wrap_write(int fd, const void *bytes, size_t count)
{
	return fails() ? -1 : __real_write(fd, bytes, count > 0);
}

typedef enum store_answer operation_fn(struct store *s);

static enum store_answer put_it(struct store *s)
{
	return put_files(s, ID_A);
}

static enum store_answer delete_it(struct store *s)
{
	return delete_image(s, ID_A);
}

static enum store_answer put_over_damaged(struct store *s)
{
	return put_files(s, ID_A);
}

static void prepare(struct store *s, operation_fn *operation)
{
	if (operation == put_it)
		return;
	CHECK_NUMBER(put_files(s, ID_A), ==, STORE_OK);
	if (operation == put_over_damaged)
		run("rm aa/" ID_A "/small.jpg");
}

/*
 * Run the operation; the call after `call_count` others fails.  False: no call
 * failed.
 */
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

	/*
	 * Some failures do not matter, such as that of a search for an equal
	 * entry.
	 */
	CHECK(answer == STORE_OK || (failed && answer == expected));
	CHECK(answer == STORE_OK || expected != STORE_FAILED || why == error);
	CHECK_NUMBER(bytes_on_disk(), ==, stats_of(s).used_bytes + missing);
	if (answer == STORE_OK && operation == delete_it)
		CHECK(is_absent(s, ID_A));
	else if (answer == STORE_OK)
		check_whole(s, ID_A);
	else if (operation == put_it && !is_absent(s, ID_A))
		check_whole(s, ID_A); /* the last sync failed */
	/* The store continues to work. */
	CHECK_NUMBER(put_it(s), ==, STORE_OK);
	check_whole(s, ID_A);
	CHECK_NUMBER(delete_it(s), ==, STORE_OK);
	return failed;
}

static void fail_each(int error, enum store_answer expected,
		      operation_fn *operation)
{
	struct store *s = open_store(1 << 20);
	long call_count = 0;

	while (fail_one(s, call_count, error, expected, operation))
		CHECK_NUMBER(++call_count, <, 1000);
	CHECK_NUMBER(call_count, >, 3);
	store_close(s);
	store_close(open_store(0));
	check_nothing_is_left();
}

static void test_any_call_may_fail(void)
{
	static operation_fn *const operations[] = { put_it, put_over_damaged,
						    delete_it };

	for (size_t i = 0; i < ARRAY_SIZE(operations); i++)
		fail_each(EIO, STORE_FAILED, operations[i]);
	fail_each(EROFS, STORE_FAILED, put_it);
	fail_each(EMFILE, STORE_FAILED, put_it);
	fail_each(ENOSPC, STORE_FULL, put_it);
	fail_each(EDQUOT, STORE_FULL, put_it);
}

static struct spool_hold hold;
static const char upload[] = "of several bytes", request[] = "a request\n";
static const char problem[] = "{\"code\":\"none\"}";

static enum store_answer spool_it(struct store *s)
{
	hold = (struct spool_hold){ .id = ID_A };
	return spool_put(store_spool(s), &hold, request, upload,
			 sizeof(upload));
}

static enum store_answer finish_it(struct store *s)
{
	return spool_finish(store_spool(s), &hold, files, FILE_COUNT);
}

static enum store_answer fail_it(struct store *s)
{
	return spool_fail(store_spool(s), &hold, problem, false);
}

static enum store_answer delete_spooled(struct store *s)
{
	return spool_delete(store_spool(s), ID_A);
}

/* Is the upload in the spool?  If so, it is whole. */
static bool is_spooled(struct store *s)
{
	static struct spool_entry entry;
	char text[sizeof(upload)];
	enum store_answer answer = spool_read(store_spool(s), ID_A, &entry);

	CHECK_NUMBER((answer == STORE_OK), ==, spool_has(store_spool(s), ID_A));
	CHECK_NUMBER(stats_of(s).spool.waiting_count, ==, (answer == STORE_OK));
	if (answer != STORE_OK)
		return false;
	CHECK_TEXT(entry.request, request);
	CHECK_NUMBER(entry.bytes, ==, sizeof(upload));
	CHECK_NUMBER(read(entry.fd, text, sizeof(text)), ==,
		     (ssize_t)sizeof(text));
	CHECK(memcmp(text, upload, sizeof(text)) == 0);
	(void)close(entry.fd);
	return true;
}

static bool has_failed(struct store *s)
{
	char text[SPOOL_TEXT_BYTES];

	if (spool_find_failed(store_spool(s), ID_A, text) != STORE_OK)
		return false;
	CHECK_TEXT(text, problem);
	return true;
}

/*
 * An upload that was accepted must still exist somewhere after the operation.
 */
static void check_spooled(struct store *s, operation_fn *operation,
			  enum store_answer answer)
{
	bool spooled = is_spooled(s), stored = !is_absent(s, ID_A);

	if (stored)
		check_whole(s, ID_A);
	if (operation == spool_it)
		CHECK(answer != STORE_OK || spooled);
	if (operation == finish_it)
		CHECK(answer == STORE_OK ? stored : spooled);
	if (operation == fail_it)
		CHECK(answer == STORE_OK ? has_failed(s) : spooled);
	if (operation == delete_spooled && answer == STORE_OK)
		CHECK(!spooled && !stored && !has_failed(s));
}

/* Like fail_one(), for an operation on the spool. */
static bool fail_spool(struct store *s, long call_count, int error,
		       operation_fn *operation)
{
	bool held = operation != spool_it;

	if (held)
		CHECK_NUMBER(spool_it(s), ==, STORE_OK);
	uint64_t missing = bytes_on_disk() - stats_of(s).used_bytes;

	fails_with = error;
	atomic_store(&calls_left, call_count);
	enum store_answer answer = operation(s);
	bool failed = atomic_exchange(&calls_left, -1) < 0;

	CHECK(answer == STORE_OK || failed);
	CHECK_NUMBER(bytes_on_disk(), ==, stats_of(s).used_bytes + missing);
	check_spooled(s, operation, answer);
	if (operation == delete_spooled ||
	    (operation == spool_it) == (answer == STORE_OK))
		spool_release(store_spool(s), &hold);
	/* The spool continues to work. */
	CHECK_NUMBER(spool_it(s), ==, STORE_OK);
	CHECK(is_spooled(s));
	CHECK_NUMBER(finish_it(s), ==, STORE_OK);
	CHECK(!is_spooled(s));
	check_whole(s, ID_A);
	CHECK_NUMBER(delete_spooled(s), ==, STORE_OK);
	return failed;
}

static void test_any_call_of_the_spool_may_fail(void)
{
	static operation_fn *const operations[] = { spool_it, finish_it,
						    fail_it, delete_spooled };

	for (size_t i = 0; i < ARRAY_SIZE(operations); i++) {
		struct store *s = open_store(1 << 20);
		long call_count = 0;

		while (fail_spool(s, call_count, i == 0 ? ENOSPC : EIO,
				  operations[i]))
			CHECK_NUMBER(++call_count, <, 1000);
		CHECK_NUMBER(call_count, >, 3);
		store_close(s);
		store_close(open_store(0));
		check_nothing_is_left();
	}
}

/*
 * A call fails while the number of attempts changes: it is the old one or the
 * new one.
 */
static void test_the_number_of_attempts_is_never_lost(void)
{
	struct store *s = open_store(1 << 20);
	struct spool *spool = store_spool(s);
	bool failed = true;

	CHECK_NUMBER(spool_it(s), ==, STORE_OK);
	for (long i = 0; failed; i++) {
		enum store_answer answer;
		uint32_t found;

		CHECK_NUMBER(spool_set_attempts(spool, ID_A, 1), ==, STORE_OK);
		fails_with = i % 2 == 0 ? ENOSPC : EIO;
		atomic_store(&calls_left, i);
		answer = spool_set_attempts(spool, ID_A, 2);
		failed = atomic_exchange(&calls_left, -1) < 0;
		CHECK_NUMBER(failed, ==, (answer != STORE_OK));
		found = spool_attempts(spool, ID_A);
		CHECK(found == 2 || (failed && found == 1));
		CHECK_NUMBER(bytes_on_disk(), ==, stats_of(s).used_bytes);
		CHECK(is_spooled(s));
		CHECK_NUMBER(i, <, 100);
	}
	spool_release(spool, &hold);
	store_close(s);
	store_close(open_store(0));
	check_nothing_is_left();
}

static void test_attempts_that_cannot_be_removed_are_told(void)
{
	struct store *s = open_store(1 << 20);
	struct spool *spool = store_spool(s);

	CHECK_NUMBER(spool_it(s), ==, STORE_OK);
	CHECK_NUMBER(spool_set_attempts(spool, ID_A, 1), ==, STORE_OK);
	atomic_store(&unlinks_fail, true);
	CHECK_NUMBER(spool_set_attempts(spool, ID_A, 0), ==, STORE_FAILED);
	CHECK_NUMBER(spool_attempts(spool, ID_A), ==, 1);
	CHECK_NUMBER(bytes_on_disk(), ==, stats_of(s).used_bytes);
	atomic_store(&unlinks_fail, false);
	/* The second time there is nothing to remove. */
	for (int i = 0; i < 2; i++) {
		CHECK_NUMBER(spool_set_attempts(spool, ID_A, 0), ==, STORE_OK);
		CHECK_NUMBER(spool_attempts(spool, ID_A), ==, 0);
		CHECK_NUMBER(bytes_on_disk(), ==, stats_of(s).used_bytes);
	}
	spool_release(spool, &hold);
	store_close(s);
}

/* The position of `name` in the order of syncs. */
static uint32_t when_synced(const char *name)
{
	char path[256];
	struct stat file = { .st_ino = 0 };
	uint32_t i = 0;

	if (name != NULL) {
		(void)snprintf(path, sizeof(path), "%s/aa/%s", folder, name);
		CHECK_NUMBER(stat(path, &file), ==, 0);
	}
	while (i < synced.count && synced.inodes[i] != file.st_ino)
		i++;
	CHECK_NUMBER(i, <, synced.count);
	return i;
}

static void test_what_is_stored_is_synced(void)
{
	struct store *s = open_store(0);

	synced.count = 0;
	CHECK_NUMBER(put_it(s), ==, STORE_OK);

	uint32_t moved = when_synced(NULL);

	CHECK_NUMBER(when_synced(ID_A "/small.jpg"), <, moved);
	CHECK_NUMBER(when_synced(ID_A "/large_1-x.jpg"), <, moved);
	CHECK_NUMBER(when_synced(ID_A "/meta.json"), <, moved);
	CHECK_NUMBER(when_synced(ID_A), <, moved);
	CHECK_NUMBER(when_synced("."), >, moved);
	/*
	 * Another thread may find the entry before the thread that moved it
	 * continues.
	 */
	synced.count = 0;
	CHECK_NUMBER(put_it(s), ==, STORE_OK);
	(void)when_synced(".");
	synced.count = 0;
	CHECK_NUMBER(delete_it(s), ==, STORE_OK);
	CHECK_NUMBER(when_synced("."), >, when_synced(NULL));
	store_close(s);
}

/*
 * Entries are synced before spool_put() returns, and removed ones do not come
 * back.
 */
static void test_what_is_spooled_is_synced(void)
{
	struct store *s = open_store(0);

	synced.count = 0;
	CHECK_NUMBER(spool_it(s), ==, STORE_OK);

	uint32_t moved = when_synced(NULL);

	CHECK_NUMBER(when_synced("../spool/" ID_A "/upload.jpg"), <, moved);
	CHECK_NUMBER(when_synced("../spool/" ID_A "/request.txt"), <, moved);
	CHECK_NUMBER(when_synced("../spool/" ID_A), <, moved);
	CHECK_NUMBER(when_synced("../spool"), >, moved);
	synced.count = 0;
	CHECK_NUMBER(spool_set_attempts(store_spool(s), ID_A, 1), ==, STORE_OK);
	moved = when_synced(NULL);
	CHECK_NUMBER(when_synced("../spool/" ID_A "/attempts.txt"), <, moved);
	CHECK_NUMBER(when_synced("../spool/" ID_A), >, moved);
	synced.count = 0;
	CHECK_NUMBER(spool_set_attempts(store_spool(s), ID_A, 0), ==, STORE_OK);
	(void)when_synced("../spool/" ID_A);
	synced.count = 0;
	CHECK_NUMBER(delete_spooled(s), ==, STORE_OK);
	CHECK_NUMBER(when_synced("../spool"), >, when_synced(NULL));
	spool_release(store_spool(s), &hold);
	store_close(s);
}

int main(void)
{
	static void (*const tests[])(void) = {
		test_any_call_may_fail,
		test_what_is_stored_is_synced,
		test_any_call_of_the_spool_may_fail,
		test_what_is_spooled_is_synced,
		test_the_number_of_attempts_is_never_lost,
		test_attempts_that_cannot_be_removed_are_told,
	};

	run_tests(tests, ARRAY_SIZE(tests));
	return 0;
}
