/* SPDX-License-Identifier: MIT */
/*
 * The header of a JPEG XL, read without libjxl: the image's size, channels and
 * colours, then the headers of its frames.
 *
 * Frames are read up to the first picture, because it may need any number of
 * them, of any size; of an animation all are read, to count its pictures.  They
 * cannot be found after a profile, nor after a frame whose sections are in an
 * order of their own: both are compressed.
 */
#include "imgops/formats/jxl/jxl.h"

#include "imgops/image.h"

#include <string.h>

/* Number of bits of fields that are skipped. */
enum { F16_BITS = 16 };

enum { FRAMES_READ_MAX = 65536 };

/* Of a profile that libjxl makes: version 0.7 takes 8,904, with PQ or HLG. */
enum { MADE_PROFILE_BYTES = 16 << 10 };

/* Numbers that the standard defines. */
enum { CHANNEL_ALPHA = 0, CHANNEL_SPOT = 2, CHANNEL_BLACK = 4, CHANNEL_CFA };
enum { SPACE_RGB, SPACE_GREY };
enum { CUSTOM = 2, D65 = 1, WHITE_EQUAL = 10, WHITE_DCI };
enum { PRIMARIES_SRGB = 1, P3 = 11 };

enum { P3_D65 = 12 }; /* for H.273, whose 11 has another white */
enum { CURVE_SRGB = 13, CURVE_PQ = 16, CURVE_HLG = 18 };

static uint32_t read_enum(struct jxl_bits *b)
{
	static const struct jxl_choice of_enum = {
		{ { 0, 0 }, { 1, 0 }, { 2, 4 }, { 18, 6 } }
	};

	return jxl_read_choice(b, &of_enum);
}

/* --- Sizes --- */

/* A width that is in a ratio to the height. */
static uint32_t width_of_ratio(uint32_t ratio, uint32_t height_px)
{
	static const uint8_t ratios[][2] = { { 1, 1 }, { 12, 10 }, { 4, 3 },
					     { 3, 2 }, { 16, 9 },  { 5, 4 },
					     { 2, 1 } };
	const uint8_t *r = ratios[ratio - 1];

	return (uint32_t)((uint64_t)height_px * r[0] / r[1]);
}

static uint32_t read_side(struct jxl_bits *b, bool is_small)
{
	static const struct jxl_choice of_side = {
		{ { 1, 9 }, { 1, 13 }, { 1, 18 }, { 1, 30 } }
	};

	return is_small ? 8 * (1 + jxl_read(b, 5)) :
			  jxl_read_choice(b, &of_side);
}

static struct img_size read_size(struct jxl_bits *b)
{
	bool is_small = jxl_read_bool(b);
	uint32_t height_px = read_side(b, is_small);
	uint32_t ratio = jxl_read(b, 3);

	return (struct img_size){ ratio == 0 ? read_side(b, is_small) :
					       width_of_ratio(ratio, height_px),
				  height_px };
}

static uint32_t read_preview_side(struct jxl_bits *b, bool is_in_eights)
{
	static const struct jxl_choice of_eights = {
		{ { 16, 0 }, { 32, 0 }, { 1, 5 }, { 33, 9 } }
	};
	static const struct jxl_choice of_side = {
		{ { 1, 6 }, { 65, 8 }, { 321, 10 }, { 1345, 12 } }
	};

	return is_in_eights ? 8 * jxl_read_choice(b, &of_eights) :
			      jxl_read_choice(b, &of_side);
}

static struct img_size read_preview(struct jxl_bits *b)
{
	bool is_in_eights = jxl_read_bool(b);
	uint32_t height_px = read_preview_side(b, is_in_eights);
	uint32_t ratio = jxl_read(b, 3);

	return (struct img_size){ ratio == 0 ?
					  read_preview_side(b, is_in_eights) :
					  width_of_ratio(ratio, height_px),
				  height_px };
}

/* --- Channels --- */

