/* SPDX-License-Identifier: MIT */
#include "service/http/handlers/images/image_hooks.h"

#include "service/hooks/hooks.h"
#include "service/http/handlers/images/image_meta.h"
#include "service/http/head/urls.h"

#include "base/json.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* `data` is from malloc(), or NULL: no memory. */
static enum store_answer put(struct hooks *hooks, const struct image_event *e,
			     const char *type, char *data)
{
	char subject[2 * STORE_ID_BYTES];
	const struct hooks_event event = {
		.type = type,
		.subject = subject,
		.stamp = e->stamp,
		.url = e->url,
		.data = data,
	};
	enum store_answer answer = STORE_FAILED;
	int saved;

	errno = ENOMEM;
	(void)snprintf(subject, sizeof(subject), "%s/%s", e->id,
		       e->ticket != NULL ? e->ticket : "");
	if (data != NULL)
		answer = hooks_put(hooks, &event);
	saved = errno;
	free(data);
	errno = saved;
	return answer;
}

enum store_answer image_hooks_stored(struct hooks *hooks,
				     const char *public_url,
				     const struct image_event *e,
				     const char *meta)
{
	char base[URL_BASE_BYTES];

	if (hooks == NULL)
		return STORE_OK;
	urls_public_base(base, public_url);
	return put(hooks, e, "image.stored",
		   image_meta_told(meta, base, e->ticket));
}

enum store_answer image_hooks_failed(struct hooks *hooks,
				     const struct image_event *e,
				     const char *problem)
{
	struct text text;
	struct json j;
	FILE *out;

	if (hooks == NULL)
		return STORE_OK;
	out = text_open(&text);
	if (out == NULL)
		return put(hooks, e, "image.failed", NULL);
	json_begin(&j, out, JSON_COMPACT);
	json_open_object(&j, NULL);
	json_add_text(&j, "id", e->id);
	json_add_raw(&j, "problem", problem);
	json_close(&j);
	return put(hooks, e, "image.failed", text_close(&text, out));
}
