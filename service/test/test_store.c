/* SPDX-License-Identifier: MIT */
/*
 * Promises: what is stored is read back, whole, also by the next who opens the
 * folder; the same twice is there once; a quota is kept to the byte; nothing
 * outside the folder is reached; threads never see a part of an entry.
 */
#include "service/test/store_fixture.h"

#include <pthread.h>

static void test_stored_is_read_back(void)
{
	struct store *s = open_store(0);
	uint64_t bytes;
	int entry, fd;

	assert(is_absent(s, ID_A));
	assert(store_put(s, ID_A, files, FILE_COUNT) == STORE_OK);
	check_whole(s, ID_A);
	assert(is_absent(s, ID_B));
	assert(store_find(s, ID_A, &entry) == STORE_OK);
	assert(store_read(entry, "other.jpg", &fd, &bytes) == STORE_NOT_FOUND);
	(void)close(entry);
	store_close(s);
	s = open_store(0);
	check_whole(s, ID_A);
	store_close(s);
}

static void test_same_is_kept_once(void)
{
	struct store *s = open_store(1000);

	for (int i = 0; i < 3; i++)
		assert(store_put(s, ID_A, files, FILE_COUNT) == STORE_OK);
	assert(stats_of(s).used_bytes == ENTRY_BYTES);
	assert(stats_of(s).put_count == 1 && stats_of(s).same_count == 2);
	check_nothing_is_left();
	store_close(s);
}

static void test_damaged_is_replaced(void)
{
	struct store *s = open_store(1000);

	assert(store_put(s, ID_A, files, FILE_COUNT) == STORE_OK);
	run("truncate -s 1 aa/" ID_A "/small.jpg");
	assert(store_put(s, ID_A, files, FILE_COUNT) == STORE_OK);
	check_whole(s, ID_A);
	run("rm aa/" ID_A "/*.jpg");
	assert(store_put(s, ID_A, files, FILE_COUNT) == STORE_OK);
	check_whole(s, ID_A);
	check_nothing_is_left();
	store_close(s);
}

static void test_deleted_is_gone(void)
{
	struct store *s = open_store(1000);
	int entry;

	assert(store_delete(s, ID_A) == STORE_NOT_FOUND);
	assert(store_put(s, ID_A, files, FILE_COUNT) == STORE_OK);
	assert(store_put(s, ID_B, files, FILE_COUNT) == STORE_OK);
	assert(store_find(s, ID_A, &entry) == STORE_OK);
	(void)close(entry);
	assert(store_delete(s, ID_A) == STORE_OK);
	assert(is_absent(s, ID_A));
	check_whole(s, ID_B);
	assert(store_delete(s, ID_A) == STORE_NOT_FOUND);
	assert(stats_of(s).used_bytes == ENTRY_BYTES);
	assert(stats_of(s).deleted_count == 1);
	check_nothing_is_left();
	store_close(s);
}

static void test_quota_is_kept_to_the_byte(void)
{
	struct store *s = open_store(2 * ENTRY_BYTES - 1);

	assert(store_put(s, ID_A, files, FILE_COUNT) == STORE_OK);
	assert(store_put(s, ID_B, files, FILE_COUNT) == STORE_FULL);
	assert(is_absent(s, ID_B));
	/* What is there needs no room. */
	assert(store_put(s, ID_A, files, FILE_COUNT) == STORE_OK);
	assert(stats_of(s).used_bytes == ENTRY_BYTES);
	store_close(s);

	/* Counted anew. */
	s = open_store(2 * ENTRY_BYTES);
	assert(stats_of(s).used_bytes == ENTRY_BYTES);
	assert(store_put(s, ID_B, files, FILE_COUNT) == STORE_OK);
	assert(stats_of(s).used_bytes == 2 * ENTRY_BYTES);
	store_close(s);

	/* Less than is there: nothing new until some is deleted. */
	s = open_store(ENTRY_BYTES);
	assert(store_delete(s, ID_A) == STORE_OK);
	assert(store_put(s, ID_A, files, FILE_COUNT) == STORE_FULL);
	assert(store_delete(s, ID_B) == STORE_OK);
	assert(stats_of(s).used_bytes == 0);
	assert(store_put(s, ID_A, files, FILE_COUNT) == STORE_OK);
	store_close(s);
}

