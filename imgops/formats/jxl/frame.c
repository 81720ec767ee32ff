/* SPDX-License-Identifier: MIT */
/*
 * The header of a frame and the table of its sections (ISO/IEC 18181-1,
 * annexes C.2 to C.8 of FDIS 2021): its size, what it is for, and its bytes.
 */
#include "imgops/formats/jxl/jxl.h"

enum { FLAG_NOISE = 1, FLAG_LOW_FREQUENCY_FRAME = 32 };

enum { F16_BITS = 16, BLOCK_PX = 8 };

/* A hostile file may have as many at most; 250 megapixels have 46,000. */
enum { SECTIONS_MAX = 1 << 17 };

static const struct jxl_choice of_upsampling = {
	{ { 1, 0 }, { 2, 0 }, { 4, 0 }, { 8, 0 } }
};
static const struct jxl_choice of_0_1_2_more = {
	{ { 0, 0 }, { 1, 0 }, { 2, 0 }, { 3, 3 } }
};

/* What is read of a header, and not needed by others. */
struct details {
	uint32_t upsampling;
	uint32_t low_frequency_level;
	uint32_t chroma_shift_x, chroma_shift_y;
	uint32_t duration;
	uint32_t blend_mode;
	uint32_t saved_as;
	bool has_ycbcr;
	bool is_partial; /* it does not cover the image */
};

static void read_colour_transform(struct jxl_bits *b, struct details *d,
				  const struct jxl_image *image, uint64_t flags)
{
	/* Of Cb, Y and Cr: 0 is 4:4:4; 1: 4:2:0; 2: 4:2:2; 3: 4:4:0. */
	static const uint8_t shift_x[] = { 0, 1, 1, 0 };
	static const uint8_t shift_y[] = { 0, 1, 0, 1 };

	if (!image->is_xyb)
		d->has_ycbcr = jxl_read_bool(b);
	if (!d->has_ycbcr || (flags & FLAG_LOW_FREQUENCY_FRAME) != 0)
		return;
	for (int i = 0; i < 3; i++) {
		uint32_t mode = jxl_read(b, 2);

		if (shift_x[mode] > 0)
			d->chroma_shift_x = 1;
		if (shift_y[mode] > 0)
			d->chroma_shift_y = 1;
	}
}

static void read_upsampling(struct jxl_bits *b, struct details *d,
			    const struct jxl_image *image)
{
	d->upsampling = jxl_read_choice(b, &of_upsampling);
	for (uint32_t i = 0; i < image->extra_channels && b->err == IMG_OK; i++)
		(void)jxl_read_choice(b, &of_upsampling);
}

static uint32_t read_passes(struct jxl_bits *b)
{
	static const struct jxl_choice of_passes = {
		{ { 1, 0 }, { 2, 0 }, { 3, 0 }, { 4, 3 } }
	};
	static const struct jxl_choice of_downsamplings = {
		{ { 0, 0 }, { 1, 0 }, { 2, 0 }, { 3, 1 } }
	};
	uint32_t passes = jxl_read_choice(b, &of_passes), downsamplings;

	if (passes == 1)
		return passes;
	downsamplings = jxl_read_choice(b, &of_downsamplings);
	jxl_skip_bits(b, 2 * (passes - 1) + 2 * downsamplings);
	for (uint32_t i = 0; i < downsamplings; i++)
		(void)jxl_read_choice(b, &of_0_1_2_more);
	return passes;
}

static uint32_t read_length(struct jxl_bits *b)
{
	static const struct jxl_choice of_length = {
		{ { 0, 8 }, { 256, 11 }, { 2304, 14 }, { 18688, 30 } }
	};

	return jxl_read_choice(b, &of_length);
}

/* The lowest bit is the sign. */
static int64_t read_offset(struct jxl_bits *b)
{
	uint32_t number = read_length(b);

	return (number & 1) != 0 ? -(int64_t)(number >> 1) - 1 :
				   (int64_t)(number >> 1);
}

static bool is_drawn(const struct jxl_frame *f)
{
	return f->type == JXL_REGULAR || f->type == JXL_SKIP_PROGRESSIVE;
}

