/* SPDX-License-Identifier: MIT */
/* A file is read or written as a whole, or not at all and with a reason. */
#include "base/file.h"
#include "base/test/check.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/test_base_file-XXXXXX";

/*
 * Write `bytes` of `data` to a file and read it as text.  Returns the error;
 * NULL: the text read is `data`.
 */
static const char *fault(const char *data, size_t bytes, size_t bytes_max)
{
	const char *why = NULL;
	FILE *f = fopen(path, "w");
	bool ok = f != NULL && fwrite(data, 1, bytes, f) == bytes;

	CHECK(ok);
	CHECK_NUMBER(fclose(f), ==, 0);

	char *text = file_read_text(path, bytes_max, &why);

	CHECK_NUMBER((text == NULL), ==, (why != NULL));
	CHECK(text == NULL || strcmp(text, data) == 0);
	free(text);
	return why;
}

/* One file is larger than the buffer with which reading begins. */
static void test_bytes_of_any_size(void)
{
	enum { LARGE = 5000000 };
	size_t bytes;
	const char *why;
	FILE *f = fopen(path, "w");
	char *read;

	CHECK(f != NULL);
	CHECK_NUMBER(ftruncate(fileno(f), LARGE), ==, 0);
	CHECK_NUMBER(fclose(f), ==, 0);
	read = file_read_bytes(path, LARGE, &bytes, &why);
	CHECK(read != NULL);
	CHECK_NUMBER(bytes, ==, LARGE);
	CHECK_NUMBER(read[LARGE - 1], ==, '\0');
	free(read);
	CHECK(file_read_bytes(path, LARGE - 1, &bytes, &why) == NULL);
	CHECK_TEXT(why, "too large");
	(void)unlink(path);
}

/* A pipe gives its bytes in parts. */
static void test_a_number_of_bytes_is_read(void)
{
	int ends[2];
	char bytes[6] = "";

	CHECK_NUMBER(pipe(ends), ==, 0);
	CHECK_NUMBER(write(ends[1], "abc", 3), ==, 3);
	CHECK(file_read_all(ends[0], bytes, 2));
	CHECK_TEXT(bytes, "ab");
	CHECK_NUMBER(close(ends[1]), ==, 0);
	CHECK(!file_read_all(ends[0], bytes, 2));
	CHECK_NUMBER(errno, ==, 0);
	CHECK_NUMBER(close(ends[0]), ==, 0);
	CHECK(!file_read_all(ends[0], bytes, 1));
	CHECK_NUMBER(errno, ==, EBADF);
}

static void test_draft_replaces_a_file_when_complete(void)
{
	struct file_draft d;
	struct error error;
	char beside[sizeof(path) + 4];

	(void)snprintf(beside, sizeof(beside), "%s.tmp", path);
	CHECK(fault("old", 3, 9) == NULL);
	CHECK(file_draft_open(&d, path, &error));
	CHECK_NUMBER(access(beside, F_OK), ==, 0);
	(void)fputs("new", d.out);
	file_draft_drop(&d);
	file_draft_drop(&d);
	CHECK_NUMBER(access(beside, F_OK), !=, 0);

	const char *why;
	char *text = file_read_text(path, 9, &why);

	CHECK(text != NULL);
	CHECK_TEXT(text, "old");
	free(text);
	CHECK(file_draft_open(&d, path, &error));
	(void)fputs("new", d.out);
	CHECK(file_draft_commit(&d, &error));
	CHECK_NUMBER(access(beside, F_OK), !=, 0);
	text = file_read_text(path, 9, &why);
	CHECK(text != NULL);
	CHECK_TEXT(text, "new");
	free(text);
	(void)unlink(path);
}

static void test_no_draft_without_a_folder(void)
{
	struct file_draft d;
	struct error error;

	CHECK(!file_draft_open(&d, "/nonexistent/file", &error));
	CHECK_NUMBER(strstr(error.text, "/nonexistent/file: "), ==, error.text);
	CHECK(d.out == NULL);
}

