/* SPDX-License-Identifier: MIT */
/*
 * Promises: sRGB is recognised in every form; other profiles are converted as
 * lcms2 does slowly; a profile that does not fit the pixels is bad; damage
 * makes a profile bad and has no other effect; a profile takes no more memory
 * than icc_bytes_max(), whatever it claims; long chains in a profile take no
 * time.
 */
#include "base/test/check.h"
#include "imgops/colour/icc.h"
#include "imgops/test/meter.h"
#include "imgops/test/profiles.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	MANY = 1000000, /* pixels: enough for tables to pay off */
	PIXELS_MAX = 2000,
};

/* Convert interleaved pixels instead of planes. */
static void convert(const struct icc *icc, uint8_t *rgb, const uint8_t *device,
		    uint32_t count)
{
	static const uint8_t flip[4];
	static uint8_t planes[7][PIXELS_MAX];
	const uint8_t *in[] = { planes[3], planes[4], planes[5], planes[6] };
	uint8_t *out[] = { planes[0], planes[1], planes[2] };

	CHECK_NUMBER(count, <=, PIXELS_MAX);
	for (uint32_t i = 0; i < count * icc->channels; i++)
		planes[3 + i % icc->channels][i / icc->channels] = device[i];
	icc_convert(icc, out, in, flip, count);
	for (uint32_t i = 0; i < count * 3; i++)
		rgb[i] = out[i % 3][i / 3];
}

/*
 * The verdict alone.  The profile is copied, so that sanitizers see reads past
 * its end.
 */
static enum icc_verdict judge(struct bytes profile, size_t count,
			      enum img_space space, uint64_t pixels)
{
	uint8_t *copy = malloc(count > 0 ? count : 1);
	enum icc_verdict verdict;
	struct meter meter;
	struct icc icc;

	CHECK(copy != NULL);
	memcpy(copy, profile.data, count);
	meter_init(&meter);
	verdict = icc_open(&icc, copy, count, space, pixels, &meter.memory);
	free(copy);
	CHECK_NUMBER((verdict == ICC_OTHER), ==, (icc.channels != 0));
	if (verdict == ICC_OTHER) {
		/* The conversion must not need the profile's bytes any more. */
		convert(&icc, (uint8_t[3]){ 0 },
			(uint8_t[4]){ 10, 100, 200, 30 }, 1);
	}
	icc_close(&icc);
	CHECK_NUMBER(meter.live_bytes, ==, 0);
	CHECK_NUMBER(meter.peak_bytes, <=, icc_bytes_max(count));
	return verdict;
}

static enum icc_verdict judge_all(struct bytes profile, enum img_space space)
{
	return judge(profile, profile.count, space, MANY);
}

static void test_srgb_is_known_in_any_form(void)
{
	static const int steps[] = { 0, 26, 256, 1024, 4096 };

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		struct bytes profile =
			profile_rgb(&gamuts[SRGB], CURVE_SRGB, steps[i]);

		CHECK_NUMBER(judge_all(profile, IMG_YCBCR), ==, ICC_SRGB);
		CHECK_NUMBER(judge_all(profile, IMG_RGB), ==, ICC_SRGB);
		CHECK_NUMBER(judge_all(profile, IMG_GREY), ==, ICC_SRGB);
		free(profile.data);
	}
}

static void test_what_looks_different_is_not_srgb(void)
{
	struct bytes gamma = profile_rgb(&gamuts[SRGB], 2.2, 0);

	CHECK_NUMBER(judge_all(gamma, IMG_YCBCR), ==, ICC_OTHER);
	free(gamma.data);
	for (int i = DISPLAY_P3; i < GAMUT_COUNT; i++) {
		struct bytes profile = profile_rgb(&gamuts[i], CURVE_SRGB, 0);

		CHECK_NUMBER(judge_all(profile, IMG_YCBCR), ==, ICC_OTHER);
		free(profile.data);
	}
}

static void test_a_profile_must_fit_the_pixels(void)
{
	static const enum img_space spaces[] = { IMG_GREY, IMG_YCBCR, IMG_RGB,
						 IMG_CMYK, IMG_YCCK };
	struct bytes rgb = profile_rgb(&gamuts[ADOBE_RGB], 2.2, 0);
	struct bytes grey = profile_grey(2.2), cmyk = profile_cmyk();
	struct bytes lab = profile_bytes(cmsCreateLab4Profile(NULL));
	struct bytes link = profile_bytes(
		cmsCreateInkLimitingDeviceLink(cmsSigCmykData, 300));

	for (size_t i = 0; i < ARRAY_SIZE(spaces); i++) {
		bool is_inks = spaces[i] == IMG_CMYK || spaces[i] == IMG_YCCK;

		CHECK_NUMBER((judge_all(rgb, spaces[i]) == ICC_OTHER), ==,
			     !is_inks);
		CHECK_NUMBER((judge_all(cmyk, spaces[i]) == ICC_OTHER), ==,
			     is_inks);
		CHECK_NUMBER((judge_all(grey, spaces[i]) == ICC_OTHER), ==,
			     (spaces[i] == IMG_GREY));
		CHECK_NUMBER(judge_all(lab, spaces[i]), ==, ICC_BAD);
		CHECK_NUMBER(judge_all(link, spaces[i]), ==, ICC_BAD);
	}
	free(rgb.data);
	free(grey.data);
	free(cmyk.data);
	free(lab.data);
	free(link.data);
}

