/* SPDX-License-Identifier: MIT */
/*
 * A code is looked up in a table with the next bits, as many as the table's
 * root; longer codes go on in a second table.  An entry says all about a
 * symbol:
 *
 *	bits 0..7   bits to drop: those of the code, and extra bits
 *	bits 8..11  bits of the code; or of the index into a second table
 *	bits 16..   a literal; the least length or distance; or a second table
 *
 * Tables are filled as in libdeflate: by doubling, so a table costs little more
 * than its entries.
 */
#include "imgops/formats/png/inflate.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#include <libdeflate.h>

enum {
	CODE_BITS_MAX = 15,
	LITERALS = 288,
	DISTANCES = 32,
	LENGTHS = 19,
	END_OF_BLOCK = 256,
	/* Symbols that exist. */
	LITERALS_MAX = 286,
	DISTANCES_MAX = 30,
	SPECIAL = 1 << 15, /* of an entry: not a literal, not a match */
	SECOND = 1 << 14,  /* with SPECIAL: in a second table */
	END = 1 << 13,     /* with SPECIAL: end of block; else: no such code */
	FAST_IN = 24,      /* what the fast loop may read in a round */
	/*
	 * A table takes about as long as 200 bytes of input.  Encoders make one
	 * for at least some KB of the picture.
	 */
	TABLES_FREE = 64,
	IN_BYTES_PER_TABLE = 256,
	OUT_BYTES_PER_TABLE = 2048,
	FIXED_PER_TABLE = 8, /* blocks without tables of their own */
	BLOCKS_PER_RUN = 64, /* until the next pause */
};

#define LITERAL (1u << 31)
#define INLINED __attribute__((always_inline))

static const uint16_t length_bases[] = {
	3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23,  27,
	31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258,
};
static const uint8_t length_extras[] = {
	0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
	2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
};
static const uint16_t distance_bases[] = {
	1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
	33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
	1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577,
};

/* What an entry says of a symbol, without the bits of its code. */
static uint32_t literal_entry(uint32_t symbol)
{
	if (symbol < END_OF_BLOCK)
		return LITERAL | symbol << 16;
	if (symbol == END_OF_BLOCK)
		return SPECIAL | END;
	if (symbol >= LITERALS_MAX)
		return SPECIAL;
	symbol -= END_OF_BLOCK + 1;
	return (uint32_t)length_bases[symbol] << 16 | length_extras[symbol];
}

static uint32_t distance_entry(uint32_t symbol)
{
	if (symbol >= DISTANCES_MAX)
		return SPECIAL;
	return (uint32_t)distance_bases[symbol] << 16 |
	       (symbol < 2 ? 0 : symbol / 2 - 1);
}

static uint32_t length_entry(uint32_t symbol)
{
	return symbol << 16;
}

/* --- Tables --- */

INLINED static inline uint64_t load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

/* Codes of one alphabet, in the order in which they are given out. */
struct codes {
	uint32_t counts[CODE_BITS_MAX + 1]; /* of each length */
	uint16_t sorted[LITERALS];
	uint32_t count;
};

/* False: more codes than there is room for, or room for more. */
static bool codes_sort(struct codes *c, const uint8_t *lengths, uint32_t n)
{
	uint32_t starts[CODE_BITS_MAX + 2] = { 0 };
	/* Two, because a sum of equal lengths would wait for itself. */
	uint32_t even[CODE_BITS_MAX + 1] = { 0 },
				      odd[CODE_BITS_MAX + 1] = { 0 };
	uint16_t used[LITERALS];
	int32_t room = 1;

	c->count = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (i + 8 <= n && load64(lengths + i) == 0) {
			i += 7;
			continue;
		}
		if (lengths[i] == 0)
			continue;
		(c->count % 2 == 0 ? even : odd)[lengths[i]]++;
		used[c->count++] = (uint16_t)i;
	}
	for (uint32_t len = 0; len <= CODE_BITS_MAX; len++)
		c->counts[len] = even[len] + odd[len];
	for (uint32_t len = 1; len <= CODE_BITS_MAX; len++) {
		room = 2 * room - (int32_t)c->counts[len];
		if (room < 0)
			return false;
		starts[len + 1] = starts[len] + c->counts[len];
	}
	for (uint32_t i = 0; i < c->count; i++)
		c->sorted[starts[lengths[used[i]]]++] = used[i];
	/* One code of one bit, or none at all, need not fill the room. */
	return room == 0 || c->count == 0 ||
	       (c->count == 1 && c->counts[1] == 1);
}

