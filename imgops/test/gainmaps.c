/* SPDX-License-Identifier: MIT */
#include "imgops/test/gainmaps.h"

#include "base/test/check.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define ISO "urn:iso:std:iso:ts:21496:-1"
#define XMP "http://ns.adobe.com/xap/1.0/"

enum { LONG_BYTES = 60000, INDEX_BYTES = 90, PICTURES = 3 };

const struct img_gain gainmap_usual = {
	.channel_count = 1,
	.uses_base_colours = true,
	.other_headroom = 2.5,
	.channels = { { 0, 3, 1.5, 1.0 / 64, 1.0 / 32 } },
};

const struct img_gain gainmap_coloured = {
	.channel_count = 3,
	.base_headroom = 0.5,
	.other_headroom = 2.75,
	.channels = { { -0.5, 3, 1, 0.125, 0.25 },
		      { -0.25, 2.5, 1.25, 0.125, 0.25 },
		      { 0, 2, 2, 0.125, 0.5 } },
};

/* --- Writing --- */

static void add(struct bytes *to, const void *data, size_t count)
{
	to->data = realloc(to->data, to->count + count + 1);
	CHECK(to->data != NULL);
	if (count > 0)
		memcpy(to->data + to->count, data, count);
	to->count += count;
}

__attribute__((format(printf, 2, 3))) static void
add_text(struct bytes *to, const char *format, ...)
{
	char text[1000];
	va_list args;

	va_start(args, format);
	add(to, text, (size_t)vsnprintf(text, sizeof(text), format, args));
	va_end(args);
}

static void add_number(struct bytes *to, int64_t value, int bytes,
		       bool little_endian)
{
	for (int i = 0; i < bytes; i++) {
		int shift = little_endian ? 8 * i : 8 * (bytes - 1 - i);
		uint8_t byte = (uint8_t)(value >> shift);

		add(to, &byte, 1);
	}
}

static void add_big(struct bytes *to, int64_t value, int bytes)
{
	add_number(to, value, bytes, false);
}

/* Frees `data`. */
static void add_segment(struct bytes *to, int code, struct bytes data)
{
	add_big(to, 0xff00 | code, 2);
	add_big(to, (int64_t)data.count + 2, 2);
	add(to, data.data, data.count);
	free(data.data);
}

/* 1/64 is the finest of the tests' numbers. */
static void add_quotient(struct bytes *to, double value, bool is_shared)
{
	int64_t parts = (int64_t)(value * 64);

	CHECK((double)parts == value * 64);
	add_big(to, is_shared ? parts : parts * 3, 4);
	if (!is_shared)
		add_big(to, 64 * 3, 4);
}

static void add_numbers(struct bytes *to, const struct img_gain *g,
			bool is_shared)
{
	add_big(to, 0, 4);
	add_big(to,
		(g->channel_count > 1 ? 0x80 : 0) |
			(g->uses_base_colours ? 0x40 : 0) |
			(is_shared ? 0x08 : 0),
		1);
	if (is_shared)
		add_big(to, 64, 4);
	add_quotient(to, g->base_headroom, is_shared);
	add_quotient(to, g->other_headroom, is_shared);
	for (uint32_t i = 0; i < g->channel_count; i++) {
		add_quotient(to, g->channels[i].min, is_shared);
		add_quotient(to, g->channels[i].max, is_shared);
		add_quotient(to, g->channels[i].gamma, is_shared);
		add_quotient(to, g->channels[i].base_offset, is_shared);
		add_quotient(to, g->channels[i].other_offset, is_shared);
	}
}

struct bytes gainmap_iso(const struct img_gain *gain)
{
	struct bytes s = { 0 };

	add_numbers(&s, gain, false);
	return s;
}

static void add_iso(struct bytes *to, const struct img_gain *g, bool is_shared)
{
	struct bytes s = { 0 };

	add(&s, ISO, sizeof(ISO));
	add_numbers(&s, g, is_shared);
	add_segment(to, 0xe2, s);
}

/* The version alone, as Ultra HDR's first pictures have it. */
static void add_iso_version(struct bytes *to)
{
	struct bytes s = { 0 };

	add(&s, ISO, sizeof(ISO));
	add_big(&s, 0, 4);
	add_segment(to, 0xe2, s);
}

