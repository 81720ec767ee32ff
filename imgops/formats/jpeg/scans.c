/* SPDX-License-Identifier: MIT */
/*
 * A segment, with the entropy-coded data after it, ends at the next marker.
 * When the next marker is known, the segment is kept or left out.  The order of
 * scans must be one that ITU-T T.81, annex G, allows (libjpeg only warns).  If
 * anything is doubtful, the whole file is read.
 */
#include "imgops/formats/jpeg/scans.h"

#include <string.h>

enum {
	TABLES_MAX = 4, /* quantisation tables */
	COEFFICIENTS = 64,
	LOW_BIT_MAX = 13, /* libjpeg's limit */
	/* In zigzag order.  At 2/8 only coefficients 1, 2 and 4 matter. */
	QUARTER_LAST = 4,
	NOT_SENT = -1,
};

/* False: a sampling factor of 0. */
static bool count_blocks(struct scans *f, const uint8_t *d)
{
	uint32_t height = (uint32_t)d[1] << 8 | d[2];
	uint32_t width = (uint32_t)d[3] << 8 | d[4];
	uint32_t most_h = 1, most_v = 1;

	for (uint32_t i = 0; i < f->component_count; i++) {
		uint32_t h = d[7 + 3 * i] >> 4, v = d[7 + 3 * i] & 15;

		most_h = h > most_h ? h : most_h;
		most_v = v > most_v ? v : most_v;
	}
	for (uint32_t i = 0; i < f->component_count; i++) {
		uint32_t h = d[7 + 3 * i] >> 4, v = d[7 + 3 * i] & 15;

		f->blocks[i] = (uint64_t)blocks_along(width, h, most_h) *
			       blocks_along(height, v, most_v);
		if (f->blocks[i] == 0)
			return false;
	}
	return true;
}

static bool parse_frame(struct scans *f, const struct marker *sof)
{
	const uint8_t *d = sof->data;

	if (f->component_count != 0 || sof->bytes < 6 ||
	    d[5] > IMG_PLANES_MAX || sof->bytes != 6 + 3 * (size_t)d[5])
		return false;
	f->component_count = d[5];
	memset(f->low_bit, NOT_SENT, sizeof(f->low_bit));
	/*
	 * If two components have the same id, the second never becomes
	 * complete, so the whole file is read.
	 */
	for (uint32_t i = 0; i < f->component_count; i++) {
		f->ids[i] = d[6 + 3 * i];
		f->tables[i] = d[8 + 3 * i];
		if (f->tables[i] >= TABLES_MAX)
			return false;
	}
	return count_blocks(f, d);
}

static uint32_t quant_step(const uint8_t *steps, uint32_t k, uint32_t bytes)
{
	return bytes == 1 ? steps[k] :
			    (uint32_t)steps[2 * k] << 8 | steps[2 * k + 1];
}

/*
 * Sums of the quantisation steps of coefficients 1, 2 and 4 (T.81, B.2.4.1).
 * False also if a step is more than idct_quant() can use.
 */
static bool read_quant_sums(struct scans *f, const struct marker *dqt)
{
	const uint8_t *d = dqt->data, *end = d + dqt->bytes;

	while (d < end) {
		uint32_t table = *d & 15, bytes = *d >> 4 != 0 ? 2 : 1;
		uint32_t sum = 0;

		if (table >= TABLES_MAX ||
		    (size_t)(end - ++d) < COEFFICIENTS * bytes)
			return false;
		for (uint32_t k = 0; k < COEFFICIENTS; k++)
			if (quant_step(d, k, bytes) > INT16_MAX)
				return false;
		for (uint32_t k = 1; k <= QUARTER_LAST; k++)
			if (k != 3)
				sum += quant_step(d, k, bytes);
		f->quant_sums[table] = sum;
		d += COEFFICIENTS * bytes;
	}
	return true;
}

struct scan {
	uint32_t components;  /* bit i: component i of the frame */
	uint32_t first, last; /* first and last coefficient, in zigzag order */
	int high, low;        /* Ah and Al of the scan header */
};

