/* SPDX-License-Identifier: MIT */
/*
 * Decode: bytes to planes of n/8 of their size, n = 1 .. 4 or 8.
 *
 *	n <= 4, one scan          skim.c; at whatever is odd, as n = 8
 *	n = 1, progressive        skim.c, from the DC scans alone
 *	n <= 4, several scans     libjpeg's coefficients, reduced by blocks.c
 *	n = 8                     libjpeg's raw planes
 *
 * Between 4 and 8 libjpeg's inverse DCT has no vector code and costs more than
 * 8 does.
 */
#include "imgops/imgops.h"

#include "imgops/blocks.h"
#include "imgops/markers.h"
#include "imgops/planar.h"
#include "imgops/profile.h"
#include "imgops/reader.h"
#include "imgops/reduce.h"
#include "imgops/skim.h"

#include <math.h>

enum { EIGHTHS = 8 };

/*
 * How many times larger than the result a picture is decoded.  Without any
 * margin 159 photos took 3 % less CPU, and the p10 of SSIM, against a full
 * decode, was 0.9902 instead of 0.9957 in a 320 box.
 */
#define MARGIN 1.1

struct decoder {
	struct reader reader;
	const struct img_view *view;
	struct image *dst;
	uint32_t eighths;  /* n */
	bool has_dc_alone; /* pieces: from scans_keep() */
};

/* How much smaller than the picture its smallest component lies in the file. */
static uint32_t largest_step(const struct img_header *h)
{
	uint32_t most_h = 1, most_v = 1, step = 1;

	for (uint32_t i = 0; i < h->component_count; i++) {
		most_h = h->h_factors[i] > most_h ? h->h_factors[i] : most_h;
		most_v = h->v_factors[i] > most_v ? h->v_factors[i] : most_v;
	}
	for (uint32_t i = 0; i < h->component_count; i++) {
		uint32_t x = (most_h + h->h_factors[i] - 1) / h->h_factors[i];
		uint32_t y = (most_v + h->v_factors[i] - 1) / h->v_factors[i];

		step = x > step ? x : step;
		step = y > step ? y : step;
	}
	return step;
}

uint32_t img_eighths(const struct img_header *header,
		     const struct img_view *view,
		     const struct img_recipe *recipe)
{
	bool aside = view->orientation >= 5;
	uint32_t across =
		aside ? header->stored.height_px : header->stored.width_px;
	uint32_t down =
		aside ? header->stored.width_px : header->stored.height_px;
	double x = view->size.width_px / (view->width * across);
	double y = view->size.height_px / (view->height * down);
	double eighths = fmax(x, y) * EIGHTHS * MARGIN;

	if (recipe->full_chroma)
		eighths *= largest_step(header);
	eighths = ceil(eighths - 1e-6);
	return eighths > REDUCE_MAX ? EIGHTHS : (uint32_t)fmax(eighths, 1);
}

static void check_limits(struct decoder *d)
{
	const struct jpeg_decompress_struct *jpeg = &d->reader.jpeg;
	const struct img_limits *limits = d->reader.limits;
	if (jpeg->image_width > limits->side_px_max ||
	    jpeg->image_height > limits->side_px_max ||
	    (uint64_t)jpeg->image_width * jpeg->image_height >
		    limits->pixels_max ||
	    img_pixels(d->view->size) > limits->pixels_max)
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

static void make_planes(struct decoder *d, uint32_t eighths)
{
	struct reader *r = &d->reader;
	uint64_t limit = r->limits->decode_bytes_max, planes;

	planar_shape(d->dst, &r->jpeg, eighths);
	planes = image_bytes(d->dst);
	if (planes > limit || coefficient_bytes(&r->jpeg) > limit - planes)
		reader_fail(r, IMG_ERR_TOO_LARGE);
	r->jpeg_memory.bytes_max = limit - planes;
	if (!image_alloc(d->dst, r->memory))
		reader_fail(r, IMG_ERR_NO_MEMORY);
}

static void read_scans(struct decoder *d, uint32_t eighths)
{
	struct jpeg_decompress_struct *jpeg = &d->reader.jpeg;
	jvirt_barray_ptr *arrays = jpeg_read_coefficients(jpeg);

	reader_check_scans(&d->reader);
	blocks_reduce(d->dst, eighths, jpeg, arrays);
}

/* False: only libjpeg can say what this file is. */
static bool read_reduced(struct decoder *d, uint32_t eighths)
{
	struct reader *r = &d->reader;
	bool can_skim = !r->jpeg.progressive_mode || d->has_dc_alone;

	make_planes(d, eighths);
	if (can_skim && skim_read(d->dst, eighths, &r->jpeg, r->pieces + 1,
				  r->piece_count - 1, r->memory))
		return true;
	if (!jpeg_has_multiple_scans(&r->jpeg)) {
		img_release(d->dst);
		return false;
	}
	read_scans(d, eighths);
	return true;
}

static void read_full(struct decoder *d)
{
	struct jpeg_decompress_struct *jpeg = &d->reader.jpeg;

	make_planes(d, EIGHTHS);
	jpeg->raw_data_out = TRUE;
	jpeg->out_color_space = jpeg->jpeg_color_space;
	jpeg->dct_method = JDCT_ISLOW;
	jpeg->do_block_smoothing = FALSE;
	(void)jpeg_start_decompress(jpeg);
	if (jpeg_has_multiple_scans(jpeg))
		reader_check_scans(&d->reader);
	planar_read(d->dst, jpeg);
}

static void decode_step(void *arg)
{
	struct decoder *d = arg;
	struct reader *r = &d->reader;

	(void)jpeg_read_header(&r->jpeg, TRUE);
	check_limits(d);
	if (!planar_can_read(&r->jpeg))
		reader_fail(r, IMG_ERR_UNSUPPORTED);
	if (d->eighths > REDUCE_MAX || !read_reduced(d, d->eighths))
		read_full(d);
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
				bool is_progressive)
{
	struct piece pieces[SCANS_PIECES_MAX];
	struct decoder fresh = *d;
	uint32_t count = 0;
	enum img_err err;

	if (is_progressive && d->eighths <= SCANS_EIGHTHS_MAX)
		count = scans_keep(pieces, whole->data, whole->bytes,
				   d->eighths);
	d->has_dc_alone = count > 0 && d->eighths == 1;
	if (count > 0)
		err = decode_pieces(d, pieces, count);
	else
		err = decode_pieces(d, whole, 1);
	if (!d->reader.lenient ||
	    (err != IMG_ERR_CORRUPT && err != IMG_ERR_UNSUPPORTED))
		return err;

	struct piece cut = before(whole, d->reader.at);

	*d = fresh;
	if (cut.bytes > 0 && decode_pieces(d, &cut, 1) == IMG_OK)
		err = IMG_OK;
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
		.dst = dst,
		.eighths = img_eighths(header, view, recipe),
	};
	enum img_err err = decode_file(&d, &whole, header->is_progressive);

	if (err == IMG_OK && header->icc_bytes > 0)
		err = read_profile(dst, &whole, memory);
	return err;
}
