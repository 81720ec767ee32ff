/* SPDX-License-Identifier: MIT */
/*
 * A dataset is the files of a folder or list in order, or an error that names
 * the file; a form follows RFC 7578, and its boundary is in no file.
 */
#include "loadgen/dataset/dataset.c" /* for form_wrap() */
#include "base/test/check.h"
#include "base/test/scratch.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void write_text(const struct scratch *s, const char *name,
		       const char *text)
{
	scratch_write(s, name, text, strlen(text));
}

static void expect(const struct dataset *d, uint32_t i, const char *path,
		   const char *text)
{
	CHECK_NUMBER(i, <, d->count);
	CHECK_TEXT(d->files[i].path, path);
	CHECK_NUMBER(d->files[i].size_bytes, ==, strlen(text));
	CHECK(memcmp(d->files[i].bytes, text, strlen(text)) == 0);
}

/* Loading fails, and the error contains `part`. */
static void expect_error(const char *dir, bool all_files, uint64_t bytes_max,
			 const char *part)
{
	struct dataset d = { 0 };
	struct error error;

	CHECK(!dataset_load(&d, dir, all_files, bytes_max, &error));
	CHECK_PART(error.text, part);
	CHECK_NUMBER(d.count, ==, 0);
	CHECK(d.files == NULL);
	CHECK_NUMBER(d.bytes_total, ==, 0);
}

static void test_sorted_by_path_with_folders_below(void)
{
	struct scratch s;
	struct dataset d = { 0 };
	struct error error;
	char slashed[SCRATCH_PATH_BYTES];

	scratch_init(&s);
	scratch_mkdir(&s, "b");
	scratch_mkdir(&s, "b/c");
	write_text(&s, "z.jpg", "last");
	write_text(&s, "b/c/2.JPEG", "second");
	write_text(&s, "a.jpg", "first");
	write_text(&s, "b/empty.Jpg", "");
	CHECK(dataset_load(&d, s.dir, false, DATASET_BYTES_MAX, &error));
	CHECK_NUMBER(d.count, ==, 4);
	CHECK_NUMBER(d.bytes_total, ==, 15);
	expect(&d, 0, "a.jpg", "first");
	expect(&d, 1, "b/c/2.JPEG", "second");
	expect(&d, 2, "b/empty.Jpg", "");
	expect(&d, 3, "z.jpg", "last");
	dataset_release(&d);
	CHECK(dataset_load(&d, scratch_path(&s, "", slashed), false,
			   DATASET_BYTES_MAX, &error));
	expect(&d, 0, "a.jpg", "first");
	dataset_release(&d);
	scratch_release(&s);
}

static void test_list(void)
{
	struct scratch s;
	struct dataset d = { 0 };
	struct error error;
	char path[SCRATCH_PATH_BYTES];

	scratch_init(&s);
	scratch_mkdir(&s, "sets");
	scratch_mkdir(&s, "sets/photos");
	write_text(&s, "sets/photos/b.jpg", "second");
	write_text(&s, "sets/a c", "first");
	write_text(&s, "d.jpg", "above");
	write_text(&s, "sets/list.tsv",
		   "# path\tquery\n"
		   "photos/b.jpg\tw=320&h=240\r\n\n"
		   "a c\n"
		   "../d.jpg\n"
		   "photos/b.jpg\n");
	CHECK(dataset_load(&d, scratch_path(&s, "sets/list.tsv", path), false,
			   DATASET_BYTES_MAX, &error));
	CHECK_NUMBER(d.count, ==, 4);
	expect(&d, 0, "photos/b.jpg", "second");
	expect(&d, 1, "a c", "first");
	expect(&d, 2, "../d.jpg", "above");
	expect(&d, 3, "photos/b.jpg", "second");
	CHECK_TEXT(d.files[0].query, "w=320&h=240");
	CHECK(d.files[1].query == NULL);
	CHECK(d.files[3].query == NULL);
	dataset_release(&d);
	scratch_release(&s);
}

/* A list with this line is refused for this reason. */
static void expect_bad_line(const struct scratch *s, const char *line,
			    const char *part)
{
	char path[SCRATCH_PATH_BYTES];

	write_text(s, "list.tsv", line);
	expect_error(scratch_path(s, "list.tsv", path), false, 9, part);
}

static void test_list_errors_name_the_line(void)
{
	struct scratch s;

	scratch_init(&s);
	scratch_mkdir(&s, "photos");
	write_text(&s, "a.jpg", "12345");
	expect_bad_line(&s, "# none\n", "list.tsv: no file is listed");
	expect_bad_line(&s, "\na.jpg\ngone.jpg\n",
			"list.tsv:3: gone.jpg: No such file");
	expect_bad_line(&s, "photos\n", ":1: photos: not a regular file");
	expect_bad_line(&s, "a.jpg\t\n", ":1: '': not a query");
	expect_bad_line(&s, "a.jpg\tw=1 h=2\n", "'w=1 h=2': not a query");
	expect_bad_line(&s, "a.jpg\t?w=1\n", "'?w=1': not a query");
	expect_bad_line(&s, "a.jpg\tw=1#x\n", "'w=1#x': not a query");
	expect_bad_line(&s, "a.jpg\tw=1\th=2\n", "not a query");
	expect_bad_line(&s, "a.jpg\na.jpg\n", ":2: a.jpg: now more than 9");
	scratch_release(&s);
}

