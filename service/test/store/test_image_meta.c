/* SPDX-License-Identifier: MIT */
/*
 * Promises: the id of an image depends on everything that was requested.  Every
 * value of every parameter has its own id, every byte of the structs that
 * parameters are read into changes the id, and the printed request is read back
 * as the same request.  Parameters come from params_table, so that a new one is
 * tested without a change here.  The meta of an image shows when it is damaged.
 */
#include "service/http/handlers/images/image_meta.h"

#include "base/test/check.h"
#include "base/util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IDS_MAX = 256 };

static const uint8_t jpeg[] = "not quite a JPEG";
static char ids[IDS_MAX][STORE_ID_BYTES];
static uint32_t id_count;

static void id_of_upload(char id[STORE_ID_BYTES], const struct upload *u,
			 const char *owner)
{
	char request[IMAGE_REQUEST_BYTES];
	uint32_t version = image_request_print(request, u, owner);

	image_id(id, version, request, u->jpeg, u->jpeg_bytes);
}

static void id_of(char id[STORE_ID_BYTES], struct variant *variants,
		  uint32_t count, struct upload_wants wants)
{
	struct upload u = { .jpeg = jpeg,
			    .jpeg_bytes = sizeof(jpeg),
			    .variants = variants,
			    .variant_count = count,
			    .wants = wants };

	id_of_upload(id, &u, "");
	CHECK(store_is_id(id));
}

static void id_of_params(char id[STORE_ID_BYTES], const struct params *p)
{
	struct variant v = { .transform = p->transform };

	id_of(id, &v, 1, p->wants);
}

/* Is this an id that no other request had? */
static bool add_id(const char *id)
{
	for (uint32_t i = 0; i < id_count; i++)
		if (strcmp(ids[i], id) == 0)
			return false;
	CHECK_NUMBER(id_count, <, IDS_MAX);
	(void)memcpy(ids[id_count++], id, STORE_ID_BYTES);
	return true;
}

static bool is_same(const struct params *a, const struct params *b)
{
	char ta[PARAMS_TEXT_BYTES], tb[PARAMS_TEXT_BYTES];
	bool same = true;

	for (int is_of_upload = 0; is_of_upload < 2; is_of_upload++) {
		params_print(ta, a, is_of_upload, '\n');
		params_print(tb, b, is_of_upload, '\n');
		same = same && strcmp(ta, tb) == 0;
	}
	return same;
}

/* Print the request, read it back, and compare. */
static void check_print(const struct upload *u)
{
	char text[QUERY_TEXT_BYTES], again[QUERY_TEXT_BYTES];
	char copy[QUERY_TEXT_BYTES], detail[PARAMS_DETAIL_BYTES];
	struct variant variants[VARIANTS_MAX] = { 0 };
	struct upload read = { .variants = variants };
	struct query q;

	query_print(text, u);
	(void)strcpy(copy, text);
	CHECK(query_read(&q, copy, detail));
	read.variant_count = query_picture_count(&q);
	CHECK(query_make(&q, NULL, IMG_FORMAT_PPM, &read, detail));
	CHECK_NUMBER(read.variant_count, ==, u->variant_count);
	for (uint32_t i = 0; i < u->variant_count; i++) {
		struct params asked = { .transform = u->variants[i].transform,
					.wants = u->wants };
		struct params got = { .transform = variants[i].transform,
				      .wants = read.wants };

		CHECK_TEXT(query_variant_name(&u->variants[i]),
			   variants[i].name);
		CHECK(is_same(&asked, &got));
	}
	query_print(again, &read);
	CHECK_TEXT(text, again);
}

/*
 * A value other than the default gives an id that no request has had; but the
 * format auto is no value of its own, and here means the default format.
 */
