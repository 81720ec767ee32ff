/* SPDX-License-Identifier: MIT */
#include "service/http/head/params.h"

#include "service/pipeline/watermarks.h"

#include "base/similar.h"
#include "base/take.h"
#include "base/util.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
	SIDE_PX_MAX = 16384,
	VALUE_BYTES = 48, /* size of a value as text */
	RANGE_BYTES = 128,
	HELP_INDENT = 14,
	HELP_COLUMNS = 79,
};

static const struct param_word zero_one[] = { { "0", NULL }, { "1", NULL } };
static const struct param_word profiles[] = {
	{ "srgb", "convert colours to sRGB" },
	{ "keep", "send the file's profile" },
};
static const struct param_word gainmaps[] = {
	{ "strip", "a result in SDR" },
	{ "keep", "a JPEG shows in HDR where it can" },
};
static const struct param_word metadatas[] = {
	[IMG_METADATA_STRIP] = { "strip", "none" },
	[IMG_METADATA_COPYRIGHT] = { "copyright", "creator, rights, credit" },
	[IMG_METADATA_KEEP] = { "keep", "all, places too" },
};
static const struct param_word chromas[] = {
	[IMG_CHROMA_420] = { "420", "half resolution, both ways" },
	[IMG_CHROMA_444] = { "444", "full resolution" },
	[IMG_CHROMA_AUTO] = { "auto", "444 where 420 would lose colours" },
};
static const struct param_word fits[] = {
	[IMG_FIT_INSIDE] = { "inside", "all of it" },
	[IMG_FIT_COVER] = { "cover", "cut to the box" },
	[IMG_FIT_FILL] = { "fill", "stretched" },
	[IMG_FIT_PAD] = { "pad", "all of it, with background beside it" },
};
/* The first of enum img_gravity. */
#define DIRECTIONS                                                             \
	[IMG_CENTRE] = { "centre", NULL }, [IMG_NORTH] = { "north", NULL },    \
	[IMG_NORTHEAST] = { "northeast", NULL },                               \
	[IMG_EAST] = { "east", NULL },                                         \
	[IMG_SOUTHEAST] = { "southeast", NULL },                               \
	[IMG_SOUTH] = { "south", NULL },                                       \
	[IMG_SOUTHWEST] = { "southwest", NULL },                               \
	[IMG_WEST] = { "west", NULL }, [IMG_NORTHWEST] = { "northwest", NULL }

static const struct param_word directions[] = { DIRECTIONS };
static const struct param_word gravities[] = {
	DIRECTIONS,
	[IMG_SMART] = { "smart", "by edges and colours" },
};
static const struct param_word rotations[] = {
	[IMG_ROTATE_0] = { "0", NULL },
	[IMG_ROTATE_90] = { "90", NULL },
	[IMG_ROTATE_180] = { "180", NULL },
	[IMG_ROTATE_270] = { "270", NULL },
};
static const struct param_word flips[] = {
	[IMG_FLIP_NONE] = { "none", NULL },
	[IMG_FLIP_H] = { "h", "left and right" },
	[IMG_FLIP_V] = { "v", "top and bottom" },
};
static const struct param_word filters[] = {
	[IMG_LANCZOS3] = { "lanczos3", "sharp, the fastest" },
	[IMG_BOX] = { "box", "mean of an area" },
	[IMG_TRIANGLE] = { "triangle", "linear" },
	[IMG_BSPLINE] = { "bspline", "cubic, soft" },
	[IMG_CATMULL_ROM] = { "catmull-rom", "cubic, sharp" },
	[IMG_MITCHELL] = { "mitchell", "cubic, between these" },
};

static const struct param_word lights[] = {
	[IMG_LIGHT_GAMMA] = { "gamma", "the file's numbers" },
	[IMG_LIGHT_LINEAR] = { "linear", "the light that they mean" },
};

static const struct param_word formats[] = {
#define FORMAT(name, word) [IMG_FORMAT_##name] = { #word, NULL },
#define READ_ONLY_FORMAT(name, word)
#include "imgops/formats/list.h"
#undef FORMAT
	[PARAMS_FORMAT_AUTO] = { "auto", "the client's choice, by Accept" },
};

/* Compiles only if the member has that type. */
#define MEMBER(type, field)                                                    \
	.offset = offsetof(struct params, field) +                             \
		  0 * sizeof((type *)NULL == &((struct params *)NULL)->field)
#define SIDE(field)                                                            \
	.kind = PARAM_SIDE, .min = 1, .max = SIDE_PX_MAX,                      \
	MEMBER(uint32_t, field), .if_absent = "no limit"
#define QUALITY(field, from, to)                                               \
	.kind = PARAM_QUALITY, .min = from, .max = to, MEMBER(int, field)
