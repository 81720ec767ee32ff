/* SPDX-License-Identifier: MIT */
/*
 * Decoding by libjxl, on one thread and at full size: it makes interleaved
 * pixels of 8 bits and gives them row by row, and here they become planes.
 * There is no pause while it works.
 *
 * A file whose samples have colours of its own keeps them, with their profile.
 * One in XYB has none: it becomes sRGB, or the file's primaries with sRGB's
 * curve if its colours are wider.
 */
#include "imgops/formats/jxl/jxl.h"

#include "imgops/colour/colour.h"
#include "imgops/colour/icc_write.h"
#include "imgops/estimate.h"
#include "imgops/formats/stack.h"
#include "imgops/image.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include <jxl/decode.h>
#include <jxl/version.h>

enum { MISSING = 128 }; /* samples of what a damaged file lacks */

struct job {
	const struct img_header *header;
	const uint8_t *bytes;
	size_t count;
	bool is_lenient;
	const struct memory *memory;
	struct image *dst;
	JxlPixelFormat format;
	struct jxl_memory library;
	enum img_err err;
};

/* --- Pixels --- */

/* A sample that is more than its pixel's share was never multiplied by it. */
static uint8_t share_of(uint8_t sample, uint8_t alpha, bool is_premultiplied)
{
	if (!is_premultiplied)
		return colour_share(sample, alpha);
	return sample < alpha ? sample : alpha;
}

static void put_pixels(const struct job *j, uint8_t *const to[IMG_PLANES_MAX],
		       const uint8_t *from, size_t count)
{
	bool is_premultiplied = jxl_own(j->header)->image.is_premultiplied;
	uint32_t channels = j->format.num_channels;
	bool has_alpha = j->dst->plane_count == 4;
	uint32_t step = channels > 2 ? 1 : 0; /* grey is all colours */

	for (size_t x = 0; x < count; x++, from += channels) {
		uint8_t alpha = has_alpha ? from[channels - 1] : 255;

		for (uint32_t i = 0; i < 3; i++)
			to[i][x] = share_of(from[i * step], alpha,
					    has_alpha && is_premultiplied);
		if (has_alpha)
			to[3][x] = alpha;
	}
}

/* A part of a row; libjxl gives them in any order. */
static void on_pixels(void *arg, size_t x, size_t y, size_t count,
		      const void *pixels)
{
	const struct job *j = arg;
	uint8_t *to[IMG_PLANES_MAX] = { NULL };

	assert(y < j->dst->planes[0].height && x <= j->dst->planes[0].width &&
	       count <= j->dst->planes[0].width - x);
	for (uint32_t i = 0; i < j->dst->plane_count; i++)
		to[i] = j->dst->planes[i].samples +
			y * j->dst->planes[i].stride_bytes + x;
	if (j->dst->plane_count == 1)
		memcpy(to[0], pixels, count);
	else
		put_pixels(j, to, pixels, count);
}

static void fill_missing(const struct image *img)
{
	for (uint32_t i = 0; i < img->plane_count; i++)
		memset(img->planes[i].samples, i == 3 ? 255 : MISSING,
		       img->planes[i].stride_bytes * img->planes[i].height);
}

/* A picture with alpha that is nowhere transparent has none. */
static void drop_opaque(struct image *img)
{
	const struct img_plane *alpha = &img->planes[3];

	if (img->plane_count < 4)
		return;
	for (uint32_t y = 0; y < alpha->height; y++)
		for (uint32_t x = 0; x < alpha->width; x++)
			if (alpha->samples[y * alpha->stride_bytes + x] != 255)
				return;
	img->planes[3] = (struct img_plane){ 0 };
	img->plane_count = 3;
	img->space = IMG_RGB;
}

/* --- In libjxl --- */

static bool is_promised(const JxlBasicInfo *info, const struct img_header *h)
{
	const struct jxl_image *image = &jxl_own(h)->image;

	return info->xsize == h->stored.width_px &&
	       info->ysize == h->stored.height_px &&
	       info->num_extra_channels == image->extra_channels &&
	       (info->alpha_bits > 0) == image->has_alpha &&
	       (uint32_t)info->orientation == h->orientation &&
	       (info->num_color_channels == 1 || h->space != IMG_GREY);
}

static enum img_err read_info(struct job *j, const JxlDecoder *d)
{
	JxlBasicInfo info;

	if (JxlDecoderGetBasicInfo(d, &info) != JXL_DEC_SUCCESS ||
	    !is_promised(&info, j->header))
		return IMG_ERR_CORRUPT;
	j->format = (JxlPixelFormat){ .num_channels = info.num_color_channels +
						      (info.alpha_bits > 0),
				      .data_type = JXL_TYPE_UINT8 };
	return IMG_OK;
}