static void try_value(const struct param *param, const char *value)
{
	bool is_auto = strcmp(param->name, "format") == 0 &&
		       strcmp(value, "auto") == 0;
	char id[STORE_ID_BYTES], detail[PARAMS_DETAIL_BYTES];
	struct variant v = { .name = "" };
	struct upload u = { .jpeg = jpeg,
			    .jpeg_bytes = sizeof(jpeg),
			    .variants = &v,
			    .variant_count = 1 };
	struct query q;

	query_init(&q);
	CHECK(query_set(&q, param->name, value, detail));
	CHECK(query_make(&q, NULL, IMG_FORMAT_JPEG, &u, detail));
	id_of_upload(id, &u, "");
	check_print(&u);
	CHECK_NUMBER(add_id(id), ==,
		     (param->default_text == NULL ||
		      strcmp(param->default_text, value) != 0) &&
			     !is_auto);
}

/* The `k`th value of a kind without words. */
static void print_number(char *value, size_t bytes, enum param_kind kind,
			 double number, uint32_t k)
{
	switch (kind) {
	case PARAM_COLOUR:
		(void)snprintf(value, bytes, "%06x", (uint32_t)number);
		break;
	case PARAM_RECT:
		(void)snprintf(value, bytes, "%u,%u,%u,%u", k == 0, k == 1,
			       1 + (k == 2), 1 + (k == 3));
		break;
	case PARAM_SIDES:
		(void)snprintf(value, bytes, "%u,%u,%u,%u", k == 0, k == 1,
			       k == 2, k == 3);
		break;
	case PARAM_SCORE:
		(void)snprintf(value, bytes, PARAMS_SCORE_PREFIX "%.10g",
			       number);
		break;
	case PARAM_NAME:
		(void)snprintf(value, bytes, "mark-%u", k);
		break;
	case PARAM_POINT:
		(void)snprintf(value, bytes, "0.%u,0.%u", k, 9 - k);
		break;
	default:
		(void)snprintf(value, bytes, "%.10g", number);
	}
}

static void test_each_value_has_its_own_id(void)
{
	static const char *const names[] = { "mark-0", "mark-1", "mark-2",
					     "mark-3" };
	char id[STORE_ID_BYTES], value[64];
	struct params p;

	params_set_watermarks(names, ARRAY_SIZE(names));
	params_init(&p);
	id_of_params(id, &p);
	CHECK(add_id(id)); /* the id of the defaults */
	CHECK_NUMBER(params_count, >=, 15);
	for (uint32_t i = 0; i < params_count; i++) {
		const struct param *param = &params_table[i];
		/* Wholes, unless the range has fewer than three. */
		const double step = fmin(1, (param->max - param->min) / 4);
		const double numbers[] = { param->min, param->min + step,
					   param->max - step, param->max };

		for (uint32_t k = 0; k < param->word_count; k++)
			try_value(param, param->words[k].name);
		for (uint32_t k = 0; param->word_count == 0 && k < 4; k++) {
			print_number(value, sizeof(value), param->kind,
				     numbers[k], k);
			try_value(param, value);
		}
	}
}

#if !defined(__clang__) /* it cannot tell which bytes are padding */
/*
 * Change each byte of a member of struct params.  Bytes that are 0 in `mask`
 * belong to no field.
 */
static void check_each_byte(size_t offset, const void *mask, size_t bytes,
			    const char *name)
{
	char id[STORE_ID_BYTES], other_id[STORE_ID_BYTES];

	for (size_t i = 0; i < bytes; i++) {
		struct params plain, other;

		if (((const unsigned char *)mask)[i] == 0)
			continue;
		(void)memset(&plain, 0, sizeof(plain));
		(void)memset(&other, 0, sizeof(other));
		((unsigned char *)&other)[offset + i] = 1;
		id_of_params(id, &plain);
		id_of_params(other_id, &other);
		if (strcmp(id, other_id) == 0)
			(void)printf(
				"byte %zu of %s is in no id: has its member an "
				"entry in params_table "
				"(service/http/head/params.c)?\n",
				i, name);
		CHECK(strcmp(id, other_id) != 0);
	}
}

static void test_each_byte_changes_the_id(void)
{
	struct img_transform transform;
	struct upload_wants wants;

	(void)memset(&transform, 0xff, sizeof(transform));
	(void)memset(&wants, 0xff, sizeof(wants));
	__builtin_clear_padding(&transform);
	__builtin_clear_padding(&wants);
	check_each_byte(offsetof(struct params, transform), &transform,
			sizeof(transform), "struct img_transform");
	check_each_byte(offsetof(struct params, wants), &wants, sizeof(wants),
			"struct upload_wants");
}
#else
static void test_each_byte_changes_the_id(void)
{
}
#endif