#define SIGMA(field, to)                                                       \
	.kind = PARAM_SIGMA, .min = 0.3, .max = to, MEMBER(double, field)
#define FACTOR(field, from, to)                                                \
	.kind = PARAM_FACTOR, .min = from, .max = to, MEMBER(double, field)
#define BYTES(field)                                                           \
	.kind = PARAM_BYTES, .min = 100, .max = 1 << 30,                       \
	MEMBER(uint32_t, field), .if_absent = "no limit"
#define SCORE(field)                                                           \
	.kind = PARAM_SCORE, .min = 30, .max = 95, MEMBER(double, field)
#define RECT(field)                                                            \
	.kind = PARAM_RECT, .max = IMG_SIDE_PX_MAX,                            \
	MEMBER(struct img_rect, field)
#define POINT(field)                                                           \
	.kind = PARAM_POINT, .max = 1, MEMBER(struct img_point, field)
#define SIDES(field)                                                           \
	.kind = PARAM_SIDES, .max = SIDE_PX_MAX, MEMBER(struct img_sides, field)
#define COLOUR(field)                                                          \
	.kind = PARAM_COLOUR, .max = 0xffffff, MEMBER(uint32_t, field)
#define SWITCH(field, array)                                                   \
	.kind = PARAM_SWITCH, .words = array, .word_count = ARRAY_SIZE(array), \
	MEMBER(bool, field)
#define NAME(field) .kind = PARAM_NAME, MEMBER(uint32_t, field)
#define WORD(type, field, array)                                               \
	.kind = PARAM_WORD, .words = array, .word_count = ARRAY_SIZE(array),   \
	MEMBER(type, field)

