/* SPDX-License-Identifier: MIT */
#include "imgops/gainmap.h"

#include "imgops/colour/colour.h"
#include "imgops/colour/matrix.h"
#include "imgops/formats/format.h"
#include "imgops/image.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/*
 * A map may have this share of the result's sides, even if it had less of the
 * file's, as long as it is not enlarged.
 */
#define SHARE_MIN 0.5

/* A smaller sigma changes nothing that one could see. */
#define SIGMA_MIN 0.3

/*
 * An error of a map's sample is multiplied by the range of the gain, so a map
 * is not encoded with a lower quality.
 */
enum { QUALITY_MIN = 85 };

/* Far more than any map has; log2, but for gamma. */
#define STOPS_MAX 64.0
#define OFFSET_MAX 16.0
#define GAMMA_MIN (1.0 / 64)
#define GAMMA_MAX 64.0

/* Also false for NaN. */
static bool is_between(double value, double min, double max)
{
	return value >= min && value <= max;
}

bool gain_is_valid(const struct img_gain *gain)
{
	if (gain->channel_count != 1 && gain->channel_count != 3)
		return false;
	if (!is_between(gain->base_headroom, 0, STOPS_MAX) ||
	    !is_between(gain->other_headroom, 0, STOPS_MAX) ||
	    gain->base_headroom == gain->other_headroom)
		return false;
	for (uint32_t i = 0; i < gain->channel_count; i++)
		if (!is_between(gain->channels[i].max, -STOPS_MAX, STOPS_MAX) ||
		    !is_between(gain->channels[i].min, -STOPS_MAX,
				gain->channels[i].max) ||
		    !is_between(gain->channels[i].gamma, GAMMA_MIN,
				GAMMA_MAX) ||
		    !is_between(gain->channels[i].base_offset, -OFFSET_MAX,
				OFFSET_MAX) ||
		    !is_between(gain->channels[i].other_offset, -OFFSET_MAX,
				OFFSET_MAX))
			return false;
	return true;
}

struct img_gainmap *gainmap_attach(struct image *img,
				   const struct memory *memory)
{
	assert(img->gainmap == NULL && img->memory == memory);
	img->gainmap = memory_alloc(memory, sizeof(*img->gainmap));
	if (img->gainmap != NULL)
		*img->gainmap = (struct img_gainmap){ .stored = { 0 } };
	return img->gainmap;
}

void gainmap_free(struct img_gainmap *map, const struct memory *memory)
{
	img_release(&map->image);
	memory_free(memory, map);
}

void gainmap_leave_out(struct image *img)
{
	if (img->gainmap != NULL)
		gainmap_free(img->gainmap, img->memory);
	img->gainmap = NULL;
	img->notes |= IMG_NOTE_NO_GAINMAP;
}

static bool is_size(struct img_size size, struct img_size most)
{
	return size.width_px > 0 && size.width_px <= most.width_px &&
	       size.height_px > 0 && size.height_px <= most.height_px;
}

static bool is_possible(const struct img_gainmap *map)
{
	const struct img_size most = { IMG_SIDE_PX_MAX, IMG_SIDE_PX_MAX };

	return (map->image.space == IMG_GREY || map->image.space == IMG_YCBCR ||
		map->image.space == IMG_RGB) &&
	       map->image.gainmap == NULL && gain_is_valid(&map->gain) &&
	       is_size(map->base_stored, most) &&
	       is_size(map->stored, map->base_stored);
}

enum img_err gainmap_copy(struct image *dst, const struct img_gainmap *from,
			  const struct memory *memory)
{
	struct img_gainmap *to;
	enum img_err err;

	if (!is_possible(from))
		return IMG_ERR_CORRUPT;
	to = gainmap_attach(dst, memory);
	if (to == NULL)
		return IMG_ERR_NO_MEMORY;
	err = img_copy(&to->image, &from->image, memory);
	to->gain = from->gain;
	to->stored = from->stored;
	to->base_stored = from->base_stored;
	return err;
}

static double smaller_ratio(struct img_size map, struct img_size base)
{
	return fmin((double)map.width_px / base.width_px,
		    (double)map.height_px / base.height_px);
}

uint32_t gainmap_decode_scale(const struct img_header *map,
			      const struct img_header *base, uint32_t scale)
{
	/* As large, compared with the base, as a result may need it. */
	double n = scale * fmax(1, SHARE_MIN / smaller_ratio(map->stored,
							     base->stored));
	const struct img_codec *c = map->format->codec;

	/*
	 * At 4/8, a map as large as its picture took 20 % more CPU than all of
	 * it if it has little texture, and 10 % less if it has much.
	 */
	return n > 3 || map->is_irregular || c->scale == NULL ?
		       DECODE_SCALE_FULL :
		       c->scale(map, fmax(ceil(n - 1e-6), 1), 0);
}

/* One side of the map, of which `part` pixels are shown in `result`. */
static uint32_t side_of(double part, uint32_t result, double share)
{
	double side = nearbyint(fmin(part, result * fmax(share, SHARE_MIN)));

	return side < 1 ? 1 : (uint32_t)side;
}

/* The least chroma that keeps what a decoded map has. */
static bool has_all_chroma(const struct image *map)
{
	return map->plane_count > 1 &&
	       (map->planes[1].span_x * 2 > map->planes[0].span_x ||
		map->planes[1].span_y * 2 > map->planes[0].span_y);
}

