/* SPDX-License-Identifier: MIT */
/*
 * Query: the parameters of an upload, and of each variant to make of it.
 *
 *	q=90&variant=thumb:w=320,h=320,fit=cover&variant=large:&variant=page
 *
 * Parameters outside of variants apply to every variant that does not set them
 * itself.  A variant without a colon, such as "page", is the name of a preset.
 * Presets are the variants in the value of --presets, which has ';' between
 * them: "thumb:w=320;page:w=1280".
 *
 * Ownership  A query borrows the texts that it was given.
 * Limits     VARIANTS_MAX variants, and as many presets.
 */
#ifndef SERVICE_QUERY_H
#define SERVICE_QUERY_H

#include "service/http/head/params.h"
#include "service/http/transport.h"

struct query {
	struct params params; /* outside of variants */
	const char *variants[VARIANTS_MAX];
	uint32_t variant_count;
	/* Characters that end a variant, besides NUL. */
	const char *variant_ends;
};

/*
 * Decode %XX, in place; a "%" without two hexadecimal digits after it stays as
 * it is.
 */
void query_decode(char *text);

/* How many parameters has "a=1&b"?  Between two "&" there is none. */
uint32_t query_count(const char *text);

/*
 * Split "a=1&b" into at most `max` parameters, and decode them, in place.  A
 * "+" is a space.  Of several "=", the first one separates.  Returns how many
 * there are; the rest is ignored.
 */
uint32_t query_split(char *text, struct http_field *parameters, uint32_t max);

void query_init(struct query *q);

/* From now on, what the query asks for without a `format` has format=auto. */
void query_default_auto(struct query *q);

/* Is there a parameter with this name, or is it "variant"? */
bool query_has(const char *key);

/* Set a parameter, as params_set() does. */
MUST_CHECK bool query_set(struct query *q, const char *key, const char *value,
			  char detail[PARAMS_DETAIL_BYTES]);

/*
 * If the query has no variants, add all presets to it.  `presets` NULL: there
 * are none.
 */
void query_add_presets(struct query *q, const char *presets);

/* The number of pictures that the query asks for: 1 if it names no variant. */
uint32_t query_picture_count(const struct query *q);

/*
 * Fill u->wants, and the names and transform parameters of u->variants; there
 * are query_picture_count() of them.  `presets` NULL: there are none.
 * `automatic` is the format of variants with format=auto.  False: `detail` is a
 * sentence that names variant, key and value.
 */
MUST_CHECK bool query_make(const struct query *q, const char *presets,
			   enum img_format_number automatic, struct upload *u,
			   char detail[PARAMS_DETAIL_BYTES]);

enum {
	QUERY_TEXT_BYTES =
		(VARIANTS_MAX + 1) * (PARAMS_TEXT_BYTES + VARIANT_NAME_BYTES)
};

/*
 * Print the parameters of an upload in one fixed form: a line "key=value" for
 * each parameter of the whole upload (with the default if it was not given),
 * and a line for each variant with all its parameters.  Presets are expanded.
 * Defaults of later parameters are left out, as by params_print().
 *
 *	strict=1
 *	placeholder=0
 *	variant=thumb:w=320,h=320,fit=cover,gravity=centre,...
 *
 * Requests for the same pictures give the same text.  query_read() is the
 * inverse.  Returns the first version of ids that has all these parameters.
 */
uint32_t query_print(char out[QUERY_TEXT_BYTES], const struct upload *u);

/*
 * Read the text of query_print().  `text` is modified, and the query borrows
 * it; query_make() then makes the variants.  False: it is not such a text;
 * `detail` says why.
 */
MUST_CHECK bool query_read(struct query *q, char *text,
			   char detail[PARAMS_DETAIL_BYTES]);

/*
 * The variant's name in the store and in URLs: "image" if the request names no
 * variant.
 */
const char *query_variant_name(const struct variant *v);

/*
 * Is it such a name as the pictures of GET have, m and 31 hexadecimal digits?
 * No request may give one: GET would take the picture for its own.
 */
bool query_is_made_name(const char *name);

/* Are these valid presets?  False: `detail` says why, as in query_make(). */
MUST_CHECK bool presets_check(const char *presets,
			      char detail[PARAMS_DETAIL_BYTES]);

/* For --help: params_print_help(), and the parameter `variant`. */
void query_print_help(FILE *to);

#endif
