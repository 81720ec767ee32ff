/* SPDX-License-Identifier: MIT */
#include "datasets/jpeg.h"

#include "base/util.h"
#include "base/random.h"
#include "datasets/xalloc.h"

#include <assert.h>
#include <stdio.h> /* for jpeglib.h */
#include <jpeglib.h>
#include <lcms2.h>
#include <stdlib.h>
#include <string.h>

/* A part of a file.  Reading beyond its end gives zeros. */
struct span {
	const uint8_t *bytes;
	size_t size;
	bool big_endian;
};

static uint32_t span_get(const struct span *s, size_t at, int bytes)
{
	uint32_t value = 0;

	if (at > s->size || s->size - at < (size_t)bytes)
		return 0;
	for (int i = 0; i < bytes; i++)
		value = value << 8 |
			s->bytes[at + (s->big_endian ? i : bytes - 1 - i)];
	return value;
}

/* The first value of the entry at `entry`; 0: it is not an integer. */
static uint32_t read_integer(const struct span *s, size_t entry)
{
	/* By type, as TIFF 6.0 numbers them; 0: not an integer. */
	static const uint8_t sizes[] = { 0, 1, 0, 2, 4, 0, 1, 0, 2, 4 };
	uint32_t type = span_get(s, entry + 2, 2);
	uint64_t count = span_get(s, entry + 4, 4);
	int bytes = type < ARRAY_SIZE(sizes) ? sizes[type] : 0;
	size_t at = entry + 8;

	if (count * (uint64_t)bytes > 4) /* no room in the entry */
		at = span_get(s, at, 4);
	return span_get(s, at, bytes);
}

static void read_exif(struct jpeg_facts *f, const uint8_t *bytes, size_t size)
{
	struct span s = { bytes + 6, size - 6, bytes[6] == 'M' };
	size_t directory = span_get(&s, 4, 4);
	uint32_t count = span_get(&s, directory, 2);

	f->exif = true;
	for (uint32_t i = 0; i < count; i++) {
		size_t entry = directory + 2 + (size_t)i * 12;
		uint32_t value = read_integer(&s, entry);

		if (span_get(&s, entry, 2) == 0x0112)
			f->orientation = value <= 8 ? (int)value : 0;
	}
	f->thumbnail = span_get(&s, directory + 2 + (size_t)count * 12, 4) != 0;
}

static const char *name_sampling(const struct span *frame)
{
	static const struct {
		uint32_t factors;
		const char *name;
	} known[] = { { 0x11, "4:4:4" },
		      { 0x21, "4:2:2" },
		      { 0x22, "4:2:0" },
		      { 0x12, "4:4:0" },
		      { 0x41, "4:1:1" } };

	if (span_get(frame, 5, 1) == 1)
		return "grey";
	if (span_get(frame, 5, 1) != 3 || span_get(frame, 10, 1) != 0x11 ||
	    span_get(frame, 13, 1) != 0x11)
		return "other";
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (span_get(frame, 7, 1) == known[i].factors)
			return known[i].name;
	return "other";
}

/*
 * SOF0 to SOF15.  DHT, JPG and DAC have numbers in that range, but are not
 * frames.
 */
static bool is_frame(int marker)
{
	return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 &&
	       marker != 0xc8 && marker != 0xcc;
}

static void read_frame(struct jpeg_facts *f, int marker,
		       const struct span *frame)
{
	f->progressive = marker == 0xc2 || marker == 0xc6 || marker == 0xca ||
			 marker == 0xce;
	f->height = span_get(frame, 1, 2);
	f->width = span_get(frame, 3, 2);
	f->sampling = name_sampling(frame);
}

bool jpeg_inspect(struct jpeg_facts *f, const uint8_t *bytes, size_t size_bytes)
{
	struct span file = { bytes, size_bytes, true };
	struct jpeg_facts seen = { 0 };
	size_t at = 2;

	if (span_get(&file, 0, 2) != 0xffd8)
		return false;
	while (span_get(&file, at, 1) == 0xff) {
		int marker = (int)span_get(&file, at + 1, 1);
		size_t length = span_get(&file, at + 2, 2);

		if (marker == 0xff) { /* a fill byte */
			at++;
			continue;
		}
		if (length < 2 || length > size_bytes - at - 2)
			return false;

		const uint8_t *body = bytes + at + 4;
		struct span segment = { body, length - 2, true };

		if (is_frame(marker)) {
			read_frame(&seen, marker, &segment);
			*f = seen;
			return true;
		}
		if (marker == 0xe1 && segment.size > 14 &&
		    memcmp(body, "Exif\0", 6) == 0)
			read_exif(&seen, body, segment.size);
		if (marker == 0xe2 && segment.size > 14 &&
		    memcmp(body, "ICC_PROFILE", 12) == 0)
			seen.icc_bytes += segment.size - 14;
		at += 2 + length;
	}
	return false;
}

