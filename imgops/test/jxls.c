/* SPDX-License-Identifier: MIT */
#include "imgops/test/jxls.h"

#include "base/test/check.h"
#include "imgops/test/gainmaps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jxl/encode.h>

enum { OUT_BYTES = 64 << 20 };

static uint32_t channels_of(const struct jxl_spec *spec)
{
	return (spec->is_grey ? 1u : 3u) + spec->has_alpha;
}

uint32_t jxl_sample(const struct jxl_spec *spec, uint32_t channel, uint32_t x,
		    uint32_t y)
{
	bool is_alpha = spec->has_alpha && channel + 1 == channels_of(spec);
	double step = spec->step == 0 ? 1 : spec->step;
	double at_x = (x + 0.5) * step - 0.5, at_y = (y + 0.5) * step - 0.5;
	double wave =
		sin(at_x * 0.1 + channel) + sin(at_y * 0.13 + at_x * 0.02);
	int alpha = (int)(4 * x) + (int)y - 40;
	uint32_t value;

	if (spec->is_noise)
		value = scramble((y * 65536 + x) * 4 + channel) % 256;
	else if (is_alpha)
		value = (uint32_t)(alpha < 0 ? 0 : alpha > 255 ? 255 : alpha);
	else
		value = (uint32_t)(128 + 60 * wave);
	/* Not a multiple of 257, but nearest to one. */
	return spec->depth > 8 ? value * 257 - (value > 0 ? 100 : 0) :
				 value * 257;
}

static void *make_pixels(const struct jxl_spec *spec, uint32_t width,
			 uint32_t height, size_t *bytes)
{
	uint32_t channels = channels_of(spec);
	size_t count = (size_t)width * height * channels;
	uint8_t *out = malloc(count * sizeof(float) + 1);
	uint16_t *wide = (uint16_t *)(void *)out;
	float *real = (float *)(void *)out;

	CHECK(out != NULL);
	*bytes = count * (spec->depth == 0 ? 1 : spec->depth / 8);
	for (size_t i = 0; i < count; i++) {
		size_t pixel = i / channels;
		uint32_t v = jxl_sample(spec, (uint32_t)(i % channels),
					(uint32_t)(pixel % width),
					(uint32_t)(pixel / width));

		if (spec->depth == 16)
			wide[i] = (uint16_t)v;
		else if (spec->depth == 32)
			real[i] = (float)v / 65535;
		else
			out[i] = (uint8_t)(v / 257);
	}
	return out;
}

static void set_info(JxlEncoder *e, const struct jxl_spec *spec, uint32_t width,
		     uint32_t height)
{
	JxlBasicInfo info;

	JxlEncoderInitBasicInfo(&info);
	info.xsize = width;
	info.ysize = height;
	info.bits_per_sample = spec->depth == 0 ? 8 : spec->depth;
	info.exponent_bits_per_sample = spec->depth == 32 ? 8 : 0;
	info.num_color_channels = spec->is_grey ? 1 : 3;
	info.uses_original_profile = !spec->is_lossy;
	if (spec->orientation > 0)
		info.orientation = (JxlOrientation)spec->orientation;
	if (spec->has_alpha) {
		info.num_extra_channels = 1;
		info.alpha_bits = info.bits_per_sample;
		info.alpha_exponent_bits = info.exponent_bits_per_sample;
	}
	if (spec->frames > 1) {
		info.have_animation = JXL_TRUE;
		info.animation.tps_numerator = 10;
		info.animation.tps_denominator = 1;
	}
	CHECK_NUMBER(JxlEncoderSetBasicInfo(e, &info), ==, JXL_ENC_SUCCESS);
}

static void set_colours(JxlEncoder *e, const struct jxl_spec *spec)
{
	JxlColorEncoding c;
	JxlEncoderStatus status;

	JxlColorEncodingSetToSRGB(&c, spec->is_grey);
	if (spec->curve > 0)
		c.transfer_function = (JxlTransferFunction)spec->curve;
	if (spec->primary > 0)
		c.primaries = (JxlPrimaries)spec->primary;
	status = spec->icc != NULL ? JxlEncoderSetICCProfile(e, spec->icc,
							     spec->icc_bytes) :
				     JxlEncoderSetColorEncoding(e, &c);
	CHECK_NUMBER(status, ==, JXL_ENC_SUCCESS);
}

static void set_option(JxlEncoderFrameSettings *f,
		       JxlEncoderFrameSettingId option, int64_t value)
{
	CHECK_NUMBER(JxlEncoderFrameSettingsSetOption(f, option, value), ==,
		     JXL_ENC_SUCCESS);
}