static void read_depth(struct jxl_bits *b, struct jxl_image *image)
{
	static const struct jxl_choice of_bits = {
		{ { 8, 0 }, { 10, 0 }, { 12, 0 }, { 1, 6 } }
	};
	static const struct jxl_choice of_float_bits = {
		{ { 32, 0 }, { 16, 0 }, { 24, 0 }, { 1, 6 } }
	};
	bool is_float = jxl_read_bool(b);
	uint32_t depth =
		jxl_read_choice(b, is_float ? &of_float_bits : &of_bits);

	if (is_float)
		(void)jxl_read(b, 4); /* of the exponent */
	if (image != NULL) {
		image->is_float = is_float;
		image->depth = depth;
	}
}

/* UNSUPPORTED: there is black ink. */
static enum img_err read_channel(struct jxl_bits *b, struct jxl_image *image)
{
	static const struct jxl_choice of_shift = {
		{ { 0, 0 }, { 3, 0 }, { 4, 0 }, { 1, 3 } }
	};
	static const struct jxl_choice of_cfa = {
		{ { 1, 0 }, { 0, 2 }, { 3, 4 }, { 19, 8 } }
	};
	bool is_premultiplied = false;
	uint32_t type = CHANNEL_ALPHA;

	if (!jxl_read_bool(b)) {
		type = read_enum(b);
		read_depth(b, NULL);
		(void)jxl_read_choice(b, &of_shift);
		jxl_skip_name(b);
		if (type == CHANNEL_ALPHA)
			is_premultiplied = jxl_read_bool(b);
		if (type == CHANNEL_SPOT)
			jxl_skip_bits(b, 4 * F16_BITS);
		if (type == CHANNEL_CFA)
			(void)jxl_read_choice(b, &of_cfa);
	}
	if (type == CHANNEL_ALPHA && !image->has_alpha) {
		image->has_alpha = true;
		image->is_premultiplied = is_premultiplied;
	}
	return type == CHANNEL_BLACK && b->err == IMG_OK ? IMG_ERR_UNSUPPORTED :
							   IMG_OK;
}

static enum img_err read_channels(struct jxl_bits *b, struct jxl_image *image)
{
	static const struct jxl_choice of_count = {
		{ { 0, 0 }, { 1, 0 }, { 2, 4 }, { 1, 12 } }
	};
	enum img_err err = IMG_OK;

	image->extra_channels = jxl_read_choice(b, &of_count);
	for (uint32_t i = 0;
	     i < image->extra_channels && b->err == IMG_OK && err == IMG_OK;
	     i++)
		err = read_channel(b, image);
	return err;
}

/* --- Colours --- */

struct colours {
	uint32_t space, white, primaries, curve;
	bool has_gamma;
	/* x and y of what is CUSTOM */
	double white_xy[2], primaries_xy[3][2];
};

static const struct colours srgb = { .space = SPACE_RGB,
				     .white = D65,
				     .primaries = PRIMARIES_SRGB,
				     .curve = CURVE_SRGB };

/* x and y, in millionths; the lowest bit of each is the sign. */
static void read_point(struct jxl_bits *b, double xy[2])
{
	static const struct jxl_choice of_coordinate = {
		{ { 0, 19 }, { 524288, 19 }, { 1048576, 20 }, { 2097152, 21 } }
	};

	for (int i = 0; i < 2; i++) {
		uint32_t n = jxl_read_choice(b, &of_coordinate);
		double most = n >> 1;

		xy[i] = ((n & 1) != 0 ? -most - 1 : most) / 1e6;
	}
}

static struct colours read_colours(struct jxl_bits *b, struct jxl_image *image)
{
	struct colours c = srgb;

