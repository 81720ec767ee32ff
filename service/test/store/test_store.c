/* SPDX-License-Identifier: MIT */
/*
 * Promises: stored images are read back completely, even after the folder was
 * closed and opened again; an image that is stored twice exists once; the quota
 * counts the space on the disk; damage is noticed, and repaired by the next
 * store_put(); nothing outside the folder is touched; threads never see an
 * incomplete entry.  An upload in the spool stays there until it is stored, has
 * failed or is deleted, even after a restart.
 */
#include "service/store/store.h"

#include "base/test/check.h"
#include "base/util.h"
#include "service/test/store/store_fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { QUOTA_BYTES = 1 << 20 };

static void test_stored_is_read_back(void)
{
	struct store *s = open_store(0);
	uint64_t bytes;
	int entry, fd;

	CHECK(is_absent(s, ID_A));
	CHECK_NUMBER(put_files(s, ID_A), ==, STORE_OK);
	check_whole(s, ID_A);
	CHECK(is_absent(s, ID_B));
	CHECK_NUMBER(find_entry(s, ID_A, &entry), ==, STORE_OK);
	CHECK_NUMBER(entry_read(entry, "other.jpg", &fd, &bytes), ==,
		     STORE_NOT_FOUND);
	(void)close(entry);
	store_close(s);
	s = open_store(0);
	check_whole(s, ID_A);
	store_close(s);
}

static void test_same_is_kept_once(void)
{
	struct store *s = open_store(QUOTA_BYTES);

	for (int i = 0; i < 3; i++)
		CHECK_NUMBER(put_files(s, ID_A), ==, STORE_OK);
	CHECK_NUMBER(stats_of(s).used_bytes, ==, bytes_on_disk());
	CHECK_NUMBER(stats_of(s).put_count, ==, 1);
	CHECK_NUMBER(stats_of(s).same_count, ==, 2);
	check_nothing_is_left();
	store_close(s);
}

static void test_damaged_is_replaced(void)
{
	struct store *s = open_store(QUOTA_BYTES);

	CHECK_NUMBER(put_files(s, ID_A), ==, STORE_OK);
	run("truncate -s 1 aa/" ID_A "/small.jpg");
	CHECK_NUMBER(put_files(s, ID_A), ==, STORE_OK);
	check_whole(s, ID_A);
	run("rm aa/" ID_A "/*.jpg");
	CHECK_NUMBER(put_files(s, ID_A), ==, STORE_OK);
	check_whole(s, ID_A);
	/* The damaged file has as many bytes as before. */
	run("echo -n SMALL >aa/" ID_A "/small.jpg");
	CHECK_NUMBER(put_files(s, ID_A), ==, STORE_OK);
	check_whole(s, ID_A);
	check_nothing_is_left();
	run("rm aa/" ID_A "/small.jpg && mkdir aa/" ID_A "/small.jpg");
	CHECK_NUMBER(put_files(s, ID_A), ==, STORE_OK);
	check_whole(s, ID_A);
	CHECK_NUMBER(stats_of(s).put_count, ==, 5);
	CHECK_NUMBER(stats_of(s).same_count, ==, 0);
	store_close(s);
}

/* The SHA-256 of files[0]. */
static const char small_sha256[] =
	"81db8ebbbbc69c6c6ad4a6aa92b76e0c08af547da236b9e2c9dbe1d8285a8130";
static time_t later_s;

int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	int result = __real_clock_gettime(clock, t);

	t->tv_sec += later_s;
	return result;
}

static int open_small(struct store *s)
{
	uint64_t bytes;
	int entry, fd;

	CHECK_NUMBER(find_entry(s, ID_A, &entry), ==, STORE_OK);
	CHECK_NUMBER(entry_read(entry, "small.jpg", &fd, &bytes), ==, STORE_OK);
	(void)close(entry);
	return fd;
}

static enum store_answer check_small(struct store *s)
{
	int fd = open_small(s);
	enum store_answer answer = check_sha256(s, fd, small_sha256);

	CHECK_NUMBER(is_checked(s, fd, small_sha256), ==, (answer == STORE_OK));
	CHECK_NUMBER(lseek(fd, 0, SEEK_CUR), ==, 0);
	(void)close(fd);
	return answer;
}

static void test_damage_is_noticed(void)
{
	struct store *s = open_store(0);

	CHECK_NUMBER(put_files(s, ID_A), ==, STORE_OK);
	CHECK_NUMBER(check_small(s), ==, STORE_OK);
	run("echo -n SMALL >aa/" ID_A "/small.jpg");
	CHECK_NUMBER(check_small(s), ==, STORE_DAMAGED);
	run("touch -d 2001-01-01 aa/" ID_A "/small.jpg");
	CHECK_NUMBER(check_small(s), ==, STORE_DAMAGED);
	run("truncate -s 4 aa/" ID_A "/small.jpg");
	CHECK_NUMBER(check_small(s), ==, STORE_DAMAGED);
	CHECK_NUMBER(put_files(s, ID_A), ==, STORE_OK);
	CHECK_NUMBER(check_small(s), ==, STORE_OK);
	store_close(s);
}