static void begin_xmp(struct bytes *s, size_t more_bytes)
{
	add(s, XMP, sizeof(XMP));
	add_text(s, "<?xpacket begin=''?><x:xmpmeta xmlns:x='adobe:ns:meta/'>"
		    "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-"
		    "syntax-ns#'><rdf:Description rdf:about='' "
		    "xmlns:hdrgm='http://ns.adobe.com/hdr-gain-map/1.0/'\n");
	if (more_bytes > 0)
		add_text(s, "note='");
	for (size_t i = 0; i < more_bytes; i++)
		add_text(s, "-");
	if (more_bytes > 0)
		add_text(s, "' ");
}

/* One number as an attribute, with quotes and spaces as XML allows. */
static void add_attribute(struct bytes *s, const char *name, double value)
{
	add_text(s, "   hdrgm:%s = \"%.7f\"\n", name, value);
}

static void add_attributes(struct bytes *s, const struct img_gain *g)
{
	add_attribute(s, "GainMapMin", g->channels[0].min);
	add_attribute(s, "GainMapMax", g->channels[0].max);
	add_attribute(s, "Gamma", g->channels[0].gamma);
	add_attribute(s, "OffsetSDR", g->channels[0].base_offset);
	add_attribute(s, "OffsetHDR", g->channels[0].other_offset);
}

static void add_list(struct bytes *s, const char *name, double r, double g,
		     double b)
{
	add_text(
		s,
		"<hdrgm:%s xml:lang='x'>\n <rdf:Seq>\n  <rdf:li>%.7f</rdf:li>\n"
		"  <rdf:li> %+.7f </rdf:li><rdf:li>%.7e</rdf:li></rdf:Seq>\n"
		"</hdrgm:%s>",
		name, r, g, b, name);
}

#define ADD_LIST(s, name, g, member)                                           \
	add_list(s, name, (g)->channels[0].member, (g)->channels[1].member,    \
		 (g)->channels[2].member)

static void add_xmp(struct bytes *to, const struct img_gain *g, bool has_lists,
		    size_t more_bytes)
{
	struct bytes s = { 0 };

	begin_xmp(&s, more_bytes);
	add_text(&s, "hdrgm:Version='1.0' hdrgm:BaseRenditionIsHDR='False'\n");
	add_attribute(&s, "HDRCapacityMin", g->base_headroom);
	add_attribute(&s, "HDRCapacityMax", g->other_headroom);
	if (!has_lists)
		add_attributes(&s, g);
	add_text(&s, ">");
	if (has_lists) {
		ADD_LIST(&s, "GainMapMin", g, min);
		ADD_LIST(&s, "GainMapMax", g, max);
		ADD_LIST(&s, "Gamma", g, gamma);
		ADD_LIST(&s, "OffsetSDR", g, base_offset);
		ADD_LIST(&s, "OffsetHDR", g, other_offset);
	}
	add_text(&s, "</rdf:Description></rdf:RDF></x:xmpmeta>");
	add_segment(to, 0xe1, s);
}

/* Apple's XMP; the number is left out if it is 0. */
static void add_apple(struct bytes *to, double headroom)
{
	struct bytes s = { 0 };

	begin_xmp(&s, 0);
	add_text(&s,
		 "xmlns:HDRGainMap='http://ns.apple.com/HDRGainMap/1.0/'>"
		 "<HDRGainMap:HDRGainMapVersion>%d"
		 "</HDRGainMap:HDRGainMapVersion>",
		 headroom > 0 ? 131072 : 65536);
	if (headroom > 0)
		add_text(&s,
			 "<HDRGainMap:HDRGainMapHeadroom>%.6f"
			 "</HDRGainMap:HDRGainMapHeadroom>",
			 headroom);
	add_text(&s, "</rdf:Description></rdf:RDF></x:xmpmeta>");
	add_segment(to, 0xe1, s);
}

static void add_entry(struct bytes *to, int tag, int type, int64_t count,
		      int64_t value)
{
	add_big(to, tag, 2);
	add_big(to, type, 2);
	add_big(to, count, 4);
	add_big(to, value, 4);
}

