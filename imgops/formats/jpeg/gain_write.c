/* SPDX-License-Identifier: MIT */
#include "imgops/formats/jpeg/gain.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* --- Bytes --- */

static void put(struct gain_segment *s, const void *data, size_t bytes)
{
	assert(bytes <= sizeof(s->data) - s->bytes);
	memcpy(s->data + s->bytes, data, bytes);
	s->bytes += bytes;
}

static void put_number(struct gain_segment *s, uint32_t value, uint32_t bytes)
{
	while (bytes-- > 0)
		put(s, &(uint8_t){ (uint8_t)(value >> 8 * bytes) }, 1);
}

__attribute__((format(printf, 2, 3))) static void
put_text(struct gain_segment *s, const char *format, ...)
{
	size_t room = sizeof(s->data) - s->bytes;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf((char *)s->data + s->bytes, room, format, args);
	va_end(args);
	assert(n >= 0 && (size_t)n < room);
	s->bytes += (size_t)n;
}

void gain_write_metadata(struct gain_segment *s, const struct img_gain *gain)
{
	static const char name[] = "urn:iso:std:iso:ts:21496:-1";
	uint8_t iso[GAIN_ISO_BYTES_MAX];

	s->code = MARKER_APP2;
	s->bytes = 0;
	put(s, name, sizeof(name));
	if (gain != NULL)
		put(s, iso, gain_write_iso(iso, gain));
	else
		put_number(s, 0, 4); /* only the versions */
}

/* --- XMP --- */

#define RDF "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
#define DESCRIPTION "<rdf:Description "
#define XMP_END "</rdf:RDF></x:xmpmeta>"

static void begin_xmp(struct gain_segment *s)
{
	static const char name[] = "http://ns.adobe.com/xap/1.0/";

	s->code = MARKER_APP1;
	s->bytes = 0;
	put(s, name, sizeof(name));
	put_text(s, "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\">"
		    "<rdf:RDF xmlns:rdf=\"" RDF "\">" DESCRIPTION
		    "rdf:about=\"\" xmlns:rdf=\"" RDF "\" "
		    "xmlns:hdrgm=\"http://ns.adobe.com/hdr-gain-map/1.0/\" ");
}

static void end_xmp(struct gain_segment *s)
{
	put_text(s, "</rdf:Description>" XMP_END);
}

const uint8_t *gain_description(const struct gain_segment *s, size_t *bytes)
{
	const uint8_t *begin =
		memmem(s->data, s->bytes, DESCRIPTION, sizeof(DESCRIPTION) - 1);

	assert(begin != NULL);
	*bytes = (size_t)(s->data + s->bytes - begin) - (sizeof(XMP_END) - 1);
	return begin;
}

/* The numbers of channels: an element, with a list if there are several. */
static void put_channels(struct gain_segment *s, const struct img_gain *gain,
			 const char *name, const double *first)
{
	const size_t step = sizeof(gain->channels[0]);

	put_text(s, "<hdrgm:%s>", name);
	if (gain->channel_count > 1)
		put_text(s, "<rdf:Seq>");
	for (uint32_t i = 0; i < gain->channel_count; i++) {
		double value;

		memcpy(&value, (const char *)first + i * step, sizeof(value));
		put_text(s,
			 gain->channel_count > 1 ? "<rdf:li>%.7g</rdf:li>" :
						   "%.7g",
			 value);
	}
	if (gain->channel_count > 1)
		put_text(s, "</rdf:Seq>");
	put_text(s, "</hdrgm:%s>", name);
}

void gain_write_xmp(struct gain_segment *s, const struct img_gain *gain)
{
	bool is_hdr = gain->other_headroom < gain->base_headroom;
	const double *base = &gain->channels[0].base_offset;
	const double *other = &gain->channels[0].other_offset;

	begin_xmp(s);
	put_text(s,
		 "hdrgm:Version=\"1.0\" hdrgm:HDRCapacityMin=\"%.7g\" "
		 "hdrgm:HDRCapacityMax=\"%.7g\" "
		 "hdrgm:BaseRenditionIsHDR=\"%s\">",
		 fmin(gain->base_headroom, gain->other_headroom),
		 fmax(gain->base_headroom, gain->other_headroom),
		 is_hdr ? "True" : "False");
	put_channels(s, gain, "GainMapMin", &gain->channels[0].min);
	put_channels(s, gain, "GainMapMax", &gain->channels[0].max);
	put_channels(s, gain, "Gamma", &gain->channels[0].gamma);
	put_channels(s, gain, "OffsetSDR", is_hdr ? other : base);
	put_channels(s, gain, "OffsetHDR", is_hdr ? base : other);
	end_xmp(s);
}

/* Ultra HDR image format 1.1: the directory of Google's GContainer. */
void gain_write_directory(struct gain_segment *s, size_t map_bytes)
{
	begin_xmp(s);
	put_text(s,
		 "xmlns:Container=\"http://ns.google.com/photos/1.0/"
		 "container/\" "
		 "xmlns:Item=\"http://ns.google.com/photos/1.0/container/"
		 "item/\" "
		 "hdrgm:Version=\"1.0\"><Container:Directory><rdf:Seq>"
		 "<rdf:li rdf:parseType=\"Resource\"><Container:Item "
		 "Item:Semantic=\"Primary\" Item:Mime=\"image/jpeg\"/></rdf:li>"
		 "<rdf:li rdf:parseType=\"Resource\"><Container:Item "
		 "Item:Semantic=\"GainMap\" Item:Mime=\"image/jpeg\" "
		 "Item:Length=\"%zu\"/></rdf:li>"
		 "</rdf:Seq></Container:Directory>",
		 map_bytes);
	end_xmp(s);
}

/* --- MPF: CIPA DC-007-2009 --- */

static void put_entry(struct gain_segment *s, uint32_t tag, uint32_t type,
		      uint32_t count, uint32_t value)
{
	put_number(s, tag, 2);
	put_number(s, type, 2);
	put_number(s, count, 4);
	put_number(s, value, 4);
}

static void put_picture(struct gain_segment *s, uint32_t attributes,
			size_t bytes, size_t offset)
{
	put_number(s, attributes, 4);
	put_number(s, (uint32_t)bytes, 4);
	put_number(s, (uint32_t)offset, 4);
	put_number(s, 0, 4); /* depends on no other pictures */
}

void gain_write_index(struct gain_segment *s, size_t first_bytes,
		      size_t map_bytes, size_t index_offset)
{
	enum {
		TIFF_AT = 4, /* after the name */
		TYPE_LONG = 4,
		TYPE_UNDEFINED = 7,
		ENTRY_BYTES = 16,
		ENTRIES_AT = 50, /* in the TIFF file: 8 + 2 + 3 * 12 + 4 */
		PRIMARY = 0x030000,
	};

	s->code = MARKER_APP2;
	s->bytes = 0;
	put(s, "MPF", TIFF_AT);
	put(s, "MM\0*", 4);
	put_number(s, 8, 4);
	put_number(s, 3, 2);
	put_entry(s, 0xb000, TYPE_UNDEFINED, 4, 0x30313030); /* "0100" */
	put_entry(s, 0xb001, TYPE_LONG, 1, 2);
	put_entry(s, 0xb002, TYPE_UNDEFINED, 2 * ENTRY_BYTES, ENTRIES_AT);
	put_number(s, 0, 4);
	assert(s->bytes == TIFF_AT + ENTRIES_AT);
	put_picture(s, PRIMARY, first_bytes, 0);
	put_picture(s, 0, map_bytes, first_bytes - index_offset - TIFF_AT);
}
