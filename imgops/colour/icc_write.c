/* SPDX-License-Identifier: MIT */
/* Numbers of clauses are those of ICC.1:2010. */
#include "imgops/colour/icc_write.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
	HEAD_BYTES = 128,
	TAGS_MAX = 10,
	TAG_BYTES = 12,
	TEXT_BYTES = 36,
	XYZ_BYTES = 20,
	CURVE_BYTES = 32,
	CODES_BYTES = 12,
};

_Static_assert(HEAD_BYTES + 4 + TAGS_MAX * TAG_BYTES + 2 * TEXT_BYTES +
			       4 * XYZ_BYTES + CURVE_BYTES + CODES_BYTES ==
		       ICC_WRITTEN_BYTES_MAX,
	       "all parts");

/* Numbers of a profile are below this. */
#define FIXED_MAX 32767.0

/* Light whose x, y or sum is smaller is no colour. */
#define LEAST 1e-5

static const double d50[3] = { 0.9642, 1, 0.8249 };

const struct icc_colours icc_srgb = {
	.white = { 0.3127, 0.3290 },
	.red = { 0.64, 0.33 },
	.green = { 0.30, 0.60 },
	.blue = { 0.15, 0.06 },
	.exponent = 2.4,
	.scale = 1 / 1.055,
	.offset = 0.055 / 1.055,
	.slope = 1 / 12.92,
	.knee = 0.04045,
};

/* Adobe RGB (1998) Color Image Encoding, 4.3: the gamma is 563/256. */
const struct icc_colours icc_adobe_rgb = {
	.white = { 0.3127, 0.3290 },
	.red = { 0.64, 0.33 },
	.green = { 0.21, 0.71 },
	.blue = { 0.15, 0.06 },
	.exponent = 563 / 256.0,
	.scale = 1,
};

/* --- Numbers of ITU-T H.273 --- */

enum { D65, C_LIGHT, DCI };
static const double code_whites[][2] = { { 0.3127, 0.3290 },
					 { 0.310, 0.316 },
					 { 0.314, 0.351 } };
static const struct {
	uint8_t code, white;
	double xy[3][2];
} code_primaries[] = {
	{ 1, D65, { { 0.64, 0.33 }, { 0.30, 0.60 }, { 0.15, 0.06 } } },
	{ 4, C_LIGHT, { { 0.67, 0.33 }, { 0.21, 0.71 }, { 0.14, 0.08 } } },
	{ 5, D65, { { 0.64, 0.33 }, { 0.29, 0.60 }, { 0.15, 0.06 } } },
	{ 6, D65, { { 0.63, 0.34 }, { 0.31, 0.595 }, { 0.155, 0.07 } } },
	{ 7, D65, { { 0.63, 0.34 }, { 0.31, 0.595 }, { 0.155, 0.07 } } },
	{ 9, D65, { { 0.708, 0.292 }, { 0.17, 0.797 }, { 0.131, 0.046 } } },
	{ 11, DCI, { { 0.68, 0.32 }, { 0.265, 0.69 }, { 0.15, 0.06 } } },
	{ 12, D65, { { 0.68, 0.32 }, { 0.265, 0.69 }, { 0.15, 0.06 } } },
};
static const struct {
	uint8_t code;
	double exponent, scale, offset, slope, knee;
} code_curves[] = {
	{ 1, 1 / 0.45, 1 / 1.099, 0.099 / 1.099, 1 / 4.5, 0.081 },
	{ 4, 2.2, 1, 0, 0, 0 },
	{ 5, 2.8, 1, 0, 0, 0 },
	{ 6, 1 / 0.45, 1 / 1.099, 0.099 / 1.099, 1 / 4.5, 0.081 },
	{ 8, 1, 1, 0, 0, 0 },
	{ 13, 2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045 },
	{ 14, 1 / 0.45, 1 / 1.099, 0.099 / 1.099, 1 / 4.5, 0.081 },
	{ 15, 1 / 0.45, 1 / 1.099, 0.099 / 1.099, 1 / 4.5, 0.081 },
	{ HDR_PQ, 2.2, 1, 0, 0, 0 },
	{ HDR_HLG, 2.2, 1, 0, 0, 0 },
};