/* EXIF data with Apple's note of two numbers, in hundredths. */
static void add_note(struct bytes *to, const double note[2])
{
	struct bytes s = { 0 };

	add(&s, "Exif\0\0MM\0*\0\0\0\10\0\1", 16);
	add_entry(&s, 0x8769, 4, 1, 26);
	add_big(&s, 0, 4);
	add_big(&s, 1, 2);
	add_entry(&s, 0x927c, 7, 60, 44);
	add_big(&s, 0, 4);
	add(&s, "Apple iOS\0\0\1MM\0\2", 16);
	add_entry(&s, 0x21, 10, 1, 44);
	add_entry(&s, 0x30, 10, 1, 52);
	add_big(&s, 0, 4);
	for (int i = 0; i < 2; i++) {
		add_big(&s, (int64_t)lround(note[i] * 1000), 4);
		add_big(&s, 1000, 4);
	}
	add_segment(to, 0xe1, s);
}

static void add_metadata(struct bytes *to, const struct gainmap_spec *spec)
{
	switch (spec->metadata) {
	case GAINMAP_ISO:
	case GAINMAP_ISO_SHARED:
		add_iso(to, spec->gain, spec->metadata == GAINMAP_ISO_SHARED);
		return;
	case GAINMAP_XMP:
	case GAINMAP_XMP_LISTS:
		add_xmp(to, spec->gain, spec->metadata == GAINMAP_XMP_LISTS, 0);
		return;
	case GAINMAP_XMP_LONG:
		add_xmp(to, spec->gain, false, LONG_BYTES);
		return;
	case GAINMAP_XMP_SECOND:
		add_iso_version(to);
		add_xmp(to, spec->gain, false, 0);
		return;
	case GAINMAP_APPLE:
	case GAINMAP_APPLE_NOTE:
		add_apple(to, spec->headroom);
		return;
	default:
		return;
	}
}

static void add_promise(struct bytes *to)
{
	struct bytes s = { 0 };

	begin_xmp(&s, 0);
	add_text(&s, "hdrgm:Version='1.0'></rdf:Description></rdf:RDF>"
		     "</x:xmpmeta>");
	add_segment(to, 0xe1, s);
}

static void add_profile(struct bytes *to, struct bytes profile)
{
	struct bytes s = { 0 };

	add(&s, "ICC_PROFILE\0\1\1", 14);
	add(&s, profile.data, profile.count);
	add_segment(to, 0xe2, s);
}

struct picture {
	size_t offset, bytes;
};

/* Entries first, then the directory. */
static void add_index(struct bytes *to, const struct picture *pictures,
		      uint32_t count, size_t index_at, bool little)
{
	struct bytes s = { 0 };

	add(&s, "MPF", 4);
	add(&s, little ? "II*\0" : "MM\0*", 4);
	add_number(&s, 8 + PICTURES * 16, 4, little);
	for (uint32_t i = 0; i < PICTURES; i++) {
		add_number(&s, i == 0 ? 0x30000 : 0, 4, little);
		add_number(&s, (int64_t)pictures[i].bytes, 4, little);
		add_number(&s,
			   i == 0 ? 0 :
				    (int64_t)(pictures[i].offset - index_at),
			   4, little);
		add_number(&s, 0, 4, little);
	}
	add_number(&s, 2, 2, little);
	add_number(&s, 0xb001, 2, little);
	add_number(&s, 4, 2, little);
	add_number(&s, 1, 4, little);
	add_number(&s, count, 4, little);
	add_number(&s, 0xb002, 2, little);
	add_number(&s, 7, 2, little);
	add_number(&s, count * 16, 4, little);
	add_number(&s, 8, 4, little);
	add_number(&s, 0, 4, little);
	CHECK_NUMBER(s.count, ==, INDEX_BYTES);
	add_segment(to, 0xe2, s);
}

static struct bytes make_preview(void)
{
	const struct jpeg_spec small = { .width = 24, .height = 16 };
	struct bytes jpeg = jpeg_make(&small), preview = { 0 };

	add(&preview, jpeg.data, 2);
	add_iso_version(&preview);
	add(&preview, jpeg.data + 2, jpeg.count - 2);
	free(jpeg.data);
	return preview;
}