/*
 * An EXIF block is a TIFF header and three directories: for the image, for the
 * exposure and for the thumbnail.  A value that does not fit into its entry is
 * stored after the directory.
 */

enum exif_type {
	TYPE_ASCII = 2,
	TYPE_SHORT = 3,
	TYPE_LONG = 4,
	TYPE_RATIONAL = 5
};

enum { EXIF_PREFIX_BYTES = 6, TIFF_HEADER_BYTES = 8, TIFF_ENTRY_BYTES = 12 };

struct exif_writer {
	uint8_t *tiff;
	size_t entry;  /* where the next entry goes */
	size_t values; /* where the next longer value goes */
	bool big_endian;
};

static void exif_put(struct exif_writer *w, size_t at, uint32_t value,
		     int bytes)
{
	for (int i = 0; i < bytes; i++) {
		int byte = w->big_endian ? bytes - 1 - i : i;

		w->tiff[at + i] = (uint8_t)(value >> (8 * byte));
	}
}

/*
 * Begin a directory of `count` entries after everything that was written so
 * far.
 */
static size_t exif_begin_directory(struct exif_writer *w, uint32_t count)
{
	size_t at = w->values;

	exif_put(w, at, count, 2);
	w->entry = at + 2;
	w->values = at + 2 + count * TIFF_ENTRY_BYTES + 4;
	exif_put(w, w->values - 4, 0, 4); /* no next directory yet */
	return at;
}

static void exif_put_entry(struct exif_writer *w, int tag, enum exif_type type,
			   uint32_t count)
{
	exif_put(w, w->entry, (uint32_t)tag, 2);
	exif_put(w, w->entry + 2, type, 2);
	exif_put(w, w->entry + 4, count, 4);
	exif_put(w, w->entry + 8, 0, 4);
	w->entry += TIFF_ENTRY_BYTES;
}

/* Returns the offset of the value, so that the caller can change it later. */
static size_t exif_put_number(struct exif_writer *w, int tag,
			      enum exif_type type, uint32_t value)
{
	exif_put_entry(w, tag, type, 1);
	exif_put(w, w->entry - 4, value, type == TYPE_SHORT ? 2 : 4);
	return w->entry - 4;
}

static void exif_put_text(struct exif_writer *w, int tag, const char *text)
{
	size_t bytes = strlen(text) + 1;

	exif_put_entry(w, tag, TYPE_ASCII, (uint32_t)bytes);
	assert(bytes > 4);
	exif_put(w, w->entry - 4, (uint32_t)w->values, 4);
	memcpy(w->tiff + w->values, text, bytes);
	w->values += (bytes + 1) & ~(size_t)1;
}

static void exif_put_ratio(struct exif_writer *w, int tag, uint32_t over,
			   uint32_t under)
{
	exif_put_entry(w, tag, TYPE_RATIONAL, 1);
	exif_put(w, w->entry - 4, (uint32_t)w->values, 4);
	exif_put(w, w->values, over, 4);
	exif_put(w, w->values + 4, under, 4);
	w->values += 8;
}

static void exif_put_image(struct exif_writer *w, const struct exif *exif,
			   uint64_t *random, const char *time, size_t *shot)
{
	/*
	 * Models that do not exist, so that nobody takes these files for real
	 * photos.
	 */
	static const char *const models[] = { "Pocket 5", "Mirrorless II",
					      "Phone 12 wide", "Reflex 350" };

	exif_begin_directory(w, 9);
	exif_put_text(w, 0x010f, "mkset");
	exif_put_text(w, 0x0110, models[random_below(random, 4)]);
	exif_put_number(w, 0x0112, TYPE_SHORT, (uint32_t)exif->orientation);
	exif_put_ratio(w, 0x011a, 72, 1);
	exif_put_ratio(w, 0x011b, 72, 1);
	exif_put_number(w, 0x0128, TYPE_SHORT, 2); /* per inch */
	exif_put_text(w, 0x0132, time);
	exif_put_number(w, 0x0213, TYPE_SHORT, 1); /* centred chroma */
	*shot = exif_put_number(w, 0x8769, TYPE_LONG, 0);
}

static void exif_put_shot(struct exif_writer *w, const struct exif *exif,
			  uint64_t *random, const char *time)
{
	static const uint32_t speeds[] = { 30, 60, 125, 250, 500, 1000 };

	exif_begin_directory(w, 9);
	exif_put_ratio(w, 0x829a, 1, speeds[random_below(random, 6)]);
	exif_put_ratio(w, 0x829d, 18 + random_below(random, 100), 10);
	exif_put_number(w, 0x8827, TYPE_SHORT, 50U << random_below(random, 6));
	exif_put_text(w, 0x9003, time);
	exif_put_text(w, 0x9004, time);
	exif_put_ratio(w, 0x920a, 42 + random_below(random, 500), 10);
	exif_put_number(w, 0xa001, TYPE_SHORT, 1); /* sRGB */
	exif_put_number(w, 0xa002, TYPE_LONG, exif->width_px);
	exif_put_number(w, 0xa003, TYPE_LONG, exif->height_px);
}

