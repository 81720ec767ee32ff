/* SPDX-License-Identifier: MIT */
/*
 * A remote store over a helper that dies at any step, is silent, or answers
 * wrongly: each call ends with the right answer, and nothing is leaked.
 *
 * usage: test_remote FAKE_STORE_HELPER
 */
#include "service/store/remote/remote.h"

#include "base/clock.h"
#include "base/test/check.h"
#include "base/test/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, TIMES = 5, FROZEN_THREADS = 100, WAIT_MS = 60000 };

static char folder[] = "/dev/shm/test_remote.XXXXXX";
static const char *program;
static _Atomic uint32_t wrong_count; /* reports of something wrong */
static _Atomic uint32_t good_count;  /* other reports */

static const struct store_file files[] = {
	{ "meta.json", "{\"a\":1}", 7 },
	{ "thumb.jpg", "some pixels", 11 },
};
static const char other_sha256[] =
	"0000000000000000000000000000000000000000000000000000000000000000";

static void write_word(const char *name, const char *word)
{
	char path[128];
	FILE *to;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	to = fopen(path, "we");
	CHECK(to != NULL);
	CHECK_NUMBER(fputs(word, to), >=, 0);
	CHECK_NUMBER(fclose(to), ==, 0);
}

static void take_report(void *arg, bool is_wrong, const char *text)
{
	(void)arg;
	CHECK_NUMBER(text[0], !=, '\0');
	atomic_fetch_add(is_wrong ? &wrong_count : &good_count, 1);
}

static struct store *open_store(const char *mode)
{
	struct remote_config c = { .bucket = "b",
				   .program = program,
				   .prefix = "" };
	struct error error;
	struct store *s;

	write_word("mode", mode);
	write_word("check", "good");
	/* The fake takes its folder from where the bucket is. */
	(void)snprintf(c.bucket, sizeof(c.bucket), "%s", folder);
	s = remote_open(&c, &error);
	CHECK(s != NULL);
	CHECK(store_start(s, take_report, NULL));
	return s;
}

static void id_of(char id[STORE_ID_BYTES], uint32_t number)
{
	(void)snprintf(id, STORE_ID_BYTES, "%064x", number);
}

static enum store_answer put(struct store *s, uint32_t number, uint32_t ms)
{
	char id[STORE_ID_BYTES];
	struct error why;
	enum store_answer answer;

	id_of(id, number);
	answer = store_put(s, id, files, 2, clock_after_ms(ms), &why);
	CHECK(answer == STORE_OK || why.text[0] != '\0');
	return answer;
}

static enum store_answer find_within(struct store *s, uint32_t number,
				     struct store_image *image, uint32_t ms)
{
	char id[STORE_ID_BYTES];
	struct error why;

	id_of(id, number);
	return store_find(s, id, false, clock_after_ms(ms), image, &why);
}

static enum store_answer find(struct store *s, uint32_t number,
			      struct store_image *image)
{
	return find_within(s, number, image, WAIT_MS);
}

static enum store_answer delete (struct store *s, uint32_t number) {
	char id[STORE_ID_BYTES]; struct error why;

	id_of(id, number);
	return store_delete(s, id, clock_after_ms(WAIT_MS), &why);
}

static uint32_t open_count(void)
{
	DIR *list = opendir("/proc/self/fd");
	uint32_t count = 0;

	CHECK(list != NULL);
	while (readdir(list) != NULL)
		count++;
	(void)closedir(list);
	return count;
}

/*
 * A copy of the cache is compared once, and not again until it changes, as a
 * file of a folder; each of its parts by itself.
 */
static void check_part(struct store *s, const struct store_part *part,
		       const char *sha256)
{
	struct store_part other = *part;

	other.offset--;
	CHECK_NUMBER(store_check(s, part, other_sha256), ==, STORE_DAMAGED);
	CHECK(!store_is_checked(s, part, sha256));
	CHECK_NUMBER(store_check(s, part, sha256), ==, STORE_OK);
	CHECK(store_is_checked(s, part, sha256));
	CHECK(!store_is_checked(s, part, other_sha256));
	CHECK(!store_is_checked(s, &other, sha256));
	other = *part;
	other.is_fetched = true; /* the next one may be another file */
	CHECK(!store_is_checked(s, &other, sha256));
}