/* The next code of `len` bits, which are stored in reverse; not the last. */
static uint32_t next_code(uint32_t code, uint32_t len)
{
	uint32_t zeros = code ^ ((1u << len) - 1);
	uint32_t bit = 1u << (31 - __builtin_clz(zeros));

	return (code & (bit - 1)) | bit;
}

/* A second table for codes of `len` and more bits; returns its end. */
static uint32_t open_second(uint32_t *table, uint32_t root, uint32_t code,
			    uint32_t len, uint32_t start,
			    const uint32_t *counts)
{
	uint32_t bits = len - root, room = counts[len];

	while (room < 1u << bits) {
		bits++;
		room = 2 * room + counts[root + bits];
	}
	table[code & ((1u << root) - 1)] =
		SPECIAL | SECOND | start << 16 | bits << 8 | root;
	return start + (1u << bits);
}

/*
 * The first half of a table is also its second.  (Compilers make slow loops of
 * memcpy() here.)
 */
static void double_table(uint32_t *table, uint32_t bits)
{
	memmove(table + (1u << bits), table, sizeof(*table) << bits);
}

static inline bool table_build(uint32_t *table, uint32_t root,
			       const uint8_t *lengths, uint32_t n,
			       uint32_t (*entry)(uint32_t symbol))
{
	uint32_t code = 0, len = 1, start = 0, end = 1u << root;
	uint32_t prefix = UINT32_MAX;
	struct codes c;

	if (!codes_sort(&c, lengths, n))
		return false;
	if (c.count < 2) {
		for (uint32_t i = 0; i < 1u << root; i++)
			table[i] = c.count == 0 || i % 2 != 0 ?
					   (uint32_t)SPECIAL :
					   entry(c.sorted[0]) + 0x101;
		return true;
	}
	for (; c.counts[len] == 0; len++)
		;
	for (uint32_t i = 0; i < c.count; i++) {
		uint32_t e = entry(c.sorted[i]);

		if (len <= root) {
			table[code] = e + 0x101 * len;
		} else {
			if ((code & ((1u << root) - 1)) != prefix) {
				prefix = code & ((1u << root) - 1);
				start = end;
				end = open_second(table, root, code, len, start,
						  c.counts);
			}
			for (uint32_t k = start + (code >> root); k < end;
			     k += 1u << (len - root))
				table[k] = e + 0x101 * (len - root);
		}
		if (code == (1u << len) - 1)
			break;
		code = next_code(code, len);
		for (c.counts[len]--; c.counts[len] == 0; len++)
			if (len < root)
				double_table(table, len);
	}
	for (; len < root; len++)
		double_table(table, len);
	return true;
}

/* --- Bits --- */

/*
 * False: the input has ended, and there are fewer than `n` bits, at most 48.
 * Bits above `left` may already be set; they are those that follow.
 */
static bool need(struct inflate *z, uint32_t n)
{
	if (z->in_end - z->in >= 8) {
		z->bits |= load64(z->in) << z->left;
		z->in += (63 - z->left) >> 3;
		z->left |= 56;
		return true;
	}
	while (z->left < n) {
		if (z->in == z->in_end) {
			if (z->next == NULL || !z->next(z))
				return false;
			z->in_bytes += (size_t)(z->in_end - z->in);
			continue;
		}
		z->bits |= (uint64_t)*z->in++ << z->left;
		z->left += 8;
	}
	return true;
}

static inline uint32_t take_bits(struct inflate *z, uint32_t n)
{
	uint32_t v = (uint32_t)(z->bits & ((1ull << n) - 1));

	z->bits >>= n;
	z->left -= n;
	return v;
}

/* --- Blocks --- */

/* True: they take longer than the bytes. */
static bool has_many_tables(const struct inflate *z)
{
	return !z->patient &&
	       z->tables > TABLES_FREE + z->in_bytes / IN_BYTES_PER_TABLE +
				   z->out_bytes / OUT_BYTES_PER_TABLE;
}

