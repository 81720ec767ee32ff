/* SPDX-License-Identifier: MIT */
/* Promise: a query becomes parameters, or a sentence on what is wrong. */
#include "service/http/params.h"

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
	assert(p.recipe.box.width_px == 0 && p.recipe.box.height_px == 0);
	assert(p.recipe.blur_sigma_px <= 0);
	assert(p.recipe.quality == 80);
	assert(p.recipe.fit == IMG_FIT_INSIDE && !p.recipe.enlarge);
	assert(p.recipe.gravity == IMG_CENTRE);
	assert(!p.recipe.as_stored && !p.recipe.keep_profile);
	assert(!p.recipe.full_chroma && !p.recipe.lenient);
	assert(!p.recipe.progressive && !p.recipe.optimize);
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
	assert(p.recipe.box.width_px == 640);
	assert(p.recipe.box.height_px == 16384);
	assert(p.recipe.blur_sigma_px > 2.49 && p.recipe.blur_sigma_px < 2.51);
	assert(p.recipe.quality == 100);
}

/* The recipe of one parameter. */
static struct img_recipe recipe(const char *key, const char *value)
{
	char detail[PARAMS_DETAIL_BYTES];
	struct params p;

	params_init(&p);
	assert(set(&p, key, value, detail));
	return p.recipe;
}

static void test_words_mean_what_they_say(void)
{
	assert(recipe("fit", "cover").fit == IMG_FIT_COVER);
	assert(recipe("fit", "fill").fit == IMG_FIT_FILL);
	assert(recipe("gravity", "centre").gravity == IMG_CENTRE);
	assert(recipe("gravity", "center").gravity == IMG_CENTRE);
	assert(recipe("gravity", "north").gravity == IMG_NORTH);
	assert(recipe("gravity", "northeast").gravity == IMG_NORTHEAST);
	assert(recipe("gravity", "east").gravity == IMG_EAST);
	assert(recipe("gravity", "southeast").gravity == IMG_SOUTHEAST);
	assert(recipe("gravity", "south").gravity == IMG_SOUTH);
	assert(recipe("gravity", "southwest").gravity == IMG_SOUTHWEST);
	assert(recipe("gravity", "west").gravity == IMG_WEST);
	assert(recipe("gravity", "northwest").gravity == IMG_NORTHWEST);
}

static void test_each_switch_goes_both_ways(void)
{
	assert(recipe("enlarge", "1").enlarge);
	assert(!recipe("enlarge", "0").enlarge);
	assert(recipe("orient", "0").as_stored);
	assert(!recipe("orient", "1").as_stored);
	assert(recipe("icc", "keep").keep_profile);
	assert(!recipe("icc", "srgb").keep_profile);
	assert(recipe("chroma", "444").full_chroma);
	assert(!recipe("chroma", "420").full_chroma);
	assert(recipe("progressive", "1").progressive);
	assert(!recipe("progressive", "0").progressive);
	assert(recipe("optimize", "1").optimize);
	assert(!recipe("optimize", "0").optimize);
	assert(recipe("strict", "0").lenient);
	assert(!recipe("strict", "1").lenient);
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
		{ "strict", "0" },
	};
	char detail[PARAMS_DETAIL_BYTES];
	struct params p;

	params_init(&p);
	for (size_t i = 0; i < sizeof(query) / sizeof(query[0]); i++)
		assert(set(&p, query[i][0], query[i][1], detail));
	assert(p.recipe.fit == IMG_FIT_COVER && p.recipe.lenient);
	for (size_t i = 0; i < sizeof(query) / sizeof(query[0]); i++)
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
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
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
	assert(p.recipe.box.width_px == 10);
}

/* What is echoed is short printable ASCII, whatever came in. */
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
	test_detail_is_safe_to_show();
	return 0;
}
