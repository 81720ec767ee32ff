/* SPDX-License-Identifier: MIT */
#include "service/http/handlers/images/image_meta.h"

#include "service/http/reply/result.h"
#include "base/json.h"
#include "base/text.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <nettle/base16.h>
#include <nettle/sha2.h>

_Static_assert((int)SHA256_TEXT_BYTES == STORE_ID_BYTES, "ids are SHA-256");

static void sha256_finish(struct sha256_ctx *sha256,
			  char text[SHA256_TEXT_BYTES])
{
	uint8_t digest[SHA256_DIGEST_SIZE];

	sha256_digest(sha256, sizeof(digest), digest);
	base16_encode_update(text, sizeof(digest), digest);
	text[SHA256_TEXT_BYTES - 1] = '\0';
}

static const char request_begin[] = "darkroom 2\nowner=";

uint32_t image_request_print(char out[IMAGE_REQUEST_BYTES],
			     const struct upload *u, const char *owner)
{
	char query[QUERY_TEXT_BYTES];
	uint32_t version = query_print(query, u);
	int bytes;

	bytes = snprintf(out, IMAGE_REQUEST_BYTES, "%s%s\n%s\n", request_begin,
			 owner, query);
	assert(bytes < IMAGE_REQUEST_BYTES);
	return version;
}

bool image_request_read(char *text, struct query *q, char owner[OWNER_BYTES],
			char detail[PARAMS_DETAIL_BYTES])
{
	size_t begin_bytes = sizeof(request_begin) - 1;
	size_t bytes = strlen(text), owner_bytes;

	if (strncmp(text, request_begin, begin_bytes) != 0 || bytes < 2 ||
	    strcmp(text + bytes - 2, "\n\n") != 0) {
		(void)snprintf(detail, PARAMS_DETAIL_BYTES,
			       "It is not a request of this version.");
		return false;
	}
	text[bytes - 1] = '\0'; /* the empty line */
	text += begin_bytes;
	owner_bytes = strcspn(text, "\n");
	if (owner_bytes >= OWNER_BYTES) {
		(void)snprintf(detail, PARAMS_DETAIL_BYTES,
			       "Its owner has more than %d characters.",
			       OWNER_BYTES - 1);
		return false;
	}
	(void)memcpy(owner, text, owner_bytes);
	owner[owner_bytes] = '\0';
	return query_read(q, text + owner_bytes + 1, detail);
}

void image_id(char id[STORE_ID_BYTES], uint32_t version, const char *request,
	      const uint8_t *jpeg, size_t jpeg_bytes)
{
	struct sha256_ctx sha256;

	sha256_init(&sha256);
	sha256_update(&sha256, strlen(request), (const uint8_t *)request);
	sha256_update(&sha256, jpeg_bytes, jpeg);
	sha256_finish(&sha256, id);
	assert(version <= STORE_ID_VERSIONS);
	if (version > 1)
		id[STORE_ID_BYTES - 2] = (char)('g' + version - 2);
}

static void add_text_file(struct image_files *f, const char *name,
			  const char *text)
{
	f->files[f->count++] = (struct store_file){ name, text, strlen(text) };
}

static void add_pictures(struct image_files *f, const struct upload *u)
{
	for (uint32_t i = 0; i < u->variant_count; i++) {
		const struct variant *v = &u->variants[i];

		(void)snprintf(f->names[i], sizeof(f->names[i]), "%s.%s",
			       query_variant_name(v),
			       variant_format(v)->suffix);
		f->files[f->count++] =
			(struct store_file){ f->names[i], v->jpeg,
					     v->jpeg_bytes };
	}
}

void image_files_init(struct image_files *f, const struct upload *u,
		      const char *meta)
{
	f->count = 0;
	add_text_file(f, "meta.json", meta);
	add_pictures(f, u);
}

void image_files_add(struct image_files *f, const struct upload *u,
		     const char *made)
{
	f->count = 0;
	add_pictures(f, u);
	add_text_file(f, "made.json", made);
}

void sha256_print(char text[SHA256_TEXT_BYTES], const void *bytes, size_t count)
{
	struct sha256_ctx sha256;

	sha256_init(&sha256);
	sha256_update(&sha256, count, bytes);
	sha256_finish(&sha256, text);
}

/* The last member of a meta: the SHA-256 of all text before it. */
static const char seal_begin[] = ",\"meta_sha256\":\"";
static const char seal_end[] = "\"}\n";

enum {
	SEAL_BEGIN_CHARS = sizeof(seal_begin) - 1,
	SEAL_END_CHARS = sizeof(seal_end) - 1,
	SEAL_CHARS = SEAL_BEGIN_CHARS + SHA256_TEXT_BYTES - 1 + SEAL_END_CHARS,
};

