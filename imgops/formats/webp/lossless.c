/* SPDX-License-Identifier: MIT */
/*
 * The beginning of a lossless picture, as "WebP Lossless Bitstream
 * Specification" defines it: transforms, each with a small picture of its
 * parameters, then a small picture that says which set of Huffman codes each
 * square of pixels uses.  Only the largest number of a set matters, and it is
 * that of a literal: a copy adds no new one.  So pixels are counted here, and
 * not kept.
 */
#include "imgops/formats/webp/webp.h"

enum {
	LITERALS = 256,
	LENGTHS = 24,
	DISTANCES = 40,
	CACHE_BITS_MAX = 11,
	SYMBOLS_MAX = LITERALS + LENGTHS + (1 << CACHE_BITS_MAX),
	CODE_BITS_MAX = 15,
};

/* Bits, the lowest of each byte first.  Past the end they are 0. */
struct reader {
	const uint8_t *at, *end;
	uint64_t bits;
	uint32_t count; /* of `bits` */
	bool has_ended; /* more was read than there is */
};

static uint32_t read_bits(struct reader *r, uint32_t count)
{
	uint32_t value;

	while (r->count < count) {
		r->has_ended = r->has_ended || r->at == r->end;
		if (r->at < r->end)
			r->bits |= (uint64_t)*r->at++ << r->count;
		r->count += 8;
	}
	value = (uint32_t)(r->bits & ((UINT64_C(1) << count) - 1));
	r->bits >>= count;
	r->count -= count;
	return value;
}

/* A canonical Huffman code.  One of a single symbol takes no bits. */
struct code {
	uint16_t counts[CODE_BITS_MAX + 1]; /* of the symbols by their bits */
	uint16_t *symbols;                  /* in the order of their codes */
	bool is_single;
};

/* False: these are not the lengths of a code. */
static bool set_code(struct code *c, const uint8_t *lengths, uint32_t count)
{
	uint16_t next[CODE_BITS_MAX + 2] = { 0 };
	uint32_t used = 0, room = 1;

	for (uint32_t b = 0; b <= CODE_BITS_MAX; b++)
		c->counts[b] = 0;
	for (uint32_t i = 0; i < count; i++)
		c->counts[lengths[i]]++;
	c->counts[0] = 0;
	for (uint32_t b = 1; b <= CODE_BITS_MAX; b++) {
		room = 2 * room - min_u32(c->counts[b], 2 * room);
		used += c->counts[b];
		next[b + 1] = (uint16_t)(next[b] + c->counts[b]);
	}
	for (uint32_t i = 0; i < count; i++)
		if (lengths[i] > 0)
			c->symbols[next[lengths[i]]++] = (uint16_t)i;
	c->is_single = used == 1;
	return used > 0 && (room == 0 || c->is_single);
}

static uint32_t read_symbol(struct reader *r, const struct code *c)
{
	uint32_t value = 0, first = 0, index = 0;

	if (c->is_single)
		return c->symbols[0];
	for (uint32_t b = 1; b <= CODE_BITS_MAX; b++) {
		value = value << 1 | read_bits(r, 1);
		first <<= 1;
		if (value - first < c->counts[b])
			return c->symbols[index + value - first];
		first += c->counts[b];
		index += c->counts[b];
	}
	return 0; /* not of a complete code */
}

/* The lengths of a code, themselves coded.  False: they are wrong. */
static bool read_lengths(struct reader *r, uint8_t *lengths, uint32_t count,
			 struct code *c)
{
	static const uint8_t order[] = { 17, 18, 0, 1,  2,  3,  4,  5,  16, 6,
					 7,  8,  9, 10, 11, 12, 13, 14, 15 };
	uint8_t of_lengths[ARRAY_SIZE(order)] = { 0 };
	uint32_t used = 4 + read_bits(r, 4), left = count, before = 8;

	if (used > ARRAY_SIZE(order))
		return false;
	for (uint32_t i = 0; i < used; i++)
		of_lengths[order[i]] = (uint8_t)read_bits(r, 3);
	if (!set_code(c, of_lengths, ARRAY_SIZE(order)))
		return false;
	if (read_bits(r, 1) == 1)
		left = 2 + read_bits(r, 2 + 2 * read_bits(r, 3));
	if (left > count)
		return false;
	for (uint32_t i = 0; i < count && left > 0; left--) {
		uint32_t length = read_symbol(r, c), times = 1;

		if (length == 16)
			times = 3 + read_bits(r, 2);
		if (length == 17)
			times = 3 + read_bits(r, 3);
		if (length == 18)
			times = 11 + read_bits(r, 7);
		if (times > count - i)
			return false;
		if (length >= 16)
			length = length == 16 ? before : 0;
		else if (length > 0)
			before = length;
		while (times-- > 0)
			lengths[i++] = (uint8_t)length;
	}
	return true;
}

static bool read_code(struct reader *r, struct code *c, uint32_t count)
{
	uint8_t lengths[SYMBOLS_MAX] = { 0 };

	if (read_bits(r, 1) == 1) {
		bool has_two = read_bits(r, 1) == 1;

		lengths[read_bits(r, read_bits(r, 1) == 1 ? 8 : 1)] = 1;
		if (has_two)
			lengths[read_bits(r, 8)] = 1;
	} else if (!read_lengths(r, lengths, count, c)) {
		return false;
	}
	return set_code(c, lengths, count);
}

/* A length or a distance, of which `symbol` has the highest bits. */
static uint32_t read_number(struct reader *r, uint32_t symbol)
{
	uint32_t bits;

	if (symbol < 4)
		return symbol + 1;
	bits = (symbol - 2) >> 1;
	return ((2 + (symbol & 1)) << bits) + read_bits(r, bits) + 1;
}