/* `f->size` is that of the image before, of the frame after. */
static void read_crop(struct jxl_bits *b, struct jxl_frame *f,
		      struct details *d)
{
	struct img_size image = f->size;
	int64_t left = 0, top = 0;

	if (f->type == JXL_LOW_FREQUENCY || !jxl_read_bool(b))
		return;
	if (is_drawn(f)) {
		left = read_offset(b);
		top = read_offset(b);
	}
	f->size.width_px = read_length(b);
	f->size.height_px = read_length(b);
	if (is_drawn(f))
		d->is_partial = left > 0 || top > 0 ||
				left + f->size.width_px < image.width_px ||
				top + f->size.height_px < image.height_px;
}

/* Returns the mode. */
static uint32_t read_blending(struct jxl_bits *b, const struct details *d,
			      const struct jxl_image *image)
{
	enum { REPLACE, ADD, BLEND, ADD_WEIGHTED, MULTIPLY };
	static const struct jxl_choice of_mode = {
		{ { 0, 0 }, { 1, 0 }, { 2, 0 }, { 3, 2 } }
	};
	uint32_t mode = jxl_read_choice(b, &of_mode);
	bool by_alpha = image->extra_channels > 0 &&
			(mode == BLEND || mode == ADD_WEIGHTED);

	if (by_alpha)
		(void)jxl_read_choice(b, &of_0_1_2_more);
	if (by_alpha || mode == MULTIPLY)
		(void)jxl_read_bool(b); /* clamp */
	if (mode != REPLACE || d->is_partial)
		(void)jxl_read(b, 2); /* source */
	return mode;
}

static void read_blendings(struct jxl_bits *b, struct jxl_frame *f,
			   struct details *d, const struct jxl_image *image)
{
	static const struct jxl_choice of_duration = {
		{ { 0, 0 }, { 1, 0 }, { 0, 8 }, { 0, 32 } }
	};

	f->is_last = false;
	if (!is_drawn(f))
		return;
	d->blend_mode = read_blending(b, d, image);
	for (uint32_t i = 0; i < image->extra_channels && b->err == IMG_OK; i++)
		(void)read_blending(b, d, image);
	if (image->is_animated) {
		d->duration = jxl_read_choice(b, &of_duration);
		if (image->has_timecodes)
			(void)jxl_read(b, 32);
	}
	f->is_last = jxl_read_bool(b);
}

static void read_saving(struct jxl_bits *b, const struct jxl_frame *f,
			struct details *d)
{
	bool can_be_used;

	if (f->type == JXL_LOW_FREQUENCY)
		return;
	if (!f->is_last)
		d->saved_as = jxl_read(b, 2);
	can_be_used = !f->is_last && (d->duration == 0 || d->saved_as != 0);
	if (f->type == JXL_REFERENCE ||
	    (can_be_used && d->blend_mode == 0 && !d->is_partial))
		(void)jxl_read_bool(b); /* before the colour transform */
}

static void skip_filters(struct jxl_bits *b, bool is_modular)
{
	enum { GABORISH = 6, SHARPNESS = 8, WEIGHTS = 5 };
	uint32_t rounds;

	if (jxl_read_bool(b))
		return;
	if (jxl_read_bool(b) && jxl_read_bool(b))
		jxl_skip_bits(b, GABORISH * F16_BITS);
	rounds = jxl_read(b, 2);
	if (rounds > 0) {
		if (!is_modular && jxl_read_bool(b))
			jxl_skip_bits(b, SHARPNESS * F16_BITS);
		if (jxl_read_bool(b))
			jxl_skip_bits(b, WEIGHTS * F16_BITS);
		if (jxl_read_bool(b))
			jxl_skip_bits(b, (is_modular ? 3 : 4) * F16_BITS);
		if (is_modular)
			jxl_skip_bits(b, F16_BITS);
	}
	jxl_skip_extensions(b);
}

