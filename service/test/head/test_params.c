/* SPDX-License-Identifier: MIT */
/* Promise: a query becomes parameters, or a sentence on what is wrong. */
#include "service/http/head/params.h"

#include "base/test/check.h"
#include "base/util.h"

#include <stddef.h>
#include <string.h>

static bool set(struct params *p, const char *key, const char *value,
		char *detail)
{
	detail[0] = '\0';
	return params_set(p, key, value, detail);
}

static void test_defaults_change_nothing_but_quality(void)
{
	struct params p;

	params_init(&p);
	CHECK_NUMBER(p.transform.box.width_px, ==, 0);
	CHECK_NUMBER(p.transform.box.height_px, ==, 0);
	CHECK_NUMBER(p.transform.blur_sigma_px, <=, 0);
	CHECK_NUMBER(p.transform.quality, ==, 80);
	CHECK_NUMBER(p.transform.fit, ==, IMG_FIT_INSIDE);
	CHECK(!p.transform.enlarge);
	CHECK_NUMBER(p.transform.gravity, ==, IMG_CENTRE);
	CHECK_NUMBER(p.transform.trim, ==, 0);
	CHECK_NUMBER(p.transform.filter, ==, IMG_LANCZOS3);
	CHECK_NUMBER(p.transform.light, ==, IMG_LIGHT_GAMMA);
	CHECK(!p.transform.as_stored);
	CHECK(!p.transform.keep_profile);
	CHECK_NUMBER(p.transform.chroma, ==, IMG_CHROMA_420);
	CHECK(!p.transform.lenient);
	CHECK(!p.transform.progressive);
	CHECK(!p.transform.optimize);
}

static void test_good_values_are_taken(void)
{
	char detail[PARAMS_DETAIL_BYTES];
	struct params p;

	params_init(&p);
	CHECK(set(&p, "w", "640", detail));
	CHECK(set(&p, "h", "16384", detail));
	CHECK(set(&p, "fit", "inside", detail));
	CHECK(set(&p, "blur", "2.5", detail));
	CHECK(set(&p, "sharpen", "0.7", detail));
	CHECK(set(&p, "q", "100", detail));
	CHECK(set(&p, "trim", "255", detail));
	CHECK_NUMBER(p.transform.trim, ==, 255);
	CHECK_NUMBER(p.transform.sharpen_sigma_px, >, 0.69);
	CHECK_NUMBER(p.transform.box.width_px, ==, 640);
	CHECK_NUMBER(p.transform.box.height_px, ==, 16384);
	CHECK_NUMBER(p.transform.blur_sigma_px, >, 2.49);
	CHECK_NUMBER(p.transform.blur_sigma_px, <, 2.51);
	CHECK_NUMBER(p.transform.quality, ==, 100);
}

/* The transform of one parameter. */
static struct img_transform transform(const char *key, const char *value)
{
	char detail[PARAMS_DETAIL_BYTES] = "";
	struct params p;
	bool ok;

	params_init(&p);
	ok = set(&p, key, value, detail);
	check_case("%s=%s: %s", key, value, detail);
	CHECK(ok);
	return p.transform;
}

static void is_no_value(const char *key, const char *value)
{
	char detail[PARAMS_DETAIL_BYTES] = "";
	struct params p;
	bool ok;

	params_init(&p);
	ok = set(&p, key, value, detail);
	check_case("%s=%s", key, value);
	CHECK(!ok);
	CHECK_PART(detail, " must be ");
}