static void test_one_server_at_a_time(void)
{
	struct store *s = open_store(0);
	const char *why = NULL;

	assert(store_open(folder, 0, &why) == NULL);
	assert(strstr(why, "another server") != NULL);
	store_close(s);
	store_close(open_store(0));
	assert(store_open("/nonexistent", 0, &why) == NULL);
	assert(strcmp(why, strerror(ENOENT)) == 0);
}

#define LEFT "tmp/0123456789abcdef-000000000000000"

static void test_opening_clears_what_a_crash_left(void)
{
	store_close(open_store(0));
	run("mkdir outside " LEFT "1 && echo x >outside/a.jpg && echo x "
	    ">" LEFT "1/a.jpg && echo x >" LEFT "2 && "
	    "ln -s ../outside " LEFT "3");

	struct store *s = open_store(1000);

	check_nothing_is_left();
	run("test -f outside/a.jpg");
	assert(stats_of(s).used_bytes == 0);
	store_close(s);
}

static void test_clearing_takes_nothing_else(void)
{
	store_close(open_store(0));
	run("mkdir tmp/keep tmp/0-1 " LEFT "1 " LEFT "1/a.jpg " LEFT "12 && "
	    "touch tmp/keep/a.jpg " LEFT "1/notes.txt " LEFT "1/b.jpg");
	store_close(open_store(0));
	run("test -f tmp/keep/a.jpg -a -d tmp/0-1 -a -d " LEFT "12 -a "
	    "-f " LEFT "1/notes.txt -a -d " LEFT "1/a.jpg -a "
	    "! -e " LEFT "1/b.jpg");
	/* A folder of entries, too, may have something else in it. */
	run("mkdir aa/" ID_A " && touch aa/" ID_A "/notes.txt");

	struct store *s = open_store(0);

	assert(store_delete(s, ID_A) == STORE_OK);
	run("test $(find tmp -name notes.txt | wc -l) = 2");
	store_close(s);
}

static void refuse(const char *path, const char *reason)
{
	const char *why = NULL;

	assert(store_open(path, 0, &why) == NULL);
	if (strstr(why, reason) == NULL)
		(void)fprintf(stderr, "%s: %s\n", path, why);
	assert(strstr(why, reason) != NULL);
}

#define LIST "find . -printf '%p %y %s %T@\\n' | sort"

/* Above all: its tmp is not ours to clear. */
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

	for (size_t i = 0; i < sizeof(makes) / sizeof(makes[0]); i++) {
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
	run("test -d aa -a -d lost+found && rm -r [0-9a-f][0-9a-f] tmp && "
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
	};
	static const char *const bad_names[] = {
		"",         ".",   "..",
		"a.b",      "a/b", "A",
		"\xc3\xa4", "a ",  "abcdefghijklmnopqrstuvwxyz0123456"
	};

	for (size_t i = 0; i < sizeof(bad_ids) / sizeof(bad_ids[0]); i++)
		assert(!store_is_id(bad_ids[i]));
	for (size_t i = 0; i < sizeof(bad_names) / sizeof(bad_names[0]); i++)
		assert(!store_is_name(bad_names[i]));
	assert(store_is_id(ID_A) && store_is_name("a_b-9") &&
	       store_is_name("abcdefghijklmnopqrstuvwxyz012345"));
}

