/* SPDX-License-Identifier: MIT */
#include "imgops/cost_plan.h"

#include "imgops/decode.h"
#include "imgops/icc.h"
#include "imgops/markers.h"
#include "imgops/planes.h"
#include "imgops/scans.h"

#include <math.h>

enum {
	EIGHTHS = 8,
	ICC_HEAD_BYTES = 14, /* of a marker, before the profile */
};

struct factors {
	uint32_t h_max, v_max;
};

static struct factors factors_of(const struct img_header *h)
{
	struct factors max = { 1, 1 };

	for (uint32_t i = 0; i < h->component_count; i++) {
		if (h->h_factors[i] > max.h_max)
			max.h_max = h->h_factors[i];
		if (h->v_factors[i] > max.v_max)
			max.v_max = h->v_factors[i];
	}
	return max;
}

static uint32_t divide_up(uint64_t n, uint64_t by)
{
	return (uint32_t)((n + by - 1) / by);
}

struct img_size plan_blocks(const struct img_header *header, uint32_t i)
{
	struct factors max = factors_of(header);

	return (struct img_size){
		divide_up((uint64_t)header->stored.width_px *
				  header->h_factors[i],
			  (uint64_t)EIGHTHS * max.h_max),
		divide_up((uint64_t)header->stored.height_px *
				  header->v_factors[i],
			  (uint64_t)EIGHTHS * max.v_max),
	};
}

/* libjpeg's own choice for full chroma: twice as large where that fits. */
uint32_t plan_eighths(const struct plan *p, uint32_t i)
{
	const struct img_header *h = p->header;
	struct factors max = factors_of(h);
	uint32_t size = p->eighths;

	while (p->recipe->full_chroma && size < EIGHTHS &&
	       max.h_max * p->eighths % (h->h_factors[i] * size * 2) == 0 &&
	       max.v_max * p->eighths % (h->v_factors[i] * size * 2) == 0)
		size *= 2;
	return size;
}

static void shape_decoded(struct plan *p)
{
	const struct img_header *h = p->header;
	struct factors max = factors_of(h);

	p->decoded = (struct image){ .plane_count = h->component_count,
				     .space = h->space };
	for (uint32_t i = 0; i < h->component_count; i++) {
		uint32_t size = plan_eighths(p, i);
		double x = (double)h->stored.width_px * size * h->h_factors[i];
		double y = (double)h->stored.height_px * size * h->v_factors[i];
		double span_x = x / (EIGHTHS * max.h_max);
		double span_y = y / (EIGHTHS * max.v_max);

		p->decoded.planes[i] = (struct img_plane){
			.width = (uint32_t)ceil(span_x),
			.height = (uint32_t)ceil(span_y),
			.span_x = span_x,
			.span_y = span_y,
		};
	}
}

/* See skim.h: what is done where a block is one sample. */
static void plan_skimming(struct plan *p, const uint8_t *jpeg,
			  size_t jpeg_bytes)
{
	const struct img_header *h = p->header;
	struct piece pieces[SCANS_PIECES_MAX];

	if (p->eighths != 1)
		return;
	for (uint32_t i = 0; i < h->component_count; i++)
		if (plan_eighths(p, i) != 1)
			return;
	p->skims = !h->is_progressive ||
		   scans_keep(pieces, jpeg, jpeg_bytes, 0) > 0;
	/* What decode.c then gives it to read, it cannot. */
	if (h->is_arithmetic ||
	    (p->recipe->full_chroma && h->component_count > 1))
		return;
	if (p->skims && h->is_progressive)
		p->keeps_coefficients = false;
}

/* Segments before it may be larger than the picture. */
static uint64_t scan_bytes(const uint8_t *jpeg, size_t jpeg_bytes)
{
	struct markers w;
	struct marker m;

	if (markers_start(&w, jpeg, jpeg_bytes))
		while (markers_next(&w, &m))
			if (m.code == MARKER_SOS)
				return (uint64_t)(w.end - m.start);
	return 0;
}

/*
 * Is there a profile that will be converted?  Those in one piece can be looked
 * at where they lie; of others it is assumed.
 */
static bool has_other_profile(const struct img_header *h, const uint8_t *jpeg,
			      size_t jpeg_bytes)
{
	struct markers w;
	struct marker m;
	struct icc icc;

	if (h->icc_bytes == 0 || !markers_start(&w, jpeg, jpeg_bytes))
		return false;
	while (markers_next(&w, &m) && m.code != MARKER_SOS) {
		if (m.code != MARKER_APP2 ||
		    m.bytes != h->icc_bytes + ICC_HEAD_BYTES ||
		    !marker_begins(&m, "ICC_PROFILE", 12))
			continue;

		bool is_other =
			icc_open(&icc, m.data + ICC_HEAD_BYTES, h->icc_bytes,
				 h->space, 0) == ICC_OTHER;

		icc_close(&icc);
		return is_other;
	}
	return true;
}

static void shape_scaled(struct plan *p, const uint8_t *jpeg)
{
	const struct img_header *h = p->header;
	bool is_grey = h->space == IMG_GREY;
	bool keeps = p->recipe->keep_profile && h->component_count < 4;

	p->needs_pixels = h->space != IMG_GREY && h->space != IMG_YCBCR;
	if (h->space == IMG_YCBCR && !keeps)
		p->needs_pixels = has_other_profile(h, jpeg, p->jpeg_bytes);
	p->profile_bytes = keeps ? h->icc_bytes : 0;
	image_shape(&p->scaled, p->view->size, is_grey ? IMG_GREY : IMG_YCBCR,
		    p->recipe->full_chroma);
	image_shape(&p->pixels, p->view->size, h->space, true);
}

struct plan plan_make(const struct img_header *header, const uint8_t *jpeg,
		      size_t jpeg_bytes, const struct img_view *view,
		      const struct img_recipe *recipe)
{
	struct plan p = {
		.header = header,
		.view = view,
		.recipe = recipe,
		.jpeg_bytes = jpeg_bytes,
		.scan_bytes = scan_bytes(jpeg, jpeg_bytes),
		.eighths = decode_eighths(header->stored, view),
		.keeps_coefficients =
			header->is_progressive || header->scan_count > 1,
	};

	shape_decoded(&p);
	plan_skimming(&p, jpeg, jpeg_bytes);
	shape_scaled(&p, jpeg);
	return p;
}

struct img_cost img_cost(const struct img_header *header, const uint8_t *jpeg,
			 size_t jpeg_bytes, const struct img_view *view,
			 const struct img_recipe *recipe)
{
	struct plan p = plan_make(header, jpeg, jpeg_bytes, view, recipe);

	return (struct img_cost){
		.cpu_ns = cost_cpu_ns(&p),
		.bytes = cost_bytes(&p),
	};
}