static void test_rectangles_and_points(void)
{
	static const char *const no_rects[] = {
		"",         ",",         "1,2,3",    "1,2,3,4,5",
		"1,2,0,4",  "1,2,3,0",   "-1,2,3,4", "1, 2,3,4",
		"1,2,3,4,", "1.5,2,3,4", "1,2,3,4a", "1,2,3,65501",
	};
	static const char *const no_points[] = {
		"",       "0.5",   "0.5,",   "0.5,0.5,", "1.1,0",
		"-0.1,0", "0.5,a", "0.5 ,1", "0,5e-1",   "nan,0",
	};
	static const char *const no_factors[] = { "", "0", "0.05", "9", "2x" };
	struct img_transform t = transform("crop", "1,20,300,4000");

	CHECK_NUMBER(t.crop.left_px, ==, 1);
	CHECK_NUMBER(t.crop.top_px, ==, 20);
	CHECK_NUMBER(t.crop.width_px, ==, 300);
	CHECK_NUMBER(t.crop.height_px, ==, 4000);
	t = transform("focus", "0,1");
	CHECK_NUMBER(t.focus.x, ==, -IMG_POINT_PARTS / 2);
	CHECK_NUMBER(t.focus.y, ==, IMG_POINT_PARTS / 2);
	t = transform("focus", "0.5,0.3333");
	CHECK_NUMBER(t.focus.x, ==, 0);
	CHECK_NUMBER(t.focus.y, ==, -1667);
	t = transform("dpr", "1.5");
	CHECK(t.dpr > 1.49 && t.dpr < 1.51);
	for (size_t i = 0; i < ARRAY_SIZE(no_rects); i++)
		is_no_value("crop", no_rects[i]);
	for (size_t i = 0; i < ARRAY_SIZE(no_points); i++)
		is_no_value("focus", no_points[i]);
	for (size_t i = 0; i < ARRAY_SIZE(no_factors); i++)
		is_no_value("dpr", no_factors[i]);
}

static void check_sides(const char *value, uint32_t top, uint32_t right,
			uint32_t bottom, uint32_t left)
{
	struct img_sides pad = transform("pad", value).pad;

	CHECK_NUMBER(pad.top_px, ==, top);
	CHECK_NUMBER(pad.right_px, ==, right);
	CHECK_NUMBER(pad.bottom_px, ==, bottom);
	CHECK_NUMBER(pad.left_px, ==, left);
}

static void test_sides_are_as_in_css(void)
{
	static const char *const no_sides[] = {
		"",    ",",   "1,",    "1,2,3",    "1,2,3,4,5", "-1",
		"1.5", "1 2", "16385", "1,2,3,4,", "a",         "1,,2",
	};

	check_sides("7", 7, 7, 7, 7);
	check_sides("1,2", 1, 2, 1, 2);
	check_sides("0,16384,3,4", 0, 16384, 3, 4);
	for (size_t i = 0; i < ARRAY_SIZE(no_sides); i++)
		is_no_value("pad", no_sides[i]);
}

static void test_colours(void)
{
	CHECK_NUMBER(transform("background", "0080fF").background, ==,
		     0x0080ff);
	CHECK_NUMBER(transform("background", "transparent").background, ==,
		     IMG_TRANSPARENT);
	is_no_value("background", "fff");
	is_no_value("background", "#ffffff");
	is_no_value("background", "transparency");
}

static void test_words_mean_what_they_say(void)
{
	CHECK_NUMBER(transform("fit", "pad").fit, ==, IMG_FIT_PAD);
	CHECK_NUMBER(transform("fit", "cover").fit, ==, IMG_FIT_COVER);
	CHECK_NUMBER(transform("fit", "fill").fit, ==, IMG_FIT_FILL);
	CHECK_NUMBER(transform("gravity", "centre").gravity, ==, IMG_CENTRE);
	CHECK_NUMBER(transform("gravity", "center").gravity, ==, IMG_CENTRE);
	CHECK_NUMBER(transform("gravity", "north").gravity, ==, IMG_NORTH);
	CHECK_NUMBER(transform("gravity", "northeast").gravity, ==,
		     IMG_NORTHEAST);
	CHECK_NUMBER(transform("gravity", "east").gravity, ==, IMG_EAST);
	CHECK_NUMBER(transform("gravity", "southeast").gravity, ==,
		     IMG_SOUTHEAST);
	CHECK_NUMBER(transform("gravity", "south").gravity, ==, IMG_SOUTH);
	CHECK_NUMBER(transform("gravity", "southwest").gravity, ==,
		     IMG_SOUTHWEST);
	CHECK_NUMBER(transform("gravity", "west").gravity, ==, IMG_WEST);
	CHECK_NUMBER(transform("gravity", "northwest").gravity, ==,
		     IMG_NORTHWEST);
	CHECK_NUMBER(transform("gravity", "smart").gravity, ==, IMG_SMART);
	CHECK_NUMBER(
		transform("watermark_position", "center").watermark_position,
		==, IMG_CENTRE);
	is_no_value("watermark_position", "smart");
	CHECK_NUMBER(transform("light", "gamma").light, ==, IMG_LIGHT_GAMMA);
	CHECK_NUMBER(transform("light", "linear").light, ==, IMG_LIGHT_LINEAR);
	CHECK_NUMBER(transform("filter", "lanczos3").filter, ==, IMG_LANCZOS3);
	CHECK_NUMBER(transform("filter", "box").filter, ==, IMG_BOX);
	CHECK_NUMBER(transform("filter", "triangle").filter, ==, IMG_TRIANGLE);
	CHECK_NUMBER(transform("filter", "bspline").filter, ==, IMG_BSPLINE);
	CHECK_NUMBER(transform("filter", "catmull-rom").filter, ==,
		     IMG_CATMULL_ROM);
	CHECK_NUMBER(transform("filter", "mitchell").filter, ==, IMG_MITCHELL);
	CHECK_NUMBER(transform("chroma", "420").chroma, ==, IMG_CHROMA_420);
	CHECK_NUMBER(transform("chroma", "444").chroma, ==, IMG_CHROMA_444);
	CHECK_NUMBER(transform("chroma", "auto").chroma, ==, IMG_CHROMA_AUTO);
}

