/* SPDX-License-Identifier: MIT */
/*
 * What is AVIF's own in the header: names of boxes, and the box "av1C".
 */
#include "imgops/formats/avif/avif.h"

static enum img_err read_config(struct heif_coding *coding,
				struct isobmff_span s)
{
	uint32_t bits = (uint32_t)isobmff_number(&s, 4) >> 8 & 0xff;

	coding->depth = (bits & 64) == 0 ? 8 : (bits & 32) == 0 ? 10 : 12;
	coding->is_grey = (bits & 16) != 0;
	coding->h_factor = (bits & 8) != 0 ? 2 : 1;
	coding->v_factor = (bits & 4) != 0 ? 2 : 1;
	return s.is_bad ? IMG_ERR_CORRUPT : IMG_OK;
}

static const uint32_t brands[] = { ISOBMFF_NAME('a', 'v', 'i', 'f'),
				   ISOBMFF_NAME('a', 'v', 'i', 's') };

static const struct heif_codec av1 = {
	.item_type = ISOBMFF_NAME('a', 'v', '0', '1'),
	.config_type = ISOBMFF_NAME('a', 'v', '1', 'C'),
	.sequence = ISOBMFF_NAME('a', 'v', 'i', 's'),
	.read_config = read_config,
};

bool avif_recognise(const uint8_t *bytes, size_t count)
{
	return heif_recognise(bytes, count, brands, ARRAY_SIZE(brands));
}

enum img_err avif_probe_more(struct img_header *h, const uint8_t *bytes,
			     const struct img_limits *limits)
{
	return heif_probe_more(h, bytes, &av1, limits);
}