static void read_head(struct jxl_bits *b, struct jxl_frame *f,
		      struct details *d, const struct jxl_image *image)
{
	static const struct jxl_choice of_level = {
		{ { 1, 0 }, { 2, 0 }, { 3, 0 }, { 4, 0 } }
	};
	uint64_t flags;

	if (jxl_read_bool(b))
		return;
	f->type = (enum jxl_frame_type)jxl_read(b, 2);
	f->is_modular = jxl_read_bool(b);
	flags = jxl_read_u64(b);
	f->has_noise = (flags & FLAG_NOISE) != 0;
	read_colour_transform(b, d, image, flags);
	if ((flags & FLAG_LOW_FREQUENCY_FRAME) == 0)
		read_upsampling(b, d, image);
	if (f->is_modular)
		f->group_px = 128u << jxl_read(b, 2);
	else if (image->is_xyb)
		jxl_skip_bits(b, 3 + 3); /* the scales of X and B */
	if (f->type != JXL_REFERENCE)
		f->passes = read_passes(b);
	if (f->type == JXL_LOW_FREQUENCY)
		d->low_frequency_level = jxl_read_choice(b, &of_level);
	read_crop(b, f, d);
	read_blendings(b, f, d, image);
	read_saving(b, f, d);
	jxl_skip_name(b);
	skip_filters(b, f->is_modular);
	jxl_skip_extensions(b);
}

static uint64_t divide_up(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

static uint64_t groups_of(struct img_size size, uint64_t px)
{
	return divide_up(size.width_px, px) * divide_up(size.height_px, px);
}

static uint64_t count_sections(const struct jxl_frame *f,
			       const struct details *d)
{
	struct img_size coded = {
		(uint32_t)divide_up(f->size.width_px, d->upsampling),
		(uint32_t)divide_up(f->size.height_px, d->upsampling)
	};
	uint64_t groups = groups_of(coded, f->group_px);
	struct img_size blocks = {
		(uint32_t)divide_up(coded.width_px,
				    BLOCK_PX << d->chroma_shift_x)
			<< d->chroma_shift_x,
		(uint32_t)divide_up(coded.height_px,
				    BLOCK_PX << d->chroma_shift_y)
			<< d->chroma_shift_y
	};

	if (groups == 1 && f->passes == 1)
		return 1;
	return 2 + groups_of(blocks, f->group_px) + groups * f->passes;
}

static void read_sections(struct jxl_bits *b, struct jxl_frame *f,
			  const struct details *d)
{
	static const struct jxl_choice of_bytes = {
		{ { 0, 10 }, { 1024, 14 }, { 17408, 22 }, { 4211712, 30 } }
	};
	uint64_t sections = count_sections(f, d);

	if (sections > SECTIONS_MAX) {
		b->err = IMG_ERR_CORRUPT;
		return;
	}
	f->is_permuted = jxl_read_bool(b);
	if (f->is_permuted)
		return;
	jxl_skip_bytes(b, 0);
	for (uint64_t i = 0; i < sections && b->err == IMG_OK; i++)
		f->bytes += jxl_read_choice(b, &of_bytes);
	jxl_skip_bytes(b, 0);
}

struct jxl_frame jxl_frame_read(struct jxl_bits *b,
				const struct jxl_image *image,
				struct img_size size, bool is_preview)
{
	struct jxl_frame f = { .size = is_preview ? image->preview : size,
			       .passes = 1,
			       .group_px = 256,
			       .is_last = true };
	struct details d = { .upsampling = 1 };

	read_head(b, &f, &d, image);
	if (d.low_frequency_level > 0) {
		uint32_t scale = 1u << (3 * d.low_frequency_level);

		f.size.width_px = (uint32_t)divide_up(f.size.width_px, scale);
		f.size.height_px = (uint32_t)divide_up(f.size.height_px, scale);
	}
	f.is_shown = is_drawn(&f) && (f.is_last || d.duration > 0);
	if (b->err == IMG_OK && img_pixels(f.size) == 0)
		b->err = IMG_ERR_CORRUPT;
	if (b->err == IMG_OK)
		read_sections(b, &f, &d);
	return f;
}
