/* SPDX-License-Identifier: MIT */
/* A file is read or written as a whole, or not at all and with a reason. */
#include "base/file.h"

#include <assert.h>
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

	assert(ok && fclose(f) == 0);

	char *text = file_read_text(path, bytes_max, &why);

	assert((text == NULL) == (why != NULL));
	assert(text == NULL || strcmp(text, data) == 0);
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

	assert(f != NULL && ftruncate(fileno(f), LARGE) == 0);
	assert(fclose(f) == 0);
	read = file_read_bytes(path, LARGE, &bytes, &why);
	assert(read != NULL && bytes == LARGE && read[LARGE - 1] == '\0');
	free(read);
	assert(file_read_bytes(path, LARGE - 1, &bytes, &why) == NULL);
	assert(strcmp(why, "too large") == 0);
	(void)unlink(path);
}

static void test_draft_replaces_a_file_when_complete(void)
{
	struct file_draft d;
	struct error error;
	char beside[sizeof(path) + 4];

	(void)snprintf(beside, sizeof(beside), "%s.tmp", path);
	assert(fault("old", 3, 9) == NULL);
	assert(file_draft_open(&d, path, &error));
	assert(access(beside, F_OK) == 0);
	(void)fputs("new", d.out);
	file_draft_drop(&d);
	file_draft_drop(&d);
	assert(access(beside, F_OK) != 0);

	const char *why;
	char *text = file_read_text(path, 9, &why);

	assert(text != NULL && strcmp(text, "old") == 0);
	free(text);
	assert(file_draft_open(&d, path, &error));
	(void)fputs("new", d.out);
	assert(file_draft_commit(&d, &error));
	assert(access(beside, F_OK) != 0);
	text = file_read_text(path, 9, &why);
	assert(text != NULL && strcmp(text, "new") == 0);
	free(text);
	(void)unlink(path);
}

static void test_no_draft_without_a_folder(void)
{
	struct file_draft d;
	struct error error;

	assert(!file_draft_open(&d, "/nonexistent/file", &error));
	assert(strstr(error.text, "/nonexistent/file: ") == error.text);
	assert(d.out == NULL);
}

static void test_a_text_replaces_a_file(void)
{
	const char *name = strrchr(path, '/') + 1;
	const char *why;
	struct error error;

	assert(fault("old", 3, 9) == NULL);
	assert(!file_write_text("/tmp", name, NULL, &error));
	assert(strstr(error.text, strerror(ENOMEM)) != NULL);
	assert(file_write_text("/tmp", name, "new", &error));

	char *text = file_read_text(path, 9, &why);

	assert(text != NULL && strcmp(text, "new") == 0);
	free(text);
	(void)unlink(path);
}

static void test_output_that_is_lost_is_noticed(void)
{
	struct error error;
	FILE *good = fopen(path, "w"), *full;

	assert(good != NULL && fputs("a", good) >= 0);
	assert(file_finish(good, &error));
	(void)fclose(good);
	/* In the buffer until then; or lost before, for the most part. */
	for (size_t bytes = 1; bytes <= 1000000; bytes *= 1000) {
		full = fopen("/dev/full", "w");
		assert(full != NULL);
		for (size_t i = 0; i < bytes; i++)
			(void)fputc('a', full);
		assert(!file_finish(full, &error));
		assert(strstr(error.text, "the output could not be written") !=
		       NULL);
		(void)fclose(full);
	}
}

static void test_figures_that_are_lost_are_noticed(void)
{
	struct error error;
	FILE *figures = file_open_figures("/nowhere/figures", &error);

	assert(figures == NULL);
	assert(strcmp(error.text, "--json /nowhere/figures: No such file or "
				  "directory") == 0);
	figures = file_open_figures(path, &error);
	assert(figures != NULL && fputs("1", figures) >= 0);
	assert(file_close_figures(figures, path, &error));
	figures = file_open_figures("/dev/full", &error);
	assert(figures != NULL && fputs("1", figures) >= 0);
	assert(!file_close_figures(figures, "/dev/full", &error));
	assert(strcmp(error.text, "--json /dev/full: No space left on "
				  "device") == 0);
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
		assert(strstr(why.text, strerror(EACCES)) == why.text);
		assert(strstr(why.text, cases[i][2]) != NULL);
		assert(strstr(why.text, " has mode ") != NULL);
	}
}

int main(void)
{
	const char *why;
	int fd = mkstemp(path);

	assert(fd >= 0 && close(fd) == 0);
	assert(fault("a\nb\n", 4, 5) == NULL);
	assert(fault("a\nb\n", 4, 4) == NULL);
	assert(fault("", 0, 4) == NULL);
	assert(strstr(fault("a\nb\n", 4, 3), "too large") != NULL);
	assert(strstr(fault("a\0b", 3, 9), "zero byte") != NULL);
	assert(strstr(fault("a\0", 2, 9), "zero byte") != NULL);
	(void)unlink(path);
	assert(file_read_text(path, 9, &why) == NULL);
	assert(strcmp(why, strerror(ENOENT)) == 0);
	assert(file_read_text("/", 9, &why) == NULL);
	assert(strcmp(why, strerror(EISDIR)) == 0);
	test_bytes_of_any_size();
	test_owners_are_named();
	test_draft_replaces_a_file_when_complete();
	test_no_draft_without_a_folder();
	test_output_that_is_lost_is_noticed();
	test_figures_that_are_lost_are_noticed();
	test_a_text_replaces_a_file();
	return 0;
}
