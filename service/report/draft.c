/* SPDX-License-Identifier: MIT */
#include "service/report/draft.h"

struct draft draft_begin(void)
{
	return (struct draft){ cJSON_CreateObject(), true };
}

char *draft_end(struct draft *d)
{
	char *text = d->is_whole ? cJSON_PrintUnformatted(d->root) : NULL;

	cJSON_Delete(d->root);
	return text;
}

void draft_note(struct draft *d, bool added)
{
	d->is_whole = d->is_whole && added;
}

void draft_number(struct draft *d, cJSON *to, const char *name, double value)
{
	draft_note(d, cJSON_AddNumberToObject(to, name, value) != NULL);
}

void draft_text(struct draft *d, cJSON *to, const char *name, const char *value)
{
	draft_note(d, cJSON_AddStringToObject(to, name, value) != NULL);
}

void draft_switch(struct draft *d, cJSON *to, const char *name, bool value)
{
	draft_note(d, cJSON_AddBoolToObject(to, name, value) != NULL);
}

cJSON *draft_item(struct draft *d, cJSON *list, cJSON *item)
{
	bool added = item != NULL && cJSON_AddItemToArray(list, item);

	draft_note(d, added);
	if (added)
		return item;
	cJSON_Delete(item);
	return NULL;
}
