/* SPDX-License-Identifier: MIT */
/*
 * Promises: what is kept of a progressive file decodes, at sizes that need no
 * more, to the samples of all of it; what is left out is left out; a file with
 * anything odd about it is read whole.
 */
#include "imgops/scans.h"
#include "imgops/test/support.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The pieces as one file. */
static struct bytes join(const struct piece *pieces, uint32_t count)
{
	struct bytes all = { NULL, 0 };

	for (uint32_t i = 0; i < count; i++) {
		all.data = realloc(all.data, all.count + pieces[i].bytes);
		assert(all.data != NULL);
		memcpy(all.data + all.count, pieces[i].data, pieces[i].bytes);
		all.count += pieces[i].bytes;
	}
	return all;
}

/* At 1/8; `ac_components` are those that libjpeg decodes larger. */
static void check_same(struct bytes jpeg, J_COLOR_SPACE space,
		       uint32_t ac_components)
{
	struct piece pieces[SCANS_PIECES_MAX];
	uint32_t count =
		scans_keep(pieces, jpeg.data, jpeg.count, ac_components);

	assert(count > 0);
	struct bytes kept = join(pieces, count);
	struct jpeg_view a = jpeg_read(jpeg, space, 1);
	struct jpeg_view b = jpeg_read(kept, space, 1);

	assert(kept.count < jpeg.count);
	assert(a.width == b.width && a.height == b.height);
	assert(memcmp(a.pixels, b.pixels,
		      (size_t)a.width * a.height * a.channels) == 0);
	free(a.pixels);
	free(b.pixels);
	free(kept.data);
}

static void test_one_eighth_needs_no_ac_scans(void)
{
	static const struct jpeg_spec specs[] = {
		{ .space = JCS_GRAYSCALE },
		{ .h = { 1 } },
		{ .h = { 2 }, .v = { 2 } },
		{ .h = { 2 }, .v = { 2 }, .arithmetic = true },
		{ .h = { 1 }, .restart_interval = 3 },
		{ .h = { 1 }, .restart_interval = 3, .arithmetic = true },
		{ .h = { 1 }, .quality = 30 },
		{ .space = JCS_CMYK },
	};

	for (size_t i = 0; i < LENGTH(specs); i++) {
		struct jpeg_spec spec = specs[i];
		J_COLOR_SPACE space = spec.space ? spec.space : JCS_YCbCr;

		spec.width = 333;
		spec.height = 222;
		spec.progressive = true;
		spec.picture = waves;
		struct bytes jpeg = jpeg_make(&spec);

		check_same(jpeg, space, spec.h[0] == 2 ? 6 : 0);
		free(jpeg.data);
	}
}

int main(void)
{
	test_one_eighth_needs_no_ac_scans();
	return 0;
}