static void test_a_check_holds_until_the_file_changes(void)
{
	struct store *s = open_store(0);
	int fd;

	CHECK_NUMBER(put_files(s, ID_A), ==, STORE_OK);
	fd = open_small(s);
	CHECK(!is_checked(s, fd, small_sha256));
	CHECK_NUMBER(check_sha256(s, fd, small_sha256), ==, STORE_OK);
	CHECK(is_checked(s, fd, small_sha256));
	CHECK(!is_checked(s, fd, ID_A));
	CHECK(!is_checked(s, fd, ""));
	CHECK_NUMBER(check_sha256(s, fd, ID_A), ==, STORE_DAMAGED);
	CHECK_NUMBER(check_sha256(s, fd, ""), ==, STORE_DAMAGED);
	/*
	 * A file's times can be set, but not the time of its last change of
	 * status.
	 */
	run("touch -r aa/" ID_A "/small.jpg time && echo -n SMALL "
	    ">aa/" ID_A "/small.jpg && touch -r time aa/" ID_A "/small.jpg");
	CHECK(!is_checked(s, fd, small_sha256));
	run("echo -n small >aa/" ID_A "/small.jpg");
	CHECK_NUMBER(check_sha256(s, fd, small_sha256), ==, STORE_OK);
	/* A disk may lose data of a file that nobody has changed. */
	later_s = 3599;
	CHECK(is_checked(s, fd, small_sha256));
	later_s = 3601;
	CHECK(!is_checked(s, fd, small_sha256));
	later_s = 0;
	(void)close(fd);
	store_close(s);
}

static void test_deleted_is_gone(void)
{
	struct store *s = open_store(QUOTA_BYTES);
	int entry;

	CHECK_NUMBER(delete_image(s, ID_A), ==, STORE_NOT_FOUND);
	CHECK_NUMBER(put_files(s, ID_A), ==, STORE_OK);
	CHECK_NUMBER(put_files(s, ID_B), ==, STORE_OK);
	CHECK_NUMBER(find_entry(s, ID_A, &entry), ==, STORE_OK);
	(void)close(entry);
	CHECK_NUMBER(delete_image(s, ID_A), ==, STORE_OK);
	CHECK(is_absent(s, ID_A));
	check_whole(s, ID_B);
	CHECK_NUMBER(delete_image(s, ID_A), ==, STORE_NOT_FOUND);
	CHECK_NUMBER(stats_of(s).used_bytes, ==, bytes_on_disk());
	CHECK_NUMBER(stats_of(s).deleted_count, ==, 1);
	check_nothing_is_left();
	store_close(s);
}

/* The space that an entry takes in an empty store. */
static uint64_t entry_bytes(void)
{
	struct store *s = open_store(0);
	uint64_t bytes;

	CHECK_NUMBER(put_files(s, ID_A), ==, STORE_OK);
	bytes = bytes_on_disk();
	CHECK_NUMBER(delete_image(s, ID_A), ==, STORE_OK);
	store_close(s);
	CHECK_NUMBER(bytes, >, 0);
	return bytes;
}

/*
 * Small files take whole blocks, so counting their bytes would be useless.  The
 * estimate has a block for the folder, which some file systems do not use.
 */
static void test_quota_is_of_what_the_disk_gives(void)
{
	uint64_t bytes = entry_bytes();
	struct store *s = open_store(QUOTA_BYTES);
	enum store_answer answer = STORE_OK;
	char id[STORE_ID_BYTES];
	int count = 0;

	for (; answer == STORE_OK && count < 1000; count++) {
		(void)snprintf(id, sizeof(id), "aa%062d", count);
		answer = put_files(s, id);
		CHECK_NUMBER(stats_of(s).used_bytes, <=, QUOTA_BYTES);
	}
	CHECK_NUMBER(answer, ==, STORE_FULL);
	CHECK_NUMBER(stats_of(s).used_bytes, ==, bytes_on_disk());
	CHECK_NUMBER(bytes_on_disk(), <=, QUOTA_BYTES);
	CHECK_NUMBER(bytes_on_disk() + 2 * bytes, >, QUOTA_BYTES);
	store_close(s);
}

static void test_quota_of_what_was_there_before(void)
{
	uint64_t bytes = entry_bytes(), quota = 2 * bytes - 1;
	struct store *s = open_store(quota);

	CHECK_NUMBER(put_files(s, ID_A), ==, STORE_OK);
	CHECK_NUMBER(put_files(s, ID_B), ==, STORE_FULL);
	CHECK(is_absent(s, ID_B));
	/* An existing entry needs no more room. */
	CHECK_NUMBER(put_files(s, ID_A), ==, STORE_OK);
	CHECK_NUMBER(stats_of(s).used_bytes, ==, bytes);
	store_close(s);

	/* The space is counted again. */
	s = open_store(4 * bytes);
	CHECK_NUMBER(stats_of(s).used_bytes, ==, bytes);
	CHECK_NUMBER(put_files(s, ID_B), ==, STORE_OK);
	CHECK_NUMBER(stats_of(s).used_bytes, ==, 2 * bytes);
	store_close(s);

	/*
	 * The quota is less than the existing entries: nothing new is stored
	 * until some are deleted.
	 */
	s = open_store(quota);
	CHECK_NUMBER(delete_image(s, ID_A), ==, STORE_OK);
	CHECK_NUMBER(put_files(s, ID_A), ==, STORE_FULL);
	CHECK_NUMBER(delete_image(s, ID_B), ==, STORE_OK);
	CHECK_NUMBER(stats_of(s).used_bytes, ==, 0);
	CHECK_NUMBER(put_files(s, ID_A), ==, STORE_OK);
	store_close(s);
}

static void test_one_server_at_a_time(void)
{
	struct store *s = open_store(0);
	struct error why;

	CHECK(store_open(folder, 0, &why) == NULL);
	CHECK_PART(why.text, "another server");
	store_close(s);
	store_close(open_store(0));
	CHECK(store_open("/nonexistent", 0, &why) == NULL);
	CHECK_PART(why.text, "there is no such folder");
	CHECK_PART(why.text, " /nonexistent");
	CHECK(store_open("nonexistent/a", 0, &why) == NULL);
	CHECK_PART(why.text, "there is no such folder");
	CHECK(store_open("", 0, &why) == NULL);
}