#if JPEGXL_NUMERIC_VERSION < JPEGXL_COMPUTE_NUMERIC_VERSION(0, 9, 0)
#define PROFILE_OF(decoder, target) decoder, NULL, target
#else
#define PROFILE_OF(decoder, target) decoder, target
#endif

/*
 * A profile from which our own code knows that the range is high; libjxl's may
 * not say it.  False: there are no such numbers.
 */
static bool write_profile(struct image *img, const struct jxl_image *image,
			  const struct memory *memory)
{
	struct icc_colours colours;

	if (image->hdr_curve == 0 ||
	    !icc_colours_of(&colours, image->primaries, image->hdr_curve))
		return false;
	img->profile = memory_alloc(memory, ICC_WRITTEN_BYTES_MAX);
	if (img->profile != NULL)
		img->profile_bytes = icc_write(img->profile, &colours);
	return true;
}

static enum img_err read_profile(struct job *j, const JxlDecoder *d)
{
	struct image *img = j->dst;
	size_t bytes;

	if (write_profile(img, &jxl_own(j->header)->image, j->memory))
		return img->profile != NULL ? IMG_OK : IMG_ERR_NO_MEMORY;
	if (JxlDecoderGetICCProfileSize(
		    PROFILE_OF(d, JXL_COLOR_PROFILE_TARGET_DATA), &bytes) !=
		    JXL_DEC_SUCCESS ||
	    bytes > j->header->icc_bytes || bytes > PROFILE_BYTES_MAX) {
		img->notes |= IMG_NOTE_BAD_PROFILE;
		return IMG_OK;
	}
	img->profile = memory_alloc(j->memory, bytes);
	if (img->profile == NULL)
		return IMG_ERR_NO_MEMORY;
	img->profile_bytes = bytes;
	return JxlDecoderGetColorAsICCProfile(
		       PROFILE_OF(d, JXL_COLOR_PROFILE_TARGET_DATA),
		       img->profile, bytes) == JXL_DEC_SUCCESS ?
		       IMG_OK :
		       IMG_ERR_CORRUPT;
}

/* The colours of a file in XYB. */
static enum img_err set_colours(const struct job *j, JxlDecoder *d)
{
	enum { SCREEN_NITS = 255 }; /* that of sRGB, for libjxl */
	const struct jxl_own *own = jxl_own(j->header);
	JxlColorEncoding wanted;

	if (own->is_srgb) {
		wanted = (JxlColorEncoding){
			.color_space = j->format.num_channels > 2 ?
					       JXL_COLOR_SPACE_RGB :
					       JXL_COLOR_SPACE_GRAY,
			.white_point = JXL_WHITE_POINT_D65,
			.primaries = JXL_PRIMARIES_SRGB,
			.rendering_intent = JXL_RENDERING_INTENT_RELATIVE,
		};
	} else if (JxlDecoderGetColorAsEncodedProfile(
			   PROFILE_OF(d, JXL_COLOR_PROFILE_TARGET_ORIGINAL),
			   &wanted) != JXL_DEC_SUCCESS) {
		return IMG_ERR_CORRUPT;
	}
	wanted.transfer_function = JXL_TRANSFER_FUNCTION_SRGB;
	if (own->image.hdr_curve != 0)
		(void)JxlDecoderSetDesiredIntensityTarget(d, SCREEN_NITS);
	return JxlDecoderSetPreferredColorProfile(d, &wanted) ==
			       JXL_DEC_SUCCESS ?
		       IMG_OK :
		       IMG_ERR_CORRUPT;
}

static enum img_err read_colours(struct job *j, JxlDecoder *d)
{
	enum img_err err = IMG_OK;

	if (jxl_own(j->header)->is_map)
		return IMG_OK;
	if (jxl_own(j->header)->image.is_xyb)
		err = set_colours(j, d);
	if (err == IMG_OK && !jxl_own(j->header)->is_srgb)
		err = read_profile(j, d);
	return err;
}

/* What is there of a picture that ends too early. */
static enum img_err take_rest(struct job *j, JxlDecoder *d)
{
	if (!j->is_lenient || JxlDecoderFlushImage(d) != JXL_DEC_SUCCESS)
		return IMG_ERR_TRUNCATED;
	j->dst->notes |= IMG_NOTE_DAMAGED;
	return IMG_OK;
}

