/* SPDX-License-Identifier: MIT */
/* The files below a folder, in order; nothing is skipped silently. */
#include "base/folder.h"

#include "base/test/scratch.h"

#include <assert.h>
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

	assert(folder_list_read(&list, path, kind, mark, &error));
	names[0] = '\0';
	for (size_t i = 0; i < list.count; i++) {
		struct stat status;

		assert(stat(list.files[i].path, &status) == 0);
		assert(list.files[i].bytes == (uint64_t)status.st_size);
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
	assert(symlink("later/z.jpg", "link.jpg") == 0);
	assert(strcmp(names_of(".", FOLDER_JPEGS, NULL), wanted) == 0);
	assert(strcmp(names_of(scratch.dir, FOLDER_JPEGS, NULL), wanted) == 0);
	assert(strcmp(names_of("./", FOLDER_JPEGS, NULL), wanted) == 0);
	assert(strcmp(names_of("later", FOLDER_ALL_FILES, NULL),
		      "c.Jpg notes.txt p.PPM q.pgm r.Pnm z.jpg ") == 0);
	assert(strcmp(names_of("later", FOLDER_PICTURES, NULL),
		      "c.Jpg p.PPM q.pgm r.Pnm z.jpg ") == 0);
	assert(names_of("empty", FOLDER_ALL_FILES, NULL)[0] == '\0');
}

static void test_marked_folders_are_left_out(void)
{
	assert(strcmp(names_of(".", FOLDER_JPEGS, "notes.txt"),
		      "B.JPEG a.jpg link.jpg ") == 0);
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
	assert(folder_list_read(&list, "many", FOLDER_JPEGS, NULL, &error));
	assert(list.count == 1000);
	for (int i = 0; i < 1000; i++)
		assert(atoi(list.files[i].name) == i);
	folder_list_release(&list);
}

static void test_errors_name_what_is_wrong(void)
{
	assert(fails("none", FOLDER_JPEGS, "none: No such file or directory"));
	assert(fails("a.jpg", FOLDER_JPEGS, "a.jpg: Not a directory"));
	scratch_mkdir(&scratch, "bad");
	assert(symlink("nothing", "bad/notes.txt") == 0);
	assert(names_of("bad", FOLDER_JPEGS, NULL)[0] == '\0');
	assert(fails("bad", FOLDER_ALL_FILES,
		     "bad/notes.txt: a link to nothing"));
	assert(symlink("..", "bad/up") == 0);
	assert(fails("bad", FOLDER_JPEGS,
		     "bad/up/bad: a link to a folder above it"));
}

int main(void)
{
	scratch_init(&scratch);
	assert(chdir(scratch.dir) == 0);
	test_jpegs_in_order();
	test_marked_folders_are_left_out();
	test_many();
	test_errors_name_what_is_wrong();
	scratch_release(&scratch);
	return 0;
}
