/* SPDX-License-Identifier: MIT */
#include "imgops/formats/avif/avif.h"

/* Only the samples of RGB can be kept as they are: see encode.c. */
static enum format_planes avif_planes(const struct img_transform *transform)
{
	return transform->lossless ? FORMAT_RGB : FORMAT_YCBCR;
}

static const struct img_codec codec = {
	.magic_bytes = AVIF_MAGIC_BYTES,
	.recognise = avif_recognise,
	.probe_more = avif_probe_more,
	.decode = avif_decode,
	.decode_estimate = &avif_decode_estimate,
	.encode = avif_encode,
	.encode_estimate = &avif_encode_estimate,
	.planes = avif_planes,
	.holds_alpha = true,
	.holds_profile = true,
};

const struct img_format avif_format = {
	.name = "AVIF",
	.word = "avif",
	.media_type = "image/avif",
	.suffix = "avif",
	.is_fragile = true,
	.codec = &codec,
};
