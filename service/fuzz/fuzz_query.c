/* SPDX-License-Identifier: MIT */
/*
 * A libFuzzer target: queries.
 *
 * Whatever they are, a parameter is taken or refused with a sentence; what is
 * refused changes nothing, and what is taken is within its bounds.
 */
#include "service/params.h"

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

static void take(struct params *p, char *argument)
{
	char detail[PARAMS_DETAIL_BYTES] = "";
	struct params before = *p;
	char *value = strchr(argument, '=');

	if (value != NULL) {
		*value++ = '\0';
		(void)MHD_http_unescape(value);
	}
	(void)MHD_http_unescape(argument);
	if (params_set(p, argument, value, detail)) {
		check_recipe(&p->recipe);
		return;
	}
	assert(memcmp(p, &before, sizeof(before)) == 0);
	assert(memchr(detail, '\0', sizeof(detail)) != NULL);
	assert(detail[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *query = malloc(bytes + 1), *rest = query, *argument;
	struct params p;

	assert(query != NULL);
	memcpy(query, data, bytes);
	query[bytes] = '\0';
	params_init(&p);
	while ((argument = strsep(&rest, "&")) != NULL)
		take(&p, argument);
	free(query);
	return 0;
}