static void test_number_and_names_of_variants_count(void)
{
	const struct upload_wants none = { .placeholder = false };
	struct variant v[VARIANTS_MAX] = { { .name = "a" } };
	char id[STORE_ID_BYTES], other[STORE_ID_BYTES];
	struct params p;

	params_init(&p);
	for (uint32_t i = 0; i < VARIANTS_MAX; i++) {
		/* The longest names. */
		(void)snprintf(v[i].name, sizeof(v[i].name), "%032u", i);
		v[i].transform = p.transform;
		v[i].transform.box = (struct img_size){ 16384, 16384 };
		v[i].transform.blur_sigma_px = 1 / 3.0;
		id_of(id, v, i + 1, none);
		CHECK(add_id(id));
		check_print(&(struct upload){ .variants = v,
					      .variant_count = i + 1 });
	}
	id_of(id, v, 2, none);
	(void)strcpy(v[1].name, "b");
	id_of(other, v, 2, none);
	CHECK(strcmp(id, other) != 0);
	/* The picture of a plain request is stored as "image". */
	v[0].name[0] = '\0';
	id_of(id, v, 1, none);
	(void)strcpy(v[0].name, "image");
	id_of(other, v, 1, none);
	CHECK_TEXT(id, other);
}

/* With the longest value of each parameter, the text is read again. */
static void test_the_longest_request_is_read_again(void)
{
	static const char *const watermark = "0123456789abcdef0123456789abcdef";
	struct variant v = { .name = "0123456789abcdef0123456789abcdef" };
	struct upload u = { .variants = &v, .variant_count = 1 };
	struct params p;

	params_set_watermarks(&watermark, 1);
	params_init(&p);
	p.transform.box = (struct img_size){ 16384, 16384 };
	p.transform.fit = IMG_FIT_INSIDE;
	p.transform.gravity = IMG_SOUTHEAST;
	p.transform.filter = IMG_CATMULL_ROM;
	p.transform.quality = 100;
	p.transform.format = IMG_FORMAT_PPM;
	p.transform.background = 0x123456;
	p.transform.lossless = p.transform.keep_gainmap = true;
	p.transform.enlarge = p.transform.as_stored = true;
	p.transform.keep_profile = true;
	p.transform.chroma = IMG_CHROMA_AUTO;
	p.transform.progressive = p.transform.optimize = true;
	p.transform.effort = 9;
	p.transform.bytes_max = 1 << 30;
	p.transform.rotation = IMG_ROTATE_270;
	p.transform.flip = IMG_FLIP_V;
	p.transform.crop = (struct img_rect){ 65500, 65500, 65500, 65500 };
	p.transform.focus = (struct img_point){ -1234, -1234 };
	p.transform.dpr = 0.10000000000000002;
	p.transform.greyscale = true;
	p.transform.sharpen_sigma_px = 9.0000000000000018;
	p.transform.pad = (struct img_sides){ 16384, 16384, 16384, 16384 };
	p.transform.watermark = 1;
	p.transform.watermark_position = IMG_NORTHWEST;
	p.transform.watermark_opacity = 0.10000000000000002;
	p.transform.watermark_scale = 0.10000000000000002;
	v.transform = p.transform;
	check_print(&u);
}

static void test_owner_and_bytes_count(void)
{
	struct variant v = { .name = "" };
	struct upload u = { .jpeg = jpeg,
			    .jpeg_bytes = sizeof(jpeg),
			    .variants = &v,
			    .variant_count = 1 };
	char id[STORE_ID_BYTES], other[STORE_ID_BYTES];

	id_of_upload(id, &u, "");
	id_of_upload(other, &u, "somebody");
	CHECK(strcmp(id, other) != 0);
	u.jpeg_bytes--;
	id_of_upload(other, &u, "");
	CHECK(strcmp(id, other) != 0);
}