static bool set_primaries(struct icc_colours *to, uint32_t code)
{
	size_t p = 0;

	while (p < ARRAY_SIZE(code_primaries) && code_primaries[p].code != code)
		p++;
	if (p == ARRAY_SIZE(code_primaries))
		return false;
	memcpy(to->white, code_whites[code_primaries[p].white],
	       sizeof(to->white));
	memcpy(to->red, code_primaries[p].xy[0], sizeof(to->red));
	memcpy(to->green, code_primaries[p].xy[1], sizeof(to->green));
	memcpy(to->blue, code_primaries[p].xy[2], sizeof(to->blue));
	return true;
}

bool icc_colours_of(struct icc_colours *to, uint32_t primaries, uint32_t curve)
{
	size_t t = 0;

	while (t < ARRAY_SIZE(code_curves) && code_curves[t].code != curve)
		t++;
	if (t == ARRAY_SIZE(code_curves) || !set_primaries(to, primaries))
		return false;
	to->hdr = HDR_NONE;
	if (curve == HDR_PQ || curve == HDR_HLG) {
		to->hdr = curve;
		to->hdr_primaries = (uint8_t)primaries;
	}
	to->exponent = code_curves[t].exponent;
	to->scale = code_curves[t].scale;
	to->offset = code_curves[t].offset;
	to->slope = code_curves[t].slope;
	to->knee = code_curves[t].knee;
	return true;
}

/* --- Colours --- */

typedef double matrix[3][3];

static void multiply(double out[3], const matrix m, const double v[3])
{
	for (int i = 0; i < 3; i++)
		out[i] = m[i][0] * v[0] + m[i][1] * v[1] + m[i][2] * v[2];
}

static bool invert(matrix out, const matrix m)
{
	double det = 0;

	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 3; k++) {
			int r = (k + 1) % 3, s = (k + 2) % 3;
			int p = (i + 1) % 3, q = (i + 2) % 3;

			out[i][k] = m[r][p] * m[s][q] - m[r][q] * m[s][p];
		}
	for (int i = 0; i < 3; i++)
		det += m[0][i] * out[i][0];
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 3; k++)
			out[i][k] /= det;
	return fabs(det) > LEAST;
}

/* The light of x and y, with Y = 1. */
static bool to_xyz(double xyz[3], const double xy[2])
{
	xyz[0] = xy[0] / xy[1];
	xyz[1] = 1;
	xyz[2] = (1 - xy[0] - xy[1]) / xy[1];
	return xy[1] > LEAST;
}

/* How the colours under `white` look under D50: by Bradford's matrix (E.2). */
static bool adapt(matrix out, const double white[3])
{
	static const matrix cones = {
		{ 0.8951, 0.2664, -0.1614 },
		{ -0.7502, 1.7135, 0.0367 },
		{ 0.0389, -0.0685, 1.0296 },
	};
	double from[3], to[3];
	matrix back;

	multiply(from, cones, white);
	multiply(to, cones, d50);
	if (!invert(back, cones))
		return false;
	for (int i = 0; i < 3; i++) {
		if (!(from[i] > LEAST))
			return false;
		for (int k = 0; k < 3; k++) {
			out[i][k] = 0;
			for (int j = 0; j < 3; j++)
				out[i][k] += back[i][j] * to[j] / from[j] *
					     cones[j][k];
		}
	}
	return true;
}

/* The light of each channel under D50; together they are white. */
static bool channels(double xyz[3][3], const struct icc_colours *c)
{
	const double *const xy[] = { c->red, c->green, c->blue };
	double white[3], shares[3], light[3][3];
	matrix m, inverse, to_d50;

	if (!to_xyz(white, c->white) || !adapt(to_d50, white))
		return false;
	for (int i = 0; i < 3; i++) {
		if (!to_xyz(light[i], xy[i]))
			return false;
		for (int k = 0; k < 3; k++)
			m[k][i] = light[i][k];
	}
	if (!invert(inverse, (const double(*)[3])m))
		return false;
	multiply(shares, (const double(*)[3])inverse, white);
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 3; k++)
			light[i][k] *= shares[i];
		multiply(xyz[i], (const double(*)[3])to_d50, light[i]);
	}
	return true;
}

bool icc_code_light(double xyz[3][3], uint32_t primaries)
{
	struct icc_colours c;

	return set_primaries(&c, primaries) && channels(xyz, &c);
}

/* --- Bytes --- */

static uint8_t *put32(uint8_t *at, uint32_t v)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		*at++ = (uint8_t)(v >> shift);
	return at;
}

static uint8_t *put_name(uint8_t *at, const char *four)
{
	memcpy(at, four, 4);
	return at + 4;
}

