/* SPDX-License-Identifier: MIT */
#include "loadgen/report/verify.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <turbojpeg.h>

#define SIDE_PX_MAX 65500.0 /* libjpeg's limit for a JPEG */

/* The smallest DCT scale; libjpeg-turbo still reads all data. */
static const tjscalingfactor eighth = { 1, 8 };

static const double megapixels_max = 100;

enum fit { FIT_INSIDE, FIT_COVER, FIT_FILL, FIT_PAD, FIT_COUNT };

static const char *const fit_names[FIT_COUNT] = {
	[FIT_INSIDE] = "inside",
	[FIT_COVER] = "cover",
	[FIT_FILL] = "fill",
	[FIT_PAD] = "pad",
};

/* The parameters of the query; a side that is not given is 0. */
struct wanted {
	double width_px;
	double height_px;
	enum fit fit;
	bool enlarge;
	bool as_stored; /* do not apply the EXIF orientation */
	bool is_aside;  /* rotate=90 or 270 */
	double dpr;     /* 0: 1 */
	/* The part that is used; without a side, all of it. */
	double left_px, top_px, part_width_px, part_height_px;
	/* Of `pad`: left and right together, and top and bottom. */
	double pad_across_px, pad_down_px;
};

/* The size that a reply must have. */
struct expected_size {
	double width_px; /* before rounding */
	double height_px;
};

/* A name or a value within the query. */
struct token {
	const char *text;
	size_t length;
};

static bool token_is(struct token part, const char *text)
{
	return part.length == strlen(text) &&
	       memcmp(part.text, text, part.length) == 0;
}

static bool read_side(struct token value, double *px)
{
	char *end;

	if (value.length == 0 || value.text[0] < '1' || value.text[0] > '9')
		return false;
	*px = (double)strtoul(value.text, &end, 10);
	return end == value.text + value.length;
}

static bool read_switch(struct token value, const char *on, bool *out)
{
	*out = token_is(value, on);
	return token_is(value, "0") || token_is(value, "1");
}

static bool read_fit(struct token value, enum fit *out)
{
	for (int i = 0; i < FIT_COUNT; i++)
		if (token_is(value, fit_names[i])) {
			*out = (enum fit)i;
			return true;
		}
	return false;
}

static bool read_rotation(struct token value, bool *is_aside)
{
	*is_aside = token_is(value, "90") || token_is(value, "270");
	return *is_aside || token_is(value, "0") || token_is(value, "180");
}

/* A number, and `after` it. */
static bool take_number(const char **at, char after, double *out)
{
	char *end;

	*out = strtod(*at, &end);
	if (end == *at || (after != '\0' && *end != after))
		return false;
	*at = end + (after != '\0');
	return true;
}

static bool read_crop(struct token value, struct wanted *w)
{
	const char *at = value.text;

	return take_number(&at, ',', &w->left_px) &&
	       take_number(&at, ',', &w->top_px) &&
	       take_number(&at, ',', &w->part_width_px) &&
	       take_number(&at, '\0', &w->part_height_px) &&
	       at == value.text + value.length;
}

static bool read_dpr(struct token value, struct wanted *w)
{
	const char *at = value.text;

	return take_number(&at, '\0', &w->dpr) &&
	       at == value.text + value.length;
}

/* 1, 2 or 4 numbers, as in CSS. */
static bool read_pad(struct token value, struct wanted *w)
{
	const char *at = value.text, *end = value.text + value.length;
	double sides[4];
	int count = 0;

	while (count < 4 && take_number(&at, '\0', &sides[count++]) &&
	       at < end && *at == ',')
		at++;
	if (count == 1)
		sides[1] = sides[0];
	if (count < 3) {
		sides[2] = sides[0];
		sides[3] = sides[1];
	}
	w->pad_across_px = sides[1] + sides[3];
	w->pad_down_px = sides[0] + sides[2];
	return at == end && count != 3;
}

/* False: a value breaks the rules, or a variant has a size of its own. */
static bool read_parameter(struct token name, struct token value,
			   struct wanted *wanted)
{
	if (token_is(name, "w"))
		return read_side(value, &wanted->width_px);
	if (token_is(name, "h"))
		return read_side(value, &wanted->height_px);
	if (token_is(name, "fit"))
		return read_fit(value, &wanted->fit);
	if (token_is(name, "enlarge"))
		return read_switch(value, "1", &wanted->enlarge);
	if (token_is(name, "orient"))
		return read_switch(value, "0", &wanted->as_stored);
	if (token_is(name, "rotate"))
		return read_rotation(value, &wanted->is_aside);
	if (token_is(name, "crop"))
		return read_crop(value, wanted);
	if (token_is(name, "dpr"))
		return read_dpr(value, wanted);
	if (token_is(name, "pad"))
		return read_pad(value, wanted);
	/* Nobody knows how much is removed. */
	if (token_is(name, "trim"))
		return token_is(value, "0");
	return !token_is(name, "variant");
}