static void add_frame(JxlEncoder *e, const struct jxl_spec *spec,
		      const void *pixels, size_t bytes, uint32_t duration)
{
	JxlEncoderFrameSettings *f = JxlEncoderFrameSettingsCreate(e, NULL);
	JxlPixelFormat format = { .num_channels = channels_of(spec),
				  .data_type =
					  spec->depth == 32 ? JXL_TYPE_FLOAT :
					  spec->depth == 16 ? JXL_TYPE_UINT16 :
							      JXL_TYPE_UINT8 };
	JxlFrameHeader header;

	CHECK(f != NULL);
	set_option(f, JXL_ENC_FRAME_SETTING_EFFORT, 3);
	if (spec->is_modular)
		set_option(f, JXL_ENC_FRAME_SETTING_MODULAR, 1);
	if (spec->has_photon_noise)
		CHECK_NUMBER(
			JxlEncoderFrameSettingsSetFloatOption(
				f, JXL_ENC_FRAME_SETTING_PHOTON_NOISE, 3200),
			==, JXL_ENC_SUCCESS);
	if (!spec->is_lossy)
		CHECK_NUMBER(JxlEncoderSetFrameLossless(f, JXL_TRUE), ==,
			     JXL_ENC_SUCCESS);
	if (spec->frames > 1) {
		JxlEncoderInitFrameHeader(&header);
		header.duration = duration;
		CHECK_NUMBER(JxlEncoderSetFrameHeader(f, &header), ==,
			     JXL_ENC_SUCCESS);
	}
	CHECK_NUMBER(JxlEncoderAddImageFrame(f, &format, pixels, bytes), ==,
		     JXL_ENC_SUCCESS);
}

struct bytes jxl_make(const struct jxl_spec *spec)
{
	uint32_t width = spec->width > 0 ? spec->width : JXL_TEST_WIDTH;
	uint32_t height = spec->height > 0 ? spec->height : JXL_TEST_HEIGHT;
	JxlEncoder *e = JxlEncoderCreate(NULL);
	size_t bytes, left = OUT_BYTES;
	void *pixels = make_pixels(spec, width, height, &bytes);
	struct bytes b = { malloc(OUT_BYTES), 0 };
	uint8_t *next = b.data;

	CHECK(e != NULL);
	CHECK(b.data != NULL);
	set_info(e, spec, width, height);
	set_colours(e, spec);
	for (uint32_t i = 0; i < spec->frames || i == 0; i++) {
		for (uint32_t k = 1; k < spec->layers; k++)
			add_frame(e, spec, pixels, bytes, 0);
		add_frame(e, spec, pixels, bytes, 1);
	}
	JxlEncoderCloseInput(e);
	CHECK_NUMBER(JxlEncoderProcessOutput(e, &next, &left), ==,
		     JXL_ENC_SUCCESS);
	JxlEncoderDestroy(e);
	free(pixels);
	b.count = OUT_BYTES - left;
	b.data = realloc(b.data, b.count);
	/* Some kinds are put in boxes by libjxl itself. */
	return spec->in_boxes && b.data[0] == 0xff ? jxl_box(b, spec->parts) :
						     b;
}

/* --- Another header --- */

struct bits {
	uint8_t bytes[32];
	size_t count;
};

static void put_bits(struct bits *to, uint32_t value, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++, to->count++)
		to->bytes[to->count / 8] |=
			(uint8_t)((value >> i & 1) << to->count % 8);
}

static struct bits header_of(bool is_premultiplied)
{
	struct bits b = { .count = 0 };

	put_bits(&b, 0x0aff, 16);
	put_bits(&b, 0, 3); /* the size is in 9 bits each */
	put_bits(&b, JXL_TEST_HEIGHT - 1, 9);
	put_bits(&b, 0, 3 + 2);
	put_bits(&b, JXL_TEST_WIDTH - 1, 9);
	put_bits(&b, 0, 2 + 3); /* 8 bits */
	put_bits(&b, 1, 1);
	put_bits(&b, 1, 2); /* channel more: */
	put_bits(&b, is_premultiplied ? 1 << 10 : 1, is_premultiplied ? 11 : 1);
	put_bits(&b, 0, 1); /* not XYB */
	put_bits(&b, 1, 1);
	put_bits(&b, 0, 2);
	put_bits(&b, 1, 1);
	return b;
}

struct bytes jxl_premultiplied(void)
{
	struct jxl_spec spec = { .has_alpha = true };
	struct bytes plain = jxl_make(&spec), b;
	struct bits is = header_of(false), wanted = header_of(true);
	size_t begin = (is.count + 7) / 8, other = (wanted.count + 7) / 8;

	CHECK(memcmp(plain.data, is.bytes, begin) == 0);
	b.count = plain.count - begin + other;
	b.data = malloc(b.count);
	CHECK(b.data != NULL);
	memcpy(b.data, wanted.bytes, other);
	memcpy(b.data + other, plain.data + begin, plain.count - begin);
	free(plain.data);
	return b;
}

/* --- Boxes --- */

static void put(struct bytes *to, const void *data, size_t count)
{
	memcpy(to->data + to->count, data, count);
	to->count += count;
}

static void put_big(struct bytes *to, uint32_t number)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		to->data[to->count++] = (uint8_t)(number >> shift);
}

struct bytes jxl_box(struct bytes codestream, uint32_t parts)
{
	enum { MORE_BYTES = 128, PART_BYTES = 32 };
	struct bytes b = { malloc(codestream.count + MORE_BYTES +
				  (size_t)parts * PART_BYTES),
			   0 };
	size_t done = 0;

