/* SPDX-License-Identifier: MIT */
#include "service/test/store/store_fixture.h"

#include "base/test/check.h"
#include "base/test/scratch.h"

#include <grp.h>
#include <sys/stat.h>

enum { NOBODY = 65534 };

/*
 * A folder in memory, because each entry is synced, and this is slow on a disk.
 */
char folder[] = "/dev/shm/test_store.XXXXXX";

const struct store_file files[FILE_COUNT] = {
	{ "small.jpg", "small", 5 },
	{ "large_1-x.jpg", "a larger one", 12 },
	{ "meta.json", "{}", 2 },
};

struct store *open_store(uint64_t quota_bytes)
{
	struct error why;
	struct store *s = store_open(folder, quota_bytes, &why);

	if (s == NULL)
		(void)fprintf(stderr, "%s: %s\n", folder, why.text);
	CHECK(s != NULL);
	return s;
}

enum store_answer put_files(struct store *s, const char *id)
{
	struct error why;

	return store_put(s, id, files, FILE_COUNT, 0, &why);
}

enum store_answer delete_image(struct store *s, const char *id)
{
	struct error why;

	return store_delete(s, id, 0, &why);
}

enum store_answer find_entry(struct store *s, const char *id, int *entry)
{
	struct store_image image;
	struct error why;
	enum store_answer answer = store_find(s, id, false, 0, &image, &why);

	if (answer == STORE_OK)
		*entry = image.fd;
	return answer;
}

static struct store_part part_of(int fd)
{
	struct stat file;

	CHECK_NUMBER(fstat(fd, &file), ==, 0);
	return (struct store_part){ .fd = fd, .bytes = (uint64_t)file.st_size };
}

enum store_answer check_sha256(struct store *s, int fd, const char *sha256)
{
	const struct store_part part = part_of(fd);

	return store_check(s, &part, sha256);
}

bool is_checked(struct store *s, int fd, const char *sha256)
{
	const struct store_part part = part_of(fd);

	return store_is_checked(s, &part, sha256);
}

struct store_stats stats_of(struct store *s)
{
	struct store_stats stats;

	store_stats(s, &stats);
	return stats;
}

/* Run a command in the folder. */
void run(const char *command)
{
	char line[512];
	int n = snprintf(line, sizeof(line), "cd %s && %s", folder, command);

	CHECK_NUMBER(n, >, 0);
	CHECK_NUMBER((size_t)n, <, sizeof(line));
	CHECK_NUMBER(system(line), ==, 0);
}

static void empty_folder(void)
{
	run("find . -mindepth 1 -delete");
}

void check_file(int entry, const struct store_file *f)
{
	char read_back[64];
	uint64_t bytes;
	int fd;

	CHECK_NUMBER(entry_read(entry, f->name, &fd, &bytes), ==, STORE_OK);
	CHECK_NUMBER(bytes, ==, f->count);
	CHECK_NUMBER(read(fd, read_back, sizeof(read_back)), ==,
		     (ssize_t)f->count);
	CHECK(memcmp(read_back, f->bytes, f->count) == 0);
	(void)close(fd);
}

void check_whole(struct store *s, const char *id)
{
	int entry;

	CHECK_NUMBER(find_entry(s, id, &entry), ==, STORE_OK);
	for (uint32_t i = 0; i < FILE_COUNT; i++)
		check_file(entry, &files[i]);
	(void)close(entry);
}

bool is_absent(struct store *s, const char *id)
{
	int entry;

	return find_entry(s, id, &entry) == STORE_NOT_FOUND;
}

void check_nothing_is_left(void)
{
	run("test -z \"$(ls tmp)\"");
}

uint64_t bytes_on_disk(void)
{
	char line[512];
	unsigned long long bytes = 0;
	FILE *find;

	(void)snprintf(line, sizeof(line),
		       "cd %s && find aa bb spool failed tmp -mindepth 1 "
		       "-printf '%%b\n' | "
		       "awk '{ n += $1 } END { print n * 512 }'",
		       folder);
	find = popen(line, "r");
	CHECK(find != NULL);
	CHECK_NUMBER(fscanf(find, "%llu", &bytes), ==, 1);
	(void)pclose(find);
	return bytes;
}

/* Without the rights of root, a faulty store cannot remove files of others. */
static void give_up_root(void)
{
	if (geteuid() == 0)
		CHECK(setgroups(0, NULL) == 0 &&
		      setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
		      setresuid(NOBODY, NOBODY, NOBODY) == 0);
	CHECK_NUMBER(setuid(0), !=, 0);
	CHECK_NUMBER(geteuid(), !=, 0);
}

void run_tests(void (*const *tests)(void), size_t count)
{
	give_up_root();
	CHECK(mkdtemp(folder) != NULL);
	scratch_adopt(folder);
	for (size_t i = 0; i < count; i++) {
		empty_folder();
		tests[i]();
	}
	empty_folder();
	CHECK_NUMBER(rmdir(folder), ==, 0);
}
