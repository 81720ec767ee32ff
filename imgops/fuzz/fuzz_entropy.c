/* SPDX-License-Identifier: MIT */
/*
 * A libFuzzer target: reduced pictures with and without sequential_read() and
 * progressive_read().
 *
 * For any bytes: if one of the two functions reads them, libjpeg accepts them
 * and makes the same samples; and img_decode_any() returns the same error as
 * libjpeg, or finds damage in scans that libjpeg did not need.  A file of one
 * scan gives the same, or is refused, while it arrives in pieces.  The input
 * has the form of fuzz_imgops; the first of its option bytes is the scale and
 * the size of the pieces, and the others are ignored.
 */
#include "base/test/check.h"
#include "imgops/test/reduced.h"
#include "imgops/test/support.h"

#include <assert.h>

enum { OPTION_BYTES = 8 };

static const struct img_limits limits = {
	.side_px_max = 65500,
	.pixels_max = 1 << 20,
	.scans_max = 20,
	.decode_bytes_max = 64 << 20,
};

/* What we read at 8/8, libjpeg reads, too. */
static void check_full(const uint8_t *jpeg, size_t bytes, struct heap *h)
{
	struct image ours, alone;

	if (!reduced_by_ours(&ours, 8, jpeg, bytes, &limits, &h->memory))
		return;

	enum img_err err =
		reduced_by_libjpeg(&alone, 8, jpeg, bytes, &limits, &h->memory);

	assert(err == IMG_OK);
	assert(is_same(&ours, &alone));
	img_release(&ours);
	img_release(&alone);
}

static void check_pieces(const uint8_t *jpeg, size_t bytes, uint8_t option,
			 struct heap *h)
{
	uint32_t n = option % 5 < 4 ? 1 + option % 5 : 8;
	struct image whole, come;
	bool ok = reduced_by_ours(&whole, n, jpeg, bytes, &limits, &h->memory);

	CHECK(reduced_in_pieces(&come, n, jpeg, bytes, 1 + option * 7u, &limits,
				&h->memory) == ok);
	CHECK(is_same(&whole, &come));
	img_release(&whole);
	img_release(&come);
}

static void check(const uint8_t *jpeg, size_t bytes,
		  const struct img_header *header, struct heap *h)
{
	struct img_view view = whole_view((struct img_size){ 1, 1 });
	struct image ours, alone, decoded = { 0 };
	bool ok = false;

	for (uint32_t n = 4; n >= 1; n--) {
		/*
		 * A file that is read at one size is also read at every smaller
		 * size.
		 */
		bool larger = ok;

		ok = reduced_by_ours(&ours, n, jpeg, bytes, &limits,
				     &h->memory);
		assert(ok || !larger);
		if (n > 1)
			img_release(&ours);
	}
	enum img_err err =
		reduced_by_libjpeg(&alone, 1, jpeg, bytes, &limits, &h->memory);

	if (ok) {
		assert(err == IMG_OK);
		assert(reduced_is_same(&ours, &alone));
	}
	img_release(&ours);
	img_release(&alone);
	check_full(jpeg, bytes, h);
	/*
	 * A side of less than a block cannot be decoded at 1/8: it would be
	 * less than a pixel.
	 */
	if (header->stored.width_px < 8 || header->stored.height_px < 8)
		return;

	enum img_err any = img_decode_any(&decoded, jpeg, bytes, header, &view,
					  &(struct img_transform){ 0 }, &limits,
					  &h->memory);

	/*
	 * It reads scans that are left out above if hidden samples show or for
	 * fine texture, and these may be damaged.
	 */
	assert(any == err || (header->is_progressive && err == IMG_OK &&
			      any == IMG_ERR_CORRUPT));
	img_release(&decoded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct img_header header;
	struct heap h;
	uint8_t option;

	if (bytes < OPTION_BYTES)
		return -1;
	option = data[0];
	data += OPTION_BYTES;
	bytes -= OPTION_BYTES;
	heap_init(&h);
	if (img_probe(&header, data, bytes, &limits) == IMG_OK &&
	    header.format == img_formats[IMG_FORMAT_JPEG]) {
		check(data, bytes, &header, &h);
		if (!header.is_progressive)
			check_pieces(data, bytes, option, &h);
	}
	assert(h.live_count == 0);
	return 0;
}
