/* SPDX-License-Identifier: MIT */
/*
 * Background around a scaled picture.
 *
 * A plane at full size is copied to its place.  In one of half the size, a
 * sample is the mean of the four pixels that it covers, where those of the
 * picture have the sample that covered them before: so chroma moves by half a
 * sample if the left or upper pad is odd.
 */
#include "imgops/pad.h"

#include "imgops/colour/colour.h"
#include "imgops/estimate.h"
#include "imgops/formats/format.h"
#include "imgops/image.h"

#include <assert.h>
#include <string.h>

bool pad_is_needed(const struct img_view *view,
		   const struct img_transform *transform)
{
	const struct img_sides *pad = &view->pad;

	return pad->top_px > 0 || pad->right_px > 0 || pad->bottom_px > 0 ||
	       pad->left_px > 0 || format_adds_alpha(transform);
}

/* One plane of the picture, and where it is in the result, in pixels. */
struct placed {
	const struct img_plane *plane; /* NULL: all samples are `inside` */
	uint8_t inside, outside;
	uint32_t left, top, width, height;
	struct img_size whole; /* of the result */
};

/* A row of pixels of the result. */
struct line {
	bool is_outside;
	const uint8_t *samples; /* of the picture; NULL: all are `inside` */
};

static struct line line_at(const struct placed *p, uint32_t y, uint32_t step)
{
	struct line line = { .is_outside =
				     y < p->top || y >= p->top + p->height };

	if (!line.is_outside && p->plane != NULL)
		line.samples = p->plane->samples +
			       (y - p->top) / step * p->plane->stride_bytes;
	return line;
}

static void fill_row(uint8_t *to, const struct placed *p, struct line line)
{
	uint32_t right = p->left + p->width;

	memset(to, p->outside, p->whole.width_px);
	if (line.samples != NULL)
		memcpy(to + p->left, line.samples, p->width);
	else if (!line.is_outside)
		memset(to + p->left, p->inside, right - p->left);
}

/* The value of pixel `x`. */
static uint32_t value_at(const struct placed *p, struct line line, uint32_t x)
{
	if (line.is_outside || x < p->left || x >= p->left + p->width)
		return p->outside;
	return line.samples != NULL ? line.samples[(x - p->left) / 2] :
				      p->inside;
}

/* Sample `x`, of two pixels in each of two lines; at an odd edge, of one. */
static uint8_t mean_at(const struct placed *p, const struct line lines[2],
		       uint32_t x)
{
	uint32_t a = 2 * x, b = min_u32(a + 1, p->whole.width_px - 1);

	return (uint8_t)((value_at(p, lines[0], a) + value_at(p, lines[0], b) +
			  value_at(p, lines[1], a) + value_at(p, lines[1], b) +
			  2) /
			 4);
}

/*
 * Samples of which all four pixels are the picture's; `upper` and `lower` are
 * its samples at the first of these pixels.
 */
static void fill_inside(uint8_t *restrict to, const uint8_t *restrict upper,
			const uint8_t *restrict lower, bool is_odd,
			size_t count)
{
	if (!is_odd && upper == lower)
		memcpy(to, upper, count);
	else if (!is_odd)
		for (size_t i = 0; i < count; i++)
			to[i] = (uint8_t)((upper[i] + lower[i] + 1) / 2);
	else
		for (size_t i = 0; i < count; i++)
			to[i] = (uint8_t)((upper[i] + upper[i + 1] + lower[i] +
					   lower[i + 1] + 2) /
					  4);
}

static void fill_halved_row(uint8_t *to, uint32_t width, const struct placed *p,
			    const struct line lines[2])
{
	uint32_t right = p->left + p->width;
	uint32_t first = (p->left + 1) / 2, end = right / 2;

	memset(to, p->outside, width);
	if (lines[0].is_outside && lines[1].is_outside)
		return;
	if (lines[0].samples == NULL || lines[1].samples == NULL || first > end)
		end = first;
	for (uint32_t x = p->left / 2; x < first; x++)
		to[x] = mean_at(p, lines, x);
	if (first < end)
		fill_inside(to + first,
			    lines[0].samples + (2 * first - p->left) / 2,
			    lines[1].samples + (2 * first - p->left) / 2,
			    p->left % 2 != 0, end - first);
	for (uint32_t x = end; x < (right + 1) / 2; x++)
		to[x] = mean_at(p, lines, x);
}

