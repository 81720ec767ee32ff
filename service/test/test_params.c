/* SPDX-License-Identifier: MIT */
/* Promise: a query becomes parameters, or a sentence that says what is wrong. */
#include "service/params.h"

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

static void test_bad_values_leave_all_as_it_was(void)
{
	static const struct {
		const char *key, *value;
	} bad[] = {
		{ "w", "0" },        { "w", "16385" },
		{ "w", "-1" },       { "w", "+1" },
		{ "w", " 1" },       { "w", "1 " },
		{ "w", "1.0" },      { "w", "" },
		{ "w", NULL },       { "w", "99999999999999999999" },
		{ "h", "0x10" },     { "fit", "cover" },
		{ "fit", "" },       { "blur", "nan" },
		{ "blur", "inf" },   { "blur", "0.29" },
		{ "blur", "100.1" }, { "blur", "-1" },
		{ "blur", "1e1" },   { "blur", "." },
		{ "blur", "1.2.3" }, { "q", "0" },
		{ "q", "101" },      { "Q", "80" },
		{ "", "" },          { "width", "640" },
	};

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
	test_bad_values_leave_all_as_it_was();
	test_detail_names_the_parameter_and_its_range();
	test_twice_is_refused();
	test_detail_is_safe_to_show();
	return 0;
}
