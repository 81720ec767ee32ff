/* SPDX-License-Identifier: MIT */
/*
 * Inside sequential.c and ahead.c: a component of a scan, and how its blocks
 * are read.  It runs for each coefficient, so everything is inline.
 */
#ifndef IMGOPS_FORMATS_JPEG_SEQUENTIAL_H
#define IMGOPS_FORMATS_JPEG_SEQUENTIAL_H

#include "imgops/formats/jpeg/ac.h"
#include "imgops/formats/jpeg/edge.h"
#include "imgops/formats/jpeg/huffman.h"
#include "imgops/formats/jpeg/idct.h"
#include "imgops/formats/jpeg/markers.h"
#include "imgops/formats/jpeg/texture.h"
#include "imgops/image.h"

#include <stdlib.h>

struct component {
	struct img_plane *plane;
	const struct dc_table *dc;
	const struct ac_table *ac;
	int32_t last_dc;
	uint32_t columns, rows; /* of blocks, in the picture */
	uint32_t across, down;  /* blocks in an MCU */
	uint16_t quant[DCTSIZE2];
	uint16_t low_steps[IDCT_COEFFICIENTS]; /* of them, for idct_block() */
	int16_t all_steps[DCTSIZE2];           /* for idct_full.h */
	struct edge edge;
	struct texture texture;
	bool keeps_light;
};

/* How blocks are read. */
enum how {
	HOW_LOW,         /* only the low coefficients, at 1/8 to 4/8 */
	HOW_KEEPS_LIGHT, /* the same, and the energy of the others */
	HOW_WATCHES,     /* the same, and fine texture is watched for */
	HOW_FULL,        /* all coefficients, at 8/8 */
};

/* Read DC.  *looks is how many pairs can be read before the next refill. */
static inline __attribute__((always_inline)) bool
read_dc(struct bits *bits, struct component *c, uint32_t *looks)
{
	struct bits b = bits_refill(*bits);
	uint32_t look = c->dc->values[b.next >> (64 - PAIR_BITS)];

	if (look != 0) {
		bits_drop(&b, (int32_t)(look & DC_BITS_MASK));
		c->last_dc += (int32_t)look >> DC_VALUE_SHIFT;
		*looks = PAIRS_PER_REFILL - 1;
	} else {
		int32_t size = huffman_symbol(&b, &c->dc->codes);

		if (size < 0)
			return false;
		c->last_dc += huffman_value(&b, size);
		*looks = 0;
	}
	*bits = b;
	return abs(c->last_dc) <= INT16_MAX;
}

/* Add the energy of the symbols of a pair, the first after coefficient k. */
static inline uint64_t pair_energy(const struct texture *t, uint32_t k,
				   uint64_t pair)
{
	uint32_t first = pair >> PAIR_FIRST_SHIFT & PAIR_ADVANCE_MASK;
	uint32_t last = pair >> PAIR_LAST_SHIFT & PAIR_ADVANCE_MASK;
	uint64_t energy =
		texture_energy(t, (k + first) % DCTSIZE2,
			       (int16_t)(pair >> PAIR_FIRST_VALUE_SHIFT));

	if (last > first)
		energy += texture_energy(
			t, (k + last) % DCTSIZE2,
			(int16_t)(pair >> PAIR_LAST_VALUE_SHIFT));
	return energy;
}

/* Of one block. */
struct reading {
	const struct ac_table *ac;
	const uint8_t *places; /* of coefficients, in `block` */
	int16_t *block;
	uint32_t looks; /* pairs that can be read before the next refill */
	/* If energy is measured. */
	const struct texture *texture;
	uint64_t energy;
};

/* Read a symbol that is not among the pairs, after coefficient *k. */
static inline bool read_long(struct reading *r, struct bits *b, uint32_t *k,
			     enum how how)
{
	int32_t value;

	*b = bits_refill(*b);
	if (!ac_long(b, &r->ac->codes, k, &value))
		return false;
	r->block[r->places[*k]] = (int16_t)value;
	if (how == HOW_WATCHES)
		r->energy += texture_energy(r->texture, *k % DCTSIZE2, value);
	return true;
}

/*
 * Read AC coefficients up to `last` at least.  *out is the index of the last
 * one, or AC_END more.  False: a code is not valid.
 */
static inline __attribute__((always_inline)) bool
read_values(struct reading *r, struct bits *bits, uint32_t last, uint32_t *out,
	    enum how how)
{
	uint32_t k = 0, first = 0, looks = r->looks;
	uint64_t pair = 0, next = 0;
	struct bits b = *bits;

	while (k < last) {
		if (looks == 0) {
			b = bits_refill(b);
			looks = PAIRS_PER_REFILL;
		}
		looks--;
		pair = r->ac->pairs[b.next >> (64 - PAIR_BITS)];
		if (pair == 0) {
			first = 0;
			looks = 0;
			if (!read_long(r, &b, &k, how))
				return false;
			continue;
		}
		if (how == HOW_WATCHES)
			r->energy += pair_energy(r->texture, k, pair);
		next = b.next;
		bits_drop(&b, (int32_t)(pair & PAIR_BITS_MASK));
		first = k + (pair >> PAIR_FIRST_SHIFT & PAIR_ADVANCE_MASK);
		k += pair >> PAIR_LAST_SHIFT & PAIR_ADVANCE_MASK;
		r->block[r->places[first]] =
			(int16_t)(pair >> PAIR_FIRST_VALUE_SHIFT);
		r->block[r->places[k]] =
			(int16_t)(pair >> PAIR_LAST_VALUE_SHIFT);
	}
	/* After coefficient 63, another block begins: take the pair back. */
	if (how == HOW_FULL && first >= AC_COEFFICIENTS && first < AC_END) {
		b.next = next;
		b.count += (int32_t)(pair & PAIR_BITS_MASK);
		bits_drop(&b, pair >> PAIR_FIRST_BITS_SHIFT & PAIR_BITS_MASK);
		k = first;
	}
	*bits = b;
	*out = k;
	r->looks = looks;
	return true;
}

/*
 * Read the coefficients that a block of n x n samples needs, and skip the
 * others, whose energy is measured or 0.  DC is c->last_dc.
 */
static inline __attribute__((always_inline)) bool
read_low(struct component *c, struct bits *bits, uint32_t n,
	 const uint8_t places[AC_INDEX_MAX], int16_t *block, uint64_t *energy,
	 bool measures)
{
	struct reading r = {
		.ac = c->ac,
		.places = places,
		.block = block,
		.texture = &c->texture,
	};
	uint32_t k;

	if (!read_dc(bits, c, &r.looks) ||
	    !read_values(&r, bits, idct_last[n], &k,
			 measures ? HOW_WATCHES : HOW_LOW) ||
	    !ac_skip(bits, c->ac, k, r.looks * PAIR_BITS / LOOK_BITS, measures,
		     r.texture, &r.energy))
		return false;
	*energy = r.energy;
	return true;
}

/*
 * Read restart marker `number`, which must follow directly: the bits left are
 * those that fill a byte.
 */
static inline bool restart_read(struct bits *b, uint32_t number,
				struct component *components, uint32_t count)
{
	if (!bits_are_real(b) || b->count - b->made_up >= 8 ||
	    b->end - b->at < 2 || b->at[0] != 0xff ||
	    b->at[1] != MARKER_RST0 + number % 8)
		return false;
	*b = (struct bits){ .at = b->at + 2, .end = b->end };
	for (uint32_t i = 0; i < count; i++)
		components[i].last_dc = 0;
	return true;
}

#endif
