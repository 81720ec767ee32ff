/* SPDX-License-Identifier: MIT */
/*
 * Drafts: JSON made of parts, with a note of whether memory sufficed for all:
 * half an answer is none.
 *
 * Each adds to an object or an array of the draft; NULL, one that could not be
 * made, is fine.
 */
#ifndef SERVICE_DRAFT_H
#define SERVICE_DRAFT_H

#include <stdbool.h>

#include <cjson/cJSON.h>

struct draft {
	cJSON *root;
	bool is_whole;
};

/* An object. */
struct draft draft_begin(void);

/* The text, for the caller to free(); NULL: something is missing. */
char *draft_end(struct draft *d);

void draft_note(struct draft *d, bool added);

void draft_number(struct draft *d, cJSON *to, const char *name, double value);
void draft_text(struct draft *d, cJSON *to, const char *name,
		const char *value);
void draft_switch(struct draft *d, cJSON *to, const char *name, bool value);

/* At the end of an array; owned by that. */
cJSON *draft_item(struct draft *d, cJSON *list, cJSON *item);

#endif