/*
 * A store that cannot be written is refused, with what is in the way, its owner
 * and its mode; a store that has become so says it until it can be written.
 */
static void test_unwritable_is_refused(void)
{
	static const char *const folders[] = { "tmp", "spool", "failed",
					       "00",  "7f",    "ff" };
	char command[64], owner[64];
	struct error why;

	(void)snprintf(owner, sizeof(owner), "(%u:%u) and has mode 0555",
		       geteuid(), getegid());
	store_close(open_store(0));
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		(void)snprintf(command, sizeof(command), "chmod 555 %s",
			       folders[i]);
		run(command);
		CHECK(store_open(folder, 0, &why) == NULL);
		CHECK_NUMBER(strstr(why.text, strerror(EACCES)), ==, why.text);
		CHECK_PART(why.text, folders[i]);
		CHECK_PART(why.text, owner);
		(void)snprintf(command, sizeof(command), "chmod 755 %s",
			       folders[i]);
		run(command);
	}
	run("find . -mindepth 1 -delete && chmod 555 .");
	CHECK(store_open(folder, 0, &why) == NULL);
	CHECK_PART(why.text, owner);
	run("chmod 755 .");
	store_close(open_store(0));
}

static char reported[1024];
static bool reported_wrong;

/* A store_report_fn. */
static void take_report(void *arg, bool is_wrong, const char *text)
{
	CHECK_NUMBER(arg, ==, reported);
	(void)snprintf(reported, sizeof(reported), "%s", text);
	reported_wrong = is_wrong;
}

static enum store_answer look_later(struct store *s, struct error *why)
{
	later_s += 2; /* it looks once per second at most */
	return store_look(s, why);
}

static void test_it_says_whether_it_can_store(void)
{
	struct store *s = open_store(QUOTA_BYTES);
	struct error why;

	CHECK(store_start(s, take_report, reported));
	CHECK_NUMBER(store_look(s, &why), ==, STORE_OK);
	CHECK_NUMBER(reported[0], ==, '\0');
	run("chmod 555 spool");
	CHECK_NUMBER(store_look(s, &why), ==, STORE_OK); /* within a second */
	CHECK_NUMBER(look_later(s, &why), ==, STORE_FAILED);
	CHECK_PART(why.text, "spool: Permission denied");
	CHECK(strstr(why.text, folder) == NULL);
	CHECK(reported_wrong);
	CHECK_PART(reported, "cannot be stored");
	run("chmod 755 spool");
	CHECK_NUMBER(look_later(s, &why), ==, STORE_OK);
	CHECK(!reported_wrong);
	CHECK_PART(reported, "can be stored");

	/* A failure that looking does not find is remembered for a while. */
	run("ln -s nowhere aa/" ID_A);
	later_s += 2;
	CHECK_NUMBER(put_files(s, ID_A), ==, STORE_FAILED);
	CHECK_PART(reported, folder);
	CHECK_PART(reported, "aa/" ID_A);
	CHECK_PART(reported, "(ENOTDIR)");
	CHECK_NUMBER(store_look(s, &why), ==, STORE_FAILED);
	CHECK_TEXT(why.text, strerror(ENOTDIR));
	later_s += 31;
	CHECK_NUMBER(store_look(s, &why), ==, STORE_OK);
	CHECK_NUMBER(put_files(s, ID_B), ==, STORE_OK);
	CHECK_NUMBER(put_files(s, ID_A), ==, STORE_FAILED);
	CHECK_NUMBER(look_later(s, &why), ==, STORE_FAILED);
	CHECK_NUMBER(put_files(s, ID_B), ==, STORE_OK); /* nothing is written */
	CHECK_NUMBER(look_later(s, &why), ==, STORE_FAILED);
	CHECK_NUMBER(delete_image(s, ID_B), ==, STORE_OK);
	CHECK_NUMBER(put_files(s, ID_B), ==, STORE_OK);
	CHECK_NUMBER(look_later(s, &why), ==, STORE_OK);

	/* One that looking explains is over with its reason. */
	run("chmod 555 tmp");
	CHECK_NUMBER(put_files(s, ID_A), ==, STORE_FAILED);
	CHECK_NUMBER(look_later(s, &why), ==, STORE_FAILED);
	run("chmod 755 tmp");
	CHECK_NUMBER(look_later(s, &why), ==, STORE_OK);
	store_close(s);
	later_s = 0;
}

/* A disk that hangs: calls of faccessat() wait. */
static _Atomic bool is_hanging;
static _Atomic unsigned waiting_count;

int __real_faccessat(int at, const char *name, int mode, int flags);
int __wrap_faccessat(int at, const char *name, int mode, int flags);

int __wrap_faccessat(int at, const char *name, int mode, int flags)
{
	atomic_fetch_add(&waiting_count, 1);
	while (atomic_load(&is_hanging))
		(void)usleep(1000);
	atomic_fetch_sub(&waiting_count, 1);
	return __real_faccessat(at, name, mode, flags);
}

static void *look_once(void *arg)
{
	struct error why;

	CHECK_NUMBER(store_look(arg, &why), ==, STORE_OK);
	return NULL;
}