static bool read_query(const char *target, struct wanted *wanted)
{
	const char *next = strchr(target, '?');

	while (next != NULL) {
		const char *text = next + 1;
		size_t length = strcspn(text, "&#");
		size_t name = strcspn(text, "=&#");
		bool has_value = name < length;
		struct token value = { text + name + has_value,
				       length - name - has_value };

		if (!read_parameter((struct token){ text, name }, value,
				    wanted))
			return false;
		next = text[length] == '&' ? text + length : NULL;
	}
	return true;
}

/*
 * The scale at which the whole picture fits into the wanted box.  A side that
 * is not given has no limit.
 */
static double scale_inside(const struct wanted *wanted, double width_px,
			   double height_px)
{
	double box_width =
		wanted->width_px > 0 ? wanted->width_px : SIDE_PX_MAX;
	double box_height =
		wanted->height_px > 0 ? wanted->height_px : SIDE_PX_MAX;
	double scale = fmin(box_width / width_px, box_height / height_px);
	bool is_bounded = wanted->width_px > 0 || wanted->height_px > 0;

	return wanted->enlarge && is_bounded ? scale : fmin(scale, 1);
}

static struct expected_size size_for(const struct wanted *wanted,
				     double width_px, double height_px)
{
	double x = wanted->enlarge ? 1 : fmin(1, width_px / wanted->width_px);
	double y = wanted->enlarge ? 1 : fmin(1, height_px / wanted->height_px);
	bool is_box = wanted->width_px > 0 && wanted->height_px > 0;
	double scale;

	if (is_box && wanted->fit == FIT_COVER)
		x = y = fmin(x, y);
	if (is_box && wanted->fit == FIT_PAD)
		x = y = 1;
	if (is_box && wanted->fit != FIT_INSIDE)
		return (struct expected_size){ wanted->width_px * x,
					       wanted->height_px * y };
	scale = scale_inside(wanted, width_px, height_px);
	return (struct expected_size){ width_px * scale, height_px * scale };
}

/* False: any size is right. */
static bool find_expected_size(struct expected_size *out, const char *target,
			       const struct picture_header *upload)
{
	struct wanted wanted = { 0 };
	double width_px = upload->width_px;
	double height_px = upload->height_px;

	if (!read_query(target, &wanted))
		return false;
	/* Does the orientation or `rotate`, but not both, turn the picture? */
	if ((upload->orientation >= 5 && !wanted.as_stored) !=
	    wanted.is_aside) {
		width_px = upload->height_px;
		height_px = upload->width_px;
	}
	if (wanted.part_width_px > 0) {
		width_px =
			fmin(wanted.part_width_px, width_px - wanted.left_px);
		height_px =
			fmin(wanted.part_height_px, height_px - wanted.top_px);
	}
	if (wanted.dpr > 0) {
		wanted.width_px *= wanted.dpr;
		wanted.height_px *= wanted.dpr;
		wanted.pad_across_px *= wanted.dpr;
		wanted.pad_down_px *= wanted.dpr;
	}
	*out = size_for(&wanted, width_px, height_px);
	out->width_px += wanted.pad_across_px;
	out->height_px += wanted.pad_down_px;
	return true;
}

static bool is_near(double expected_px, int px)
{
	double nearest_px = fmax(1, floor(expected_px + 0.5));

	return fabs(px - nearest_px) <= 1;
}

/* Width and height may each differ by one pixel. */
static bool is_as_expected(const struct expected_size *p, int width_px,
			   int height_px)
{
	return is_near(p->width_px, width_px) &&
	       is_near(p->height_px, height_px);
}

struct verify {
	enum verify_kind kind;
	tjhandle decoder;
	unsigned char *pixels;
	size_t capacity;
};

bool verify_find(const char *name, enum verify_kind *kind)
{
	if (strcmp(name, "decode") == 0)
		*kind = VERIFY_DECODE;
	else if (strcmp(name, "size") == 0)
		*kind = VERIFY_SIZE;
	else
		return false;
	return true;
}

