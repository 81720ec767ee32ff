/* SPDX-License-Identifier: MIT */
/* The files below a folder, in order; nothing is skipped silently. */
#include "base/folder.h"

#include "base/test/check.h"
#include "base/test/scratch.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct scratch scratch;

static void make_file(const char *name, const char *text)
{
	scratch_write_text(&scratch, name, text);
}

/* The names of the listed files, each followed by a space. */
static const char *names_of(const char *path, enum folder_kind kind,
			    const char *mark)
{
	static char names[1000];
	struct folder_list list;
	struct error error;

	CHECK(folder_list_read(&list, path, kind, mark, &error));
	names[0] = '\0';
	for (size_t i = 0; i < list.count; i++) {
		struct stat status;

		CHECK_NUMBER(stat(list.files[i].path, &status), ==, 0);
		CHECK_NUMBER(list.files[i].bytes, ==, (uint64_t)status.st_size);
		strcat(strcat(names, list.files[i].name), " ");
	}
	folder_list_release(&list);
	folder_list_release(&list);
	return names;
}

static bool fails(const char *path, enum folder_kind kind, const char *text)
{
	struct folder_list list;
	struct error error;

	return !folder_list_read(&list, path, kind, NULL, &error) &&
	       list.count == 0 && list.files == NULL &&
	       strcmp(error.text, text) == 0;
}

static void test_jpegs_in_order(void)
{
	const char *wanted = "B.JPEG a.jpg later/c.Jpg later/z.jpg link.jpg ";

	scratch_mkdir(&scratch, "later");
	scratch_mkdir(&scratch, "empty");
	scratch_mkdir(&scratch, ".hidden");
	make_file("later/z.jpg", "z");
	make_file("later/c.Jpg", "");
	make_file("later/notes.txt", "");
	make_file("a.jpg", "a longer one");
	make_file("B.JPEG", "");
	make_file(".b.jpg", "");
	make_file(".hidden/d.jpg", "");
	make_file("jpg", "");
	make_file("later/p.PPM", "");
	make_file("later/q.pgm", "");
	make_file("later/r.Pnm", "");
	make_file("later/s.webp", "");
	make_file("later/t.avif", "");
	make_file("later/u.heic", "");
	make_file("later/v.HEIF", "");
	make_file("later/x.jxl", "");
	CHECK_NUMBER(symlink("later/z.jpg", "link.jpg"), ==, 0);
	CHECK_TEXT(names_of(".", FOLDER_JPEGS, NULL), wanted);
	CHECK_TEXT(names_of(scratch.dir, FOLDER_JPEGS, NULL), wanted);
	CHECK_TEXT(names_of("./", FOLDER_JPEGS, NULL), wanted);
	CHECK_TEXT(names_of("later", FOLDER_ALL_FILES, NULL),
		   "c.Jpg notes.txt p.PPM q.pgm r.Pnm s.webp t.avif u.heic "
		   "v.HEIF x.jxl z.jpg ");
	CHECK_TEXT(names_of("later", FOLDER_PICTURES, NULL),
		   "c.Jpg p.PPM q.pgm r.Pnm s.webp t.avif u.heic v.HEIF x.jxl "
		   "z.jpg ");
	CHECK_NUMBER(names_of("empty", FOLDER_ALL_FILES, NULL)[0], ==, '\0');
}

static void test_marked_folders_are_left_out(void)
{
	CHECK_TEXT(names_of(".", FOLDER_JPEGS, "notes.txt"),
		   "B.JPEG a.jpg link.jpg ");
}

/* More files than a list has room for at first, in a folder below. */
static void test_many(void)
{
	struct folder_list list;
	struct error error;

	scratch_mkdir(&scratch, "many");
	for (int i = 0; i < 1000; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "many/%03d.jpg", i);
		make_file(name, "");
	}
	CHECK(folder_list_read(&list, "many", FOLDER_JPEGS, NULL, &error));
	CHECK_NUMBER(list.count, ==, 1000);
	for (int i = 0; i < 1000; i++)
		CHECK_NUMBER(atoi(list.files[i].name), ==, i);
	folder_list_release(&list);
}

static void test_errors_name_what_is_wrong(void)
{
	CHECK(fails("none", FOLDER_JPEGS, "none: No such file or directory"));
	CHECK(fails("a.jpg", FOLDER_JPEGS, "a.jpg: Not a directory"));
	scratch_mkdir(&scratch, "bad");
	CHECK_NUMBER(symlink("nothing", "bad/notes.txt"), ==, 0);
	CHECK_NUMBER(names_of("bad", FOLDER_JPEGS, NULL)[0], ==, '\0');
	CHECK(fails("bad", FOLDER_ALL_FILES,
		    "bad/notes.txt: a link to nothing"));
	CHECK_NUMBER(symlink("..", "bad/up"), ==, 0);
	CHECK(fails("bad", FOLDER_JPEGS,
		    "bad/up/bad: a link to a folder above it"));
}

int main(void)
{
	scratch_init(&scratch);
	CHECK_NUMBER(chdir(scratch.dir), ==, 0);
	test_jpegs_in_order();
	test_marked_folders_are_left_out();
	test_many();
	test_errors_name_what_is_wrong();
	scratch_release(&scratch);
	return 0;
}
