/* SPDX-License-Identifier: MIT */
/*
 * RGB of Y'CbCr of any matrix, with chroma interpolated: its samples lie in the
 * middle of the pixels that share them.
 */
#include "imgops/formats/heic/rgb.h"

#include "imgops/colour/colour.h"

#include <math.h>

enum { ONE_BITS = 16 }; /* of a fixed-point number */

/* What a step of chroma adds to each colour. */
struct matrix {
	int32_t red_cr, green_cb, green_cr, blue_cb;
	bool is_identity; /* the planes are green, blue and red */
};

/* ITU-T H.273: the shares of red and blue in luma. */
static bool find_matrix(struct matrix *m, uint32_t code)
{
	static const struct {
		uint32_t code;
		double red, blue;
	} shares[] = {
		{ 1, 0.2126, 0.0722 }, { 2, 0.299, 0.114 },
		{ 4, 0.30, 0.11 },     { 5, 0.299, 0.114 },
		{ 6, 0.299, 0.114 },   { 7, 0.212, 0.087 },
		{ 9, 0.2627, 0.0593 }, { 10, 0.2627, 0.0593 },
	};

	*m = (struct matrix){ .is_identity = code == 0 };
	for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
		double red = shares[i].red, blue = shares[i].blue;
		double green = 1 - red - blue, one = 1 << ONE_BITS;

		if (shares[i].code != code)
			continue;
		m->red_cr = (int32_t)lround(2 * (1 - red) * one);
		m->blue_cb = (int32_t)lround(2 * (1 - blue) * one);
		m->green_cr =
			(int32_t)lround(-2 * (1 - red) * red / green * one);
		m->green_cb =
			(int32_t)lround(-2 * (1 - blue) * blue / green * one);
		return true;
	}
	return m->is_identity;
}

/* The sample of pixel `at`, and the next nearest one. */
struct pair {
	uint32_t near, far;
};

static struct pair find_pair(uint32_t at, uint32_t factor, uint32_t count)
{
	struct pair p = { at / factor, at / factor };

	if (factor == 2 && at % 2 == 0 && p.near > 0)
		p.far--;
	if (factor == 2 && at % 2 != 0 && p.near + 1 < count)
		p.far++;
	return p;
}

static int32_t chroma_at(const struct img_plane *p, struct pair x,
			 struct pair y)
{
	const uint8_t *near = p->samples + y.near * p->stride_bytes;
	const uint8_t *far = p->samples + y.far * p->stride_bytes;

	return (9 * near[x.near] + 3 * near[x.far] + 3 * far[x.near] +
		far[x.far] + 8) /
	       16;
}

static uint8_t colour(int32_t luma, int32_t more)
{
	int32_t v = luma + ((more + (1 << (ONE_BITS - 1))) >> ONE_BITS);

	return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

static void make_pixel(uint8_t rgb[3], const struct matrix *m, int32_t luma,
		       int32_t cb, int32_t cr)
{
	if (m->is_identity) {
		rgb[0] = (uint8_t)cr;
		rgb[1] = (uint8_t)luma;
		rgb[2] = (uint8_t)cb;
		return;
	}
	cb -= 128;
	cr -= 128;
	rgb[0] = colour(luma, m->red_cr * cr);
	rgb[1] = colour(luma, m->green_cb * cb + m->green_cr * cr);
	rgb[2] = colour(luma, m->blue_cb * cb);
}

static void make_row(struct image *dst, uint32_t row,
		     const struct rgb_source *s, const struct matrix *m)
{
	const struct img_plane *planes = s->planes->planes;
	const struct img_plane *alpha =
		s->has_alpha ? &planes[s->planes->plane_count - 1] : NULL;
	uint32_t from_y = s->top + row;
	struct pair y = find_pair(from_y, s->v_factor, planes[1].height);

	for (uint32_t i = 0; i < dst->planes[0].width; i++) {
		uint32_t from_x = s->left + i;
		uint8_t luma =
			planes[0].samples[from_y * planes[0].stride_bytes +
					  from_x];
		uint8_t share = 255, rgb[3] = { luma, luma, luma };

		if (!s->is_grey) {
			struct pair x =
				find_pair(from_x, s->h_factor, planes[1].width);

			make_pixel(rgb, m, luma, chroma_at(&planes[1], x, y),
				   chroma_at(&planes[2], x, y));
		}
		if (dst->plane_count == 4) {
			share = alpha->samples[from_y * alpha->stride_bytes +
					       from_x];
			dst->planes[3]
				.samples[row * dst->planes[3].stride_bytes +
					 i] = share;
		}
		for (uint32_t k = 0; k < 3; k++)
			dst->planes[k]
				.samples[row * dst->planes[k].stride_bytes +
					 i] =
				!s->is_multiplied ?
					colour_share(rgb[k], share) :
				rgb[k] < share ? rgb[k] :
						 share;
	}
}

bool rgb_make(struct image *dst, const struct rgb_source *s)
{
	struct matrix m = { 0 };

	if (!s->is_grey && !find_matrix(&m, s->matrix))
		return false;
	for (uint32_t row = 0; row < dst->planes[0].height; row++)
		make_row(dst, row, s, &m);
	return true;
}
