/* SPDX-License-Identifier: MIT */
/*
 * Scaling: every output sample is a weighted sum of the input samples around
 * its position.  Eight output rows are made at a time: first, sums down the
 * columns fill a band, which stays in the cache; then the output is summed
 * along the rows of the band.
 *
 * Positions come from the spans of the two planes, so chroma stays where JPEG
 * puts it (centred between luma samples) for any pair of subsamplings.
 * Mirroring only changes positions; turning by 90 degrees only changes where
 * results are stored.
 *
 * On the same plane, libswscale's Lanczos takes five times as long and is not
 * better. libyuv is as fast, but it averages boxes, with errors of ten levels
 * and more.
 */
#include "imgops/resample/scale.h"

#include "imgops/attention.h"
#include "imgops/chroma.h"
#include "imgops/colour/colour.h"
#include "imgops/estimate.h"
#include "imgops/formats/format.h"
#include "imgops/gainmap.h"
#include "imgops/image.h"
#include "imgops/resample/light.h"
#include "imgops/resample/plan.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/*
 * Alignment for weights_make(): along rows, inputs are summed in pairs, because
 * bands store pairs.
 */
enum { X_ALIGN = 2, Y_ALIGN = 1 };

/* Products of a sample and a weight between two pauses; less than a ms. */
enum { PRODUCTS_PER_PAUSE = 1 << 22 };

static uint32_t round_up_columns(uint32_t n, uint32_t step)
{
	return (n + step - 1) / step * step;
}

/* Round a product that would be whole if its factors had not been rounded. */
static double mend_rounding(double samples)
{
	double whole = nearbyint(samples);

	return fabs(samples - whole) < 1e-9 ? whole : samples;
}

/*
 * Set the part of a source axis of `span` samples that is shown.  `from` and
 * `share` are given as displayed, so an axis may have to be reversed.
 */
static void show_part(struct axis *a, double span, double from, double share)
{
	a->in_span = mend_rounding(span * share);
	a->start =
		mend_rounding(span * (a->mirrored ? 1 - from - share : from));
}

/*
 * Leave out the samples that are cut off.  One that an edge goes through stays.
 * Returns how many there are before the others.
 */
static uint32_t cut_axis(struct axis *a, double span, double before,
			 double after)
{
	uint32_t first, end = a->in;

	if (a->mirrored) {
		double swapped = before;

		before = after;
		after = swapped;
	}
	first = (uint32_t)floor(mend_rounding(span * before));
	if (after > 0)
		end = min_u32(
			end, (uint32_t)ceil(mend_rounding(span * (1 - after))));
	a->in = end - first;
	a->start -= first;
	return first;
}

/* Set the axes as EXIF 2.32, 4.6.4 displays the file's rows and columns. */
static void set_axes(struct plan *p, const struct img_plane *dst,
		     const struct img_plane *src, const struct img_view *view)
{
	uint32_t orientation = view->orientation;
	bool aside = orientation >= 5;

	p->aside = aside;
	p->x = (struct axis){
		.in = src->width,
		.out = aside ? dst->height : dst->width,
		.out_span = aside ? dst->span_y : dst->span_x,
		.mirrored = image_mirrors_x(orientation),
	};
	p->y = (struct axis){
		.in = src->height,
		.out = aside ? dst->width : dst->height,
		.out_span = aside ? dst->span_x : dst->span_y,
		.mirrored = image_mirrors_y(orientation),
	};

	struct axis *across = aside ? &p->y : &p->x;
	struct axis *down = aside ? &p->x : &p->y;

	show_part(across, aside ? src->span_y : src->span_x, view->left,
		  view->width);
	show_part(down, aside ? src->span_x : src->span_y, view->top,
		  view->height);
	p->left = cut_axis(&p->x, src->span_x,
			   aside ? view->cut_top : view->cut_left,
			   aside ? view->cut_bottom : view->cut_right);
	p->top = cut_axis(&p->y, src->span_y,
			  aside ? view->cut_left : view->cut_top,
			  aside ? view->cut_right : view->cut_bottom);
}

