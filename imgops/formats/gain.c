/* SPDX-License-Identifier: MIT */
/*
 * Numbers of ISO 21496-1 (annex C) are quotients of integers; those of XMP are
 * text.  XMP is searched for names instead of parsed as XML: every writer uses
 * the prefix "hdrgm", as Adobe's specification does.
 */
#include "imgops/formats/gain.h"

#include "base/take.h"

#include <math.h>
#include <string.h>

enum { CHANNELS = 3 };

/* --- ISO 21496-1 --- */

enum {
	IS_MULTICHANNEL = 0x80,
	USES_BASE_COLOURS = 0x40,
	/* Of libultrahdr: all numbers have one denominator, which is first. */
	HAS_ONE_DENOMINATOR = 0x08,
};

struct iso {
	const uint8_t *at, *end;
	uint32_t denominator; /* of all numbers; 0: each has its own */
	bool is_broken;
};

/* 0 and a mark, past the end. */
static uint32_t iso_read(struct iso *iso, uint32_t bytes)
{
	uint32_t value = 0;

	if (iso->end - iso->at < (ptrdiff_t)bytes) {
		iso->is_broken = true;
		return 0;
	}
	for (uint32_t i = 0; i < bytes; i++)
		value = value << 8 | *iso->at++;
	return value;
}

static double iso_divide(struct iso *iso, double numerator)
{
	uint32_t denominator = iso->denominator;

	if (denominator == 0)
		denominator = iso_read(iso, 4);
	iso->is_broken |= denominator == 0;
	return denominator == 0 ? 0 : numerator / denominator;
}

static double iso_unsigned(struct iso *iso)
{
	return iso_divide(iso, iso_read(iso, 4));
}

static double iso_signed(struct iso *iso)
{
	return iso_divide(iso, (int32_t)iso_read(iso, 4));
}

/* Also if the writer's version is larger: it may only add to the end. */
static bool read_iso(struct img_gain *gain, const uint8_t *bytes, size_t count)
{
	struct iso iso = { .at = bytes, .end = bytes + count };
	uint32_t version = iso_read(&iso, 2), flags;

	(void)iso_read(&iso, 2);
	flags = iso_read(&iso, 1);
	if (version != 0 || iso.is_broken)
		return false;
	if (flags & HAS_ONE_DENOMINATOR) {
		iso.denominator = iso_read(&iso, 4);
		iso.is_broken |= iso.denominator == 0;
	}
	gain->channel_count = flags & IS_MULTICHANNEL ? CHANNELS : 1;
	gain->uses_base_colours = flags & USES_BASE_COLOURS;
	gain->base_headroom = iso_unsigned(&iso);
	gain->other_headroom = iso_unsigned(&iso);
	for (uint32_t i = 0; i < gain->channel_count; i++) {
		gain->channels[i].min = iso_signed(&iso);
		gain->channels[i].max = iso_signed(&iso);
		gain->channels[i].gamma = iso_unsigned(&iso);
		gain->channels[i].base_offset = iso_signed(&iso);
		gain->channels[i].other_offset = iso_signed(&iso);
	}
	return !iso.is_broken;
}

/* --- XMP --- */

struct text {
	const char *at, *end;
};

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_spaces(struct text *t)
{
	while (t->at < t->end && is_space(*t->at))
		t->at++;
}

/* False: `word` is not next, and nothing is skipped. */
static bool skip_word(struct text *t, const char *word)
{
	size_t bytes = strlen(word);

	if ((size_t)(t->end - t->at) < bytes || memcmp(t->at, word, bytes) != 0)
		return false;
	t->at += bytes;
	return true;
}

/* `t` is behind NAME of <NAME ...>VALUE</NAME>.  False: it does not end. */
static bool find_content(struct text *value, struct text t, const char *name)
{
	const char *end;

	t.at = memchr(t.at, '>', (size_t)(t.end - t.at));
	if (t.at == NULL)
		return false;
	t.at++;
	end = memmem(t.at, (size_t)(t.end - t.at), name, strlen(name));
	if (end == NULL || end - t.at < 2 || memcmp(end - 2, "</", 2) != 0)
		return false;
	*value = (struct text){ t.at, end - 2 };
	return true;
}

/* `t` is behind NAME of NAME="VALUE".  False: it is not like that. */
static bool find_quoted(struct text *value, struct text t)
{
	const char *end;
	char quote;

	skip_spaces(&t);
	if (!skip_word(&t, "="))
		return false;
	skip_spaces(&t);
	if (t.at == t.end)
		return false;
	quote = *t.at++;
	end = memchr(t.at, quote, (size_t)(t.end - t.at));
	*value = (struct text){ t.at, end };
	return end != NULL;
}

