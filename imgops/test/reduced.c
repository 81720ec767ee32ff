/* SPDX-License-Identifier: MIT */
#include "imgops/test/reduced.h"

#include "base/test/check.h"
#include "imgops/image.h"
#include "imgops/formats/jpeg/edge.h"
#include "imgops/formats/jpeg/reader.h"
#include "imgops/test/support.h"
#include "imgops/formats/jpeg/entropy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct reduced {
	struct reader reader;
	struct image *img;
	uint32_t n;
	enum by { BY_OURS, BY_PIECES, BY_LIBJPEG, BY_ARRAYS } by;
	size_t piece;     /* of BY_PIECES */
	bool is_in_order; /* progressive, and all scans are there */
	bool ok;
	void (*realize)(j_common_ptr jpeg);
};

static uint32_t round_up(uint64_t n, uint64_t step)
{
	return (uint32_t)((n + step - 1) / step);
}

static void make_planes(struct reduced *e)
{
	const struct jpeg_decompress_struct *jpeg = &e->reader.jpeg;
	struct image *img = e->img;

	img->plane_count = (uint32_t)jpeg->num_components;
	for (uint32_t i = 0; i < img->plane_count; i++) {
		const jpeg_component_info *c = &jpeg->comp_info[i];
		struct img_plane *p = &img->planes[i];
		uint64_t across = (uint64_t)jpeg->image_width * e->n *
				  (uint32_t)c->h_samp_factor;
		uint64_t down = (uint64_t)jpeg->image_height * e->n *
				(uint32_t)c->v_samp_factor;
		uint32_t across_by =
			DECODE_SCALE_FULL * (uint32_t)jpeg->max_h_samp_factor;
		uint32_t down_by =
			DECODE_SCALE_FULL * (uint32_t)jpeg->max_v_samp_factor;

		p->width = round_up(across, across_by);
		p->height = round_up(down, down_by);
		p->span_x = (double)across / across_by;
		p->span_y = (double)down / down_by;
	}
	if (image_bytes(img) > e->reader.limits->decode_bytes_max)
		reader_fail(&e->reader, IMG_ERR_TOO_LARGE);
	if (!image_alloc(img, e->reader.memory))
		reader_fail(&e->reader, IMG_ERR_NO_MEMORY);
}

/* Stop libjpeg from making some chroma twice as large. */
static void realize(j_common_ptr common)
{
	struct reduced *e = (struct reduced *)common->client_data;
	struct jpeg_decompress_struct *jpeg = &e->reader.jpeg;

	for (int i = 0; i < jpeg->num_components; i++)
		jpeg->comp_info[i].DCT_scaled_size = (int)e->n;
	e->realize(common);
}

static void read_rows(struct reduced *e)
{
	struct jpeg_decompress_struct *jpeg = &e->reader.jpeg;
	JSAMPROW rows[IMG_PLANES_MAX][IMAGE_ROW_GROUP_MAX];
	JSAMPARRAY planes[] = { rows[0], rows[1], rows[2], rows[3] };

	for (uint32_t y = 0; jpeg->output_scanline < jpeg->output_height; y++) {
		for (uint32_t i = 0; i < e->img->plane_count; i++) {
			const struct img_plane *p = &e->img->planes[i];
			uint32_t count =
				(uint32_t)jpeg->comp_info[i].v_samp_factor *
				e->n;

			for (uint32_t k = 0; k < count; k++)
				rows[i][k] = p->samples +
					     (y * count + k) * p->stride_bytes;
		}
		(void)jpeg_read_raw_data(jpeg, planes,
					 (JDIMENSION)jpeg->max_v_samp_factor *
						 e->n);
	}
}

static void by_libjpeg(struct reduced *e)
{
	struct jpeg_decompress_struct *jpeg = &e->reader.jpeg;

	jpeg->raw_data_out = TRUE;
	jpeg->out_color_space = jpeg->jpeg_color_space;
	jpeg->scale_num = e->n;
	jpeg->scale_denom = DECODE_SCALE_FULL;
	jpeg->dct_method = JDCT_ISLOW;
	jpeg->do_block_smoothing = FALSE;
	e->realize = jpeg->mem->realize_virt_arrays;
	jpeg->mem->realize_virt_arrays = realize;
	(void)jpeg_start_decompress(jpeg);
	if (jpeg_has_multiple_scans(jpeg))
		reader_check_scans(&e->reader);
	read_rows(e);
	reader_check_end(&e->reader);
	e->ok = true;
}

