/* SPDX-License-Identifier: MIT */
#include "service/http/params.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

enum { SIDE_PX_MAX = 16384, QUALITY_DEFAULT = 80 };
#define BLUR_SIGMA_MIN 0.3
#define BLUR_SIGMA_MAX 100.0

/* All of `text` as a number.  False: it is something else. */
static bool to_whole(const char *text, long *out)
{
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	*out = strtol(text, &end, 10);
	return errno == 0 && *end == '\0';
}

static bool to_number(const char *text, double *out)
{
	char *end;

	/* Plain decimals: no sign, space, "nan" or hexadecimals. */
	if (text[0] == '\0' || text[strspn(text, "0123456789.")] != '\0')
		return false;
	*out = strtod(text, &end);
	return end != text && *end == '\0' && isfinite(*out);
}

static bool set_side(uint32_t *side_px, const char *text)
{
	long n;

	if (!to_whole(text, &n) || n < 1 || n > SIDE_PX_MAX)
		return false;
	*side_px = (uint32_t)n;
	return true;
}

static bool set_w(struct params *p, const char *text)
{
	return set_side(&p->recipe.box.width_px, text);
}

static bool set_h(struct params *p, const char *text)
{
	return set_side(&p->recipe.box.height_px, text);
}

/* Which of `count` names `text` is; `count`: none. */
static uint32_t find(const char *const *names, uint32_t count, const char *text)
{
	uint32_t i = 0;

	while (i < count && strcmp(names[i], text) != 0)
		i++;
	return i;
}

static bool set_fit(struct params *p, const char *text)
{
	static const char *const names[] = {
		[IMG_FIT_INSIDE] = "inside",
		[IMG_FIT_COVER] = "cover",
		[IMG_FIT_FILL] = "fill",
	};
	uint32_t i = find(names, LENGTH(names), text);

	if (i == LENGTH(names))
		return false;
	p->recipe.fit = (enum img_fit)i;
	return true;
}

static bool set_gravity(struct params *p, const char *text)
{
	static const char *const names[] = {
		[IMG_CENTRE] = "centre",       [IMG_NORTH] = "north",
		[IMG_NORTHEAST] = "northeast", [IMG_EAST] = "east",
		[IMG_SOUTHEAST] = "southeast", [IMG_SOUTH] = "south",
		[IMG_SOUTHWEST] = "southwest", [IMG_WEST] = "west",
		[IMG_NORTHWEST] = "northwest",
	};
	uint32_t i = strcmp(text, "center") == 0 ?
			     IMG_CENTRE :
			     find(names, LENGTH(names), text);

	if (i == LENGTH(names))
		return false;
	p->recipe.gravity = (enum img_gravity)i;
	return true;
}

static bool set_blur(struct params *p, const char *text)
{
	double sigma;

	if (!to_number(text, &sigma) || sigma > BLUR_SIGMA_MAX ||
	    (sigma > 0 && sigma < BLUR_SIGMA_MIN))
		return false;
	p->recipe.blur_sigma_px = sigma;
	return true;
}

/* One of two words, for false and true. */
static bool set_either(bool *out, const char *no, const char *yes,
		       const char *text)
{
	bool is_yes = strcmp(text, yes) == 0;

	if (!is_yes && strcmp(text, no) != 0)
		return false;
	*out = is_yes;
	return true;
}

static bool set_enlarge(struct params *p, const char *text)
{
	return set_either(&p->recipe.enlarge, "0", "1", text);
}

static bool set_orient(struct params *p, const char *text)
{
	return set_either(&p->recipe.as_stored, "1", "0", text);
}

static bool set_icc(struct params *p, const char *text)
{
	return set_either(&p->recipe.keep_profile, "srgb", "keep", text);
}

static bool set_chroma(struct params *p, const char *text)
{
	return set_either(&p->recipe.full_chroma, "420", "444", text);
}

static bool set_progressive(struct params *p, const char *text)
{
	return set_either(&p->recipe.progressive, "0", "1", text);
}

static bool set_optimize(struct params *p, const char *text)
{
	return set_either(&p->recipe.optimize, "0", "1", text);
}

static bool set_q(struct params *p, const char *text)
{
	long n;

	if (!to_whole(text, &n) || n < 1 || n > 100)
		return false;
	p->recipe.quality = (int)n;
	return true;
}

static bool set_strict(struct params *p, const char *text)
{
	return set_either(&p->recipe.lenient, "1", "0", text);
}

