/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: boxes of the ISO base media file format (ISO/IEC 14496-12),
 * and the items of a picture in it (HEIF, ISO/IEC 23008-12).
 *
 * A file is a sequence of boxes; a box has a size, a type of four letters and
 * data, which may be boxes.  The box "meta" lists items: pictures, and what
 * belongs to them.  An item has properties, such as its size, and references to
 * other items.
 *
 * Nothing is copied or allocated: what is asked for is searched in the bytes
 * each time, so the caller bounds how often it asks.
 */
#ifndef IMGOPS_FORMATS_ISOBMFF_H
#define IMGOPS_FORMATS_ISOBMFF_H

#include "imgops/imgops.h"

#define ISOBMFF_NAME(a, b, c, d)                                               \
	((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 |      \
	 (uint32_t)(d))

/*
 * Bytes that are read from the front.  What is past the end is 0, and `is_bad`
 * from then on.
 */
struct isobmff_span {
	const uint8_t *at;
	size_t left;
	bool is_bad;
};

struct isobmff_box {
	uint32_t type;
	struct isobmff_span data;
};

/* A number of 0 to 8 bytes. */
uint64_t isobmff_number(struct isobmff_span *s, uint32_t bytes);

/* Move past `bytes`. */
void isobmff_skip(struct isobmff_span *s, size_t bytes);

/* Version and flags of a "full box": the version. */
uint32_t isobmff_version(struct isobmff_span *s);

/* The next box within `s`.  False: there is none, or `s` is bad. */
bool isobmff_next(struct isobmff_box *box, struct isobmff_span *s);

/* The first box of this type within `s`.  False: none. */
bool isobmff_find(struct isobmff_box *box, struct isobmff_span s,
		  uint32_t type);

/* The head of a box of the file itself, of which not all has arrived. */
struct isobmff_head {
	uint32_t type;
	size_t head_bytes;
	uint64_t bytes; /* of the whole box; UINT64_MAX: to the file's end */
};

/* Errors: TRUNCATED, CORRUPT. */
enum img_err isobmff_head(struct isobmff_head *head, const uint8_t *bytes,
			  size_t arrived, uint64_t offset);

/* True: the last of the file's boxes should be longer. */
bool isobmff_is_cut(const uint8_t *bytes, size_t count);

/* Does the file's first box, "ftyp", name this brand in its `count` bytes? */
bool isobmff_has_brand(const uint8_t *bytes, size_t count, uint32_t brand);

struct isobmff_meta {
	uint32_t primary; /* number of the item that is shown */
	struct isobmff_span items, references, associations, properties;
	struct isobmff_span locations, data; /* "iloc", "idat" */
};

/*
 * The data of the box "meta".  CORRUPT: it has no picture, or tables that would
 * take long to search: over 256 KiB, where 1,024 cells of a grid have 40.
 */
enum img_err isobmff_meta_read(struct isobmff_meta *m, struct isobmff_span s);

/* 0: there is no such item. */
uint32_t isobmff_item_type(const struct isobmff_meta *m, uint32_t item);

/* The properties of an item that are still to be read. */
struct isobmff_places {
	struct isobmff_span at;
	uint32_t left, bytes; /* bytes of each place */
};

struct isobmff_places isobmff_places(const struct isobmff_meta *m,
				     uint32_t item);

/*
 * The next property.  False: there are no more, or it is not among the first
 * 1,000 of the file.
 */
bool isobmff_property(struct isobmff_box *box, const struct isobmff_meta *m,
		      struct isobmff_places *places);

/* How many items the item refers to by `type`. */
uint32_t isobmff_targets(const struct isobmff_meta *m, uint32_t type,
			 uint32_t item);

/* Item number `n`, from 0, of those. */
uint32_t isobmff_target(const struct isobmff_meta *m, uint32_t type,
			uint32_t item, uint32_t n);

/* Item number `n`, from 0, that refers to `item` by `type`.  0: fewer do. */
uint32_t isobmff_source(const struct isobmff_meta *m, uint32_t type,
			uint32_t item, uint32_t n);

/* The pieces of an item's data that are still to be read. */
struct isobmff_extents {
	struct isobmff_span at, source;
	uint64_t base;
	uint32_t index_bytes, offset_bytes, length_bytes;
	uint32_t left;
};

/*
 * False: the item has no data, or they are neither in `file`, which is whole,
 * nor in the box "idat".
 */
bool isobmff_extents(struct isobmff_extents *e, const struct isobmff_meta *m,
		     struct isobmff_span file, uint32_t item);

/*
 * The next piece.  False: there is none; or, if then any is left, it is not in
 * the file.
 */
bool isobmff_extent(struct isobmff_span *piece, struct isobmff_extents *e);

/* The data of an item that has them in one piece.  False: it does not. */
bool isobmff_data(struct isobmff_span *data, const struct isobmff_meta *m,
		  struct isobmff_span file, uint32_t item);

#endif
