/* SPDX-License-Identifier: MIT */
/*
 * Working memory, step by step, as each step asks for it.  Where the header
 * does not tell, as whether a profile needs converting, the worse is taken.
 * test_cost.c holds all this against the steps.
 */
#include "imgops/cost_plan.h"

#include "imgops/encode.h"
#include "imgops/jpeg_memory.h"
#include "imgops/planes.h"
#include "imgops/pyramid.h"

#include <math.h>

enum {
	CHUNKS = 2, /* one for libjpeg's object, one for the picture */
	/* Small things of libjpeg's before and after all coefficients. */
	DECODER_BEFORE = 4832,
	DECODER_AFTER = 11232,
	ENCODER_BEFORE = 1152,
	ENCODER_AFTER = 14464,
	PROGRESSIVE_AFTER = 8768,
	LOBES = 3, /* Lanczos */
	TAPS_GROUP = 8,
	BAND_ROWS = 8,
	BAND_COLUMNS = 16,
	RADIUS_MAX = 18,       /* of the blur's kernel */
	SIGMA_MAX = 6,         /* above, it works on a smaller level */
	COLOUR_ROW_BYTES = 10, /* per pixel of the one row it converts */
};

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t round_up(uint64_t n, uint64_t step)
{
	return (n + step - 1) / step * step;
}

/* Chunks and blocks of jpeg_memory. */
struct chunks {
	uint64_t bytes; /* of all */
	uint64_t left;  /* in the last chunk */
};

static void chunks_take(struct chunks *c, uint64_t bytes)
{
	const uint64_t chunk =
		JPEG_MEMORY_CHUNK_BYTES - JPEG_MEMORY_BLOCK_EXTRA;

	bytes = round_up(bytes, 32);
	if (bytes > c->left && bytes > chunk / 4) {
		c->bytes += bytes + JPEG_MEMORY_BLOCK_EXTRA;
		return;
	}
	if (bytes > c->left) {
		c->bytes += JPEG_MEMORY_CHUNK_BYTES;
		c->left = chunk;
	}
	c->left -= bytes;
}

/*
 * libjpeg's memory with all coefficients of `count` components, the last of
 * which comes first; `before` and `after` them it asks for small things.
 */
static uint64_t coefficient_bytes(const struct img_size *blocks, uint32_t count,
				  uint64_t before, uint64_t after)
{
	struct chunks c = { JPEG_MEMORY_CHUNK_BYTES, 0 };

	chunks_take(&c, before);
	for (uint32_t i = count; i-- > 0;) {
		uint64_t rows = blocks[i].height_px;

		chunks_take(&c, rows * sizeof(JBLOCKROW));
		chunks_take(&c, rows * blocks[i].width_px * sizeof(JBLOCK));
	}
	if (c.left < after)
		c.bytes += JPEG_MEMORY_CHUNK_BYTES;
	return c.bytes;
}

/* Blocks of the file, in whole MCUs. */
static void file_blocks(struct img_size *blocks, const struct img_header *h)
{
	for (uint32_t i = 0; i < h->component_count; i++) {
		struct img_size some = plan_blocks(h, i);

		blocks[i].width_px =
			(uint32_t)round_up(some.width_px, h->h_factors[i]);
		blocks[i].height_px =
			(uint32_t)round_up(some.height_px, h->v_factors[i]);
	}
}

/* Blocks of the result. */
static void result_blocks(struct img_size *blocks, const struct image *img)
{
	bool is_halved = img->plane_count > 1 && !image_has_full_chroma(img);

	for (uint32_t i = 0; i < img->plane_count; i++) {
		const struct img_plane *p = &img->planes[i];
		uint32_t step = i == 0 && is_halved ? 2 : 1;

		blocks[i].width_px =
			(uint32_t)round_up((p->width + 7) / 8, step);
		blocks[i].height_px =
			(uint32_t)round_up((p->height + 7) / 8, step);
	}
}

static uint64_t decode_bytes(const struct plan *p)
{
	uint64_t planes = image_bytes(&p->decoded);
	uint64_t working = CHUNKS * JPEG_MEMORY_CHUNK_BYTES;
	uint64_t skimming = 0;
	struct img_size blocks[IMG_PLANES_MAX];

	if (p->keeps_coefficients) {
		file_blocks(blocks, p->header);
		working = coefficient_bytes(blocks, p->header->component_count,
					    DECODER_BEFORE, DECODER_AFTER);
		/* Other small things, in another order. */
		if (p->eighths < DCTSIZE)
			working += JPEG_MEMORY_CHUNK_BYTES;
	}
	if (p->skims)
		skimming = CHUNKS * JPEG_MEMORY_CHUNK_BYTES +
			   skim_bytes(&p->decoded, p->header->is_progressive,
				      p->tables);
	return planes + most(most(working, skimming), p->header->icc_bytes);
}

