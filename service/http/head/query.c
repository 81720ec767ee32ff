/* SPDX-License-Identifier: MIT */
#include "service/http/head/query.h"

#include "service/http/head/text_part.h"
#include "service/store/entries.h"

#include <assert.h>
#include <string.h>

/* The text of one variant; there is room for any that query_print() prints. */
enum { TEXT_BYTES_MAX = PARAMS_TEXT_BYTES + VARIANT_NAME_BYTES - 2 };

static struct text_part part_until(const char *text, const char *ends)
{
	return (struct text_part){ text, strcspn(text, ends) };
}

static bool parts_are_equal(struct text_part a, struct text_part b)
{
	return a.bytes == b.bytes && memcmp(a.text, b.text, a.bytes) == 0;
}

static struct text_part variant_name(struct text_part variant)
{
	struct text_part name = part_until(variant.text, ":");

	if (name.bytes > variant.bytes)
		name.bytes = variant.bytes;
	return name;
}

/*
 * Replace *previous by the preset after it, or {0} by the first one.  False:
 * there is none.
 */
static bool next_preset(const char *presets, struct text_part *previous)
{
	const char *next = presets;

	if (presets == NULL)
		return false;
	if (previous->text != NULL) {
		next = previous->text + previous->bytes;
		if (*next == '\0')
			return false;
		next++;
	}
	*previous = part_until(next, ";");
	return true;
}

static bool find_preset(const char *presets, struct text_part name,
			struct text_part *found)
{
	*found = (struct text_part){ NULL, 0 };
	while (next_preset(presets, found))
		if (parts_are_equal(variant_name(*found), name))
			return true;
	return false;
}

/*
 * Cut the next parameter off a list.  A comma before a digit or a point is one
 * inside of a value.
 */
static char *take_parameter(char **list)
{
	char *text = *list, *comma = text;

	do {
		comma = strchr(comma, ',');
		if (comma == NULL) {
			*list = NULL;
			return text;
		}
		comma++;
	} while (*comma == '.' || (*comma >= '0' && *comma <= '9'));
	comma[-1] = '\0';
	*list = comma;
	return text;
}

/* "w=320,h=320"; `list` is modified. */
static bool set_parameter_list(struct params *p, char *list,
			       char detail[PARAMS_DETAIL_BYTES])
{
	if (list[0] == '\0')
		return true;
	while (list != NULL) {
		char *value = take_parameter(&list);
		char *key = strsep(&value, "=");

		if (!params_set(p, key, value, detail))
			return false;
	}
	return true;
}

bool query_is_made_name(const char *name)
{
	size_t count = strlen(name);

	return count == VARIANT_NAME_BYTES - 1 && name[0] == 'm' &&
	       strspn(name + 1, "0123456789abcdef") == count - 1;
}

/* "thumb:w=320,h=320"; other parameters are those of `all`. */
static bool read_variant(struct variant *out, const struct params *all,
			 struct text_part in, char detail[PARAMS_DETAIL_BYTES])
{
	struct text_part name = variant_name(in);
	char text[TEXT_BYTES_MAX + 1], shown[PARAMS_SHOWN_BYTES];
	struct params p;

	(void)snprintf(text, sizeof(text), "%.*s", (int)in.bytes, in.text);
	if (in.bytes > TEXT_BYTES_MAX) {
		(void)snprintf(detail, PARAMS_DETAIL_BYTES,
			       "variant may have up to %d bytes, not '%s...'.",
			       TEXT_BYTES_MAX, params_shown(shown, text));
		return false;
	}
	if (name.bytes == in.bytes || name.bytes == 0 ||
	    name.bytes >= sizeof(out->name) ||
	    strspn(text, STORE_NAME_CHARS) != name.bytes) {
		(void)snprintf(detail, PARAMS_DETAIL_BYTES,
			       "variant must be NAME:KEY=VALUE,... with a NAME "
			       "of 1 to %zu of a-z, 0-9, _ and -, not '%s'.",
			       sizeof(out->name) - 1,
			       params_shown(shown, text));
		return false;
	}
	memcpy(out->name, text, name.bytes);
	out->name[name.bytes] = '\0';
	if (query_is_made_name(out->name)) {
		(void)snprintf(detail, PARAMS_DETAIL_BYTES,
			       "A variant must have another name than '%s': "
			       "names of m and 31 hexadecimal digits are those "
			       "of the pictures that GET makes.",
			       out->name);
		return false;
	}
	params_init_variant(&p, all, out->name);
	if (!set_parameter_list(&p, text + name.bytes + 1, detail) ||
	    !params_check(&p, detail))
		return false;
	out->transform = p.transform;
	return true;
}