void gainmap_result(struct gainmap_result *r, const struct image *decoded,
		    struct img_size stored, struct img_size base_stored,
		    const struct img_view *view,
		    const struct img_transform *transform)
{
	bool aside = view->orientation >= 5;
	double share_x = (double)stored.width_px / base_stored.width_px;
	double share_y = (double)stored.height_px / base_stored.height_px;
	double width =
		view->width * (aside ? stored.height_px : stored.width_px);
	double height =
		view->height * (aside ? stored.width_px : stored.height_px);
	struct img_size size = view->size;

	r->view = *view;
	r->view.size = (struct img_size){
		side_of(width, size.width_px, aside ? share_y : share_x),
		side_of(height, size.height_px, aside ? share_x : share_y),
	};
	r->transform = gainmap_coding(transform);
	r->transform.filter = transform->filter;
	r->transform.chroma =
		has_all_chroma(decoded) ? IMG_CHROMA_444 : IMG_CHROMA_420;
	r->transform.blur_sigma_px = transform->blur_sigma_px *
				     sqrt((double)img_pixels(r->view.size) /
					  (double)img_pixels(size));
	if (r->transform.blur_sigma_px < SIGMA_MIN)
		r->transform.blur_sigma_px = 0;
}

bool gain_is_single(const struct img_gain *gain, enum img_space space)
{
	return gain->channel_count == 1 && space == IMG_GREY;
}

bool gain_has_base_colours(const struct img_gain *gain, enum img_space space)
{
	return gain->uses_base_colours || gain_is_single(gain, space);
}

/*
 * A profile comes from a client, and goes out again only if it is one.
 * CORRUPT: it is not, or unusual.
 */
static enum img_err keep_profile(struct image *dst, const struct image *named,
				 const struct memory *memory)
{
	struct matrix_tags tags;
	size_t bytes;

	if (!matrix_read(&tags, named->profile, named->profile_bytes))
		return IMG_ERR_CORRUPT;
	bytes = colour_used_bytes(named);
	if (bytes > IMG_GAINMAP_PROFILE_BYTES_MAX)
		return IMG_ERR_CORRUPT;
	dst->profile = memory_alloc(memory, bytes);
	if (dst->profile == NULL)
		return IMG_ERR_NO_MEMORY;
	memcpy(dst->profile, named->profile, bytes);
	dst->profile_bytes = bytes;
	return IMG_OK;
}

/*
 * In which colours is the map to be applied to the scaled base?
 *
 * A map of one channel means the same in those of the base, converted or not.
 * The channels of other maps are those of certain primaries.  If they were the
 * base's, and it is converted, its old profile becomes that of the alternate.
 */
static enum img_err set_colours(struct img_gainmap *to, const struct image *src,
				bool is_converted, const struct memory *memory)
{
	const struct img_gainmap *from = src->gainmap;
	const struct image *named = &from->image;

	if (named->profile == NULL ||
	    gain_has_base_colours(&from->gain, named->space))
		to->gain.uses_base_colours = true;
	if (to->gain.uses_base_colours &&
	    (!is_converted || gain_is_single(&from->gain, named->space)))
		return IMG_OK;
	if (to->gain.uses_base_colours)
		named = src;
	to->gain.uses_base_colours = false;
	return keep_profile(&to->image, named, memory);
}

enum img_err gainmap_scale(struct image *dst, const struct image *src,
			   const struct img_view *view,
			   const struct img_transform *transform,
			   bool is_converted, const struct memory *memory)
{
	const struct img_gainmap *from = src->gainmap;
	struct img_gainmap *to = gainmap_attach(dst, memory);
	struct image samples = from->image; /* numbers, not colours */
	struct gainmap_result r;
	enum img_err err;

	if (to == NULL)
		return IMG_ERR_NO_MEMORY;
	to->gain = from->gain;
	to->stored = from->stored;
	to->base_stored = from->base_stored;
	samples.profile = NULL;
	samples.profile_bytes = 0;
	gainmap_result(&r, &from->image, from->stored, from->base_stored, view,
		       transform);
	err = img_scale(&to->image, &samples, &r.view, &r.transform, memory);
	if (err == IMG_OK)
		err = set_colours(to, src, is_converted, memory);
	if (err != IMG_ERR_CORRUPT)
		return err;
	gainmap_leave_out(dst);
	return IMG_OK;
}

enum img_err gainmap_blur(struct image *dst, const struct image *src,
			  double sigma_px, const struct memory *memory)
{
	const struct img_gainmap *from = src->gainmap;
	const struct img_plane *base = &src->planes[0];
	const struct img_plane *plane = &from->image.planes[0];
	struct img_gainmap *to = gainmap_attach(dst, memory);
	double sigma = sigma_px * sqrt((double)plane->width * plane->height /
				       ((double)base->width * base->height));

	if (to == NULL)
		return IMG_ERR_NO_MEMORY;
	to->gain = from->gain;
	to->stored = from->stored;
	to->base_stored = from->base_stored;
	if (sigma >= SIGMA_MIN)
		return img_blur(&to->image, &from->image, sigma, memory);
	return img_copy(&to->image, &from->image, memory);
}

struct img_transform gainmap_coding(const struct img_transform *transform)
{
	return (struct img_transform){
		.quality = transform->quality > QUALITY_MIN ?
				   transform->quality :
				   QUALITY_MIN,
		.progressive = transform->progressive,
		.optimize = transform->optimize,
		.format = transform->format,
		.lossless = transform->lossless,
		.effort = transform->effort,
	};
}