/* What an element or an attribute says.  False: it does not occur. */
static bool find_value(struct text *value, const struct text *xmp,
		       const char *name)
{
	struct text t = *xmp;
	bool is_element;

	t.at = memmem(t.at, (size_t)(t.end - t.at), name, strlen(name));
	if (t.at == NULL)
		return false;
	is_element = t.at > xmp->at && t.at[-1] == '<';
	t.at += strlen(name);
	return is_element ? find_content(value, t, name) :
			    find_quoted(value, t);
}

static bool read_number(double *number, struct text *t)
{
	char digits[40];
	const char *at = digits;
	size_t n = 0;
	bool is_negative = skip_word(t, "-");

	if (!is_negative)
		(void)skip_word(t, "+");
	while (n + 1 < sizeof(digits) && t->at + n < t->end &&
	       t->at[n] != '<' && !is_space(t->at[n])) {
		digits[n] = t->at[n];
		n++;
	}
	digits[n] = '\0';
	if (!take_real(&at, number) || *at != '\0')
		return false;
	t->at += n;
	if (is_negative)
		*number = -*number;
	return true;
}

/*
 * One number, or the three of a list, <rdf:Seq><rdf:li>1</rdf:li>...  Returns
 * how many, at most CHANNELS + 1; 0: there are none, or other text.
 */
static uint32_t read_numbers(double numbers[CHANNELS], struct text t)
{
	uint32_t count = 0;

	for (;;) {
		double number;

		skip_spaces(&t);
		if (t.at == t.end)
			return count;
		if (*t.at == '<') {
			t.at = memchr(t.at, '>', (size_t)(t.end - t.at));
			if (t.at == NULL)
				return 0;
			t.at++;
			continue;
		}
		if (count == CHANNELS || !read_number(&number, &t))
			return 0;
		numbers[count++] = number;
	}
}

/*
 * Read a value for each channel.  False: it is broken.  If it does not occur,
 * nothing changes.
 */
static bool read_channels(double numbers[CHANNELS], uint32_t *channel_count,
			  const struct text *xmp, const char *name)
{
	struct text value;
	uint32_t count;

	if (!find_value(&value, xmp, name))
		return true;
	count = read_numbers(numbers, value);
	if (count != 1 && count != CHANNELS)
		return false;
	if (count == 1)
		numbers[1] = numbers[2] = numbers[0];
	else
		*channel_count = CHANNELS;
	return true;
}

/* As read_channels(), for a value that all channels share. */
static bool read_shared(double *number, const struct text *xmp,
			const char *name)
{
	double numbers[CHANNELS] = { *number };
	uint32_t channel_count = 1;
	bool ok = read_channels(numbers, &channel_count, xmp, name);

	*number = numbers[0];
	return ok && channel_count == 1;
}

static void swap(double *a, double *b)
{
	double was = *a;

	*a = *b;
	*b = was;
}

/* Adobe, Gain Map Specification 1.0: SDR is the base, or the alternate. */
static bool read_xmp(struct img_gain *gain, const uint8_t *bytes, size_t count)
{
	const struct text xmp = { (const char *)bytes,
				  (const char *)bytes + count };
	double min[CHANNELS] = { 0, 0, 0 }, max[CHANNELS], gamma[CHANNELS],
	       sdr[CHANNELS], hdr[CHANNELS];
	struct text value;

	for (uint32_t i = 0; i < CHANNELS; i++) {
		gamma[i] = 1;
		sdr[i] = hdr[i] = 1.0 / 64;
		max[i] = -1; /* without it, the map is not valid */
	}
	*gain = (struct img_gain){ .channel_count = 1,
				   .uses_base_colours = true };
	if (!read_channels(min, &gain->channel_count, &xmp,
			   "hdrgm:GainMapMin") ||
	    !read_channels(max, &gain->channel_count, &xmp,
			   "hdrgm:GainMapMax") ||
	    !read_channels(gamma, &gain->channel_count, &xmp, "hdrgm:Gamma") ||
	    !read_channels(sdr, &gain->channel_count, &xmp,
			   "hdrgm:OffsetSDR") ||
	    !read_channels(hdr, &gain->channel_count, &xmp,
			   "hdrgm:OffsetHDR") ||
	    !read_shared(&gain->base_headroom, &xmp, "hdrgm:HDRCapacityMin") ||
	    !read_shared(&gain->other_headroom, &xmp, "hdrgm:HDRCapacityMax"))
		return false;
	for (uint32_t i = 0; i < CHANNELS; i++) {
		gain->channels[i].min = min[i];
		gain->channels[i].max = max[i];
		gain->channels[i].gamma = gamma[i];
		gain->channels[i].base_offset = sdr[i];
		gain->channels[i].other_offset = hdr[i];
	}
	if (!find_value(&value, &xmp, "hdrgm:BaseRenditionIsHDR") ||
	    !skip_word(&value, "True"))
		return true;
	swap(&gain->base_headroom, &gain->other_headroom);
	for (uint32_t i = 0; i < CHANNELS; i++)
		swap(&gain->channels[i].base_offset,
		     &gain->channels[i].other_offset);
	return true;
}