static void plan_release(struct plan *p, const struct memory *memory)
{
	weights_release(&p->along, memory);
	weights_release(&p->down, memory);
	memory_free(memory, p->band);
	*p = (struct plan){ 0 };
}

/* Compute the members that depend on the sizes; the rest of `p` is zero. */
static void plan_init(struct plan *p, const struct img_plane *dst,
		      const struct img_plane *src, const struct img_view *view,
		      enum img_filter filter)
{
	*p = (struct plan){ 0 };
	set_axes(p, dst, src, view);
	p->x.filter = p->y.filter = filter;
	p->is_copy = !p->aside && axis_is_copy(&p->x) && axis_is_copy(&p->y);
}

/* False: no memory, and `p` is empty. */
static bool plan_make(struct plan *p, const struct img_plane *dst,
		      const struct img_plane *src, const struct img_view *view,
		      enum img_filter filter, const struct memory *memory)
{
	plan_init(p, dst, src, view, filter);
	if (p->is_copy)
		return true;
	if (weights_make(&p->along, &p->x, X_ALIGN, memory) &&
	    weights_make(&p->down, &p->y, Y_ALIGN, memory))
		p->band = memory_alloc(
			memory, (size_t)plan_band_columns(p->along.reach) *
					BAND_ROWS * sizeof(*p->band));
	if (p->band == NULL)
		plan_release(p, memory);
	return p->band != NULL;
}

static void copy_plane(struct img_plane *dst, const struct img_plane *src,
		       const struct plan *p, const struct memory *memory)
{
	const uint8_t *from = src->samples + (size_t)p->x.start +
			      (size_t)p->y.start * src->stride_bytes;

	for (uint32_t y = 0; y < dst->height; y++) {
		memcpy(dst->samples + y * dst->stride_bytes,
		       from + y * src->stride_bytes, dst->width);
		memory_pause(memory);
	}
}

/*
 * Fill the band for the rows from `y`.  A filter that shrinks a large picture
 * by a hundred reads millions of samples for it, so there are pauses between
 * parts of its columns.
 */
static void sum_down(const struct plan *p, const struct bands *bands,
		     const uint8_t *in, size_t stride_bytes, uint32_t y,
		     const struct memory *memory)
{
	const struct filter_weights *down = &p->down;
	const int16_t *weights = down->weights + (size_t)y * down->count;
	uint32_t width = plan_band_columns(p->along.reach);
	uint32_t part = round_up_columns(
		PRODUCTS_PER_PAUSE / (BAND_ROWS * down->count) + 1,
		BAND_COLUMNS);

	for (uint32_t x = 0; x < width; x += part) {
		if (x > 0)
			memory_pause(memory);
		bands->down(p->band + (size_t)x * BAND_ROWS, in + x,
			    stride_bytes, down->first + y, weights, down->count,
			    min_u32(part, width - x));
	}
}

/*
 * Reads and writes whole groups of columns and rows; image_alloc() leaves room
 * for them.
 */
static void scale_plane(struct img_plane *dst, const struct img_plane *src,
			const struct plan *p, const struct memory *memory)
{
	const struct bands *bands = bands_best();
	const struct filter_weights *along = &p->along;
	const uint8_t *in =
		src->samples + along->from + p->down.from * src->stride_bytes;

	for (uint32_t y = 0; y < p->y.out; y += BAND_ROWS) {
		sum_down(p, bands, in, src->stride_bytes, y, memory);
		bands->across(dst->samples +
				      (p->aside ? y : y * dst->stride_bytes),
			      dst->stride_bytes, p->aside, p->band,
			      along->first, along->weights, along->count,
			      round_up_columns(p->x.out, BAND_ROWS));
		memory_pause(memory);
	}
}

/* True: plane `i` of `src` is scaled in light. */
static bool is_in_light(const struct image *src, uint32_t i,
			const struct plan *p, enum img_light light)
{
	return light == IMG_LIGHT_LINEAR && image_has_light(src, i) &&
	       !(axis_keeps_samples(&p->x) && axis_keeps_samples(&p->y));
}