/* Add the checksum, and end the object.  NULL: no memory. */
static char *add_checksum(char *text)
{
	size_t count = text != NULL ? strlen(text) : 0;
	char *sealed =
		text != NULL ? realloc(text, count + SEAL_CHARS + 1) : NULL;
	char sha256[SHA256_TEXT_BYTES];

	if (sealed == NULL) {
		free(text);
		return NULL;
	}
	sha256_print(sha256, sealed, count);
	(void)snprintf(sealed + count, SEAL_CHARS + 1, "%s%s%s", seal_begin,
		       sha256, seal_end);
	return sealed;
}

static void add_variant(struct json *j, const char *id, const struct variant *v)
{
	const char *name = query_variant_name(v);
	char url[sizeof(IMAGES_PATH) + STORE_ID_BYTES + VARIANT_NAME_BYTES];
	char sha256[SHA256_TEXT_BYTES];

	(void)snprintf(url, sizeof(url), IMAGES_PATH "/%s/%s", id, name);
	sha256_print(sha256, v->jpeg, v->jpeg_bytes);
	json_open_object(j, NULL);
	result_add_variant(j, v, name);
	json_add_text(j, "url", url);
	json_add_text(j, "sha256", sha256);
	json_close(j);
}

char *image_meta(const char *id, const struct upload *u)
{
	char url[sizeof(IMAGES_PATH) + STORE_ID_BYTES];
	struct text text;
	struct json j;
	FILE *out = text_open(&text);

	if (out == NULL)
		return NULL;
	(void)snprintf(url, sizeof(url), IMAGES_PATH "/%s", id);
	json_begin(&j, out, JSON_COMPACT);
	json_open_object(&j, NULL); /* add_checksum() closes it */
	json_add_text(&j, "id", id);
	json_add_text(&j, "url", url);
	result_add_upload(&j, u);
	json_open_array(&j, "variants");
	for (uint32_t i = 0; i < u->variant_count; i++)
		add_variant(&j, id, &u->variants[i]);
	json_close(&j);
	return add_checksum(text_close(&text, out));
}

char *image_meta_add(const char *meta, const char *id, const struct upload *u)
{
	static const char end[] = "]"; /* of the variants, before the seal */
	int kept = (int)(strlen(meta) - SEAL_CHARS - (sizeof(end) - 1));
	struct text text;
	struct json j;
	FILE *out = text_open(&text);

	if (out == NULL)
		return NULL;
	(void)fprintf(out, "%.*s", kept, meta);
	for (uint32_t i = 0; i < u->variant_count; i++) {
		(void)fputc(',', out);
		json_begin(&j, out, JSON_COMPACT);
		add_variant(&j, id, &u->variants[i]);
	}
	(void)fputs(end, out);
	return add_checksum(text_close(&text, out));
}

/* The text about an original; its URL is not that of a variant. */
static char *original_meta(const char *key, const char *id,
			   const struct upload *u)
{
	char url[sizeof(ORIGINALS_PATH) + STORE_ID_BYTES];
	char sha256[SHA256_TEXT_BYTES];
	struct text text;
	struct json j;
	FILE *out = text_open(&text);

	if (out == NULL)
		return NULL;
	(void)snprintf(url, sizeof(url), ORIGINALS_PATH "/%s", id);
	sha256_print(sha256, u->jpeg, u->jpeg_bytes);
	json_begin(&j, out, JSON_COMPACT);
	json_open_object(&j, NULL); /* add_checksum() closes it */
	json_add_text(&j, "id", key);
	json_open_array(&j, "variants");
	json_open_object(&j, NULL);
	json_add_text(&j, "name", ORIGINAL_NAME);
	json_add_text(&j, "type", u->header.format->media_type);
	json_add_whole(&j, "bytes", u->jpeg_bytes);
	json_add_text(&j, "url", url);
	json_add_text(&j, "sha256", sha256);
	json_close(&j);
	json_close(&j);
	return add_checksum(text_close(&text, out));
}

char *original_read_meta(const struct store_image *image, const char *key)
{
	struct store_part part;
	char *text = NULL;

	if (store_read(image, "meta.json", &part) != STORE_OK)
		return NULL;
	if (part.bytes <= META_BYTES_MAX)
		text = calloc(1, (size_t)part.bytes + 1);
	if (text != NULL &&
	    (pread(part.fd, text, (size_t)part.bytes, 0) !=
		     (ssize_t)part.bytes ||
	     !image_meta_is_whole(text) ||
	     !package_is_meta_of(text, (size_t)part.bytes, key))) {
		free(text);
		text = NULL;
	}
	(void)close(part.fd);
	return text;
}

