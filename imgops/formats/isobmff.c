/* SPDX-License-Identifier: MIT */
#include "imgops/formats/isobmff.h"

enum {
	HEAD_BYTES = 8,
	LARGE_HEAD_BYTES = 16,
	TABLE_BYTES_MAX = 256 << 10,
	PROPERTIES_MAX = 1000,
};

uint64_t isobmff_number(struct isobmff_span *s, uint32_t bytes)
{
	uint64_t n = 0;

	if (s->left < bytes) {
		s->is_bad = true;
		s->left = 0;
		return 0;
	}
	for (uint32_t i = 0; i < bytes; i++)
		n = n << 8 | s->at[i];
	isobmff_skip(s, bytes);
	return n;
}

void isobmff_skip(struct isobmff_span *s, size_t bytes)
{
	if (s->left < bytes) {
		s->is_bad = true;
		s->left = 0;
	} else if (bytes > 0) { /* a box that is missing is NULL */
		s->at += bytes;
		s->left -= bytes;
	}
}

uint32_t isobmff_version(struct isobmff_span *s)
{
	return (uint32_t)isobmff_number(s, 4) >> 24;
}

bool isobmff_next(struct isobmff_box *box, struct isobmff_span *s)
{
	size_t before = s->left, head;
	uint64_t bytes;

	if (s->left == 0)
		return false;
	bytes = isobmff_number(s, 4);
	box->type = (uint32_t)isobmff_number(s, 4);
	if (bytes == 1)
		bytes = isobmff_number(s, 8);
	else if (bytes == 0)
		bytes = before; /* to the end */
	head = before - s->left;
	if (s->is_bad || bytes < head || bytes > before) {
		s->is_bad = true;
		s->left = 0;
		return false;
	}
	box->data = (struct isobmff_span){ s->at, bytes - head, false };
	isobmff_skip(s, box->data.left);
	return true;
}

bool isobmff_find(struct isobmff_box *box, struct isobmff_span s, uint32_t type)
{
	while (isobmff_next(box, &s))
		if (box->type == type)
			return true;
	return false;
}

enum img_err isobmff_head(struct isobmff_head *head, const uint8_t *bytes,
			  size_t arrived, uint64_t offset)
{
	struct isobmff_span s = { bytes, arrived, false };
	bool is_large;

	if (offset > arrived)
		return IMG_ERR_TRUNCATED;
	isobmff_skip(&s, (size_t)offset);
	head->bytes = isobmff_number(&s, 4);
	head->type = (uint32_t)isobmff_number(&s, 4);
	is_large = head->bytes == 1;
	head->head_bytes = is_large ? LARGE_HEAD_BYTES : HEAD_BYTES;
	if (is_large)
		head->bytes = isobmff_number(&s, 8);
	if (s.is_bad)
		return IMG_ERR_TRUNCATED;
	if (head->bytes == 0 && !is_large)
		head->bytes = UINT64_MAX;
	return head->bytes < head->head_bytes ? IMG_ERR_CORRUPT : IMG_OK;
}

bool isobmff_is_cut(const uint8_t *bytes, size_t count)
{
	struct isobmff_head head;
	uint64_t at = 0;

	while (at < count) {
		if (isobmff_head(&head, bytes, count, at) != IMG_OK)
			return true;
		if (head.bytes == UINT64_MAX)
			return false;
		if (head.bytes > count - at)
			return true;
		at += head.bytes;
	}
	return false;
}

bool isobmff_has_brand(const uint8_t *bytes, size_t count, uint32_t brand)
{
	struct isobmff_span s = { bytes, count, false };
	uint64_t size = isobmff_number(&s, 4);
	bool is_first = true;

	if (isobmff_number(&s, 4) != ISOBMFF_NAME('f', 't', 'y', 'p'))
		return false;
	s.left = min_u64(s.left, size < HEAD_BYTES ? 0 : size - HEAD_BYTES);
	while (s.left >= 4) {
		if (isobmff_number(&s, 4) == brand)
			return true;
		if (is_first) /* the minor version */
			isobmff_skip(&s, 4);
		is_first = false;
	}
	return false;
}

/* --- Items --- */

enum img_err isobmff_meta_read(struct isobmff_meta *m, struct isobmff_span s)
{
	struct isobmff_box box, inner;
	bool is_picture = false;