/* True: it goes on. */
static bool take_step(struct job *j, JxlDecoder *d)
{
	switch (JxlDecoderProcessInput(d)) {
	case JXL_DEC_BASIC_INFO:
		j->err = read_info(j, d);
		break;
	case JXL_DEC_COLOR_ENCODING:
		j->err = read_colours(j, d);
		break;
	case JXL_DEC_NEED_IMAGE_OUT_BUFFER:
		if (JxlDecoderSetImageOutCallback(d, &j->format, on_pixels,
						  j) != JXL_DEC_SUCCESS)
			j->err = IMG_ERR_UNSUPPORTED;
		break;
	case JXL_DEC_FULL_IMAGE:
		return false;
	case JXL_DEC_NEED_MORE_INPUT:
		j->err = take_rest(j, d);
		return false;
	default:
		j->err = j->library.was_refused ? IMG_ERR_NO_MEMORY :
						  IMG_ERR_CORRUPT;
	}
	return j->err == IMG_OK;
}

static void run(void *arg)
{
	enum {
		EVENTS = JXL_DEC_BASIC_INFO | JXL_DEC_COLOR_ENCODING |
			 JXL_DEC_FULL_IMAGE
	};
	struct job *j = arg;
	JxlDecoder *d = JxlDecoderCreate(&j->library.manager);

	j->err = IMG_ERR_NO_MEMORY;
	if (d == NULL)
		return;
	if (JxlDecoderSubscribeEvents(d, EVENTS) == JXL_DEC_SUCCESS &&
	    JxlDecoderSetKeepOrientation(d, JXL_TRUE) == JXL_DEC_SUCCESS &&
	    JxlDecoderSetInput(d, j->bytes, j->count) == JXL_DEC_SUCCESS) {
		j->err = IMG_OK;
		while (take_step(j, d))
			;
	}
	JxlDecoderDestroy(d);
}

/* --- All --- */

/* Is a part of the first picture coded so?  Else by transforms of blocks. */
static bool is_modular(const struct img_header *h)
{
	const struct jxl_own *own = jxl_own(h);

	return own->work.is_known ? own->work.modular_pixels > 0 :
				    !own->image.is_xyb;
}

/* Pixels of frames that are kept for others to use: of four at most. */
static uint64_t kept_pixels(const struct jxl_work *w)
{
	enum { KEPT_FRAMES = 4 };

	return min_u64(w->pixels - w->largest_pixels,
		       w->largest_pixels * KEPT_FRAMES);
}

/* One group, whatever the picture's size: its channels as floats. */
static uint64_t group_bytes(const struct jxl_own *own)
{
	uint64_t px =
		own->work.is_known ? own->work.group_px : JXL_GROUP_PX_MAX;

	return px * px * (3 + own->image.extra_channels) * sizeof(float);
}

/*
 * What libjxl allocates, at most: measured with version 0.7.0.  Version 0.11.2
 * takes less: of a photo in XYB 3 bytes a pixel instead of 15.
 */
static uint64_t library_bytes(const struct img_header *h)
{
	enum { ONCE_BYTES = 8 << 20, EDGE_PX = 64, SAMPLE_BYTES = 5 };
	enum { PIXEL_BYTES = 16, MODULAR_BYTES = 12, NOISE_BYTES = 16 };
	enum { EXTRA_BYTES = 36, MODULAR_EXTRA_BYTES = 9 };
	const struct jxl_own *own = jxl_own(h);
	const struct jxl_work *work = &own->work;
	uint32_t extra = own->image.extra_channels;
	uint64_t pixels = (uint64_t)(h->stored.width_px + EDGE_PX) *
			  (h->stored.height_px + EDGE_PX);
	bool is_all_modular =
		work->is_known && work->modular_pixels == work->pixels;
	uint64_t each = PIXEL_BYTES;

	each += is_modular(h) ? MODULAR_BYTES : 0;
	each += work->has_noise ? NOISE_BYTES : 0;
	each += (uint64_t)extra *
		(is_all_modular ? MODULAR_EXTRA_BYTES : EXTRA_BYTES);
	return ONCE_BYTES + group_bytes(own) +
	       max_u64(pixels, work->largest_pixels) * each +
	       kept_pixels(work) * (3 + (uint64_t)extra) * SAMPLE_BYTES +
	       2 * h->icc_bytes;
}

static uint64_t working_bytes(const struct img_header *h)
{
	struct image planes;

	image_shape(&planes, h->stored, h->space, true);
	return JXL_STACK_BYTES + library_bytes(h) + image_bytes(&planes);
}