static bool name_is_unused(const struct variant *variants, uint32_t i,
			   char detail[PARAMS_DETAIL_BYTES])
{
	for (uint32_t k = 0; k < i; k++) {
		if (strcmp(variants[k].name, variants[i].name) != 0)
			continue;
		(void)snprintf(detail, PARAMS_DETAIL_BYTES,
			       "variant %.*s is given twice.",
			       VARIANT_NAME_BYTES - 1, variants[i].name);
		return false;
	}
	return true;
}

/* False: there are VARIANTS_MAX already, as `detail` says. */
static bool variant_fits(uint32_t count, char detail[PARAMS_DETAIL_BYTES])
{
	if (count < VARIANTS_MAX)
		return true;
	(void)snprintf(detail, PARAMS_DETAIL_BYTES,
		       "At most %d variants are taken.", VARIANTS_MAX);
	return false;
}

/* The value of a hexadecimal digit; -1: `c` is not one. */
static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

void query_decode(char *text)
{
	char *at = strchr(text, '%'), *to = at;

	if (at == NULL)
		return;
	while (*at != '\0') {
		int high = at[0] == '%' ? digit_value(at[1]) : -1;
		int low = high >= 0 ? digit_value(at[2]) : -1;

		if (low >= 0) {
			*to++ = (char)(high * 16 + low);
			at += 3;
		} else {
			*to++ = *at++;
		}
	}
	*to = '\0';
}

static void decode_parameter(char *text)
{
	for (char *c = text; *c != '\0'; c++)
		if (*c == '+')
			*c = ' ';
	query_decode(text);
}

uint32_t query_count(const char *text)
{
	uint32_t count = 0;

	for (; *text != '\0'; text += strcspn(text, "&")) {
		text += strspn(text, "&");
		count += *text != '\0';
	}
	return count;
}

uint32_t query_split(char *text, struct http_field *parameters, uint32_t max)
{
	uint32_t count = 0;

	while (text != NULL && count < max) {
		char *value = strsep(&text, "&"), *name;

		if (value[0] == '\0')
			continue;
		name = strsep(&value, "=");
		decode_parameter(name);
		if (value != NULL)
			decode_parameter(value);
		parameters[count++] = (struct http_field){ name, value };
	}
	return count;
}

void query_init(struct query *q)
{
	*q = (struct query){ .variant_ends = "" };
	params_init(&q->params);
}

void query_default_auto(struct query *q)
{
	q->params.transform.format = PARAMS_FORMAT_AUTO;
}

bool query_has(const char *key)
{
	return strcmp(key, "variant") == 0 || params_has(key);
}

bool query_set(struct query *q, const char *key, const char *value,
	       char detail[PARAMS_DETAIL_BYTES])
{
	if (strcmp(key, "variant") != 0)
		return params_set(&q->params, key, value, detail);
	if (!variant_fits(q->variant_count, detail))
		return false;
	q->variants[q->variant_count++] = value != NULL ? value : "";
	return true;
}

void query_add_presets(struct query *q, const char *presets)
{
	struct text_part preset = { NULL, 0 };

	if (q->variant_count > 0)
		return;
	while (next_preset(presets, &preset))
		q->variants[q->variant_count++] = preset.text;
	q->variant_ends = ";";
}

uint32_t query_picture_count(const struct query *q)
{
	return q->variant_count > 0 ? q->variant_count : 1;
}