	CHECK(b.data != NULL);
	put(&b, "\0\0\0\014JXL \r\n\207\n", 12);
	put(&b, "\0\0\0\024ftypjxl \0\0\0\0jxl ", 20);
	put(&b, "\0\0\0\011free!", 9);
	if (parts == 0) {
		put_big(&b, (uint32_t)codestream.count + 8);
		put(&b, "jxlc", 4);
		put(&b, codestream.data, codestream.count);
	}
	for (uint32_t i = 0; i < parts; i++) {
		size_t end = codestream.count * (i + 1) / parts;
		bool is_last = i + 1 == parts;

		put_big(&b, is_last ? 0 : (uint32_t)(end - done) + 12);
		put(&b, "jxlp", 4);
		put_big(&b, is_last ? i | 0x80000000u : i);
		put(&b, codestream.data + done, end - done);
		done = end;
		if (!is_last)
			put(&b, "\0\0\0\012skip!!", 10);
	}
	free(codestream.data);
	return b;
}

/* --- Gain maps --- */

static void add_number(struct bytes *to, size_t number, int bytes)
{
	while (bytes-- > 0)
		to->data[to->count++] = (uint8_t)(number >> 8 * bytes);
}

/* The data of the box; frees `map`. */
static struct bytes make_bundle(const struct jxl_gain_spec *spec,
				struct bytes map)
{
	struct bytes iso = gainmap_iso(spec->gain);
	struct bytes b = { malloc(map.count + iso.count + spec->colours.count +
				  spec->profile.count + 8),
			   0 };

	CHECK(b.data != NULL);
	add_number(&b, spec->version, 1);
	add_number(&b, iso.count, 2);
	put(&b, iso.data, iso.count);
	add_number(&b, spec->colours.count, 1);
	if (spec->colours.count > 0)
		put(&b, spec->colours.data, spec->colours.count);
	add_number(&b, spec->profile.count, 4);
	if (spec->profile.count > 0)
		put(&b, spec->profile.data, spec->profile.count);
	put(&b, map.data, map.count);
	free(iso.data);
	free(map.data);
	return b;
}

/* The last box, if it has no size, gets one, so that another may follow. */
static void end_last_box(struct bytes *file)
{
	size_t at = 0, bytes;

	for (;;) {
		bytes = 0;
		for (size_t i = 0; i < 4; i++)
			bytes = bytes << 8 | file->data[at + i];
		if (bytes == 0 || at + bytes == file->count)
			break;
		at += bytes;
	}
	bytes = file->count - at;
	file->count = at;
	put_big(file, (uint32_t)bytes);
	file->count = at + bytes;
}

struct bytes jxl_make_gain(const struct jxl_gain_spec *spec)
{
	enum { FIRST_BYTES = 12 + 20 }; /* signature and "ftyp" */
	struct bytes base = jxl_make(&spec->base), data;
	size_t before;
	struct bytes file;

	if (base.data[0] == 0xff)
		base = jxl_box(base, spec->base.parts);
	end_last_box(&base);
	data = make_bundle(spec, jxl_make(&spec->map));
	before = spec->is_before ? FIRST_BYTES : base.count;
	file = (struct bytes){ malloc(base.count + data.count + 12), 0 };
	CHECK(file.data != NULL);
	put(&file, base.data, before);
	add_number(&file,
		   spec->is_endless ?
			   0 :
			   8 + data.count + (spec->is_compressed ? 4 : 0),
		   4);
	if (spec->is_compressed)
		put(&file, "brob", 4);
	put(&file, "jhgm", 4);
	put(&file, data.data, data.count);
	put(&file, base.data + before, base.count - before);
	free(base.data);
	free(data.data);
	return file;
}

struct bytes jxl_p3(void)
{
	struct bits b = { .count = 0 };
	struct bytes out;

	put_bits(&b, 0, 2 + 2);       /* no profile; RGB */
	put_bits(&b, 1, 2);           /* D65 */
	put_bits(&b, 2 | 9 << 2, 6);  /* 11: P3 */
	put_bits(&b, 0, 1);           /* no gamma */
	put_bits(&b, 2 | 11 << 2, 6); /* 13: sRGB */
	put_bits(&b, 1, 2);           /* relative */
	out = (struct bytes){ malloc(sizeof(b.bytes)), (b.count + 7) / 8 };
	CHECK(out.data != NULL);
	memcpy(out.data, b.bytes, out.count);
	return out;
}

struct bytes jxl_find_box(struct bytes file, const char *type)
{
	for (size_t at = 0; at < file.count;) {
		size_t bytes = 0;

		CHECK_NUMBER(file.count - at, >=, 8);
		for (int i = 0; i < 4; i++)
			bytes = bytes << 8 | file.data[at + (size_t)i];
		CHECK_NUMBER(bytes, >=, 8);
		CHECK_NUMBER(bytes, <=, file.count - at);
		if (memcmp(file.data + at + 4, type, 4) == 0)
			return (struct bytes){ file.data + at + 8, bytes - 8 };
		at += bytes;
	}
	return (struct bytes){ 0 };
}