static bool parse_scan(struct scan *s, const struct scans *f,
		       const struct marker *sos)
{
	const uint8_t *d = sos->data;
	uint32_t count = sos->bytes > 0 ? d[0] : 0;

	if (count == 0 || sos->bytes != 4 + 2 * (size_t)count)
		return false;
	*s = (struct scan){ .first = d[1 + 2 * count],
			    .last = d[2 + 2 * count],
			    .high = d[3 + 2 * count] >> 4,
			    .low = d[3 + 2 * count] & 15 };
	for (uint32_t i = 0; i < count; i++) {
		const uint8_t *id =
			memchr(f->ids, d[1 + 2 * i], f->component_count);

		/*
		 * A scan's components must be in the frame's order (T.81,
		 * B.2.3).
		 */
		if (id == NULL || s->components >> (id - f->ids) != 0)
			return false;
		s->components |= 1u << (id - f->ids);
	}
	if (s->low > LOW_BIT_MAX)
		return false;
	if (s->first == 0)
		return s->last == 0;
	return s->first <= s->last && s->last < COEFFICIENTS && count == 1;
}

/* True: libjpeg accepts the tables of Huffman codes (T.81, B.2.4.2). */
static bool are_codes(const struct marker *dht)
{
	enum { HEAD_BYTES = 17, SYMBOLS_MAX = 256 };
	const uint8_t *d = dht->data, *end = d + dht->bytes;

	while (end - d >= HEAD_BYTES) {
		uint32_t count = 0;

		for (uint32_t i = 1; i < HEAD_BYTES; i++)
			count += d[i];
		if ((d[0] & ~0x10) > 3 || count > SYMBOLS_MAX ||
		    count > (size_t)(end - d - HEAD_BYTES))
			return false;
		d += HEAD_BYTES + count;
	}
	return d == end && dht->bytes > 0;
}

/* True: the scan follows those before it in a legal order. */
static bool follows_legally(struct scans *f, const struct scan *s)
{
	for (uint32_t i = 0; i < f->component_count; i++) {
		int8_t *low_bit = f->low_bit[i];

		if ((s->components & 1u << i) == 0)
			continue;
		if (s->first > 0 && low_bit[0] == NOT_SENT)
			return false;
		for (uint32_t k = s->first; k <= s->last; k++) {
			bool first = low_bit[k] == NOT_SENT && s->high == 0;
			bool refines =
				s->high == low_bit[k] && s->low == s->high - 1;

			if (!first && !refines)
				return false;
			low_bit[k] = (int8_t)s->low;
		}
	}
	return true;
}

static bool is_complete(const struct scans *f)
{
	for (uint32_t i = 0; i < f->component_count; i++)
		for (uint32_t k = 0; k < COEFFICIENTS; k++)
			if (f->low_bit[i][k] != 0)
				return false;
	return f->component_count > 0;
}

/* Segments that follow each other are one piece. */
static void append_piece(struct scans_kept *p, size_t from, size_t to)
{
	if (p->count > 0 && p->to[p->count - 1] == from) {
		p->to[p->count - 1] = (uint32_t)to;
		return;
	}
	if (p->count == SCANS_PIECES_MAX || to > UINT32_MAX) {
		p->is_full = true;
		return;
	}
	p->from[p->count] = (uint32_t)from;
	p->to[p->count++] = (uint32_t)to;
}

/*
 * True: the component is good enough without the lowest `bits` bits.  Without
 * them the error of a coefficient is at most 2^bits - 1 steps, and the error of
 * a sample at 2/8 is an eighth of the sum over the coefficients that matter.
 */
static bool is_enough(const struct scans *f, uint32_t component, int bits)
{
	uint32_t steps = f->quant_sums[f->tables[component]];

	return ((1u << bits) - 1) * steps <= SCANS_ERROR_MAX * 8;
}

/*
 * An AC scan contains only one component.  Whether a scan is dense is not yet
 * known.
 */
static bool is_needed(const struct scans *f, const struct scan *s,
		      enum scans_set set)
{
	uint32_t component = (uint32_t)__builtin_ctz(s->components);

	if (s->first == 0)
		return true;
	if (set == SCANS_AT_1)
		return false;
	if (s->high > 0)
		return !is_enough(f, component, s->high);
	/*
	 * A scan that is kept needs all earlier scans of the same coefficients.
	 */
	return s->first <= QUARTER_LAST || !is_enough(f, component, s->low);
}