const struct param params_table[] = {
	{ "w", "Width", SIDE(transform.box.width_px),
	  .help = "width of the box for the result",
	  .other_names = "width maxwidth", .since = 1 },
	{ "h", "Height", SIDE(transform.box.height_px),
	  .help = "height of the box for the result",
	  .other_names = "height maxheight", .since = 1 },
	{ "fit", "Fit", WORD(enum img_fit, transform.fit, fits),
	  .default_text = "inside", .help = "how the picture fills the box",
	  .other_names = "mode resize", .since = 1 },
	{ "gravity", "Gravity",
	  WORD(enum img_gravity, transform.gravity, gravities),
	  .default_text = "centre",
	  .help = "which part fit=cover keeps, and where fit=pad puts it",
	  .only_with = "fit=cover|pad", .other_names = "position", .since = 1 },
	{ "filter", "Filter", WORD(enum img_filter, transform.filter, filters),
	  .default_text = "lanczos3", .help = "how the picture is resampled",
	  .since = 1 },
	{ "light", "Light", WORD(enum img_light, transform.light, lights),
	  .default_text = "gamma", .help = "what the filter sums",
	  .is_of_upload = true, .is_advanced = true, .other_names = "linear",
	  .since = 13 },
	{ "enlarge", "Enlarge", SWITCH(transform.enlarge, zero_one),
	  .default_text = "0",
	  .help = "the result may be larger than the upload",
	  .is_advanced = true, .other_names = "upscale", .since = 1 },
	{ "orient", "Orient", SWITCH(transform.as_stored, zero_one),
	  .default_text = "1",
	  .help = "upright, as EXIF says; 0: as stored in the file",
	  .is_inverted = true, .is_advanced = true, .other_names = "autorotate",
	  .since = 1 },
	{ "blur", "Blur", SIGMA(transform.blur_sigma_px, 100),
	  .default_text = "0",
	  .help = "standard deviation of a Gaussian blur; 0: no blur",
	  .other_names = "sigma", .since = 1 },
	{ "q", "Quality", QUALITY(transform.quality, 1, 100),
	  .default_text = "80",
	  .help = "quality of the result, as of a JPEG; auto: as the target "
		  "needs",
	  .auto_text = "target=ssimulacra2:75", .other_names = "quality",
	  .since = 1 },
	{ "target", "Target", SCORE(transform.score), .default_text = "none",
	  .help = "how like the picture the result looks; instead of q",
	  .is_advanced = true, .other_names = "score ssimulacra2 butteraugli",
	  .since = 14 },
	{ "icc", "Colours", SWITCH(transform.keep_profile, profiles),
	  .default_text = "srgb", .help = "what happens to an ICC profile",
	  .is_advanced = true, .other_names = "profile", .since = 1 },
	{ "chroma", "Chroma", WORD(enum img_chroma, transform.chroma, chromas),
	  .default_text = "420", .help = "resolution of the colours",
	  .is_advanced = true, .other_names = "subsampling", .since = 1 },
	{ "progressive", "Progressive", SWITCH(transform.progressive, zero_one),
	  .default_text = "0", .help = "a progressive JPEG, smaller and slower",
	  .is_advanced = true, .other_names = "interlace", .since = 1 },
	{ "optimize", "Optimize", SWITCH(transform.optimize, zero_one),
	  .default_text = "0", .help = "Huffman tables made for the picture",
	  .is_advanced = true, .since = 1 },
	{ "format", "Format",
	  WORD(enum img_format_number, transform.format, formats),
	  .default_text = "jpeg", .help = "file format of the result",
	  .is_advanced = true, .other_names = "output fm type", .since = 2 },
	{ "background", "Background", COLOUR(transform.background),
	  .default_text = "ffffff",
	  .help = "the pad's, and under transparency that the format lacks",
	  .is_advanced = true, .other_names = "bg flatten matte", .since = 3 },
	{ "lossless", "Lossless", SWITCH(transform.lossless, zero_one),
	  .default_text = "0",
	  .help = "the exact pixels, in formats that can, such as WebP",
	  .is_advanced = true, .since = 3 },
	{ "effort", "Effort", QUALITY(transform.effort, 0, 9),
	  .default_text = "0",
	  .help = "1: fast .. 9: small; 0: as usual for the format",
	  .is_advanced = true, .other_names = "speed method", .since = 3 },
	{ "gainmap", "Gain map", SWITCH(transform.keep_gainmap, gainmaps),
	  .default_text = "strip", .help = "what happens to a file's gain map",
	  .is_advanced = true, .other_names = "hdr keepgainmap", .since = 4 },
	{ "metadata", "Metadata",
	  WORD(enum img_metadata_kept, transform.metadata, metadatas),
	  .default_text = "strip",
	  .help = "what a result has of Exif, XMP and IPTC",
	  .is_advanced = true, .other_names = "exif strip stripmetadata",
	  .since = 11 },
	{ "max_bytes", "Most bytes", BYTES(transform.bytes_max),
	  .help = "the most bytes of the result, which gets less quality if "
		  "needed",
	  .is_advanced = true, .other_names = "maxbytes max_size", .since = 6 },
	{ "rotate", "Rotate",
	  WORD(enum img_rotation, transform.rotation, rotations),
	  .default_text = "0",
	  .help = "degrees, clockwise, after it was turned upright",
	  .is_advanced = true, .other_names = "rot angle", .since = 5 },
	{ "flip", "Flip", WORD(enum img_flip, transform.flip, flips),
	  .default_text = "none",
	  .help = "which sides change places, after rotate",
	  .is_advanced = true, .other_names = "mirror flop", .since = 5 },
	{ "trim", "Trim", QUALITY(transform.trim, 0, IMG_TRIM_MAX),
	  .default_text = "0",
	  .help = "remove the border, with this tolerance; 1 is 10",
	  .is_advanced = true, .other_names = "autocrop", .since = 12 },
	{ "crop", "Crop", RECT(transform.crop), .if_absent = "all of it",
	  .help = "the part that is used, in pixels of the upload, upright",
	  .is_advanced = true, .other_names = "extract region rect",
	  .since = 5 },
	{ "focus", "Focus", POINT(transform.focus), .default_text = "0.5,0.5",
	  .help = "the middle of what fit=cover keeps, with gravity=centre",
	  .only_with = "fit=cover", .is_advanced = true,
	  .other_names = "fp focalpoint", .since = 5 },
	{ "dpr", "Pixel ratio", FACTOR(transform.dpr, 0.1, 8),
	  .default_text = "1", .help = "w and h are multiplied by it",
	  .is_advanced = true, .other_names = "devicepixelratio", .since = 5 },
	{ "grayscale", "Grey", SWITCH(transform.greyscale, zero_one),
	  .default_text = "0", .help = "without colours", .is_advanced = true,
	  .other_names = "greyscale grey gray bw", .since = 5 },
	{ "sharpen", "Sharpen", SIGMA(transform.sharpen_sigma_px, 10),
	  .default_text = "0",
	  .help = "standard deviation of an unsharp mask; 0: none; not with "
		  "blur",
	  .is_advanced = true, .other_names = "sharp usm unsharp", .since = 7 },
	{ "pad", "Pad", SIDES(transform.pad), .default_text = "0",
	  .help = "background around the result, beyond w and h; times dpr",
	  .is_advanced = true, .other_names = "padding extend border",
	  .since = 8 },
	{ "watermark", "Watermark", NAME(transform.watermark),
	  .default_text = "none",
	  .help = "a picture of --watermark that is drawn over the result",
	  .is_advanced = true, .other_names = "wm overlay", .since = 9 },
	{ "watermark_position", "Its place",
	  WORD(enum img_gravity, transform.watermark_position, directions),
	  .default_text = "southeast", .help = "where the watermark is",
	  .is_advanced = true, .since = 9 },
	{ "watermark_opacity", "Its opacity",
	  FACTOR(transform.watermark_opacity, 0.01, 1), .default_text = "1",
	  .help = "1: as in its file", .is_advanced = true, .since = 9 },
	{ "watermark_scale", "Its width",
	  FACTOR(transform.watermark_scale, 0.01, 1), .default_text = "0.25",
	  .help = "its share of the width of the result", .is_advanced = true,
	  .since = 9 },
	{ "strict", "Strict", SWITCH(transform.lenient, zero_one),
	  .default_text = "1",
	  .help = "refuse a damaged file; 0: return its readable part",
	  .is_inverted = true, .is_of_upload = true, .is_advanced = true,
	  .since = 1 },
	{ "placeholder", "Placeholder", SWITCH(wants.placeholder, zero_one),
	  .default_text = "0",
	  .help = "also return a BlurHash and the dominant colour",
	  .is_of_upload = true, .other_names = "blurhash", .since = 1 },
	{ "pdq", "PDQ", SWITCH(wants.pdq, zero_one), .default_text = "0",
	  .help = "also return the PDQ hash of the upload",
	  .is_of_upload = true, .is_advanced = true,
	  .other_names = "phash hash", .since = 10 },
};

