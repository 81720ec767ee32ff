/* SPDX-License-Identifier: MIT */
/*
 * All of HEIC but its decoder: what is its own in the header, and what decoding
 * takes.
 */
#include "imgops/formats/heic/heic.h"

#include "imgops/estimate.h"
#include "imgops/image.h"

enum img_err heic_config_read(struct heic_config *c, struct isobmff_span s)
{
	uint32_t chroma, luma_depth, chroma_depth;

	isobmff_skip(&s, 16); /* profile, level */
	chroma = isobmff_number(&s, 1) & 3;
	luma_depth = 8 + (isobmff_number(&s, 1) & 7);
	chroma_depth = 8 + (isobmff_number(&s, 1) & 7);
	isobmff_skip(&s, 2); /* frame rate */
	c->length_bytes = 1 + (isobmff_number(&s, 1) & 3);
	c->arrays = (uint32_t)isobmff_number(&s, 1);
	c->at = s;
	c->coding = (struct heif_coding){
		.is_grey = chroma == 0,
		.depth = luma_depth > chroma_depth ? luma_depth : chroma_depth,
		.h_factor = chroma == 1 || chroma == 2 ? 2 : 1,
		.v_factor = chroma == 1 ? 2 : 1,
	};
	if (s.is_bad)
		return IMG_ERR_CORRUPT;
	return c->coding.depth <= HEIF_DEPTH_MAX ? IMG_OK : IMG_ERR_UNSUPPORTED;
}

static enum img_err read_config(struct heif_coding *coding,
				struct isobmff_span config)
{
	struct heic_config c;
	enum img_err err = heic_config_read(&c, config);

	*coding = c.coding;
	return err;
}

/* Of pictures: with one layer, and other profiles; then of sequences. */
static const uint32_t brands[] = { ISOBMFF_NAME('h', 'e', 'i', 'c'),
				   ISOBMFF_NAME('h', 'e', 'i', 'x'),
				   ISOBMFF_NAME('h', 'e', 'v', 'c'),
				   ISOBMFF_NAME('h', 'e', 'v', 'x') };

static const struct heif_codec hevc = {
	.item_type = ISOBMFF_NAME('h', 'v', 'c', '1'),
	.config_type = ISOBMFF_NAME('h', 'v', 'c', 'C'),
	.sequence = ISOBMFF_NAME('h', 'e', 'v', 'c'),
	.read_config = read_config,
};

bool heic_recognise(const uint8_t *bytes, size_t count)
{
	return heif_recognise(bytes, count, brands, ARRAY_SIZE(brands));
}

enum img_err heic_probe_more(struct img_header *h, const uint8_t *bytes,
			     const struct img_limits *limits)
{
	return heif_probe_more(h, bytes, &hevc, limits);
}

/* --- Estimate --- */

uint64_t heic_library_bytes(const struct img_header *h)
{
	enum { ONCE_BYTES = 2 << 20, EDGE_PX = 64 };
	/*
	 * Two pictures, before and after SAO, and what is known of blocks.
	 * Version 1.0.11 took 4 bytes for a pixel in 4:2:0, and 9 in 4:4:4; and
	 * it copies the data of a cell.
	 */
	enum { PIXEL_BYTES = 6, FULL_CHROMA_BYTES = 9 };
	const struct heif_own *own = heif_own(h);
	uint64_t cell = (uint64_t)(own->cell.width_px + EDGE_PX) *
			(own->cell.height_px + EDGE_PX);
	uint64_t each =
		own->coding.h_factor == 1 ? FULL_CHROMA_BYTES : PIXEL_BYTES;

	each *= own->coding.depth > 8 ? 2 : 1;
	return ONCE_BYTES + cell * each + h->bytes;
}

void heic_shape(struct image *img, struct img_size size,
		const struct img_header *h)
{
	const struct heif_own *own = heif_own(h);
	const struct heif_coding *c = &own->coding;

	*img = (struct image){ .space = IMG_GREY, .plane_count = 1 };
	img->planes[0] = image_plane_shape(size, DECODE_SCALE_FULL, 1, 1, 1, 1);
	for (; !c->is_grey && img->plane_count < 3; img->plane_count++) {
		img->space = IMG_YCBCR;
		img->planes[img->plane_count] =
			image_plane_shape(size, DECODE_SCALE_FULL, 1,
					  c->h_factor, 1, c->v_factor);
	}
	if (own->alpha != 0)
		img->planes[img->plane_count++] = img->planes[0];
}

uint64_t heic_working_bytes(const struct img_header *h)
{
	struct image result, coded;
	uint64_t bytes;

	heif_shape(&result, h);
	bytes = heic_library_bytes(h) + image_bytes(&result);
	if (h->space == IMG_RGB || h->space == IMG_RGBA) {
		heic_shape(&coded, heif_own(h)->coded, h);
		bytes += image_bytes(&coded);
	}
	return bytes;
}

/*
 * Measured with libde265 1.0.11: photos of 3 and 8 megapixels that x265 had
 * made at qualities 30 to 90, and noise, on an AMD EPYC that took 4.2 times as
 * long for a JPEG as estimate.c says; these are the times divided by that.
 */
static const struct estimate_term decode_terms[HEIF_TERMS] = {
	[HEIF_FILES] = { "file", 50000 },
	[HEIF_PIXELS] = { "pixel", 10 },
	[HEIF_BYTES] = { "byte of the file", 45 },
	[HEIF_WIDE_PIXELS] = { "pixel of more than 8 bits", 8 },
	[HEIF_CELLS] = { "cell of a grid", 30000 },
	[HEIF_RGB_PIXELS] = { "pixel made to RGB", 4 },
	[HEIF_ALPHA_PIXELS] = { "pixel with alpha", 10 },
};

static uint64_t decode_bytes(const struct workload *w)
{
	return heic_working_bytes(w->header) + w->header->icc_bytes;
}

static const struct step_estimate decode_estimate = { "decode", decode_terms,
						      HEIF_TERMS, heif_count,
						      decode_bytes };

static const struct img_codec codec = {
	.magic_bytes = HEIF_MAGIC_BYTES,
	.recognise = heic_recognise,
	.probe_more = heic_probe_more,
	.decode_estimate = &decode_estimate,
	.metadata = heif_metadata,
	.gainmap = heif_gainmap,
};

const struct img_format heic_format = {
	.name = "HEIC",
	.word = "heic",
	.media_type = "image/heic",
	.suffix = "heic",
	.is_fragile = true,
	.program = "darkroom-heif",
	.codec = &codec,
};