static void by_arrays(struct reduced *e)
{
	struct jpeg_decompress_struct *jpeg = &e->reader.jpeg;
	jvirt_barray_ptr *arrays = jpeg_read_coefficients(jpeg);

	reader_check_scans(&e->reader);
	edge_arrays(e->img, e->n, jpeg, arrays);
	reader_check_end(&e->reader);
	e->ok = true;
}

/* Read what has come, `count` bytes of the scan, from a copy. */
static enum img_err come(struct sequential *s, const uint8_t *scan,
			 size_t count)
{
	static const _Atomic bool never = false;
	uint8_t *copy = malloc(count + 1);
	enum img_err err;

	CHECK(copy != NULL);
	memcpy(copy, scan, count);
	err = sequential_come(s, copy, count, &never);
	free(copy);
	return err;
}

static void by_pieces(struct reduced *e)
{
	const struct jpeg_source_mgr *src = e->reader.jpeg.src;
	enum img_err err = IMG_OK;
	struct sequential *s =
		sequential_begin(e->img, (struct reduction){ .n = e->n },
				 &e->reader.jpeg, e->reader.memory);

	if (s == NULL)
		return;
	for (size_t count = e->piece;
	     count < src->bytes_in_buffer && err == IMG_OK; count += e->piece)
		err = come(s, src->next_input_byte, count);
	if (err == IMG_OK)
		err = sequential_rest(s, src->next_input_byte,
				      src->bytes_in_buffer, e->reader.memory);
	memory_free(e->reader.memory, s);
	e->ok = err == IMG_OK;
}

static void step(void *arg)
{
	struct reduced *e = arg;
	struct reader *r = &e->reader;

	(void)jpeg_read_header(&r->jpeg, TRUE);
	if (r->jpeg.num_components > IMG_PLANES_MAX ||
	    r->jpeg.jpeg_color_space == JCS_UNKNOWN)
		reader_fail(r, IMG_ERR_UNSUPPORTED);
	make_planes(e);
	if (e->by == BY_OURS || e->by == BY_PIECES)
		reader_open_rest(r);
	if (e->by == BY_LIBJPEG)
		by_libjpeg(e);
	else if (e->by == BY_ARRAYS)
		by_arrays(e);
	else if (e->by == BY_PIECES)
		by_pieces(e);
	else if (!r->jpeg.progressive_mode)
		e->ok = sequential_read(e->img, (struct reduction){ .n = e->n },
					&r->jpeg, r->memory) == IMG_OK;
	else if (e->is_in_order)
		e->ok = progressive_read(
				e->img, (struct reduction){ .n = e->n },
				&r->jpeg, r->pieces, r->piece_count,
				PROGRESSIVE_SCANS_MAX, r->memory) == IMG_OK;
}

static enum img_err run(struct image *img, uint32_t n, const uint8_t *data,
			size_t count, const struct img_limits *limits,
			const struct memory *memory, enum by by, size_t piece)
{
	struct piece pieces[SCANS_PIECES_MAX];
	struct reduced e = {
		.reader = { .pieces = pieces,
			    .limits = limits,
			    .memory = memory },
		.img = img,
		.n = n,
		.by = by,
		.piece = piece,
	};
	enum img_err err;

	*img = (struct image){ 0 };
	e.is_in_order = scans_keep(pieces, data, count, 1) > 0;
	if (n <= SCANS_DCT_SCALE_MAX)
		e.reader.piece_count = scans_keep(pieces, data, count, n);
	if (e.reader.piece_count == 0) {
		pieces[0] = (struct piece){ data, count };
		e.reader.piece_count = 1;
	}
	err = reader_run(&e.reader, step, &e);
	if (err != IMG_OK || !e.ok)
		img_release(img);
	return err;
}

enum img_err reduced_by_libjpeg(struct image *img, uint32_t n,
				const uint8_t *data, size_t count,
				const struct img_limits *limits,
				const struct memory *memory)
{
	return run(img, n, data, count, limits, memory, BY_LIBJPEG, 0);
}

