/* SPDX-License-Identifier: MIT */
#include "service/http/head/formats.h"

#include "service/http/head/field_values.h"

#include "base/util.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/*
 * Not in the order of imgops/formats/list.h: WebP takes the least memory of
 * those that are smaller than a JPEG, and AVIF the most time.
 */
static const char *const usual[] = { "webp", "jxl", "avif", "jpeg" };

/* False: none of the first `known` formats has this word. */
static bool find_format(const char *word, size_t bytes, uint32_t known,
			enum img_format_number *found)
{
	for (uint32_t i = 0; i < known; i++) {
		const char *other = img_formats[i]->word;

		if (strlen(other) != bytes || memcmp(other, word, bytes) != 0)
			continue;
		*found = (enum img_format_number)i;
		return true;
	}
	return false;
}

static bool is_listed(const struct formats *f, enum img_format_number format)
{
	for (uint32_t i = 0; i < f->count; i++)
		if (f->list[i] == format)
			return true;
	return false;
}

static void set_usual(struct formats *f)
{
	f->count = 0;
	for (size_t i = 0; i < ARRAY_SIZE(usual); i++)
		if (find_format(usual[i], strlen(usual[i]), IMG_RESULT_FORMATS,
				&f->list[f->count]))
			f->count++;
}

/* "'tiff' is not built in; those that are: jpeg, ppm" */
static void explain_unknown(char why[FORMATS_WHY_BYTES], const char *word,
			    size_t bytes, uint32_t known)
{
	enum img_format_number other;
	bool is_read = find_format(word, bytes, IMG_FORMATS, &other);
	int at = snprintf(why, FORMATS_WHY_BYTES,
			  "'%.*s' is %s:", bytes < 24 ? (int)bytes : 24, word,
			  is_read ? "only read; those that are written" :
				    "not built in; those that are");

	for (uint32_t i = 0; i < known; i++)
		at += snprintf(why + at, FORMATS_WHY_BYTES - (size_t)at,
			       "%s %s", i > 0 ? "," : "", img_formats[i]->word);
	assert(at < FORMATS_WHY_BYTES);
}

bool formats_read(struct formats *f, const char *text, uint32_t known,
		  char why[FORMATS_WHY_BYTES])
{
	if (text == NULL) {
		set_usual(f);
		return true;
	}
	f->count = 0;
	for (;;) {
		size_t bytes = strcspn(text, ",");
		enum img_format_number format;

		if (!find_format(text, bytes, known, &format)) {
			explain_unknown(why, text, bytes, known);
			return false;
		}
		if (is_listed(f, format)) {
			(void)snprintf(why, FORMATS_WHY_BYTES,
				       "%s is given twice",
				       img_formats[format]->word);
			return false;
		}
		f->list[f->count++] = format;
		if (text[bytes] == '\0')
			return true;
		text += bytes + 1;
	}
}

static bool is_shown_by_all(const struct img_format *format)
{
	return strcmp(format->media_type, "image/jpeg") == 0 ||
	       strcmp(format->media_type, "image/png") == 0;
}

uint32_t formats_choose_of(const struct img_format *const *offered,
			   uint32_t count, const struct request_head *head)
{
	uint32_t best = 0, chosen = count - 1;
	bool is_shown = false;

	assert(count > 0);
	for (uint32_t i = 0; i < count; i++) {
		const char *type = offered[i]->media_type;
		bool by_all = is_shown_by_all(offered[i]);
		uint32_t quality = by_all ? field_quality(head, type) :
					    field_quality_named(head, type);

		if (quality > best || (best == 0 && by_all && !is_shown))
			chosen = i;
		is_shown |= by_all;
		best = quality > best ? quality : best;
	}
	return chosen;
}

enum img_format_number formats_choose(const struct formats *f,
				      const struct request_head *head)
{
	const struct img_format *offered[IMG_FORMATS];

	for (uint32_t i = 0; i < f->count; i++)
		offered[i] = img_formats[f->list[i]];
	return f->list[formats_choose_of(offered, f->count, head)];
}