static enum img_err build_both(struct inflate *z, const uint8_t *lengths,
			       uint32_t literals, uint32_t distances)
{
	z->tables++;
	if (has_many_tables(z))
		return IMG_ERR_IRREGULAR;
	if (!table_build(z->literals, INFLATE_LITERAL_BITS, lengths, literals,
			 literal_entry) ||
	    !table_build(z->distances, INFLATE_DISTANCE_BITS,
			 lengths + literals, distances, distance_entry))
		return IMG_ERR_CORRUPT;
	z->state = INFLATE_CODES;
	return IMG_OK;
}

static enum img_err read_fixed(struct inflate *z)
{
	uint8_t lengths[LITERALS + DISTANCES];

	if (z->is_fixed) { /* the tables are still there */
		z->state = INFLATE_CODES;
		z->tables += ++z->fixed_blocks % FIXED_PER_TABLE == 0;
		return has_many_tables(z) ? IMG_ERR_IRREGULAR : IMG_OK;
	}
	z->is_fixed = true;
	memset(lengths, 8, 144);
	memset(lengths + 144, 9, 256 - 144);
	memset(lengths + 256, 7, 280 - 256);
	memset(lengths + 280, 8, LITERALS - 280);
	memset(lengths + LITERALS, 5, DISTANCES);
	return build_both(z, lengths, LITERALS, DISTANCES);
}

/* The lengths of both alphabets, by the codes of `table`. */
static enum img_err read_lengths(struct inflate *z, const uint32_t *table,
				 uint8_t *lengths, uint32_t count)
{
	static const struct {
		uint8_t bits, least;
	} repeats[] = { { 2, 3 }, { 3, 3 }, { 7, 11 } };
	uint32_t n, value;

	for (uint32_t i = 0; i < count; i += n) {
		uint32_t e;

		/* The last bits of a file may be fewer than a code may have. */
		(void)need(z, INFLATE_LENGTH_BITS + 7);
		e = table[z->bits & ((1u << INFLATE_LENGTH_BITS) - 1)];
		if ((e & SPECIAL) != 0)
			return IMG_ERR_CORRUPT;
		if (z->left < (e & 255))
			return IMG_ERR_TRUNCATED;
		(void)take_bits(z, e & 255);
		e >>= 16;
		n = 1;
		value = e;
		if (e >= 16) {
			if (!need(z, repeats[e - 16].bits))
				return IMG_ERR_TRUNCATED;
			n = repeats[e - 16].least +
			    take_bits(z, repeats[e - 16].bits);
			if (n > count - i || (e == 16 && i == 0))
				return IMG_ERR_CORRUPT;
			value = e == 16 ? lengths[i - 1] : 0;
		}
		memset(lengths + i, (int)value, n);
	}
	return IMG_OK;
}

static enum img_err read_dynamic(struct inflate *z)
{
	static const uint8_t order[LENGTHS] = { 16, 17, 18, 0,  8, 7,  9,
						6,  10, 5,  11, 4, 12, 3,
						13, 2,  14, 1,  15 };
	uint32_t table[1 << INFLATE_LENGTH_BITS], literals, distances, count;
	uint8_t lengths[LITERALS + DISTANCES] = { 0 };
	uint8_t own[LENGTHS] = { 0 };
	uint32_t used = 0;
	enum img_err err;

	z->is_fixed = false;
	if (!need(z, 14))
		return IMG_ERR_TRUNCATED;
	literals = take_bits(z, 5) + 257;
	distances = take_bits(z, 5) + 1;
	count = take_bits(z, 4) + 4;
	if (literals > LITERALS_MAX || distances > DISTANCES_MAX)
		return IMG_ERR_CORRUPT;
	for (uint32_t i = 0; i < count; i++) {
		if (!need(z, 3))
			return IMG_ERR_TRUNCATED;
		own[order[i]] = (uint8_t)take_bits(z, 3);
		used += own[order[i]] > 0;
	}
	/* A single length is no code here. */
	if (used == 1 || !table_build(table, INFLATE_LENGTH_BITS, own, LENGTHS,
				      length_entry))
		return IMG_ERR_CORRUPT;
	err = read_lengths(z, table, lengths, literals + distances);
	if (err != IMG_OK)
		return err;
	if (lengths[END_OF_BLOCK] == 0)
		return IMG_ERR_CORRUPT;
	return build_both(z, lengths, literals, distances);
}

static enum img_err read_block(struct inflate *z)
{
	uint32_t sizes;

