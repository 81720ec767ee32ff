/* SPDX-License-Identifier: MIT */
#include "imgops/formats/webp/webp.h"

#include <string.h>

static bool webp_recognise(const uint8_t *bytes, size_t count)
{
	return memcmp(bytes, "RIFF", min_u64(count, 4)) == 0 &&
	       (count <= 8 || memcmp(bytes + 8, "WEBP", count - 8) == 0);
}

/* VP8 has no other chroma. */
static enum format_planes webp_planes(const struct img_transform *transform)
{
	return transform->lossless ? FORMAT_RGB : FORMAT_YCBCR_420;
}

static const struct img_codec codec = {
	.magic_bytes = WEBP_MAGIC_BYTES,
	.recognise = webp_recognise,
	.probe_more = webp_probe_more,
	.decode = webp_decode,
	.decode_estimate = &webp_decode_estimate,
	.encode = webp_encode,
	.encode_estimate = &webp_encode_estimate,
	.planes = webp_planes,
	.holds_alpha = true,
	.holds_profile = true,
};

const struct img_format webp_format = {
	.name = "WebP",
	.word = "webp",
	.media_type = "image/webp",
	.suffix = "webp",
	.side_px_max = WEBP_SIDE_PX_MAX,
	.codec = &codec,
};
