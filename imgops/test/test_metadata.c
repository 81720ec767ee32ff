/* SPDX-License-Identifier: MIT */
/*
 * Promises: with "copyright", a result has the fields of the record and nothing
 * else, whichever of Exif, XMP and IPTC they were in.  With "keep", it has all
 * but what is not true of it, a thumbnail, and a maker's note when it shows
 * less than the file.  Each format gives back what was written.  Whatever the
 * bytes, nothing outside of them is read, and what is broken is left out with a
 * note.  Whatever allocation fails, nothing is left.
 *
 * service_metadata asks another program.
 */
#include "imgops/formats/exif.h"
#include "imgops/formats/tiff.h"
#include "imgops/metadata/metadata.h"
#include "imgops/test/support.h"

#include "base/test/check.h"
#include "base/util.h"

#include <stdlib.h>
#include <string.h>

#define RDF(attributes, text)                                                  \
	"<x:xmpmeta xmlns:x=\"adobe:ns:meta/\"><rdf:RDF xmlns:rdf="            \
	"\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\">"                     \
	"<rdf:Description rdf:about=\"\" "                                     \
	"xmlns:dc=\"http://purl.org/dc/elements/1.1/\" "                       \
	"xmlns:tiff=\"http://ns.adobe.com/tiff/1.0/\" "                        \
	"xmlns:exif='http://ns.adobe.com/exif/1.0/' "                          \
	"xmlns:xmp=\"http://ns.adobe.com/xap/1.0/\" "                          \
	"xmlns:r=\"http://ns.adobe.com/xap/1.0/rights/\" "                     \
	"xmlns:c=\"http://ns.google.com/photos/1.0/container/\" "              \
	"xmlns:ps=\"http://ns.adobe.com/photoshop/1.0/\"" attributes ">" text  \
	"</rdf:Description></rdf:RDF></x:xmpmeta>"

static const char xmp_text[] =
	RDF(" tiff:Orientation=\"6\" ps:Credit=\"A &amp; B\" "
	    "exif:GPSLatitude=\"52,6N\"",
	    "<dc:creator><rdf:Seq><rdf:li>Ann</rdf:li><rdf:li>B&#xf6;b"
	    "</rdf:li></rdf:Seq></dc:creator>"
	    "<dc:rights><rdf:Alt><rdf:li xml:lang='x-default'>mine</rdf:li>"
	    "<rdf:li xml:lang='de'>meins</rdf:li></rdf:Alt></dc:rights>"
	    "<exif:PixelXDimension>4000</exif:PixelXDimension>"
	    "<xmp:Thumbnails><rdf:Alt><rdf:li>THUMB</rdf:li></rdf:Alt>"
	    "</xmp:Thumbnails><c:Directory/><r:Marked>True</r:Marked>"
	    "<dc:subject>secret</dc:subject>");

static const uint8_t iptc_data[] = "\x1c\1\x5a\0\3\x1b%G"
				   "\x1c\2\x50\0\4Zoe\xe9"
				   "\x1c\2\x6e\0\6agency"
				   "\x1c\2\x74\0\4hers"
				   "\x1c\2\xca\0\5SMALL";

/* --- A TIFF file --- */

struct maker {
	uint8_t data[512];
	size_t count;
	bool is_little;
};

static void number_at(struct maker *m, size_t at, uint32_t value,
		      uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		m->data[at + i] =
			(uint8_t)(value >>
				  8 * (m->is_little ? i : bytes - 1 - i));
	if (at + bytes > m->count)
		m->count = at + bytes;
}

static void entry(struct maker *m, uint32_t tag, uint32_t type, uint32_t count,
		  uint32_t value)
{
	size_t at = m->count;

	number_at(m, at, tag, 2);
	number_at(m, at + 2, type, 2);
	number_at(m, at + 4, count, 4);
	number_at(m, at + 8, 0, 4);
	number_at(m, at + 8, value, type == 3 && count == 1 ? 2 : 4);
}

static void text_at(struct maker *m, size_t at, const char *text, size_t count)
{
	memcpy(m->data + at, text, count);
	if (at + count > m->count)
		m->count = at + count;
}

enum { EXIF_AT = 120, GPS_AT = 220, THUMB_AT = 260, TEXT_AT = 300 };

static struct maker make_tiff(bool is_little)
{
	struct maker m = { .is_little = is_little };

