/* SPDX-License-Identifier: MIT */
/* Promise: a query becomes parameters, or a sentence on what is wrong. */
#include "service/http/head/params.h"

#include "base/util.h"

#include <assert.h>
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
	assert(p.transform.box.width_px == 0 && p.transform.box.height_px == 0);
	assert(p.transform.blur_sigma_px <= 0);
	assert(p.transform.quality == 80);
	assert(p.transform.fit == IMG_FIT_INSIDE && !p.transform.enlarge);
	assert(p.transform.gravity == IMG_CENTRE);
	assert(p.transform.filter == IMG_LANCZOS3);
	assert(!p.transform.as_stored && !p.transform.keep_profile);
	assert(!p.transform.full_chroma && !p.transform.lenient);
	assert(!p.transform.progressive && !p.transform.optimize);
}

static void test_good_values_are_taken(void)
{
	char detail[PARAMS_DETAIL_BYTES];
	struct params p;

	params_init(&p);
	assert(set(&p, "w", "640", detail));
	assert(set(&p, "h", "16384", detail));
	assert(set(&p, "fit", "inside", detail));
	assert(set(&p, "blur", "2.5", detail));
	assert(set(&p, "q", "100", detail));
	assert(p.transform.box.width_px == 640);
	assert(p.transform.box.height_px == 16384);
	assert(p.transform.blur_sigma_px > 2.49 &&
	       p.transform.blur_sigma_px < 2.51);
	assert(p.transform.quality == 100);
}

/* The transform of one parameter. */
static struct img_transform transform(const char *key, const char *value)
{
	char detail[PARAMS_DETAIL_BYTES];
	struct params p;

	params_init(&p);
	assert(set(&p, key, value, detail));
	return p.transform;
}

static void test_words_mean_what_they_say(void)
{
	assert(transform("fit", "cover").fit == IMG_FIT_COVER);
	assert(transform("fit", "fill").fit == IMG_FIT_FILL);
	assert(transform("gravity", "centre").gravity == IMG_CENTRE);
	assert(transform("gravity", "center").gravity == IMG_CENTRE);
	assert(transform("gravity", "north").gravity == IMG_NORTH);
	assert(transform("gravity", "northeast").gravity == IMG_NORTHEAST);
	assert(transform("gravity", "east").gravity == IMG_EAST);
	assert(transform("gravity", "southeast").gravity == IMG_SOUTHEAST);
	assert(transform("gravity", "south").gravity == IMG_SOUTH);
	assert(transform("gravity", "southwest").gravity == IMG_SOUTHWEST);
	assert(transform("gravity", "west").gravity == IMG_WEST);
	assert(transform("gravity", "northwest").gravity == IMG_NORTHWEST);
	assert(transform("filter", "lanczos3").filter == IMG_LANCZOS3);
	assert(transform("filter", "box").filter == IMG_BOX);
	assert(transform("filter", "triangle").filter == IMG_TRIANGLE);
	assert(transform("filter", "bspline").filter == IMG_BSPLINE);
	assert(transform("filter", "catmull-rom").filter == IMG_CATMULL_ROM);
	assert(transform("filter", "mitchell").filter == IMG_MITCHELL);
}

static void test_each_switch_goes_both_ways(void)
{
	assert(transform("enlarge", "1").enlarge);
	assert(!transform("enlarge", "0").enlarge);
	assert(transform("orient", "0").as_stored);
	assert(!transform("orient", "1").as_stored);
	assert(transform("icc", "keep").keep_profile);
	assert(!transform("icc", "srgb").keep_profile);
	assert(transform("chroma", "444").full_chroma);
	assert(!transform("chroma", "420").full_chroma);
	assert(transform("progressive", "1").progressive);
	assert(!transform("progressive", "0").progressive);
	assert(transform("optimize", "1").optimize);
	assert(!transform("optimize", "0").optimize);
	assert(transform("strict", "0").lenient);
	assert(!transform("strict", "1").lenient);
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
	};
	char detail[PARAMS_DETAIL_BYTES];
	struct params p;

	params_init(&p);
	for (size_t i = 0; i < ARRAY_SIZE(query); i++)
		assert(set(&p, query[i][0], query[i][1], detail));
	assert(p.transform.fit == IMG_FIT_COVER && p.transform.lenient);
	for (size_t i = 0; i < ARRAY_SIZE(query); i++)
		assert(!set(&p, query[i][0], query[i][1], detail));
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
	{ "q", "0" },
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

		memset(&p, 0, sizeof(p));
		params_init(&p);
		before = p;
		assert(!set(&p, bad[i].key, bad[i].value, detail));
		assert(memcmp(&p, &before, sizeof(p)) == 0);
		assert(detail[0] != '\0');
	}
}

static void test_detail_names_the_parameter_and_its_range(void)
{
	char detail[PARAMS_DETAIL_BYTES];
	struct params p;

	params_init(&p);
	assert(!set(&p, "q", "101", detail));
	assert(strcmp(detail, "q must be a whole number from 1 to 100, "
			      "not '101'.") == 0);
	assert(!set(&p, "icc", "drop", detail));
	assert(strcmp(detail, "icc must be srgb or keep, not 'drop'.") == 0);
	/* The longest range, with the longest value that is shown. */
	assert(!set(&p, "gravity",
		    "0123456789012345678901234567890123456789abc", detail));
	assert(strstr(detail, "0123456789'.") != NULL);
}

static void test_twice_is_refused(void)
{
	char detail[PARAMS_DETAIL_BYTES];
	struct params p;

	params_init(&p);
	assert(set(&p, "w", "10", detail));
	assert(!set(&p, "w", "20", detail));
	assert(p.transform.box.width_px == 10);
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
	{ "crop", "fit" },
	{ "variants", "variant" },
	{ "blurr", "blur" },
	{ "interlaced", "progressive" },
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

		if (unknown[i].meant != NULL)
			(void)snprintf(
				expected + at, sizeof(expected) - (size_t)at,
				"; did you mean '%s'?", unknown[i].meant);
		else
			(void)strcat(expected, ".");
		assert(!set(&p, unknown[i].key, "1", detail));
		if (strcmp(detail, expected) != 0)
			(void)fprintf(stderr, "%s\n%s\n", detail, expected);
		assert(strcmp(detail, expected) == 0);
	}
	params_init_variant(&variant, &p, "a");
	assert(!set(&variant, "width", "1", detail));
	assert(strcmp(detail, "variant a: There is no parameter 'width'; did "
			      "you mean 'w'?") == 0);
	assert(!set(&variant, "variant", "1", detail));
	assert(strstr(detail, "did you mean") == NULL);
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
	assert(!set(&p, key, "1", detail));
	assert(strlen(detail) < 100);
	for (const char *c = detail; *c != '\0'; c++)
		assert(*c >= ' ' && *c <= '~');
}

int main(void)
{
	test_defaults_change_nothing_but_quality();
	test_good_values_are_taken();
	test_words_mean_what_they_say();
	test_each_switch_goes_both_ways();
	test_all_fit_into_one_query();
	test_bad_values_leave_all_as_it_was();
	test_detail_names_the_parameter_and_its_range();
	test_twice_is_refused();
	test_an_unknown_one_suggests_what_is_near();
	test_detail_is_safe_to_show();
	return 0;
}