static void check_whole(struct store *s, uint32_t number)
{
	struct store_image image;
	struct store_part part;
	char bytes[64];

	CHECK_NUMBER(find(s, number, &image), ==, STORE_OK);
	CHECK(image.is_package);
	CHECK_NUMBER(store_read(&image, "none.jpg", &part), ==,
		     STORE_NOT_FOUND);
	for (uint32_t i = 0; i < 2; i++) {
		CHECK_NUMBER(store_read(&image, files[i].name, &part), ==,
			     STORE_OK);
		CHECK(!part.is_fetched);
		CHECK_NUMBER(part.bytes, ==, files[i].count);
		CHECK_NUMBER(
			pread(part.fd, bytes, part.bytes, (off_t)part.offset),
			==, (ssize_t)part.bytes);
		CHECK(memcmp(bytes, files[i].bytes, part.bytes) == 0);
		check_part(s, &part,
			   package_find(&image.index, files[i].name)->sha256);
		(void)close(part.fd);
	}
	store_close_image(&image);
}

static void test_what_is_put_is_found(void)
{
	uint32_t before = open_count();
	struct store *s = open_store("good");
	struct store_image image;
	struct store_stats stats;

	CHECK(store_is_remote(s));
	CHECK(store_spool(s) == NULL);
	CHECK_NUMBER(find(s, 1, &image), ==, STORE_NOT_FOUND);
	CHECK_NUMBER(put(s, 1, WAIT_MS), ==, STORE_OK);
	CHECK_NUMBER(put(s, 1, WAIT_MS), ==, STORE_OK);
	check_whole(s, 1);
	CHECK_NUMBER(delete (s, 1), ==, STORE_OK);
	CHECK_NUMBER(delete (s, 1), ==, STORE_NOT_FOUND);
	store_stats(s, &stats);
	CHECK_NUMBER(stats.put_count, ==, 1);
	CHECK_NUMBER(stats.same_count, ==, 1);
	CHECK_NUMBER(stats.deleted_count, ==, 1);
	CHECK_NUMBER(stats.unavailable_count, ==, 0);
	CHECK(stats.remote.is_remote);
	CHECK_NUMBER(stats.remote.is_available, ==, 1);
	CHECK_NUMBER(stats.remote.helper_starts, ==, 1);
	store_stop(s);
	store_close(s);
	CHECK_NUMBER(open_count(), ==, before);
	CHECK_NUMBER(wrong_count, ==, 0);
}

static const struct store_file added[] = { { "late.jpg", "more", 4 } };

/* Is the image there with these files, and with no others? */
static void check_names(struct store *s, uint32_t number, const char *first,
			uint32_t count)
{
	struct store_image image;

	CHECK_NUMBER(find(s, number, &image), ==, STORE_OK);
	CHECK_NUMBER(image.index.file_count, ==, count);
	CHECK(package_find(&image.index, first) != NULL);
	store_close_image(&image);
}

static enum store_answer extend(struct store *s, uint32_t number,
				const char *version)
{
	char id[STORE_ID_BYTES];
	struct error why;

	id_of(id, number);
	return store_extend(s, id, version, added, 1, clock_after_ms(WAIT_MS),
			    &why);
}

/* What was added to an older image would undo what was added since. */
static void test_files_are_added_to_the_image_that_was_read(void)
{
	struct store *s = open_store("good");
	struct store_image image;

	CHECK_NUMBER(put(s, 30, WAIT_MS), ==, STORE_OK);
	CHECK_NUMBER(find(s, 30, &image), ==, STORE_OK);
	store_close_image(&image);
	CHECK_NUMBER(image.version[0], !=, '\0');
	CHECK_NUMBER(extend(s, 30, "\"another\""), ==, STORE_CHANGED);
	check_names(s, 30, "thumb.jpg", 2);
	CHECK_NUMBER(extend(s, 30, image.version), ==, STORE_OK);
	check_names(s, 30, "late.jpg", 3);
	CHECK_NUMBER(extend(s, 30, image.version), ==, STORE_CHANGED);
	CHECK_NUMBER(delete (s, 30), ==, STORE_OK);
	CHECK_NUMBER(extend(s, 30, image.version), ==, STORE_NOT_FOUND);
	CHECK_NUMBER(find(s, 30, &image), ==, STORE_NOT_FOUND);
	store_close(s);
	/* It is changed between the read and the put. */
	s = open_store("good");
	CHECK_NUMBER(put(s, 30, WAIT_MS), ==, STORE_OK);
	store_close(s);
	s = open_store("rival");
	CHECK_NUMBER(find(s, 30, &image), ==, STORE_OK);
	store_close_image(&image);
	CHECK_NUMBER(extend(s, 30, image.version), ==, STORE_CHANGED);
	store_close(s);
}

