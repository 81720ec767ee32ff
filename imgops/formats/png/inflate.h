/* SPDX-License-Identifier: MIT */
/*
 * Inside formats/png: DEFLATE (RFC 1951) in the zlib format (RFC 1950), read
 * piece by piece.
 *
 * zlib can stop anywhere, but takes twice as long.  libdeflate is as fast as
 * this, but reads and writes everything in one call: it cannot pause, needs
 * memory for the whole picture, and its cost is not known before.
 *
 * Output goes to a window: the last 32 KB, which matches refer to, and what has
 * not been taken yet.
 *
 * Memory     The caller's: no byte is allocated here.
 */
#ifndef IMGOPS_FORMATS_PNG_INFLATE_H
#define IMGOPS_FORMATS_PNG_INFLATE_H

#include "imgops/imgops.h"

enum {
	INFLATE_LITERAL_BITS = 11,
	INFLATE_DISTANCE_BITS = 8,
	INFLATE_LENGTH_BITS = 7,
	/* The most entries of tables with these roots (zlib's enough.c). */
	INFLATE_LITERAL_ENTRIES = 2342,
	INFLATE_DISTANCE_ENTRIES = 402,
	INFLATE_HISTORY = 32768,
	/* What may be written beyond the end of a match, and before it. */
	INFLATE_SLACK = 258 + 32,
	INFLATE_PART = 96 << 10, /* written between two pauses */
};

/* A window from which up to `n` bytes can be taken at a time. */
#define INFLATE_WINDOW(n)                                                      \
	((size_t)INFLATE_HISTORY + INFLATE_PART + INFLATE_SLACK + (n))

enum inflate_state {
	INFLATE_HEAD,
	INFLATE_BLOCK,
	INFLATE_STORED,
	INFLATE_CODES,
	INFLATE_TAIL,
	INFLATE_END,
};

struct inflate {
	/* The input: a piece of it, and what gives the next; NULL: no more. */
	const uint8_t *in, *in_end;
	bool (*next)(struct inflate *z);
	void *arg;
	const struct memory *memory; /* for pauses; NULL: none */
	bool is_raw;                 /* without head and checksum of zlib */
	bool patient;                /* tables may be as many as they like */

	enum inflate_state state;
	enum img_err err; /* after what has been made */
	uint64_t bits;    /* the next `left` bits, the first one lowest */
	uint32_t left;
	bool is_last, is_fixed; /* of blocks; of tables */
	uint32_t stored_bytes;
	uint32_t adler;
	uint64_t tables, fixed_blocks, in_bytes, out_bytes; /* so far */
	const uint8_t *first;
	uint64_t block_bit; /* inflate_bit() where the last block begins */

	uint8_t *window;
	size_t room, made, taken;

	uint32_t literals[INFLATE_LITERAL_ENTRIES];
	uint32_t distances[INFLATE_DISTANCE_ENTRIES];
};

/* How many bits of an input of one piece have been read. */
static inline uint64_t inflate_bit(const struct inflate *z)
{
	return (uint64_t)(z->in - z->first) * 8 - z->left;
}

/*
 * Begin with the piece `in`.  Then the members from `next` to `patient` may be
 * set.  `next` sets z->in and z->in_end to another piece, which may be empty.
 */
void inflate_init(struct inflate *z, const uint8_t *in, size_t in_bytes,
		  uint8_t *window, size_t room);

/*
 * The next `n` bytes, valid until the next call.  Errors: TRUNCATED: the input
 * ends; CORRUPT, also if the stream ends; IRREGULAR: its tables take longer
 * than its bytes, and `patient` is not set.
 */
MUST_CHECK enum img_err inflate_take(struct inflate *z, const uint8_t **bytes,
				     size_t n);

/*
 * After the last byte was taken: OK if the stream ends here with the right
 * checksum, or if there are more bytes, which are not wanted.
 */
MUST_CHECK enum img_err inflate_finish(struct inflate *z);

#endif