static void keep_all(struct scans *f)
{
	for (uint32_t i = 0; i < SCANS_SETS; i++)
		f->keep[i] = true;
}

/* False: not a marker of an intact progressive file. */
static bool parse_marker(struct scans *f, const struct marker *m)
{
	struct scan s;

	keep_all(f);
	f->pending_ac = 0;
	switch (m->code) {
	case MARKER_SOF2:
	case MARKER_SOF10:
		return parse_frame(f, m);
	case MARKER_SOS:
		if (!parse_scan(&s, f, m) || !follows_legally(f, &s))
			return false;
		f->has_scans = true;
		for (uint32_t i = 0; i < SCANS_SETS; i++) {
			f->keep[i] = is_needed(f, &s, (enum scans_set)i);
			f->kept[i].scan_count += f->keep[i];
		}
		f->pending_ac = s.high == 0 ? s.first : 0;
		f->pending_blocks = f->blocks[__builtin_ctz(s.components)];
		return true;
	case MARKER_DQT:
		/* libjpeg uses the tables that come before the first scan. */
		return !f->has_scans && read_quant_sums(f, m);
	case MARKER_DHT:
		return are_codes(m);
	case MARKER_DAC:
	case MARKER_DRI:
	case MARKER_COM:
	case MARKER_EOI:
		return true;
	default:
		return m->code >= MARKER_APP0 && m->code <= MARKER_APP15;
	}
}

/* The last scan ends at offset `to`: is it dense? */
static void find_density(struct scans *s, size_t to)
{
	uint64_t bits = (uint64_t)(to - s->pending) * 8;

	if (s->pending_ac == 0 || bits < SCANS_DENSE_BITS * s->pending_blocks)
		return;
	if (s->pending_ac <= QUARTER_LAST)
		s->is_dense = true;
	s->kept[SCANS_AT_2_TEXTURE].scan_count += !s->keep[SCANS_AT_2_TEXTURE];
	s->keep[SCANS_AT_2_TEXTURE] = true;
}

/*
 * Add the bytes between the last marker and offset `to` to the pieces that keep
 * them.
 */
static void append_pending(struct scans *s, size_t to)
{
	find_density(s, to);
	for (uint32_t i = 0; i < SCANS_SETS; i++)
		if (s->keep[i])
			append_piece(&s->kept[i], s->pending, to);
	s->pending = to;
}

void scans_add(struct scans *s, const struct marker *m, const uint8_t *jpeg,
	       bool is_adjacent)
{
	if (s->is_odd)
		return;
	if (s->pending == 0) /* the first call: keep SOI */
		keep_all(s);
	append_pending(s, (size_t)(m->start - jpeg));
	if (!is_adjacent || !parse_marker(s, m)) {
		s->is_odd = true;
		return;
	}
	if (m->code != MARKER_EOI)
		return;
	append_pending(s, (size_t)(m->data - jpeg));
	s->is_complete = is_complete(s);
}

uint32_t scans_pieces(struct piece pieces[SCANS_PIECES_MAX],
		      const struct scans *s, const uint8_t *jpeg,
		      enum scans_set set)
{
	const struct scans_kept *p = &s->kept[set];

	if (!s->is_complete || p->is_full)
		return 0;
	for (uint32_t i = 0; i < p->count; i++)
		pieces[i] = (struct piece){ jpeg + p->from[i],
					    p->to[i] - p->from[i] };
	return p->count;
}

uint64_t scans_pieces_bytes(const struct scans *s, enum scans_set set)
{
	const struct scans_kept *p = &s->kept[set];
	uint64_t bytes = 0;

	if (!s->is_complete || p->is_full)
		return 0;
	for (uint32_t i = 0; i < p->count; i++)
		bytes += p->to[i] - p->from[i];
	return bytes;
}

uint32_t scans_pieces_scans(const struct scans *s, enum scans_set set)
{
	const struct scans_kept *p = &s->kept[set];

	return s->is_complete && !p->is_full && p->count > 0 ? p->scan_count :
							       0;
}