	text_at(&m, 0, is_little ? "II" : "MM", 2);
	number_at(&m, 2, 42, 2);
	number_at(&m, 4, 8, 4);
	number_at(&m, 8, 6, 2);
	entry(&m, 0x112, 3, 1, 6);
	entry(&m, 0x13b, 2, 4, 0);
	text_at(&m, m.count - 4, "Eve", 4);
	entry(&m, 0x14a, 4, 1, THUMB_AT); /* SubIFDs */
	entry(&m, 0x8298, 2, 10, TEXT_AT);
	entry(&m, 0x8769, 4, 1, EXIF_AT);
	entry(&m, 0x8825, 4, 1, GPS_AT);
	number_at(&m, m.count, THUMB_AT, 4); /* the next directory */
	number_at(&m, EXIF_AT, 5, 2);
	entry(&m, 0x9003, 2, 5, TEXT_AT + 40);
	entry(&m, 0x927c, 7, 5, TEXT_AT + 10);
	entry(&m, 0xa001, 3, 1, 0xffff);
	entry(&m, 0xa002, 4, 1, 4000);
	entry(&m, 0xa003, 3, 1, 3000);
	number_at(&m, m.count, 0, 4);
	number_at(&m, GPS_AT, 1, 2);
	entry(&m, 1, 2, 2, 0);
	text_at(&m, m.count - 4, "N", 2);
	number_at(&m, m.count, 0, 4);
	number_at(&m, THUMB_AT, 2, 2);
	entry(&m, 0x201, 4, 1, TEXT_AT + 20);
	entry(&m, 0x202, 4, 1, 5);
	text_at(&m, TEXT_AT, "Ann\0Editor", 10);
	text_at(&m, TEXT_AT + 10, "MAKER", 5);
	text_at(&m, TEXT_AT + 20, "THUMB", 5);
	text_at(&m, TEXT_AT + 40, "2026", 5);
	return m;
}

/* --- What a result has --- */

static const struct img_size result_size = { 40, 30 };

/* `parts` as the metadata of a file, on the heap; the result of `t`. */
static struct img_metadata make(const struct metadata_span parts[3],
				const struct img_transform *t,
				const struct img_view *view, struct heap *h)
{
	struct img_metadata from = { .notes = 0 }, out;
	struct img_metadata_part *const to[] = { &from.exif, &from.xmp,
						 &from.iptc };
	const struct img_header header = { .orientation = 6 };
	struct image scaled = { .profile = NULL };

	for (int i = 0; i < 3; i++) {
		if (parts[i].count == 0)
			continue;
		to[i]->bytes = malloc(parts[i].count);
		to[i]->count = parts[i].count;
		CHECK(to[i]->bytes != NULL);
		memcpy(to[i]->bytes, parts[i].bytes, parts[i].count);
		from.block = to[i]->bytes;
	}
	CHECK_NUMBER(img_metadata_make(&out, &from, &header, view, t, &scaled,
				       &h->memory),
		     ==, IMG_OK);
	for (int i = 0; i < 3; i++)
		free(to[i]->bytes);
	return out;
}

static bool has(const struct img_metadata_part *p, const char *text)
{
	return p->count > 0 &&
	       memmem(p->bytes, p->count, text, strlen(text)) != NULL;
}

static struct img_transform transform_of(enum img_metadata_kept kept)
{
	return (struct img_transform){ .quality = 80, .metadata = kept };
}

static void test_keep_corrects_exif(void)
{
	for (int is_little = 0; is_little < 2; is_little++) {
		struct maker m = make_tiff(is_little);
		const struct metadata_span parts[3] = { { m.data, m.count } };
		struct img_transform t = transform_of(IMG_METADATA_KEEP);
		struct img_view view = whole_view(result_size);
		struct img_metadata out;
		size_t first, exif;
		struct tiff tiff;
		struct heap h;

		heap_init(&h);
		out = make(parts, &t, &view, &h);
		CHECK_NUMBER(out.notes, ==, 0);
		first = tiff_open(&tiff, out.exif.bytes, out.exif.count);
		exif = tiff_value(&tiff, first, 0x8769);
		CHECK_NUMBER(tiff_value(&tiff, first, 0x112), ==, 1);
		CHECK_NUMBER(tiff_value(&tiff, exif, 0xa001), ==, 1);
		CHECK_NUMBER(tiff_value(&tiff, exif, 0xa002), ==, 40);
		CHECK_NUMBER(tiff_value(&tiff, exif, 0xa003), ==, 30);
		CHECK(has(&out.exif, "Eve") && has(&out.exif, "MAKER"));
		CHECK(has(&out.exif, "2026") && !has(&out.exif, "THUMB"));
		CHECK(tiff_value(&tiff, first, 0x8825) > 0);
		CHECK_NUMBER(tiff_find(&tiff, first, 0x14a), ==, 0);
		img_metadata_release(&out);

		/* What is not seen may be in the maker's note. */
		view.left = 0.25;
		view.width = 0.75;
		t.as_stored = true;
		out = make(parts, &t, &view, &h);
		CHECK(!has(&out.exif, "MAKER") && has(&out.exif, "2026"));
		CHECK_NUMBER(exif_orientation(out.exif.bytes, out.exif.count),
			     ==, 6);
		img_metadata_release(&out);
		CHECK_NUMBER(h.live_count, ==, 0);
	}
}