	if (!need(z, 3))
		return IMG_ERR_TRUNCATED;
	z->block_bit = inflate_bit(z);
	z->is_last = take_bits(z, 1) != 0;
	switch (take_bits(z, 2)) {
	case 0:
		(void)take_bits(z, z->left % 8);
		if (!need(z, 32))
			return IMG_ERR_TRUNCATED;
		sizes = take_bits(z, 32);
		z->stored_bytes = sizes & 0xffff;
		if (z->stored_bytes != (~sizes >> 16))
			return IMG_ERR_CORRUPT;
		z->state = INFLATE_STORED;
		return IMG_OK;
	case 1:
		return read_fixed(z);
	case 2:
		return read_dynamic(z);
	default:
		return IMG_ERR_CORRUPT;
	}
}

static enum img_err end_block(struct inflate *z)
{
	if (!z->is_last)
		z->state = INFLATE_BLOCK;
	else
		z->state = z->is_raw ? INFLATE_END : INFLATE_TAIL;
	return IMG_OK;
}

/* Copy a part of a stored block, up to `limit`. */
static enum img_err read_stored(struct inflate *z, size_t limit)
{
	for (; z->left >= 8 && z->stored_bytes > 0 && z->made < limit;
	     z->stored_bytes--)
		z->window[z->made++] = (uint8_t)take_bits(z, 8);
	if (z->left < 8)
		z->bits = 0; /* what follows is read from z->in */
	while (z->stored_bytes > 0 && z->made < limit) {
		size_t n =
			min_u64(z->stored_bytes, (size_t)(z->in_end - z->in));

		if (n == 0) {
			if (z->next == NULL || !z->next(z))
				return IMG_ERR_TRUNCATED;
			z->in_bytes += (size_t)(z->in_end - z->in);
			continue;
		}
		n = min_u64(n, limit - z->made);
		memcpy(z->window + z->made, z->in, n);
		z->in += n;
		z->made += n;
		z->stored_bytes -= (uint32_t)n;
	}
	return z->stored_bytes == 0 ? end_block(z) : IMG_OK;
}

/* Copy a match; up to 15 bytes after it are written, too. */
INLINED static inline void copy_match(uint8_t *to, size_t distance,
				      size_t length)
{
	const uint8_t *from = to - distance, *end = to + length;

	if (distance >= 16) {
		for (; to < end; to += 16, from += 16)
			memcpy(to, from, 16);
	} else if (distance == 1) {
		memset(to, *from, length);
	} else {
		/* Eight bytes, of which `distance` are those that repeat. */
		size_t step = distance < 8 ? distance : 8;

		for (; to < end; to += step, from += step) {
			uint8_t eight[8];

			memcpy(eight, from, 8);
			memcpy(to, eight, 8);
		}
	}
}

/* Extra bits, which follow the code, and the base. */
INLINED static inline size_t value_of(uint32_t entry, uint64_t bits)
{
	return (entry >> 16) +
	       (size_t)((bits & ((1ull << (entry & 255)) - 1)) >>
			(entry >> 8 & 15));
}

/* Of read_quickly(): the entry `e`, and the bits. */
#define LOW(n) ((uint32_t)bits & ((1u << (n)) - 1))
#define FIND(table, root) (e = (table)[LOW(root)])
#define FIND_SECOND(table) (e = (table)[(e >> 16) + LOW(e >> 8 & 15)])
#define REFILL()                                                               \
	(bits |= load64(in) << left, in += (63 - left) >> 3, left |= 56)
#define DROP() (saved = bits, bits >>= e & 63, left -= e & 255)
#define PUT() (DROP(), *out++ = (uint8_t)(e >> 16))
#define IS_LITERAL() ((e & LITERAL) != 0)

/*
 * While there is room for input and output, without a check for each symbol.
 * INFLATE_SLACK bytes follow `limit`.  The next entry is looked up before a
 * match is copied.
 */