/* The weights along one axis. */
static uint64_t taps_bytes(uint32_t in, double in_span, uint32_t out,
			   double out_span)
{
	uint64_t window =
		(uint64_t)ceil(2 * LOBES * fmax(1, in_span / out_span));
	uint64_t used = window < in ? window : in;
	uint64_t outputs = (uint64_t)out + TAPS_GROUP - 1;

	return (window + used) * sizeof(double) +
	       outputs * (sizeof(uint32_t) + (used + 2) * sizeof(int16_t));
}

/* What scaling one plane needs besides its result. */
static uint64_t scale_plane_bytes(const struct img_plane *to,
				  const struct img_plane *from,
				  const struct img_view *view)
{
	bool aside = view->orientation >= 5;
	double shown_x = from->span_x * (aside ? view->height : view->width);
	double shown_y = from->span_y * (aside ? view->width : view->height);
	uint32_t out_x = aside ? to->height : to->width;
	uint32_t out_y = aside ? to->width : to->height;
	double out_span_x = aside ? to->span_y : to->span_x;
	double out_span_y = aside ? to->span_x : to->span_y;
	double reach = shown_x + 2 * LOBES * fmax(1, shown_x / out_span_x) + 4;

	return taps_bytes(from->width, shown_x, out_x, out_span_x) +
	       taps_bytes(from->height, shown_y, out_y, out_span_y) +
	       round_up((uint64_t)fmin(reach, from->width + 2), BAND_COLUMNS) *
		       BAND_ROWS * sizeof(int16_t);
}

static uint64_t scale_planes_bytes(const struct image *to,
				   const struct image *from,
				   const struct img_view *view)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < to->plane_count; i++)
		bytes = most(bytes, scale_plane_bytes(&to->planes[i],
						      &from->planes[i], view));
	return bytes;
}

static uint64_t scale_bytes(const struct plan *p)
{
	uint64_t after = image_bytes(&p->scaled);
	uint64_t pixels, scratch;

	if (!p->needs_pixels) {
		scratch = scale_planes_bytes(&p->scaled, &p->decoded, p->view);
		return after + most(scratch, p->profile_bytes);
	}
	pixels = image_bytes(&p->pixels);
	scratch = scale_planes_bytes(&p->pixels, &p->decoded, p->view);
	after += (uint64_t)p->view->size.width_px * COLOUR_ROW_BYTES;
	return pixels + most(scratch, after) + p->profile_bytes;
}

/* What blurring one plane needs besides its result. */
static uint64_t blur_plane_bytes(const struct img_plane *plane, double sigma)
{
	struct level level = { .width = plane->width, .height = plane->height };
	uint32_t widest = plane->width;
	double step = 1;
	uint64_t values = 0, radius;

	for (; sigma / step > SIGMA_MAX; step *= 2) {
		level = pyramid_next(&level);
		values += level.height * level.stride;
	}
	if (level.width > widest)
		widest = level.width;
	radius = (uint64_t)ceil(
		LOBES * sqrt(sigma * sigma - (step * step - 1) / 3) / step);
	values += (2 * radius + 1) * pyramid_stride(level.width);
	values += PYRAMID_LINES * pyramid_stride(widest + 2 * RADIUS_MAX);
	return values * sizeof(int16_t);
}

static uint64_t blur_bytes(const struct plan *p)
{
	const struct image *img = &p->scaled;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < img->plane_count; i++) {
		const struct img_plane *plane = &img->planes[i];
		double sigma = p->recipe->blur_sigma_px * plane->span_x /
			       img->planes[0].span_x;

		bytes = most(bytes, blur_plane_bytes(plane, sigma));
	}
	return 2 * (image_bytes(img) + p->profile_bytes) + bytes;
}

static uint64_t encode_bytes(const struct plan *p)
{
	const struct image *img = &p->scaled;
	uint64_t working = CHUNKS * JPEG_MEMORY_CHUNK_BYTES;
	uint64_t room =
		encode_room_bytes(img, p->profile_bytes, p->recipe->quality);
	struct img_size blocks[IMG_PLANES_MAX];

	if (p->recipe->progressive || p->recipe->optimize) {
		result_blocks(blocks, img);
		working = coefficient_bytes(
			blocks, img->plane_count, ENCODER_BEFORE,
			p->recipe->progressive ? PROGRESSIVE_AFTER :
						 ENCODER_AFTER);
	}
	/* A result that is copied takes at most half of its room. */
	return image_bytes(img) + p->profile_bytes + room +
	       most(working, room / 2);
}

struct step_bytes cost_bytes(const struct plan *p)
{
	bool blurs = p->recipe->blur_sigma_px > 0;

	return (struct step_bytes){
		.decode = decode_bytes(p),
		.decoded = image_bytes(&p->decoded) + p->header->icc_bytes,
		.scale = scale_bytes(p),
		.finish = most(blurs ? blur_bytes(p) : 0, encode_bytes(p)),
	};
}