/* A text with any byte changed, missing or added is refused. */
static void test_meta_tells_damage_of_itself(void)
{
	static uint8_t bytes[] = "a picture";
	struct variant v = { .name = "",
			     .jpeg = bytes,
			     .jpeg_bytes = sizeof(bytes) };
	struct upload u = { .jpeg = jpeg,
			    .jpeg_bytes = sizeof(jpeg),
			    .variants = &v,
			    .variant_count = 1 };
	char id[STORE_ID_BYTES];
	struct stored_picture picture;
	char *meta, *copy, *seal;
	size_t count;

	id_of_upload(id, &u, "");
	meta = image_meta(id, &u);
	CHECK(meta != NULL);
	CHECK(image_meta_is_whole(meta));
	CHECK(image_meta_find(meta, "image", &picture));
	CHECK(store_is_sha256(picture.sha256));
	CHECK_TEXT(picture.media_type, "image/jpeg");
	CHECK_TEXT(picture.file, "image.jpg");
	CHECK(!image_meta_find(meta, "other", &picture));
	count = strlen(meta);
	copy = calloc(1, count + 2);
	CHECK(copy != NULL);
	seal = strstr(meta, ",\"meta_sha256\"");
	for (size_t i = 0; i < count; i++) {
		(void)strcpy(copy, meta);
		copy[i] ^= 1;
		CHECK(!image_meta_is_whole(copy));
		copy[i] = '\0';
		CHECK(!image_meta_is_whole(copy));
	}
	(void)strcpy(copy, meta);
	(void)strcat(copy, " ");
	CHECK(!image_meta_is_whole(copy));
	/* Without its checksum, which a name that is damaged hides, too. */
	(void)strcpy(copy, meta);
	(void)strcpy(copy + (seal - meta), "}\n");
	CHECK(!image_meta_is_whole(copy));
	CHECK(!image_meta_is_whole(""));
	CHECK(!image_meta_is_whole("{}"));
	free(copy);
	free(meta);
}

/* A picture of this media type is in this file; NULL: there is none. */
static void check_file_of(const char *media_type, const char *file)
{
	struct stored_picture picture;
	char meta[512];
	bool is_found;

	(void)snprintf(meta, sizeof(meta),
		       "{\"variants\":[{\"name\":\"a\",\"type\":\"%s\","
		       "\"sha256\":\"%064d\"}]}",
		       media_type, 0);
	is_found = image_meta_find(meta, "a", &picture);
	CHECK_NUMBER(is_found, ==, (file != NULL));
	CHECK(!is_found || (strcmp(picture.media_type, media_type) == 0 &&
			    strcmp(picture.file, file) == 0));
}

/*
 * Versions find each other's pictures: those of formats after the first two end
 * as their media type does.
 */
static void test_formats_of_other_versions_have_files(void)
{
	char file[64];

	for (uint32_t i = 0; i < IMG_FORMATS; i++) {
		const struct img_format *f = img_formats[i];

		CHECK_NUMBER(strlen(f->suffix), <=, STORE_ENDING_CHARS);
		CHECK(i == IMG_FORMAT_JPEG || i == IMG_FORMAT_PPM ||
		      strcmp(strchr(f->media_type, '/') + 1, f->suffix) == 0);
		(void)snprintf(file, sizeof(file), "a.%s", f->suffix);
		check_file_of(f->media_type, file);
	}
	check_file_of("image/webp", "a.webp");
	check_file_of("image/jxl", "a.jxl");
	check_file_of("image/", NULL);
	check_file_of("image/x-other", NULL);
	check_file_of("image/../b", NULL);
	check_file_of("image/a\\nb", NULL);
	check_file_of("text/html", NULL);
	check_file_of("", NULL);
	check_file_of("image/x-a-media-type-of-many-characters", NULL);
}

