/* SPDX-License-Identifier: MIT */
/*
 * Promises: several headers of one name are one list; a comma between quotes
 * ends no member; a media type has the weight of the most specific range of
 * Accept (RFC 9110, 12.5.1); entity tags are compared as 8.8.3.2 says.
 */
#include "service/http/head/field_values.h"

#include "base/test/check.h"
#include "base/util.h"

#include <stdio.h>
#include <string.h>

enum { FIELDS_MAX = 4 };

/* A head whose headers have the name, and these values up to a NULL. */
static const struct request_head *head_of(const char *name, const char *first,
					  const char *second)
{
	static struct http_field fields[FIELDS_MAX];
	static struct request_head head;

	fields[0] = (struct http_field){ "Host", "x" };
	fields[1] = (struct http_field){ name, first };
	fields[2] = (struct http_field){ "Other", "other, *, 100-continue" };
	fields[3] = (struct http_field){ name, second };
	head = (struct request_head){
		.fields = fields,
		.field_count = first == NULL  ? 1 :
			       second == NULL ? 3 :
						4,
	};
	return &head;
}

static const struct {
	const char *first, *second;
	const char *members; /* each in brackets */
} lists[] = {
	{ NULL, NULL, "" },
	{ "", NULL, "" },
	{ ", ,\t,", "", "" },
	{ "a", NULL, "[a]" },
	{ "a b, ,\tc ", " d,e", "[a b][c][d][e]" },
	{ "\"a,b\",c", NULL, "[\"a,b\"][c]" },
	{ "a;x=\"1\\\",2\", b", NULL, "[a;x=\"1\\\",2\"][b]" },
	/* A quote without an end, and a backslash at the end. */
	{ "\"a,b", "c", "[\"a,b][c]" },
	{ "\"a\\", "c", "[\"a\\][c]" },
};

static void test_members_are_found(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		char got[64] = "";
		struct field_list l = {
			.head = head_of("list", lists[i].first,
					lists[i].second),
			.name = "List",
		};

		check_case("lists[%zu]: %s", i, lists[i].first);
		while (field_list_next(&l))
			(void)snprintf(got + strlen(got),
				       sizeof(got) - strlen(got), "[%.*s]",
				       (int)l.item.bytes, l.item.text);
		CHECK_TEXT(got, lists[i].members);
	}
}

static void test_words_are_found(void)
{
	const struct request_head *head =
		head_of("Connection", "a b, ,\tClose", "Keep-Alive;x");

	CHECK(field_has_word(head, "Connection", "close"));
	CHECK(field_has_word(head, "connection", "A B"));
	CHECK(!field_has_word(head, "Connection", "b"));
	CHECK(!field_has_word(head, "Connection", "clos"));
	CHECK(!field_has_word(head, "Connection", "keep-alive"));
	CHECK(!field_has_word(head, "X", "close"));
}

static const struct {
	const char *accept;
	const char *type;
	uint32_t quality;
} weights[] = {
	{ NULL, "image/jpeg", 1000 },
	{ "", "image/jpeg", 1000 },
	{ "image/jpeg", "image/jpeg", 1000 },
	{ "Image/JPEG", "image/jpeg", 1000 },
	{ "image/jpeg", "image/webp", 0 },
	{ "image/jpeg-xl", "image/jpeg", 0 },
	{ "image/jpe", "image/jpeg", 0 },
	{ "imag*/*, image*", "image/jpeg", 0 },
	{ "*/*", "image/jpeg", 1000 },
	{ "image/*;q=0.5", "image/jpeg", 500 },
	{ "image/*;q=0.5", "application/json", 0 },
	/* The most specific one, wherever it stands. */
	{ "*/*, image/*;q=0.3, image/jpeg;q=0.2", "image/jpeg", 200 },
	{ "image/jpeg;q=0.2, image/*;q=0.3, */*", "image/jpeg", 200 },
	{ "image/jpeg;q=0.2, image/*;q=0.3, */*", "image/webp", 300 },
	{ "image/jpeg;q=0.2, image/*;q=0.3, */*", "text/html", 1000 },
	{ "image/jpeg;q=0, */*", "image/jpeg", 0 },
	{ "a/b;x=y;q=0.9, a/b;q=0.4", "a/b", 400 },
	{ "a/b;x=y;q=0.9, a/*;q=0.4", "a/b", 900 },
	{ "a/b;q=0.4, a/b;q=0.6", "a/b", 600 },
	/* Weights. */
	{ "a/b;q=1", "a/b", 1000 },
	{ "a/b;q=1.000", "a/b", 1000 },
	{ "a/b ; Q=0.125 ; ext=1", "a/b", 125 },
	{ "a/b;q=0.0019", "a/b", 1 },
	{ "a/b;q=0.", "a/b", 0 },
	{ "a/b;x=\"q=0;,\\\"\";q=0.7", "a/b", 700 },
	/* As Java's URLConnection sends it. */
	{ "text/html, *; q=.2, */*; q=.2", "image/jpeg", 200 },
	/* Members that are not valid are as if they were not there. */
	{ "a/b;q=", "a/b", 1000 },
	{ "a/b;q=.", "a/b", 1000 },
	{ "a/b;q=1.001", "a/b", 1000 },
	{ "a/b;q=2", "a/b", 1000 },
	{ "a/b;q=-1", "a/b", 1000 },
	{ "a/b;q=0.5x", "a/b", 1000 },
	{ "a/b;q=high, */*;q=0.1", "a/b", 100 },
	/* Browsers. */
	{ "text/html,application/xhtml+xml,application/xml;q=0.9,"
	  "image/avif,image/webp,*/*;q=0.8",
	  "image/webp", 1000 },
	{ "text/html,application/xhtml+xml,application/xml;q=0.9,"
	  "image/avif,image/webp,*/*;q=0.8",
	  "image/jpeg", 800 },
};