const uint32_t params_count = ARRAY_SIZE(params_table);

_Static_assert(ARRAY_SIZE(params_table) <= 64, "a bit of params.seen for each");

static const char transparent[] = "transparent"; /* a colour */
static const char none[] = "none";               /* a score */
static const char automatic[] = "auto";

/* The names of watermarks; number 0 is none.  Set once, at the start. */
static const char *watermarks[1 + WATERMARKS_MAX] = { "none" };
static uint32_t watermark_count = 1;

void params_set_watermarks(const char *const *names, uint32_t count)
{
	assert(count <= WATERMARKS_MAX);
	for (uint32_t i = 0; i < count; i++)
		watermarks[1 + i] = names[i];
	watermark_count = 1 + count;
}

/* Names of parameters that are not in the table. */
static const char variant_names[] = "variant variants preset";

/* The words in a sentence: "inside, cover or fill". */
static void print_words(char out[RANGE_BYTES], const struct param *param)
{
	int at = 0;

	for (uint32_t i = 0; i < param->word_count; i++) {
		const char *before = i == 0                     ? "" :
				     i + 1 == param->word_count ? " or " :
								  ", ";

		at += snprintf(out + at, RANGE_BYTES - (size_t)at, "%s%s",
			       before, param->words[i].name);
		assert(at < RANGE_BYTES);
	}
}

/* The names in a sentence, as many as fit. */
static void print_names(char out[RANGE_BYTES])
{
	size_t at = (size_t)snprintf(out, RANGE_BYTES, "none");

	if (watermark_count == 1)
		(void)snprintf(out + at, RANGE_BYTES - at,
			       " (--watermark names no pictures)");
	for (uint32_t i = 1; i < watermark_count; i++) {
		const char *before = i + 1 == watermark_count ? " or " : ", ";
		size_t bytes = strlen(before) + strlen(watermarks[i]);

		if (at + bytes + sizeof(", ...") > RANGE_BYTES) {
			(void)snprintf(out + at, RANGE_BYTES - at, ", ...");
			return;
		}
		at += (size_t)snprintf(out + at, RANGE_BYTES - at, "%s%s",
				       before, watermarks[i]);
	}
}

/* The words after "must be" in a message about a value. */
static const char *print_range(char out[RANGE_BYTES], const struct param *param)
{
	switch (param->kind) {
	case PARAM_SIDE:
		(void)snprintf(out, RANGE_BYTES,
			       "a whole number of pixels from %g to %g",
			       param->min, param->max);
		return out;
	case PARAM_BYTES:
		(void)snprintf(out, RANGE_BYTES,
			       "a whole number of bytes from %.0f to %.0f",
			       param->min, param->max);
		return out;
	case PARAM_QUALITY:
		(void)snprintf(out, RANGE_BYTES,
			       "a whole number from %g to %g%s", param->min,
			       param->max,
			       param->auto_text != NULL ? ", or auto" : "");
		return out;
	case PARAM_SIGMA:
		(void)snprintf(out, RANGE_BYTES,
			       "0 or a number of pixels from %g to %g",
			       param->min, param->max);
		return out;
	case PARAM_FACTOR:
		(void)snprintf(out, RANGE_BYTES, "a number from %g to %g",
			       param->min, param->max);
		return out;
	case PARAM_SCORE:
		(void)snprintf(out, RANGE_BYTES,
			       "none or " PARAMS_SCORE_PREFIX
			       "N, N a number from %g to %g",
			       param->min, param->max);
		return out;
	case PARAM_RECT:
		return "x,y,w,h: four whole numbers of pixels, w and h at "
		       "least 1";
	case PARAM_POINT:
		return "x,y: two numbers from 0 to 1, with up to four decimals";
	case PARAM_SIDES:
		(void)snprintf(out, RANGE_BYTES,
			       "1, 2 or 4 whole numbers of pixels from 0 to "
			       "%g, with commas",
			       param->max);
		return out;
	case PARAM_COLOUR:
		return "a colour as six hexadecimal digits, such as ff8000, "
		       "or transparent";
	case PARAM_SWITCH:
	case PARAM_WORD:
		print_words(out, param);
		return out;
	case PARAM_NAME:
		print_names(out);
		return out;
	}
	abort();
}