static void test_a_disk_that_hangs_stops_only_who_looks(void)
{
	struct store *s = open_store(QUOTA_BYTES);
	struct error why;
	pthread_t thread;

	CHECK(store_start(s, take_report, reported));
	CHECK_NUMBER(store_look(s, &why), ==, STORE_OK);
	later_s += 2;
	atomic_store(&is_hanging, true);
	CHECK_NUMBER(pthread_create(&thread, NULL, look_once, s), ==, 0);
	while (atomic_load(&waiting_count) == 0)
		(void)usleep(1000);
	CHECK_NUMBER(store_look(s, &why), ==, STORE_OK);
	CHECK_NUMBER(put_files(s, ID_A), ==, STORE_OK);
	later_s += 10;
	CHECK_NUMBER(store_look(s, &why), ==, STORE_FAILED);
	CHECK_TEXT(why.text, "its disk does not answer");
	CHECK(reported_wrong);
	CHECK_PART(reported, why.text);
	atomic_store(&is_hanging, false);
	CHECK_NUMBER(pthread_join(thread, NULL), ==, 0);
	CHECK_NUMBER(store_look(s, &why), ==, STORE_OK);
	CHECK(!reported_wrong);
	CHECK_PART(reported, "can be stored");
	store_close(s);
	later_s = 0;
}

static void test_a_full_store_says_so(void)
{
	struct store *s = open_store(1);
	struct error why;

	CHECK(store_start(s, take_report, reported));
	CHECK_NUMBER(store_look(s, &why), ==, STORE_FULL);
	later_s += 2;
	CHECK_NUMBER(put_files(s, ID_A), ==, STORE_FULL);
	CHECK_PART(reported, "--store-quota");
	store_close(s);
	s = open_store(QUOTA_BYTES);
	CHECK_NUMBER(store_look(s, &why), ==, STORE_OK);
	store_close(s);
	later_s = 0;
}

/* Many failures are a few lines, and the last of these says how many. */
static void test_failures_do_not_fill_the_log(void)
{
	struct store *s = open_store(0);

	CHECK(store_start(s, take_report, reported));
	run("ln -s nowhere aa/" ID_A);
	CHECK_NUMBER(put_files(s, ID_A), ==, STORE_FAILED);
	CHECK_PART(reported, "ENOTDIR");
	reported[0] = '\0';
	for (int i = 0; i < 5; i++)
		CHECK_NUMBER(put_files(s, ID_A), ==, STORE_FAILED);
	later_s += 100;
	CHECK_NUMBER(put_files(s, ID_A), ==, STORE_FAILED);
	CHECK_PART(reported, " failures before are not shown");
	store_close(s);
	later_s = 0;
}

/* Also one that is only to be moved. */
static void test_an_entry_that_cannot_be_opened_is_named(void)
{
	struct store *s = open_store(0);
	struct spool_hold hold = { .id = ID_A };

	CHECK(store_start(s, take_report, reported));
	CHECK_NUMBER(spool_put(store_spool(s), &hold, "r", "bytes", 5), ==,
		     STORE_OK);
	reported[0] = '\0';
	run("chmod 000 spool/" ID_A);
	CHECK_NUMBER(spool_fail(store_spool(s), &hold, "{}", false), ==,
		     STORE_FAILED);
	CHECK_PART(reported, "spool/" ID_A);
	run("chmod 755 spool/" ID_A);
	CHECK_NUMBER(spool_fail(store_spool(s), &hold, "{}", false), ==,
		     STORE_OK);
	store_close(s);
}

#define LEFT "tmp/0123456789abcdef-000000000000000"

static void test_opening_clears_what_a_crash_left(void)
{
	store_close(open_store(0));
	run("mkdir outside " LEFT "1 && echo x >outside/a.jpg && echo x "
	    ">" LEFT "1/a.jpg && echo x >" LEFT "2 && "
	    "ln -s ../outside " LEFT "3");

	struct store *s = open_store(QUOTA_BYTES);

	check_nothing_is_left();
	run("test -f outside/a.jpg");
	CHECK_NUMBER(stats_of(s).used_bytes, ==, 0);
	store_close(s);
}

static void test_clearing_takes_nothing_else(void)
{
	store_close(open_store(0));
	run("mkdir tmp/keep tmp/0-1 " LEFT "1 " LEFT "1/a.jpg " LEFT "12 && "
	    "touch tmp/keep/a.jpg " LEFT "1/Notes.md " LEFT "1/b.jpg");
	store_close(open_store(0));
	run("test -f tmp/keep/a.jpg -a -d tmp/0-1 -a -d " LEFT "12 -a "
	    "-f " LEFT "1/Notes.md -a -d " LEFT "1/a.jpg -a "
	    "! -e " LEFT "1/b.jpg");
	/* A folder of entries, too, may have something else in it. */
	run("mkdir aa/" ID_A " && touch aa/" ID_A "/Notes.md");

	struct store *s = open_store(0);

	CHECK_NUMBER(delete_image(s, ID_A), ==, STORE_OK);
	run("test $(find tmp -name Notes.md | wc -l) = 2");
	store_close(s);
}

static void refuse(const char *path, const char *reason)
{
	struct error why;

	CHECK(store_open(path, 0, &why) == NULL);
	if (strstr(why.text, reason) == NULL)
		(void)fprintf(stderr, "%s: %s\n", path, why.text);
	CHECK_PART(why.text, reason);
}

#define LIST "find . -printf '%p %y %s %T@\\n' | sort"

/*
 * A folder that is not a store is not changed; above all, its folder tmp/ is
 * not emptied.
 */
static void test_another_folder_is_left_alone(void)
{
	static const char *const makes[] = {
		"mkdir -p " LEFT "1 && touch " LEFT "1/a.jpg",
		"touch .hidden",
		"touch darkroom-store tmp",
		"echo 'darkroom store, version 2' >darkroom-store",
		"mkdir tmp && ln -s darkroom-store darkroom-store",
		"mkfifo darkroom-store && mkdir tmp",
	};

	for (size_t i = 0; i < ARRAY_SIZE(makes); i++) {
		run("find . -mindepth 1 -delete");
		run(makes[i]);
		run(LIST " >$PWD.before");
		refuse(folder, "store of this");
		run(LIST " | cmp - $PWD.before && rm $PWD.before");
	}
}