	if (jxl_read_bool(b))
		return c;
	image->has_icc = jxl_read_bool(b);
	c.space = read_enum(b);
	if (image->has_icc || c.space > SPACE_GREY)
		return c;
	c.white = read_enum(b);
	if (c.white == CUSTOM)
		read_point(b, c.white_xy);
	if (c.space == SPACE_RGB)
		c.primaries = read_enum(b);
	for (int i = 0; c.primaries == CUSTOM && i < 3; i++)
		read_point(b, c.primaries_xy[i]);
	c.has_gamma = jxl_read_bool(b);
	if (c.has_gamma)
		jxl_skip_bits(b, 24);
	else
		c.curve = read_enum(b);
	(void)read_enum(b); /* rendering intent */
	if (!c.has_gamma && (c.curve == CURVE_PQ || c.curve == CURVE_HLG))
		image->hdr_curve = c.curve;
	if (c.white == D65 && c.space == SPACE_RGB)
		image->primaries = c.primaries == P3     ? P3_D65 :
				   c.primaries == CUSTOM ? 0 :
							   c.primaries;
	return c;
}

/* False: there is no such white.  Without a call it is D65. */
static bool set_white(struct icc_colours *to, const struct colours *c)
{
	static const double equal[] = { 1.0 / 3, 1.0 / 3 },
			    dci[] = { 0.314, 0.351 };
	const double *xy = c->white == CUSTOM      ? c->white_xy :
			   c->white == WHITE_EQUAL ? equal :
			   c->white == WHITE_DCI   ? dci :
						     NULL;

	if (xy != NULL)
		memcpy(to->white, xy, sizeof(to->white));
	return xy != NULL || c->white == D65;
}

bool jxl_read_primaries(struct icc_colours *to, const uint8_t *bytes,
			size_t count)
{
	const struct jxl_place begin = { .end = UINT64_MAX };
	struct jxl_bits b = jxl_bits_at(begin, bytes, count);
	struct jxl_image image = { 0 };
	struct colours c = read_colours(&b, &image);
	uint32_t code = c.primaries == P3     ? P3_D65 :
			c.primaries == CUSTOM ? PRIMARIES_SRGB :
						c.primaries;

	if (b.err != IMG_OK || image.has_icc || c.space != SPACE_RGB ||
	    !icc_colours_of(to, code, CURVE_SRGB))
		return false;
	if (c.primaries == CUSTOM) {
		memcpy(to->red, c.primaries_xy[0], sizeof(to->red));
		memcpy(to->green, c.primaries_xy[1], sizeof(to->green));
		memcpy(to->blue, c.primaries_xy[2], sizeof(to->blue));
	}
	return set_white(to, &c);
}

/*
 * Does libjxl make sRGB of the picture?  A picture in XYB has no curve of its
 * own; libjxl cannot convert it to a profile, and maps its tones if these are
 * of a high dynamic range.
 */
static bool becomes_srgb(const struct jxl_image *image, const struct colours *c)
{
	bool is_narrow = c->white == D65 && (c->space == SPACE_GREY ||
					     c->primaries == PRIMARIES_SRGB);

	if (image->is_xyb)
		return image->has_icc || image->hdr_curve != 0 || is_narrow;
	return !image->has_icc && is_narrow && !c->has_gamma &&
	       c->curve == CURVE_SRGB;
}

/* --- The image --- */

static void skip_animation(struct jxl_bits *b, struct jxl_image *image)
{
	static const struct jxl_choice of_numerator = {
		{ { 100, 0 }, { 1000, 0 }, { 1, 10 }, { 1, 30 } }
	};
	static const struct jxl_choice of_denominator = {
		{ { 1, 0 }, { 1001, 0 }, { 1, 8 }, { 1, 10 } }
	};
	static const struct jxl_choice of_loops = {
		{ { 0, 0 }, { 0, 3 }, { 0, 16 }, { 0, 32 } }
	};

	image->is_animated = true;
	(void)jxl_read_choice(b, &of_numerator);
	(void)jxl_read_choice(b, &of_denominator);
	(void)jxl_read_choice(b, &of_loops);
	image->has_timecodes = jxl_read_bool(b);
}