/* In linear light, or by the numbers.  False: no memory. */
static bool fill_plane(struct image *dst, const struct image *src, uint32_t i,
		       const struct plan *p, enum img_light light,
		       const struct memory *memory)
{
	const struct img_plane *from = &src->planes[i];
	struct img_plane part = *from;

	if (is_in_light(src, i, p, light))
		return light_scale(dst, src, i, p, memory);
	part.samples += p->left + p->top * from->stride_bytes;
	part.width = p->x.in;
	part.height = p->y.in;
	if (p->is_copy)
		copy_plane(&dst->planes[i], &part, p, memory);
	else
		scale_plane(&dst->planes[i], &part, p, memory);
	return true;
}

static bool is_same_shape(const struct img_plane *a, const struct img_plane *b)
{
	return a->width == b->width && a->height == b->height &&
	       a->span_x == b->span_x && a->span_y == b->span_y;
}

/* The planes of light come last: they need those of chroma, or of alpha. */
static bool fill_planes(struct image *dst, const struct image *src,
			const struct img_view *view, enum img_filter filter,
			enum img_light light, const struct memory *memory)
{
	struct plan p = { 0 };
	bool ok = true;

	assert(view->orientation >= 1 && view->orientation <= 8);
	assert(dst->plane_count == src->plane_count);
	for (uint32_t i = src->plane_count; ok && i-- > 0;) {
		struct img_plane *to = &dst->planes[i];
		const struct img_plane *from = &src->planes[i];

		if (i + 1 == src->plane_count || !is_same_shape(to, to + 1) ||
		    !is_same_shape(from, from + 1)) {
			plan_release(&p, memory);
			ok = plan_make(&p, to, from, view, filter, memory);
		}
		ok = ok && fill_plane(dst, src, i, &p, light, memory);
	}
	plan_release(&p, memory);
	return ok;
}

bool scale_planes(struct image *dst, const struct image *src,
		  const struct img_view *view, enum img_filter filter,
		  const struct memory *memory)
{
	return fill_planes(dst, src, view, filter, IMG_LIGHT_GAMMA, memory);
}

/*
 * True: scale_planes() would only copy whole planes to `dst`, which is shaped.
 */
static bool keeps_planes(const struct image *dst, const struct image *src,
			 const struct img_view *view, enum img_filter filter)
{
	for (uint32_t i = 0; i < src->plane_count; i++) {
		const struct img_plane *to = &dst->planes[i];
		const struct img_plane *from = &src->planes[i];
		struct plan p;

		plan_init(&p, to, from, view, filter);
		if (!p.is_copy || p.x.start != 0 || p.y.start != 0 ||
		    p.left > 0 || p.top > 0 || to->width != from->width ||
		    to->height != from->height)
			return false;
	}
	return true;
}

static void share_planes(struct image *dst, const struct image *src)
{
	dst->block = src->block;
	dst->memory = src->memory;
	for (uint32_t i = 0; i < src->plane_count; i++) {
		dst->planes[i].samples = src->planes[i].samples;
		dst->planes[i].stride_bytes = src->planes[i].stride_bytes;
	}
}

/* With `shares`, `dst` may have the planes of `src`. */
static bool scale_shaped(struct image *dst, const struct image *src,
			 const struct img_view *view, bool full_chroma,
			 bool shares, const struct img_transform *transform,
			 const struct memory *memory)
{
	enum img_filter filter = transform->filter;

	image_shape(dst, view->size, src->space, full_chroma);
	if (shares && keeps_planes(dst, src, view, filter)) {
		share_planes(dst, src);
		return true;
	}
	if (!image_alloc(dst, memory))
		return false;
	if (!fill_planes(dst, src, view, filter, transform->light, memory)) {
		img_release(dst);
		return false;
	}
	return true;
}

