/* SPDX-License-Identifier: MIT */
/*
 * Decode with libjpeg-turbo: raw planes, scaled in the DCT.
 *
 * At scale n/8 libjpeg makes chroma of 4:2:0 twice as large as it lies in the
 * file, where it can, to save the up-sampling.  Here nobody up-samples; such
 * chroma costs more to decode and to scale, and at 1/8 it needs coefficients
 * that could be skipped.  So, unless full chroma is asked for, every component
 * is decoded at n/8: see size_components().
 */
#include "imgops/decode.h"

#include "imgops/markers.h"
#include "imgops/planar.h"
#include "imgops/profile.h"
#include "imgops/reader.h"
#include "imgops/skim.h"

#include <math.h>

enum { DCT_EIGHTHS = 8 };

struct decoder {
	struct reader reader;
	const struct img_view *view;
	const struct img_recipe *recipe;
	struct image *dst;
	bool has_dc_alone;                  /* pieces: from scans_keep() */
	void (*realize)(j_common_ptr jpeg); /* what size_components() hides */
};

static uint32_t least_eighths(double wanted_px, uint32_t stored_px)
{
	double eighths = ceil(wanted_px * DCT_EIGHTHS / stored_px - 1e-6);

	return (uint32_t)fmin(fmax(eighths, 1), DCT_EIGHTHS);
}

uint32_t decode_eighths(struct img_size stored, const struct img_view *view)
{
	/* What all of the picture would measure, as it lies in the file. */
	double wide = view->size.width_px / view->width;
	double high = view->size.height_px / view->height;
	bool aside = view->orientation >= 5;
	uint32_t x = least_eighths(aside ? high : wide, stored.width_px);
	uint32_t y = least_eighths(aside ? wide : high, stored.height_px);

	return x > y ? x : y;
}

static void check_limits(struct decoder *d)
{
	const struct jpeg_decompress_struct *jpeg = &d->reader.jpeg;
	const struct img_limits *limits = d->reader.limits;
	struct img_size size = d->view->size;

	if (jpeg->image_width > limits->side_px_max ||
	    jpeg->image_height > limits->side_px_max ||
	    (uint64_t)jpeg->image_width * jpeg->image_height >
		    limits->pixels_max ||
	    (uint64_t)size.width_px * size.height_px > limits->pixels_max)
		reader_fail(&d->reader, IMG_ERR_TOO_LARGE);
}

static uint64_t round_up(uint64_t n, int step)
{
	return (n + (uint64_t)step - 1) / (uint64_t)step * (uint64_t)step;
}

/* libjpeg keeps all coefficients of a file of several scans, in whole MCUs. */
static uint64_t coefficient_bytes(struct jpeg_decompress_struct *jpeg)
{
	uint64_t blocks = 0;

	if (!jpeg_has_multiple_scans(jpeg))
		return 0;
	for (int i = 0; i < jpeg->num_components; i++) {
		const jpeg_component_info *c = &jpeg->comp_info[i];

		blocks += round_up(c->width_in_blocks, c->h_samp_factor) *
			  round_up(c->height_in_blocks, c->v_samp_factor);
	}
	return blocks * sizeof(JBLOCK);
}

static void allocate(struct decoder *d)
{
	struct reader *r = &d->reader;
	uint64_t planes = image_bytes(d->dst);
	uint64_t limit = r->limits->decode_bytes_max;

	if (planes > limit || coefficient_bytes(&r->jpeg) > limit - planes)
		reader_fail(r, IMG_ERR_TOO_LARGE);
	r->jpeg_memory.bytes_max = limit - planes;
	if (!image_alloc(d->dst, r->memory))
		reader_fail(r, IMG_ERR_NO_MEMORY);
}

static void equal_components(struct jpeg_decompress_struct *jpeg)
{
	for (int i = 0; i < jpeg->num_components; i++)
		jpeg->comp_info[i].DCT_scaled_size = jpeg->min_DCT_scaled_size;
}

/*
 * Takes the place of a method of libjpeg's memory manager: it is called after
 * libjpeg has sized the components and before anything relies on it.
 */
static void realize(j_common_ptr common)
{
	struct decoder *d = (struct decoder *)common->client_data;

	equal_components(&d->reader.jpeg);
	d->realize(common);
}

static bool can_skim(const struct decoder *d)
{
	const struct jpeg_decompress_struct *jpeg = &d->reader.jpeg;

	for (int i = 0; i < jpeg->num_components; i++)
		if (jpeg->comp_info[i].DCT_scaled_size != 1)
			return false;
	return !jpeg->progressive_mode || d->has_dc_alone;
}

