/* SPDX-License-Identifier: MIT */
/*
 * A libFuzzer target: the metadata of a file, and any bytes as Exif, XMP and
 * IPTC.
 *
 * For any bytes: nothing outside is read; what is made has no more than it may;
 * and what was kept is kept again as it is.  The input has the form of
 * fuzz_imgops; the first of its option bytes is what is kept.
 */
#include "imgops/test/support.h"

#include <assert.h>
#include <string.h>

enum { OPTION_BYTES = 8 };

static const struct img_limits limits = {
	.side_px_max = 65500,
	.pixels_max = 1 << 20,
	.scans_max = 20,
	.decode_bytes_max = 64 << 20,
};

static bool is_equal(const struct img_metadata_part *a,
		     const struct img_metadata_part *b)
{
	return a->count == b->count &&
	       (a->count == 0 || memcmp(a->bytes, b->bytes, a->count) == 0);
}

static void try(const struct img_metadata *from, const struct img_transform *t,
		struct heap *h)
{
	const struct img_header header = { .orientation = 6 };
	const struct img_view view = whole_view((struct img_size){ 9, 7 });
	const struct image scaled = { .profile = NULL };
	struct img_metadata made, again;

	if (img_metadata_make(&made, from, &header, &view, t, &scaled,
			      &h->memory) != IMG_OK)
		return;
	assert(made.exif.count <= IMG_METADATA_PART_BYTES_MAX);
	assert(made.xmp.count <= IMG_METADATA_PART_BYTES_MAX);
	assert(made.xmp.count == 0 || made.xmp_end < made.xmp.count);
	if (img_metadata_make(&again, &made, &header, &view, t, &scaled,
			      &h->memory) == IMG_OK &&
	    t->metadata == IMG_METADATA_KEEP) {
		assert(is_equal(&made.xmp, &again.xmp));
		assert(is_equal(&made.iptc, &again.iptc));
	}
	img_metadata_release(&made);
	img_metadata_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct img_transform t = { .quality = 80 };
	struct img_metadata from;
	struct img_header header;
	struct heap h;

	if (bytes <= OPTION_BYTES)
		return -1;
	heap_init(&h);
	t.metadata = 1 + data[0] % 2;
	t.as_stored = data[0] & 4;
	data += OPTION_BYTES;
	bytes -= OPTION_BYTES;
	if (img_probe(&header, data, bytes, &limits) == IMG_OK &&
	    img_metadata_read(&from, data, bytes, &header, &h.memory) ==
		    IMG_OK) {
		try(&from, &t, &h);
		img_metadata_release(&from);
	}
	if (bytes <= IMG_METADATA_PART_BYTES_MAX) {
		/* On the heap, as the sanitizer needs it. */
		uint8_t *copy = memory_alloc(&h.memory, bytes);
		struct img_metadata_part part = { copy, bytes };

		memcpy(copy, data, bytes);
		from = (struct img_metadata){
			.exif = part, .xmp = part, .iptc = part, .block = copy
		};
		try(&from, &t, &h);
		memory_free(&h.memory, copy);
	}
	assert(h.live_count == 0);
	return 0;
}