/*
 * The chroma of the result.  AUTO: the samples decide when they are converted;
 * if they are not, the decoded ones have decided here.
 */
static enum img_chroma choose_chroma(const struct image *src,
				     const struct img_view *view,
				     bool is_converted,
				     const struct img_transform *transform)
{
	enum img_chroma chroma = format_chroma(transform);
	struct image full;
	struct plan p;

	if (chroma != IMG_CHROMA_AUTO ||
	    (src->space != IMG_YCBCR && src->space != IMG_YCCK))
		return chroma;
	if (!is_same_shape(&src->planes[1], &src->planes[2]))
		return IMG_CHROMA_420;
	image_shape(&full, view->size, IMG_YCBCR, true);
	plan_init(&p, &full.planes[1], &src->planes[1], view,
		  transform->filter);
	if (!chroma_is_finer(&p.x, &p.y))
		return IMG_CHROMA_420;
	if (is_converted)
		return chroma;
	return chroma_is_sharp_scaled(src, &p.x, &p.y, p.left, p.top) ?
		       IMG_CHROMA_444 :
		       IMG_CHROMA_420;
}

/*
 * Scale to planes of one size first and convert then, because then there are
 * fewer pixels.
 */
static bool scale_pixels(struct image *dst, const struct image *src,
			 const struct img_view *view, const struct colour *c,
			 const struct img_transform *transform,
			 const struct memory *memory)
{
	struct image pixels = { 0 };
	enum img_chroma chroma = choose_chroma(src, view, true, transform);
	bool ok = scale_shaped(&pixels, src, view, true, false, transform,
			       memory) &&
		  colour_convert(dst, &pixels, c, chroma, memory);

	img_release(&pixels);
	return ok;
}

/* Would the map show colours in a result that is to have none? */
static bool adds_colours(const struct img_gainmap *map,
			 const struct img_transform *transform)
{
	return transform->greyscale &&
	       !gain_is_single(&map->gain, map->image.space);
}

/* False: no memory. */
static bool scale_gainmap(struct image *dst, const struct image *src,
			  const struct img_view *view, const struct colour *c,
			  const struct img_transform *transform,
			  const struct memory *memory)
{
	bool is_converted = !c->keeps_profile && c->icc.channels != 0;
	/* What the map says of an HDR base is not true of the SDR result. */
	bool is_sdr_now = is_converted && icc_is_hdr(&c->icc);

	if (!transform->keep_gainmap)
		dst->notes &= ~(uint32_t)IMG_NOTE_NO_GAINMAP;
	else if (src->gainmap != NULL && img_keeps_gainmap(transform) &&
		 !is_sdr_now && !adds_colours(src->gainmap, transform))
		return gainmap_scale(dst, src, view, transform, is_converted,
				     memory) == IMG_OK;
	else if (src->gainmap != NULL)
		dst->notes |= IMG_NOTE_NO_GAINMAP;
	return true;
}

/* Planes of luma alone. */
static struct image luma_of(const struct image *src)
{
	struct image luma = *src;

	if (src->space == IMG_YCBCR) {
		luma.space = IMG_GREY;
		luma.plane_count = 1;
	}
	return luma;
}

/* True: the part to show is found in the decoded picture. */
static bool looks_for_part(const struct img_transform *transform)
{
	return transform->gravity == IMG_SMART &&
	       transform->fit == IMG_FIT_COVER;
}

/* The picture in other colours or in its own; notes, profile and map lack. */
static bool scale_picture(struct image *dst, const struct image *src,
			  const struct img_view *view, const struct colour *c,
			  const struct img_transform *transform, bool shares,
			  const struct memory *memory)
{
	enum img_chroma chroma;
	struct image luma;

	if (colour_needs_pixels(c, src))
		return scale_pixels(dst, src, view, c, transform, memory);
	luma = transform->greyscale ? luma_of(src) : *src;
	/*
	 * Grey is converted in place, which must not be done twice; and chroma
	 * that is not needed would stay in memory.
	 */
	shares = shares && c->icc.channels == 0 &&
		 luma.plane_count == src->plane_count;
	chroma = choose_chroma(&luma, view, false, transform);
	if (!scale_shaped(dst, &luma, view, chroma == IMG_CHROMA_444, shares,
			  transform, memory))
		return false;
	colour_convert_grey(dst, c);
	return true;
}