static void test_new_folder_becomes_a_store(void)
{
	run("mkdir lost+found");
	store_close(open_store(0));
	run("test -d aa -a -d lost+found && rm -r [0-9a-f][0-9a-f] "
	    "spool failed tmp && "
	    "truncate -s 0 darkroom-store"); /* a crash while opening */
	store_close(open_store(0));
	run("test -d aa -a -s darkroom-store");
	store_close(open_store(0));
}

static void test_path_is_no_link(void)
{
	char link[64];

	run("mkdir store && ln -s store link");
	(void)snprintf(link, sizeof(link), "%s/link", folder);
	refuse(link, strerror(ENOTDIR));
	run("test -z \"$(ls store)\"");
}

static void test_names_have_no_room_for_a_path(void)
{
	static const char *const bad_ids[] = {
		"",
		"..",
		"aa",
		ID_A "0",
		"AA000000000000000000000000000000000000000000000000000000000000"
		"01",
		"../"
		"0000000000000000000000000000000000000000000000000000000000001",
		"aa/"
		"0000000000000000000000000000000000000000000000000000000000001",
		/* Only the last character says a version. */
		"aag0000000000000000000000000000000000000000000000000000000000"
		"001",
		ID_2 "g",
	};
	static const char *const bad_names[] = {
		"",         ".",   "..",
		"a.b",      "a/b", "A",
		"\xc3\xa4", "a ",  "abcdefghijklmnopqrstuvwxyz0123456"
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad_ids); i++)
		CHECK(!store_is_id(bad_ids[i]));
	for (size_t i = 0; i < ARRAY_SIZE(bad_names); i++)
		CHECK(!store_is_name(bad_names[i]));
	CHECK_NUMBER(store_id_version(ID_A), ==, 1);
	CHECK(store_is_id(ID_2));
	CHECK_NUMBER(store_id_version(ID_2), ==, 2);
	CHECK(store_is_id(ID_A));
	CHECK(store_is_name("a_b-9"));
	CHECK(store_is_name("abcdefghijklmnopqrstuvwxyz012345"));
}

/* Something else may be at its path now, which hides what is written. */
static void test_a_store_that_is_not_at_its_path_takes_nothing(void)
{
	struct store *s = open_store(0);
	struct spool *spool = store_spool(s);
	struct spool_hold hold = { .id = ID_B };
	char other[64];

	CHECK_NUMBER(put_files(s, ID_A), ==, STORE_OK);
	(void)snprintf(other, sizeof(other), "%s.moved", folder);
	CHECK_NUMBER(rename(folder, other), ==, 0);
	CHECK_NUMBER(put_files(s, ID_B), ==, STORE_FAILED);
	CHECK_NUMBER(spool_put(spool, &hold, "r", "bytes", 5), ==,
		     STORE_FAILED);
	check_whole(s, ID_A); /* it can be read */
	CHECK_NUMBER(rename(other, folder), ==, 0);
	CHECK(!spool_has(spool, ID_B));
	CHECK(is_absent(s, ID_B));
	CHECK_NUMBER(put_files(s, ID_B), ==, STORE_OK);
	store_close(s);
}

/* It would be found only by the first upload whose id begins so. */
static void test_a_folder_that_is_a_link_is_refused(void)
{
	static const char *const names[] = { "7f", "spool", "failed", "tmp" };
	char command[128];

	store_close(open_store(0));
	run("mkdir outside");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		(void)snprintf(command, sizeof(command),
			       "mv %s outside && ln -s outside/%s %s", names[i],
			       names[i], names[i]);
		run(command);
		refuse(folder, strerror(ENOTDIR));
		refuse(folder, names[i]);
		(void)snprintf(command, sizeof(command),
			       "rm %s && mv outside/%s .", names[i], names[i]);
		run(command);
	}
	store_close(open_store(0));
}

static void test_links_are_not_followed(void)
{
	struct store *s = open_store(0);
	uint64_t bytes;
	int entry, fd;

	CHECK_NUMBER(put_files(s, ID_A), ==, STORE_OK);
	run("cd aa/" ID_A " && ln -s ../../darkroom-store link.jpg && "
	    "mkdir folder.jpg && mkfifo pipe.jpg");
	CHECK_NUMBER(find_entry(s, ID_A, &entry), ==, STORE_OK);
	CHECK_NUMBER(entry_read(entry, "link.jpg", &fd, &bytes), ==,
		     STORE_NOT_FOUND);
	CHECK_NUMBER(entry_read(entry, "folder.jpg", &fd, &bytes), ==,
		     STORE_NOT_FOUND);
	CHECK_NUMBER(entry_read(entry, "pipe.jpg", &fd, &bytes), ==,
		     STORE_NOT_FOUND);
	CHECK_NUMBER(entry_read(entry, "../../darkroom-store", &fd, &bytes), ==,
		     STORE_NOT_FOUND);
	CHECK_NUMBER(entry_read(entry, "../" ID_A "/meta.json", &fd, &bytes),
		     ==, STORE_NOT_FOUND);
	(void)close(entry);

	/* A link instead of an entry is neither read nor written into. */
	run("mkdir outside && cp aa/" ID_A "/*.json outside/ && "
	    "ln -s ../outside bb/" ID_B);
	CHECK(is_absent(s, ID_B));
	CHECK_NUMBER(put_files(s, ID_B), ==, STORE_FAILED);
	run("test \"$(ls outside)\" = meta.json");
	CHECK_NUMBER(delete_image(s, ID_B), ==,
		     STORE_OK); /* this removes the link */
	run("test \"$(ls outside)\" = meta.json");

	/* A link instead of the folder of entries. */
	run("mv bb outside/ && ln -s outside/bb bb");
	CHECK(is_absent(s, ID_B));
	CHECK_NUMBER(put_files(s, ID_B), ==, STORE_FAILED);
	CHECK_NUMBER(delete_image(s, ID_B), ==, STORE_FAILED);
	run("test -z \"$(ls outside/bb)\"");
	store_close(s);
}