static void test_a_text_replaces_a_file(void)
{
	const char *name = strrchr(path, '/') + 1;
	const char *why;
	struct error error;

	CHECK(fault("old", 3, 9) == NULL);
	CHECK(!file_write_text("/tmp", name, NULL, &error));
	CHECK_PART(error.text, strerror(ENOMEM));
	CHECK(file_write_text("/tmp", name, "new", &error));

	char *text = file_read_text(path, 9, &why);

	CHECK(text != NULL);
	CHECK_TEXT(text, "new");
	free(text);
	(void)unlink(path);
}

static void test_output_that_is_lost_is_noticed(void)
{
	struct error error;
	FILE *good = fopen(path, "w"), *full;

	CHECK(good != NULL);
	CHECK_NUMBER(fputs("a", good), >=, 0);
	CHECK(file_finish(good, &error));
	(void)fclose(good);
	/* In the buffer until then; or lost before, for the most part. */
	for (size_t bytes = 1; bytes <= 1000000; bytes *= 1000) {
		full = fopen("/dev/full", "w");
		CHECK(full != NULL);
		for (size_t i = 0; i < bytes; i++)
			(void)fputc('a', full);
		CHECK(!file_finish(full, &error));
		CHECK_PART(error.text, "the output could not be written");
		(void)fclose(full);
	}
}

static void test_figures_that_are_lost_are_noticed(void)
{
	struct error error;
	FILE *figures = file_open_figures("/nowhere/figures", &error);

	CHECK(figures == NULL);
	CHECK_TEXT(error.text, "--json /nowhere/figures: No such file or "
			       "directory");
	figures = file_open_figures(path, &error);
	CHECK(figures != NULL);
	CHECK_NUMBER(fputs("1", figures), >=, 0);
	CHECK(file_close_figures(figures, path, &error));
	figures = file_open_figures("/dev/full", &error);
	CHECK(figures != NULL);
	CHECK_NUMBER(fputs("1", figures), >=, 0);
	CHECK(!file_close_figures(figures, "/dev/full", &error));
	CHECK_TEXT(error.text, "--json /dev/full: No space left on "
			       "device");
}

/* What is next above a missing file may be the reason for the error. */
static void test_owners_are_named(void)
{
	static const char *const cases[][3] = {
		{ "/nonexistent/a", "b", ": '/' belongs to " },
		{ "nonexistent/a", "", ": '.' belongs to " },
		{ "", "", ": '.' belongs to " },
		{ "/", "", ": '/' belongs to " },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error why;

		file_explain(&why, cases[i][0], cases[i][1], EACCES);
		CHECK_NUMBER(strstr(why.text, strerror(EACCES)), ==, why.text);
		CHECK_PART(why.text, cases[i][2]);
		CHECK_PART(why.text, " has mode ");
	}
}

int main(void)
{
	const char *why;
	int fd = mkstemp(path);

	CHECK_NUMBER(fd, >=, 0);
	CHECK_NUMBER(close(fd), ==, 0);
	CHECK(fault("a\nb\n", 4, 5) == NULL);
	CHECK(fault("a\nb\n", 4, 4) == NULL);
	CHECK(fault("", 0, 4) == NULL);
	CHECK_PART(fault("a\nb\n", 4, 3), "too large");
	CHECK_PART(fault("a\0b", 3, 9), "zero byte");
	CHECK_PART(fault("a\0", 2, 9), "zero byte");
	(void)unlink(path);
	CHECK(file_read_text(path, 9, &why) == NULL);
	CHECK_TEXT(why, strerror(ENOENT));
	CHECK(file_read_text("/", 9, &why) == NULL);
	CHECK_TEXT(why, strerror(EISDIR));
	test_bytes_of_any_size();
	test_a_number_of_bytes_is_read();
	test_owners_are_named();
	test_draft_replaces_a_file_when_complete();
	test_no_draft_without_a_folder();
	test_output_that_is_lost_is_noticed();
	test_figures_that_are_lost_are_noticed();
	test_a_text_replaces_a_file();
	return 0;
}