static enum img_err scale(struct image *dst, const struct image *src,
			  const struct img_view *view,
			  const struct img_transform *transform, bool shares,
			  const struct memory *memory)
{
	struct img_view found = *view;
	struct colour c;
	bool ok;

	if (looks_for_part(transform) && !attention_move(&found, src, memory))
		return IMG_ERR_NO_MEMORY;
	if (!colour_open(&c, src, view->size, transform, memory))
		return IMG_ERR_NO_MEMORY;
	memory_pause(memory); /* reading a profile may take long */
	ok = scale_picture(dst, src, &found, &c, transform, shares, memory);
	if (ok && transform->greyscale)
		colour_drop(dst);
	ok = ok && colour_label(dst, src, &c, memory) &&
	     scale_gainmap(dst, src, &found, &c, transform, memory);
	colour_close(&c);
	if (!ok && dst->block == src->block)
		dst->block = NULL;
	if (!ok)
		img_release(dst);
	return ok ? IMG_OK : IMG_ERR_NO_MEMORY;
}

enum img_err img_scale(struct image *dst, const struct image *src,
		       const struct img_view *view,
		       const struct img_transform *transform,
		       const struct memory *memory)
{
	return scale(dst, src, view, transform, false, memory);
}

enum img_err img_scale_last(struct image *dst, struct image *src,
			    const struct img_view *view,
			    const struct img_transform *transform,
			    const struct memory *memory)
{
	enum img_err err = scale(dst, src, view, transform, true, memory);

	if (err == IMG_OK && dst->block == src->block)
		src->block = NULL;
	return err;
}

/* --- Estimate --- */

enum scale_term {
	TERM_READ_SAMPLES,   /* of the decoded planes that are scaled */
	TERM_COPIED_SAMPLES, /* samples of planes that keep their size */
	TERM_TURNED_SAMPLES, /* samples of which rows become columns */
	TERM_WEIGHTS,
	TERM_SUMS_DOWN, /* products */
	TERM_SUMS_ALONG,
	TERM_LIGHT_READ,       /* samples that become light */
	TERM_LIGHT_MADE,       /* samples that are made of light */
	TERM_CONVERTED_PIXELS, /* pixels of which all channels are needed */
	TERM_INK_PIXELS,       /* converted from CMYK without a profile */
	TERM_MATRICES,         /* 1 if a matrix profile converts */
	TERM_MATRIX_PIXELS,
	TERM_PROFILES, /* 1 if lcms2 reads a profile */
	TERM_PROFILE_BYTES,
	/* These three in this order, also for four inks. */
	TERM_TABLE_ENTRIES, /* made by lcms2 */
	TERM_TABLE_PIXELS,  /* converted by a table of lcms2 */
	TERM_LCMS_PIXELS,   /* converted by lcms2 without a table */
	TERM_INK_TABLE_ENTRIES,
	TERM_INK_TABLE_PIXELS,
	TERM_INK_LCMS_PIXELS,
	TERM_ATTENTION_CELLS, /* looked at for IMG_SMART */
	TERM_CHROMA_PIXELS,   /* looked at for IMG_CHROMA_AUTO */
	TERM_COUNT,
};