static void test_keep_corrects_xmp_and_iptc(void)
{
	const struct metadata_span parts[3] = {
		{ NULL, 0 },
		{ (const uint8_t *)xmp_text, sizeof(xmp_text) - 1 },
		{ iptc_data, sizeof(iptc_data) - 1 },
	};
	static const char *const kept[] = { "Ann", "secret", "52,6N", "meins",
					    "A &amp; B" };
	static const char *const left_out[] = { "tiff:Orientation", "THUMB",
						"4000", "Directory" };
	struct img_transform t = transform_of(IMG_METADATA_KEEP);
	struct img_view view = whole_view(result_size);
	struct img_metadata out;
	struct heap h;

	heap_init(&h);
	out = make(parts, &t, &view, &h);
	CHECK_NUMBER(out.notes, ==, 0);
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		check_case("%s", kept[i]);
		CHECK(has(&out.xmp, kept[i]));
	}
	for (size_t i = 0; i < ARRAY_SIZE(left_out); i++) {
		check_case("%s", left_out[i]);
		CHECK(!has(&out.xmp, left_out[i]));
	}
	CHECK(memcmp(out.xmp.bytes + out.xmp_end, "</rdf:RDF>", 10) == 0);
	CHECK(has(&out.iptc, "agency") && !has(&out.iptc, "SMALL"));
	img_metadata_release(&out);
	CHECK_NUMBER(h.live_count, ==, 0);
}

/* --- Copyright --- */

static void check_record(const struct metadata_span parts[3],
			 const char *artist, const char *copyright,
			 const char *const *in_xmp)
{
	struct img_transform t = transform_of(IMG_METADATA_COPYRIGHT);
	struct img_view view = whole_view(result_size);
	struct img_metadata out;
	struct heap h;

	heap_init(&h);
	out = make(parts, &t, &view, &h);
	CHECK_NUMBER(out.notes, ==, 0);
	CHECK(has(&out.exif, artist) && has(&out.exif, copyright));
	CHECK(!has(&out.exif, "2026") && !has(&out.exif, "MAKER"));
	CHECK_NUMBER(exif_orientation(out.exif.bytes, out.exif.count), ==, 0);
	CHECK(!has(&out.xmp, "secret") && !has(&out.xmp, "52,6N"));
	CHECK_NUMBER(out.iptc.count, ==, 0);
	for (; *in_xmp != NULL; in_xmp++) {
		check_case("%s", *in_xmp);
		CHECK(has(&out.xmp, *in_xmp));
	}
	img_metadata_release(&out);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_the_record_comes_from_each(void)
{
	static const char *const of_xmp[] = {
		"<rdf:li>Ann</rdf:li><rdf:li>B\xc3\xb6"
		"b</rdf:li>",
		">mine</rdf:li></rdf:Alt>",
		"<photoshop:Credit>A &amp; B</photoshop:Credit>",
		"<xmpRights:Marked>True</xmpRights:Marked>",
		NULL,
	};
	static const char *const of_iptc[] = { "Zoe\xc3\xa9", ">hers<",
					       "agency", NULL };
	static const char *const of_exif[] = { ">Eve<", ">Ann; Editor<", NULL };
	struct maker m = make_tiff(false);
	const struct metadata_span exif = { m.data, m.count };
	const struct metadata_span iptc = { iptc_data, sizeof(iptc_data) - 1 };
	const struct metadata_span xmp = { (const uint8_t *)xmp_text,
					   sizeof(xmp_text) - 1 };
	const struct metadata_span all[3] = { exif, xmp, iptc };
	const struct metadata_span no_xmp[3] = { exif, { NULL, 0 }, iptc };
	const struct metadata_span only_exif[3] = { exif };

	check_record(all,
		     "Ann; B\xc3\xb6"
		     "b",
		     "mine", of_xmp);
	check_record(no_xmp, "Zoe\xc3\xa9", "hers", of_iptc);
	check_record(only_exif, "Eve", "Ann; Editor", of_exif);
}

/* --- What is broken --- */

static void test_broken_xmp_is_left_out(void)
{
	static const char *const broken[] = {
		"x",
		"<a>",
		"<a></b>",
		"<!DOCTYPE x [<!ENTITY e \"e\">]>" RDF("", "&e;"),
		RDF("", "<dc:creator>A</dc:rights>"),
		RDF(" dc:rights=A", ""),
		RDF("", "\xff"),
		"<x:xmpmeta xmlns:x=\"adobe:ns:meta/\"></x:xmpmeta>",
	};
	struct img_transform t = transform_of(IMG_METADATA_KEEP);
	struct img_view view = whole_view(result_size);
	struct heap h;

	heap_init(&h);
	for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
		const struct metadata_span parts[3] = {
			{ NULL, 0 },
			{ (const uint8_t *)broken[i], strlen(broken[i]) },
		};
		struct img_metadata out = make(parts, &t, &view, &h);

		check_case("broken[%zu]", i);
		CHECK_NUMBER(out.notes, ==, IMG_NOTE_METADATA_LEFT_OUT);
		CHECK_NUMBER(out.xmp.count, ==, 0);
		img_metadata_release(&out);
	}
}