/* Bits of the cache of colours; 0: none. */
static bool read_cache(struct reader *r, uint32_t *bits)
{
	*bits = 0;
	if (read_bits(r, 1) == 0)
		return true;
	*bits = read_bits(r, 4);
	return *bits >= 1 && *bits <= CACHE_BITS_MAX;
}

static struct img_size in_squares(struct img_size size, uint32_t bits)
{
	return (struct img_size){ (size.width_px + (1u << bits) - 1) >> bits,
				  (size.height_px + (1u << bits) - 1) >> bits };
}

/* Skip a small picture.  *most: the largest red << 8 | green. */
static bool skip_picture(struct reader *r, struct img_size size, uint32_t *most)
{
	static const uint32_t counts[] = { LITERALS + LENGTHS, LITERALS,
					   LITERALS, LITERALS, DISTANCES };
	enum { GREEN, RED, BLUE, ALPHA, DISTANCE, CODES };
	uint16_t greens[SYMBOLS_MAX], others[CODES][LITERALS];
	struct code codes[CODES];
	uint64_t left = img_pixels(size);
	uint32_t cache_bits, n;

	*most = 0;
	if (!read_cache(r, &cache_bits))
		return false;
	for (uint32_t i = 0; i < CODES; i++) {
		n = counts[i];
		codes[i].symbols = i == GREEN ? greens : others[i];
		if (i == GREEN && cache_bits > 0)
			n += 1u << cache_bits;
		if (!read_code(r, &codes[i], n))
			return false;
	}
	for (; left > 0 && !r->has_ended; left -= n) {
		uint32_t symbol = read_symbol(r, &codes[GREEN]);

		n = 1;
		if (symbol < LITERALS) {
			symbol |= read_symbol(r, &codes[RED]) << 8;
			(void)read_symbol(r, &codes[BLUE]);
			(void)read_symbol(r, &codes[ALPHA]);
			if (symbol > *most)
				*most = symbol;
		} else if (symbol < LITERALS + LENGTHS) {
			n = read_number(r, symbol - LITERALS);
			(void)read_number(r, read_symbol(r, &codes[DISTANCE]));
			if (n > left)
				return false;
		}
	}
	return true;
}

enum { PIXEL_BYTES = 4 };

/* Transforms; *size becomes that of the picture that is coded. */
static bool skip_transforms(struct reader *r, struct img_size *size,
			    uint64_t *bytes)
{
	enum { PREDICTOR, CROSS_COLOUR, SUBTRACT_GREEN, COLOUR_INDEX };
	struct img_size small;
	uint32_t seen = 0, type, most, colours;

	while (read_bits(r, 1) == 1 && !r->has_ended) {
		type = read_bits(r, 2);
		if ((seen >> type & 1) != 0)
			return false;
		seen |= 1u << type;
		if (type == SUBTRACT_GREEN)
			continue;
		if (type == COLOUR_INDEX) {
			colours = 1 + read_bits(r, 8);
			small = (struct img_size){ colours, 1 };
			*size = (struct img_size){ in_squares(*size,
							      colours > 16 ? 0 :
							      colours > 4  ? 1 :
							      colours > 2  ? 2 :
									     3)
							   .width_px,
						   size->height_px };
		} else {
			small = in_squares(*size, 2 + read_bits(r, 3));
		}
		if (!skip_picture(r, small, &most))
			return false;
		*bytes += PIXEL_BYTES * img_pixels(small);
	}
	return true;
}

enum img_err webp_lossless_cost(struct webp_lossless *cost, const uint8_t *data,
				size_t count, struct img_size size)
{
	/*
	 * Of libwebp 1.2.4: rows beside the pixels; a set of codes without its
	 * tables of four bytes a code, of which there are three numbers; what
	 * does not depend on the picture.  Measured.
	 */
	enum { ROWS = 17, SET_BYTES = 600, TABLES = 630 * 3 + 410 + 656 };
	enum { SETS_DENSE = 1000, ONCE_BYTES = 64 << 10 };
	bool is_cut = count > WEBP_BEGINNING_BYTES_MAX;
	enum img_err too_short =
		is_cut ? IMG_ERR_UNSUPPORTED : IMG_ERR_TRUNCATED;
	struct reader r = { .at = data,
			    .end = data + (is_cut ? WEBP_BEGINNING_BYTES_MAX :
						    count) };
	struct img_size coded = size, squares;
	uint32_t cache_bits = 0, most;
	uint64_t sets = 1, tables = TABLES, bytes = ONCE_BYTES;

	if (!skip_transforms(&r, &coded, &bytes) ||
	    !read_cache(&r, &cache_bits))
		return r.has_ended ? too_short : IMG_ERR_CORRUPT;
	if (read_bits(&r, 1) == 1) {
		squares = in_squares(coded, 2 + read_bits(&r, 3));
		if (!skip_picture(&r, squares, &most))
			return r.has_ended ? too_short : IMG_ERR_CORRUPT;
		sets += most;
		bytes += PIXEL_BYTES * (img_pixels(squares) + sets);
		/* If there are many, those that no square uses are left out. */
		if (sets > SETS_DENSE)
			sets = min_u64(sets, img_pixels(squares));
	}
	if (r.has_ended)
		return too_short;
	tables += 1u << cache_bits;
	cost->code_sets = sets;
	bytes += sets * (SET_BYTES + tables * 4);
	bytes += PIXEL_BYTES *
		 (img_pixels(coded) + (uint64_t)ROWS * size.width_px);
	cost->library_bytes = bytes;
	return IMG_OK;
}
