/* SPDX-License-Identifier: MIT */
/*
 * XMP, ISO 16684-1: RDF in XML.  A property is an element within an
 * rdf:Description, or one of its attributes; a list of values is an rdf:Seq,
 * rdf:Bag or rdf:Alt of elements rdf:li.
 */
#include "imgops/metadata/xml.h"

#include <string.h>

#define RDF "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
#define DC "http://purl.org/dc/elements/1.1/"
#define RIGHTS "http://ns.adobe.com/xap/1.0/rights/"
#define PHOTOSHOP "http://ns.adobe.com/photoshop/1.0/"
#define TIFF "http://ns.adobe.com/tiff/1.0/"
#define EXIF "http://ns.adobe.com/exif/1.0/"

bool metadata_is_xmp(const uint8_t *bytes, size_t count)
{
	static const char name[] = "adobe:ns:meta/", rdf[] = RDF;
	enum { BEGINNING = 512 };
	size_t most = count < BEGINNING ? count : BEGINNING;

	return memmem(bytes, most, name, sizeof(name) - 1) != NULL ||
	       memmem(bytes, most, rdf, sizeof(rdf) - 1) != NULL;
}

/* --- The record --- */

enum shape { VALUE, SEQ, BAG, ALT };

/* The fields in the order of enum metadata_field. */
static const struct field {
	const char *space, *local;
	const char *prefix; /* as it is written */
	enum shape shape;
} fields[METADATA_FIELDS] = {
	[METADATA_CREATOR] = { DC, "creator", "dc", SEQ },
	[METADATA_RIGHTS] = { DC, "rights", "dc", ALT },
	[METADATA_CREDIT] = { PHOTOSHOP, "Credit", "photoshop", VALUE },
	[METADATA_TERMS] = { RIGHTS, "UsageTerms", "xmpRights", ALT },
	[METADATA_STATEMENT] = { RIGHTS, "WebStatement", "xmpRights", VALUE },
	[METADATA_OWNER] = { RIGHTS, "Owner", "xmpRights", BAG },
	[METADATA_MARKED] = { RIGHTS, "Marked", "xmpRights", VALUE },
};

/* METADATA_FIELDS: it is none of them. */
static uint32_t field_of(const struct xml *x, struct metadata_span name)
{
	uint32_t i = 0;

	while (i < METADATA_FIELDS &&
	       !xml_is(x, name, fields[i].space, fields[i].local))
		i++;
	return i;
}

static void add_text(struct metadata_record *r, uint32_t field,
		     struct metadata_span text)
{
	uint8_t plain[METADATA_FIELD_BYTES];
	size_t count = xml_text(plain, sizeof(plain), &text);

	/* Of other languages, the first is the usual one. */
	if ((fields[field].shape == ALT || fields[field].shape == VALUE) &&
	    r->text[field][0] != '\0')
		return;
	if (text.count > 0 || !metadata_is_utf8(plain, count)) {
		r->is_left_out = true;
		return;
	}
	metadata_record_add(r, (enum metadata_field)field, plain, count);
}

static void add_attributes(struct metadata_record *r, const struct xml *x,
			   struct metadata_span attributes)
{
	struct xml_attribute a;
	uint32_t field;

	while (xml_attribute(&a, &attributes)) {
		field = field_of(x, a.name);
		if (field < METADATA_FIELDS)
			add_text(r, field, a.value);
	}
}

void metadata_xmp_read(struct metadata_record *r, struct metadata_span xmp)
{
	uint32_t field = METADATA_FIELDS, depth = 0;
	struct xml_token t;
	struct xml x;

	xml_begin(&x, xmp);
	for (xml_next(&x, &t); t.kind > XML_BAD; xml_next(&x, &t)) {
		if (t.kind == XML_CLOSE && x.depth == depth)
			field = METADATA_FIELDS;
		if (t.kind == XML_TEXT && field < METADATA_FIELDS)
			add_text(r, field,
				 (struct metadata_span){
					 t.start, (size_t)(t.end - t.start) });
		if (t.kind != XML_OPEN && t.kind != XML_EMPTY)
			continue;
		if (xml_is(&x, t.name, RDF, "Description"))
			add_attributes(r, &x, t.attributes);
		if (t.kind == XML_OPEN && field == METADATA_FIELDS) {
			field = field_of(&x, t.name);
			depth = x.depth;
		}
	}
	r->is_left_out |= t.kind == XML_BAD;
}

static void put_escaped(struct metadata_out *o, const char *text, size_t count)
{
	for (; count > 0; text++, count--) {
		if (*text == '&')
			metadata_put_text(o, "&amp;");
		else if (*text == '<')
			metadata_put_text(o, "&lt;");
		else if (*text == '>')
			metadata_put_text(o, "&gt;");
		else
			metadata_put(o, text, 1);
	}
}

static void put_tag(struct metadata_out *o, const char *before,
		    const struct field *f)
{
	metadata_put_text(o, before);
	metadata_put_text(o, f->prefix);
	metadata_put_text(o, ":");
	metadata_put_text(o, f->local);
	metadata_put_text(o, ">");
}

static void put_item(struct metadata_out *o, enum shape shape, const char *text,
		     size_t count)
{
	metadata_put_text(o, shape == ALT ? "<rdf:li xml:lang=\"x-default\">" :
					    "<rdf:li>");
	put_escaped(o, text, count);
	metadata_put_text(o, "</rdf:li>");
}

