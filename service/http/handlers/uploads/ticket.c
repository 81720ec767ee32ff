/* SPDX-License-Identifier: MIT */
#include "service/http/handlers/uploads/ticket.h"

#include "base/json.h"
#include "base/text.h"

#include <stdint.h>

#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

char *ticket_print(const struct ticket *t)
{
	struct text text;
	struct json j;
	FILE *out = text_open(&text);

	if (out == NULL)
		return NULL;
	json_begin(&j, out, JSON_COMPACT);
	json_open_object(&j, NULL);
	json_add_text(&j, "owner", t->owner);
	json_add_whole(&j, "bytes_max", t->bytes_max);
	if (t->has_length)
		json_add_whole(&j, "length", t->length);
	if (t->metadata != NULL)
		json_add_text(&j, "metadata", t->metadata);
	if (t->webhook != NULL)
		json_add_text(&j, "webhook", t->webhook);
	/* An array: a name may be there several times, as `variant`. */
	json_open_array(&j, "parameters");
	for (uint32_t i = 0; i < t->parameter_count; i++) {
		json_add_text(&j, NULL, t->parameters[i].name);
		if (t->parameters[i].value != NULL)
			json_add_text(&j, NULL, t->parameters[i].value);
		else
			json_add_null(&j, NULL);
	}
	json_close(&j);
	json_close(&j);
	return text_close(&text, out);
}

static bool read_parameters(struct ticket *t, const struct cJSON *list)
{
	uint32_t count = (uint32_t)cJSON_GetArraySize(list);
	const struct cJSON *item = list != NULL ? list->child : NULL;

	if (!cJSON_IsArray(list) || count % 2 != 0)
		return false;
	t->parameters = calloc(count / 2 + 1, sizeof(*t->parameters));
	if (t->parameters == NULL)
		return false;
	for (; item != NULL; item = item->next->next) {
		struct http_field *p = &t->parameters[t->parameter_count++];

		p->name = cJSON_GetStringValue(item);
		p->value = cJSON_GetStringValue(item->next);
		if (p->name == NULL)
			return false;
	}
	return true;
}

/* NULL: there is none. */
static const char *text_of(const struct cJSON *json, const char *name)
{
	return cJSON_GetStringValue(cJSON_GetObjectItem(json, name));
}

bool ticket_read(struct ticket *t, const char *text)
{
	struct cJSON *json = cJSON_Parse(text);
	const char *owner = text_of(json, "owner");

	*t = (struct ticket){
		.json = json,
		.bytes_max = json_whole(json, "bytes_max"),
		.has_length = cJSON_HasObjectItem(json, "length"),
		.length = json_whole(json, "length"),
		.metadata = text_of(json, "metadata"),
		.webhook = text_of(json, "webhook"),
	};
	if (owner != NULL && strlen(owner) < sizeof(t->owner) &&
	    read_parameters(t, cJSON_GetObjectItem(json, "parameters"))) {
		(void)strcpy(t->owner, owner);
		return true;
	}
	ticket_release(t);
	return false;
}

void ticket_release(struct ticket *t)
{
	free(t->parameters);
	cJSON_Delete(t->json);
	*t = (struct ticket){ .owner = "" };
}