bool original_read_id(char id[STORE_ID_BYTES], const char *meta)
{
	static const char before[] = "\"url\":\"" ORIGINALS_PATH "/";
	const char *at = strstr(meta, before);

	if (at == NULL)
		return false;
	(void)snprintf(id, STORE_ID_BYTES, "%s", at + sizeof(before) - 1);
	return store_is_id(id);
}

char *original_meta_packed(const char *meta, const void *packed,
			   size_t packed_bytes)
{
	static const char end[] = "}]"; /* of the variant, before the seal */
	int kept = (int)(strlen(meta) - SEAL_CHARS - (sizeof(end) - 1));
	char sha256[SHA256_TEXT_BYTES];
	struct text text;
	FILE *out = text_open(&text);

	if (out == NULL)
		return NULL;
	sha256_print(sha256, packed, packed_bytes);
	(void)fprintf(out,
		      "%.*s,\"packed\":{\"bytes\":%zu,\"sha256\":\"%s\"}%s",
		      kept, meta, packed_bytes, sha256, end);
	return add_checksum(text_close(&text, out));
}

/* Is this original there, packed and undamaged?  In a folder. */
static bool is_packed(struct store *s, const char *key, const struct upload *u)
{
	struct stored_picture p;
	struct store_image image;
	struct store_part part;
	char sha256[SHA256_TEXT_BYTES];
	struct error ignored;
	char *meta;
	bool is = false;

	if (store_is_remote(s) ||
	    store_find(s, key, false, 0, &image, &ignored) != STORE_OK)
		return false;
	meta = original_read_meta(&image, key);
	if (meta != NULL && image_meta_find(meta, ORIGINAL_NAME, &p) &&
	    p.packed_bytes > 0 &&
	    store_read(&image, PACKED_NAME, &part) == STORE_OK) {
		sha256_print(sha256, u->jpeg, u->jpeg_bytes);
		is = strcmp(sha256, p.sha256) == 0 &&
		     store_check(s, &part, p.packed_sha256) == STORE_OK;
		(void)close(part.fd);
	}
	free(meta);
	store_close_image(&image);
	return is;
}

enum store_answer original_put(struct store *s, const char *id,
			       const struct upload *u, struct error *why)
{
	char key[STORE_ID_BYTES], name[STORE_FILE_NAME_BYTES];
	struct image_files f = { .count = 0 };
	enum store_answer answer;
	char *meta;

	if (!store_keeps_originals(s))
		return STORE_OK;
	store_original_key(key, id);
	if (is_packed(s, key, u))
		return STORE_OK;
	meta = original_meta(key, id, u);
	if (meta == NULL) {
		error_set(why, "no memory");
		return STORE_FAILED;
	}
	(void)snprintf(name, sizeof(name), ORIGINAL_NAME ".%s",
		       u->header.format->suffix);
	add_text_file(&f, "meta.json", meta);
	f.files[f.count++] =
		(struct store_file){ name, u->jpeg, u->jpeg_bytes };
	answer = store_put(s, key, f.files, f.count, u->deadline_ns, why);
	free(meta);
	return answer;
}

void original_drop(struct store *s, const char *id, uint64_t deadline_ns)
{
	const struct spool *spool = store_spool(s);
	char key[STORE_ID_BYTES];
	struct store_image image;
	enum store_answer answer;
	struct error ignored;

	if (!store_keeps_originals(s) ||
	    (spool != NULL && spool_has(spool, id)))
		return;
	answer = store_find(s, id, true, deadline_ns, &image, &ignored);
	if (answer == STORE_OK)
		store_close_image(&image);
	store_original_key(key, id);
	/* A failure is counted there. */
	if (answer == STORE_NOT_FOUND)
		answer = store_delete(s, key, deadline_ns, &ignored);
}

/*
 * No value contains this: a quote in it has a backslash before it.  See
 * add_variant() and image_meta().
 */
static const char url_begin[] = "\"url\":\"" IMAGES_PATH "/";

enum { URL_PATH_AT = sizeof("\"url\":\"") - 1 };

/* Print the meta without its checksum and its end, with `base` in each url. */
static void print_below(FILE *out, const char *meta, const char *base)
{
	const char *end = meta + strlen(meta) - SEAL_CHARS, *at = meta, *next;

	assert(strlen(meta) > SEAL_CHARS);
	while ((next = strstr(at, url_begin)) != NULL && next < end) {
		next += URL_PATH_AT;
		(void)fprintf(out, "%.*s%s", (int)(next - at), at, base);
		at = next;
	}
	(void)fprintf(out, "%.*s", (int)(end - at), at);
}

char *image_meta_below(const char *meta, const char *base)
{
	struct text text;
	FILE *out = text_open(&text);

	if (out == NULL)
		return NULL;
	print_below(out, meta, base);
	return add_checksum(text_close(&text, out));
}