/* An upload leaves what another server has stored and extended meanwhile. */
static void test_an_upload_beside_another(void)
{
	struct store *s = open_store("rival");
	struct store_stats stats;
	struct store_image image;
	struct error why;

	CHECK(store_keep_originals(s, 0, &why));
	CHECK_NUMBER(put(s, 31, WAIT_MS), ==, STORE_OK);
	store_stats(s, &stats);
	CHECK_NUMBER(stats.same_count, ==, 1);
	CHECK_NUMBER(find(s, 31, &image), ==, STORE_OK);
	store_close_image(&image);
	CHECK_NUMBER(extend(s, 31, image.version), ==, STORE_OK);
	CHECK_NUMBER(put(s, 31, WAIT_MS), ==, STORE_OK);
	check_names(s, 31, "late.jpg", 3);
	store_stats(s, &stats);
	CHECK_NUMBER(stats.same_count, ==, 2);
	store_close(s);
}

static _Atomic uint32_t next_number;

static void *put_some(void *arg)
{
	for (uint32_t i = 0; i < TIMES; i++) {
		uint32_t number = atomic_fetch_add(&next_number, 1);

		CHECK_NUMBER(put(arg, number, WAIT_MS), ==, STORE_OK);
		check_whole(arg, number);
	}
	return NULL;
}

/* Whenever the helper dies, another one carries out what has no answer. */
static void test_the_helper_dies(const char *mode)
{
	uint32_t before = open_count();
	struct store *s = open_store(mode);
	struct store_stats stats;
	pthread_t threads[THREADS];

	for (uint32_t i = 0; i < THREADS; i++)
		CHECK_NUMBER(pthread_create(&threads[i], NULL, put_some, s), ==,
			     0);
	for (uint32_t i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], NULL);
	store_stats(s, &stats);
	CHECK_NUMBER(stats.remote.helper_starts, ==, 2);
	CHECK_NUMBER(stats.put_count + stats.same_count, ==, THREADS * TIMES);
	store_close(s);
	CHECK_NUMBER(open_count(), ==, before);
}

static void test_there_is_never_a_helper(void)
{
	uint64_t begin_ns = clock_now_ns(), passed_s;
	struct store *s = open_store("die");
	struct store_stats stats;

	do {
		CHECK_NUMBER(put(s, 7, 1500), ==, STORE_UNAVAILABLE);
		store_stats(s, &stats);
	} while (stats.remote.helper_starts < 2);
	passed_s = (clock_now_ns() - begin_ns) / NS_PER_S;
	/* After 0, 0.1, 0.3, 0.7, 1.5 s ...: it is no busy loop. */
	CHECK_NUMBER(stats.remote.helper_starts, <, 10 + passed_s);
	CHECK_NUMBER(stats.remote.is_available, ==, 0);
	CHECK_NUMBER(stats.unavailable_count, >, 0);
	write_word("mode", "good");
	CHECK_NUMBER(put(s, 7, WAIT_MS), ==, STORE_OK);
	store_stats(s, &stats);
	CHECK_NUMBER(stats.remote.is_available, ==, 1);
	store_close(s);
}

static void test_a_request_that_ends_helpers_is_given_up(void)
{
	struct store *s = open_store("die-of-bad");
	char id[STORE_ID_BYTES];
	struct error why;

	id_of(id, 17);
	(void)memcpy(id, "bad", 3);
	CHECK_NUMBER(store_put(s, id, files, 2, clock_after_ms(WAIT_MS), &why),
		     ==, STORE_UNAVAILABLE);
	CHECK_PART(why.text, "three times");
	CHECK_NUMBER(put(s, 17, WAIT_MS), ==, STORE_OK);
	check_whole(s, 17);
	store_close(s);
}

static void test_a_silent_helper(void)
{
	struct store *s = open_store("silent");
	uint64_t begin_ns = clock_now_ns();

	CHECK_NUMBER(put(s, 8, 300), ==, STORE_UNAVAILABLE);
	CHECK_NUMBER(clock_now_ns() - begin_ns, >=, 300 * NS_PER_MS);
	store_close(s);
}

