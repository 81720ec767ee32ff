/* SPDX-License-Identifier: MIT */
/*
 * Promises: PQ and HLG look as ITU-R BT.2100 and BT.2408, annex 5, say, within
 * a mean delta-E of 0.5; grey stays grey, and brighter is never darker; only a
 * valid tag says that a profile is HDR; a profile that is kept is as it was,
 * and noted.
 */
#include "base/test/check.h"
#include "imgops/colour/matrix.h"
#include "imgops/image.h"
#include "imgops/test/profiles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BT2020 = 9, P3 = 12 };

/* --- The reference: formulas of the reports, in double precision --- */

static double pq_of(double nits)
{
	double y = pow(nits / 10000, 0.1593017578125);

	return pow((0.8359375 + 18.8515625 * y) / (1 + 18.6875 * y), 78.84375);
}

static double nits_of(double pq)
{
	double e = pow(pq, 1 / 78.84375);

	return 10000 * pow(fmax(e - 0.8359375, 0) / (18.8515625 - 18.6875 * e),
			   1 / 0.1593017578125);
}

/* Annex 5 of BT.2408, with black at 0: from 1,000 cd/m2 to 203. */
static double eetf(double nits)
{
	double e1 = fmin(1, pq_of(nits) / pq_of(1000));
	double max = pq_of(203) / pq_of(1000), ks = 1.5 * max - 0.5, t, e2 = e1;

	if (e1 >= ks) {
		t = (e1 - ks) / (1 - ks);
		e2 = (2 * pow(t, 3) - 3 * pow(t, 2) + 1) * ks +
		     (pow(t, 3) - 2 * pow(t, 2) + t) * (1 - ks) +
		     (-2 * pow(t, 3) + 3 * pow(t, 2)) * max;
	}
	return nits_of(e2 * pq_of(1000));
}

/* Light of the screen, in cd/m2. */
static void shown(double nits[3], const uint8_t rgb[3], enum hdr_curve curve)
{
	double scene[3], luminance;

	for (int c = 0; c < 3; c++) {
		double e = rgb[c] / 255.0;

		nits[c] = nits_of(e);
		scene[c] = e <= 0.5 ? e * e / 3 :
				      (exp((e - 0.55991073) / 0.17883277) +
				       0.28466892) /
					      12;
	}
	if (curve == HDR_PQ)
		return;
	luminance = 0.2627 * scene[0] + 0.678 * scene[1] + 0.0593 * scene[2];
	for (int c = 0; c < 3; c++)
		nits[c] = luminance > 0 ?
				  1000 * pow(luminance, 0.2) * scene[c] :
				  0;
}

/* To the light of sRGB's primaries: BT.2087, and SMPTE EG 432-1. */
static const double to_709[][3][3] = {
	[0] = { { 1.6605, -0.5876, -0.0728 },
		{ -0.1246, 1.1329, -0.0083 },
		{ -0.0182, -0.1006, 1.1187 } },
	[1] = { { 1.2249, -0.2247, 0 },
		{ -0.0420, 1.0419, 0 },
		{ -0.0197, -0.0786, 1.0979 } },
};

static void reference(uint8_t srgb[3], const uint8_t rgb[3],
		      enum hdr_curve curve, uint32_t primaries)
{
	const double(*m)[3] = to_709[primaries == P3];
	double nits[3], most;

	shown(nits, rgb, curve);
	most = fmax(nits[0], fmax(nits[1], nits[2]));
	for (int c = 0; c < 3 && most > 0; c++)
		nits[c] *= eetf(most) / most;
	for (int c = 0; c < 3; c++) {
		double light = (m[c][0] * nits[0] + m[c][1] * nits[1] +
				m[c][2] * nits[2]) /
			       203;

		srgb[c] = (uint8_t)lround(255 *
					  srgb_encode(fmin(1, fmax(0, light))));
	}
}

/* --- Profiles --- */