static bool read_whole(const struct param *param, const char *text,
		       uint64_t *out)
{
	return number_read_whole(text, (uint64_t)param->min,
				 (uint64_t)param->max, out);
}

/* Plain decimals, without an exponent. */
static bool read_sigma(const struct param *param, const char *text, double *out)
{
	double value;

	if (text[strspn(text, "0123456789.")] != '\0' ||
	    !number_read(text, 0, param->max, &value) ||
	    (value > 0 && value < param->min))
		return false;
	*out = value;
	return true;
}

static bool read_factor(const struct param *param, const char *text,
			double *out)
{
	double value;

	if (text[strspn(text, "0123456789.")] != '\0' ||
	    !number_read(text, param->min, param->max, &value))
		return false;
	*out = value;
	return true;
}

static bool read_score(const struct param *param, const char *text, double *out)
{
	size_t prefix = strlen(PARAMS_SCORE_PREFIX);

	if (strcmp(text, none) == 0) {
		*out = 0;
		return true;
	}
	return strncmp(text, PARAMS_SCORE_PREFIX, prefix) == 0 &&
	       read_factor(param, text + prefix, out);
}

static bool take_comma(const char **text)
{
	return *(*text)++ == ',';
}

static bool take_side(const char **text, uint64_t least, uint32_t *out)
{
	uint64_t n;

	if (!take_number(text, least, IMG_SIDE_PX_MAX, &n))
		return false;
	*out = (uint32_t)n;
	return true;
}

static bool read_rect(const char *text, struct img_rect *out)
{
	struct img_rect r;

	if (!take_side(&text, 0, &r.left_px) || !take_comma(&text) ||
	    !take_side(&text, 0, &r.top_px) || !take_comma(&text) ||
	    !take_side(&text, 1, &r.width_px) || !take_comma(&text) ||
	    !take_side(&text, 1, &r.height_px) || text[0] != '\0')
		return false;
	*out = r;
	return true;
}

/* 0 to 1, as parts from the middle. */
static bool take_part(const char **text, int32_t *out)
{
	double value;

	if (!take_decimal(text, 1, &value))
		return false;
	*out = (int32_t)lround(value * IMG_POINT_PARTS) - IMG_POINT_PARTS / 2;
	return true;
}

static bool read_point(const char *text, struct img_point *out)
{
	struct img_point p;

	if (!take_part(&text, &p.x) || !take_comma(&text) ||
	    !take_part(&text, &p.y) || text[0] != '\0')
		return false;
	*out = p;
	return true;
}

/* As in CSS: all; top and bottom, left and right; or each, clockwise. */
static bool read_sides(const struct param *param, const char *text,
		       struct img_sides *out)
{
	uint32_t sides[4], count = 0;
	uint64_t n;

	do {
		if (!take_number(&text, 0, (uint64_t)param->max, &n))
			return false;
		sides[count++] = (uint32_t)n;
	} while (count < 4 && text[0] == ',' && take_comma(&text));
	if (text[0] != '\0' || count == 3)
		return false;
	if (count == 1)
		sides[1] = sides[0];
	if (count < 4) {
		sides[2] = sides[0];
		sides[3] = sides[1];
	}
	*out = (struct img_sides){ sides[0], sides[1], sides[2], sides[3] };
	return true;
}

static bool read_colour(const char *text, uint32_t *out)
{
	if (strcmp(text, transparent) == 0) {
		*out = IMG_TRANSPARENT;
		return true;
	}
	if (strspn(text, "0123456789abcdefABCDEF") != 6 || text[6] != '\0')
		return false;
	*out = (uint32_t)strtoul(text, NULL, 16);
	return true;
}

/* The index of a word.  False: `text` is none of them. */
static bool read_word(const struct param *param, const char *text,
		      uint32_t *out)
{
	uint32_t i = 0;

	if ((param->words == gravities || param->words == directions) &&
	    strcmp(text, "center") == 0)
		text = gravities[IMG_CENTRE].name;
	while (i < param->word_count && strcmp(param->words[i].name, text) != 0)
		i++;
	*out = i;
	return i < param->word_count;
}

static bool read_name(const char *text, uint32_t *out)
{
	for (uint32_t i = 0; i < watermark_count; i++)
		if (strcmp(watermarks[i], text) == 0) {
			*out = i;
			return true;
		}
	return false;
}