/* A request may have waited for its turn for too long. */
static void test_a_late_call_is_not_sent(void)
{
	struct store *s = open_store("good");
	char id[STORE_ID_BYTES];
	struct store_image image;
	struct error why;

	CHECK_NUMBER(put(s, 15, WAIT_MS), ==, STORE_OK);
	id_of(id, 15);
	CHECK_NUMBER(store_delete(s, id, clock_now_ns(), &why), ==,
		     STORE_UNAVAILABLE);
	CHECK_NUMBER(why.text[0], !=, '\0');
	CHECK_NUMBER(find(s, 15, &image), ==, STORE_OK);
	store_close_image(&image);
	store_close(s);
}

/*
 * While the store is away, images come from the cache.  They do not say that it
 * answers: uploads would wait for it again, and the log would say so.
 */
static void test_a_copy_is_no_answer_of_the_store(void)
{
	uint32_t wrong, good;
	struct store *s = open_store("good");
	struct store_image image;
	struct store_stats stats;

	CHECK_NUMBER(put(s, 23, WAIT_MS), ==, STORE_OK);
	store_close(s);
	wrong = wrong_count;
	good = good_count;
	s = open_store("away");
	while (wrong_count == wrong) /* until a probe has its answer */
		(void)poll(NULL, 0, 10);
	for (uint32_t i = 0; i < TIMES; i++) {
		CHECK_NUMBER(find(s, 23, &image), ==, STORE_OK);
		CHECK(image.is_copy);
		store_close_image(&image);
		store_stats(s, &stats);
		CHECK_NUMBER(stats.remote.is_available, ==, 0);
		CHECK_TEXT(stats.remote.why, "away");
	}
	CHECK_NUMBER(put(s, 24, WAIT_MS), ==, STORE_UNAVAILABLE);
	store_close(s);
	CHECK_NUMBER(wrong_count, ==, wrong + 1);
	CHECK_NUMBER(good_count, ==, good);
}

static void *put_for_ever(void *arg)
{
	CHECK_NUMBER(put(arg, 9, WAIT_MS), ==, STORE_UNAVAILABLE);
	return NULL;
}

/* Without store_abandon(), the call would last for 30 s. */
static void test_abandoned_calls_end(void)
{
	struct store *s = open_store("silent");
	pthread_t thread;

	CHECK_NUMBER(pthread_create(&thread, NULL, put_for_ever, s), ==, 0);
	(void)poll(NULL, 0, 100);
	store_abandon(s);
	(void)pthread_join(thread, NULL);
	CHECK_NUMBER(put(s, 9, WAIT_MS), ==, STORE_UNAVAILABLE);
	store_close(s);
}

static void test_wrong_answers(void)
{
	static const char *const modes[] = { "no-file", "index", "short",
					     "pipe" };
	struct store *s = open_store("good");
	struct store_image image;

	CHECK_NUMBER(put(s, 10, WAIT_MS), ==, STORE_OK);
	store_close(s);
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		uint32_t before = open_count();

		s = open_store(modes[i]);
		CHECK_NUMBER(find(s, 10, &image), ==,
			     (i == 0 ? STORE_FAILED : STORE_DAMAGED));
		store_close(s);
		CHECK_NUMBER(open_count(), ==, before);
	}
}

/* An answer to another request is no answer, and its file is closed. */
static void test_wrong_numbers(void)
{
	uint32_t before = open_count();
	struct store *s = open_store("number");
	struct store_image image;

	CHECK_NUMBER(find_within(s, 10, &image, 300), ==, STORE_UNAVAILABLE);
	store_close(s);
	CHECK_NUMBER(open_count(), ==, before);
}

/* The newest child of a process; 0: none. */
static pid_t newest_child(pid_t parent)
{
	char path[64];
	long pid = 0, next;
	FILE *list;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", parent,
		       parent);
	list = fopen(path, "re");
	CHECK(list != NULL);
	while (fscanf(list, "%ld", &next) == 1)
		pid = next;
	(void)fclose(list);
	return (pid_t)pid;
}

/* Calls in flight and later ones end at once, and a report says why. */
static void test_the_keeper_dies(void)
{
	struct store *s = open_store("silent");
	uint32_t wrong = wrong_count;
	struct store_stats stats;
	pthread_t thread;

	CHECK_NUMBER(pthread_create(&thread, NULL, put_for_ever, s), ==, 0);
	(void)poll(NULL, 0, 100);
	CHECK_NUMBER(kill(newest_child(getpid()), SIGKILL), ==, 0);
	(void)pthread_join(thread, NULL);
	CHECK_NUMBER(put(s, 9, WAIT_MS), ==, STORE_UNAVAILABLE);
	store_stats(s, &stats);
	CHECK_NUMBER(stats.remote.is_available, ==, 0);
	while (wrong_count == wrong)
		(void)poll(NULL, 0, 10);
	CHECK_PART(stats.remote.why, "restart the server");
	remote_reload_keys(s); /* has nobody to ask */
	store_close(s);
}