enum img_err reduced_by_arrays(struct image *img, uint32_t n,
			       const uint8_t *data, size_t count,
			       const struct img_limits *limits,
			       const struct memory *memory)
{
	return run(img, n, data, count, limits, memory, BY_ARRAYS, 0);
}

bool reduced_by_ours(struct image *img, uint32_t n, const uint8_t *data,
		     size_t count, const struct img_limits *limits,
		     const struct memory *memory)
{
	return run(img, n, data, count, limits, memory, BY_OURS, 0) == IMG_OK &&
	       img->plane_count > 0;
}

bool reduced_in_pieces(struct image *img, uint32_t n, const uint8_t *data,
		       size_t count, size_t piece,
		       const struct img_limits *limits,
		       const struct memory *memory)
{
	return run(img, n, data, count, limits, memory, BY_PIECES, piece) ==
		       IMG_OK &&
	       img->plane_count > 0;
}

uint32_t reduced_visible(double span, uint32_t n)
{
	return (uint32_t)ceil(span * DECODE_SCALE_FULL / n - 1e-6);
}

bool reduced_is_same(const struct image *a, const struct image *b)
{
	struct image whole_a = *a, whole_b = *b;

	for (uint32_t i = 0; i < a->plane_count; i++) {
		struct img_plane *p = &whole_a.planes[i];
		uint32_t width = reduced_visible(p->span_x, 1) / DCTSIZE;
		uint32_t height = reduced_visible(p->span_y, 1) / DCTSIZE;

		if (p->width != whole_b.planes[i].width ||
		    p->height != whole_b.planes[i].height)
			return false;
		p->width = whole_b.planes[i].width = width;
		p->height = whole_b.planes[i].height = height;
	}
	return is_same(&whole_a, &whole_b);
}

void reduced_block(uint8_t *out, size_t stride_bytes,
		   const int32_t low[IDCT_COEFFICIENTS], uint32_t n)
{
	int16_t values[IDCT_COEFFICIENTS];
	uint16_t steps[IDCT_COEFFICIENTS];

	for (uint32_t i = 0; i < IDCT_COEFFICIENTS; i++) {
		values[i] = (int16_t)low[i];
		steps[i] = 1;
	}
	idct_block(out, stride_bytes, values, steps, n);
}

static double basis(uint32_t u, uint32_t x)
{
	return (u == 0 ? sqrt(0.125) : 0.5) * cos((2 * x + 1) * u * M_PI / 16);
}

/* The DCT of a block, or its inverse, in double precision. */
static void transform(double out[8][8], double in[8][8], bool inverse)
{
	double rows[8][8] = { 0 };

	memset(out, 0, sizeof(double[8][8]));
	for (uint32_t y = 0; y < 8; y++)
		for (uint32_t a = 0; a < 8; a++)
			for (uint32_t b = 0; b < 8; b++)
				rows[y][a] +=
					in[y][b] *
					(inverse ? basis(b, a) : basis(a, b));
	for (uint32_t x = 0; x < 8; x++)
		for (uint32_t a = 0; a < 8; a++)
			for (uint32_t b = 0; b < 8; b++)
				out[a][x] +=
					rows[b][x] *
					(inverse ? basis(b, a) : basis(a, b));
}

void reduced_repeat(int32_t low[IDCT_COEFFICIENTS],
		    const int32_t block[DCTSIZE2], uint32_t right,
		    uint32_t lower)
{
	double c[8][8], samples[8][8];

	for (uint32_t i = 0; i < 64; i++)
		c[i / 8][i % 8] = block[i];
	transform(samples, c, true);
	for (uint32_t y = 0; y < 8; y++)
		for (uint32_t x = 1; x < 8; x++)
			if (x >= right)
				samples[y][x] = samples[y][x - 1];
	for (uint32_t y = 1; y < 8; y++)
		if (y >= lower)
			memcpy(samples[y], samples[y - 1], sizeof(*samples));
	transform(c, samples, false);
	for (uint32_t i = 0; i < IDCT_COEFFICIENTS; i++)
		low[i] = (int32_t)lround(c[i / 4][i % 4]);
}