static struct bytes make_map(const struct gainmap_spec *spec)
{
	struct bytes jpeg = jpeg_make(&spec->map), map = { 0 };

	add(&map, jpeg.data, 2);
	add_metadata(&map, spec);
	if (spec->profile.count > 0)
		add_profile(&map, spec->profile);
	add(&map, jpeg.data + 2, jpeg.count - 2 - spec->cut_bytes);
	free(jpeg.data);
	return map;
}

struct bytes gainmap_make(const struct gainmap_spec *spec)
{
	struct bytes first = jpeg_make(&spec->base), map = make_map(spec);
	struct bytes preview = { 0 }, file = { 0 };
	struct picture pictures[PICTURES] = { { 0, 0 } };
	size_t index_at, end;
	uint32_t count = 0;

	if (spec->has_preview)
		preview = make_preview();
	add(&file, first.data, 2);
	if (spec->is_promised)
		add_promise(&file);
	if (spec->metadata == GAINMAP_APPLE_NOTE)
		add_note(&file, spec->note);
	index_at = file.count + 4 + 4;
	end = file.count + 4 + INDEX_BYTES + first.count - 2;
	pictures[count++] = (struct picture){ 0, end };
	if (spec->has_preview)
		pictures[count++] = (struct picture){
			end,
			preview.count + (size_t)spec->preview_error,
		};
	pictures[count++] = (struct picture){
		end + preview.count + (size_t)spec->offset_error,
		map.count + (size_t)spec->bytes_error,
	};
	add_index(&file, pictures, count, index_at, spec->little_endian);
	add(&file, first.data + 2, first.count - 2);
	add(&file, preview.data, preview.count);
	add(&file, map.data, map.count);
	if (spec->trailer != NULL)
		add_text(&file, "%s", spec->trailer);
	free(first.data);
	free(preview.data);
	free(map.data);
	return file;
}

/* --- Reading --- */

struct segment {
	int code;
	const uint8_t *data;
	size_t bytes;
};

/* Segment `i` before the first scan.  False: there are fewer. */
static bool segment_of(struct segment *s, struct bytes jpeg, uint32_t i)
{
	size_t at = 2;

	for (;;) {
		CHECK_NUMBER(at + 4, <=, jpeg.count);
		CHECK_NUMBER(jpeg.data[at], ==, 0xff);
		*s = (struct segment){
			jpeg.data[at + 1], jpeg.data + at + 4,
			(size_t)(jpeg.data[at + 2] << 8 | jpeg.data[at + 3]) - 2
		};
		if (s->code == 0xda)
			return false;
		if (i-- == 0)
			return true;
		at += s->bytes + 4;
	}
}

/* The segment that begins with `name`, and its zero.  False: there is none. */
static bool find_segment(struct segment *s, struct bytes jpeg, int code,
			 const char *name)
{
	size_t bytes = strlen(name) + 1;

	for (uint32_t i = 0; segment_of(s, jpeg, i); i++)
		if (s->code == code && s->bytes >= bytes &&
		    memcmp(s->data, name, bytes) == 0) {
			s->data += bytes;
			s->bytes -= bytes;
			return true;
		}
	return false;
}

static uint32_t big(const uint8_t *p, int bytes)
{
	uint32_t value = 0;

	while (bytes-- > 0)
		value = value << 8 | *p++;
	return value;
}

static double next_quotient(const uint8_t **at)
{
	double n = (int32_t)big(*at, 4), d = big(*at + 4, 4);

	*at += 8;
	CHECK(d > 0);
	return n / d;
}

void gainmap_see_iso(struct img_gain *g, struct bytes iso)
{
	const uint8_t *at = iso.data + 5;

	CHECK_NUMBER(iso.count, >, 5);
	CHECK_NUMBER(big(iso.data, 4), ==, 0);
	CHECK_NUMBER(iso.data[4] & 0x3f, ==, 0);
	*g = (struct img_gain){
		.channel_count = iso.data[4] & 0x80 ? 3 : 1,
		.uses_base_colours = iso.data[4] & 0x40,
	};
	CHECK_NUMBER(iso.count, ==, 5 + 16 + 40 * g->channel_count);
	g->base_headroom = next_quotient(&at);
	g->other_headroom = next_quotient(&at);
	for (uint32_t i = 0; i < g->channel_count; i++) {
		g->channels[i].min = next_quotient(&at);
		g->channels[i].max = next_quotient(&at);
		g->channels[i].gamma = next_quotient(&at);
		g->channels[i].base_offset = next_quotient(&at);
		g->channels[i].other_offset = next_quotient(&at);
	}
}