static const struct estimate_term scale_terms[TERM_COUNT] = {
	[TERM_READ_SAMPLES] = { "sample read", 0.1 },
	[TERM_COPIED_SAMPLES] = { "sample copied", 0.15 },
	[TERM_TURNED_SAMPLES] = { "sample turned", 0.7 },
	[TERM_WEIGHTS] = { "filter weight", 1.49 },
	[TERM_SUMS_DOWN] = { "product down", 0.0181 },
	[TERM_SUMS_ALONG] = { "product along", 0.0531 },
	[TERM_LIGHT_READ] = { "sample to light", 2 },
	[TERM_LIGHT_MADE] = { "sample of light", 3.5 },
	[TERM_CONVERTED_PIXELS] = { "pixel of other colours", 2 },
	[TERM_INK_PIXELS] = { "pixel of inks", 2 },
	[TERM_MATRICES] = { "matrix profile", 100000 },
	[TERM_MATRIX_PIXELS] = { "pixel by a matrix", 3 },
	[TERM_PROFILES] = { "profile read by lcms2", 700000 },
	[TERM_PROFILE_BYTES] = { "byte of a profile", 10 },
	[TERM_TABLE_ENTRIES] = { "entry of a table made by lcms2", 400 },
	[TERM_TABLE_PIXELS] = { "pixel by a table", 10 },
	[TERM_LCMS_PIXELS] = { "pixel by lcms2 alone", 400 },
	[TERM_INK_TABLE_ENTRIES] = { "entry of a table for inks", 500 },
	[TERM_INK_TABLE_PIXELS] = { "pixel of inks by a table", 45 },
	[TERM_INK_LCMS_PIXELS] = { "pixel of inks by lcms2 alone", 600 },
	[TERM_ATTENTION_CELLS] = { "cell looked at for attention", 40 },
	[TERM_CHROMA_PIXELS] = { "pixel looked at for chroma", 5 },
};

/* Memory to scale plane `i`, in addition to its result. */
static uint64_t plane_bytes(const struct image *dst, const struct image *src,
			    uint32_t i, const struct img_view *view,
			    enum img_filter filter, enum img_light light)
{
	uint64_t bytes;
	struct plan p;

	plan_init(&p, &dst->planes[i], &src->planes[i], view, filter);
	if (p.is_copy)
		return 0;
	bytes = weights_bytes(&p.x, X_ALIGN) + weights_bytes(&p.y, Y_ALIGN) +
		(uint64_t)plan_band_columns(plan_reach_max(&p.x)) * BAND_ROWS *
			sizeof(int16_t);
	if (is_in_light(src, i, &p, light))
		bytes += light_bytes(src, &p);
	return bytes;
}

static uint64_t fill_bytes(const struct image *dst, const struct image *src,
			   const struct img_view *view, enum img_filter filter,
			   enum img_light light)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < dst->plane_count; i++)
		most = max_u64(most,
			       plane_bytes(dst, src, i, view, filter, light));
	return most;
}

uint64_t scale_planes_bytes(const struct image *dst, const struct image *src,
			    const struct img_view *view, enum img_filter filter)
{
	return fill_bytes(dst, src, view, filter, IMG_LIGHT_GAMMA);
}

static uint64_t planes_bytes(const struct image *to, const struct workload *w)
{
	return fill_bytes(to, &w->decoded, w->view, w->transform->filter,
			  w->transform->light);
}

/* The memory of the step, without the decoded picture. */
static uint64_t scale_bytes(const struct workload *w)
{
	uint64_t scaled = image_bytes(&w->scaled), direct = 0, convert;
	uint64_t lcms = w->uses_lcms ? icc_bytes_max(w->header->icc_bytes) : 0;

	/*
	 * If the profile turns out to be bad, it is ignored, and the picture is
	 * scaled without a conversion.
	 */
	if (!w->needs_pixels || w->header->space == w->scaled.space)
		direct = scaled +
			 max_u64(planes_bytes(&w->scaled, w), w->profile_bytes);
	if (looks_for_part(w->transform))
		lcms += attention_bytes();
	if (!w->needs_pixels)
		return direct + lcms;
	convert = scaled + colour_convert_bytes(w->view->size.width_px);
	convert = max_u64(planes_bytes(&w->pixels, w), convert);
	convert += image_bytes(&w->pixels) + w->profile_bytes;
	return max_u64(direct, convert) + lcms;
}

/* The fixed cost of a row, in samples that are copied, or in pixels. */
enum { COPIED_SAMPLES_MIN = 256, CONVERTED_PIXELS_MIN = 64 };

