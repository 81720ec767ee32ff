/* SPDX-License-Identifier: MIT */
/*
 * Promises: a query becomes variants, each with the parameters of all and its
 * own, in any order; or a sentence that names variant, key and value.  Presets
 * are variants in the same words.  format=auto is replaced by a format, and no
 * text of a request has it.  A query is split and decoded as the table
 * `splits` says.
 */
#include "service/http/head/query.h"

#include "base/test/check.h"
#include "base/util.h"

#include <stdio.h>
#include <string.h>

static char detail[PARAMS_DETAIL_BYTES];
static struct variant made[VARIANTS_MAX];
static uint32_t made_count;

static const char presets[] = "thumb:w=320,h=320,fit=cover;page:w=1280;raw:;"
			      "any:format=auto;plain:format=jpeg";

/* With `is_auto`, a format that is not given is auto; auto is PPM. */
static bool make_by(const char *text, bool is_auto)
{
	static char copy[4096];
	struct http_field parameters[32];
	struct query q;
	uint32_t count;

	(void)snprintf(copy, sizeof(copy), "%s", text);
	memset(made, 0, sizeof(made));
	detail[0] = '\0';
	query_init(&q);
	if (is_auto)
		query_default_auto(&q);
	count = query_split(copy, parameters, ARRAY_SIZE(parameters));
	for (uint32_t i = 0; i < count; i++)
		if (!query_set(&q, parameters[i].name, parameters[i].value,
			       detail))
			return false;
	made_count = query_picture_count(&q);
	return query_make(&q, presets, IMG_FORMAT_PPM,
			  &(struct upload){ .variants = made,
					    .variant_count = made_count },
			  detail);
}

static bool make(const char *text)
{
	return make_by(text, false);
}

/* What comes out, as "name[value]name[value]"; without "=": "name". */
static const struct {
	const char *query, *fields;
} splits[] = {
	{ "", "" },
	{ "a=1&b=2", "a[1]b[2]" },
	{ "a", "a" },
	{ "a=", "a[]" },
	{ "=1", "[1]" },
	{ "a&b=1", "ab[1]" },
	{ "a=b=c", "a[b=c]" },
	{ "a=1&&b=2", "a[1]b[2]" },
	{ "&a=1", "a[1]" },
	{ "&&a=1", "a[1]" },
	{ "a=1&", "a[1]" },
	{ "a=1&&&", "a[1]" },
	{ "&&", "" },
	{ "a&=&b", "a[]b" },
	{ "a+b=+1+", "a b[ 1 ]" },
	{ "%61%3D=%31%26%2B%25", "a=[1&+%]" },
	{ "a=%2525", "a[%25]" },
	{ "a=%C3%a4", "a[\xc3\xa4]" },
	{ "a=%&b=%4&c=%4g%zz%%41", "a[%]b[%4]c[%4g%zz%A]" },
};

static void test_a_query_is_split_and_decoded(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(splits); i++) {
		char copy[64], got[64] = "";
		struct http_field f[8];
		uint32_t count;

		check_case("splits[%zu]: %s", i, splits[i].query);
		(void)strcpy(copy, splits[i].query);
		count = query_split(copy, f, ARRAY_SIZE(f));
		for (uint32_t k = 0; k < count; k++) {
			size_t at = strlen(got);

			(void)snprintf(got + at, sizeof(got) - at, "%s%s%s%s",
				       f[k].name, f[k].value != NULL ? "[" : "",
				       f[k].value != NULL ? f[k].value : "",
				       f[k].value != NULL ? "]" : "");
		}
		CHECK_TEXT(got, splits[i].fields);
	}
}

static void test_empty_pairs_do_not_count(void)
{
	char text[] = "&a&&b&", nameless[] = "=&a", many[] = "a&b&c";
	struct http_field f[8];

	CHECK_NUMBER(query_count(text), ==, 2);
	CHECK_NUMBER(query_split(text, f, 8), ==, 2);
	CHECK_NUMBER(query_count(nameless), ==, 2);
	CHECK_NUMBER(query_split(nameless, f, 8), ==, 2);
	CHECK_NUMBER(query_count(many), ==, 3);
	CHECK_NUMBER(query_split(many, f, 2), ==, 2);
	CHECK_NUMBER(query_count(""), ==, 0);
	CHECK_NUMBER(query_count("&"), ==, 0);
}

static void test_without_variants_there_is_one_without_a_name(void)
{
	CHECK(make("w=10&q=50"));
	CHECK_NUMBER(made_count, ==, 1);
	CHECK_NUMBER(made[0].name[0], ==, '\0');
	CHECK_NUMBER(made[0].transform.box.width_px, ==, 10);
	CHECK_NUMBER(made[0].transform.quality, ==, 50);
	CHECK(make(""));
	CHECK_NUMBER(made_count, ==, 1);
	CHECK_NUMBER(made[0].transform.quality, ==, 80);
}

