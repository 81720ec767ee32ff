/* SPDX-License-Identifier: MIT */
/*
 * Small sets of the samples: all decode, none are equal, sizes are those of
 * table 4.1, and neither threads nor a second run change a byte.
 *
 * usage: test_set PHOTOS
 */
#include "datasets/inspect.h"
#include "datasets/output.h"
#include "datasets/quantiles.h"
#include "datasets/set.h"
#include "datasets/test/support.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COUNT = 47 };

static char folder[] = "/tmp/test_set.XXXXXX";

static const char *path_of(const char *set, const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s%s%s", folder, set,
		 *name != '\0' ? "/" : "", name);
	return path;
}

static struct content read_whole(const char *set, const char *name)
{
	struct content c;

	assert(content_read(&c, path_of(set, name)));
	return c;
}

static void make_set(const char *photos, const char *name, const char *profile,
		     uint32_t jobs, uint64_t seed)
{
	struct set set = { .profile = profile_find(profile),
			   .photos = photos,
			   .out = path_of(name, ""),
			   .seed = seed,
			   .jobs = jobs,
			   .count = COUNT };

	assert(set_survey(&set));
	assert(set.source_count >= 1);
	assert(output_open(set.out));
	assert(set_make(&set));
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
		decode_strictly(&seen, files[i].bytes, files[i].size_bytes);
		picture_release(&seen);
		for (uint32_t k = 0; k < i; k++)
			assert(files[i].size_bytes != files[k].size_bytes ||
			       memcmp(files[i].bytes, files[k].bytes,
				      files[i].size_bytes) != 0);
	}
	for (uint32_t i = 0; i < COUNT; i++)
		free(files[i].bytes);
}

static void test_sizes_are_those_wanted(const char *set)
{
	uint64_t sizes[COUNT];
	struct size_summary s;

	for (uint32_t i = 0; i < COUNT; i++) {
		char name[OUTPUT_NAME_BYTES];
		struct content file;

		output_name(name, i);
		file = read_whole(set, name);
		sizes[i] = file.size_bytes;
		free(file.bytes);
	}
	s = sizes_summarise(sizes, COUNT);
	assert(s.min == 398 && s.max == 4200000);
	assert(fabs((double)s.median / 37200 - 1) < 0.06);
	/* So few files are as coarse as 15 % from one rank to the next. */
	assert(fabs((double)s.p90 / 623200 - 1) < 0.2);
}

static void test_manifest_names_all(const char *set, const char *photos)
{
	struct content manifest = read_whole(set, "manifest.tsv");
	struct content licenses = read_whole(set, "LICENSES");
	uint32_t lines = 0;

	for (size_t i = 0; i < manifest.size_bytes; i++)
		lines += manifest.bytes[i] == '\n';
	assert(lines == COUNT + 1);
	assert(memcmp(manifest.bytes, "file\tbytes\t", 11) == 0);
	/* Sources are named within the folder of photos. */
	assert(memmem(manifest.bytes, manifest.size_bytes, photos,
		      strlen(photos)) == NULL);
	assert(memmem(manifest.bytes, manifest.size_bytes, "\tcoral-day.jpg\t",
		      15) != NULL);
	assert(licenses.size_bytes > 0);
	free(manifest.bytes);
	free(licenses.bytes);
}

/* A shorter set leaves nothing of the longer one behind, nor touches others. */
static void test_only_our_folders_are_emptied(void)
{
	FILE *stranger;

	assert(output_open(path_of("a", "")));
	assert(access(path_of("a", "00000.jpg"), F_OK) != 0);
	assert(access(path_of("a", "manifest.tsv"), F_OK) != 0);
	assert(unlink(path_of("a", ".mkset")) == 0);
	stranger = fopen(path_of("a", "00000.jpg"), "w");
	assert(stranger != NULL && fclose(stranger) == 0);
	errno = 0;
	assert(!output_open(path_of("a", "")) && errno == EEXIST);
	assert(access(path_of("a", "00000.jpg"), F_OK) == 0);
}

int main(int argc, char **argv)
{
	char command[PATH_MAX];

	assert(argc == 2 && mkdtemp(folder) != NULL);
	make_set(argv[1], "a", "avatar", 1, 1);
	make_set(argv[1], "b", "avatar", 2, 1);
	assert(count_equal("a", "b") == COUNT);
	make_set(argv[1], "b", "avatar", 2, 2); /* over the other */
	assert(count_equal("a", "b") == 0);
	make_set(argv[1], "a", "thesis", 2, 1);
	test_sizes_are_those_wanted("a");
	test_files_are_jpegs_that_differ("a");
	test_manifest_names_all("a", argv[1]);
	test_only_our_folders_are_emptied();
	snprintf(command, sizeof(command), "rm -r '%s'", folder);
	return system(command);
}