/* A picture is no list of files: the error says what is. */
static void test_a_file_that_is_no_list(void)
{
	static const struct {
		const char *bytes;
		size_t size;
		const char *kind;
	} cases[] = {
		{ "\xff\xd8\xff\xe0\0\x10JFIF", 10, "it is a JPEG; give " },
		{ "\xff\xd8", 2, "it is a JPEG; give " },
		{ "\x89PNG\r\n\x1a\n", 8, "it is no text; give " },
		{ "RIFF\x01\0\0\0WEBP", 12, "it is no text; give " },
	};
	struct scratch s;
	char path[SCRATCH_PATH_BYTES];

	scratch_init(&s);
	scratch_path(&s, "photo.jpg", path);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		check_case("cases[%zu]: %s", i, cases[i].bytes);
		scratch_write(&s, "photo.jpg", cases[i].bytes, cases[i].size);
		expect_error(path, false, 100, cases[i].kind);
		expect_error(path, true, 100,
			     "a folder of photos, or a text "
			     "file with the path of a photo");
	}
	scratch_release(&s);
}

static void test_knows_images(void)
{
	static const char jpeg[] = "\xff\xd8"
				   "\xff\xc0\0\x0b\x08\0\x03\0\x04\1\1\x11\0";
	struct scratch s;
	struct dataset d = { 0 };
	struct error error;

	scratch_init(&s);
	scratch_write(&s, "a.jpg", jpeg, sizeof(jpeg) - 1);
	write_text(&s, "b.jpg", "no image");
	CHECK(dataset_load(&d, s.dir, false, DATASET_BYTES_MAX, &error));
	CHECK_NUMBER(d.files[0].image.width_px, ==, 4);
	CHECK_NUMBER(d.files[0].image.height_px, ==, 3);
	CHECK_NUMBER(d.files[1].image.width_px, ==, 0);
	dataset_release(&d);
	scratch_release(&s);
}

static void test_skips_hidden_and_other_names(void)
{
	struct scratch s;
	struct dataset d = { 0 };
	struct error error;

	scratch_init(&s);
	scratch_mkdir(&s, ".cache");
	write_text(&s, ".cache/a.jpg", "hidden folder");
	write_text(&s, ".b.jpg", "hidden");
	write_text(&s, "notes.txt", "text");
	write_text(&s, "jpg", "no dot");
	write_text(&s, "c.jpg", "photo");
	CHECK(dataset_load(&d, s.dir, false, DATASET_BYTES_MAX, &error));
	CHECK_NUMBER(d.count, ==, 1);
	expect(&d, 0, "c.jpg", "photo");
	dataset_release(&d);
	CHECK(dataset_load(&d, s.dir, true, DATASET_BYTES_MAX, &error));
	CHECK_NUMBER(d.count, ==, 3);
	expect(&d, 0, "c.jpg", "photo");
	expect(&d, 1, "jpg", "no dot");
	expect(&d, 2, "notes.txt", "text");
	dataset_release(&d);
	scratch_release(&s);
}

static void test_follows_links(void)
{
	struct scratch s;
	struct dataset d = { 0 };
	struct error error;
	char link[SCRATCH_PATH_BYTES];

	scratch_init(&s);
	write_text(&s, "photo.data", "photo");
	CHECK_NUMBER(symlink("photo.data", scratch_path(&s, "a.jpg", link)), ==,
		     0);
	CHECK(dataset_load(&d, s.dir, false, DATASET_BYTES_MAX, &error));
	CHECK_NUMBER(d.count, ==, 1);
	expect(&d, 0, "a.jpg", "photo");
	dataset_release(&d);
	scratch_release(&s);
}

static void test_errors_name_the_file(void)
{
	struct scratch s;
	char path[SCRATCH_PATH_BYTES];

	scratch_init(&s);
	expect_error(s.dir, false, 100, "no *.jpg");
	expect_error(s.dir, true, 100, "no file");
	expect_error(scratch_path(&s, "gone", path), false, 100, "gone");
	expect_error("", false, 100, ": ");
	write_text(&s, "a.jpg", "12345");
	CHECK_NUMBER(symlink("gone", scratch_path(&s, "b.jpg", path)), ==, 0);
	expect_error(s.dir, false, 100, "b.jpg: a link to nothing");
	CHECK_NUMBER(unlink(path), ==, 0);
	CHECK_NUMBER(symlink(".", scratch_path(&s, "loop", path)), ==, 0);
	expect_error(s.dir, false, 100, "loop: a link to a folder");
	scratch_release(&s);
}