static bool set_placeholder(struct params *p, const char *text)
{
	return set_either(&p->placeholder, "0", "1", text);
}

static const struct {
	const char *name;
	bool (*set)(struct params *p, const char *text);
	const char *range; /* follows "must be" */
	const char *help;
} table[] = {
	{ "w", set_w, "a whole number of pixels from 1 to 16384",
	  "width of the box for the result; default: no bound" },
	{ "h", set_h, "a whole number of pixels from 1 to 16384",
	  "height of the box for the result; default: no bound" },
	{ "fit", set_fit, "inside, cover or fill",
	  "inside (default): all of it; cover: cut to the box; fill: "
	  "stretched" },
	{ "gravity", set_gravity,
	  "centre, north, northeast, east, southeast, south, southwest, west "
	  "or northwest",
	  "which part fit=cover keeps; default centre" },
	{ "enlarge", set_enlarge, "0 or 1",
	  "1: also where that makes the picture larger; default 0" },
	{ "orient", set_orient, "0 or 1",
	  "1 (default): upright, as EXIF says; 0: as the file has it" },
	{ "blur", set_blur, "0 or a number of pixels from 0.3 to 100",
	  "standard deviation of the Gaussian; default 0: no blur" },
	{ "q", set_q, "a whole number from 1 to 100",
	  "JPEG quality of the result; default 80" },
	{ "icc", set_icc, "srgb or keep",
	  "srgb (default): convert colours; keep: send the file's profile" },
	{ "chroma", set_chroma, "420 or 444",
	  "444: colours in full resolution; default 420: half, both ways" },
	{ "progressive", set_progressive, "0 or 1",
	  "1: a progressive JPEG, smaller and slower; default 0" },
	{ "optimize", set_optimize, "0 or 1",
	  "1: Huffman tables made for the picture; default 0" },
	{ "strict", set_strict, "0 or 1",
	  "1 (default): refuse a damaged file; 0: take what it still gives" },
	{ "placeholder", set_placeholder, "0 or 1",
	  "1: also a BlurHash and the dominant colour; default 0" },
};

enum { TABLE_SIZE = LENGTH(table) };

void params_init(struct params *p)
{
	*p = (struct params){ .recipe.quality = QUALITY_DEFAULT };
}

/* Asked of the whole upload: no variant has its own. */
static bool is_of_upload(uint32_t i)
{
	return table[i].set == set_strict || table[i].set == set_placeholder;
}

void params_init_variant(struct params *p, const struct params *all,
			 const char *name)
{
	*p = *all;
	p->variant = name;
	p->seen = 0;
}

const char *params_shown(char out[PARAMS_SHOWN_BYTES], const char *in)
{
	size_t n = 0;

	for (; n + 1 < PARAMS_SHOWN_BYTES && in[n] != '\0'; n++)
		out[n] = in[n] < ' ' || in[n] > '~' ? '?' : in[n];
	out[n] = '\0';
	return out;
}

/* Write a sentence about `p` to `detail`.  Returns false. */
__attribute__((format(printf, 3, 4))) static bool
refuse(const struct params *p, char detail[PARAMS_DETAIL_BYTES],
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

bool params_set(struct params *p, const char *key, const char *value,
		char detail[PARAMS_DETAIL_BYTES])
{
	char text[PARAMS_SHOWN_BYTES];
	uint32_t i = 0;

	while (i < TABLE_SIZE && strcmp(table[i].name, key) != 0)
		i++;
	if (i == TABLE_SIZE)
		return refuse(p, detail, "There is no parameter '%s'.",
			      params_shown(text, key));
	if (p->variant != NULL && is_of_upload(i))
		return refuse(p, detail,
			      "%s is asked of the whole upload, not of a "
			      "variant.",
			      key);
	if (p->seen & (1u << i))
		return refuse(p, detail, "%s is given twice.", key);
	if (value == NULL || !table[i].set(p, value))
		return refuse(p, detail, "%s must be %s, not '%s'.", key,
			      table[i].range,
			      params_shown(text, value != NULL ? value : ""));
	p->seen |= 1u << i;
	return true;
}

void params_print_help(FILE *to)
{
	for (uint32_t i = 0; i < TABLE_SIZE; i++)
		(void)fprintf(to, "  %-11s %s\n              %s\n",
			      table[i].name, table[i].range, table[i].help);
}
