/* SPDX-License-Identifier: MIT */
/* Promise: a name with a typing error is near to the name that was meant. */
#include "base/similar.h"

#include "base/test/check.h"
#include "base/util.h"

#include <string.h>

static const char *meant(const char *word)
{
	static const char *const names[] = { "w", "max-body", "max-side",
					     "policy", "port" };
	struct similar s = similar_begin(word);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		similar_try(&s, names[i], names[i]);
	return s.meant == NULL ? "" : s.meant;
}

static void test_typing_errors(void)
{
	static const char *const cases[][2] = {
		{ "polcy", "policy" },
		{ "policcy", "policy" },
		{ "poliyc", "policy" },
		{ "max_body", "max-body" },
		{ "MAX_BODY", "max-body" },
		{ "maxbody", "max-body" },
		{ "max-size", "max-side" },
		{ "prt", "port" },
		{ "prot", "port" },
		{ "plicy", "policy" },
		{ "policies", "" },
		{ "pt", "" },
		{ "W", "w" },
		{ "v", "" },
		{ "", "" },
		{ "max", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_TEXT(meant(cases[i][0]), cases[i][1]);
}

static void test_long_names_are_near_to_none(void)
{
	char word[2 * SIMILAR_BYTES_MAX];
	struct similar s;

	memset(word, 'a', sizeof(word));
	word[SIMILAR_BYTES_MAX + 1] = '\0';
	s = similar_begin(word);
	similar_try(&s, word, word);
	CHECK(s.meant == NULL);
	s = similar_begin(&word[1]);
	similar_try(&s, word, word);
	CHECK(s.meant == NULL);
	similar_try(&s, &word[1], "same");
	CHECK_TEXT(s.meant, "same");
}

/* The first of several that are equally near. */
static void test_the_nearest_name_is_meant(void)
{
	struct similar s = similar_begin("quality");

	similar_try(&s, "qualify", "first");
	similar_try(&s, "qualits", "second");
	CHECK_TEXT(s.meant, "first");
	similar_try(&s, "quality", "third");
	CHECK_TEXT(s.meant, "third");
}

int main(void)
{
	test_typing_errors();
	test_long_names_are_near_to_none();
	test_the_nearest_name_is_meant();
	return 0;
}