static void fill_plane(struct img_plane *to, const struct placed *p,
		       bool is_halved, const struct memory *memory)
{
	for (uint32_t y = 0; y < to->height; y++) {
		uint8_t *row = to->samples + y * to->stride_bytes;

		if (is_halved) {
			uint32_t below =
				min_u32(2 * y + 1, p->whole.height_px - 1);
			struct line lines[2] = { line_at(p, 2 * y, 2),
						 line_at(p, below, 2) };

			fill_halved_row(row, to->width, p, lines);
		} else {
			fill_row(row, p, line_at(p, y, 1));
		}
		memory_pause(memory);
	}
}

/* What plane `i` of the result shows of `src`. */
static void choose_plane(struct placed *p, const struct image *src,
			 enum img_space to, uint32_t i)
{
	p->plane = &src->planes[i];
	if (i > 0 && src->space == IMG_GREY)
		p->plane = to == IMG_YCBCR ? NULL : &src->planes[0];
	p->inside = 128;
	if (i == 3 && src->space != IMG_RGBA) {
		p->plane = NULL;
		p->inside = 255;
	}
}

/*
 * Replace *img by a picture of `whole` in the space `to` that has it at `pad`,
 * and `outside` beside it.
 */
static enum img_err place(struct image *img, const struct img_sides *pad,
			  struct img_size whole, enum img_space to,
			  bool full_chroma,
			  const uint8_t outside[IMG_PLANES_MAX],
			  const struct memory *memory)
{
	struct image dst;
	struct placed p = {
		.left = pad->left_px,
		.top = pad->top_px,
		.width = img->planes[0].width,
		.height = img->planes[0].height,
		.whole = whole,
	};

	image_shape(&dst, whole, to, full_chroma);
	if (!image_alloc(&dst, memory))
		return IMG_ERR_NO_MEMORY;
	for (uint32_t i = 0; i < dst.plane_count; i++) {
		choose_plane(&p, img, to, i);
		p.outside = outside[i];
		fill_plane(&dst.planes[i], &p,
			   i > 0 && to == IMG_YCBCR &&
				   !image_has_full_chroma(&dst),
			   memory);
	}
	dst.notes = img->notes;
	dst.profile = img->profile;
	dst.profile_bytes = img->profile_bytes;
	img->profile = NULL;
	assert(img->gainmap == NULL);
	img_release(img);
	*img = dst;
	return IMG_OK;
}

enum img_err pad_image(struct image *img, const struct img_view *view,
		       const struct img_transform *transform,
		       const struct memory *memory)
{
	enum img_space to = format_padded_space(transform, img->space);
	uint8_t outside[IMG_PLANES_MAX];

	assert(img->planes[0].width == view->size.width_px);
	assert(img->planes[0].height == view->size.height_px);
	colour_of_background(outside, to, transform);
	return place(img, &view->pad, img_result_size(view), to,
		     format_full_size(transform) || image_has_full_chroma(img),
		     outside, memory);
}

enum img_err pad_add_alpha(struct image *img, const struct memory *memory)
{
	const struct img_sides none = { 0, 0, 0, 0 };
	const uint8_t outside[IMG_PLANES_MAX] = { 0 };
	struct img_size size = { img->planes[0].width, img->planes[0].height };

	assert(img->space == IMG_GREY || img->space == IMG_RGB);
	return place(img, &none, size, IMG_RGBA, true, outside, memory);
}

/* --- Estimate --- */

enum { TERM_SAMPLES, TERM_ROWS, TERM_COUNT };

static const struct estimate_term pad_terms[TERM_COUNT] = {
	[TERM_SAMPLES] = { "sample of a padded picture", 0.035 },
	[TERM_ROWS] = { "row of a padded picture", 15 },
};

static void pad_count(double *counts, const struct workload *w)
{
	if (!pad_is_needed(w->view, w->transform))
		return;
	for (uint32_t i = 0; i < w->result.plane_count; i++) {
		const struct img_plane *p = &w->result.planes[i];

		counts[TERM_SAMPLES] += (double)p->width * p->height;
		counts[TERM_ROWS] += p->height;
	}
}

static uint64_t pad_bytes(const struct workload *w)
{
	if (!pad_is_needed(w->view, w->transform))
		return 0;
	return image_bytes(&w->scaled) + image_bytes(&w->result) +
	       w->profile_bytes;
}

const struct step_estimate pad_estimate = {
	.name = "pad",
	.terms = pad_terms,
	.term_count = TERM_COUNT,
	.count = pad_count,
	.bytes = pad_bytes,
};
