/* SPDX-License-Identifier: MIT */
#include "imgops/repack.h"

#ifdef IMG_JXL
#include "imgops/formats/jxl/jxl.h"
#endif

bool img_can_repack(void)
{
#ifdef IMG_JXL
	return true;
#else
	return false;
#endif
}

enum img_err img_repack(enum img_repack what, uint8_t *to, size_t room,
			size_t *count, const uint8_t *bytes, size_t byte_count)
{
#ifdef IMG_JXL
	return (what == IMG_PACK ? jxl_pack : jxl_restore)(to, room, count,
							   bytes, byte_count);
#else
	(void)what;
	(void)to;
	(void)room;
	(void)count;
	(void)bytes;
	(void)byte_count;
	return IMG_ERR_UNSUPPORTED;
#endif
}

/*
 * Measured with libjxl 0.7.0, photos and odd files of up to 36 megapixels: at
 * most 27 bytes a pixel to pack, and 6 to restore.  Pixels of narrow pictures
 * count as those of wider ones.
 */
enum {
	ONCE_BYTES = 24 << 20,
	EDGE_PX = 64,
	PACK_PIXEL_BYTES = 40,
	RESTORE_PIXEL_BYTES = 12,
	PROFILE_BYTES = 24, /* for each of a profile */
};

/* A multiple of what photos take: 0.23 s for each million of bytes. */
#define ONCE_NS UINT64_C(3000000000)
enum { BYTE_NS = 2000, PIXEL_NS = 500 };

bool img_estimate_repack(struct img_repack_estimate *out, enum img_repack what,
			 const uint8_t *bytes, size_t count)
{
	static const struct img_limits limits = {
		.side_px_max = IMG_SIDE_PX_MAX,
		.pixels_max = UINT64_MAX,
		.scans_max = UINT32_MAX,
		.decode_bytes_max = UINT64_MAX,
	};
	uint32_t pixel_bytes =
		what == IMG_PACK ? PACK_PIXEL_BYTES : RESTORE_PIXEL_BYTES;
	struct img_header h;
	uint64_t pixels;

	if (img_probe(&h, bytes, count, &limits) != IMG_OK)
		return false;
	pixels = (uint64_t)(h.stored.width_px + EDGE_PX) *
		 (h.stored.height_px + EDGE_PX);
	*out = (struct img_repack_estimate){
		.memory_bytes = ONCE_BYTES + pixels * pixel_bytes +
				(uint64_t)h.icc_bytes * PROFILE_BYTES,
		.cpu_ns_max = ONCE_NS + count * BYTE_NS + pixels * PIXEL_NS,
	};
	return true;
}
