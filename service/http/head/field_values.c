/* SPDX-License-Identifier: MIT */
#include "service/http/head/field_values.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct text_part trimmed(const char *text, size_t bytes)
{
	while (bytes > 0 && is_blank(text[bytes - 1]))
		bytes--;
	while (bytes > 0 && is_blank(text[0])) {
		text++;
		bytes--;
	}
	return (struct text_part){ text, bytes };
}

/*
 * Take the part before the next `separator` that is not in a quoted string; it
 * may be empty.  False: there are no more.
 */
static bool take_part(struct text_part *rest, char separator,
		      struct text_part *part)
{
	bool is_quoted = false;
	size_t n = 0;

	if (rest->text == NULL)
		return false;
	while (n < rest->bytes && (is_quoted || rest->text[n] != separator)) {
		if (rest->text[n] == '"')
			is_quoted = !is_quoted;
		/* The byte after a backslash stands for itself. */
		n += is_quoted && rest->text[n] == '\\' && n + 1 < rest->bytes;
		n++;
	}
	*part = trimmed(rest->text, n);
	*rest = n < rest->bytes ? (struct text_part){ rest->text + n + 1,
						      rest->bytes - n - 1 } :
				  (struct text_part){ NULL, 0 };
	return true;
}

/* The next header with this name, from *at on; NULL: there is none. */
static const char *next_value(const struct request_head *head, const char *name,
			      size_t *at)
{
	while (*at < head->field_count) {
		const struct http_field *field = &head->fields[(*at)++];

		if (http_field_is(field, name))
			return field->value;
	}
	return NULL;
}

bool field_list_next(struct field_list *l)
{
	const char *value;

	for (;;) {
		while (take_part(&l->rest, ',', &l->item))
			if (l->item.bytes > 0)
				return true;
		value = next_value(l->head, l->name, &l->field_count);
		if (value == NULL)
			return false;
		l->rest = text_part_of(value);
	}
}

static bool is_word(struct text_part item, const char *word)
{
	return text_part_is(item, text_part_of(word));
}

bool field_has_word(const struct request_head *head, const char *name,
		    const char *word)
{
	struct field_list l = { .head = head, .name = name };

	while (field_list_next(&l))
		if (is_word(l.item, word))
			return true;
	return false;
}

/* A member of Accept: "image/png", with a=b, and with its weight. */
struct media_range {
	struct text_part type;
	uint32_t quality;
	bool has_parameters;
};

/*
 * "0.5", in thousandths; digits after the third are ignored.  RFC 9110 wants a
 * digit before the point, but Java sends ".2".  False: it is not a weight.
 */
static bool read_weight(struct text_part text, uint32_t *out)
{
	uint32_t sum = 0, place = FIELD_QUALITY_MAX;
	size_t n = 0, digits = 0;

	if (n < text.bytes && (text.text[n] == '0' || text.text[n] == '1')) {
		sum = text.text[n++] == '1' ? place : 0;
		digits++;
	}
	if (n < text.bytes && text.text[n] == '.')
		for (n++;
		     n < text.bytes && isdigit((unsigned char)text.text[n]);
		     n++, digits++) {
			place /= 10;
			sum += place * (uint32_t)(text.text[n] - '0');
		}
	*out = sum;
	return digits > 0 && n == text.bytes && sum <= FIELD_QUALITY_MAX;
}

/* What follows the weight is of no use.  False: the weight is not valid. */
static bool read_media_range(struct text_part item, struct media_range *out)
{
	struct text_part part;

	*out = (struct media_range){ .quality = FIELD_QUALITY_MAX };
	(void)take_part(&item, ';', &out->type);
	while (take_part(&item, ';', &part)) {
		if (part.bytes >= 2 && strncasecmp(part.text, "q=", 2) == 0)
			return read_weight((struct text_part){ part.text + 2,
							       part.bytes - 2 },
					   &out->quality);
		out->has_parameters |= part.bytes > 0;
	}
	return true;
}

/* From the least to the most specific one. */
enum match {
	MATCH_NONE,
	MATCH_ALL,        /* any type: also a "*" alone, which Java sends */
	MATCH_KIND,       /* "image/" with any name after it */
	MATCH_PARAMETERS, /* the type, with parameters that ours has not */
	MATCH_TYPE,
};

static enum match match_type(const struct media_range *range, const char *type)
{
	struct text_part kind = range->type;

	if (is_word(range->type, "*/*") || is_word(range->type, "*"))
		return MATCH_ALL;
	if (is_word(range->type, type))
		return range->has_parameters ? MATCH_PARAMETERS : MATCH_TYPE;
	if (kind.bytes == strcspn(type, "/") + 2 &&
	    kind.text[--kind.bytes] == '*' &&
	    strncasecmp(kind.text, type, kind.bytes) == 0)
		return MATCH_KIND;
	return MATCH_NONE;
}

/*
 * The weight by the most specific range, of those that match at least this
 * well; 0: there is none.  *has_ranges: Accept has a valid member.
 */
static uint32_t weigh(const struct request_head *head, const char *type,
		      enum match least, bool *has_ranges)
{
	struct field_list l = { .head = head, .name = "Accept" };
	enum match best = MATCH_NONE;
	uint32_t quality = 0;

	*has_ranges = false;
	while (field_list_next(&l)) {
		struct media_range range;
		enum match match;

		if (!read_media_range(l.item, &range))
			continue;
		*has_ranges = true;
		match = match_type(&range, type);
		if (match < least)
			continue;
		if (match > best || (match == best && range.quality > quality))
			quality = range.quality;
		best = match > best ? match : best;
	}
	return quality;
}

uint32_t field_quality(const struct request_head *head, const char *type)
{
	bool has_ranges;
	uint32_t quality = weigh(head, type, MATCH_ALL, &has_ranges);

	return has_ranges ? quality : FIELD_QUALITY_MAX;
}

uint32_t field_quality_named(const struct request_head *head, const char *type)
{
	bool has_ranges;

	return weigh(head, type, MATCH_PARAMETERS, &has_ranges);
}

/* A tag may contain commas and backslashes, which mean nothing in it. */
static bool lists_tag(const char *list, const char *tag,
		      enum field_tags comparison)
{
	size_t bytes = strlen(tag);

	for (;;) {
		bool is_weak;

		list += strspn(list, " \t,");
		is_weak = strncmp(list, "W/", 2) == 0;
		list += is_weak ? 2 : 0;
		if (*list != '"')
			return false;
		if (bytes > 0 && strncmp(list, tag, bytes) == 0 &&
		    (!is_weak || comparison == FIELD_TAGS_WEAK))
			return true;
		list = strchr(list + 1, '"');
		if (list == NULL)
			return false;
		list += 1 + strspn(list + 1, " \t");
		if (*list != ',')
			return false;
	}
}

bool field_has_tag(const struct request_head *head, const char *name,
		   const char *tag, enum field_tags comparison)
{
	const char *first = NULL, *value;
	size_t at = 0, count = 0;

	if (tag == NULL)
		return false;
	for (; (value = next_value(head, name, &at)) != NULL; count++) {
		if (lists_tag(value, tag, comparison))
			return true;
		first = count == 0 ? value : first;
	}
	return count == 1 && strcmp(first, "*") == 0;
}