static void *put_briefly(void *arg)
{
	for (uint32_t i = 0; i < TIMES; i++)
		CHECK_NUMBER(put(arg, 20, 1), ==, STORE_UNAVAILABLE);
	return NULL;
}

/* If nobody reads, the socket fills: calls still end. */
static void test_a_frozen_helper(void)
{
	struct store *s = open_store("frozen");
	pthread_t threads[FROZEN_THREADS];

	for (uint32_t i = 0; i < FROZEN_THREADS; i++)
		CHECK_NUMBER(pthread_create(&threads[i], NULL, put_briefly, s),
			     ==, 0);
	for (uint32_t i = 0; i < FROZEN_THREADS; i++)
		(void)pthread_join(threads[i], NULL);
	store_close(s);
}

static uint64_t starts_of(struct store *s)
{
	struct store_stats stats;

	store_stats(s, &stats);
	return stats.remote.helper_starts;
}

static void test_a_helper_that_hangs_is_replaced(void)
{
	struct store *s = open_store("hang-received");
	struct store_stats stats;

	do /* until it has answered a probe */
		store_stats(s, &stats);
	while (stats.remote.is_available == 0 && poll(NULL, 0, 10) == 0);
	while (put(s, 18, 30000) != STORE_OK)
		;
	check_whole(s, 18);
	CHECK_NUMBER(starts_of(s), >=, 2);
	store_close(s);
}

static void test_keys_are_read_again(void)
{
	struct store *s = open_store("good");
	uint32_t wrong = wrong_count;

	CHECK_NUMBER(put(s, 11, WAIT_MS), ==, STORE_OK);
	write_word("check", "bad");
	remote_reload_keys(s);
	while (wrong_count == wrong)
		(void)poll(NULL, 0, 10);
	CHECK_NUMBER(starts_of(s), ==, 1);
	CHECK_NUMBER(put(s, 12, WAIT_MS), ==, STORE_OK);
	write_word("check", "good");
	wrong = wrong_count;
	remote_reload_keys(s);
	while (starts_of(s) == 1)
		CHECK_NUMBER(put(s, 13, WAIT_MS), ==, STORE_OK);
	CHECK_NUMBER(wrong_count, ==, wrong);
	CHECK_NUMBER(put(s, 14, WAIT_MS), ==, STORE_OK);
	store_close(s);
}

/*
 * While a check of the keys goes on, there is a helper, also if the one before
 * it was ended just now.
 */
static void test_keys_are_read_twice(void)
{
	struct store *s = open_store("good");

	write_word("check", "slow");
	remote_reload_keys(s);
	remote_reload_keys(s);
	for (uint64_t starts = 1; starts < 3; starts++) {
		while (starts_of(s) < starts)
			(void)poll(NULL, 0, 10);
		CHECK_NUMBER(put(s, 16, WAIT_MS), ==, STORE_OK);
		CHECK_NUMBER(starts_of(s), ==, starts);
		write_word("go", ""); /* the end of this check */
	}
	while (starts_of(s) < 3)
		(void)poll(NULL, 0, 10);
	store_close(s);
}

/* The number in a file of the folder; 0: none is there yet. */
static pid_t read_pid(const char *name)
{
	char path[128];
	int pid = 0;
	FILE *from;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	from = fopen(path, "re");
	if (from == NULL)
		return 0;
	CHECK_NUMBER(fscanf(from, "%d", &pid), ==, 1);
	(void)fclose(from);
	return pid;
}

/* Is another helper started and used, while the check of the keys goes on? */
static bool is_replaced_meanwhile(struct store *s)
{
	pid_t helper = newest_child(newest_child(getpid())), check;
	uint64_t starts = starts_of(s);
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/checking", folder);
	(void)unlink(path);
	remote_reload_keys(s);
	while ((check = read_pid("checking")) == 0)
		(void)poll(NULL, 0, 10);
	CHECK_NUMBER(helper, >, 0);
	CHECK_NUMBER(kill(helper, SIGKILL), ==, 0);
	while (starts_of(s) == starts)
		(void)poll(NULL, 0, 10);
	CHECK_NUMBER(put(s, 21, WAIT_MS), ==, STORE_OK);
	return kill(check, 0) == 0;
}