enum { THREADS = 4, ROUNDS = 100 };

static void look(struct store *s, const char *id)
{
	const struct store_file *f = &files[0];
	enum store_answer answer;
	uint64_t bytes;
	int entry, fd;

	answer = find_entry(s, id, &entry);
	CHECK(answer == STORE_OK || answer == STORE_NOT_FOUND);
	if (answer != STORE_OK)
		return;
	answer = entry_read(entry, f->name, &fd, &bytes);
	CHECK(answer == STORE_OK || answer == STORE_NOT_FOUND);
	if (answer == STORE_OK) {
		CHECK_NUMBER(bytes, ==, f->count);
		(void)close(fd);
	}
	(void)close(entry);
}

static void *use(void *arg)
{
	struct store *s = arg;

	for (int i = 0; i < ROUNDS; i++) {
		const char *id = i % 2 == 0 ? ID_A : ID_B;

		CHECK_NUMBER(put_files(s, id), ==, STORE_OK);
		look(s, id);
		CHECK_NUMBER(delete_image(s, id), !=, STORE_FAILED);
		look(s, id);
	}
	return NULL;
}

static void test_threads_never_see_a_part(void)
{
	struct store *s = open_store(QUOTA_BYTES);
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		CHECK_NUMBER(pthread_create(&threads[i], NULL, use, s), ==, 0);
	for (int i = 0; i < THREADS; i++)
		CHECK_NUMBER(pthread_join(threads[i], NULL), ==, 0);
	CHECK_NUMBER(stats_of(s).used_bytes, ==, bytes_on_disk());
	CHECK_NUMBER(stats_of(s).put_count + stats_of(s).same_count, ==,
		     THREADS * ROUNDS);
	check_nothing_is_left();
	store_close(s);
}

static struct spool_hold first = { .id = ID_A }, second = { .id = ID_A };

static void spool_both(struct spool *spool)
{
	CHECK_NUMBER(spool_put(spool, &first, "r", "bytes", 5), ==, STORE_OK);
	CHECK_NUMBER(spool_put(spool, &second, "r", "bytes", 5), ==, STORE_OK);
}

/*
 * Uploads with one id share an entry; the end of one does not remove it for the
 * other.
 */
static void test_spool_is_shared(void)
{
	struct store *s = open_store(1 << 20);
	struct spool *spool = store_spool(s);

	spool_both(spool);
	CHECK_NUMBER(stats_of(s).spool.waiting_count, ==, 1);
	spool_drop(spool, &first);
	CHECK(spool_has(spool, ID_A));
	CHECK_NUMBER(spool_finish(spool, &second, files, FILE_COUNT), ==,
		     STORE_OK);
	CHECK(!spool_has(spool, ID_A));
	check_whole(s, ID_A);
	/* The second finds that the first has already stored the image. */
	spool_both(spool);
	CHECK_NUMBER(spool_finish(spool, &first, files, FILE_COUNT), ==,
		     STORE_OK);
	CHECK_NUMBER(spool_finish(spool, &second, files, FILE_COUNT), ==,
		     STORE_NOT_FOUND);
	check_whole(s, ID_A);
	/* The same after a DELETE: the image is not stored again. */
	spool_both(spool);
	CHECK_NUMBER(spool_delete(spool, ID_A), ==, STORE_OK);
	CHECK_NUMBER(spool_finish(spool, &first, files, FILE_COUNT), ==,
		     STORE_NOT_FOUND);
	CHECK(is_absent(s, ID_A));
	CHECK_NUMBER(spool_delete(spool, ID_A), ==, STORE_NOT_FOUND);
	/* Dropped, as if the client had not been told the id. */
	spool_drop(spool, &second);
	CHECK_NUMBER(spool_put(spool, &first, "r", "bytes", 5), ==, STORE_OK);
	spool_drop(spool, &first);
	CHECK(!spool_has(spool, ID_A));
	CHECK_NUMBER(stats_of(s).spool.waiting_count, ==, 0);
	CHECK_NUMBER(stats_of(s).used_bytes, ==, 0);
	store_close(s);
}

static enum store_answer told_answer;
static uint32_t told_count;

/* The stored() of a hold: the image is there, and the entry still is. */
static enum store_answer tell_stored(struct spool_hold *h)
{
	CHECK_TEXT(h->id, ID_A);
	run("test -d spool/" ID_A);
	told_count++;
	return told_answer;
}

/* An entry stays until it was told that its image is stored. */
static void test_spool_tells_before_it_removes(void)
{
	struct store *s = open_store(1 << 20);
	struct spool *spool = store_spool(s);
	uint64_t stamp;

	CHECK_NUMBER(spool_stamp(spool, ID_A), ==, 0);
	first.stored = tell_stored;
	CHECK_NUMBER(spool_put(spool, &first, "r", "bytes", 5), ==, STORE_OK);
	stamp = spool_stamp(spool, ID_A);
	CHECK_NUMBER(stamp, >, 0);
	told_answer = STORE_FULL;
	CHECK_NUMBER(spool_finish(spool, &first, files, FILE_COUNT), ==,
		     STORE_FULL);
	CHECK(spool_has(spool, ID_A));
	check_whole(s, ID_A);
	CHECK_NUMBER(spool_stamp(spool, ID_A), ==, stamp);
	told_answer = STORE_OK;
	CHECK_NUMBER(spool_finish(spool, &first, files, FILE_COUNT), ==,
		     STORE_OK);
	CHECK(!spool_has(spool, ID_A));
	CHECK_NUMBER(told_count, ==, 2);
	first.stored = NULL;
	CHECK_NUMBER(spool_delete(spool, ID_A), ==, STORE_OK); /* the image */
	store_close(s);
}

