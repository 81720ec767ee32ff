/* SPDX-License-Identifier: MIT */
/*
 * Promises: the format of a result is the one that Accept prefers, of those
 * that are offered; a client gets only what it has named, or what all can show;
 * a list of formats is read, or what is wrong with it is named.
 *
 * The formats are made up, so the choice is the same whatever is built in.
 */
#include "service/http/head/formats.h"

#include "base/test/check.h"
#include "base/util.h"

#include <stdio.h>
#include <string.h>

enum { FORMATS_MAX = 8 };

static const struct img_format known[] = {
	{ .word = "jpeg", .media_type = "image/jpeg" },
	{ .word = "png", .media_type = "image/png" },
	{ .word = "webp", .media_type = "image/webp" },
	{ .word = "avif", .media_type = "image/avif" },
	{ .word = "jxl", .media_type = "image/jxl" },
	{ .word = "ppm", .media_type = "image/x-portable-anymap" },
};

static const struct img_format *known_as(const char *word, size_t bytes)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strlen(known[i].word) == bytes &&
		    memcmp(known[i].word, word, bytes) == 0)
			return &known[i];
	CHECK(!"a known word");
	return NULL;
}

/* A head with this Accept; NULL: with none. */
static const struct request_head *head_of(const char *accept)
{
	static struct http_field fields[2];
	static struct request_head head;

	fields[0] = (struct http_field){ "Host", "x" };
	fields[1] = (struct http_field){ "Accept", accept };
	head = (struct request_head){
		.fields = fields,
		.field_count = accept != NULL ? 2 : 1,
	};
	return &head;
}

/* The word of the choice from `words`, such as "webp,jpeg". */
static const char *choose(const char *words, const char *accept)
{
	const struct img_format *offered[FORMATS_MAX];
	uint32_t count = 0, chosen;

	for (;;) {
		size_t bytes = strcspn(words, ",");

		CHECK_NUMBER(count, <, FORMATS_MAX);
		offered[count++] = known_as(words, bytes);
		if (words[bytes] == '\0')
			break;
		words += bytes + 1;
	}
	chosen = formats_choose_of(offered, count, head_of(accept));
	CHECK_NUMBER(chosen, <, count);
	return offered[chosen]->word;
}

/* For pictures, and for pages, as of 2024 and later. */
#define CHROME                                                                 \
	"image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8"
#define CHROME_PAGE                                                            \
	"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,"    \
	"image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;"    \
	"q=0.7"
#define FIREFOX                                                                \
	"image/avif,image/webp,image/png,image/svg+xml,image/*;q=0.8,"         \
	"*/*;q=0.5"
#define FIREFOX_91 "image/webp,*/*"
#define FIREFOX_PAGE                                                           \
	"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
#define SAFARI                                                                 \
	"image/webp,image/avif,image/jxl,image/heic,image/heic-sequence,"      \
	"video/*;q=0.8,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5"
#define SAFARI_13                                                              \
	"image/png,image/svg+xml,image/*;q=0.8,video/*;q=0.8,*/*;q=0.5"
#define AXIOS "application/json, text/plain, */*"

static const struct {
	const char *offered, *accept, *chosen;
} choices[] = {
	/* Clients. */
	{ "avif,webp,jpeg", CHROME, "avif" },
	{ "webp,jpeg", CHROME, "webp" },
	{ "jpeg", CHROME, "jpeg" },
	{ "avif,webp,jpeg", CHROME_PAGE, "avif" },
	{ "avif,webp,jpeg", FIREFOX, "avif" },
	{ "webp,jpeg", FIREFOX, "webp" },
	{ "avif,webp,jpeg", FIREFOX_91, "webp" },
	{ "avif,webp,jpeg", FIREFOX_PAGE, "jpeg" },
	{ "avif,webp,jpeg", SAFARI, "avif" },
	{ "jxl,avif,webp,jpeg", SAFARI, "jxl" },
	{ "avif,webp,jpeg", SAFARI_13, "jpeg" },
	{ "avif,webp,png,jpeg", SAFARI_13, "png" },
	{ "avif,webp,jpeg", "*/*", "jpeg" }, /* curl, fetch() of Node, Go */
	{ "avif,webp,jpeg", AXIOS, "jpeg" },
	{ "avif,webp,jpeg", "image/*", "jpeg" },
	{ "avif,webp,jpeg", "text/html, *; q=.2, */*; q=.2", "jpeg" },
	/* At equal weight, the order of the list. */
	{ "webp,avif,jpeg", CHROME, "webp" },
	{ "jpeg,webp", CHROME, "jpeg" },
	{ "jpeg,webp", "image/webp,image/jpeg", "jpeg" },
	{ "png,jpeg", "*/*", "png" },
	/* A higher weight comes first. */
	{ "avif,webp,jpeg", "image/webp,image/avif;q=0.9", "webp" },
	{ "webp,jpeg", "image/webp;q=0.4,image/jpeg;q=0.5", "jpeg" },
	{ "webp,jpeg", "image/webp;q=0.001,image/jpeg;q=0", "webp" },
	{ "webp,jpeg", "image/webp;q=0.9,image/*", "jpeg" },
	{ "jpeg,png", "image/png,*/*;q=0.9", "png" },
	/* The most specific range counts. */
	{ "webp,jpeg", "image/*,image/webp;q=0.5", "jpeg" },
	{ "png,jpeg", "image/png;q=0.2,image/*;q=0.3", "jpeg" },
	/* q=0: not this one. */
	{ "webp,jpeg", "image/webp;q=0,*/*", "jpeg" },
	{ "avif,webp,jpeg", "image/avif;q=0,image/webp,*/*;q=0.1", "webp" },
	{ "png,jpeg", "image/png;q=0,*/*", "jpeg" },
	/* A type is named, whatever case and parameters it has. */
	{ "webp,jpeg", "IMAGE/WebP", "webp" },
	{ "webp,jpeg", "image/webp;a=b", "webp" },
	{ "webp,jpeg", "image/webp-x,image/web", "jpeg" },
	{ "ppm,jpeg", "image/x-portable-anymap", "ppm" },
	{ "ppm,jpeg", CHROME, "jpeg" },
	/* No Accept, or none that is valid, says nothing. */
	{ "avif,webp,jpeg", NULL, "jpeg" },
	{ "avif,webp,jpeg", "", "jpeg" },
	{ "avif,webp,jpeg", ", ,", "jpeg" },
	{ "avif,webp,jpeg", "image/webp;q=high", "jpeg" },
	{ "avif,webp,jpeg", "image/webp;q=1.5, image/avif;q=", "jpeg" },
	{ "webp,jpeg", "image/avif;q=2, image/webp", "webp" },
	{ "webp,png,jpeg", NULL, "png" },
	/* Nothing fits: what all can show, or the last. */
	{ "avif,webp,jpeg", "text/html", "jpeg" },
	{ "webp,jpeg", "image/jpeg;q=0,image/png", "jpeg" },
	{ "webp,png,jpeg", "*/*;q=0", "png" },
	{ "avif,webp", "*/*", "webp" },
	{ "avif,webp", NULL, "webp" },
	{ "avif,webp", "application/json", "webp" },
	{ "webp", "image/jpeg", "webp" },
};

