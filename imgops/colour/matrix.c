/* SPDX-License-Identifier: MIT */
#include "imgops/colour/matrix.h"

#include "imgops/colour/icc_write.h"

#include <math.h>
#include <string.h>

enum {
	/* The profile's header (7.2) and its table of tags (7.3). */
	HEAD_BYTES = 128,
	VERSION_MAX = 5,
	TAGS_MAX = 100, /* lcms2 reads no more */
	TAG_BYTES = 12,
	/* What a tag's data begin with: its type, and four zero bytes. */
	TYPE_BYTES = 8,
	XYZ_BYTES = TYPE_BYTES + 3 * 4,
	CICP_BYTES = TYPE_BYTES + 4,
	/* A curve of `curveType` with a table of more is left to lcms2. */
	CURVE_ENTRIES_MAX = 4096,
	PARAMETERS_MAX = 7,
	TRIAL_STEP = 51,
	TRIALS = 255 / TRIAL_STEP + 1,
	/*
	 * Profiles called sRGB differ from sRGB by up to 1.4 levels, because
	 * they are rounded.  Of profiles that mean something else, the nearest
	 * differs by 8 levels.
	 */
	SRGB_LEVELS_MAX = 2,
};

#define CODE(a, b, c, d)                                                       \
	((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 |      \
	 (uint32_t)(d))

/* lcms2 may change a black that is not 0. */
#define BLACK_MAX 1e-4

typedef int32_t index_vector __attribute__((vector_size(16)));

static uint32_t read16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t read32(const uint8_t *p)
{
	return read16(p) << 16 | read16(p + 2);
}

/* s15Fixed16Number */
static double read_fixed(const uint8_t *p)
{
	return (int32_t)read32(p) / 65536.0;
}

double srgb_encode(double light)
{
	if (light <= 0.0031308)
		return 12.92 * fmax(0, light);
	return 1.055 * pow(fmin(1, light), 1 / 2.4) - 0.055;
}

double srgb_decode(double level)
{
	if (level <= 0.04045)
		return level / 12.92;
	return pow((level + 0.055) / 1.055, 2.4);
}

/* --- Reading --- */

/* A profile's bytes, with a valid header. */
struct tag_table {
	const uint8_t *profile;
	size_t bytes; /* by its header */
	uint32_t count;
};

static bool is_rgb_device(const uint8_t *head)
{
	uint32_t device_class = read32(head + 12);

	return (device_class == CODE('s', 'c', 'n', 'r') ||
		device_class == CODE('m', 'n', 't', 'r') ||
		device_class == CODE('p', 'r', 't', 'r') ||
		device_class == CODE('s', 'p', 'a', 'c')) &&
	       read32(head + 16) == CODE('R', 'G', 'B', ' ') &&
	       read32(head + 20) == CODE('X', 'Y', 'Z', ' ');
}

static bool open_tags(struct tag_table *t, const uint8_t *profile, size_t bytes)
{
	if (bytes < HEAD_BYTES + 4 || read32(profile) > bytes ||
	    read32(profile + 36) != CODE('a', 'c', 's', 'p') ||
	    profile[8] > VERSION_MAX || !is_rgb_device(profile))
		return false;
	*t = (struct tag_table){ profile, read32(profile),
				 read32(profile + HEAD_BYTES) };
	return t->count <= TAGS_MAX &&
	       t->bytes >= HEAD_BYTES + 4 + (size_t)t->count * TAG_BYTES;
}

/* NULL: there is no such tag, or it lies outside of the profile. */
static const uint8_t *find_tag(const struct tag_table *t, uint32_t name,
			       size_t *bytes)
{
	const uint8_t *entry = t->profile + HEAD_BYTES + 4;

	for (uint32_t i = 0; i < t->count; i++, entry += TAG_BYTES) {
		size_t offset = read32(entry + 4);

		*bytes = read32(entry + 8);
		if (read32(entry) == name)
			return offset <= t->bytes &&
					       *bytes <= t->bytes - offset ?
				       t->profile + offset :
				       NULL;
	}
	return NULL;
}

static bool has_tag(const struct tag_table *t, uint32_t name)
{
	size_t bytes;

	return find_tag(t, name, &bytes) != NULL;
}

static bool read_colour(double xyz[3], const struct tag_table *t, uint32_t name)
{
	size_t bytes;
	const uint8_t *data = find_tag(t, name, &bytes);

	if (data == NULL || bytes < XYZ_BYTES ||
	    read32(data) != CODE('X', 'Y', 'Z', ' '))
		return false;
	for (size_t i = 0; i < 3; i++)
		xyz[i] = read_fixed(data + TYPE_BYTES + 4 * i);
	return true;
}

/*
 * PQ or HLG: four bytes of "cicp" give primaries, curve, the matrix, which is
 * none, and the range, which is full.
 */
static bool read_hdr(struct matrix_tags *tags, const struct tag_table *t)
{
	size_t bytes;
	const uint8_t *data = find_tag(t, CODE('c', 'i', 'c', 'p'), &bytes);
	const uint8_t *codes;

	tags->hdr = HDR_NONE;
	if (data == NULL || bytes < CICP_BYTES ||
	    read32(data) != CODE('c', 'i', 'c', 'p'))
		return false;
	codes = data + TYPE_BYTES;
	if ((codes[1] != HDR_PQ && codes[1] != HDR_HLG) || codes[2] != 0 ||
	    codes[3] != 1)
		return false;
	tags->hdr = codes[1];
	return icc_code_light(tags->xyz, codes[0]);
}

/* The number of parameters of each function of parametricCurveType (10.18). */
static const uint8_t parameter_counts[] = { 1, 3, 4, 5, PARAMETERS_MAX };

static bool is_curve(const struct matrix_curve *c)
{
	const uint8_t *data = c->data;

	if (data == NULL || c->bytes < TYPE_BYTES + 4)
		return false;
	if (read32(data) == CODE('c', 'u', 'r', 'v')) {
		uint32_t count = read32(data + TYPE_BYTES);

		return count <= CURVE_ENTRIES_MAX &&
		       c->bytes - TYPE_BYTES - 4 >= 2 * (size_t)count;
	}
	if (read32(data) == CODE('p', 'a', 'r', 'a')) {
		uint32_t function = read16(data + TYPE_BYTES);

		return function < ARRAY_SIZE(parameter_counts) &&
		       c->bytes - TYPE_BYTES - 4 >=
			       4 * (size_t)parameter_counts[function];
	}
	return false;
}

/* curveType (10.6) */
static double table_light(const uint8_t *data, double level)
{
	uint32_t count = read32(data + TYPE_BYTES), below;
	const uint8_t *values = data + TYPE_BYTES + 4;
	double at, from, to;

	if (count == 0)
		return level;
	if (count == 1)
		return pow(level, read16(values) / 256.0);
	at = level * (count - 1);
	below = (uint32_t)at;
	if (below >= count - 1)
		return read16(values + 2 * (count - 1)) / 65535.0;
	from = read16(values + 2 * below);
	to = read16(values + 2 * below + 2);
	return (from + (at - below) * (to - from)) / 65535;
}

/*
 * parametricCurveType (10.18): Y = (aX + b)^g + e from some X on, and below
 * that Y = cX + f.
 */
static double function_light(const uint8_t *data, double level)
{
	/* The order in the file is that of g, a, b, c, d, e, f. */
	double p[PARAMETERS_MAX] = { 0 };
	double g, a, b, c, d, e, f;
	uint32_t function = read16(data + TYPE_BYTES);

	for (size_t i = 0; i < parameter_counts[function]; i++)
		p[i] = read_fixed(data + TYPE_BYTES + 4 + 4 * i);
	g = p[0], a = p[1], b = p[2], c = p[3], d = p[4], e = p[5], f = p[6];
	switch (function) {
	case 0:
		return pow(level, g);
	case 1:
	case 2:
		/* Here c is what is added, everywhere. */
		d = -b / a;
		e = f = function == 2 ? c : 0;
		c = 0;
		break;
	default:
		break;
	}
	if (level >= d)
		return pow(fmax(a * level + b, 0), g) + e;
	return c * level + f;
}

/* The light of a level, both 0 to 1 in a sensible profile. */
static double light_of(const struct matrix_curve *c, double level)
{
	return read32(c->data) == CODE('c', 'u', 'r', 'v') ?
		       table_light(c->data, level) :
		       function_light(c->data, level);
}

bool matrix_read(struct matrix_tags *tags, const uint8_t *profile, size_t bytes)
{
	static const char *const names = "rgb";
	struct tag_table t;

	if (!open_tags(&t, profile, bytes))
		return false;
	if (read_hdr(tags, &t))
		return true;
	tags->hdr = HDR_NONE;
	/* A table takes precedence over the matrix. */
	if (has_tag(&t, CODE('A', '2', 'B', '0')))
		return false;
	for (size_t c = 0; c < MATRIX_CHANNELS; c++) {
		struct matrix_curve *curve = &tags->curves[c];

		curve->data = find_tag(&t, CODE(names[c], 'T', 'R', 'C'),
				       &curve->bytes);
		if (!is_curve(curve) ||
		    !(fabs(light_of(curve, 0)) < BLACK_MAX) ||
		    !read_colour(tags->xyz[c], &t,
				 CODE(names[c], 'X', 'Y', 'Z')))
			return false;
	}
	return true;
}

/* --- Converting --- */

static void matrix_of(float matrix[MATRIX_CHANNELS][MATRIX_CHANNELS],
		      const struct matrix_tags *tags)
{
	/* IEC 61966-2-1, adapted to D50 by Bradford's matrix. */
	static const double from_xyz[MATRIX_CHANNELS][3] = {
		{ 3.1338561, -1.6168667, -0.4906146 },
		{ -0.9787684, 1.9161415, 0.0334540 },
		{ 0.0719453, -0.2289914, 1.4052427 },
	};

	for (int c = 0; c < MATRIX_CHANNELS; c++)
		for (int i = 0; i < MATRIX_CHANNELS; i++)
			matrix[i][c] =
				(float)(from_xyz[i][0] * tags->xyz[c][0] +
					from_xyz[i][1] * tags->xyz[c][1] +
					from_xyz[i][2] * tags->xyz[c][2]);
}

bool matrix_is_srgb(const struct matrix_tags *tags)
{
	float matrix[MATRIX_CHANNELS][MATRIX_CHANNELS];
	float light[MATRIX_CHANNELS][TRIALS];

	if (tags->hdr != HDR_NONE)
		return false;
	matrix_of(matrix, tags);
	for (int c = 0; c < MATRIX_CHANNELS; c++)
		for (int i = 0; i < TRIALS; i++)
			light[c][i] = (float)light_of(&tags->curves[c],
						      i * TRIAL_STEP / 255.0);
	for (int i = 0; i < TRIALS * TRIALS * TRIALS; i++) {
		int rgb[] = { i % TRIALS, i / TRIALS % TRIALS,
			      i / TRIALS / TRIALS };

		for (int c = 0; c < MATRIX_CHANNELS; c++) {
			const float *m = matrix[c];
			float sum = m[0] * light[0][rgb[0]] +
				    m[1] * light[1][rgb[1]] +
				    m[2] * light[2][rgb[2]];
			double error = 255 * srgb_encode((double)sum) -
				       rgb[c] * TRIAL_STEP;

			/* Written in this way, a NaN is not sRGB. */
			if (!(fabs(error) <= SRGB_LEVELS_MAX))
				return false;
		}
	}
	return true;
}

/*
 * Each amount of light gets the nearest level: level n ends at the light of n +
 * 0.5.
 */
static void fill_levels(uint8_t levels[LEVEL_ENTRIES])
{
	int next = 0;

	for (int level = 0; level < 256; level++) {
		double end = srgb_decode((level + 0.5) / 255);
		int first = next;

		next = level == 255 ? LEVEL_ENTRIES :
				      (int)ceil(end * (LEVEL_ENTRIES - 1));
		memset(levels + first, level, (size_t)(next - first));
	}
}

void matrix_init(struct matrix_profile *s, const struct matrix_tags *tags)
{
	const float top = LEVEL_ENTRIES - 1;
	float matrix[MATRIX_CHANNELS][MATRIX_CHANNELS];

	matrix_of(matrix, tags);
	s->hdr.curve = HDR_NONE;
	if (tags->hdr != HDR_NONE)
		hdr_init(&s->hdr, tags->hdr);
	for (int c = 0; c < MATRIX_CHANNELS; c++) {
		light_vector whole = { top * matrix[0][c], top * matrix[1][c],
				       top * matrix[2][c] };
		float rounding = c == 0 && tags->hdr == HDR_NONE ? 0.5f : 0;

		for (int level = 0; level < 256; level++) {
			float light = tags->hdr != HDR_NONE ?
					      s->hdr.light[level] :
					      (float)light_of(&tags->curves[c],
							      level / 255.0);

			s->parts[c][level] = light * whole + rounding;
		}
	}
	fill_levels(s->levels);
}

/*
 * Indices within matrix_profile.levels, computed so that a NaN becomes black.
 */
static inline index_vector indices_of(light_vector sum)
{
	const light_vector none = { 0 };
	const light_vector all = none + (LEVEL_ENTRIES - 1);
	index_vector is_light = sum > none, is_less = sum < all;
	index_vector bits = (index_vector)sum & is_light;

	bits = (bits & is_less) | ((index_vector)all & is_light & ~is_less);
	return __builtin_convertvector((light_vector)bits, index_vector);
}

static void convert_hdr(const struct matrix_profile *s, uint8_t *const srgb[3],
			const uint8_t *const rgb[3], size_t width)
{
	enum { CHUNK = 256 };
	float gains[CHUNK];

	for (size_t at = 0, n; at < width; at += n) {
		const uint8_t *const from[] = { rgb[0] + at, rgb[1] + at,
						rgb[2] + at };

		n = width - at < CHUNK ? width - at : CHUNK;
		hdr_gains(&s->hdr, gains, from, n);
		for (size_t x = 0; x < n; x++) {
			light_vector sum = s->parts[0][from[0][x]] +
					   s->parts[1][from[1][x]] +
					   s->parts[2][from[2][x]];
			index_vector indices =
				indices_of(gains[x] * sum + 0.5f);

			for (int c = 0; c < MATRIX_CHANNELS; c++)
				srgb[c][at + x] = s->levels[indices[c]];
		}
	}
}

void matrix_convert(const struct matrix_profile *s, uint8_t *const srgb[3],
		    const uint8_t *const rgb[3], size_t width)
{
	if (s->hdr.curve != HDR_NONE) {
		convert_hdr(s, srgb, rgb, width);
		return;
	}

	const uint8_t *restrict r = rgb[0], *restrict g = rgb[1],
				*restrict b = rgb[2];

	for (size_t x = 0; x < width; x++) {
		index_vector indices =
			indices_of(s->parts[0][r[x]] + s->parts[1][g[x]] +
				   s->parts[2][b[x]]);

		for (int c = 0; c < MATRIX_CHANNELS; c++)
			srgb[c][x] = s->levels[indices[c]];
	}
}
