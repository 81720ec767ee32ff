/* SPDX-License-Identifier: MIT */
/*
 * A libFuzzer target: presets on the first line, and after it a query.
 *
 * For any input, the request is accepted or refused with a sentence; a
 * parameter that is refused changes nothing, and accepted values are within
 * their bounds.
 */
#include "service/http/head/query.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMETERS_MAX = 1024 };

static char detail[PARAMS_DETAIL_BYTES];

/*
 * If the input was refused, `detail` must be a sentence.  Returns `is_taken`.
 */
static bool check_detail(bool is_taken)
{
	assert(memchr(detail, '\0', sizeof(detail)) != NULL);
	assert(is_taken || detail[0] != '\0');
	return is_taken;
}

static void check_transform(const struct img_transform *r)
{
	assert(r->box.width_px <= 16384 && r->box.height_px <= 16384);
	assert(r->fit <= IMG_FIT_PAD);
	assert(r->blur_sigma_px == 0 ||
	       (r->blur_sigma_px >= 0.3 && r->blur_sigma_px <= 100));
	assert(r->quality >= 1 && r->quality <= 100);
}

static void take(struct query *q, const struct http_field *parameter)
{
	struct query before = *q;

	if (!check_detail(
		    query_set(q, parameter->name, parameter->value, detail)))
		assert(memcmp(q, &before, sizeof(before)) == 0);
	check_transform(&q->params.transform);
}

static void make(const struct query *q, const char *presets)
{
	struct variant variants[VARIANTS_MAX] = { 0 };
	uint32_t count = query_picture_count(q);
	struct upload u = { .variants = variants, .variant_count = count };

	assert(count <= VARIANTS_MAX);
	if (!check_detail(query_make(q, presets, IMG_FORMAT_PPM, &u, detail)))
		return;
	for (uint32_t i = 0; i < count; i++) {
		assert((variants[i].name[0] == '\0') ==
		       (q->variant_count == 0));
		assert(variants[i].transform.format < IMG_FORMATS);
		check_transform(&variants[i].transform);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *text = malloc(bytes + 1), *rest = text, *presets;
	struct http_field parameters[PARAMETERS_MAX];
	uint32_t count = 0;
	struct query q;

	assert(text != NULL);
	memcpy(text, data, bytes);
	text[bytes] = '\0';
	presets = strsep(&rest, "\n");
	detail[0] = '\0';
	if (!check_detail(presets_check(presets, detail)))
		presets = NULL;
	query_init(&q);
	if (rest != NULL)
		count = query_split(rest, parameters, PARAMETERS_MAX);
	for (uint32_t i = 0; i < count; i++)
		take(&q, &parameters[i]);
	make(&q, presets);
	free(text);
	return 0;
}