static void test_links_are_not_followed(void)
{
	struct store *s = open_store(0);
	uint64_t bytes;
	int entry, fd;

	assert(store_put(s, ID_A, files, FILE_COUNT) == STORE_OK);
	run("cd aa/" ID_A " && ln -s ../../darkroom-store link.jpg && "
	    "mkdir folder.jpg && mkfifo pipe.jpg");
	assert(store_find(s, ID_A, &entry) == STORE_OK);
	assert(store_read(entry, "link.jpg", &fd, &bytes) == STORE_NOT_FOUND);
	assert(store_read(entry, "folder.jpg", &fd, &bytes) == STORE_NOT_FOUND);
	assert(store_read(entry, "pipe.jpg", &fd, &bytes) == STORE_NOT_FOUND);
	assert(store_read(entry, "../../darkroom-store", &fd, &bytes) ==
	       STORE_NOT_FOUND);
	assert(store_read(entry, "../" ID_A "/meta.json", &fd, &bytes) ==
	       STORE_NOT_FOUND);
	(void)close(entry);

	/* Instead of an entry: not read, not written into. */
	run("mkdir outside && cp aa/" ID_A "/*.json outside/ && "
	    "ln -s ../outside bb/" ID_B);
	assert(is_absent(s, ID_B));
	assert(store_put(s, ID_B, files, FILE_COUNT) == STORE_FAILED);
	run("test \"$(ls outside)\" = meta.json");
	assert(store_delete(s, ID_B) == STORE_OK); /* the link */
	run("test \"$(ls outside)\" = meta.json");

	/* Instead of the folder of entries. */
	run("mv bb outside/ && ln -s outside/bb bb");
	assert(is_absent(s, ID_B));
	assert(store_put(s, ID_B, files, FILE_COUNT) == STORE_FAILED);
	assert(store_delete(s, ID_B) == STORE_FAILED);
	run("test -z \"$(ls outside/bb)\"");
	store_close(s);
}

enum { THREADS = 4, ROUNDS = 100 };

static void look(const struct store *s, const char *id)
{
	const struct store_file *f = &files[0];
	enum store_answer answer;
	uint64_t bytes;
	int entry, fd;

	answer = store_find(s, id, &entry);
	assert(answer == STORE_OK || answer == STORE_NOT_FOUND);
	if (answer != STORE_OK)
		return;
	answer = store_read(entry, f->name, &fd, &bytes);
	assert(answer == STORE_OK || answer == STORE_NOT_FOUND);
	if (answer == STORE_OK) {
		assert(bytes == f->count);
		(void)close(fd);
	}
	(void)close(entry);
}

static void *use(void *arg)
{
	struct store *s = arg;

	for (int i = 0; i < ROUNDS; i++) {
		const char *id = i % 2 == 0 ? ID_A : ID_B;

		assert(store_put(s, id, files, FILE_COUNT) == STORE_OK);
		look(s, id);
		assert(store_delete(s, id) != STORE_FAILED);
		look(s, id);
	}
	return NULL;
}

static void test_threads_never_see_a_part(void)
{
	struct store *s = open_store(1 << 20);
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		assert(pthread_create(&threads[i], NULL, use, s) == 0);
	for (int i = 0; i < THREADS; i++)
		assert(pthread_join(threads[i], NULL) == 0);
	assert(stats_of(s).used_bytes == bytes_on_disk());
	assert(stats_of(s).put_count + stats_of(s).same_count ==
	       THREADS * ROUNDS);
	check_nothing_is_left();
	store_close(s);
}

int main(void)
{
	static void (*const tests[])(void) = {
		test_stored_is_read_back,
		test_same_is_kept_once,
		test_damaged_is_replaced,
		test_deleted_is_gone,
		test_quota_is_kept_to_the_byte,
		test_one_server_at_a_time,
		test_opening_clears_what_a_crash_left,
		test_clearing_takes_nothing_else,
		test_another_folder_is_left_alone,
		test_new_folder_becomes_a_store,
		test_path_is_no_link,
		test_names_have_no_room_for_a_path,
		test_links_are_not_followed,
		test_threads_never_see_a_part,
	};

	run_tests(tests, sizeof(tests) / sizeof(tests[0]));
	return 0;
}