INLINED static inline enum img_err read_quickly(struct inflate *z, size_t limit)
{
	const uint32_t *const literals = z->literals;
	const uint32_t *const distances = z->distances;
	const uint8_t *in = z->in, *const in_last = z->in_end - FAST_IN;
	uint8_t *out = z->window + z->made, *const end = z->window + limit;
	uint64_t bits = z->bits, saved;
	uint32_t left = z->left, e;
	size_t length, distance;
	enum img_err err = IMG_OK;

	FIND(literals, INFLATE_LITERAL_BITS);
	while (in <= in_last && out < end) {
		/* Three literals, or two and a match, have at most 53 bits. */
		REFILL();
		for (int i = 0; i < 2 && IS_LITERAL(); i++) {
			PUT();
			FIND(literals, INFLATE_LITERAL_BITS);
		}
		if ((e & (LITERAL | SPECIAL)) == SPECIAL && (e & SECOND) != 0) {
			DROP();
			FIND_SECOND(literals);
		}
		if (IS_LITERAL()) {
			PUT();
			FIND(literals, INFLATE_LITERAL_BITS);
			continue;
		}
		if ((e & SPECIAL) != 0) {
			DROP();
			err = (e & END) != 0 ? end_block(z) : IMG_ERR_CORRUPT;
			break;
		}
		DROP();
		length = value_of(e, saved);
		FIND(distances, INFLATE_DISTANCE_BITS);
		REFILL();
		if ((e & SPECIAL) != 0 && (e & SECOND) != 0) {
			DROP();
			FIND_SECOND(distances);
		}
		DROP();
		distance = value_of(e, saved);
		if ((e & SPECIAL) != 0 ||
		    distance > (size_t)(out - z->window)) {
			err = IMG_ERR_CORRUPT;
			break;
		}
		FIND(literals, INFLATE_LITERAL_BITS);
		copy_match(out, distance, length);
		out += length;
	}
	z->in = in;
	z->made = (size_t)(out - z->window);
	z->bits = bits;
	z->left = left;
	return err;
}

#undef LOW
#undef FIND
#undef FIND_SECOND
#undef REFILL
#undef DROP
#undef PUT
#undef IS_LITERAL

static enum img_err read_fast(struct inflate *z, size_t limit)
{
	return read_quickly(z, limit);
}

#ifdef __x86_64__
/* Its instructions shift and mask by a register. */
__attribute__((target("bmi2"))) static enum img_err
read_fast_bmi2(struct inflate *z, size_t limit)
{
	return read_quickly(z, limit);
}
#endif

/* The entry for the next code, which is dropped with its extra bits. */
static enum img_err read_code(struct inflate *z, const uint32_t *table,
			      uint32_t root, uint32_t *entry, size_t *value)
{
	uint32_t e, dropped = 0;

	(void)need(z, 32); /* the last code of a file may have fewer */
	e = table[z->bits & ((1u << root) - 1)];
	if ((e & SECOND) != 0 && (e & LITERAL) == 0 && (e & SPECIAL) != 0) {
		dropped = root;
		e = table[(e >> 16) +
			  (z->bits >> root & ((1u << (e >> 8 & 15)) - 1))];
	}
	if ((e & (LITERAL | SPECIAL | END)) == SPECIAL)
		return z->left < CODE_BITS_MAX ? IMG_ERR_TRUNCATED :
						 IMG_ERR_CORRUPT;
	if (z->left < dropped + (e & 255))
		return IMG_ERR_TRUNCATED;
	(void)take_bits(z, dropped);
	*value = value_of(e, z->bits);
	(void)take_bits(z, e & 255);
	*entry = e;
	return IMG_OK;
}

/* One symbol, wherever the input is cut into pieces. */
static enum img_err read_symbol(struct inflate *z)
{
	size_t length, distance;
	uint32_t e;
	enum img_err err =
		read_code(z, z->literals, INFLATE_LITERAL_BITS, &e, &length);

	if (err != IMG_OK)
		return err;
	if ((e & LITERAL) != 0) {
		z->window[z->made++] = (uint8_t)(e >> 16);
		return IMG_OK;
	}
	if ((e & SPECIAL) != 0)
		return end_block(z);
	err = read_code(z, z->distances, INFLATE_DISTANCE_BITS, &e, &distance);
	if (err != IMG_OK)
		return err;
	if (distance > z->made)
		return IMG_ERR_CORRUPT;
	copy_match(z->window + z->made, distance, length);
	z->made += length;
	return IMG_OK;
}

static enum img_err read_codes(struct inflate *z, size_t limit)
{
	enum img_err (*fast)(struct inflate *, size_t) = read_fast;
	enum img_err err = IMG_OK;

#ifdef __x86_64__
	if (__builtin_cpu_supports("bmi2"))
		fast = read_fast_bmi2;
#endif
	while (err == IMG_OK && z->state == INFLATE_CODES && z->made < limit) {
		if (z->in_end - z->in >= FAST_IN)
			err = fast(z, limit);
		else
			err = read_symbol(z);
	}
	return err;
}

