/* SPDX-License-Identifier: MIT */
#include "imgops/metadata/metadata.h"

#include "imgops/formats/format.h"

#include <string.h>

_Static_assert(IMG_METADATA_PART_BYTES_MAX <= 65533 - 29,
	       "a segment of a JPEG has room for XMP and its name");

void metadata_found_set(struct metadata_span *to, const uint8_t *bytes,
			size_t count)
{
	if (to->count == 0)
		*to = (struct metadata_span){ bytes, count };
}

void metadata_found_exif(struct metadata_found *found, const uint8_t *bytes,
			 size_t count)
{
	static const uint8_t name[] = { 'E', 'x', 'i', 'f', 0, 0 };

	if (count >= sizeof(name) && memcmp(bytes, name, sizeof(name)) == 0) {
		bytes += sizeof(name);
		count -= sizeof(name);
	}
	metadata_found_set(&found->exif, bytes, count);
}

void metadata_found_item(struct metadata_found *found, const uint8_t *bytes,
			 size_t count)
{
	enum { NUMBER_BYTES = 4 };
	size_t offset = 0;

	for (size_t i = 0; i < NUMBER_BYTES && i < count; i++)
		offset = offset << 8 | bytes[i];
	if (count < NUMBER_BYTES || offset >= count - NUMBER_BYTES)
		found->is_left_out = true;
	else
		metadata_found_exif(found, bytes + NUMBER_BYTES + offset,
				    count - NUMBER_BYTES - offset);
}

/* --- Three parts in one block --- */

static struct metadata_span span_of(const struct img_metadata_part *p)
{
	return (struct metadata_span){ p->bytes, p->count };
}

static bool alloc(struct img_metadata *m, size_t bytes,
		  const struct memory *memory)
{
	m->block = memory_alloc(memory, bytes);
	m->memory = memory;
	return m->block != NULL;
}

void img_metadata_release(struct img_metadata *m)
{
	if (m->block != NULL)
		memory_free(m->memory, m->block);
	*m = (struct img_metadata){ .block = NULL };
}

uint64_t img_metadata_bytes_max(const struct img_header *header)
{
	return min_u64(header->bytes,
		       (uint64_t)3 * IMG_METADATA_PART_BYTES_MAX);
}

/* --- Reading --- */

static void copy_part(struct img_metadata *m, struct img_metadata_part *to,
		      struct metadata_span from, size_t *at)
{
	if (from.count == 0)
		return;
	if (from.count > IMG_METADATA_PART_BYTES_MAX) {
		m->notes |= IMG_NOTE_METADATA_LEFT_OUT;
		return;
	}
	if (m->block != NULL) {
		to->bytes = (uint8_t *)m->block + *at;
		to->count = from.count;
		memcpy(to->bytes, from.bytes, from.count);
	}
	*at += from.count;
}

static void copy_parts(struct img_metadata *m, const struct metadata_found *f,
		       size_t *bytes)
{
	*bytes = 0;
	copy_part(m, &m->exif, f->exif, bytes);
	copy_part(m, &m->xmp, f->xmp, bytes);
	copy_part(m, &m->iptc, f->iptc, bytes);
}

enum img_err img_metadata_read(struct img_metadata *out, const uint8_t *bytes,
			       size_t count, const struct img_header *header,
			       const struct memory *memory)
{
	const struct img_codec *c = header->format->codec;
	struct metadata_found found = { .is_left_out = false };
	size_t needed;

	*out = (struct img_metadata){ .block = NULL };
	if (c->metadata == NULL)
		return IMG_OK;
	c->metadata(&found, bytes, count, header);
	while (found.xmp.count > 0 && found.xmp.bytes[found.xmp.count - 1] == 0)
		found.xmp.count--;
	if (found.has_manifest)
		out->notes |= IMG_NOTE_MANIFEST_REMOVED;
	if (found.is_left_out)
		out->notes |= IMG_NOTE_METADATA_LEFT_OUT;
	copy_parts(out, &found, &needed);
	if (needed == 0)
		return IMG_OK;
	if (!alloc(out, needed, memory))
		return IMG_ERR_NO_MEMORY;
	copy_parts(out, &found, &needed);
	return IMG_OK;
}

/* --- What a result has --- */

/* Begin a part in the rest of the block, of at most `room` bytes. */
static struct metadata_out begin(const struct img_metadata *m, size_t used)
{
	return (struct metadata_out){ .bytes = (uint8_t *)m->block + used,
				      .room = IMG_METADATA_PART_BYTES_MAX };
}