/* A profile of lcms2 with a tag "cicp" of these bytes. */
static struct bytes tagged(const uint8_t *codes, cmsUInt32Number count)
{
	struct bytes plain = profile_rgb(&gamuts[DISPLAY_P3], 2.2, 0);
	cmsHPROFILE handle =
		cmsOpenProfileFromMem(plain.data, (cmsUInt32Number)plain.count);
	uint8_t data[12] = "cicp";
	bool ok;

	CHECK(handle != NULL);
	CHECK_NUMBER(count, <=, 4);
	memcpy(data + 8, codes, count);
	ok = cmsWriteRawTag(handle, (cmsTagSignature)0x63696370, data,
			    8 + count);
	CHECK(ok);
	free(plain.data);
	return profile_bytes(handle);
}

static struct matrix_profile *open(struct bytes profile)
{
	struct matrix_profile *s = malloc(sizeof(*s));
	struct matrix_tags tags;
	bool ok = matrix_read(&tags, profile.data, profile.count);

	CHECK(s != NULL);
	CHECK(ok);
	CHECK(!matrix_is_srgb(&tags));
	matrix_init(s, &tags);
	free(profile.data);
	return s;
}

/* --- Tests --- */

enum { STEPS = 18, COUNT = STEPS * STEPS * STEPS };

static void check_colours(uint32_t primaries, enum hdr_curve curve)
{
	static uint8_t planes[3][COUNT], results[3][COUNT];
	static uint8_t meant[3 * COUNT], found[3 * COUNT];
	static cmsCIELab meant_lab[COUNT], found_lab[COUNT];
	struct matrix_profile *s = open(profile_hdr(primaries, curve));
	uint8_t *const to[] = { results[0], results[1], results[2] };
	const uint8_t *const from[] = { planes[0], planes[1], planes[2] };
	double total = 0;

	for (int i = 0; i < COUNT; i++) {
		int levels[] = { i % STEPS, i / STEPS % STEPS,
				 i / STEPS / STEPS };
		uint8_t rgb[3];

		for (int c = 0; c < 3; c++)
			rgb[c] = planes[c][i] = (uint8_t)(levels[c] * 15);
		reference(meant + (size_t)3 * i, rgb, curve, primaries);
	}
	matrix_convert(s, to, from, COUNT);
	for (int i = 0; i < COUNT; i++)
		for (int c = 0; c < 3; c++)
			found[3 * i + c] = results[c][i];
	srgb_to_lab(meant_lab, meant, COUNT);
	srgb_to_lab(found_lab, found, COUNT);
	for (int i = 0; i < COUNT; i++) {
		double off =
			cmsCIE2000DeltaE(&meant_lab[i], &found_lab[i], 1, 1, 1);

		CHECK_NUMBER(off, <, 3);
		total += off;
	}
	CHECK_NUMBER(total / COUNT, <, 0.5);
	free(s);
}

static void test_colours_are_those_of_the_reports(void)
{
	check_colours(BT2020, HDR_PQ);
	check_colours(BT2020, HDR_HLG);
	check_colours(P3, HDR_PQ);
	check_colours(P3, HDR_HLG);
}

static void check_greys(enum hdr_curve curve)
{
	struct matrix_profile *s = open(profile_hdr(BT2020, curve));
	uint8_t levels[256], out[3][256];
	uint8_t *const to[] = { out[0], out[1], out[2] };
	const uint8_t *const from[] = { levels, levels, levels };

	for (int i = 0; i < 256; i++)
		levels[i] = (uint8_t)i;
	matrix_convert(s, to, from, 256);
	CHECK_NUMBER(out[0][0], ==, 0);
	CHECK_NUMBER(out[0][255], ==, 255);
	for (int i = 0; i < 256; i++) {
		CHECK_NUMBER(abs(out[0][i] - out[1][i]), <=, 1);
		CHECK_NUMBER(abs(out[0][i] - out[2][i]), <=, 1);
		CHECK(i == 0 || out[0][i] >= out[0][i - 1]);
	}
	free(s);
}