static void exif_put_thumbnail(struct exif_writer *w,
			       const struct segment *thumbnail)
{
	exif_begin_directory(w, 3);
	exif_put_number(w, 0x0103, TYPE_SHORT, 6); /* JPEG */

	size_t offset = exif_put_number(w, 0x0201, TYPE_LONG, 0);

	exif_put_number(w, 0x0202, TYPE_LONG, (uint32_t)thumbnail->size_bytes);
	exif_put(w, offset, (uint32_t)w->values, 4);
	memcpy(w->tiff + w->values, thumbnail->bytes, thumbnail->size_bytes);
	w->values += thumbnail->size_bytes;
}

size_t exif_write(uint8_t *out, const struct exif *exif)
{
	uint64_t random = exif->seed;
	char time[32];
	struct exif_writer w = {
		.tiff = out + EXIF_PREFIX_BYTES,
		.values = TIFF_HEADER_BYTES,
		.big_endian = random_fraction(&random) < 0.5,
	};
	size_t shot;

	assert(exif->thumbnail.size_bytes < SEGMENT_BYTES_MAX - 1024);
	memset(out, 0, 1024);
	snprintf(time, sizeof(time), "2024:%02u:%02u %02u:%02u:%02u",
		 1 + random_below(&random, 12), 1 + random_below(&random, 28),
		 random_below(&random, 24), random_below(&random, 60),
		 random_below(&random, 60));
	memcpy(out, "Exif\0", EXIF_PREFIX_BYTES);
	memcpy(w.tiff, w.big_endian ? "MM" : "II", 2);
	exif_put(&w, 2, 42, 2);
	exif_put(&w, 4, TIFF_HEADER_BYTES, 4);
	exif_put_image(&w, exif, &random, time, &shot);

	/* Offset of the link to the thumbnail's directory. */
	size_t next = w.entry;

	exif_put(&w, shot, (uint32_t)w.values, 4);
	exif_put_shot(&w, exif, &random, time);
	if (exif->thumbnail.size_bytes > 0) {
		exif_put(&w, next, (uint32_t)w.values, 4);
		exif_put_thumbnail(&w, &exif->thumbnail);
	}
	return EXIF_PREFIX_BYTES + w.values;
}

/* "ICC_PROFILE", the number of this segment and of all segments. */
enum { ICC_PREFIX_BYTES = 14 };

struct primaries {
	const char *name;
	cmsCIExyYTRIPLE rgb;
	double gamma; /* 0: the curve of sRGB */
};

static const struct primaries spaces[ICC_COUNT] = {
	[ICC_NONE] = { .name = "none" },
	[ICC_SRGB] = { .name = "sRGB" },
	[ICC_ADOBE_RGB] = { "AdobeRGB-like",
			    { { 0.64, 0.33, 1 },
			      { 0.21, 0.71, 1 },
			      { 0.15, 0.06, 1 } },
			    563.0 / 256 },
	[ICC_DISPLAY_P3] = { "P3-like",
			     { { 0.680, 0.320, 1 },
			       { 0.265, 0.690, 1 },
			       { 0.150, 0.060, 1 } },
			     0 },
};

const char *icc_name(enum icc icc)
{
	return spaces[icc].name;
}

static cmsToneCurve *icc_make_curve(double gamma)
{
	/* IEC 61966-2-1 */
	static const double srgb[] = { 2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92,
				       0.04045 };

	return gamma > 0 ? cmsBuildGamma(NULL, gamma) :
			   cmsBuildParametricToneCurve(NULL, 4, srgb);
}

static cmsHPROFILE icc_make_profile(enum icc icc)
{
	static const cmsCIExyY d65 = { 0.3127, 0.3290, 1 };
	const struct primaries *space = &spaces[icc];

	if (icc == ICC_SRGB)
		return cmsCreate_sRGBProfile();

	cmsToneCurve *curve = icc_make_curve(space->gamma);
	cmsToneCurve *curves[] = { curve, curve, curve };
	cmsHPROFILE profile = cmsCreateRGBProfile(&d65, &space->rgb, curves);

	cmsFreeToneCurve(curve);
	return profile;
}