/* The XMP has this text. */
__attribute__((format(printf, 2, 3))) static void
check_xmp(struct bytes jpeg, const char *format, ...)
{
	struct segment s;
	char text[200];
	va_list args;

	CHECK(find_segment(&s, jpeg, 0xe1, XMP));
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (memmem(s.data, s.bytes, text, strlen(text)) == NULL)
		check_case("%s is missing in %.*s", text, (int)s.bytes,
			   (const char *)s.data);
	CHECK(memmem(s.data, s.bytes, text, strlen(text)) != NULL);
}

/* The three kinds of metadata agree. */
static void check_all_xmp(const struct gainmap_seen *seen)
{
	const struct img_gain *g = &seen->gain;
	bool is_list = g->channel_count > 1;

	check_xmp(seen->first, "hdrgm:Version=\"1.0\"");
	check_xmp(seen->first, "Item:Semantic=\"GainMap\"");
	check_xmp(seen->first, "Item:Length=\"%zu\"", seen->map.count);
	check_xmp(seen->map, "hdrgm:Version=\"1.0\"");
	check_xmp(seen->map, "hdrgm:HDRCapacityMax=\"%.7g\"",
		  fmax(g->base_headroom, g->other_headroom));
	check_xmp(seen->map,
		  is_list ? "<hdrgm:GainMapMax><rdf:Seq><rdf:li>%.7g</rdf:li>" :
			    "<hdrgm:GainMapMax>%.7g</hdrgm:GainMapMax>",
		  g->channels[0].max);
	check_xmp(seen->map,
		  is_list ? "<rdf:li>%.7g</rdf:li></rdf:Seq></hdrgm:Gamma>" :
			    "<hdrgm:Gamma>%.7g</hdrgm:Gamma>",
		  g->channels[is_list ? 2 : 0].gamma);
}

bool gainmap_see(struct gainmap_seen *seen, struct bytes file)
{
	struct segment s;
	const uint8_t *entries;
	size_t first_bytes, map_bytes, map_at;

	if (!find_segment(&s, file, 0xe2, "MPF"))
		return false;
	/* A directory of three tags at 8, the last of which has the entries. */
	CHECK(memcmp(s.data, "MM\0*\0\0\0\10\0\3", 10) == 0);
	CHECK_NUMBER(big(s.data + 10 + 24, 2), ==, 0xb002);
	CHECK_NUMBER(big(s.data + 10 + 28, 4), ==, 32);
	entries = s.data + big(s.data + 10 + 32, 4);
	first_bytes = big(entries + 4, 4);
	CHECK_NUMBER(big(entries, 4), ==, 0x30000);
	CHECK_NUMBER(big(entries + 8, 4), ==, 0);
	map_bytes = big(entries + 20, 4);
	map_at = big(entries + 24, 4) + (size_t)(s.data - file.data);
	CHECK_NUMBER(map_at, ==, first_bytes);
	CHECK_NUMBER(map_at + map_bytes, ==, file.count);
	*seen = (struct gainmap_seen){
		.first = { file.data, first_bytes },
		.map = { file.data + map_at, map_bytes },
	};
	CHECK_NUMBER(big(seen->map.data, 2), ==, 0xffd8);
	CHECK_NUMBER(big(seen->map.data - 2, 2), ==, 0xffd9);
	CHECK(find_segment(&s, seen->first, 0xe2, ISO));
	CHECK_NUMBER(s.bytes, ==, 4);
	CHECK(find_segment(&s, seen->map, 0xe2, ISO));
	gainmap_see_iso(
		&seen->gain,
		(struct bytes){ (uint8_t *)(uintptr_t)s.data, s.bytes });
	check_all_xmp(seen);
	seen->has_profile = find_segment(&s, seen->map, 0xe2, "ICC_PROFILE");
	return true;
}