static bool read_value(struct params *p, const struct param *param,
		       const char *text)
{
	void *field = (char *)p + param->offset;
	uint32_t word;
	uint64_t n;

	switch (param->kind) {
	case PARAM_SIDE:
	case PARAM_BYTES:
		if (!read_whole(param, text, &n))
			return false;
		*(uint32_t *)field = (uint32_t)n;
		return true;
	case PARAM_QUALITY:
		if (!read_whole(param, text, &n))
			return false;
		*(int *)field = (int)n;
		return true;
	case PARAM_SIGMA:
		return read_sigma(param, text, field);
	case PARAM_FACTOR:
		return read_factor(param, text, field);
	case PARAM_SCORE:
		return read_score(param, text, field);
	case PARAM_RECT:
		return read_rect(text, field);
	case PARAM_POINT:
		return read_point(text, field);
	case PARAM_SIDES:
		return read_sides(param, text, field);
	case PARAM_COLOUR:
		return read_colour(text, field);
	case PARAM_NAME:
		return read_name(text, field);
	case PARAM_SWITCH:
		if (!read_word(param, text, &word))
			return false;
		*(bool *)field = (word == 1) != param->is_inverted;
		return true;
	case PARAM_WORD:
		if (!read_word(param, text, &word))
			return false;
		(void)memcpy(field, &word, sizeof(word));
		return true;
	}
	abort();
}

/*
 * The word for a value.  A value without a word is a bug; then it is printed as
 * a number.
 */
static void print_word(char out[VALUE_BYTES], const struct param *param,
		       uint32_t value)
{
	if (value < param->word_count)
		(void)snprintf(out, VALUE_BYTES, "%s",
			       param->words[value].name);
	else
		(void)snprintf(out, VALUE_BYTES, "?%" PRIu32, value);
}

static void print_switch(char out[VALUE_BYTES], const struct param *param,
			 uint32_t value)
{
	if (value < 2 && param->is_inverted)
		value = 1 - value;
	print_word(out, param, value);
}

static void print_name(char out[VALUE_BYTES], uint32_t value)
{
	if (value < watermark_count)
		(void)snprintf(out, VALUE_BYTES, "%s", watermarks[value]);
	else
		(void)snprintf(out, VALUE_BYTES, "?%" PRIu32, value);
}

static void print_rect(char out[VALUE_BYTES], const struct img_rect *r)
{
	if (r->left_px > 0 || r->top_px > 0 || r->width_px > 0 ||
	    r->height_px > 0)
		(void)snprintf(out, VALUE_BYTES,
			       "%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32,
			       r->left_px, r->top_px, r->width_px,
			       r->height_px);
}

static void print_point(char out[VALUE_BYTES], const struct img_point *p)
{
	(void)snprintf(out, VALUE_BYTES, "%.10g,%.10g",
		       0.5 + (double)p->x / IMG_POINT_PARTS,
		       0.5 + (double)p->y / IMG_POINT_PARTS);
}

static void print_score(char out[VALUE_BYTES], double score)
{
	if (score > 0)
		(void)snprintf(out, VALUE_BYTES, PARAMS_SCORE_PREFIX "%.17g",
			       score);
	else
		(void)snprintf(out, VALUE_BYTES, "%s", none);
}

static void print_sides(char out[VALUE_BYTES], const struct img_sides *s)
{
	(void)snprintf(out, VALUE_BYTES,
		       "%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32,
		       s->top_px, s->right_px, s->bottom_px, s->left_px);
}

static void print_colour(char out[VALUE_BYTES], uint32_t colour)
{
	if (colour == IMG_TRANSPARENT)
		(void)snprintf(out, VALUE_BYTES, "%s", transparent);
	else
		(void)snprintf(out, VALUE_BYTES, "%06" PRIx32, colour);
}

/* Print a value in the form that read_value() reads; "" if it is not given. */
static void print_value(char out[VALUE_BYTES], const struct params *p,
			const struct param *param)
{
	const void *field = (const char *)p + param->offset;
	uint32_t value;

	out[0] = '\0';
	switch (param->kind) {
	case PARAM_SIDE:
	case PARAM_BYTES:
		if (*(const uint32_t *)field > 0)
			(void)snprintf(out, VALUE_BYTES, "%" PRIu32,
				       *(const uint32_t *)field);
		return;
	case PARAM_QUALITY:
		(void)snprintf(out, VALUE_BYTES, "%d", *(const int *)field);
		return;
	case PARAM_RECT:
		print_rect(out, field);
		return;
	case PARAM_POINT:
		print_point(out, field);
		return;
	case PARAM_SIGMA:
	case PARAM_FACTOR:
		/* 17 digits: different doubles have different texts. */
		(void)snprintf(out, VALUE_BYTES, "%.17g",
			       *(const double *)field);
		return;
	case PARAM_SCORE:
		print_score(out, *(const double *)field);
		return;
	case PARAM_SIDES:
		print_sides(out, field);
		return;
	case PARAM_COLOUR:
		print_colour(out, *(const uint32_t *)field);
		return;
	case PARAM_NAME:
		print_name(out, *(const uint32_t *)field);
		return;
	case PARAM_SWITCH:
		print_switch(out, param, *(const unsigned char *)field);
		return;
	case PARAM_WORD:
		(void)memcpy(&value, field, sizeof(value));
		print_word(out, param, value);
		return;
	}
	abort();
}