/* Matrix and biases of XYB, and the weights of upsampling. */
static void skip_transforms(struct jxl_bits *b, const struct jxl_image *image)
{
	static const uint8_t weights[] = { 15, 55, 210 };
	uint32_t which;

	if (jxl_read_bool(b))
		return;
	if (image->is_xyb && !jxl_read_bool(b))
		jxl_skip_bits(b, (9 + 3 + 4) * F16_BITS);
	which = jxl_read(b, 3);
	for (uint32_t i = 0; i < 3; i++)
		if ((which >> i & 1) != 0)
			jxl_skip_bits(b, weights[i] * F16_BITS);
}

static void skip_tones(struct jxl_bits *b)
{
	if (jxl_read_bool(b))
		return;
	jxl_skip_bits(b, 2 * F16_BITS);
	(void)jxl_read_bool(b);
	jxl_skip_bits(b, F16_BITS);
}

/* Members of `h` and `image` are set; nothing after an error. */
static enum img_err read_metadata(struct jxl_bits *b, struct img_header *h,
				  struct jxl_image *image, struct colours *c)
{
	bool has_more;
	enum img_err err;

	*c = srgb;
	image->depth = 8;
	image->is_xyb = true;
	if (jxl_read_bool(b))
		return IMG_OK;
	has_more = jxl_read_bool(b);
	if (has_more) {
		h->orientation = 1 + jxl_read(b, 3);
		if (jxl_read_bool(b))
			(void)read_size(b); /* at which to show it */
		if (jxl_read_bool(b))
			image->preview = read_preview(b);
		if (jxl_read_bool(b))
			skip_animation(b, image);
	}
	read_depth(b, image);
	(void)jxl_read_bool(b); /* 16 bits are enough for a sample */
	err = read_channels(b, image);
	if (err != IMG_OK)
		return err;
	image->is_xyb = jxl_read_bool(b);
	*c = read_colours(b, image);
	if (has_more)
		skip_tones(b);
	jxl_skip_extensions(b);
	return c->space > SPACE_GREY && b->err == IMG_OK ? IMG_ERR_UNSUPPORTED :
							   IMG_OK;
}

/*
 * The profile is compressed in two ways.  Its size before the second is known:
 * most of it is the profile's own bytes, and some commands stand for more.
 */
static enum img_err read_profile_size(struct jxl_bits *b, struct img_header *h,
				      bool is_needed)
{
	enum { ONCE_BYTES = 1024 };
	uint64_t bytes = jxl_read_u64(b);

	if (b->err != IMG_OK)
		return b->err;
	if (bytes > PROFILE_BYTES_MAX)
		return IMG_ERR_UNSUPPORTED;
	if (is_needed)
		h->icc_bytes = (size_t)bytes + (size_t)bytes / 2 + ONCE_BYTES;
	return IMG_OK;
}

static enum img_err set_image(struct img_header *h, const struct colours *c,
			      const struct img_limits *limits)
{
	const struct jxl_image *image = &jxl_own(h)->image;
	enum img_space space = c->space == SPACE_GREY ? IMG_GREY : IMG_RGB;

	if (image->has_alpha)
		space = IMG_RGBA;
	h->frames = 0;
	return format_set_full(h, space, limits);
}