/* --- The stream --- */

static enum img_err read_head(struct inflate *z)
{
	uint32_t method, flags;

	z->state = INFLATE_BLOCK;
	if (z->is_raw)
		return IMG_OK;
	if (!need(z, 16))
		return IMG_ERR_TRUNCATED;
	method = take_bits(z, 8);
	flags = take_bits(z, 8);
	/* Deflate, a window of at most 32 KB, no dictionary. */
	if ((method & 15) != 8 || method >> 4 > 7 || (flags & 32) != 0 ||
	    (method << 8 | flags) % 31 != 0)
		return IMG_ERR_CORRUPT;
	return IMG_OK;
}

static enum img_err read_tail(struct inflate *z)
{
	uint32_t sum;

	(void)take_bits(z, z->left % 8);
	if (!need(z, 32))
		return IMG_ERR_TRUNCATED;
	sum = take_bits(z, 32);
	z->state = INFLATE_END;
	return be32toh(htole32(sum)) == z->adler ? IMG_OK : IMG_ERR_CORRUPT;
}

/* Read until there are INFLATE_PART more bytes, or the end. */
static enum img_err run(struct inflate *z)
{
	size_t before = z->made, limit = z->room - INFLATE_SLACK;
	uint32_t blocks = 0;
	enum img_err err = IMG_OK;

	if (limit - before > INFLATE_PART)
		limit = before + INFLATE_PART;
	while (err == IMG_OK && z->made < limit && blocks < BLOCKS_PER_RUN &&
	       z->state < INFLATE_TAIL) {
		switch (z->state) {
		case INFLATE_HEAD:
			err = read_head(z);
			break;
		case INFLATE_BLOCK:
			blocks++;
			err = read_block(z);
			break;
		case INFLATE_STORED:
			err = read_stored(z, limit);
			break;
		default:
			err = read_codes(z, limit);
			break;
		}
	}
	z->out_bytes += z->made - before;
	if (!z->is_raw)
		z->adler = libdeflate_adler32(z->adler, z->window + before,
					      z->made - before);
	if (err == IMG_OK && z->state == INFLATE_TAIL)
		err = read_tail(z);
	if (z->memory != NULL)
		memory_pause(z->memory);
	return err;
}

/* Make room at the end of the window. */
static void slide(struct inflate *z)
{
	size_t keep =
		max_u64(min_u64(z->made, INFLATE_HISTORY), z->made - z->taken);
	size_t from = z->made - keep;

	memmove(z->window, z->window + from, keep);
	z->made -= from;
	z->taken -= from;
}

void inflate_init(struct inflate *z, const uint8_t *in, size_t in_bytes,
		  uint8_t *window, size_t room)
{
	assert(room > INFLATE_SLACK);
	z->first = z->in = in;
	z->in_end = in + in_bytes;
	z->in_bytes = in_bytes;
	z->next = NULL;
	z->memory = NULL;
	z->bits = z->left = 0;
	z->state = INFLATE_HEAD;
	z->is_fixed = z->is_raw = z->patient = false;
	z->err = IMG_OK;
	z->adler = 1;
	z->tables = z->out_bytes = z->fixed_blocks = 0;
	z->window = window;
	z->room = room;
	z->made = z->taken = 0;
}

/* Read on; the error, if any, comes after what has been made. */
static void more(struct inflate *z)
{
	if (z->room - z->made < INFLATE_PART + INFLATE_SLACK &&
	    z->made > INFLATE_HISTORY)
		slide(z);
	assert(z->made < z->room - INFLATE_SLACK);
	z->err = run(z);
}

enum img_err inflate_take(struct inflate *z, const uint8_t **bytes, size_t n)
{
	while (z->made - z->taken < n) {
		if (z->err != IMG_OK)
			return z->err;
		if (z->state == INFLATE_END)
			return IMG_ERR_CORRUPT;
		more(z);
	}
	*bytes = z->window + z->taken;
	z->taken += n;
	return IMG_OK;
}

enum img_err inflate_finish(struct inflate *z)
{
	while (z->made == z->taken && z->err == IMG_OK &&
	       z->state != INFLATE_END)
		more(z);
	return z->made > z->taken ? IMG_OK : z->err;
}