static void test_a_score_takes_the_place_of_a_quality(void)
{
	char detail[PARAMS_DETAIL_BYTES], text[PARAMS_TEXT_BYTES];
	struct params p, variant;

	CHECK_NUMBER(transform("target", "ssimulacra2:62.5").score, ==, 62.5);
	CHECK_NUMBER(transform("target", "none").score, ==, 0);
	CHECK_NUMBER(transform("q", "auto").score, ==, 75);
	CHECK_NUMBER(transform("q", "auto").quality, ==, 80);
	CHECK_NUMBER(transform("q", "70").score, ==, 0);

	/* What is said of the target counts, wherever it stands. */
	params_init(&p);
	CHECK(set(&p, "q", "auto", detail));
	CHECK(set(&p, "target", "ssimulacra2:60", detail));
	CHECK_NUMBER(p.transform.score, ==, 60);
	params_init(&p);
	CHECK(set(&p, "target", "ssimulacra2:60", detail));
	CHECK(set(&p, "q", "auto", detail));
	CHECK_NUMBER(p.transform.score, ==, 60);
	CHECK(!set(&p, "q", "70", detail));
	params_print(text, &p, false, ' ');
	CHECK_PART(text, "target=ssimulacra2:60 ");

	/* A variant's own quality counts more than the target of all. */
	params_init_variant(&variant, &p, "small");
	CHECK_NUMBER(variant.transform.score, ==, 60);
	CHECK(set(&variant, "q", "70", detail));
	CHECK_NUMBER(variant.transform.score, ==, 0);
	CHECK_NUMBER(variant.transform.quality, ==, 70);
	params_init(&p);
	CHECK(set(&p, "target", "ssimulacra2:60", detail));
	CHECK(set(&p, "q", "70", detail));
	CHECK_NUMBER(p.transform.score, ==, 60);
}

static void test_each_switch_goes_both_ways(void)
{
	CHECK(transform("enlarge", "1").enlarge);
	CHECK(!transform("enlarge", "0").enlarge);
	CHECK(transform("orient", "0").as_stored);
	CHECK(!transform("orient", "1").as_stored);
	CHECK(transform("icc", "keep").keep_profile);
	CHECK(!transform("icc", "srgb").keep_profile);
	CHECK(transform("gainmap", "keep").keep_gainmap);
	CHECK(!transform("gainmap", "strip").keep_gainmap);
	CHECK(transform("progressive", "1").progressive);
	CHECK(!transform("progressive", "0").progressive);
	CHECK(transform("optimize", "1").optimize);
	CHECK(!transform("optimize", "0").optimize);
	CHECK(transform("strict", "0").lenient);
	CHECK(!transform("strict", "1").lenient);
}