/* s15Fixed16Number (4.6) */
static uint8_t *put_fixed(uint8_t *at, double v)
{
	return put32(at, (uint32_t)(int32_t)lround(v * 65536));
}

static uint8_t *put_xyz(uint8_t *at, const double xyz[3])
{
	at = put32(put_name(at, "XYZ "), 0);
	for (int i = 0; i < 3; i++)
		at = put_fixed(at, xyz[i]);
	return at;
}

/* multiLocalizedUnicodeType (10.13) of three letters in English. */
static uint8_t *put_text(uint8_t *at, const char *three)
{
	at = put32(put32(put32(put_name(at, "mluc"), 0), 1), 12);
	at = put32(put32(put_name(at, "enUS"), 6), 28);
	for (int i = 0; i < 4; i++) {
		*at++ = 0;
		*at++ = (uint8_t)(i < 3 ? three[i] : 0);
	}
	return at;
}

/* parametricCurveType (10.16), function 3 */
static uint8_t *put_curve(uint8_t *at, const struct icc_colours *c)
{
	at = put32(put32(put_name(at, "para"), 0), 3u << 16);
	at = put_fixed(put_fixed(at, c->exponent), c->scale);
	at = put_fixed(put_fixed(at, c->offset), c->slope);
	return put_fixed(at, c->knee);
}

/* cicpType (ICC.1:2022, 10.3): RGB, full range */
static uint8_t *put_codes(uint8_t *at, const struct icc_colours *c)
{
	at = put32(put_name(at, "cicp"), 0);
	return put32(at, (uint32_t)c->hdr_primaries << 24 |
				 (uint32_t)c->hdr << 16 | 1);
}

/* 7.2 */
static uint8_t *put_head(uint8_t *out, uint32_t bytes)
{
	uint8_t *at = out;

	memset(out, 0, HEAD_BYTES);
	at = put32(put32(put32(at, bytes), 0), 0x04400000);
	at = put_name(put_name(put_name(at, "mntr"), "RGB "), "XYZ ");
	at = put32(put32(put32(at, 2020u << 16 | 1), 1u << 16), 0);
	(void)put_name(at, "acsp");
	at = out + 68;
	for (int i = 0; i < 3; i++)
		at = put_fixed(at, d50[i]);
	return out + HEAD_BYTES;
}

size_t icc_write(uint8_t out[ICC_WRITTEN_BYTES_MAX],
		 const struct icc_colours *c)
{
	static const struct {
		const char *name;
		uint32_t bytes;
	} tags[TAGS_MAX] = {
		{ "desc", TEXT_BYTES },  { "cprt", TEXT_BYTES },
		{ "wtpt", XYZ_BYTES },   { "rXYZ", XYZ_BYTES },
		{ "gXYZ", XYZ_BYTES },   { "bXYZ", XYZ_BYTES },
		{ "rTRC", CURVE_BYTES }, { "gTRC", CURVE_BYTES },
		{ "bTRC", CURVE_BYTES }, { "cicp", CODES_BYTES },
	};
	bool is_hdr = c->hdr != HDR_NONE;
	uint32_t count = is_hdr ? TAGS_MAX : TAGS_MAX - 1;
	uint32_t bytes = is_hdr ? ICC_WRITTEN_BYTES_MAX : ICC_WRITTEN_BYTES;
	uint32_t offset = HEAD_BYTES + 4 + count * TAG_BYTES;
	double xyz[3][3];
	uint8_t *at;

	if (!channels(xyz, c))
		return 0;
	for (int i = 0; i < 9; i++)
		if (!(fabs(xyz[i / 3][i % 3]) < FIXED_MAX))
			return 0;
	if (!(c->exponent > 0 && c->exponent < FIXED_MAX))
		return 0;
	at = put32(put_head(out, bytes), count);
	for (uint32_t i = 0; i < count; i++) {
		at = put32(put_name(at, tags[i].name), offset);
		at = put32(at, tags[i].bytes);
		/* All channels have one curve, which is behind bTRC. */
		if (tags[i].bytes != CURVE_BYTES || tags[i].name[0] == 'b')
			offset += tags[i].bytes;
	}
	at = put_text(put_text(at, "RGB"), "CC0");
	at = put_xyz(at, d50);
	for (int i = 0; i < 3; i++)
		at = put_xyz(at, xyz[i]);
	at = put_curve(at, c);
	if (is_hdr)
		at = put_codes(at, c);
	assert(at == out + bytes);
	return bytes;
}
