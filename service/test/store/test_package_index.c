/* SPDX-License-Identifier: MIT */
/* A package is read as it was written, and no other index is accepted. */
#include "service/store/package.h"

#include "base/test/check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char meta[] = "{\"id\":\"x\"}";

/* Write these files as a package, and read its bytes; returns their number. */
static size_t make(char *bytes, size_t room, const struct store_file *files,
		   uint32_t count, struct package *p)
{
	int fd = memfd_create("package", MFD_CLOEXEC);
	ssize_t n;

	CHECK_NUMBER(fd, >=, 0);
	CHECK(package_write(fd, files, count, p));
	n = pread(fd, bytes, room, 0);
	CHECK_NUMBER(n, >=, 0);
	CHECK_NUMBER((uint64_t)n, ==, p->bytes);
	(void)close(fd);
	return (size_t)n;
}

static void test_what_was_written_is_read(void)
{
	static char bytes[128 << 10], large[12000];
	struct store_file files[PACKAGE_FILES_MAX + 1] = {
		{ "meta.json", meta, sizeof(meta) - 1 },
	};
	char names[PACKAGE_FILES_MAX + 1][STORE_FILE_NAME_BYTES];
	struct package written, read;

	(void)memset(large, 'x', sizeof(large));
	for (uint32_t i = 1; i <= PACKAGE_FILES_MAX; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "v%u.jpg", i);
		files[i] = (struct store_file){ names[i], large, i * 37 };
	}
	files[1].count = sizeof(large);
	for (uint32_t count = 1; count <= PACKAGE_FILES_MAX; count++) {
		size_t n = make(bytes, sizeof(bytes), files, count, &written);

		CHECK_NUMBER(package_read_index(&read, bytes, n), ==, STORE_OK);
		CHECK(memcmp(&read, &written, sizeof(read)) == 0 ||
		      read.file_count == count);
		CHECK_NUMBER(read.bytes, ==, n);
		CHECK_NUMBER(read.file_count, ==, count);
		for (uint32_t i = 0; i < count; i++) {
			const struct package_file *f =
				package_find(&read, files[i].name);

			CHECK_NUMBER(f, ==, &read.files[i]);
			CHECK_NUMBER(f->bytes, ==, files[i].count);
			CHECK(memcmp(bytes + f->offset, files[i].bytes,
				     f->bytes) == 0);
			CHECK_TEXT(f->sha256, written.files[i].sha256);
		}
	}
	CHECK(package_find(&read, "other.jpg") == NULL);
	CHECK(!package_write(-1, files, PACKAGE_FILES_MAX + 1, &written));
	CHECK_NUMBER(errno, ==, E2BIG);
	CHECK(!package_write(-1, files, 0, &written));
	CHECK_NUMBER(errno, ==, E2BIG);
	CHECK(!package_write(-1, files, 1, &written));
	CHECK_NUMBER(errno, ==, EBADF);
}

/* The index needs all its bytes, and no byte of it can be another one. */
static void test_a_changed_index_is_refused(void)
{
	static char bytes[4096], other[4096];
	const struct store_file files[] = {
		{ "meta.json", meta, sizeof(meta) - 1 },
		{ "thumb.jpg", "pixels", 6 },
	};
	struct package p, read;
	size_t n = make(bytes, sizeof(bytes), files, 2, &p);
	size_t index = p.files[0].offset;

	for (size_t cut = 0; cut < index; cut++)
		CHECK_NUMBER(package_read_index(&read, bytes, cut), ==,
			     STORE_DAMAGED);
	for (size_t at = 0; at < index; at++) {
		(void)memcpy(other, bytes, n);
		other[at] = '\0';
		CHECK_NUMBER(package_read_index(&read, other, n), ==,
			     STORE_DAMAGED);
		other[at] = ' ' + 1;
		CHECK_NUMBER(package_read_index(&read, other, n), ==,
			     STORE_DAMAGED);
	}
}

#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"

static enum store_answer read_lines(const char *lines)
{
	char text[8192];
	struct package p;
	int n = snprintf(text, sizeof(text), "darkroom-package 1 %08zu\n%s",
			 strlen(lines) + 28, lines);

	return package_read_index(&p, text, (size_t)n);
}

static void test_hostile_indexes(void)
{
	static const char *const wrong[] = {
		"",
		"a.jpg 200 5\n",
		"a.jpg 0 5 " ZEROS "\n",
		"../a.jpg 111 5 " ZEROS "\n",
		"a.image 108 5 " ZEROS "\n",
		"a.jpg 106 0 " ZEROS "\n",
		"a.jpg 0106 5 " ZEROS "\n",
		"a.jpg 106 -5 " ZEROS "\n",
		"a.jpg 106 99999999999999999999999 " ZEROS "\n",
		"a.jpg 106 18446744073709551615 " ZEROS "\n",
		"a.jpg 106 5 " ZEROS "0\n",
		"a.jpg 106 5 A" ZEROS "\n",
		"a.jpg 106 5 " ZEROS,
		/* The same name twice, and a gap. */
		"a.jpg 184 5 " ZEROS "\na.jpg 189 5 " ZEROS "\n",
		"a.jpg 184 5 " ZEROS "\nb.jpg 190 5 " ZEROS "\n",
	};

	CHECK_NUMBER(read_lines("a.jpg 108 5 " ZEROS "\n"), ==, STORE_DAMAGED);
	CHECK_NUMBER(read_lines("a.jpg 105 5 " ZEROS "\n"), ==, STORE_OK);
	CHECK_NUMBER(
		read_lines("a.jpg 182 5 " ZEROS "\nb.jpg 187 5 " ZEROS "\n"),
		==, STORE_OK);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		CHECK_NUMBER(read_lines(wrong[i]), ==, STORE_DAMAGED);
}

int main(void)
{
	test_what_was_written_is_read();
	test_a_changed_index_is_refused();
	test_hostile_indexes();
	return 0;
}
