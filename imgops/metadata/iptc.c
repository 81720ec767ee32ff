/* SPDX-License-Identifier: MIT */
/*
 * IPTC-NAA Information Interchange Model, version 4.2: data sets, each with a
 * record, a number and a length.  In a JPEG, they are one of Photoshop's "image
 * resources" (Adobe Photoshop File Formats Specification).
 */
#include "imgops/metadata/metadata.h"

#include <string.h>

enum { IPTC_RESOURCE = 0x0404, MARK = 0x1c, HEAD_BYTES = 5 };

enum {
	ENVELOPE = 1,
	APPLICATION = 2,
	CHARACTER_SET = 90, /* of the envelope */
	BYLINE = 80,        /* of the application, as the rest */
	CREDIT = 110,
	COPYRIGHT = 116,
	PREVIEW = 200, /* up to 202: a small picture */
	PREVIEW_LAST = 202,
};

static size_t read16(const uint8_t *p)
{
	return (size_t)p[0] << 8 | p[1];
}

static bool take(struct metadata_span *s, size_t count)
{
	if (count > s->count)
		return false;
	s->bytes += count;
	s->count -= count;
	return true;
}

struct metadata_span metadata_iptc_find(const uint8_t *resources, size_t count)
{
	static const struct metadata_span none = { NULL, 0 };
	struct metadata_span s = { resources, count };

	for (;;) {
		const uint8_t *head = s.bytes, *size;
		size_t bytes;

		/* A mark, a number, and a name of even length. */
		if (s.count < 8 || memcmp(head, "8BIM", 4) != 0 ||
		    !take(&s, 6 + ((1 + head[6] + 1u) & ~1u)))
			return none;
		size = s.bytes;
		if (!take(&s, 4))
			return none;
		bytes = read16(size) << 16 | read16(size + 2);
		if (bytes > s.count)
			return none;
		if (read16(head + 4) == IPTC_RESOURCE)
			return (struct metadata_span){ s.bytes, bytes };
		(void)take(&s, bytes);
		(void)take(&s, bytes % 2);
	}
}

/* The next data set; *whole includes its head.  False: there is none. */
static bool next_set(struct metadata_span *s, struct metadata_span *whole,
		     struct metadata_span *data)
{
	const uint8_t *head = s->bytes;

	if (!take(s, HEAD_BYTES) || head[0] != MARK)
		return false;
	*whole = (struct metadata_span){ head, HEAD_BYTES + read16(head + 3) };
	*data = (struct metadata_span){ s->bytes, whole->count - HEAD_BYTES };
	return take(s, data->count);
}

void metadata_iptc_read(struct metadata_record *r, struct metadata_span iptc)
{
	struct metadata_span whole, data;

	while (next_set(&iptc, &whole, &data)) {
		if (whole.bytes[1] != APPLICATION)
			continue;
		if (whole.bytes[2] == BYLINE)
			metadata_record_add(r, METADATA_CREATOR, data.bytes,
					    data.count);
		else if (whole.bytes[2] == COPYRIGHT)
			metadata_record_add(r, METADATA_RIGHTS, data.bytes,
					    data.count);
		else if (whole.bytes[2] == CREDIT)
			metadata_record_add(r, METADATA_CREDIT, data.bytes,
					    data.count);
	}
}

static bool is_kept(const uint8_t *head)
{
	if (head[1] == ENVELOPE)
		return head[2] == CHARACTER_SET;
	return head[1] == APPLICATION &&
	       !(head[2] >= PREVIEW && head[2] <= PREVIEW_LAST);
}

void metadata_iptc_keep(struct metadata_out *o, struct metadata_span iptc)
{
	struct metadata_span whole, data;

	while (next_set(&iptc, &whole, &data))
		if (is_kept(whole.bytes))
			metadata_put(o, whole.bytes, whole.count);
}