static void test_broken_texts_are_refused(void)
{
	static const char *const texts[] = {
		"strict=1",
		"strict=1\nstrict=1\n",
		"strict=2\n",
		"\n",
		"wide=1\n",
		"variant=a\n",
		"variant=a:strict=0\n",
		"variant=a:w=1\nvariant=a:w=1\n",
		"variant=a:w=0\n",
		"strict=1\nvariant=a:gravity=?9\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct variant variants[VARIANTS_MAX] = { 0 };
		char copy[QUERY_TEXT_BYTES], detail[PARAMS_DETAIL_BYTES] = "";
		struct upload u = { .variants = variants };
		struct query q;
		bool ok;

		(void)strcpy(copy, texts[i]);
		ok = query_read(&q, copy, detail);
		u.variant_count = query_picture_count(&q);
		CHECK(!ok || !query_make(&q, NULL, IMG_FORMAT_PPM, &u, detail));
		CHECK_NUMBER(detail[0], !=, '\0');
	}
}

static void test_a_request_is_read_back_with_its_owner(void)
{
	struct variant v = { .name = "a" };
	struct upload u = { .variants = &v, .variant_count = 1 };
	char text[IMAGE_REQUEST_BYTES], owner[OWNER_BYTES];
	char detail[PARAMS_DETAIL_BYTES] = "", *end;
	struct query q;

	v.transform.quality = 7;
	image_request_print(text, &u, "some_body");
	CHECK(image_request_read(text, &q, owner, detail));
	CHECK_TEXT(owner, "some_body");
	CHECK_NUMBER(q.variant_count, ==, 1);
	/* Cut at any byte, it is not a valid request. */
	for (size_t i = 0;; i++) {
		image_request_print(text, &u, "some_body");
		end = text + strlen(text);
		if (text + i == end)
			break;
		text[i] = '\0';
		CHECK(!image_request_read(text, &q, owner, detail));
	}
}

/* The URLs of a reply begin with a base; all else is as it was. */
static void test_urls_get_a_base(void)
{
	static const char base[] = "https://photos.example/app";
	struct variant variants[2] = {
		{ .name = "a", .jpeg = (uint8_t *)"one", .jpeg_bytes = 3 },
		{ .name = "url", .jpeg = (uint8_t *)"two", .jpeg_bytes = 3 },
	};
	struct upload u = { .variants = variants, .variant_count = 2 };
	char id[STORE_ID_BYTES], wanted[128];
	char *meta, *below, *same;

	id_of_upload(id, &u, "");
	meta = image_meta(id, &u);
	CHECK(meta != NULL);
	below = image_meta_below(meta, base);
	CHECK(below != NULL);
	CHECK(image_meta_is_whole(below));
	CHECK_NUMBER(strlen(below), ==, strlen(meta) + 3 * strlen(base));
	(void)snprintf(wanted, sizeof(wanted), "\"url\":\"%s/v1/images/%s\"",
		       base, id);
	CHECK_PART(below, wanted);
	(void)snprintf(wanted, sizeof(wanted),
		       "\"url\":\"%s/v1/images/%s/url\"", base, id);
	CHECK_PART(below, wanted);
	free(below);
	same = image_meta_below(meta, "");
	CHECK(same != NULL);
	CHECK_TEXT(same, meta);
	free(same);
	free(meta);
}

/* The texts differ, so their tags do. */
static void test_each_base_has_its_own_etag(void)
{
	static const char *const bases[] = { "", "/app", "/ap",
					     "https://photos.example" };
	static const char meta[] = "{\"url\":\"" IMAGES_PATH "/x\"}\n";
	char etags[ARRAY_SIZE(bases)][ETAG_BYTES], again[ETAG_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(bases); i++) {
		image_meta_etag(etags[i], meta, bases[i]);
		image_meta_etag(again, meta, bases[i]);
		CHECK_TEXT(etags[i], again);
		for (size_t j = 0; j < i; j++)
			CHECK(strcmp(etags[i], etags[j]) != 0);
	}
}

int main(void)
{
	test_each_value_has_its_own_id();
	test_each_byte_changes_the_id();
	test_number_and_names_of_variants_count();
	test_the_longest_request_is_read_again();
	test_owner_and_bytes_count();
	test_formats_of_other_versions_have_files();
	test_meta_tells_damage_of_itself();
	test_urls_get_a_base();
	test_each_base_has_its_own_etag();
	test_broken_texts_are_refused();
	test_a_request_is_read_back_with_its_owner();
	return 0;
}
