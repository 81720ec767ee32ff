/* SPDX-License-Identifier: MIT */
/*
 * A libFuzzer target: queries.
 *
 * Whatever they are, a parameter is taken or refused with a sentence; what is
 * refused changes nothing, and what is taken is within its bounds, variants and
 * presets too.
 */
#include "service/query.h"

#include <assert.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

static void check_recipe(const struct img_recipe *r)
{
	assert(r->box.width_px <= 16384 && r->box.height_px <= 16384);
	assert(r->fit <= IMG_FIT_FILL);
	assert(r->blur_sigma_px == 0 ||
	       (r->blur_sigma_px >= 0.3 && r->blur_sigma_px <= 100));
	assert(r->quality >= 1 && r->quality <= 100);
}

static void check_sentence(const char detail[PARAMS_DETAIL_BYTES])
{
	assert(memchr(detail, '\0', PARAMS_DETAIL_BYTES) != NULL);
	assert(detail[0] != '\0');
	for (; *detail != '\0'; detail++)
		assert(*detail >= ' ' && *detail <= '~');
}

static void take(struct query *q, char *argument)
{
	char detail[PARAMS_DETAIL_BYTES] = "";
	struct query before = *q;
	char *value = strchr(argument, '=');

	if (value != NULL) {
		*value++ = '\0';
		(void)MHD_http_unescape(value);
	}
	(void)MHD_http_unescape(argument);
	if (query_set(q, argument, value, detail)) {
		check_recipe(&q->params.recipe);
		return;
	}
	assert(memcmp(q, &before, sizeof(before)) == 0);
	check_sentence(detail);
}

static void make(const struct query *q, const char *presets)
{
	struct variant variants[VARIANTS_MAX] = { 0 };
	char detail[PARAMS_DETAIL_BYTES] = "";
	uint32_t count = query_picture_count(q);

	assert(count >= 1 && count <= VARIANTS_MAX);
	if (!query_make(q, presets, variants, detail)) {
		check_sentence(detail);
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		check_recipe(&variants[i].recipe);
		assert(variants[i].recipe.lenient == q->params.recipe.lenient);
		assert(strspn(variants[i].name,
			      "abcdefghijklmnopqrstuvwxyz0123456789_-") ==
		       strlen(variants[i].name));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *query = malloc(bytes + 1), *rest = query, *argument;
	char detail[PARAMS_DETAIL_BYTES] = "";
	struct query q;

	assert(query != NULL);
	memcpy(query, data, bytes);
	query[bytes] = '\0';
	if (!presets_check(query, detail))
		check_sentence(detail);
	query_init(&q);
	while ((argument = strsep(&rest, "&")) != NULL)
		take(&q, argument);
	make(&q, "thumb:w=320,h=320,fit=cover;page:w=1280");
	free(query);
	return 0;
}
