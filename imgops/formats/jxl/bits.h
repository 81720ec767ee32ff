/* SPDX-License-Identifier: MIT */
/*
 * Inside the format JPEG XL: the bits of a codestream, which is a file, or the
 * data of a box "jxlc", or that of boxes "jxlp" one after the other.
 *
 *	ISO/IEC 18181-1, annex B (bits), 18181-2 (boxes)
 *
 * Nothing is copied.  A file may have many boxes; one reader passes over
 * BOXES_MAX of them, which bounds its time.
 */
#ifndef IMGOPS_FORMATS_JXL_BITS_H
#define IMGOPS_FORMATS_JXL_BITS_H

#include "imgops/imgops.h"

/* Where a byte of the codestream is in the file. */
struct jxl_place {
	uint64_t at;
	uint64_t end;      /* of the bytes that follow one another */
	uint64_t next_box; /* 0: the file is the codestream */
};

struct jxl_bits {
	const uint8_t *bytes;
	size_t count; /* of the file that has arrived */
	struct jxl_place place;
	uint32_t boxes; /* passed over */
	uint32_t bits, bit_count;
	/* Set once; then all is 0. TRUNCATED, or CORRUPT. */
	enum img_err err;
};

/* Signature and box type of a file that has boxes. */
extern const uint8_t jxl_container[12];

/* The beginning of the codestream.  `arrived` bytes are at least 2. */
struct jxl_place jxl_beginning(const uint8_t *bytes);

struct jxl_bits jxl_bits_at(struct jxl_place place, const uint8_t *bytes,
			    size_t count);

/* The next `count` bits, up to 32, the lowest first. */
uint32_t jxl_read(struct jxl_bits *b, uint32_t count);

static inline bool jxl_read_bool(struct jxl_bits *b)
{
	return jxl_read(b, 1) != 0;
}

/* A choice of four numbers: each the sum of `add` and `bits` bits. */
struct jxl_choice {
	struct {
		uint32_t add, bits;
	} of[4];
};
uint32_t jxl_read_choice(struct jxl_bits *b, const struct jxl_choice *choice);

uint64_t jxl_read_u64(struct jxl_bits *b);

void jxl_skip_bits(struct jxl_bits *b, uint64_t count);

/* Skip to a whole byte, then `count` bytes. */
void jxl_skip_bytes(struct jxl_bits *b, uint64_t count);

/* What ends a part of the header, and what is called by a name. */
void jxl_skip_extensions(struct jxl_bits *b);
void jxl_skip_name(struct jxl_bits *b);

#endif
