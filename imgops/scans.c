/* SPDX-License-Identifier: MIT */
/*
 * One walk over the markers.  Each segment, with the entropy-coded data after
 * it, is kept or not once the next marker shows where it ends.  Progression is
 * followed as ITU-T T.81, annex G, has it, where libjpeg only warns: any doubt
 * ends in "read all of it".
 */
#include "imgops/scans.h"

#include "imgops/markers.h"

#include <string.h>

enum {
	COMPONENTS_MAX = 4,
	TABLES_MAX = 4,
	COEFFICIENTS = 64,
	LOW_BIT_MAX = 13, /* libjpeg's */
	QUARTER_LAST = 4, /* zigzag: at 2/8 coefficients 1, 2 and 4 count */
	NOT_SENT = -1,
};

struct frame {
	uint32_t component_count; /* 0: no SOF yet */
	bool has_scans;
	uint8_t ids[COMPONENTS_MAX];
	uint8_t tables[COMPONENTS_MAX];
	uint32_t steps[TABLES_MAX]; /* of coefficients 1, 2 and 4, together */
	int8_t low_bit[COMPONENTS_MAX][COEFFICIENTS]; /* sent so far */
};

struct list {
	struct piece *pieces;
	uint32_t count;
};

static bool read_frame(struct frame *f, const struct marker *sof)
{
	const uint8_t *d = sof->data;

	if (f->component_count != 0 || sof->bytes < 6 ||
	    d[5] > COMPONENTS_MAX || sof->bytes != 6 + 3 * (size_t)d[5])
		return false;
	f->component_count = d[5];
	memset(f->low_bit, NOT_SENT, sizeof(f->low_bit));
	/* Of two with one id, the second never becomes complete. */
	for (uint32_t i = 0; i < f->component_count; i++) {
		f->ids[i] = d[6 + 3 * i];
		f->tables[i] = d[8 + 3 * i];
		if (f->tables[i] >= TABLES_MAX)
			return false;
	}
	return true;
}

/* Quantisation steps (T.81, B.2.4.1). */
static bool read_steps(struct frame *f, const struct marker *dqt)
{
	const uint8_t *d = dqt->data, *end = d + dqt->bytes;

	while (d < end) {
		uint32_t table = *d & 15, bytes = *d >> 4 != 0 ? 2 : 1;
		uint32_t sum = 0;

		if (table >= TABLES_MAX ||
		    (size_t)(end - ++d) < COEFFICIENTS * bytes)
			return false;
		for (uint32_t k = 1; k <= QUARTER_LAST; k++)
			if (k != 3)
				sum += bytes == 1 ? d[k] :
						    (uint32_t)d[2 * k] << 8 |
							    d[2 * k + 1];
		f->steps[table] = sum;
		d += COEFFICIENTS * bytes;
	}
	return true;
}

struct scan {
	uint32_t components;  /* bit i: component i of the frame */
	uint32_t first, last; /* coefficients, in zigzag order */
	int high, low;        /* Ah, Al */
};

static bool read_scan(struct scan *s, const struct frame *f,
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

		if (id == NULL || (s->components & 1u << (id - f->ids)) != 0)
			return false;
		s->components |= 1u << (id - f->ids);
	}
	if (s->low > LOW_BIT_MAX)
		return false;
	if (s->first == 0)
		return s->last == 0;
	return s->first <= s->last && s->last < COEFFICIENTS && count == 1;
}

/* Tables of codes (T.81, B.2.4.2), as far as libjpeg looks at them. */
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
static bool follow(struct frame *f, const struct scan *s)
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

static bool is_complete(const struct frame *f)
{
	for (uint32_t i = 0; i < f->component_count; i++)
		for (uint32_t k = 0; k < COEFFICIENTS; k++)
			if (f->low_bit[i][k] != 0)
				return false;
	return f->component_count > 0;
}

/* One run of kept segments is one piece.  False: no piece is left. */
static bool add(struct list *l, const uint8_t *from, const uint8_t *to)
{
	if (l->count > 0) {
		struct piece *last = &l->pieces[l->count - 1];

		if (last->data + last->bytes == from) {
			last->bytes += (size_t)(to - from);
			return true;
		}
	}
	if (l->count == SCANS_PIECES_MAX)
		return false;
	l->pieces[l->count++] = (struct piece){ from, (size_t)(to - from) };
	return true;
}

/*
 * With `bits` bits missing a coefficient is off by at most 2^bits - 1 steps,
 * and a sample at 2/8 by an eighth of the sum over the coefficients that count.
 */
static bool is_enough(const struct frame *f, uint32_t component, int bits)
{
	uint32_t steps = f->steps[f->tables[component]];

	return ((1u << bits) - 1) * steps <= SCANS_ERROR_MAX * 8;
}

/* An AC scan is of one component. */
static bool is_needed(const struct frame *f, const struct scan *s,
		      uint32_t eighths)
{
	uint32_t component = (uint32_t)__builtin_ctz(s->components);

	if (s->first == 0)
		return true;
	if (eighths == 1)
		return false;
	if (s->high > 0)
		return !is_enough(f, component, s->high);
	/* A later scan that is kept builds on all of those before it. */
	return s->first <= QUARTER_LAST || !is_enough(f, component, s->low);
}

/* False: not a marker of a whole and clean progressive file. */
static bool read_marker(struct frame *f, const struct marker *m,
			uint32_t eighths, bool *keep)
{
	struct scan s;

	*keep = true;
	switch (m->code) {
	case MARKER_SOF2:
	case MARKER_SOF10:
		return read_frame(f, m);
	case MARKER_SOS:
		if (!read_scan(&s, f, m) || !follow(f, &s))
			return false;
		f->has_scans = true;
		*keep = is_needed(f, &s, eighths);
		return true;
	case MARKER_DQT:
		/* libjpeg takes those that come before the first scan. */
		return !f->has_scans && read_steps(f, m);
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

uint32_t scans_keep(struct piece pieces[SCANS_PIECES_MAX], const uint8_t *jpeg,
		    size_t jpeg_bytes, uint32_t eighths)
{
	struct list list = { .pieces = pieces };
	struct frame frame = { 0 };
	const uint8_t *from = jpeg; /* not in the list yet */
	struct markers w;
	struct marker m = { 0 };
	bool keep = true;

	if (!markers_start(&w, jpeg, jpeg_bytes))
		return 0;
	for (;;) {
		const uint8_t *end = w.at;
		bool in_scan = w.in_scan;

		if (!markers_next(&w, &m) || (!in_scan && m.start != end))
			return 0;
		if (keep && !add(&list, from, m.start))
			return 0;
		from = m.start;
		if (!read_marker(&frame, &m, eighths, &keep))
			return 0;
		if (m.code == MARKER_EOI)
			break;
	}
	if (!is_complete(&frame) || !add(&list, from, w.at))
		return 0;
	return list.count;
}
