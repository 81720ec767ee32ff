/* SPDX-License-Identifier: MIT */
#include "service/http/image_meta.h"

#include "service/http/http_result.h"
#include "service/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <nettle/base16.h>
#include <nettle/sha2.h>

_Static_assert((int)SHA256_TEXT_BYTES == STORE_ID_BYTES, "ids are SHA-256");

static void finish(struct sha256_ctx *sha256, char text[SHA256_TEXT_BYTES])
{
	uint8_t digest[SHA256_DIGEST_SIZE];

	sha256_digest(sha256, sizeof(digest), digest);
	base16_encode_update(text, sizeof(digest), digest);
	text[SHA256_TEXT_BYTES - 1] = '\0';
}

/* All of a recipe: who adds to it adds here. */
static void add_variant(struct sha256_ctx *sha256, const struct variant *v)
{
	const struct img_recipe *p = &v->recipe;
	char text[256];
	int bytes = snprintf(
		text, sizeof(text),
		"%s w=%" PRIu32 " h=%" PRIu32 " fit=%d gravity=%d enlarge=%d "
		"as_stored=%d keep_profile=%d full_chroma=%d blur=%.17g q=%d "
		"progressive=%d optimize=%d lenient=%d\n",
		image_variant_name(v), p->box.width_px, p->box.height_px,
		(int)p->fit, (int)p->gravity, p->enlarge, p->as_stored,
		p->keep_profile, p->full_chroma, p->blur_sigma_px, p->quality,
		p->progressive, p->optimize, p->lenient);

	sha256_update(sha256, (size_t)bytes, (const uint8_t *)text);
}

void image_id(char id[STORE_ID_BYTES], const struct upload *u)
{
	static const uint8_t plain[] = "darkroom 1\n\n";
	static const uint8_t with_placeholder[] = "darkroom 1 placeholder\n\n";
	struct sha256_ctx sha256;

	sha256_init(&sha256);
	for (uint32_t i = 0; i < u->variant_count; i++)
		add_variant(&sha256, &u->variants[i]);
	if (u->wants_placeholder)
		sha256_update(&sha256, sizeof(with_placeholder) - 1,
			      with_placeholder);
	else
		sha256_update(&sha256, sizeof(plain) - 1, plain);
	sha256_update(&sha256, u->jpeg_bytes, u->jpeg);
	finish(&sha256, id);
}

const char *image_variant_name(const struct variant *v)
{
	return v->name[0] != '\0' ? v->name : "image";
}

static void print_sha256(FILE *out, const struct variant *v)
{
	char text[SHA256_TEXT_BYTES];
	struct sha256_ctx sha256;

	sha256_init(&sha256);
	sha256_update(&sha256, v->jpeg_bytes, v->jpeg);
	finish(&sha256, text);
	(void)fprintf(out, ",\"sha256\":\"%s\"", text);
}

char *image_meta(const char *id, const struct upload *u)
{
	struct text text;
	FILE *out = text_open(&text);

	if (out == NULL)
		return NULL;
	(void)fprintf(out, "{\"id\":\"%s\",\"url\":\"" IMAGES_PATH "/%s\",", id,
		      id);
	result_print_upload(out, u);
	for (uint32_t i = 0; i < u->variant_count; i++) {
		const struct variant *v = &u->variants[i];
		const char *name = image_variant_name(v);

		(void)fputs(i > 0 ? "},{" : ",\"variants\":[{", out);
		result_print_variant(out, v, name);
		(void)fprintf(out, ",\"url\":\"" IMAGES_PATH "/%s/%s\"", id,
			      name);
		print_sha256(out, v);
	}
	(void)fputs("}]}\n", out);
	return text_close(&text, out);
}

bool image_meta_find(const char *meta, const char *name,
		     char sha256[SHA256_TEXT_BYTES])
{
	cJSON *o = cJSON_Parse(meta);
	const cJSON *v;
	bool is_found = false;

	cJSON_ArrayForEach(v, cJSON_GetObjectItem(o, "variants"))
	{
		const char *this =
			cJSON_GetStringValue(cJSON_GetObjectItem(v, "name"));
		const char *text =
			cJSON_GetStringValue(cJSON_GetObjectItem(v, "sha256"));

		if (this == NULL || text == NULL || strcmp(this, name) != 0 ||
		    strlen(text) != SHA256_TEXT_BYTES - 1)
			continue;
		(void)memcpy(sha256, text, SHA256_TEXT_BYTES);
		is_found = true;
	}
	cJSON_Delete(o);
	return is_found;
}
