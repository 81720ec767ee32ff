/* SPDX-License-Identifier: MIT */
/*
 * Promises for small sets made of the samples: all files decode, no two are
 * equal, their sizes follow table 4.1, and neither the number of threads nor a
 * second run changes a byte.
 *
 * usage: test_set PHOTOS
 */
#include "base/file.h"
#include "base/quantiles.h"
#include "base/test/scratch.h"
#include "datasets/set.c" /* for output_open() */
#include "base/test/check.h"
#include "datasets/test/support.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COUNT = 47 };

static char folder[] = "/tmp/test_set.XXXXXX";

static const char *path_in(const char *set, const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s%s%s", folder, set,
		 *name != '\0' ? "/" : "", name);
	return path;
}

/* A file of a set. */
struct content {
	char *bytes;
	size_t size_bytes;
};

static struct content read_whole(const char *set, const char *name)
{
	struct content c;
	const char *why;

	c.bytes = file_read_bytes(path_in(set, name), 1 << 30, &c.size_bytes,
				  &why);
	CHECK(c.bytes != NULL);
	return c;
}

static void make_set(const char *photos, const char *name, const char *profile,
		     uint32_t jobs, uint64_t seed)
{
	struct set set = { .profile = profile_find(profile),
			   .photos = photos,
			   .out = path_in(name, ""),
			   .seed = seed,
			   .jobs = jobs,
			   .count = COUNT };
	struct error error;

	CHECK(set_make(&set, &error));
	CHECK_NUMBER(set.source_count, >=, 1);
	set_release(&set);
}

static uint32_t count_equal(const char *one, const char *other)
{
	uint32_t equal = 0;

	for (uint32_t i = 0; i < COUNT; i++) {
		char name[OUTPUT_NAME_BYTES];
		struct content a, b;

		output_name(name, i);
		a = read_whole(one, name);
		b = read_whole(other, name);
		equal += a.size_bytes == b.size_bytes &&
			 memcmp(a.bytes, b.bytes, a.size_bytes) == 0;
		free(a.bytes);
		free(b.bytes);
	}
	return equal;
}

static void test_files_are_jpegs_that_differ(const char *set)
{
	struct content files[COUNT];

	for (uint32_t i = 0; i < COUNT; i++) {
		char name[OUTPUT_NAME_BYTES];
		struct picture seen;

		output_name(name, i);
		files[i] = read_whole(set, name);
		decode_strictly(&seen, (const uint8_t *)files[i].bytes,
				files[i].size_bytes);
		picture_release(&seen);
		for (uint32_t k = 0; k < i; k++)
			CHECK(files[i].size_bytes != files[k].size_bytes ||
			      memcmp(files[i].bytes, files[k].bytes,
				     files[i].size_bytes) != 0);
	}
	for (uint32_t i = 0; i < COUNT; i++)
		free(files[i].bytes);
}

static void test_sizes_are_those_wanted(const char *set)
{
	double sizes[COUNT];

	for (uint32_t i = 0; i < COUNT; i++) {
		char name[OUTPUT_NAME_BYTES];
		struct content file;

		output_name(name, i);
		file = read_whole(set, name);
		sizes[i] = (double)file.size_bytes;
		free(file.bytes);
	}
	quantiles_sort(sizes, COUNT);
	CHECK_NUMBER(sizes[0], ==, 398);
	CHECK_NUMBER(sizes[COUNT - 1], ==, 4200000);
	CHECK_NUMBER(fabs(quantile_nearest(sizes, COUNT, 0.5) / 37200 - 1), <,
		     0.06);
	/* With 47 files, neighbouring ranks differ by up to 15 %. */
	CHECK_NUMBER(fabs(quantile_nearest(sizes, COUNT, 0.9) / 623200 - 1), <,
		     0.2);
}

static void test_manifest_names_all(const char *set, const char *photos)
{
	struct content manifest = read_whole(set, "manifest.tsv");
	struct content licenses = read_whole(set, "LICENSES");
	uint32_t lines = 0;

	for (size_t i = 0; i < manifest.size_bytes; i++)
		lines += manifest.bytes[i] == '\n';
	CHECK_NUMBER(lines, ==, COUNT + 1);
	CHECK(memcmp(manifest.bytes, "file\tbytes\t", 11) == 0);
	/* Sources are relative to the folder of photos. */
	CHECK(memmem(manifest.bytes, manifest.size_bytes, photos,
		     strlen(photos)) == NULL);
	CHECK(memmem(manifest.bytes, manifest.size_bytes, "\tcoral-day.jpg\t",
		     15) != NULL);
	CHECK_NUMBER(licenses.size_bytes, >, 0);
	free(manifest.bytes);
	free(licenses.bytes);
}

/*
 * Emptying a folder also removes the files of a longer set.  Folders not made
 * by mkset are not touched.
 */
static void test_only_our_folders_are_emptied(void)
{
	FILE *stranger;

	CHECK(output_open(path_in("a", "")));
	CHECK_NUMBER(access(path_in("a", "00000.jpg"), F_OK), !=, 0);
	CHECK_NUMBER(access(path_in("a", "manifest.tsv"), F_OK), !=, 0);
	CHECK_NUMBER(unlink(path_in("a", ".mkset")), ==, 0);
	stranger = fopen(path_in("a", "00000.jpg"), "w");
	CHECK(stranger != NULL);
	CHECK_NUMBER(fclose(stranger), ==, 0);
	errno = 0;
	CHECK(!output_open(path_in("a", "")));
	CHECK_NUMBER(errno, ==, EEXIST);
	CHECK_NUMBER(access(path_in("a", "00000.jpg"), F_OK), ==, 0);
}

int main(int argc, char **argv)
{
	char command[PATH_MAX];

	CHECK_NUMBER(argc, ==, 2);
	CHECK(mkdtemp(folder) != NULL);
	scratch_adopt(folder);
	make_set(argv[1], "a", "avatar", 1, 1);
	make_set(argv[1], "b", "avatar", 2, 1);
	CHECK_NUMBER(count_equal("a", "b"), ==, COUNT);
	make_set(argv[1], "b", "avatar", 2, 2); /* replaces the other set */
	CHECK_NUMBER(count_equal("a", "b"), ==, 0);
	make_set(argv[1], "a", "thesis", 2, 1);
	test_sizes_are_those_wanted("a");
	test_files_are_jpegs_that_differ("a");
	test_manifest_names_all("a", argv[1]);
	test_only_our_folders_are_emptied();
	snprintf(command, sizeof(command), "rm -r '%s'", folder);
	return system(command);
}