/* Replace the name of a preset by its text.  False: there is no such preset. */
static bool expand_preset(struct text_part *variant, const char *presets,
			  char detail[PARAMS_DETAIL_BYTES])
{
	char shown[PARAMS_SHOWN_BYTES];
	struct text_part name = *variant;

	if (variant_name(name).bytes < name.bytes ||
	    find_preset(presets, name, variant))
		return true;
	(void)snprintf(detail, PARAMS_DETAIL_BYTES,
		       "There is no preset '%s'; other variants are "
		       "NAME:KEY=VALUE,...",
		       params_shown(shown, name.text));
	return false;
}

static void resolve_format(struct variant *v, enum img_format_number automatic)
{
	assert(automatic != PARAMS_FORMAT_AUTO);
	if (v->transform.format == PARAMS_FORMAT_AUTO)
		v->transform.format = automatic;
}

bool query_make(const struct query *q, const char *presets,
		enum img_format_number automatic, struct upload *u,
		char detail[PARAMS_DETAIL_BYTES])
{
	struct variant *variants = u->variants;

	assert(u->variant_count == query_picture_count(q));
	u->wants = q->params.wants;
	variants[0].transform = q->params.transform;
	if (q->variant_count == 0 && !params_check(&q->params, detail))
		return false;
	for (uint32_t i = 0; i < q->variant_count; i++) {
		struct text_part in =
			part_until(q->variants[i], q->variant_ends);

		if (!expand_preset(&in, presets, detail) ||
		    !read_variant(&variants[i], &q->params, in, detail) ||
		    !name_is_unused(variants, i, detail))
			return false;
	}
	for (uint32_t i = 0; i < u->variant_count; i++)
		resolve_format(&variants[i], automatic);
	return true;
}

const char *query_variant_name(const struct variant *v)
{
	return v->name[0] != '\0' ? v->name : "image";
}

static uint32_t max_version(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

uint32_t query_print(char out[QUERY_TEXT_BYTES], const struct upload *u)
{
	struct params p = { .transform = u->variants[0].transform,
			    .wants = u->wants };
	char text[PARAMS_TEXT_BYTES];
	uint32_t version = params_print(text, &p, true, '\n');
	int at;

	at = snprintf(out, QUERY_TEXT_BYTES, "%s", text);
	for (uint32_t i = 0; i < u->variant_count; i++) {
		const struct variant *v = &u->variants[i];

		p.transform = v->transform;
		version = max_version(version,
				      params_print(text, &p, false, ','));
		text[strlen(text) - 1] = '\0'; /* remove the last comma */
		at += snprintf(out + at, QUERY_TEXT_BYTES - (size_t)at,
			       "variant=%s:%s\n", query_variant_name(v), text);
		assert(at < QUERY_TEXT_BYTES);
	}
	return version;
}

bool query_read(struct query *q, char *text, char detail[PARAMS_DETAIL_BYTES])
{
	query_init(q);
	while (text[0] != '\0') {
		char *value = strsep(&text, "\n");
		char *key = strsep(&value, "=");

		if (text == NULL) {
			(void)snprintf(detail, PARAMS_DETAIL_BYTES,
				       "The last line has no end.");
			return false;
		}
		if (!query_set(q, key, value, detail))
			return false;
	}
	return true;
}

bool presets_check(const char *presets, char detail[PARAMS_DETAIL_BYTES])
{
	struct variant variants[VARIANTS_MAX];
	struct text_part preset = { NULL, 0 };
	struct params all;

	params_init(&all);
	for (uint32_t i = 0; next_preset(presets, &preset); i++)
		if (!variant_fits(i, detail) ||
		    !read_variant(&variants[i], &all, preset, detail) ||
		    !name_is_unused(variants, i, detail))
			return false;
	return true;
}

void query_print_help(FILE *to)
{
	params_print_help(to);
	(void)fprintf(to,
		      "  variant     NAME:KEY=VALUE,... or a preset's NAME\n"
		      "              one of up to %d results; parameters "
		      "outside are for all\n",
		      VARIANTS_MAX);
}