static void check_colours(struct bytes profile, enum img_space space,
			  cmsUInt32Number type, uint64_t pixels,
			  double error_max)
{
	enum { COUNT = PIXELS_MAX };
	static uint8_t device[4 * COUNT], rgb[3 * COUNT];
	static cmsCIELab meant[COUNT], found[COUNT];
	double total = 0;
	struct icc icc;
	struct heap h;
	enum icc_verdict verdict;

	heap_init(&h);
	verdict = icc_open(&icc, profile.data, profile.count, space, pixels,
			   &h.memory);
	CHECK_NUMBER(verdict, ==, ICC_OTHER);
	CHECK_NUMBER(icc.channels, ==, T_CHANNELS(type));
	for (uint32_t i = 0; i < sizeof(device); i++)
		device[i] = (uint8_t)scramble(i);
	convert(&icc, rgb, device, COUNT);
	icc_close(&icc);
	profile_to_lab(meant, profile, type, device, COUNT);
	srgb_to_lab(found, rgb, COUNT);
	for (int i = 0; i < COUNT; i++) {
		double error = cmsCIE2000DeltaE(&meant[i], &found[i], 1, 1, 1);

		CHECK_NUMBER(error, <, error_max);
		total += error;
	}
	CHECK_NUMBER(total / COUNT, <, error_max / 8);
}

static void test_colours_are_what_lcms2_says(void)
{
	struct bytes cmyk = profile_cmyk(), grey = profile_grey(1.8);

	for (int i = DISPLAY_P3; i < GAMUT_COUNT; i++) {
		struct bytes rgb = profile_rgb(&gamuts[i], 1.8, 0);

		check_colours(rgb, IMG_RGB, TYPE_RGB_8, 1, 2);
		check_colours(rgb, IMG_RGB, TYPE_RGB_8, MANY, 2);
		free(rgb.data);
	}
	check_colours(cmyk, IMG_CMYK, TYPE_CMYK_8, 1, 2);
	check_colours(cmyk, IMG_CMYK, TYPE_CMYK_8, MANY, 5);
	check_colours(grey, IMG_GREY, TYPE_GRAY_8, MANY, 2);
	free(cmyk.data);
	free(grey.data);
}

static void test_a_part_of_a_profile_is_bad(void)
{
	struct bytes profile = profile_rgb(&gamuts[DISPLAY_P3], 2.2, 0);

	for (size_t count = 0; count < 300; count++)
		CHECK_NUMBER(judge(profile, count, IMG_YCBCR, 1), ==, ICC_BAD);
	for (size_t count = 300; count < profile.count; count++)
		(void)judge(profile, count, IMG_YCBCR, 1);
	free(profile.data);
}

static void test_nothing_is_believed_of_a_huge_profile(void)
{
	struct bytes huge = { calloc(1, 5 << 20), 5 << 20 };
	struct bytes profile = profile_rgb(&gamuts[DISPLAY_P3], 2.2, 0);

	CHECK(huge.data != NULL);
	memcpy(huge.data, profile.data, profile.count);
	CHECK_NUMBER(judge_all(huge, IMG_RGB), ==, ICC_BAD);
	free(profile.data);
	free(huge.data);
}

enum {
	TAG_AT = 132,   /* the first entry of a profile's table */
	TABLE_AT = 144, /* after the only one */
	TABLE_BYTES = 100,
};

static void put32(uint8_t *to, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		to[i] = (uint8_t)(value >> (24 - 8 * i));
}

/*
 * A profile whose only tag is the head of a table.  The data that the table
 * should have are missing.
 */