static void test_types_have_their_weight(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(weights); i++)
		CHECK_NUMBER(field_quality(
				     head_of("accept", weights[i].accept, NULL),
				     weights[i].type),
			     ==, weights[i].quality);
	CHECK_NUMBER(field_quality(head_of("Accept", "*/*;q=0.1", "a/b;q=0.2"),
				   "a/b"),
		     ==, 200);
}

/* The weight of image/webp by its own name. */
static uint32_t named(const char *accept)
{
	return field_quality_named(head_of("Accept", accept, NULL),
				   "image/webp");
}

static void test_ranges_name_no_type(void)
{
	CHECK_NUMBER(named(NULL), ==, 0);
	CHECK_NUMBER(named(""), ==, 0);
	CHECK_NUMBER(named("*/*, *, image/*"), ==, 0);
	CHECK_NUMBER(named("image/jpeg, image/webp;q=x"), ==, 0);
	CHECK_NUMBER(named("image/*, image/webp;q=0.5"), ==, 500);
	CHECK_NUMBER(named("image/webp;q=0, image/*"), ==, 0);
	CHECK_NUMBER(named("image/webp;a=b;q=0.9"), ==, 900);
	CHECK_NUMBER(named("image/webp;a=b;q=0.9, image/webp;q=0"), ==, 0);
}

static bool has_tag(const char *first, const char *second,
		    enum field_tags comparison)
{
	return field_has_tag(head_of("If-Match", first, second), "if-match",
			     "\"a\"", comparison);
}

static bool is_strong(const char *first, const char *second)
{
	return has_tag(first, second, FIELD_TAGS_STRONG);
}

static bool is_weak(const char *first, const char *second)
{
	return has_tag(first, second, FIELD_TAGS_WEAK);
}

static void test_tags_are_found(void)
{
	static const char *const others[] = {
		"",
		"\"aa\"",
		"a",
		"\"",
		"\"b\" x, \"a\"",
		"\"x, \"a\"",
		"w/\"a\"",
		"\"b\"\"a\"",
		"\"A\"",
		"W/ \"a\"",
		"**",
		"\"b\", *",
	};

	CHECK(is_strong("\"a\"", NULL));
	CHECK(is_weak("\"a\"", NULL));
	CHECK(is_strong("\"b\", \"c,d\" ,\"a\"", NULL));
	CHECK(is_strong("\"b\"", "\"a\""));
	CHECK(is_weak("W/\"b\"", "W/\"a\""));
	CHECK(is_strong("\"b\\\", \"a\"", NULL)); /* \ is not special */
	CHECK(!is_strong("W/\"a\"", NULL));
	CHECK(is_weak("W/\"a\"", NULL));
	CHECK(is_strong("W/\"a\", \"a\"", NULL));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		CHECK(!is_strong(others[i], NULL) && !is_weak(others[i], NULL));
	CHECK(!is_strong(NULL, NULL));
}

/* It must be alone: next to tags it is not valid, and names nothing. */
static void test_a_star_is_any(void)
{
	const struct request_head *head;

	CHECK(is_strong("*", NULL));
	CHECK(is_weak("*", NULL));
	CHECK(!is_strong("*", "\"b\""));
	CHECK(!is_strong("\"b\"", "*"));
	CHECK(is_strong("*", "\"a\""));
	head = head_of("If-Match", "*", NULL);
	CHECK(field_has_tag(head, "If-Match", "", FIELD_TAGS_STRONG));
	CHECK(!field_has_tag(head, "If-Match", NULL, FIELD_TAGS_STRONG));
	/* What is not known is like no tag. */
	head = head_of("If-Match", "\"\", \"a\"", NULL);
	CHECK(!field_has_tag(head, "If-Match", "", FIELD_TAGS_WEAK));
}

int main(void)
{
	test_members_are_found();
	test_words_are_found();
	test_types_have_their_weight();
	test_ranges_name_no_type();
	test_tags_are_found();
	test_a_star_is_any();
	return 0;
}