static void test_accept_decides(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(choices); i++) {
		check_case("choices[%zu]: %s of %s", i, choices[i].accept,
			   choices[i].offered);
		CHECK_TEXT(choose(choices[i].offered, choices[i].accept),
			   choices[i].chosen);
	}
}

/* What is read, as words with spaces behind; "": it is refused. */
static const char *list(const char *text, char why[FORMATS_WHY_BYTES])
{
	static char words[FORMATS_WHY_BYTES];
	struct formats f;
	size_t at = 0;

	words[0] = why[0] = '\0';
	if (!formats_read(&f, text, IMG_RESULT_FORMATS, why))
		return words;
	for (uint32_t i = 0; i < f.count; i++)
		at += (size_t)snprintf(words + at, sizeof(words) - at, "%s ",
				       img_formats[f.list[i]]->word);
	return words;
}

static void test_lists_are_read(void)
{
	char why[FORMATS_WHY_BYTES];

	CHECK_TEXT(list("jpeg", why), "jpeg ");
	CHECK_TEXT(list("ppm,jpeg", why), "ppm jpeg ");
	CHECK_TEXT(list("jpeg,ppm", why), "jpeg ppm ");
}

static void test_bad_lists_are_refused(void)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "", "'' is not built in; those that are: jpeg, " },
		{ "jpeg,", "'' is not built in" },
		{ ",jpeg", "'' is not built in" },
#ifdef IMG_GIF
		{ "jpeg,gif",
		  "'gif' is only read; those that are written: jpeg, " },
#endif
		{ "jpe", "'jpe' is not built in" },
		{ "JPEG", "'JPEG' is not built in" },
		{ "ppm, jpeg", "' jpeg' is not built in" },
		{ "auto", "'auto' is not built in" },
		{ "jpeg,ppm,jpeg", "jpeg is given twice" },
		{ "a-word-that-is-longer-than-any-other",
		  "'a-word-that-is-longer-th' is not" },
	};
	char why[FORMATS_WHY_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		check_case("bad[%zu]: %s", i, bad[i].text);
		CHECK_TEXT(list(bad[i].text, why), "");
		CHECK_PART(why, bad[i].why);
	}
}

/* Those of webp, jxl, avif and jpeg that are built in. */
static void test_usual_formats(void)
{
	static const char *const usual[] = { "webp", "jxl", "avif", "jpeg" };
	char why[FORMATS_WHY_BYTES], wanted[64] = "";
	size_t at = 0;

	for (size_t i = 0; i < ARRAY_SIZE(usual); i++)
		for (uint32_t k = 0; k < IMG_FORMATS; k++)
			if (strcmp(img_formats[k]->word, usual[i]) == 0)
				at += (size_t)snprintf(wanted + at,
						       sizeof(wanted) - at,
						       "%s ", usual[i]);
	CHECK_TEXT(list(NULL, why), wanted);
	CHECK_PART(wanted, "jpeg ");
}

static void test_a_list_is_what_is_offered(void)
{
	char why[FORMATS_WHY_BYTES];
	struct formats f;

	CHECK(formats_read(&f, "ppm,jpeg", IMG_RESULT_FORMATS, why));
	CHECK_NUMBER(formats_choose(&f, head_of("*/*")), ==, IMG_FORMAT_JPEG);
	CHECK_NUMBER(formats_choose(&f, head_of("image/x-portable-anymap")), ==,
		     IMG_FORMAT_PPM);
	CHECK(formats_read(&f, NULL, IMG_RESULT_FORMATS, why));
	CHECK_NUMBER(formats_choose(&f, head_of("image/x-portable-anymap")), ==,
		     IMG_FORMAT_JPEG);
	CHECK_NUMBER(formats_choose(&f, head_of(NULL)), ==, IMG_FORMAT_JPEG);
#ifdef IMG_WEBP
	CHECK_NUMBER(formats_choose(&f, head_of("image/webp")), ==,
		     IMG_FORMAT_WEBP);
#endif
}

int main(void)
{
	test_accept_decides();
	test_lists_are_read();
	test_bad_lists_are_refused();
	test_usual_formats();
	test_a_list_is_what_is_offered();
	return 0;
}