enum img_err jxl_decode_picture(struct image *dst, const uint8_t *bytes,
				size_t count, const struct img_header *h,
				bool is_lenient,
				const struct img_limits *limits,
				const struct memory *memory)
{
	struct job j = { .header = h,
			 .bytes = bytes,
			 .count = count,
			 .is_lenient = is_lenient,
			 .memory = memory,
			 .dst = dst };
	uint64_t library = library_bytes(h);
	enum img_err err = IMG_ERR_NO_MEMORY;
	uint8_t *held;

	if (working_bytes(h) > limits->decode_bytes_max)
		return IMG_ERR_TOO_LARGE;
	held = memory_alloc(memory, JXL_STACK_BYTES + (size_t)library);
	if (held != NULL)
		err = format_alloc(dst, h, limits, memory);
	if (err == IMG_OK) {
		fill_missing(dst);
		jxl_memory_init(&j.library, library);
		stack_call(run, &j, held, JXL_STACK_BYTES);
		err = j.err;
	}
	memory_free(memory, held);
	if (err == IMG_OK)
		drop_opaque(dst);
	else
		img_release(dst);
	return err;
}

enum img_err jxl_decode(struct image *dst, const uint8_t *bytes, size_t count,
			const struct img_header *h, const struct img_view *view,
			const struct img_transform *transform,
			const struct img_limits *limits,
			const struct memory *memory)
{
	struct img_limits rest = *limits; /* of memory, for the gain map */
	enum img_err err;

	(void)view; /* there is only one size */
	assert(jxl_own(h)->has_image);
	err = jxl_decode_picture(dst, bytes, count, h, transform->lenient,
				 limits, memory);
	rest.decode_bytes_max -= err == IMG_OK ? working_bytes(h) : 0;
	if (err == IMG_OK && transform->keep_gainmap)
		err = jxl_add_gainmap(dst, bytes, h, &rest, memory);
	return err;
}

/* --- Estimate --- */

/*
 * Measured with photos of 640 to 3840 pixels, on an Intel Xeon that took 2
 * times as long for a JPEG as estimate.c says; these are the times divided by
 * that.  What a file's own program for samples takes (a tree of decisions, in
 * modular frames), and splines and patches, is not in its header.
 */
enum {
	TERM_FILES,
	TERM_PIXELS,
	TERM_MODULAR_SAMPLES,
	TERM_EXTRA_SAMPLES,
	TERM_NOISE_PIXELS,
	TERM_BYTES,
	TERM_PROFILE_BYTES,
	TERM_FRAMES,
	TERM_COUNT,
};

static const struct estimate_term decode_terms[TERM_COUNT] = {
	[TERM_FILES] = { "file", 500000 },
	[TERM_PIXELS] = { "pixel", 30 },
	[TERM_MODULAR_SAMPLES] = { "sample of a modular frame", 60 },
	[TERM_EXTRA_SAMPLES] = { "sample of an extra channel", 40 },
	[TERM_NOISE_PIXELS] = { "pixel with noise", 20 },
	[TERM_BYTES] = { "byte of the file", 20 },
	[TERM_PROFILE_BYTES] = { "byte of the profile", 50 },
	[TERM_FRAMES] = { "frame", 100000 },
};

static void decode_count(double *counts, const struct workload *w)
{
	enum { EDGE_PX = 32 }; /* a narrow picture takes as long as a wider */
	const struct img_header *h = w->header;
	const struct jxl_own *own = jxl_own(h);
	double stored = (double)img_pixels(h->stored);
	double pixels = fmax((double)own->work.pixels, stored);
	double modular =
		own->work.is_known ? (double)own->work.modular_pixels : pixels;
	uint32_t extra = own->image.extra_channels;

	counts[TERM_FILES] = 1;
	counts[TERM_PIXELS] =
		pixels + EDGE_PX * ((double)h->stored.width_px +
				    h->stored.height_px + EDGE_PX);
	if (is_modular(h))
		counts[TERM_MODULAR_SAMPLES] =
			modular * (h->space == IMG_GREY ? 1 : 3);
	counts[TERM_EXTRA_SAMPLES] = pixels * extra;
	if (own->work.has_noise)
		counts[TERM_NOISE_PIXELS] = pixels;
	counts[TERM_BYTES] = (double)h->bytes;
	counts[TERM_PROFILE_BYTES] = (double)h->icc_bytes;
	counts[TERM_FRAMES] = own->work.frames;
}

static uint64_t decode_bytes(const struct workload *w)
{
	return working_bytes(w->header) + w->header->icc_bytes;
}

const struct step_estimate jxl_decode_estimate = { "decode", decode_terms,
						   TERM_COUNT, decode_count,
						   decode_bytes };