static void set_default(struct params *p, const struct param *param)
{
	bool ok = param->default_text == NULL ||
		  read_value(p, param, param->default_text);

	assert(ok);
	(void)ok;
}

/*
 * Print a value for params_print(); "" if it is left out.  A parameter that
 * came later is left out if it has its default: the request is then the same as
 * one to a server that does not know the parameter.
 */
static void print_counted(char out[VALUE_BYTES], const struct params *p,
			  const struct param *param)
{
	struct params defaults = { .seen = 0 };
	char default_value[VALUE_BYTES];

	print_value(out, p, param);
	if (param->since == 1)
		return;
	set_default(&defaults, param);
	print_value(default_value, &defaults, param);
	if (strcmp(out, default_value) == 0)
		out[0] = '\0';
}

uint32_t params_print(char out[PARAMS_TEXT_BYTES], const struct params *p,
		      bool is_of_upload, char end)
{
	char value[VALUE_BYTES];
	uint32_t version = 1;
	int at = 0;

	out[0] = '\0';
	for (uint32_t i = 0; i < params_count; i++) {
		const struct param *param = &params_table[i];

		if (param->is_of_upload != is_of_upload)
			continue;
		print_counted(value, p, param);
		if (value[0] == '\0')
			continue;
		at += snprintf(out + at, PARAMS_TEXT_BYTES - (size_t)at,
			       "%s=%s%c", param->name, value, end);
		assert(at < PARAMS_TEXT_BYTES);
		if (param->since > version)
			version = param->since;
	}
	return version;
}

/* Read once, because each request begins with them. */
static struct params defaults;

static void read_defaults(void)
{
	for (uint32_t i = 0; i < params_count; i++)
		set_default(&defaults, &params_table[i]);
}

void params_init(struct params *p)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, read_defaults);
	*p = defaults;
}

void params_init_variant(struct params *p, const struct params *all,
			 const char *name)
{
	*p = *all;
	p->variant = name;
	p->seen = 0;
}

const char *params_show(char *out, size_t room, const char *in)
{
	size_t n = 0;

	for (; n + 1 < room && in[n] != '\0'; n++)
		out[n] = in[n] < ' ' || in[n] > '~' ? '?' : in[n];
	out[n] = '\0';
	return out;
}

const char *params_shown(char out[PARAMS_SHOWN_BYTES], const char *in)
{
	return params_show(out, PARAMS_SHOWN_BYTES, in);
}

/* Write a sentence about `p` to `detail`.  Returns false. */
__attribute__((format(printf, 3, 4))) static bool
refuse_value(const struct params *p, char detail[PARAMS_DETAIL_BYTES],
	     const char *format, ...)
{
	int at = 0;
	va_list args;

	if (p->variant != NULL)
		at = snprintf(detail, PARAMS_DETAIL_BYTES,
			      "variant %.*s: ", VARIANT_NAME_BYTES - 1,
			      p->variant);
	va_start(args, format);
	(void)vsnprintf(detail + at, PARAMS_DETAIL_BYTES - (size_t)at, format,
			args);
	va_end(args);
	return false;
}

enum { NAME_BYTES_MAX = 16 };

/*
 * Call similar_try() for each of `names`, which are separated by spaces; NULL:
 * there are none.
 */
static void suggest_names(struct similar *s, const char *names,
			  const char *meant)
{
	char name[NAME_BYTES_MAX + 1];

	while (names != NULL && names[0] != '\0') {
		size_t bytes = strcspn(names, " ");

		assert(bytes <= NAME_BYTES_MAX);
		(void)snprintf(name, sizeof(name), "%.*s", (int)bytes, names);
		similar_try(s, name, meant);
		names += bytes + (names[bytes] == ' ');
	}
}

/* The parameter that was probably meant; NULL: no idea. */
static const char *suggest(const char *key, bool is_in_variant)
{
	struct similar s = similar_begin(key);

	for (uint32_t i = 0; i < params_count; i++)
		similar_try(&s, params_table[i].name, params_table[i].name);
	for (uint32_t i = 0; i < params_count; i++)
		suggest_names(&s, params_table[i].other_names,
			      params_table[i].name);
	if (!is_in_variant)
		suggest_names(&s, variant_names, "variant");
	return s.meant;
}