static void put_field(struct metadata_out *o, const struct field *f,
		      const char *text)
{
	static const char *const names[] = { "", "rdf:Seq>", "rdf:Bag>",
					     "rdf:Alt>" };
	const char *between;

	put_tag(o, "<", f);
	if (f->shape == VALUE) {
		put_escaped(o, text, strlen(text));
		put_tag(o, "</", f);
		return;
	}
	metadata_put_text(o, "<");
	metadata_put_text(o, names[f->shape]);
	while (f->shape != ALT &&
	       (between = strstr(text, METADATA_BETWEEN)) != NULL) {
		put_item(o, f->shape, text, (size_t)(between - text));
		text = between + strlen(METADATA_BETWEEN);
	}
	put_item(o, f->shape, text, strlen(text));
	metadata_put_text(o, "</");
	metadata_put_text(o, names[f->shape]);
	put_tag(o, "</", f);
}

void metadata_xmp_write(struct metadata_out *o, const struct metadata_record *r,
			size_t *end)
{
	bool is_empty = true;

	for (uint32_t i = 0; i < METADATA_FIELDS; i++)
		is_empty &= r->text[i][0] == '\0';
	if (is_empty)
		return;
	metadata_put_text(o, "<?xpacket begin=\"\xef\xbb\xbf\" "
			     "id=\"W5M0MpCehiHzreSzNTczkc9d\"?>"
			     "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\">"
			     "<rdf:RDF xmlns:rdf=\"" RDF "\">"
			     "<rdf:Description rdf:about=\"\" "
			     "xmlns:dc=\"" DC "\" "
			     "xmlns:photoshop=\"" PHOTOSHOP "\" "
			     "xmlns:xmpRights=\"" RIGHTS "\">");
	for (uint32_t i = 0; i < METADATA_FIELDS; i++)
		if (r->text[i][0] != '\0')
			put_field(o, &fields[i], r->text[i]);
	metadata_put_text(o, "</rdf:Description>");
	*end = o->count;
	metadata_put_text(o, "</rdf:RDF></x:xmpmeta><?xpacket end=\"r\"?>");
}

/* --- All of it --- */

/*
 * What is not true of the result: sizes, offsets, gain maps, manifests; and
 * small pictures.
 */
static bool is_left_out(const struct xml *x, struct metadata_span name)
{
	static const struct {
		const char *space, *local;
	} table[] = {
		{ TIFF, "Orientation" },
		{ TIFF, "ImageWidth" },
		{ TIFF, "ImageLength" },
		{ EXIF, "PixelXDimension" },
		{ EXIF, "PixelYDimension" },
		{ EXIF, "ColorSpace" },
		{ PHOTOSHOP, "ICCProfile" },
		{ "http://ns.adobe.com/xap/1.0/", "Thumbnails" },
		{ "http://ns.adobe.com/xap/1.0/g/img/", NULL },
		{ "http://ns.adobe.com/xmp/note/", NULL },
		{ "http://ns.adobe.com/hdr-gain-map/", NULL },
		{ "http://ns.apple.com/HDRGainMap/", NULL },
		{ "http://ns.google.com/photos/", NULL },
		{ "http://purl.org/dc/terms/", "provenance" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (xml_is(x, name, table[i].space, table[i].local))
			return true;
	return false;
}

static void copy(struct metadata_out *o, const uint8_t **from,
		 const uint8_t *to)
{
	metadata_put(o, *from, (size_t)(to - *from));
}

/* The tag of an element that is kept, from *at on. */
static void keep_tag(struct metadata_out *o, const struct xml *x,
		     const struct xml_token *t, const uint8_t **at)
{
	struct metadata_span left = t->attributes;
	struct xml_attribute a;

	while (xml_attribute(&a, &left)) {
		if (!is_left_out(x, a.name) ||
		    memchr(a.name.bytes, ':', a.name.count) == NULL)
			continue;
		copy(o, at, a.start);
		*at = a.end;
	}
}

void metadata_xmp_keep(struct metadata_out *o, struct metadata_span xmp,
		       size_t *end)
{
	const uint8_t *at = xmp.bytes; /* what is before it is written */
	uint32_t skipped = 0; /* depth of an element that is left out */
	struct xml_token t;
	struct xml x;

	*end = 0;
	o->is_bad |= !metadata_is_utf8(xmp.bytes, xmp.count);
	xml_begin(&x, xmp);
	for (xml_next(&x, &t); t.kind > XML_BAD; xml_next(&x, &t)) {
		bool is_open = t.kind == XML_OPEN || t.kind == XML_EMPTY;
		bool is_padding = t.kind == XML_TEXT && x.depth == 0;

		if (skipped > 0) {
			at = t.end;
			if (t.kind == XML_CLOSE && x.depth == skipped)
				skipped = 0;
			continue;
		}
		if (is_padding || (is_open && is_left_out(&x, t.name)))
			at = t.end;
		else if (is_open)
			keep_tag(o, &x, &t, &at);
		if (at == t.end && t.kind == XML_OPEN)
			skipped = x.depth;
		if (t.kind == XML_CLOSE && xml_is(&x, t.name, RDF, "RDF"))
			*end = o->count;
		copy(o, &at, t.end);
		at = t.end;
	}
	o->is_bad |= t.kind == XML_BAD || *end == 0;
}