static void count_plane(double *counts, const struct image *to, uint32_t i,
			const struct workload *w)
{
	double window_x, window_y;
	struct plan p;

	plan_init(&p, &to->planes[i], &w->decoded.planes[i], w->view,
		  w->transform->filter);
	if (p.is_copy) {
		counts[TERM_COPIED_SAMPLES] += samples_in_groups(
			p.x.out, p.y.out, COPIED_SAMPLES_MIN, 1);
		return;
	}
	window_x = weights_window(&p.x);
	window_y = weights_window(&p.y);
	counts[TERM_READ_SAMPLES] += p.x.in_span * p.y.in_span;
	if (is_in_light(&w->decoded, i, &p, w->transform->light)) {
		counts[TERM_LIGHT_READ] += p.x.in_span * p.y.in_span;
		counts[TERM_LIGHT_MADE] += (double)p.x.out * p.y.out;
	}
	if (p.aside)
		counts[TERM_TURNED_SAMPLES] += (double)p.x.out * p.y.out;
	counts[TERM_WEIGHTS] += p.x.out * window_x + p.y.out * window_y;
	counts[TERM_SUMS_DOWN] +=
		window_y * samples_in_groups((uint32_t)p.x.in_span, p.y.out,
					     BAND_COLUMNS, BAND_ROWS);
	counts[TERM_SUMS_ALONG] +=
		window_x *
		samples_in_groups(p.x.out, p.y.out, BAND_ROWS, BAND_ROWS);
}

/* The work of lcms2. */
static void count_lcms(double *counts, const struct workload *w)
{
	uint32_t channels = colour_channels(w->header->space);
	uint64_t pixels = colour_lcms_pixels(w->header->space, w->view->size,
					     w->keeps_profile);
	uint64_t entries = icc_table_entries(channels, pixels);
	double *of_channels = counts + (channels == 4 ? TERM_INK_TABLE_ENTRIES :
							TERM_TABLE_ENTRIES);

	counts[TERM_PROFILES] = 1;
	counts[TERM_PROFILE_BYTES] = (double)w->header->icc_bytes;
	of_channels[0] = (double)entries;
	of_channels[entries > 0 ? 1 : 2] = (double)pixels;
}

static void count_conversion(double *counts, const struct workload *w)
{
	const struct img_header *h = w->header;
	double pixels = samples_in_groups(w->view->size.width_px,
					  w->view->size.height_px,
					  CONVERTED_PIXELS_MIN, 1);
	bool is_inks = h->space == IMG_CMYK || h->space == IMG_YCCK;

	if (w->needs_pixels)
		counts[TERM_CONVERTED_PIXELS] = pixels;
	if (w->uses_lcms) {
		count_lcms(counts, w);
	} else if (h->profile == IMG_PROFILE_MATRIX && !w->keeps_profile) {
		counts[TERM_MATRICES] = 1;
		counts[TERM_MATRIX_PIXELS] = pixels;
	}
	/* Also if lcms2 finds that the profile is bad. */
	if (is_inks)
		counts[TERM_INK_PIXELS] = pixels;
}

static void scale_count(double *counts, const struct workload *w)
{
	const struct image *to = w->needs_pixels ? &w->pixels : &w->scaled;

	for (uint32_t i = 0; i < to->plane_count; i++)
		count_plane(counts, to, i, w);
	count_conversion(counts, w);
	if (looks_for_part(w->transform))
		counts[TERM_ATTENTION_CELLS] =
			ATTENTION_CELLS * ATTENTION_CELLS;
	if (format_chroma(w->transform) == IMG_CHROMA_AUTO)
		counts[TERM_CHROMA_PIXELS] =
			(double)chroma_pixels_max(w->view->size);
}

const struct step_estimate scale_estimate = {
	.name = "scale",
	.terms = scale_terms,
	.term_count = TERM_COUNT,
	.count = scale_count,
	.bytes = scale_bytes,
};