static void test_each_has_what_is_asked_of_all_and_of_it(void)
{
	CHECK(make("variant=a:w=10,blur=2&q=50&variant=b_2-x:q=60&fit=fill"));
	CHECK_NUMBER(made_count, ==, 2);
	CHECK_TEXT(made[0].name, "a");
	CHECK_TEXT(made[1].name, "b_2-x");
	CHECK_NUMBER(made[0].transform.box.width_px, ==, 10);
	CHECK_NUMBER(made[1].transform.box.width_px, ==, 0);
	CHECK_NUMBER(made[0].transform.quality, ==, 50);
	CHECK_NUMBER(made[1].transform.quality, ==, 60);
	CHECK_NUMBER(made[0].transform.blur_sigma_px, >, 1.9);
	CHECK_NUMBER(made[1].transform.blur_sigma_px, <=, 0);
	CHECK_NUMBER(made[0].transform.fit, ==, IMG_FIT_FILL);
	CHECK_NUMBER(made[1].transform.fit, ==, IMG_FIT_FILL);
	/* strict=0 holds for all variants, wherever it stands. */
	CHECK(make("variant=a:&strict=0&variant=b:"));
	CHECK_NUMBER(made_count, ==, 2);
	CHECK(made[0].transform.lenient);
	CHECK(made[1].transform.lenient);
}

/* Only those of m and 31 hexadecimal digits are not for requests. */
static void test_names_like_those_of_get(void)
{
	CHECK(make("variant=m0123456789abcdef0123456789abcdg:w=1"
		   "&variant=m0123456789abcdef0123456789abcd:w=1"
		   "&variant=n0123456789abcdef0123456789abcde:w=1"));
	CHECK_NUMBER(made_count, ==, 3);
}

static void test_presets_are_named(void)
{
	CHECK(make("variant=page&q=33&variant=thumb&variant=x:w=5"));
	CHECK_NUMBER(made_count, ==, 3);
	CHECK_TEXT(made[0].name, "page");
	CHECK_NUMBER(made[0].transform.box.width_px, ==, 1280);
	CHECK_NUMBER(made[1].transform.box.height_px, ==, 320);
	CHECK_NUMBER(made[1].transform.fit, ==, IMG_FIT_COVER);
	CHECK_NUMBER(made[0].transform.quality, ==, 33);
	CHECK_NUMBER(made[1].transform.quality, ==, 33);
	CHECK(make("variant=raw"));
	CHECK_NUMBER(made[0].transform.box.width_px, ==, 0);
	/* With a colon it is defined by the query itself. */
	CHECK(make("variant=thumb:w=7"));
	CHECK_NUMBER(made[0].transform.box.height_px, ==, 0);
}

/* Format by format, of the variants that were made. */
static const char *formats_of(const char *text, bool is_auto)
{
	static char words[64];
	size_t at = 0;

	words[0] = '\0';
	CHECK(make_by(text, is_auto));
	for (uint32_t i = 0; i < made_count; i++)
		at += (size_t)snprintf(words + at, sizeof(words) - at, "%s ",
				       variant_format(&made[i])->word);
	return words;
}

static void test_auto_becomes_a_format(void)
{
	CHECK_TEXT(formats_of("", false), "jpeg ");
	CHECK_TEXT(formats_of("format=auto", false), "ppm ");
	CHECK_TEXT(formats_of("variant=a:format=auto&variant=b:", false),
		   "ppm jpeg ");
	CHECK_TEXT(formats_of("format=auto&variant=a:format=jpeg&variant=b:",
			      false),
		   "jpeg ppm ");
	CHECK_TEXT(formats_of("variant=any&variant=plain&variant=raw", false),
		   "ppm jpeg jpeg ");
	CHECK_TEXT(formats_of("", true), "ppm ");
	CHECK_TEXT(formats_of("format=jpeg", true), "jpeg ");
	CHECK_TEXT(formats_of("variant=any&variant=plain&variant=raw", true),
		   "ppm jpeg ppm ");
	CHECK(!make_by("format=auto&format=jpeg", true));
	CHECK_PART(detail, "format is given twice");
	CHECK(presets_check(presets, detail));
}

/*
 * A text says nothing of the default format, also if another server writes it
 * than reads it.
 */
static void test_a_text_has_the_format_that_was_chosen(void)
{
	char text[QUERY_TEXT_BYTES], as_given[QUERY_TEXT_BYTES];
	struct upload u = { .variants = made, .variant_count = 1 };
	struct query q;

	CHECK(make_by("w=9", true));
	query_print(text, &u);
	CHECK(make("w=9&format=ppm"));
	query_print(as_given, &u);
	CHECK_TEXT(text, as_given);
	CHECK(make_by("w=9&format=jpeg", true));
	query_print(text, &u);
	CHECK(make("w=9"));
	query_print(as_given, &u);
	CHECK_TEXT(text, as_given);
	memset(made, 0, sizeof(made));
	CHECK(query_read(&q, text, detail));
	CHECK(query_make(&q, NULL, IMG_FORMAT_PPM, &u, detail));
	CHECK_TEXT(variant_format(&made[0])->word, "jpeg");
}