	*m = (struct isobmff_meta){ 0 };
	(void)isobmff_version(&s);
	while (isobmff_next(&box, &s)) {
		struct isobmff_span d = box.data;

		switch (box.type) {
		case ISOBMFF_NAME('h', 'd', 'l', 'r'):
			isobmff_skip(&d, 8);
			is_picture = isobmff_number(&d, 4) ==
				     ISOBMFF_NAME('p', 'i', 'c', 't');
			break;
		case ISOBMFF_NAME('p', 'i', 't', 'm'):
			m->primary = (uint32_t)isobmff_number(
				&d, isobmff_version(&d) == 0 ? 2 : 4);
			break;
		case ISOBMFF_NAME('i', 'i', 'n', 'f'):
			m->items = box.data;
			break;
		case ISOBMFF_NAME('i', 'r', 'e', 'f'):
			m->references = box.data;
			break;
		case ISOBMFF_NAME('i', 'l', 'o', 'c'):
			m->locations = box.data;
			break;
		case ISOBMFF_NAME('i', 'd', 'a', 't'):
			m->data = box.data;
			break;
		case ISOBMFF_NAME('i', 'p', 'r', 'p'):
			if (m->associations.at != NULL)
				return IMG_ERR_CORRUPT;
			m->associations = box.data;
			if (isobmff_find(&inner, d,
					 ISOBMFF_NAME('i', 'p', 'c', 'o')))
				m->properties = inner.data;
			break;
		default:
			break;
		}
	}
	if (m->items.left > TABLE_BYTES_MAX ||
	    m->references.left > TABLE_BYTES_MAX ||
	    m->locations.left > TABLE_BYTES_MAX ||
	    m->associations.left - m->properties.left > TABLE_BYTES_MAX)
		return IMG_ERR_CORRUPT;
	return is_picture && m->primary != 0 && !s.is_bad ? IMG_OK :
							    IMG_ERR_CORRUPT;
}

uint32_t isobmff_item_type(const struct isobmff_meta *m, uint32_t item)
{
	struct isobmff_span s = m->items;
	struct isobmff_box box;

	/* The number of entries is not needed. */
	isobmff_skip(&s, isobmff_version(&s) == 0 ? 2 : 4);
	while (isobmff_next(&box, &s)) {
		uint32_t version = isobmff_version(&box.data), number;

		if (version < 2)
			continue;
		number = (uint32_t)isobmff_number(&box.data,
						  version == 2 ? 2 : 4);
		isobmff_skip(&box.data, 2);
		if (number == item)
			return (uint32_t)isobmff_number(&box.data, 4);
	}
	return 0;
}

static bool nth_box(struct isobmff_box *box, struct isobmff_span s, uint32_t n)
{
	while (isobmff_next(box, &s))
		if (n-- == 0)
			return true;
	return false;
}

/* In one box "ipma". */
static bool find_places(struct isobmff_places *p, struct isobmff_span s,
			uint32_t item)
{
	uint32_t head = (uint32_t)isobmff_number(&s, 4);
	uint32_t number_bytes = head >> 24 == 0 ? 2 : 4;
	uint64_t entries = isobmff_number(&s, 4);

	p->bytes = (head & 1) != 0 ? 2 : 1;
	for (uint64_t i = 0; i < entries && !s.is_bad; i++) {
		uint32_t number = (uint32_t)isobmff_number(&s, number_bytes);

		p->left = (uint32_t)isobmff_number(&s, 1);
		p->at = s;
		if (number == item)
			return true;
		isobmff_skip(&s, (size_t)p->left * p->bytes);
	}
	return false;
}

struct isobmff_places isobmff_places(const struct isobmff_meta *m,
				     uint32_t item)
{
	struct isobmff_span s = m->associations;
	struct isobmff_places p;
	struct isobmff_box part;

	while (isobmff_next(&part, &s))
		if (part.type == ISOBMFF_NAME('i', 'p', 'm', 'a') &&
		    find_places(&p, part.data, item))
			return p;
	return (struct isobmff_places){ 0 };
}

bool isobmff_property(struct isobmff_box *box, const struct isobmff_meta *m,
		      struct isobmff_places *p)
{
	uint32_t place;

	if (p->left == 0)
		return false;
	p->left--;
	/* The first bit says whether it may be ignored. */
	place = (uint32_t)isobmff_number(&p->at, p->bytes) &
		(p->bytes == 2 ? 0x7fff : 0x7f);
	return place > 0 && place <= PROPERTIES_MAX &&
	       nth_box(box, m->properties, place - 1);
}

/*
 * The next of the boxes in which the item refers to others by `type`: how many.
 * They are the numbers of *bytes each at the beginning of `targets`.
 */
static uint32_t next_targets(struct isobmff_span *targets, uint32_t bytes,
			     struct isobmff_span *s, uint32_t type,
			     uint32_t item)
{
	struct isobmff_box box;
	uint32_t count;

	while (isobmff_next(&box, s)) {
		if (box.type != type ||
		    isobmff_number(&box.data, bytes) != item)
			continue;
		count = (uint32_t)isobmff_number(&box.data, 2);
		*targets = box.data;
		if (count > 0)
			return count;
	}
	return 0;
}