static void test_all_fit_into_one_query(void)
{
	static const char *const query[][2] = {
		{ "w", "1" },           { "h", "2" },
		{ "fit", "cover" },     { "gravity", "west" },
		{ "enlarge", "1" },     { "orient", "0" },
		{ "blur", "1" },        { "q", "1" },
		{ "icc", "keep" },      { "chroma", "444" },
		{ "progressive", "1" }, { "optimize", "1" },
		{ "strict", "0" },      { "filter", "box" },
		{ "light", "linear" },  { "gainmap", "keep" },
		{ "metadata", "keep" }, { "target", "ssimulacra2:75" },
	};
	char detail[PARAMS_DETAIL_BYTES];
	struct params p;

	params_init(&p);
	for (size_t i = 0; i < ARRAY_SIZE(query); i++)
		CHECK(set(&p, query[i][0], query[i][1], detail));
	CHECK_NUMBER(p.transform.fit, ==, IMG_FIT_COVER);
	CHECK(p.transform.lenient);
	for (size_t i = 0; i < ARRAY_SIZE(query); i++)
		CHECK(!set(&p, query[i][0], query[i][1], detail));
}

static const struct {
	const char *key, *value;
} bad[] = {
	{ "w", "0" },
	{ "w", "16385" },
	{ "w", "-1" },
	{ "w", "+1" },
	{ "w", " 1" },
	{ "w", "1 " },
	{ "w", "1.0" },
	{ "w", "" },
	{ "w", NULL },
	{ "w", "99999999999999999999" },
	{ "h", "0x10" },
	{ "fit", "crop" },
	{ "fit", "" },
	{ "blur", "nan" },
	{ "blur", "inf" },
	{ "blur", "0.29" },
	{ "blur", "100.1" },
	{ "blur", "-1" },
	{ "blur", "1e1" },
	{ "blur", "." },
	{ "blur", "1.2.3" },
	{ "sharpen", "0.29" },
	{ "sharpen", "10.1" },
	{ "trim", "256" },
	{ "trim", "-1" },
	{ "trim", "1.5" },
	{ "trim", "auto" },
	{ "q", "0" },
	{ "q", "automatic" },
	{ "target", "75" },
	{ "target", "ssimulacra2:" },
	{ "target", "ssimulacra2:29.9" },
	{ "target", "ssimulacra2:95.1" },
	{ "target", "ssimulacra2:7e1" },
	{ "target", "psnr:40" },
	{ "target", NULL },
	{ "q", "101" },
	{ "Q", "80" },
	{ "", "" },
	{ "width", "640" },
	{ "fit", NULL },
	{ "fit", "Cover" },
	{ "gravity", "" },
	{ "gravity", "up" },
	{ "gravity", "northwards" },
	{ "gravity", "no" },
	{ "enlarge", "" },
	{ "enlarge", "2" },
	{ "enlarge", "yes" },
	{ "enlarge", NULL },
	{ "enlarge", "01" },
	{ "orient", "6" },
	{ "icc", "drop" },
	{ "icc", "1" },
	{ "gainmap", "1" },
	{ "metadata", "all" },
	{ "chroma", "422" },
	{ "chroma", "4:4:4" },
	{ "progressive", "on" },
	{ "optimize", "-1" },
	{ "strict", "true" },
	{ "optimise", "1" },
};

static void test_bad_values_leave_all_as_it_was(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char detail[PARAMS_DETAIL_BYTES];
		struct params p, before;

		check_case("bad[%zu]: %s", i, bad[i].key);
		memset(&p, 0, sizeof(p));
		params_init(&p);
		before = p;
		CHECK(!set(&p, bad[i].key, bad[i].value, detail));
		CHECK(memcmp(&p, &before, sizeof(p)) == 0);
		CHECK_NUMBER(detail[0], !=, '\0');
	}
}

