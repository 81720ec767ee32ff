/* SPDX-License-Identifier: MIT */
/*
 * Query: what is asked of an upload, and of each variant to be made of it.
 *
 *	q=90&variant=thumb:w=320,h=320,fit=cover&variant=large:&variant=page
 *
 * Parameters outside of variants are where every variant starts from.  One
 * without a colon is a preset: a variant of the configuration, where they are
 * written in the same words, as "thumb:w=320;page:w=1280".
 *
 * Ownership  A query lends the texts that it was given.
 * Limits     VARIANTS_MAX variants, and as many presets.
 */
#ifndef SERVICE_QUERY_H
#define SERVICE_QUERY_H

#include "service/http/params.h"

struct query {
	struct params params; /* outside of variants */
	const char *variants[VARIANTS_MAX];
	uint32_t variant_count;
	const char *variant_ends; /* where they end, if not at a NUL */
};

void query_init(struct query *q);

/* As params_set(). */
MUST_CHECK bool query_set(struct query *q, const char *key, const char *value,
			  char detail[PARAMS_DETAIL_BYTES]);

/* If it names no variant, it asks for all presets.  NULL: there are none. */
void query_add_presets(struct query *q, const char *presets);

/* How many pictures it asks for: one, if it names no variant. */
uint32_t query_picture_count(const struct query *q);

/*
 * Fill the name and the recipe of so many variants.  `presets` NULL: there are
 * none.  False: `detail` is a sentence that names variant, key and value.
 */
MUST_CHECK bool query_make(const struct query *q, const char *presets,
			   struct variant *variants,
			   char detail[PARAMS_DETAIL_BYTES]);

/* Are these presets?  `detail` as of query_make(). */
MUST_CHECK bool presets_check(const char *presets,
			      char detail[PARAMS_DETAIL_BYTES]);

/* For --help: as params_print_help(), with `variant`. */
void query_print_help(FILE *to);

#endif