/* While `first` found the entry damaged, another upload has replaced it. */
static void test_damage_that_was_mended_is_no_failure(void)
{
	struct store *s = open_store(1 << 20);
	struct spool *spool = store_spool(s);

	CHECK_NUMBER(spool_put(spool, &first, "r", "bytes", 5), ==, STORE_OK);
	run("printf bytez >spool/" ID_A "/upload.jpg");
	CHECK_NUMBER(spool_put(spool, &second, "r", "bytes", 5), ==, STORE_OK);
	CHECK_NUMBER(spool_fail(spool, &first, "{}", true), ==,
		     STORE_NOT_FOUND);
	CHECK(spool_has(spool, ID_A));
	CHECK_NUMBER(spool_finish(spool, &second, files, FILE_COUNT), ==,
		     STORE_OK);
	check_whole(s, ID_A);
	CHECK_NUMBER(stats_of(s).spool.waiting_count, ==, 0);
	CHECK_NUMBER(spool_delete(spool, ID_A), ==, STORE_OK); /* the image */
	store_close(s);
}

static bool take_listed(void *arg, const char *id)
{
	uint32_t *count = arg;

	CHECK_TEXT(id, ID_A);
	return ++*count > 0;
}

static void test_spool_is_there_after_a_restart(void)
{
	struct store *s = open_store(1 << 20);
	char text[SPOOL_TEXT_BYTES];
	uint32_t count = 0;
	uint64_t used;

	CHECK_NUMBER(spool_put(store_spool(s), &first, "r", "bytes", 5), ==,
		     STORE_OK);
	used = stats_of(s).used_bytes;
	store_close(s); /* the hold is never ended */
	run("touch spool/other && mkdir spool/more");
	s = open_store(1 << 20);
	CHECK_NUMBER(stats_of(s).used_bytes, ==, used);
	CHECK_NUMBER(used, >, 0);
	CHECK_NUMBER(stats_of(s).spool.waiting_count, ==, 1);
	CHECK(spool_list(store_spool(s), take_listed, &count));
	CHECK_NUMBER(count, ==, 1);
	/* A damaged entry does not prevent the next upload. */
	run("printf bytez >spool/" ID_A "/upload.jpg");
	CHECK_NUMBER(spool_put(store_spool(s), &first, "r", "bytes", 5), ==,
		     STORE_OK);
	run("test $(cat spool/" ID_A "/upload.jpg) = bytes");
	CHECK_NUMBER(stats_of(s).spool.waiting_count, ==, 1);
	CHECK_NUMBER(spool_fail(store_spool(s), &first, "{}", true), ==,
		     STORE_OK);
	store_close(s);
	s = open_store(1 << 20);
	CHECK_NUMBER(spool_find_failed(store_spool(s), ID_A, text), ==,
		     STORE_OK);
	CHECK_TEXT(text, "{}");
	CHECK_NUMBER(stats_of(s).used_bytes, >=, used);
	CHECK_NUMBER(stats_of(s).spool.waiting_count, ==, 0);
	CHECK_NUMBER(spool_delete(store_spool(s), ID_A), ==, STORE_OK);
	CHECK_NUMBER(spool_find_failed(store_spool(s), ID_A, text), ==,
		     STORE_NOT_FOUND);
	CHECK_NUMBER(stats_of(s).used_bytes, ==, 0);
	store_close(s);
}

/* It would be tried again for ever. */
static void test_a_problem_that_cannot_be_written_is_no_obstacle(void)
{
	struct store *s = open_store(0);
	struct spool *spool = store_spool(s);
	char text[SPOOL_TEXT_BYTES];

	CHECK_NUMBER(spool_put(spool, &first, "r", "bytes", 5), ==, STORE_OK);
	run("mkdir -p spool/" ID_A "/problem.json/folder");
	CHECK_NUMBER(spool_fail(spool, &first, "{}", true), ==, STORE_OK);
	CHECK(!spool_has(spool, ID_A));
	CHECK_NUMBER(spool_find_failed(spool, ID_A, text), ==, STORE_DAMAGED);
	CHECK_NUMBER(stats_of(s).spool.waiting_count, ==, 0);
	run("test -d failed/" ID_A "/problem.json/folder");
	store_close(s);
}

static void test_spool_has_no_room_over_the_quota(void)
{
	struct store *s = open_store(8 << 10);
	static char large[16 << 10];

	CHECK_NUMBER(
		spool_put(store_spool(s), &first, "r", large, sizeof(large)),
		==, STORE_FULL);
	CHECK(!spool_has(store_spool(s), ID_A));
	CHECK_NUMBER(stats_of(s).used_bytes, ==, 0);
	store_close(s);
}