static struct bytes table_head(const char *space, const char *type,
			       uint8_t inputs, uint8_t outputs, uint8_t steps)
{
	struct bytes p = { calloc(1, TABLE_AT + TABLE_BYTES),
			   TABLE_AT + TABLE_BYTES };
	uint8_t *table = p.data + TABLE_AT;

	CHECK(p.data != NULL);
	put32(p.data, (uint32_t)p.count);
	p.data[8] = 2;
	memcpy(p.data + 12, "mntr", 4);
	memcpy(p.data + 16, space, 4);
	memcpy(p.data + 20, "Lab ", 4);
	memcpy(p.data + 36, "acsp", 4);
	put32(p.data + 128, 1);
	memcpy(p.data + TAG_AT, "A2B0", 4);
	put32(p.data + TAG_AT + 4, TABLE_AT);
	put32(p.data + TAG_AT + 8, TABLE_BYTES);
	memcpy(table, type, 4);
	table[8] = inputs;
	table[9] = outputs;
	table[10] = steps;
	for (int i = 0; i < 3; i++)
		put32(table + 12 + 16 * i, 0x10000);
	table[49] = table[51] = 2; /* mft2: entries of its curves */
	return p;
}

/* judge() checks how much memory each of them takes. */
static void test_a_claim_takes_no_memory(void)
{
	static const char *const types[] = { "mft1", "mft2", "mAB " };
	static const uint8_t steps[] = { 17, 33, 65, 128, 255 };

	for (size_t t = 0; t < ARRAY_SIZE(types); t++)
		for (size_t s = 0; s < ARRAY_SIZE(steps); s++)
			for (uint8_t outputs = 3; outputs <= 15; outputs += 6) {
				struct bytes rgb = table_head(
					"RGB ", types[t], 3, outputs, steps[s]);
				struct bytes inks = table_head(
					"CMYK", types[t], 4, outputs, steps[s]);

				CHECK_NUMBER(judge_all(rgb, IMG_YCBCR), ==,
					     ICC_BAD);
				CHECK_NUMBER(judge_all(inks, IMG_CMYK), ==,
					     ICC_BAD);
				free(rgb.data);
				free(inks.data);
			}
}

/* Change some bytes of a large profile, or all of a small one. */
static void damage(struct bytes profile, enum img_space space, size_t step)
{
	static const uint8_t values[] = { 0, 1, 0x7f, 0x80, 0xff };

	for (size_t i = 0; i < profile.count; i += i < 512 ? 1 : step) {
		uint8_t whole = profile.data[i];

		for (size_t v = 0; v < ARRAY_SIZE(values); v++) {
			profile.data[i] = values[v];
			(void)judge(profile, profile.count, space, 1);
		}
		profile.data[i] = whole;
	}
}

static void test_damage_is_survived(void)
{
	struct bytes rgb = profile_rgb(&gamuts[DISPLAY_P3], 2.2, 0);
	struct bytes grey = profile_grey(2.2), cmyk = profile_cmyk();

	damage(rgb, IMG_YCBCR, 1);
	damage(grey, IMG_GREY, 1);
	damage(cmyk, IMG_CMYK, 97);
	free(rgb.data);
	free(grey.data);
	free(cmyk.data);
}

/* `profile` with a table in floating point, of very many steps. */
static struct bytes with_chain(struct bytes profile, int links)
{
	static const double turn[] = { 0, 1, 0, 0, 0, 1, 1, 0, 0 };
	cmsHPROFILE handle = cmsOpenProfileFromMem(
		profile.data, (cmsUInt32Number)profile.count);
	cmsPipeline *chain = cmsPipelineAlloc(NULL, 3, 3);
	bool ok = chain != NULL;

	cmsSetProfileVersion(handle, 4.3);
	for (int i = 0; i < links && ok; i++)
		ok = cmsPipelineInsertStage(
			chain, cmsAT_BEGIN,
			cmsStageAllocMatrix(NULL, 3, 3, turn, NULL));
	ok = ok && cmsWriteTag(handle, cmsSigDToB0Tag, chain);
	CHECK(ok);
	cmsPipelineFree(chain);
	return profile_bytes(handle);
}

static void test_chains_are_not_followed(void)
{
	struct bytes plain = profile_rgb(&gamuts[ADOBE_RGB], 2.2, 0);
	struct bytes chained = with_chain(plain, 20000);
	clock_t start = clock();

	CHECK_NUMBER(judge_all(chained, IMG_RGB), ==, ICC_OTHER);
	CHECK_NUMBER((double)(clock() - start) / CLOCKS_PER_SEC, <, 1);
	free(plain.data);
	free(chained.data);
}

int main(void)
{
	cmsSetLogErrorHandler(NULL);
	test_srgb_is_known_in_any_form();
	test_what_looks_different_is_not_srgb();
	test_a_profile_must_fit_the_pixels();
	test_colours_are_what_lcms2_says();
	test_a_part_of_a_profile_is_bad();
	test_nothing_is_believed_of_a_huge_profile();
	test_a_claim_takes_no_memory();
	test_damage_is_survived();
	test_chains_are_not_followed();
	return 0;
}