static void end(struct img_metadata *m, struct img_metadata_part *to,
		const struct metadata_out *o, size_t *used)
{
	if (o->is_bad)
		m->notes |= IMG_NOTE_METADATA_LEFT_OUT;
	if (o->is_bad || o->count == 0)
		return;
	*to = (struct img_metadata_part){ o->bytes, o->count };
	*used += o->count;
}

static void keep(struct img_metadata *m, const struct img_metadata *from,
		 const struct metadata_result *result, bool holds_iptc)
{
	struct metadata_out o;
	size_t used = 0;

	if (from->exif.count > 0) {
		o = begin(m, used);
		metadata_tiff_keep(&o, span_of(&from->exif), result);
		end(m, &m->exif, &o, &used);
	}
	if (from->xmp.count > 0) {
		o = begin(m, used);
		metadata_xmp_keep(&o, span_of(&from->xmp), &m->xmp_end);
		end(m, &m->xmp, &o, &used);
	}
	if (from->iptc.count > 0 && !holds_iptc)
		m->notes |= IMG_NOTE_METADATA_LEFT_OUT;
	if (from->iptc.count > 0 && holds_iptc) {
		o = begin(m, used);
		metadata_iptc_keep(&o, span_of(&from->iptc));
		end(m, &m->iptc, &o, &used);
	}
}

/* `r` has three records. */
static void keep_copyright(struct img_metadata *m,
			   const struct img_metadata *from,
			   struct metadata_record *r)
{
	struct metadata_out o;
	size_t used = 0;

	memset(r, 0, 3 * sizeof(*r));
	if (from->xmp.count > 0)
		metadata_xmp_read(&r[0], span_of(&from->xmp));
	metadata_iptc_read(&r[1], span_of(&from->iptc));
	metadata_tiff_read(&r[2], span_of(&from->exif));
	metadata_record_complete(&r[0], &r[1]);
	metadata_record_complete(&r[0], &r[2]);
	if (r->is_left_out)
		m->notes |= IMG_NOTE_METADATA_LEFT_OUT;
	o = begin(m, used);
	metadata_tiff_write(&o, r);
	end(m, &m->exif, &o, &used);
	o = begin(m, used);
	metadata_xmp_write(&o, r, &m->xmp_end);
	end(m, &m->xmp, &o, &used);
}

/* Is nothing of the picture left out or covered? */
static bool shows_all(const struct img_view *v, const struct img_transform *t)
{
	return v->left <= 0 && v->top <= 0 && v->left + v->width >= 1 &&
	       v->top + v->height >= 1 && t->blur_sigma_px == 0 &&
	       t->watermark == 0;
}

enum img_err
img_metadata_make(struct img_metadata *out, const struct img_metadata *from,
		  const struct img_header *header, const struct img_view *view,
		  const struct img_transform *t, const struct image *scaled,
		  const struct memory *memory)
{
	bool is_turned = t->rotation != IMG_ROTATE_0 ||
			 t->flip != IMG_FLIP_NONE || !t->as_stored;
	const struct metadata_result result = {
		.size = img_result_size(view),
		.orientation = is_turned || header->orientation == 0 ?
				       1 :
				       header->orientation,
		.has_profile = scaled->profile != NULL,
		.shows_all = shows_all(view, t),
	};
	struct metadata_record *records = NULL;

	*out = (struct img_metadata){ .block = NULL };
	if (t->metadata == IMG_METADATA_STRIP)
		return IMG_OK;
	out->notes = from->notes;
	if (from->block != NULL && !format_of_result(t)->holds_metadata)
		out->notes |= IMG_NOTE_METADATA_LEFT_OUT;
	if (from->block == NULL || !format_of_result(t)->holds_metadata)
		return IMG_OK;
	if (!alloc(out, (size_t)3 * IMG_METADATA_PART_BYTES_MAX, memory))
		return IMG_ERR_NO_MEMORY;
	if (t->metadata == IMG_METADATA_KEEP) {
		keep(out, from, &result, format_of_result(t)->holds_iptc);
		return IMG_OK;
	}
	records = memory_alloc(memory, 3 * sizeof(*records));
	if (records == NULL) {
		img_metadata_release(out);
		return IMG_ERR_NO_MEMORY;
	}
	keep_copyright(out, from, records);
	memory_free(memory, records);
	return IMG_OK;
}
