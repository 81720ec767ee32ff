/* SPDX-License-Identifier: MIT */
/* A trace is read as it is written, or refused by file and line. */
#include "loadgen/test/scratch.h"
#include "loadgen/trace_file.h"

#include <assert.h>
#include <string.h>

static struct scratch scratch;

static bool read_text(struct trace *t, const char *text, size_t size,
		      struct error *error)
{
	char path[SCRATCH_PATH_BYTES];

	scratch_write(&scratch, "times", text, size);
	return trace_read(t, scratch_path(&scratch, "times", path), error);
}

static void expect(const char *text, const double *times_s, size_t count)
{
	struct trace t = { 0 };
	struct error error;

	assert(read_text(&t, text, strlen(text), &error));
	assert(t.count == count);
	for (size_t i = 0; i < count; i++)
		assert(t.times_s[i] == times_s[i]);
	trace_release(&t);
	assert(t.times_s == NULL);
}

static void expect_error(const char *text, size_t size, const char *part)
{
	struct trace t = { 0 };
	struct error error;

	assert(!read_text(&t, text, size, &error));
	assert(strstr(error.text, part) != NULL);
	assert(t.times_s == NULL && t.count == 0);
}

#define EXPECT_ERROR(text, part) expect_error(text, sizeof(text) - 1, part)

static void test_good_files(void)
{
	expect("1", (const double[]){ 1 }, 1);
	expect("# seconds\n0\n\n0.5\r\n  # later\n 0.5\t\n1e1\n",
	       (const double[]){ 0, 0.5, 0.5, 10 }, 4);
}

static void test_a_long_file(void)
{
	enum { COUNT = 5000 };
	static char text[2 * COUNT + 1];
	static double times_s[COUNT];

	for (int i = 0; i < COUNT; i++) {
		memcpy(text + 2 * i, "7\n", 2);
		times_s[i] = 7;
	}
	expect(text, times_s, COUNT);
}

static void test_bad_lines_are_named(void)
{
	EXPECT_ERROR("1\n2\n1.5\n", "times:3: '1.5': earlier");
	EXPECT_ERROR("# x\n-1\n", "times:2: '-1': not a time");
	EXPECT_ERROR("1 2\n", "times:1: '1 2': not a time");
	EXPECT_ERROR("1\nsoon\n", "times:2: 'soon'");
	EXPECT_ERROR("inf\n", "times:1: 'inf'");
	EXPECT_ERROR("0x10\n", "'0x10'");
	EXPECT_ERROR(".\n", "'.'");
	EXPECT_ERROR("1000001\n", "'1000001'");
	EXPECT_ERROR("1\n2\0\n", "times:2: not a line of text");
	EXPECT_ERROR("", "times: no time after 0");
	EXPECT_ERROR("0\n0\n", "times: no time after 0");
}

static void test_unreadable(void)
{
	struct trace t = { 0 };
	struct error error;

	assert(!trace_read(&t, "/no/such/file", &error));
	assert(strstr(error.text, "/no/such/file: No such file") != NULL);
	assert(!trace_read(&t, scratch.dir, &error));
	assert(strstr(error.text, ": Is a directory") != NULL);
}

int main(void)
{
	scratch_init(&scratch);
	test_good_files();
	test_a_long_file();
	test_bad_lines_are_named();
	test_unreadable();
	scratch_release(&scratch);
	return 0;
}