struct verify *verify_new(enum verify_kind kind)
{
	struct verify *v = calloc(1, sizeof(*v));

	if (v == NULL)
		return NULL;
	v->kind = kind;
	v->decoder = tjInitDecompress();
	if (v->decoder == NULL) {
		free(v);
		return NULL;
	}
	return v;
}

void verify_free(struct verify *v)
{
	if (v == NULL)
		return;
	tjDestroy(v->decoder);
	free(v->pixels);
	free(v);
}

static bool reserve_pixels(struct verify *v, size_t bytes)
{
	unsigned char *pixels;

	if (bytes <= v->capacity)
		return true;
	pixels = realloc(v->pixels, bytes);
	if (pixels == NULL)
		return false;
	v->pixels = pixels;
	v->capacity = bytes;
	return true;
}

/* The header of a reply. */
struct header {
	int width_px;
	int height_px;
	int colours; /* of a JPEG */
	bool is_jpeg;
	uint64_t whole_bytes; /* of another format */
};

static bool read_header(struct verify *v, const void *bytes, size_t size,
			struct header *h, struct error *why)
{
	struct picture_header picture;
	int subsampling;

	if (picture_header_read(&picture, bytes, size) &&
	    strcmp(picture.media_type, "image/jpeg") != 0) {
		*h = (struct header){ .width_px = (int)picture.width_px,
				      .height_px = (int)picture.height_px,
				      .whole_bytes = picture.whole_bytes };
		return true;
	}
	h->is_jpeg = true;
	if (size == 0)
		error_set(why, "empty");
	else if (tjDecompressHeader3(v->decoder, bytes, size, &h->width_px,
				     &h->height_px, &subsampling,
				     &h->colours) != 0)
		error_set(why, "not a JPEG: %s", tjGetErrorStr2(v->decoder));
	else
		return true;
	return false;
}

/* A reply of a few KB may claim a size of 4 gigapixels. */
static bool check_size(const struct header *h,
		       const struct expected_size *expected, struct error *why)
{
	double megapixels = (double)h->width_px * h->height_px / 1e6;

	if (expected != NULL &&
	    !is_as_expected(expected, h->width_px, h->height_px))
		error_set(why, "%d x %d instead of %.0f x %.0f", h->width_px,
			  h->height_px, expected->width_px,
			  expected->height_px);
	else if (megapixels > megapixels_max)
		error_set(why, "%d x %d: more than %g megapixels", h->width_px,
			  h->height_px, megapixels_max);
	else
		return true;
	return false;
}

static bool decode_reply(struct verify *v, const void *bytes, size_t size,
			 const struct header *h, struct error *why)
{
	int format = h->colours == TJCS_CMYK || h->colours == TJCS_YCCK ?
			     TJPF_CMYK :
			     TJPF_RGB;
	int width = TJSCALED(h->width_px, eighth);
	int height = TJSCALED(h->height_px, eighth);

	if (!h->is_jpeg && h->whole_bytes == 0)
		return error_fail(why, "it ends too early");
	if (!h->is_jpeg)
		return h->whole_bytes == size ||
		       error_fail(why, "%zu bytes instead of %" PRIu64, size,
				  h->whole_bytes);
	if (!reserve_pixels(v, (size_t)width * (size_t)height *
				       (size_t)tjPixelSize[format])) {
		error_set(why, "%d x %d: out of memory", h->width_px,
			  h->height_px);
		return false;
	}
	if (tjDecompress2(v->decoder, bytes, size, v->pixels, width, 0, height,
			  format, 0) != 0) {
		error_set(why, "does not decode: %s",
			  tjGetErrorStr2(v->decoder));
		return false;
	}
	return true;
}

bool verify_reply(struct verify *v, const void *bytes, size_t size,
		  const char *target, const struct picture_header *upload,
		  struct error *why)
{
	struct expected_size expected;
	bool is_size_known = v->kind == VERIFY_SIZE && upload->width_px > 0 &&
			     find_expected_size(&expected, target, upload);
	struct header header;

	return read_header(v, bytes, size, &header, why) &&
	       check_size(&header, is_size_known ? &expected : NULL, why) &&
	       decode_reply(v, bytes, size, &header, why);
}

void reply_checks_add(struct reply_checks *c, const char *path, bool is_right,
		      const struct error *why)
{
	c->checked_count++;
	if (is_right)
		return;
	if (c->wrong_count++ == 0)
		error_set(&c->first_wrong, "%s: %s", path, why->text);
}