static bool refuse_unknown(const struct params *p, const char *key,
			   char detail[PARAMS_DETAIL_BYTES])
{
	char text[PARAMS_SHOWN_BYTES];
	const char *meant = suggest(key, p->variant != NULL);

	if (meant == NULL)
		return refuse_value(p, detail, "There is no parameter '%s'.",
				    params_shown(text, key));
	return refuse_value(p, detail,
			    "There is no parameter '%s'; did you mean '%s'?",
			    params_shown(text, key), meant);
}

/* params_count: there is none. */
static uint32_t find_param(const char *key)
{
	uint32_t i = 0;

	while (i < params_count && strcmp(params_table[i].name, key) != 0)
		i++;
	return i;
}

bool params_has(const char *key)
{
	return find_param(key) < params_count;
}

/*
 * Read a value of a parameter that may be "auto".  Any other value undoes what
 * "auto" stands for.
 */
static bool read_or_auto(struct params *p, const struct param *param,
			 const char *text)
{
	char name[NAME_BYTES_MAX + 1];
	size_t bytes = strcspn(param->auto_text, "=");
	const char *meant = param->auto_text + bytes + 1;
	bool is_auto = strcmp(text, automatic) == 0;
	uint32_t other;

	(void)snprintf(name, sizeof(name), "%.*s", (int)bytes,
		       param->auto_text);
	other = find_param(name);
	if (!is_auto) {
		meant = params_table[other].default_text;
		if (!read_value(p, param, text))
			return false;
	}
	return (p->seen >> other & 1) != 0 ||
	       read_value(p, &params_table[other], meant);
}

static bool read_given(struct params *p, const struct param *param,
		       const char *text)
{
	if (text == NULL)
		return false;
	return param->auto_text != NULL ? read_or_auto(p, param, text) :
					  read_value(p, param, text);
}

bool params_set(struct params *p, const char *key, const char *value,
		char detail[PARAMS_DETAIL_BYTES])
{
	char text[PARAMS_SHOWN_BYTES], range[RANGE_BYTES];
	uint32_t i = find_param(key);

	if (i == params_count)
		return refuse_unknown(p, key, detail);
	if (p->variant != NULL && params_table[i].is_of_upload)
		return refuse_value(p, detail,
				    "%s is asked of the whole upload, not of a "
				    "variant.",
				    key);
	if ((p->seen >> i & 1) != 0)
		return refuse_value(p, detail, "%s is given twice.", key);
	if (!read_given(p, &params_table[i], value))
		return refuse_value(
			p, detail, "%s must be %s, not '%s'.", key,
			print_range(range, &params_table[i]),
			params_shown(text, value != NULL ? value : ""));
	p->seen |= UINT64_C(1) << i;
	return true;
}

bool params_check(const struct params *p, char detail[PARAMS_DETAIL_BYTES])
{
	const struct img_transform *t = &p->transform;

	if (t->blur_sigma_px > 0 && t->sharpen_sigma_px > 0)
		return refuse_value(p, detail,
				    "blur and sharpen exclude each other.");
	return true;
}

/* Print `text` after `before`, on the next line if it does not fit. */
static void print_help_piece(FILE *to, int *column, const char *before,
			     const char *text)
{
	int bytes = (int)(strlen(before) + strlen(text));

	if (*column + bytes + 1 > HELP_COLUMNS) {
		(void)fprintf(to, "%s\n%*s%s", before[0] != '\0' ? ";" : "",
			      HELP_INDENT, "", text);
		*column = HELP_INDENT + (int)strlen(text);
		return;
	}
	(void)fprintf(to, "%s%s", before, text);
	*column += bytes;
}

static void print_help(FILE *to, const struct param *param)
{
	char text[RANGE_BYTES];
	int column = HELP_INDENT;

	(void)fprintf(to, "  %-11s %s\n%*s", param->name,
		      param->kind == PARAM_NAME ? "NAME or none" :
						  print_range(text, param),
		      HELP_INDENT, "");
	print_help_piece(to, &column, "", param->help);
	for (uint32_t i = 0; i < param->word_count; i++) {
		if (param->words[i].meaning == NULL)
			continue;
		(void)snprintf(text, sizeof(text), "%s: %s",
			       param->words[i].name, param->words[i].meaning);
		print_help_piece(to, &column, "; ", text);
	}
	(void)snprintf(text, sizeof(text), "default%s %s",
		       param->default_text != NULL ? "" : ":",
		       param->default_text != NULL ? param->default_text :
						     param->if_absent);
	print_help_piece(to, &column, "; ", text);
	(void)fputs("\n", to);
}

void params_print_help(FILE *to)
{
	for (uint32_t i = 0; i < params_count; i++)
		print_help(to, &params_table[i]);
}