static enum img_err read_image(struct img_header *h, const uint8_t *bytes,
			       const struct img_limits *limits)
{
	struct jxl_bits b = jxl_bits_at(jxl_beginning(bytes), bytes, h->bytes);
	struct jxl_own *own = jxl_own_change(h);
	struct colours c;
	enum img_err err;

	own->image = (struct jxl_image){ 0 };
	if (jxl_read(&b, 16) != 0x0aff && b.err == IMG_OK)
		return IMG_ERR_CORRUPT;
	h->stored = read_size(&b);
	err = read_metadata(&b, h, &own->image, &c);
	if (err != IMG_OK)
		return err;
	skip_transforms(&b, &own->image);
	own->is_srgb = becomes_srgb(&own->image, &c);
	if (b.err != IMG_OK)
		return b.err;
	if (img_pixels(h->stored) == 0)
		return IMG_ERR_CORRUPT;
	if (!own->is_srgb)
		h->icc_bytes = MADE_PROFILE_BYTES;
	if (own->image.has_icc)
		err = read_profile_size(&b, h, !own->is_srgb);
	if (err == IMG_OK)
		err = set_image(h, &c, limits);
	if (err != IMG_OK)
		return err;
	jxl_skip_bytes(&b, 0);
	own->place = b.place;
	own->has_image = true;
	own->has_preview = own->image.preview.width_px > 0;
	own->has_ended = own->image.has_icc;
	h->frames = own->image.is_animated && own->has_ended ? 1 : 0;
	return IMG_OK;
}

/* --- Frames --- */

/* A frame that the first picture needs. */
static enum img_err add_work(struct jxl_work *w, const struct jxl_frame *f,
			     const struct img_limits *limits)
{
	uint64_t pixels = img_pixels(f->size);

	if (pixels > limits->pixels_max)
		return IMG_ERR_TOO_LARGE;
	w->frames++;
	w->pixels += pixels;
	if (f->is_modular)
		w->modular_pixels += pixels;
	w->largest_pixels = max_u64(w->largest_pixels, pixels);
	w->group_px = (uint32_t)max_u64(w->group_px, f->group_px);
	w->has_noise |= f->has_noise;
	return IMG_OK;
}

static enum img_err read_frame(struct img_header *h, const uint8_t *bytes,
			       const struct img_limits *limits)
{
	struct jxl_own *own = jxl_own_change(h);
	struct jxl_bits b = jxl_bits_at(own->place, bytes, h->bytes);
	struct jxl_frame f;
	enum img_err err;

	jxl_skip_bytes(&b, own->skipped_bytes);
	f = jxl_frame_read(&b, &own->image, h->stored, own->has_preview);
	err = b.err;
	if (err == IMG_OK && !own->work.is_known && !own->has_preview)
		err = add_work(&own->work, &f, limits);
	if (err != IMG_OK)
		return err;
	if (own->has_preview) {
		own->has_preview = false;
	} else {
		own->work.is_known |= f.is_shown;
		h->frames += own->image.is_animated && f.is_shown;
		own->has_ended = f.is_last;
	}
	own->has_ended |= f.is_permuted ||
			  (own->work.is_known && !own->image.is_animated);
	/* Frames of some bytes would make the count take seconds. */
	if (++own->read_count == FRAMES_READ_MAX) {
		if (!own->work.is_known)
			return IMG_ERR_CORRUPT;
		own->has_ended = true;
	}
	own->place = b.place;
	own->skipped_bytes = f.bytes;
	if (own->has_ended && own->image.is_animated && h->frames == 0)
		h->frames = 1;
	return IMG_OK;
}

enum img_err jxl_probe_codestream(struct img_header *h, const uint8_t *bytes,
				  const struct img_limits *limits)
{
	struct jxl_own *own = jxl_own_change(h);
	enum img_err err = IMG_OK;

	if (!own->has_image)
		err = read_image(h, bytes, limits);
	while (err == IMG_OK && !own->has_ended)
		err = read_frame(h, bytes, limits);
	/* The rest of an animation does not matter. */
	if (own->work.is_known && err == IMG_ERR_CORRUPT) {
		own->has_ended = true;
		err = IMG_OK;
	}
	if (own->work.frames > 0 && err == IMG_ERR_TRUNCATED)
		err = IMG_OK;
	return err;
}

enum img_err jxl_probe_more(struct img_header *h, const uint8_t *bytes,
			    const struct img_limits *limits)
{
	enum img_err err = jxl_probe_codestream(h, bytes, limits);

	if (err == IMG_OK)
		jxl_find_gainmap(h, bytes, limits);
	return err;
}