static uint32_t target_bytes(struct isobmff_span *references)
{
	return isobmff_version(references) == 0 ? 2 : 4;
}

uint32_t isobmff_targets(const struct isobmff_meta *m, uint32_t type,
			 uint32_t item)
{
	struct isobmff_span s = m->references, targets;
	uint32_t bytes = target_bytes(&s), all = 0, count;

	while ((count = next_targets(&targets, bytes, &s, type, item)) > 0) {
		if (targets.left / bytes < count)
			return 0;
		all += count;
	}
	return all;
}

uint32_t isobmff_target(const struct isobmff_meta *m, uint32_t type,
			uint32_t item, uint32_t n)
{
	struct isobmff_span s = m->references, targets;
	uint32_t bytes = target_bytes(&s), count;

	while ((count = next_targets(&targets, bytes, &s, type, item)) > 0) {
		if (n < count) {
			isobmff_skip(&targets, (size_t)n * bytes);
			return (uint32_t)isobmff_number(&targets, bytes);
		}
		n -= count;
	}
	return 0;
}

uint32_t isobmff_source(const struct isobmff_meta *m, uint32_t type,
			uint32_t item, uint32_t n)
{
	struct isobmff_span s = m->references;
	uint32_t bytes = target_bytes(&s);
	struct isobmff_box box;

	while (isobmff_next(&box, &s)) {
		uint32_t source, count;
		bool refers = false;

		if (box.type != type)
			continue;
		source = (uint32_t)isobmff_number(&box.data, bytes);
		count = (uint32_t)isobmff_number(&box.data, 2);
		for (; count > 0 && !box.data.is_bad && !refers; count--)
			refers = isobmff_number(&box.data, bytes) == item;
		if (refers && n-- == 0)
			return source;
	}
	return 0;
}

/* --- Data of items --- */

enum { IN_FILE, IN_IDAT }; /* "construction methods" */

bool isobmff_extents(struct isobmff_extents *e, const struct isobmff_meta *m,
		     struct isobmff_span file, uint32_t item)
{
	struct isobmff_span s = m->locations;
	uint32_t version = isobmff_version(&s), base_bytes, number_bytes;
	uint32_t sizes = (uint32_t)isobmff_number(&s, 2);
	uint64_t items;

	number_bytes = version < 2 ? 2 : 4;
	items = isobmff_number(&s, number_bytes);
	*e = (struct isobmff_extents){ .offset_bytes = sizes >> 12,
				       .length_bytes = sizes >> 8 & 15,
				       .index_bytes =
					       version > 0 ? sizes & 15 : 0 };
	base_bytes = sizes >> 4 & 15;
	if ((e->offset_bytes | e->length_bytes | base_bytes) > 8 ||
	    e->index_bytes > 8)
		return false;
	for (uint64_t i = 0; i < items && !s.is_bad; i++) {
		uint64_t number = isobmff_number(&s, number_bytes), method;

		method = version > 0 ? isobmff_number(&s, 2) & 15 : IN_FILE;
		isobmff_skip(&s, 2);
		e->base = isobmff_number(&s, base_bytes);
		e->left = (uint32_t)isobmff_number(&s, 2);
		e->at = s;
		e->source = method == IN_IDAT ? m->data : file;
		if (number == item)
			return !s.is_bad && method <= IN_IDAT;
		isobmff_skip(&s, (size_t)e->left *
					 (e->index_bytes + e->offset_bytes +
					  e->length_bytes));
	}
	return false;
}

bool isobmff_extent(struct isobmff_span *piece, struct isobmff_extents *e)
{
	uint64_t offset, bytes;

	if (e->left == 0)
		return false;
	isobmff_skip(&e->at, e->index_bytes);
	offset = isobmff_number(&e->at, e->offset_bytes);
	bytes = isobmff_number(&e->at, e->length_bytes);
	*piece = e->source;
	if (e->at.is_bad || offset > piece->left ||
	    e->base > piece->left - offset)
		return false;
	isobmff_skip(piece, (size_t)(e->base + offset));
	if (bytes == 0) /* to the end */
		bytes = piece->left;
	if (bytes > piece->left)
		return false;
	piece->left = (size_t)bytes;
	e->left--;
	return true;
}

bool isobmff_data(struct isobmff_span *data, const struct isobmff_meta *m,
		  struct isobmff_span file, uint32_t item)
{
	struct isobmff_extents e;

	return isobmff_extents(&e, m, file, item) && e.left == 1 &&
	       isobmff_extent(data, &e);
}