static void test_detail_names_the_parameter_and_its_range(void)
{
	char detail[PARAMS_DETAIL_BYTES];
	struct params p;

	params_init(&p);
	CHECK(!set(&p, "q", "101", detail));
	CHECK_TEXT(detail, "q must be a whole number from 1 to 100, or "
			   "auto, not '101'.");
	CHECK(!set(&p, "icc", "drop", detail));
	CHECK_TEXT(detail, "icc must be srgb or keep, not 'drop'.");
	/* The longest range, with the longest value that is shown. */
	CHECK(!set(&p, "gravity", "0123456789012345678901234567890123456789abc",
		   detail));
	CHECK_PART(detail, "0123456789'.");
}

static void test_twice_is_refused(void)
{
	char detail[PARAMS_DETAIL_BYTES];
	struct params p;

	params_init(&p);
	CHECK(set(&p, "w", "10", detail));
	CHECK(!set(&p, "w", "20", detail));
	CHECK_NUMBER(p.transform.box.width_px, ==, 10);
}

static const struct {
	const char *key, *meant; /* NULL: no name is similar */
} unknown[] = {
	{ "width", "w" },
	{ "Width", "w" },
	{ "heigth", "h" },
	{ "quality", "q" },
	{ "W", "w" },
	{ "optimise", "optimize" },
	{ "gravitiy", "gravity" },
	{ "fits", "fit" },
	{ "resize", "fit" },
	{ "extract", "crop" },
	{ "mirror", "flip" },
	{ "greyscale", "grayscale" },
	{ "variants", "variant" },
	{ "blurr", "blur" },
	{ "interlaced", "progressive" },
	{ "unsharp", "sharpen" },
	{ "padding", "pad" },
	{ "autocrop", "trim" },
	{ "PROGRESSIVE", "progressive" },
	{ "x", NULL },
	{ "", NULL },
	{ "wx", NULL },
	{ "token", NULL },
	{ "csrf_token", NULL },
	{ "submit", NULL },
	{ "widthwidthwidthwidth", NULL },
};

static void test_an_unknown_one_suggests_what_is_near(void)
{
	char detail[PARAMS_DETAIL_BYTES], expected[PARAMS_DETAIL_BYTES];
	struct params p, variant;

	params_init(&p);
	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++) {
		int at = snprintf(expected, sizeof(expected),
				  "There is no parameter '%s'", unknown[i].key);

		check_case("unknown[%zu]: %s", i, unknown[i].key);
		if (unknown[i].meant != NULL)
			(void)snprintf(
				expected + at, sizeof(expected) - (size_t)at,
				"; did you mean '%s'?", unknown[i].meant);
		else
			(void)strcat(expected, ".");
		CHECK(!set(&p, unknown[i].key, "1", detail));
		if (strcmp(detail, expected) != 0)
			(void)fprintf(stderr, "%s\n%s\n", detail, expected);
		CHECK_TEXT(detail, expected);
	}
	params_init_variant(&variant, &p, "a");
	CHECK(!set(&variant, "width", "1", detail));
	CHECK_TEXT(detail, "variant a: There is no parameter 'width'; did "
			   "you mean 'w'?");
	CHECK(!set(&variant, "variant", "1", detail));
	CHECK(strstr(detail, "did you mean") == NULL);
}

/* For any input, the echoed text is short printable ASCII. */
static void test_detail_is_safe_to_show(void)
{
	char key[4096], detail[PARAMS_DETAIL_BYTES];
	struct params p;

	params_init(&p);
	memset(key, '\xff', sizeof(key) - 1);
	key[1] = '\n';
	key[sizeof(key) - 1] = '\0';
	CHECK(!set(&p, key, "1", detail));
	CHECK_NUMBER(strlen(detail), <, 100);
	for (const char *c = detail; *c != '\0'; c++)
		CHECK(*c >= ' ' && *c <= '~');
}

int main(void)
{
	test_defaults_change_nothing_but_quality();
	test_good_values_are_taken();
	test_words_mean_what_they_say();
	test_rectangles_and_points();
	test_sides_are_as_in_css();
	test_colours();
	test_a_score_takes_the_place_of_a_quality();
	test_each_switch_goes_both_ways();
	test_all_fit_into_one_query();
	test_bad_values_leave_all_as_it_was();
	test_detail_names_the_parameter_and_its_range();
	test_twice_is_refused();
	test_an_unknown_one_suggests_what_is_near();
	test_detail_is_safe_to_show();
	return 0;
}