/* For the sanitizers: cut, and with one byte changed. */
static void try_all_changes(int part, const uint8_t *bytes, size_t count)
{
	static const uint8_t values[] = { 0, 1, 0xff, '<', '>', '"', ':', '&' };
	struct img_view view = whole_view(result_size);
	struct heap h;

	heap_init(&h);
	for (size_t n = 0; n < count * (ARRAY_SIZE(values) + 1); n++) {
		struct metadata_span parts[3] = { { NULL, 0 } };
		uint8_t copy[4096];
		size_t at = n % count;

		memcpy(copy, bytes, count);
		parts[part] = (struct metadata_span){ copy, count };
		if (n < count)
			parts[part].count = at;
		else
			copy[at] = values[n / count - 1];
		for (int kept = 1; kept <= 2; kept++) {
			struct img_transform t =
				transform_of((enum img_metadata_kept)kept);
			struct img_metadata out = make(parts, &t, &view, &h);

			CHECK_NUMBER(out.exif.count + out.xmp.count +
					     out.iptc.count,
				     <=, 3 * IMG_METADATA_PART_BYTES_MAX);
			img_metadata_release(&out);
		}
	}
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_no_byte_outside_is_read(void)
{
	for (int is_little = 0; is_little < 2; is_little++) {
		struct maker m = make_tiff(is_little);

		try_all_changes(0, m.data, m.count);
	}
	try_all_changes(1, (const uint8_t *)xmp_text, sizeof(xmp_text) - 1);
	try_all_changes(2, iptc_data, sizeof(iptc_data) - 1);
}

/* --- Files --- */

static void repeat(uint8_t **bytes, size_t *count, struct img_transform t,
		   const struct img_metadata *m, struct heap *h)
{
	struct image img = image_make(result_size, IMG_YCBCR, waves, h);
	struct image scaled = { .block = NULL };
	struct img_view view = whole_view(result_size);

	CHECK_NUMBER(img_scale(&scaled, &img, &view, &t, &h->memory), ==,
		     IMG_OK);
	scaled.metadata = m;
	CHECK_NUMBER(img_encode(bytes, count, &scaled, &t, &h->memory), ==,
		     IMG_OK);
	img_release(&img);
	img_release(&scaled);
}

static bool is_equal(const struct img_metadata_part *a,
		     const struct img_metadata_part *b)
{
	return a->count == b->count &&
	       (a->count == 0 || memcmp(a->bytes, b->bytes, a->count) == 0);
}

static void test_each_format_gives_it_back(void)
{
	struct maker m = make_tiff(true);
	const struct metadata_span parts[3] = {
		{ m.data, m.count },
		{ (const uint8_t *)xmp_text, sizeof(xmp_text) - 1 },
		{ iptc_data, sizeof(iptc_data) - 1 },
	};
	struct img_view view = whole_view(result_size);

	for (uint32_t f = 0; f < IMG_RESULT_FORMATS; f++) {
		struct img_transform t = transform_of(IMG_METADATA_KEEP);
		struct img_metadata made, read;
		struct img_header header;
		uint8_t *bytes;
		size_t count;
		struct heap h;

		t.format = (enum img_format_number)f;
		check_case("%s", img_formats[f]->word);
		heap_init(&h);
		made = make(parts, &t, &view, &h);
		repeat(&bytes, &count, t, &made, &h);
		CHECK_NUMBER(img_probe(&header, bytes, count, &no_limits), ==,
			     IMG_OK);
		CHECK_NUMBER(img_metadata_read(&read, bytes, count, &header,
					       &h.memory),
			     ==, IMG_OK);
		CHECK_NUMBER(made.exif.count > 0, ==, f != IMG_FORMAT_PPM);
		CHECK_NUMBER(made.iptc.count > 0, ==, f == IMG_FORMAT_JPEG);
		CHECK(is_equal(&made.exif, &read.exif));
		CHECK(is_equal(&made.xmp, &read.xmp));
		CHECK(is_equal(&made.iptc, &read.iptc));
		CHECK_NUMBER(header.orientation, <=, 1);
		img_metadata_release(&made);
		img_metadata_release(&read);
		memory_free(&h.memory, bytes);
		CHECK_NUMBER(h.live_count, ==, 0);
	}
}

/* A JPEG's segments before what `jpeg` has. */
static struct bytes with_segment(struct bytes jpeg, uint8_t code,
				 const char *data, size_t count)
{
	struct bytes out = { malloc(jpeg.count + count + 4),
			     jpeg.count + count + 4 };
	const uint8_t head[] = { 0xff, code, (uint8_t)((count + 2) >> 8),
				 (uint8_t)(count + 2) };

	CHECK(out.data != NULL);
	memcpy(out.data, jpeg.data, 2);
	memcpy(out.data + 2, head, sizeof(head));
	memcpy(out.data + 6, data, count);
	memcpy(out.data + 6 + count, jpeg.data + 2, jpeg.count - 2);
	free(jpeg.data);
	return out;
}

static void test_what_is_not_read_is_noted(void)
{
	static const char more[] = "http://ns.adobe.com/xmp/extension/";
	static const char jumbf[] = "JP\0\1\0\0\0\1\0\0\0\50jumb";
	static char large[65533] = "http://ns.adobe.com/xap/1.0/";
	static const struct {
		uint8_t code;
		const char *data;
		size_t count;
		uint32_t notes;
	} cases[] = {
		{ 0xe1, more, sizeof(more), IMG_NOTE_METADATA_LEFT_OUT },
		{ 0xe1, large, sizeof(large), IMG_NOTE_METADATA_LEFT_OUT },
		{ 0xeb, jumbf, sizeof(jumbf), IMG_NOTE_MANIFEST_REMOVED },
		{ 0xe1, "other", 5, 0 },
	};

	memset(large + 29, 'x', sizeof(large) - 29);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bytes jpeg = jpeg_make(&(struct jpeg_spec){
			.width = 16, .height = 16, .picture = waves });
		struct img_metadata read;
		struct img_header header;
		struct heap h;

		check_case("cases[%zu]", i);
		heap_init(&h);
		jpeg = with_segment(jpeg, cases[i].code, cases[i].data,
				    cases[i].count);
		CHECK_NUMBER(probe_bytes(&header, jpeg), ==, IMG_OK);
		CHECK_NUMBER(img_metadata_read(&read, jpeg.data, jpeg.count,
					       &header, &h.memory),
			     ==, IMG_OK);
		CHECK_NUMBER(read.notes, ==, cases[i].notes);
		CHECK_NUMBER(read.xmp.count, ==, 0);
		img_metadata_release(&read);
		CHECK_NUMBER(h.live_count, ==, 0);
		free(jpeg.data);
	}
}

static void test_failing_memory(void)
{
	struct maker m = make_tiff(true);
	struct img_metadata from = { .exif = { m.data, m.count },
				     .block = m.data };
	const struct img_header header = { .orientation = 1 };
	struct image scaled = { .profile = NULL };
	struct img_view view = whole_view(result_size);
	struct img_transform t = transform_of(IMG_METADATA_COPYRIGHT);
	struct img_metadata out;
	struct heap h;

	for (uint32_t n = 1; n <= 2; n++) {
		heap_init(&h);
		h.fail_at = n;
		CHECK_NUMBER(img_metadata_make(&out, &from, &header, &view, &t,
					       &scaled, &h.memory),
			     ==, IMG_ERR_NO_MEMORY);
		CHECK(out.block == NULL);
		CHECK_NUMBER(h.live_count, ==, 0);
	}
}

int main(void)
{
	test_keep_corrects_exif();
	test_keep_corrects_xmp_and_iptc();
	test_the_record_comes_from_each();
	test_broken_xmp_is_left_out();
	test_no_byte_outside_is_read();
	test_each_format_gives_it_back();
	test_what_is_not_read_is_noted();
	test_failing_memory();
	return 0;
}