/* The number is what a crash must not lose. */
static void test_attempts_are_kept_if_the_store_is_full(void)
{
	struct store *s = open_store(1 << 20);
	struct spool *spool = store_spool(s);
	uint64_t used;

	CHECK_NUMBER(spool_put(spool, &first, "r", "bytes", 5), ==, STORE_OK);
	CHECK_NUMBER(spool_set_attempts(spool, ID_A, 1), ==, STORE_OK);
	used = stats_of(s).used_bytes;
	CHECK_NUMBER(used, ==, bytes_on_disk());
	store_close(s);

	/* Another number takes no more room, also over a lowered quota. */
	s = open_store(used - 1);
	spool = store_spool(s);
	spool_hold(spool, &first);
	CHECK_NUMBER(spool_set_attempts(spool, ID_A, 2), ==, STORE_OK);
	CHECK_NUMBER(spool_attempts(spool, ID_A), ==, 2);
	CHECK_NUMBER(stats_of(s).used_bytes, ==, used);
	CHECK_NUMBER(used, ==, bytes_on_disk());
	CHECK_NUMBER(spool_set_attempts(spool, ID_A, 0), ==, STORE_OK);
	CHECK_NUMBER(spool_attempts(spool, ID_A), ==, 0);
	CHECK_NUMBER(stats_of(s).used_bytes, ==, bytes_on_disk());
	CHECK_NUMBER(spool_set_attempts(spool, ID_B, 0), ==, STORE_NOT_FOUND);
	used = stats_of(s).used_bytes;
	store_close(s);

	/* The first one does, and is refused. */
	s = open_store(used);
	CHECK_NUMBER(spool_set_attempts(store_spool(s), ID_A, 1), ==,
		     STORE_FULL);
	CHECK_NUMBER(spool_attempts(store_spool(s), ID_A), ==, 0);
	CHECK_NUMBER(stats_of(s).used_bytes, ==, used);
	check_nothing_is_left();
	store_close(s);
}

/* A store that keeps originals, with that of image A, and what it is named. */
static struct store *open_with_original(char key[STORE_ID_BYTES])
{
	struct store *s = open_store(0);
	struct error why;

	CHECK(store_keep_originals(s, QUOTA_BYTES, &why));
	store_original_key(key, ID_A);
	CHECK_NUMBER(put_files(s, key), ==, STORE_OK);
	return s;
}

static void test_only_what_is_there_is_replaced(void)
{
	static const struct store_file fewer[] = { { "one.json", "{}", 2 } };
	char key[STORE_ID_BYTES];
	struct store *s = open_with_original(key);
	uint64_t used = stats_of(s).original_used_bytes, bytes;
	struct error why;
	int entry, fd;

	CHECK_NUMBER(store_replace(s, key, fewer, 1, &why), ==, STORE_OK);
	CHECK_NUMBER(stats_of(s).original_used_bytes, <, used);
	CHECK_NUMBER(find_entry(s, key, &entry), ==, STORE_OK);
	check_file(entry, &fewer[0]);
	CHECK_NUMBER(entry_read(entry, files[0].name, &fd, &bytes), ==,
		     STORE_NOT_FOUND);
	(void)close(entry);
	CHECK_NUMBER(delete_image(s, key), ==, STORE_OK);
	CHECK_NUMBER(store_replace(s, key, fewer, 1, &why), ==,
		     STORE_NOT_FOUND);
	CHECK(is_absent(s, key));
	CHECK_NUMBER(stats_of(s).original_used_bytes, ==, 0);
	run("test -z \"$(ls originals/tmp)\"");
	store_close(s);
}

static void test_an_original_without_an_image_is_an_orphan(void)
{
	char key[STORE_ID_BYTES];
	struct store *s = open_with_original(key);
	bool is_young;

	CHECK_NUMBER(store_drop_orphan(s, ID_A, 3600, &is_young), ==,
		     STORE_NOT_FOUND);
	CHECK(is_young);
	/* The image is there, or in the spool. */
	CHECK_NUMBER(put_files(s, ID_A), ==, STORE_OK);
	CHECK_NUMBER(store_drop_orphan(s, ID_A, 0, &is_young), ==,
		     STORE_NOT_FOUND);
	CHECK(!is_young);
	CHECK_NUMBER(delete_image(s, ID_A), ==, STORE_OK);
	run("mkdir spool/" ID_A);
	CHECK_NUMBER(store_drop_orphan(s, ID_A, 0, &is_young), ==,
		     STORE_NOT_FOUND);
	run("rmdir spool/" ID_A);
	CHECK(!is_absent(s, key));
	CHECK_NUMBER(store_drop_orphan(s, ID_A, 0, &is_young), ==, STORE_OK);
	CHECK(is_absent(s, key));
	CHECK_NUMBER(store_drop_orphan(s, ID_A, 0, &is_young), ==,
		     STORE_NOT_FOUND);
	store_close(s);
}

int main(void)
{
	static void (*const tests[])(void) = {
		test_stored_is_read_back,
		test_same_is_kept_once,
		test_damaged_is_replaced,
		test_damage_is_noticed,
		test_a_check_holds_until_the_file_changes,
		test_deleted_is_gone,
		test_quota_is_of_what_the_disk_gives,
		test_quota_of_what_was_there_before,
		test_one_server_at_a_time,
		test_unwritable_is_refused,
		test_it_says_whether_it_can_store,
		test_a_disk_that_hangs_stops_only_who_looks,
		test_a_full_store_says_so,
		test_failures_do_not_fill_the_log,
		test_an_entry_that_cannot_be_opened_is_named,
		test_opening_clears_what_a_crash_left,
		test_clearing_takes_nothing_else,
		test_another_folder_is_left_alone,
		test_new_folder_becomes_a_store,
		test_path_is_no_link,
		test_names_have_no_room_for_a_path,
		test_a_store_that_is_not_at_its_path_takes_nothing,
		test_a_folder_that_is_a_link_is_refused,
		test_links_are_not_followed,
		test_threads_never_see_a_part,
		test_spool_is_shared,
		test_spool_tells_before_it_removes,
		test_damage_that_was_mended_is_no_failure,
		test_spool_is_there_after_a_restart,
		test_a_problem_that_cannot_be_written_is_no_obstacle,
		test_spool_has_no_room_over_the_quota,
		test_attempts_are_kept_if_the_store_is_full,
		test_only_what_is_there_is_replaced,
		test_an_original_without_an_image_is_an_orphan,
	};

	run_tests(tests, ARRAY_SIZE(tests));
	return 0;
}