static void test_grey_stays_grey_and_in_order(void)
{
	check_greys(HDR_PQ);
	check_greys(HDR_HLG);
}

static void test_only_a_valid_tag_says_hdr(void)
{
	static const struct {
		uint8_t codes[4];
		uint8_t bytes;
		enum hdr_curve hdr;
	} cases[] = {
		{ { BT2020, HDR_PQ, 0, 1 }, 4, HDR_PQ },
		{ { P3, HDR_HLG, 0, 1 }, 4, HDR_HLG },
		{ { P3, 13, 0, 1 }, 4, HDR_NONE },         /* sRGB's curve */
		{ { BT2020, HDR_PQ, 9, 1 }, 4, HDR_NONE }, /* Y'CbCr */
		{ { BT2020, HDR_PQ, 0, 0 }, 4, HDR_NONE }, /* narrow range */
		{ { 2, HDR_PQ, 0, 1 }, 4, HDR_NONE },      /* no primaries */
		{ { BT2020, HDR_PQ, 0, 1 }, 3, HDR_NONE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bytes profile = tagged(cases[i].codes, cases[i].bytes);
		struct matrix_tags tags;
		bool ok = matrix_read(&tags, profile.data, profile.count);

		CHECK(ok);
		CHECK_NUMBER(tags.hdr, ==, cases[i].hdr);
		free(profile.data);
	}
}

/* A grey picture with `profile`, scaled to its own size. */
static struct image scaled(struct bytes profile, bool keep, struct heap *h)
{
	static const struct img_size size = { 16, 16 };
	struct img_transform transform = { .keep_profile = keep };
	struct img_view view = whole_view(size);
	struct image src, dst = { 0 };
	enum img_err err;
	bool ok;

	image_shape(&src, size, IMG_YCBCR, true);
	ok = image_alloc(&src, &h->memory);
	CHECK(ok);
	for (int i = 0; i < 3; i++)
		memset(src.planes[i].samples, 128,
		       src.planes[i].stride_bytes * size.height_px);
	src.profile = h->memory.alloc(h->memory.arg, profile.count);
	CHECK(src.profile != NULL);
	memcpy(src.profile, profile.data, profile.count);
	src.profile_bytes = profile.count;
	err = img_scale(&dst, &src, &view, &transform, &h->memory);
	CHECK_NUMBER(err, ==, IMG_OK);
	img_release(&src);
	return dst;
}

static void test_kept_it_is_noted(void)
{
	struct bytes profile = profile_hdr(BT2020, HDR_PQ);
	const uint8_t grey[] = { 128, 128, 128 };
	uint8_t meant[3];
	struct heap h;

	heap_init(&h);
	struct image kept = scaled(profile, true, &h);
	struct image mapped = scaled(profile, false, &h);

	CHECK_NUMBER(kept.notes, ==, IMG_NOTE_HDR);
	CHECK_NUMBER(kept.profile_bytes, ==, profile.count);
	CHECK(memcmp(kept.profile, profile.data, profile.count) == 0);
	CHECK_NUMBER(kept.planes[0].samples[0], ==, 128);
	CHECK_NUMBER(mapped.notes, ==, 0);
	CHECK(mapped.profile == NULL);
	reference(meant, grey, HDR_PQ, BT2020);
	CHECK_NUMBER(abs(mapped.planes[0].samples[0] - meant[0]), <=, 1);
	img_release(&kept);
	img_release(&mapped);
	CHECK_NUMBER(h.live_count, ==, 0);
	free(profile.data);
}

int main(void)
{
	test_colours_are_those_of_the_reports();
	test_grey_stays_grey_and_in_order();
	test_only_a_valid_tag_says_hdr();
	test_kept_it_is_noted();
	return 0;
}
