/* SPDX-License-Identifier: MIT */
/*
 * Promises: the id of a stored image lasts.  image_ids.txt has requests, and
 * the ids that they had before ids had versions.  This program is built twice:
 * with the parameters as they are, and as a later release that has two more of
 * them (see CMakeLists.txt).  Both give these ids, so an upload that both
 * understand is one image.  The id of a request that only the later one
 * understands says its version.
 */
#include "service/http/handlers/images/image_meta.h"

#include "base/test/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 1024, ARGUMENTS_MAX = 64, REQUESTS = 224 };

static const uint8_t jpeg[] = "not quite a JPEG";

/* Print the text of a request, whose id it is of.  Returns its version. */
static uint32_t print_request(char out[IMAGE_REQUEST_BYTES], const char *owner,
			      const char *query)
{
	char text[LINE_BYTES], detail[PARAMS_DETAIL_BYTES];
	struct http_field arguments[ARGUMENTS_MAX];
	struct variant variants[VARIANTS_MAX] = { 0 };
	struct upload u = { .variants = variants };
	struct query q;
	uint32_t count;

	(void)snprintf(text, sizeof(text), "%s", query);
	count = query_split(text, arguments, ARGUMENTS_MAX);
	query_init(&q);
	for (uint32_t i = 0; i < count; i++)
		CHECK(query_set(&q, arguments[i].name, arguments[i].value,
				detail));
	u.variant_count = query_picture_count(&q);
	CHECK(query_make(&q, NULL, IMG_FORMAT_PPM, &u, detail));
	return image_request_print(out, &u, owner);
}

static void id_of(char id[STORE_ID_BYTES], const char *owner, const char *query)
{
	char request[IMAGE_REQUEST_BYTES];
	uint32_t version = print_request(request, owner, query);

	image_id(id, version, request, jpeg, sizeof(jpeg));
	CHECK(store_is_id(id));
	CHECK_NUMBER(store_id_version(id), ==, version);
}

/* "ID, tab, OWNER, tab, QUERY" */
static void check_line(char *line)
{
	char *wanted = strsep(&line, "\t"), *owner = strsep(&line, "\t");
	char id[STORE_ID_BYTES];

	CHECK(line != NULL);
	line[strcspn(line, "\n")] = '\0';
	id_of(id, owner, line);
	if (strcmp(id, wanted) != 0)
		(void)printf("the id of '%s' was %s and is now %s: images that "
			     "are stored would be stored again\n",
			     line, wanted, id);
	CHECK_TEXT(id, wanted);
}

static void test_ids_are_those_of_before(void)
{
	FILE *in = fopen(IMAGE_IDS, "r");
	char line[LINE_BYTES];
	uint32_t count = 0;

	CHECK(in != NULL);
	for (; fgets(line, sizeof(line), in) != NULL; count++)
		check_line(line);
	CHECK_NUMBER(count, ==, REQUESTS);
	(void)fclose(in);
}

/*
 * What a later release writes to the spool: with the parameters of today, with
 * one more that counts for the upload, and with one more of a variant.
 */
#define REQUEST(of_upload, of_variant)                                         \
	"darkroom 2\nowner=\n" of_upload "strict=1\nplaceholder=0\n"           \
	"variant=image:" of_variant                                            \
	"fit=inside,gravity=centre,filter=lanczos3,enlarge=0,orient=1,blur=0," \
	"q=80,icc=srgb,chroma=420,progressive=0,optimize=0\n\n"
static const char plain_text[] = REQUEST("", "");
static const char upload_text[] = REQUEST("later_upload=1\n", "");
static const char variant_text[] = REQUEST("", "later=1,");

/* Can this program make the image of a text in the spool? */
static bool is_understood(const char *text)
{
	char copy[IMAGE_REQUEST_BYTES], owner[OWNER_BYTES];
	char detail[PARAMS_DETAIL_BYTES] = "";
	struct variant variants[VARIANTS_MAX] = { 0 };
	struct upload u = { .variants = variants };
	struct query q;
	bool ok;

	(void)snprintf(copy, sizeof(copy), "%s", text);
	ok = image_request_read(copy, &q, owner, detail);
	u.variant_count = ok ? query_picture_count(&q) : 0;
	ok = ok && query_make(&q, NULL, IMG_FORMAT_PPM, &u, detail);
	CHECK(ok || detail[0] != '\0');
	return ok;
}

#ifdef TEST_LATER
static void check_version(uint32_t version, const char *query)
{
	char request[IMAGE_REQUEST_BYTES];

	CHECK_NUMBER(print_request(request, "", query), ==, version);
	CHECK(is_understood(request));
}

/* `later` came with version 2, and `later_upload` with 3. */
static void test_an_id_says_its_version(void)
{
	char id[STORE_ID_BYTES], plain[STORE_ID_BYTES];

	check_version(1, "");
	check_version(1, "later=0&later_upload=0");
	check_version(2, "later=1");
	check_version(2, "variant=a:&variant=b:later=1&variant=c:");
	check_version(3, "later_upload=1");
	check_version(3, "later=1&later_upload=1");
	id_of(plain, "", "w=640");
	id_of(id, "", "w=640&later=1");
	CHECK_NUMBER(id[STORE_ID_BYTES - 2], ==, 'g');
	CHECK(memcmp(plain, id, STORE_ID_BYTES - 2) != 0);
	id_of(id, "", "w=640&later=0&later_upload=0");
	CHECK_TEXT(id, plain);
}

static void test_texts_of_releases_are_read(void)
{
	char text[IMAGE_REQUEST_BYTES];

	print_request(text, "", "");
	CHECK_TEXT(text, plain_text);
	print_request(text, "", "later_upload=1");
	CHECK_TEXT(text, upload_text);
	print_request(text, "", "later=1");
	CHECK_TEXT(text, variant_text);
	CHECK(is_understood(plain_text));
	CHECK(is_understood(upload_text));
	CHECK(is_understood(variant_text));
}
#else
static void test_an_id_says_its_version(void)
{
	char id[STORE_ID_BYTES];

	for (uint32_t i = 0; i < params_count; i++)
		CHECK(params_table[i].since >= 1 &&
		      params_table[i].since <= STORE_ID_VERSIONS);
	image_id(id, 2, plain_text, jpeg, sizeof(jpeg));
	CHECK(store_is_id(id));
	CHECK_NUMBER(store_id_version(id), ==, 2);
	image_id(id, STORE_ID_VERSIONS, plain_text, jpeg, sizeof(jpeg));
	CHECK(store_is_id(id));
	CHECK_NUMBER(store_id_version(id), ==, STORE_ID_VERSIONS);
}

/* It cannot make what it does not understand, and must not make another. */
static void test_texts_of_releases_are_read(void)
{
	CHECK(is_understood(plain_text));
	CHECK(!is_understood(upload_text));
	CHECK(!is_understood(variant_text));
}
#endif

int main(void)
{
	test_ids_are_those_of_before();
	test_an_id_says_its_version();
	test_texts_of_releases_are_read();
	return 0;
}