/* Root may read everything, so this is only for other users. */
static void test_unreadable_file(void)
{
	struct scratch s;
	char path[SCRATCH_PATH_BYTES];

	if (geteuid() == 0)
		return;
	scratch_init(&s);
	write_text(&s, "a.jpg", "12345");
	CHECK_NUMBER(chmod(scratch_path(&s, "a.jpg", path), 0), ==, 0);
	expect_error(s.dir, false, 100, "a.jpg: Permission denied");
	scratch_release(&s);
}

static void test_total_is_bounded(void)
{
	struct scratch s;
	struct dataset d = { 0 };
	struct error error;

	scratch_init(&s);
	write_text(&s, "a.jpg", "12345");
	write_text(&s, "b.jpg", "12345");
	expect_error(s.dir, false, 9, "more than 9 bytes");
	CHECK(dataset_load(&d, s.dir, false, 10, &error));
	dataset_release(&d);
	scratch_release(&s);
}

static struct dataset_file make_file(const char *path, const char *bytes,
				     size_t size)
{
	struct dataset_file file = { .path = strdup(path),
				     .size_bytes = size,
				     .body_bytes = size,
				     .body = malloc(size + 1) };

	CHECK(file.path != NULL);
	CHECK(file.body != NULL);
	memcpy(file.body, bytes, size);
	file.bytes = file.body;
	return file;
}

static void test_known_form(void)
{
	static const char expected[] =
		"--bb\r\n"
		"Content-Disposition: form-data; name=\"file\"; "
		"filename=\"a b.jpg\"\r\n"
		"Content-Type: image/jpeg\r\n"
		"\r\n"
		"ph\0to\r\n"
		"--bb--\r\n";
	struct boundary boundary = { "bb" };
	struct dataset_file f = make_file("sub/a b.jpg", "ph\0to", 5);

	CHECK(form_wrap(&f, &boundary, "file"));
	CHECK_NUMBER(f.body_bytes, ==, sizeof(expected) - 1);
	CHECK(memcmp(f.body, expected, f.body_bytes) == 0);
	CHECK_NUMBER(f.size_bytes, ==, 5);
	CHECK(memcmp(f.bytes, "ph\0to", 5) == 0);
	free(f.body);
	free(f.path);
}

static void test_form_names_are_escaped(void)
{
	struct boundary boundary = { "bb" };
	char name[] = "a\"\r\nb";
	struct dataset_file file = { .path = name };
	char *head = form_head(&boundary, "f\"x", &file);

	CHECK(head != NULL);
	CHECK_PART(head, "name=\"f%22x\"");
	CHECK_PART(head, "filename=\"a%22%0D%0Ab\"");
	free(head);
}

static void test_boundaries(void)
{
	struct boundary first = boundary_make(0);
	struct boundary second = boundary_make(1);

	CHECK(strcmp(first.text, second.text) != 0);
	CHECK_NUMBER(strlen(first.text), <=, 70); /* RFC 2046, 5.1.1 */
	CHECK(boundary_is_in(&first, first.text, strlen(first.text)));
	CHECK(!boundary_is_in(&first, first.text, strlen(first.text) - 1));
	CHECK(!boundary_is_in(&first, second.text, strlen(second.text)));
}

static void test_dataset_finds_a_free_boundary(void)
{
	struct boundary taken[] = { boundary_make(0), boundary_make(1) };
	struct boundary free_one = boundary_make(2);
	struct scratch s;
	struct dataset d = { 0 };
	struct error error;

	scratch_init(&s);
	scratch_write(&s, "a.jpg", taken[1].text, strlen(taken[1].text));
	scratch_write(&s, "b.jpg", taken[0].text, strlen(taken[0].text));
	scratch_write(&s, "c.jpg", "", 0);
	CHECK(dataset_load(&d, s.dir, false, DATASET_BYTES_MAX, &error));
	CHECK_TEXT(d.content_type, "image/jpeg");
	CHECK(dataset_wrap(&d, "file", &error));
	CHECK_PART(d.content_type, free_one.text);
	for (uint32_t i = 0; i < d.count; i++) {
		const struct dataset_file *f = &d.files[i];

		CHECK(memmem(f->body, f->body_bytes, free_one.text,
			     strlen(free_one.text)) != NULL);
		CHECK(memmem(f->body, f->body_bytes, f->path,
			     strlen(f->path)) != NULL);
		CHECK_NUMBER(f->body_bytes, >, f->size_bytes);
	}
	CHECK_NUMBER(d.files[0].size_bytes, ==, strlen(taken[1].text));
	CHECK(memcmp(d.files[0].bytes, taken[1].text, d.files[0].size_bytes) ==
	      0);
	CHECK_NUMBER(d.files[2].size_bytes, ==, 0);
	dataset_release(&d);
	scratch_release(&s);
}

int main(void)
{
	test_sorted_by_path_with_folders_below();
	test_list();
	test_list_errors_name_the_line();
	test_a_file_that_is_no_list();
	test_knows_images();
	test_skips_hidden_and_other_names();
	test_follows_links();
	test_errors_name_the_file();
	test_unreadable_file();
	test_total_is_bounded();
	test_known_form();
	test_form_names_are_escaped();
	test_boundaries();
	test_dataset_finds_a_free_boundary();
	return 0;
}
