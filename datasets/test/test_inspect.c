/* SPDX-License-Identifier: MIT */
/* Headers are read as they are written, and broken ones do no harm. */
#include "datasets/encode.h"
#include "datasets/inspect.h"
#include "datasets/memory.h"
#include "datasets/test/support.h"

#include <assert.h>
#include <string.h>

static void encode(struct jpeg *out, const struct encoding *e)
{
	struct picture picture;

	draw(&picture, 50, 30);
	encode_picture(out, &picture, e);
	picture_release(&picture);
}

static void test_kinds_are_told_apart(void)
{
	static const struct encoding kinds[] = {
		{ .quality = 80, .sampling = SAMPLING_420 },
		{ .quality = 80, .sampling = SAMPLING_422 },
		{ .quality = 80, .sampling = SAMPLING_444 },
		{ .quality = 80, .progressive = true },
		{ .quality = 80, .grey = true },
	};
	static const char *const names[] = { "4:2:0", "4:2:2", "4:4:4", "4:2:0",
					     "grey" };

	for (int i = 0; i < 5; i++) {
		struct jpeg jpeg;
		struct facts f;

		encode(&jpeg, &kinds[i]);
		assert(inspect(&f, jpeg.bytes, jpeg.size_bytes));
		assert(f.width == 50 && f.height == 30);
		assert(strcmp(f.sampling, names[i]) == 0);
		assert(f.progressive == kinds[i].progressive);
		assert(!f.exif && f.orientation == 0 && f.icc_bytes == 0);
		jpeg_release(&jpeg);
	}
}

/* Every beginning, in memory of just that size, so that ASan sees. */
static void test_cut_files_are_refused(void)
{
	const struct encoding e = { .quality = 80 };
	struct jpeg jpeg;
	struct facts f;
	size_t whole = 0;

	encode(&jpeg, &e);
	for (size_t size = 0; size < jpeg.size_bytes; size++) {
		uint8_t *cut = memory_new(size + 1, 1);

		memcpy(cut, jpeg.bytes, size);
		cut = memory_resize(cut, size > 0 ? size : 1, 1);
		whole += inspect(&f, cut, size);
		assert(size > 150 || whole == 0);
		free(cut);
	}
	assert(whole > 0); /* those cut behind the frame header */
	jpeg_release(&jpeg);
}

static void test_others_are_refused(void)
{
	struct facts f;

	assert(!inspect(&f, (const uint8_t *)"GIF89a...", 9));
	assert(!inspect(&f, (const uint8_t *)"\xff\xd8\xff\xd9", 4));
	assert(!inspect(&f, (const uint8_t *)"\xff\xd8\xff\xe1\0\0", 6));
}

int main(void)
{
	test_kinds_are_told_apart();
	test_cut_files_are_refused();
	test_others_are_refused();
	return 0;
}