static void icc_set_bytes(struct icc_profiles *p, enum icc icc,
			  cmsHPROFILE profile)
{
	cmsUInt32Number size = 0;
	uint8_t *bytes;

	cmsSaveProfileToMem(profile, NULL, &size);
	bytes = xcalloc(1, ICC_PREFIX_BYTES + size);
	if (size == 0 ||
	    !cmsSaveProfileToMem(profile, bytes + ICC_PREFIX_BYTES, &size)) {
		fputs("mkset: lcms2 made no profile\n", stderr);
		exit(1);
	}
	memcpy(bytes, "ICC_PROFILE\0\1\1", ICC_PREFIX_BYTES);
	/*
	 * The date of creation: always 2024-01-01, so that every run gives the
	 * same bytes.
	 */
	memcpy(bytes + ICC_PREFIX_BYTES + 24, "\x07\xe8\0\1\0\1\0\0\0\0\0\0",
	       12);
	p->of[icc].bytes = bytes;
	p->of[icc].size_bytes = ICC_PREFIX_BYTES + size;
}

void icc_profiles_init(struct icc_profiles *p)
{
	cmsHPROFILE srgb = cmsCreate_sRGBProfile();

	*p = (struct icc_profiles){ 0 };
	for (enum icc icc = ICC_SRGB; icc < ICC_COUNT; icc++) {
		cmsHPROFILE profile = icc_make_profile(icc);

		icc_set_bytes(p, icc, profile);
		/* No cache, so that threads may share it. */
		if (icc != ICC_SRGB)
			p->of[icc].transform = cmsCreateTransform(
				srgb, TYPE_RGB_8, profile, TYPE_RGB_8,
				INTENT_RELATIVE_COLORIMETRIC, cmsFLAGS_NOCACHE);
		cmsCloseProfile(profile);
	}
	cmsCloseProfile(srgb);
}

void icc_profiles_release(struct icc_profiles *p)
{
	for (enum icc icc = ICC_SRGB; icc < ICC_COUNT; icc++) {
		free(p->of[icc].bytes);
		if (p->of[icc].transform != NULL)
			cmsDeleteTransform(p->of[icc].transform);
	}
}

struct segment icc_profiles_segment(const struct icc_profiles *p, enum icc icc)
{
	return (struct segment){ JPEG_APP0 + 2, p->of[icc].bytes,
				 p->of[icc].size_bytes };
}

void icc_profiles_convert(const struct icc_profiles *p, enum icc icc,
			  struct picture *picture)
{
	if (p->of[icc].transform != NULL)
		cmsDoTransform(p->of[icc].transform, picture->rgb, picture->rgb,
			       picture->width * picture->height);
}

const char *sampling_name(enum sampling sampling)
{
	static const char *const names[] = { "4:2:0", "4:2:2", "4:4:4" };

	return names[sampling];
}

static void encoder_set_up(struct jpeg_compress_struct *c,
			   const struct encoding *e)
{
	jpeg_set_defaults(c);
	jpeg_set_quality(c, e->quality, TRUE);
	c->optimize_coding = e->optimised;
	if (e->grey) {
		jpeg_set_colorspace(c, JCS_GRAYSCALE);
	} else {
		c->comp_info[0].h_samp_factor =
			e->sampling == SAMPLING_444 ? 1 : 2;
		c->comp_info[0].v_samp_factor =
			e->sampling == SAMPLING_420 ? 2 : 1;
	}
	if (e->progressive)
		jpeg_simple_progression(c);
	for (uint32_t i = 0; i < e->segment_count; i++)
		if (e->segments[i].marker == JPEG_APP0 + 1)
			c->write_JFIF_header = FALSE; /* as cameras do */
}

void jpeg_encode(struct jpeg *out, const struct picture *p,
		 const struct encoding *e)
{
	struct jpeg_compress_struct c;
	struct jpeg_error_mgr errors;
	unsigned long size_bytes = 0;

	*out = (struct jpeg){ 0 };
	c.err = jpeg_std_error(&errors); /* an error ends the program */
	jpeg_create_compress(&c);
	jpeg_mem_dest(&c, &out->bytes, &size_bytes);
	c.image_width = p->width;
	c.image_height = p->height;
	c.input_components = 3;
	c.in_color_space = JCS_RGB;
	encoder_set_up(&c, e);
	jpeg_start_compress(&c, TRUE);
	for (uint32_t i = 0; i < e->segment_count; i++) {
		assert(e->segments[i].size_bytes <= SEGMENT_BYTES_MAX);
		jpeg_write_marker(&c, e->segments[i].marker,
				  e->segments[i].bytes,
				  (unsigned)e->segments[i].size_bytes);
	}
	while (c.next_scanline < c.image_height) {
		JSAMPROW row = p->rgb + (size_t)c.next_scanline * p->width * 3;

		jpeg_write_scanlines(&c, &row, 1);
	}
	jpeg_finish_compress(&c);
	jpeg_destroy_compress(&c);
	out->size_bytes = size_bytes;
}

void jpeg_release(struct jpeg *j)
{
	free(j->bytes);
	*j = (struct jpeg){ 0 };
}