static void test_limits(void)
{
	char text[1024] = "", name[VARIANT_NAME_BYTES + 1];

	for (int i = 0; i < VARIANTS_MAX; i++)
		(void)snprintf(text + strlen(text), 32, "variant=v%d:&", i);
	CHECK(make(text));
	CHECK_NUMBER(made_count, ==, VARIANTS_MAX);
	strcat(text, "variant=one-more:");
	CHECK(!make(text));
	CHECK_PART(detail, "16");

	memset(name, 'n', sizeof(name));
	name[VARIANT_NAME_BYTES - 1] = '\0';
	(void)snprintf(text, sizeof(text), "variant=%s:", name);
	CHECK(make(text));
	CHECK_TEXT(made[0].name, name);
	(void)snprintf(text, sizeof(text), "variant=n%s:", name);
	CHECK(!make(text));
	/* As many characters as a variant may have, and one more. */
	(void)snprintf(text, sizeof(text), "variant=n:w=%0795d", 8);
	CHECK(make(text));
	CHECK_NUMBER(made[0].transform.box.width_px, ==, 8);
	(void)snprintf(text, sizeof(text), "variant=n:w=%0796d", 8);
	CHECK(!make(text));
	CHECK_PART(detail, "up to 799 bytes");
}

static const struct {
	const char *query, *detail;
} bad[] = {
	{ "w=0&variant=a:", "w must be a whole number" },
	{ "variant", "There is no preset ''" },
	{ "variant=", "There is no preset ''" },
	{ "variant=thum", "There is no preset 'thum'" },
	{ "variant=thumb;page", "There is no preset 'thumb;page'" },
	{ "variant=:w=1", "variant must be NAME" },
	{ "variant=A:w=1", "not 'A:w=1'." },
	{ "variant=a b:w=1", "variant must be NAME" },
	{ "variant=a/b:w=1", "variant must be NAME" },
	{ "variant=a;b:w=1", "variant must be NAME" },
	{ "variant=m0123456789abcdef0123456789abcde:w=1",
	  "A variant must have another name than "
	  "'m0123456789abcdef0123456789abcde'" },
	{ "variant=a:w=1&variant=a:w=2", "variant a is given twice." },
	{ "variant=thumb&variant=thumb:", "variant thumb is given twice." },
	{ "variant=a:q=101",
	  "variant a: q must be a whole number from 1 to 100, or auto, "
	  "not '101'." },
	{ "variant=a:w=1,q=5,w=2", "variant a: w is given twice." },
	{ "variant=a:w=1;q=5", "variant a: w must be" },
	{ "variant=a:w", "variant a: w must be" },
	{ "variant=a:w=1,", "variant a: There is no parameter ''." },
	{ "variant=a:,w=1", "variant a: There is no parameter ''." },
	{ "variant=a:variant=b", "variant a: There is no parameter 'variant'" },
	{ "variant=a:width=1",
	  "variant a: There is no parameter 'width'; did you mean 'w'?" },
	{ "quality=1", "There is no parameter 'quality'; did you mean 'q'?" },
	{ "variant=a:strict=0", "variant a: strict is asked of the whole" },
	{ "variant=a:placeholder=1", "variant a: placeholder is asked of" },
};

static void test_bad_ones_are_named(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		check_case("bad[%zu]: %s", i, bad[i].query);
		CHECK(!make(bad[i].query));
		CHECK(strstr(detail, bad[i].detail) == detail ||
		      (bad[i].detail[0] == 'n' &&
		       strstr(detail, bad[i].detail) != NULL));
	}
	/* The longest name, range and value all fit. */
	CHECK(!make("variant=nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn:gravity="
		    "0123456789012345678901234567890123456789"));
	CHECK_PART(detail, "0123456789'.");
}

static void test_presets_are_checked(void)
{
	char many[256] = "";

	CHECK(presets_check(NULL, detail));
	CHECK(presets_check(presets, detail));
	CHECK(!presets_check("", detail));
	CHECK(!presets_check("thumb", detail));
	CHECK(!presets_check("thumb:w=1;", detail));
	CHECK(!presets_check("a:w=1;a:w=2", detail));
	CHECK_TEXT(detail, "variant a is given twice.");
	CHECK(!presets_check("thumb:height=1", detail));
	CHECK_PART(detail, "did you mean 'h'?");
	CHECK(!presets_check("thumb:w=1;page:w=x", detail));
	CHECK_NUMBER(strstr(detail, "variant page: w must be"), ==, detail);
	CHECK_PART(detail, "not 'x'.");
	for (int i = 0; i <= VARIANTS_MAX; i++)
		(void)snprintf(many + strlen(many), 16,
			       "%sv%d:", i > 0 ? ";" : "", i);
	CHECK(!presets_check(many, detail));
	*strrchr(many, ';') = '\0';
	CHECK(presets_check(many, detail));
}

int main(void)
{
	test_a_query_is_split_and_decoded();
	test_empty_pairs_do_not_count();
	test_without_variants_there_is_one_without_a_name();
	test_each_has_what_is_asked_of_all_and_of_it();
	test_names_like_those_of_get();
	test_presets_are_named();
	test_auto_becomes_a_format();
	test_a_text_has_the_format_that_was_chosen();
	test_limits();
	test_bad_ones_are_named();
	test_presets_are_checked();
	return 0;
}