bool gain_xmp_number(double *number, const uint8_t *xmp, size_t bytes,
		     const char *name)
{
	const struct text t = { (const char *)xmp, (const char *)xmp + bytes };
	double numbers[CHANNELS];
	struct text value;

	if (!find_value(&value, &t, name) || read_numbers(numbers, value) != 1)
		return false;
	*number = numbers[0];
	return true;
}

bool gain_read(struct gain_found *found, const struct gain_metadata *from)
{
	*found = (struct gain_found){ .is_empty = false };
	if (from->iso != NULL &&
	    read_iso(&found->gain, from->iso, from->iso_bytes) &&
	    gain_is_valid(&found->gain))
		return true;
	if (from->xmp != NULL &&
	    read_xmp(&found->gain, from->xmp, from->xmp_bytes) &&
	    gain_is_valid(&found->gain))
		return true;
	return gain_read_apple(found, from) &&
	       (found->is_empty || gain_is_valid(&found->gain));
}

enum img_err gain_attach(struct image *dst, const struct gain_found *found,
			 const struct img_header *map,
			 const struct img_header *base,
			 const struct memory *memory)
{
	struct img_gainmap *to;

	if (found->has_levels && map->space != IMG_GREY)
		return IMG_ERR_CORRUPT;
	to = gainmap_attach(dst, memory);
	if (to == NULL)
		return IMG_ERR_NO_MEMORY;
	to->gain = found->gain;
	to->stored = map->stored;
	to->base_stored = base->stored;
	return IMG_OK;
}

enum img_err gain_set_profile(struct image *map, const uint8_t *profile,
			      size_t bytes, const struct memory *memory)
{
	if (bytes > IMG_GAINMAP_PROFILE_BYTES_MAX)
		return IMG_ERR_CORRUPT;
	map->profile = memory_alloc(memory, bytes);
	if (map->profile == NULL)
		return IMG_ERR_NO_MEMORY;
	memcpy(map->profile, profile, bytes);
	map->profile_bytes = bytes;
	return IMG_OK;
}

enum img_err gain_finish(struct img_gainmap *map,
			 const struct gain_found *found)
{
	const struct img_plane *p = &map->image.planes[0];

	for (uint32_t y = 0; found->has_levels && y < p->height; y++) {
		uint8_t *row = p->samples + y * p->stride_bytes;

		for (uint32_t x = 0; x < p->width; x++)
			row[x] = found->levels[row[x]];
		memory_pause(map->image.memory);
	}
	return map->image.notes == 0 ? IMG_OK : IMG_ERR_CORRUPT;
}

enum img_err gain_or_note(struct image *dst, enum img_err err)
{
	if (err == IMG_ERR_NO_MEMORY) {
		img_release(dst);
		return err;
	}
	if (err != IMG_OK)
		gainmap_leave_out(dst);
	return IMG_OK;
}

/* --- Writing --- */

static void put(uint8_t **at, uint32_t value, uint32_t bytes)
{
	while (bytes-- > 0)
		*(*at)++ = (uint8_t)(value >> 8 * bytes);
}

static void put_quotient(uint8_t **at, double value)
{
	put(at, (uint32_t)(int32_t)nearbyint(value * GAIN_DENOMINATOR), 4);
	put(at, GAIN_DENOMINATOR, 4);
}

size_t gain_write_iso(uint8_t out[GAIN_ISO_BYTES_MAX],
		      const struct img_gain *gain)
{
	uint8_t *at = out;

	put(&at, 0, 2); /* the least version that a reader must know */
	put(&at, 0, 2);
	put(&at,
	    (gain->channel_count > 1 ? IS_MULTICHANNEL : 0) |
		    (gain->uses_base_colours ? USES_BASE_COLOURS : 0),
	    1);
	put_quotient(&at, gain->base_headroom);
	put_quotient(&at, gain->other_headroom);
	for (uint32_t i = 0; i < gain->channel_count; i++) {
		put_quotient(&at, gain->channels[i].min);
		put_quotient(&at, gain->channels[i].max);
		put_quotient(&at, gain->channels[i].gamma);
		put_quotient(&at, gain->channels[i].base_offset);
		put_quotient(&at, gain->channels[i].other_offset);
	}
	return (size_t)(at - out);
}