char *image_meta_told(const char *meta, const char *base, const char *ticket)
{
	struct text text;
	FILE *out = text_open(&text);

	if (out == NULL)
		return NULL;
	print_below(out, meta, base);
	if (ticket != NULL)
		(void)fprintf(out, ",\"ticket\":\"%s\"", ticket);
	(void)fputc('}', out);
	return text_close(&text, out);
}

bool image_meta_is_whole(const char *meta)
{
	size_t count = strlen(meta);
	char sha256[SHA256_TEXT_BYTES];
	const char *end;

	if (count <= SEAL_CHARS)
		return false;
	end = meta + count - SEAL_CHARS;
	sha256_print(sha256, meta, (size_t)(end - meta));
	return strncmp(end, seal_begin, SEAL_BEGIN_CHARS) == 0 &&
	       strncmp(end + SEAL_BEGIN_CHARS, sha256, SHA256_TEXT_BYTES - 1) ==
		       0 &&
	       strcmp(meta + count - SEAL_END_CHARS, seal_end) == 0;
}

void image_meta_etag(char etag[ETAG_BYTES], const char *meta, const char *base)
{
	struct sha256_ctx sha256;
	char text[SHA256_TEXT_BYTES];

	/* A base has no "{", with which each meta begins. */
	sha256_init(&sha256);
	sha256_update(&sha256, strlen(base), (const uint8_t *)base);
	sha256_update(&sha256, strlen(meta), (const uint8_t *)meta);
	sha256_finish(&sha256, text);
	(void)snprintf(etag, ETAG_BYTES, "\"%s\"", text);
}

/* How the files of a format end, without the dot; see image_meta_find(). */
static const char *suffix_of(const char *media_type)
{
	static const char image[] = "image/";

	for (uint32_t i = 0; i < IMG_FORMATS; i++)
		if (strcmp(img_formats[i]->media_type, media_type) == 0)
			return img_formats[i]->suffix;
	return strncmp(media_type, image, sizeof(image) - 1) == 0 ?
		       media_type + sizeof(image) - 1 :
		       "";
}

/* False: a text is missing or too long. */
static bool copy_text(char *to, size_t bytes, const cJSON *object,
		      const char *name)
{
	const char *text =
		cJSON_GetStringValue(cJSON_GetObjectItem(object, name));

	return text != NULL && (size_t)snprintf(to, bytes, "%s", text) < bytes;
}

/* False: it is not of this form. */
static bool read_packed(struct stored_picture *p, const cJSON *variant)
{
	const cJSON *packed = cJSON_GetObjectItem(variant, "packed");
	double bytes =
		cJSON_GetNumberValue(cJSON_GetObjectItem(packed, "bytes"));
	double whole =
		cJSON_GetNumberValue(cJSON_GetObjectItem(variant, "bytes"));

	p->packed_bytes = p->bytes = 0;
	if (packed == NULL)
		return true;
	if (!(bytes >= 1 && bytes < whole && whole <= UINT32_MAX))
		return false;
	p->packed_bytes = (uint64_t)bytes;
	p->bytes = (uint64_t)whole;
	return copy_text(p->packed_sha256, sizeof(p->packed_sha256), packed,
			 "sha256") &&
	       store_is_sha256(p->packed_sha256);
}

static bool read_picture(struct stored_picture *p, const cJSON *variant,
			 const char *name)
{
	int count;

	if (!read_packed(p, variant))
		return false;
	if (!copy_text(p->sha256, sizeof(p->sha256), variant, "sha256") ||
	    !copy_text(p->media_type, sizeof(p->media_type), variant, "type"))
		return false;
	count = snprintf(p->file, sizeof(p->file), "%s.%s", name,
			 suffix_of(p->media_type));
	return store_is_sha256(p->sha256) && count < (int)sizeof(p->file) &&
	       store_is_file_name(p->file);
}

bool image_meta_find(const char *meta, const char *name,
		     struct stored_picture *picture)
{
	cJSON *o = cJSON_Parse(meta);
	const cJSON *v;
	bool is_found = false;

	cJSON_ArrayForEach(v, cJSON_GetObjectItem(o, "variants"))
	{
		const char *this =
			cJSON_GetStringValue(cJSON_GetObjectItem(v, "name"));

		if (this != NULL && strcmp(this, name) == 0)
			is_found = read_picture(picture, v, name);
	}
	cJSON_Delete(o);
	return is_found;
}

uint32_t image_meta_count(const char *meta)
{
	cJSON *o = cJSON_Parse(meta);
	int count = cJSON_GetArraySize(cJSON_GetObjectItem(o, "variants"));

	cJSON_Delete(o);
	return (uint32_t)count;
}