/*
 * A check of keys keeps no helper waiting.  A check ends after 10 s, so on a
 * busy machine it may be over too early, but not each time.
 */
static void test_helpers_start_while_keys_are_checked(void)
{
	struct store *s = open_store("good");
	bool is_replaced = false;

	CHECK_NUMBER(put(s, 21, WAIT_MS), ==, STORE_OK);
	write_word("check", "slow");
	for (int i = 0; i < TIMES && !is_replaced; i++)
		is_replaced = is_replaced_meanwhile(s);
	CHECK(is_replaced);
	store_close(s);
}

static void must_be_refused(const char *url)
{
	struct remote_config c;
	struct error error;

	CHECK(!remote_read_url(&c, url, &error));
	CHECK_NUMBER(error.text[0], !=, '\0');
}

static void test_urls(void)
{
	struct remote_config c;
	struct error error;

	CHECK(remote_is_url("s3://b"));
	CHECK(!remote_is_url("/s3://b"));
	CHECK(remote_read_url(&c, "s3://my.bucket-1", &error));
	CHECK_TEXT(c.bucket, "my.bucket-1");
	CHECK_NUMBER(c.prefix[0], ==, '\0');
	CHECK(remote_read_url(&c, "s3://b/a/b_c/", &error));
	CHECK_TEXT(c.bucket, "b");
	CHECK_TEXT(c.prefix, "a/b_c");
	CHECK(remote_read_url(&c, "s3://b/", &error));
	CHECK_NUMBER(c.prefix[0], ==, '\0');
	must_be_refused("s3://");
	must_be_refused("s3:///a");
	must_be_refused("s3://b//a");
	must_be_refused("s3://b/a//c");
	must_be_refused("s3://b/a b");
	must_be_refused("s3://b/..");
	must_be_refused("s3://b/a/./c");
	must_be_refused("s3://b?x/a");
	must_be_refused("s3://0123456789012345678901234567890123456789"
			"012345678901234567890123");
}

static void test_keys_are_forgotten(void)
{
	static char value[] = "AWS_SECRET_ACCESS_KEY=hidden";

	CHECK_NUMBER(putenv(value), ==, 0);
	CHECK_NUMBER(setenv("AWS_REGION", "x", 1), ==, 0);
	remote_forget_keys();
	CHECK(getenv("AWS_SECRET_ACCESS_KEY") == NULL);
	CHECK(getenv("AWS_REGION") == NULL);
	CHECK(getenv("PATH") != NULL);
	CHECK_NUMBER(strstr(value, "AWS_SECRET_ACCESS_KEY="), ==, value);
	for (size_t i = strlen("AWS_SECRET_ACCESS_KEY="); i < sizeof(value);
	     i++)
		CHECK_NUMBER(value[i], ==, '\0');
}

static void remove_folder(void)
{
	char command[64];

	(void)snprintf(command, sizeof(command), "rm -r %s", folder);
	CHECK_NUMBER(system(command), ==, 0);
}

int main(int argc, char **argv)
{
	CHECK_NUMBER(argc, ==, 2);
	CHECK(mkdtemp(folder) != NULL);
	program = argv[1];
	(void)atexit(remove_folder);
	scratch_adopt(folder);
	(void)signal(SIGPIPE, SIG_IGN);
	test_urls();
	test_keys_are_forgotten();
	test_what_is_put_is_found();
	test_files_are_added_to_the_image_that_was_read();
	test_an_upload_beside_another();
	test_the_helper_dies("die-unread");
	test_the_helper_dies("die-received");
	test_the_helper_dies("die-done");
	test_the_helper_dies("die-answered");
	test_there_is_never_a_helper();
	test_a_request_that_ends_helpers_is_given_up();
	test_a_silent_helper();
	test_a_late_call_is_not_sent();
	test_a_copy_is_no_answer_of_the_store();
	test_abandoned_calls_end();
	test_wrong_answers();
	test_wrong_numbers();
	test_the_keeper_dies();
	test_a_frozen_helper();
	test_a_helper_that_hangs_is_replaced();
	test_keys_are_read_again();
	test_keys_are_read_twice();
	test_helpers_start_while_keys_are_checked();
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	return 0;
}
