/* SPDX-License-Identifier: MIT */
/*
 * Saved replies are complete, status.tsv has a line for each request, and a
 * later reply equals a saved one only if all bytes are equal.
 */
#include "loadgen/report/saved_replies.h"

#include "base/test/check.h"
#include "base/util.h"
#include "base/test/scratch.h"

#include <stdlib.h>
#include <string.h>

enum { LARGE_BYTES = 100000 };

static struct dataset dataset_of(struct dataset_file *files, uint32_t count)
{
	return (struct dataset){ .files = files, .count = count };
}

static void expect_file(const struct scratch *s, const char *name,
			const char *text)
{
	char *found = scratch_read(s, name);

	CHECK_TEXT(found, text);
	free(found);
}

static void test_replies_and_lines(void)
{
	struct dataset_file files[] = { { .path = (char *)"a.jpg" },
					{ .path = (char *)"b/c\td.jpg" } };
	struct dataset d = dataset_of(files, 2);
	struct result results[] = {
		{ .file = 1, .status = 200, .reply = "good", .reply_bytes = 4 },
		{ .file = 0,
		  .status = 503,
		  .reply = "busy!",
		  .reply_bytes = 5 },
		{ .file = 0, .error = "reset", .reply = "x", .reply_bytes = 1 },
		{ .file = 1, .status = 200, .reply = "new", .reply_bytes = 3 },
	};
	struct scratch s;
	struct error error;
	char dir[SCRATCH_PATH_BYTES];
	struct save *save;

	scratch_init(&s);
	save = save_new(scratch_path(&s, "out", dir), &d, &error);
	CHECK(save != NULL);
	for (size_t i = 0; i < ARRAY_SIZE(results); i++)
		CHECK(save_add(save, &results[i], &error));
	CHECK(save_free(save, &error));
	expect_file(&s, "out/b__c\td.jpg", "new"); /* the last reply stays */
	CHECK(!scratch_has(&s, "out/a.jpg"));
	expect_file(&s, "out/status.tsv",
		    "b/c?d.jpg\t200\t4\n"
		    "a.jpg\t503\t5\n"
		    "a.jpg\treset\t1\n"
		    "b/c?d.jpg\t200\t3\n");
	scratch_release(&s);
}

static void test_reply_without_body(void)
{
	struct dataset_file file = { .path = (char *)"a.jpg" };
	struct dataset d = dataset_of(&file, 1);
	struct result result = { .status = 204 };
	struct scratch s;
	struct error error;
	struct save *save;

	scratch_init(&s);
	save = save_new(s.dir, &d, &error);
	CHECK(save != NULL);
	CHECK(save_add(save, &result, &error));
	CHECK(save_free(save, &error));
	expect_file(&s, "a.jpg", "");
	scratch_release(&s);
}

static void test_refuses_equal_names(void)
{
	struct dataset_file files[] = { { .path = (char *)"a/b.jpg" },
					{ .path = (char *)"a__b.jpg" },
					{ .path = (char *)"status.tsv" } };
	struct dataset two = dataset_of(files, 2);
	struct dataset status = dataset_of(&files[2], 1);
	struct scratch s;
	struct error error;

	scratch_init(&s);
	CHECK(save_new(s.dir, &two, &error) == NULL);
	CHECK_PART(error.text, "a__b.jpg");
	CHECK(save_new(s.dir, &status, &error) == NULL);
	CHECK_PART(error.text, "status.tsv");
	scratch_release(&s);
}

static void test_errors_name_the_place(void)
{
	struct dataset_file file = { .path = (char *)"a.jpg" };
	struct dataset d = dataset_of(&file, 1);
	struct result result = { .status = 200 };
	struct scratch s;
	struct error error;
	char path[SCRATCH_PATH_BYTES];
	struct save *save;

	scratch_init(&s);
	CHECK(save_new(scratch_path(&s, "no/way", path), &d, &error) == NULL);
	CHECK_PART(error.text, "no/way");
	scratch_write(&s, "file", "x", 1);
	CHECK(save_new(scratch_path(&s, "file", path), &d, &error) == NULL);
	CHECK_PART(error.text, "Not a directory");
	save = save_new(s.dir, &d, &error);
	CHECK(save != NULL);
	/*
	 * A folder has the name of the reply, so the reply cannot be written.
	 */
	scratch_mkdir(&s, "a.jpg");
	CHECK(!save_add(save, &result, &error));
	CHECK_PART(error.text, "a.jpg");
	CHECK(save_free(save, &error));
	scratch_release(&s);
}

static void expect_wrong(const char *dir, const char *path, const void *bytes,
			 size_t size, const char *part)
{
	struct error why;

	CHECK(!saved_reply_equals(dir, path, bytes, size, &why));
	CHECK_PART(why.text, part);
}

/* A reply equals the saved one only if its length and every byte are equal. */
static void test_comparison(void)
{
	struct scratch scratch;
	struct error why;
	char *large = malloc(LARGE_BYTES);

	CHECK(large != NULL);
	memset(large, 'x', LARGE_BYTES);
	scratch_init(&scratch);
	scratch_write(&scratch, "sub__a.jpg", "golden", 6);
	scratch_write(&scratch, "large.jpg", large, LARGE_BYTES);
	scratch_write(&scratch, "empty.jpg", "", 0);
	CHECK(saved_reply_equals(scratch.dir, "sub/a.jpg", "golden", 6, &why));
	CHECK(saved_reply_equals(scratch.dir, "large.jpg", large, LARGE_BYTES,
				 &why));
	CHECK(saved_reply_equals(scratch.dir, "empty.jpg", "", 0, &why));
	expect_wrong(scratch.dir, "sub/a.jpg", "gilden", 6, "other bytes");
	expect_wrong(scratch.dir, "sub/a.jpg", "golden!", 7, "other bytes");
	expect_wrong(scratch.dir, "sub/a.jpg", "gold", 4, "other bytes");
	expect_wrong(scratch.dir, "sub/a.jpg", "", 0, "other bytes");
	expect_wrong(scratch.dir, "empty.jpg", "x", 1, "other bytes");
	large[LARGE_BYTES - 1] = 'y';
	expect_wrong(scratch.dir, "large.jpg", large, LARGE_BYTES,
		     "large.jpg: other bytes");
	expect_wrong(scratch.dir, "b.jpg", "golden", 6, "No such file");
	expect_wrong("/no/such/folder", "b.jpg", "golden", 6, "No such file");
	scratch_release(&scratch);
	free(large);
}

int main(void)
{
	test_replies_and_lines();
	test_reply_without_body();
	test_refuses_equal_names();
	test_errors_name_the_place();
	test_comparison();
	return 0;
}