static void decode_step(void *arg)
{
	struct decoder *d = arg;
	struct reader *r = &d->reader;
	struct jpeg_decompress_struct *jpeg = &r->jpeg;

	(void)jpeg_read_header(jpeg, TRUE);
	check_limits(d);
	if (!planar_prepare(jpeg))
		reader_fail(r, IMG_ERR_UNSUPPORTED);
	jpeg->scale_num = decode_eighths(
		(struct img_size){ jpeg->image_width, jpeg->image_height },
		d->view);
	jpeg->scale_denom = DCT_EIGHTHS;
	jpeg->dct_method = JDCT_ISLOW;
	jpeg->do_block_smoothing = FALSE;
	jpeg_calc_output_dimensions(jpeg);
	if (!d->recipe->full_chroma) {
		equal_components(jpeg);
		d->realize = jpeg->mem->realize_virt_arrays;
		jpeg->mem->realize_virt_arrays = realize;
	}
	planar_shape(d->dst, jpeg);
	allocate(d);
	if (can_skim(d) && skim_read(d->dst, jpeg, r->pieces + 1,
				     r->piece_count - 1, r->memory))
		return;
	(void)jpeg_start_decompress(jpeg);
	if (jpeg_has_multiple_scans(jpeg))
		reader_check_scans(r);
	planar_read(d->dst, jpeg);
	reader_check_end(r);
}

static enum img_err decode_pieces(struct decoder *d, const struct piece *pieces,
				  uint32_t count)
{
	d->reader.pieces = pieces;
	d->reader.piece_count = count;

	enum img_err err = reader_run(&d->reader, decode_step, d);

	if (err != IMG_OK)
		img_release(d->dst);
	else if (d->reader.is_damaged)
		d->dst->notes |= IMG_NOTE_DAMAGED;
	return err;
}

/* The file up to the segment in which reading has failed. */
static struct piece before(const struct piece *whole, const uint8_t *failed)
{
	struct piece cut = { whole->data, 0 };
	struct markers walk;
	struct marker m;

	if (!markers_start(&walk, whole->data, whole->bytes))
		return cut;
	while (markers_next(&walk, &m) && m.start < failed)
		cut.bytes = (size_t)(m.start - whole->data);
	return cut;
}

static enum img_err decode_file(struct decoder *d, const struct piece *whole,
				const struct img_header *header)
{
	struct piece pieces[SCANS_PIECES_MAX];
	struct decoder fresh = *d;
	uint32_t count = 0;
	enum img_err err;

	/* Full chroma is decoded at 2/8 then, where it can be. */
	if (header->is_progressive &&
	    decode_eighths(header->stored, d->view) == 1)
		count = scans_keep(pieces, whole->data, whole->bytes,
				   d->recipe->full_chroma ? ~1u : 0);
	d->has_dc_alone = count > 0;
	if (d->has_dc_alone)
		err = decode_pieces(d, pieces, count);
	else
		err = decode_pieces(d, whole, 1);
	if (!d->reader.lenient ||
	    (err != IMG_ERR_CORRUPT && err != IMG_ERR_UNSUPPORTED))
		return err;

	struct piece cut = before(whole, d->reader.at);

	*d = fresh;
	err = decode_pieces(d, &cut, 1);
	return err;
}

static enum img_err read_profile(struct image *img, const struct piece *whole,
				 const struct img_memory *memory)
{
	switch (profile_read(&img->profile, &img->profile_bytes, whole->data,
			     whole->bytes, memory)) {
	case PROFILE_BROKEN:
		img->notes |= IMG_NOTE_BAD_PROFILE;
		return IMG_OK;
	case PROFILE_NO_MEMORY:
		img_release(img);
		return IMG_ERR_NO_MEMORY;
	default:
		return IMG_OK;
	}
}

enum img_err img_decode(struct image *dst, const uint8_t *jpeg,
			size_t jpeg_bytes, const struct img_header *header,
			const struct img_view *view,
			const struct img_recipe *recipe,
			const struct img_limits *limits,
			const struct img_memory *memory)
{
	struct piece whole = { jpeg, jpeg_bytes };
	struct decoder d = {
		.reader = { .limits = limits,
			    .memory = memory,
			    .lenient = recipe->lenient },
		.view = view,
		.recipe = recipe,
		.dst = dst,
	};
	enum img_err err = decode_file(&d, &whole, header);

	if (err == IMG_OK && header->icc_bytes > 0)
		err = read_profile(dst, &whole, memory);
	return err;
}
