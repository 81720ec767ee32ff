/* SPDX-License-Identifier: MIT */
#include "imgops/cost_plan.h"

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

static void shape_decoded(struct plan *p)
{
	const struct img_header *h = p->header;
	struct factors max = factors_of(h);

	p->decoded = (struct image){ .plane_count = h->component_count,
				     .space = h->space };
	for (uint32_t i = 0; i < h->component_count; i++) {
		uint32_t size = p->eighths;
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

/* What is left of a progressive file.  False: all of it. */
static bool drops_scans(struct plan *p, const uint8_t *jpeg, size_t jpeg_bytes)
{
	struct piece pieces[SCANS_PIECES_MAX];
	uint32_t count = 0;

	p->kept_bytes = p->scan_bytes;
	if (p->header->is_progressive && p->eighths <= SCANS_EIGHTHS_MAX)
		count = scans_keep(pieces, jpeg, jpeg_bytes, p->eighths);
	if (count == 0)
		return false;
	p->kept_bytes = 0;
	for (uint32_t i = 0; i < count; i++)
		p->kept_bytes += pieces[i].bytes;
	/* The first begins with the header. */
	p->kept_bytes -= jpeg_bytes - p->scan_bytes < p->kept_bytes ?
				 jpeg_bytes - p->scan_bytes :
				 p->kept_bytes;
	return true;
}

/* See decode.c. */
static void plan_decoding(struct plan *p, const uint8_t *jpeg,
			  size_t jpeg_bytes)
{
	const struct img_header *h = p->header;
	bool drops = drops_scans(p, jpeg, jpeg_bytes);

	p->keeps_coefficients = h->is_progressive || h->scan_count > 1;
	if (p->eighths == EIGHTHS)
		return;
	if (!p->keeps_coefficients) {
		p->skims = !h->is_arithmetic && p->has_codes;
		if (!p->skims)
			p->eighths = EIGHTHS;
	} else if (!h->is_arithmetic && p->eighths == 1 && drops) {
		p->skims = true;
		p->keeps_coefficients = false;
	}
}

/* Segments before the first scan may be larger than the picture. */
static void find_scan(struct plan *p, const uint8_t *jpeg, size_t jpeg_bytes)
{
	struct markers w;
	struct marker m = { 0 };

	if (!markers_start(&w, jpeg, jpeg_bytes))
		return;
	while (m.code != MARKER_SOS) {
		if (!markers_next(&w, &m))
			return;
		if (m.code == MARKER_DHT)
			p->has_codes = true;
	}
	p->scan_bytes = (uint64_t)(w.end - m.start);
	for (size_t i = 2; i + 3 < m.bytes; i += 2) {
		p->tables.dc |= 1u << (m.data[i] >> 4 & 3);
		p->tables.ac |= 1u << (m.data[i] & 3);
	}
	if (p->header->is_progressive)
		p->tables.ac = 0;
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

		enum icc_verdict verdict =
			icc_open(&icc, m.data + ICC_HEAD_BYTES, h->icc_bytes,
				 h->space, 0);

		icc_close(&icc);
		return verdict == ICC_OTHER || verdict == ICC_NO_MEMORY;
	}
	return true;
}

void plan_picture(struct plan *p, const struct img_view *view,
		  const struct img_recipe *recipe)
{
	const struct img_header *h = p->header;
	bool is_grey = h->space == IMG_GREY;
	bool keeps = recipe->keep_profile && h->component_count < 4;

	p->view = view;
	p->recipe = recipe;
	p->needs_pixels = h->space != IMG_GREY && h->space != IMG_YCBCR;
	if (h->space == IMG_YCBCR && !keeps)
		p->needs_pixels = p->has_other_profile;
	p->profile_bytes = keeps ? h->icc_bytes : 0;
	image_shape(&p->scaled, view->size, is_grey ? IMG_GREY : IMG_YCBCR,
		    recipe->full_chroma);
	image_shape(&p->pixels, view->size, h->space, true);
}

struct plan plan_make(const struct img_header *header, const uint8_t *jpeg,
		      size_t jpeg_bytes, uint32_t eighths)
{
	struct plan p = {
		.header = header,
		.jpeg_bytes = jpeg_bytes,
		.eighths = eighths,
		.has_other_profile =
			header->space == IMG_YCBCR &&
			has_other_profile(header, jpeg, jpeg_bytes),
	};

	find_scan(&p, jpeg, jpeg_bytes);
	plan_decoding(&p, jpeg, jpeg_bytes);
	shape_decoded(&p);
	return p;
}
