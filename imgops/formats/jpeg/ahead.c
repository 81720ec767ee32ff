/* SPDX-License-Identifier: MIT */
#include "imgops/formats/jpeg/ahead.h"

#include <stdatomic.h>
#include <string.h>

enum {
	PARTS = 2, /* one is read, and samples are made of the other */
	LINES_MAX = D_MAX_BLOCKS_IN_MCU,
	/* A part, and what the reader reads before it: a sixth of the scan. */
	ROUNDS = 6,
	ROUND_BYTES_MIN = 64 << 10,
	ROUND_BYTES_MAX = 768 << 10,
	SCAN_BYTES_MIN = 3 * ROUND_BYTES_MIN,
	BLOCKS_MAX = 1 << 15, /* of a part */
	/* After so many MCUs, an invalid code is that of a damaged file. */
	FALSE_MCUS = 64,
	FALSE_STARTS = 4096, /* an MCU seldom has more bits */
	/* After so many MCUs of both, there will be no common one. */
	SEEK_MCUS = 1024,
};

/*
 * The share of the reader in percent, at n/8: it also makes all samples, so its
 * share is less than half.
 */
static const uint32_t own_percent[IDCT_MAX + 1] = { 0, 48, 47, 46, 45 };

/* Where an MCU begins: the bits after bits_refill(), and DC before it. */
struct place {
	struct bits bits;
	int32_t dc[IMG_PLANES_MAX];
};

/* The blocks of a component in one row of blocks of each MCU. */
struct line {
	uint32_t component, y, across;
	size_t first; /* its first block in a part: of so many of each MCU */
};

struct part {
	struct ahead *ahead;
	bool is_begun;
	_Atomic bool is_read;      /* by the helper, which has ended */
	_Atomic bool is_abandoned; /* the reader does not need it any more */

	const uint8_t *from, *to; /* of its first MCU, and the one after it */
	struct component components[IMG_PLANES_MAX];
	/* Written by the helper. */
	uint32_t mcu_count;
	struct place *places; /* one more: where the last MCU ends */
	int16_t *dc;
	int16_t *values;
};

enum state {
	STATE_COMING,  /* the reader is before the part */
	STATE_SEEKING, /* it is there, and seeks a common MCU */
	STATE_FOUND,   /* its next MCU is part->places[mcu] */
	STATE_OFF,     /* there is no further part */
};

struct ahead {
	const struct memory *memory;
	uint32_t n, component_count, restart_interval;
	const uint8_t *end;
	size_t own_bytes, part_bytes;
	struct line lines[LINES_MAX];
	uint32_t line_count, mcu_blocks, mcus_max;
	size_t apart; /* numbers from one block to the next, in values */
	uint8_t places[AC_INDEX_MAX];
	struct part parts[PARTS];

	enum state state;
	uint32_t now;    /* the number of the part */
	uint32_t mcu;    /* of that part */
	uint32_t sought; /* MCUs since the part's beginning */
	int32_t dc_offsets[IMG_PLANES_MAX];
};

/* --- The helper --- */

static struct place place_make(const struct bits *refilled,
			       const struct component *components,
			       uint32_t count)
{
	struct place p = { .bits = *refilled };

	for (uint32_t i = 0; i < count; i++)
		p.dc[i] = components[i].last_dc;
	return p;
}

/* Read MCU `index` of a part. */
static bool read_mcu(struct part *p, struct bits *bits, uint32_t index)
{
	const struct ahead *a = p->ahead;
	struct bits b = *bits; /* in registers */
	uint64_t energy;

	for (uint32_t i = 0; i < a->line_count; i++) {
		const struct line *l = &a->lines[i];
		struct component *c = &p->components[l->component];
		size_t at = l->first * a->mcus_max + (size_t)index * l->across;

		for (uint32_t x = 0; x < l->across; x++, at++) {
			int16_t *values = p->values + at * a->apart;

			memset(values, 0, a->apart * sizeof(*values));
			if (!read_low(c, &b, a->n, a->places, values, &energy,
				      false))
				return false;
			p->dc[at] = (int16_t)c->last_dc;
		}
	}
	*bits = b;
	return bits_are_real(&b);
}

static bool is_abandoned(const struct part *p)
{
	return atomic_load_explicit(&p->is_abandoned, memory_order_relaxed);
}

/*
 * Read MCUs up to the part's end, or to what cannot be read, such as a restart
 * marker.  If they begin after marker `restarts`, `interval` says when the next
 * one comes; 0: it is not known.
 */
static uint32_t read_from(struct part *p, struct bits bits, uint32_t interval,
			  uint32_t restarts)
{
	const struct ahead *a = p->ahead;
	uint32_t left = interval;

	for (uint32_t i = 0; i < a->component_count; i++)
		p->components[i].last_dc = 0;
	for (uint32_t count = 0;; count++, left--) {
		bits = bits_refill(bits);
		p->places[count] =
			place_make(&bits, p->components, a->component_count);
		if (count == a->mcus_max || bits.at >= p->to || is_abandoned(p))
			return count;
		if (interval > 0 && left == 0) {
			if (!restart_read(&bits, ++restarts, p->components,
					  a->component_count))
				return count;
			left = interval;
		}
		if (!read_mcu(p, &bits, count))
			return count;
	}
}

/* The byte after the first restart marker; `to`: there is none. */
static const uint8_t *find_restart(const uint8_t *from, const uint8_t *to)
{
	while (to - from >= 2 &&
	       (from = memchr(from, 0xff, (size_t)(to - from - 1))) != NULL) {
		if ((from[1] & ~7) == MARKER_RST0)
			return from + 2;
		from++;
	}
	return to;
}

/*
 * Without a marker: if a code is not valid soon, it was not read from its
 * beginning.  Then begin again at the next bit.
 */
static void find_mcus(struct part *p)
{
	uint32_t interval = p->ahead->restart_interval;
	const uint8_t *restart = p->to;
	struct bits bits = { .at = p->from, .end = p->ahead->end };

	if (interval > 0)
		restart = find_restart(p->from, p->to);
	if (restart < p->to) {
		bits.at = restart;
		p->mcu_count = read_from(p, bits, interval, restart[-1]);
		return;
	}
	for (uint32_t i = 0; i < FALSE_STARTS; i++) {
		p->mcu_count = read_from(p, bits, 0, 0);
		if (p->mcu_count >= FALSE_MCUS || is_abandoned(p))
			return;
		bits = bits_refill(bits);
		bits_drop(&bits, 1);
	}
}

static void read_part(void *work)
{
	struct part *p = work;

	find_mcus(p);
	atomic_store(&p->is_read, true);
}

/* Have part `number` read, `own_bytes` after `at`. */
static void begin_part(struct ahead *a, uint32_t number, const uint8_t *at)
{
	struct part *p = &a->parts[number];
	size_t left = (size_t)(a->end - at);

	p->is_begun = false;
	p->from = a->end;
	if (left < a->own_bytes + ROUND_BYTES_MIN / 2)
		return;
	p->from = at + a->own_bytes;
	if (p->from[-1] == 0xff) /* a zero is stuffed here */
		p->from++;
	p->to = p->from + min_u64(a->part_bytes, (uint64_t)(a->end - p->from));
	atomic_store(&p->is_read, false);
	atomic_store(&p->is_abandoned, false);
	p->is_begun = a->memory->helper->begin(a->memory->helper, read_part, p);
}

/* False: it has not been read.  It waits for one MCU at most. */
static bool end_part(struct ahead *a, uint32_t number)
{
	struct part *p = &a->parts[number];
	bool was_begun = p->is_begun;

	atomic_store(&p->is_abandoned, true);
	p->is_begun = false;
	return was_begun && a->memory->helper->end(a->memory->helper);
}

/* --- The reader --- */

/* Go on to the next part, which has been begun. */
static void go_to_next(struct ahead *a)
{
	a->now = (a->now + 1) % PARTS;
	a->state = a->parts[a->now].from < a->end ? STATE_COMING : STATE_OFF;
}

static void give_up(struct ahead *a, const struct bits *bits)
{
	begin_part(a, (a->now + 1) % PARTS, bits->at);
	go_to_next(a);
}

/* How many bits are left of those before `at`. */
static int32_t real_bits(const struct bits *b)
{
	return b->count - b->made_up;
}

/*
 * Is a place before another?  Both are refilled.  Before a marker, all places
 * have the same `at` and as many bits, but not as many real ones.
 */
static bool is_before(const struct bits *a, const struct bits *b)
{
	return a->at < b->at || (a->at == b->at && real_bits(a) > real_bits(b));
}

/*
 * The reader is where the helper has begun MCU a->mcu.  Have the next part
 * read, which begins `own_bytes` after the end of this one.
 */
static void find(struct ahead *a, const struct component *components)
{
	const struct part *p = &a->parts[a->now];

	a->state = STATE_FOUND;
	for (uint32_t i = 0; i < a->component_count; i++)
		a->dc_offsets[i] =
			components[i].last_dc - p->places[a->mcu].dc[i];
	begin_part(a, (a->now + 1) % PARTS, p->places[p->mcu_count].bits.at);
}

static void seek(struct ahead *a, const struct bits *bits,
		 const struct component *components)
{
	const struct part *p = &a->parts[a->now];
	struct bits b = bits_refill(*bits);
	if (p->mcu_count > 0 && is_before(&b, &p->places[0].bits))
		return;
	while (a->mcu < p->mcu_count && is_before(&p->places[a->mcu].bits, &b))
		a->mcu++;
	if (a->mcu == p->mcu_count || a->sought++ == SEEK_MCUS ||
	    !bits_are_real(&b))
		give_up(a, &b);
	else if (!is_before(&b, &p->places[a->mcu].bits))
		find(a, components);
}

/*
 * The reader never waits for the helper: until the part has been read, it reads
 * on.
 */
static void come(struct ahead *a, const struct bits *bits)
{
	const struct part *p = &a->parts[a->now];
	bool is_read = p->is_begun && atomic_load(&p->is_read);

	if (bits->at < p->from || (!is_read && bits->at < p->to))
		return;
	a->mcu = a->sought = 0;
	if (end_part(a, a->now) && is_read)
		a->state = STATE_SEEKING;
	else
		give_up(a, bits);
}

void ahead_restart(struct ahead *a)
{
	memset(a->dc_offsets, 0, sizeof(a->dc_offsets));
}

uint32_t ahead_look(struct ahead *a, const struct bits *bits,
		    const struct component *components, uint32_t count,
		    bool *has_them)
{
	const struct part *p = &a->parts[a->now];

	*has_them = false;
	if (a->state == STATE_COMING)
		come(a, bits);
	if (a->state == STATE_SEEKING)
		seek(a, bits, components);
	if (a->state == STATE_SEEKING)
		return 1;
	if (a->state != STATE_FOUND)
		return count;
	*has_them = true;
	return min_u32(count, p->mcu_count - a->mcu);
}

bool ahead_make(struct ahead *a, uint32_t index, uint32_t y, uint8_t *out,
		uint32_t count)
{
	const struct part *p = &a->parts[a->now];
	const struct component *c = &p->components[index];
	const struct line *l = a->lines;
	int32_t worst = 0;
	size_t at;

	while (l->component != index || l->y != y)
		l++;
	at = l->first * a->mcus_max + (size_t)a->mcu * l->across;
	count *= l->across;
	for (uint32_t i = 0; i < count; i++) {
		int32_t dc = p->dc[at + i] + a->dc_offsets[index];

		worst |= abs(dc);
		p->dc[at + i] = (int16_t)dc;
	}
	if (worst > INT16_MAX)
		return false;
	idct_row(out, c->plane->stride_bytes, p->dc + at,
		 p->values + at * a->apart, a->apart, c->low_steps, a->n,
		 count);
	return true;
}

void ahead_pass(struct ahead *a, uint32_t count, struct bits *bits,
		struct component *components)
{
	const struct part *p = &a->parts[a->now];
	const struct place *to;

	if (a->state != STATE_FOUND)
		return;
	a->mcu += count;
	to = &p->places[a->mcu];
	*bits = to->bits;
	for (uint32_t i = 0; i < a->component_count; i++)
		components[i].last_dc = to->dc[i] + a->dc_offsets[i];
	if (a->mcu == p->mcu_count)
		go_to_next(a);
}

/* --- Room --- */

/* As idct_row() expects coefficients, which is another way at 2/8. */
static void find_places(struct ahead *a)
{
	a->apart = a->n == 1 ? 0 : a->n == 2 ? 4 : IDCT_COEFFICIENTS;
	memset(a->places, (int)a->apart, sizeof(a->places));
	for (uint32_t k = 0; k < IDCT_POSITIONS && k <= idct_last[a->n]; k++) {
		uint32_t u = idct_positions[k] % IDCT_MAX;
		uint32_t v = idct_positions[k] / IDCT_MAX;

		if (idct_positions[k] != IDCT_UNUSED && u < a->n && v < a->n)
			a->places[k] = (uint8_t)(a->n == 2 ? 2 * v + u :
							     IDCT_MAX * v + u);
	}
}

static bool find_lines(struct ahead *a, const struct component *components)
{
	for (uint32_t i = 0; i < a->component_count; i++)
		for (uint32_t y = 0; y < components[i].down; y++) {
			if (a->line_count == LINES_MAX)
				return false;
			a->lines[a->line_count++] =
				(struct line){ i, y, components[i].across,
					       a->mcu_blocks };
			a->mcu_blocks += components[i].across;
		}
	a->mcus_max = BLOCKS_MAX / a->mcu_blocks;
	return true;
}

/* The coefficients that no block needs are written behind the last one. */
static bool part_alloc(struct ahead *a, struct part *p,
		       const struct component *components)
{
	size_t blocks = (size_t)a->mcu_blocks * a->mcus_max;
	size_t values = blocks * a->apart + IDCT_COEFFICIENTS + 1;
	size_t places = a->mcus_max + 1;

	p->ahead = a;
	memcpy(p->components, components,
	       a->component_count * sizeof(*components));
	p->places = memory_alloc(a->memory,
				 places * sizeof(*p->places) +
					 (blocks + values) * sizeof(int16_t));
	if (p->places == NULL)
		return false;
	p->dc = (int16_t *)(p->places + places);
	p->values = p->dc + blocks;
	return true;
}

_Static_assert(sizeof(struct ahead) +
			       PARTS * ((BLOCKS_MAX + 1) *
						sizeof(struct place) +
					(BLOCKS_MAX * (1 + IDCT_COEFFICIENTS) +
					 IDCT_COEFFICIENTS + 1) *
						sizeof(int16_t)) <=
		       IMG_HELP_BYTES,
	       "as img_decode() promises");

static bool make(struct ahead *a, const struct component *components,
		 const struct bits *scan)
{
	size_t bytes = (size_t)(scan->end - scan->at);
	size_t round = min_u64(max_u64(bytes / ROUNDS, ROUND_BYTES_MIN),
			       ROUND_BYTES_MAX);

	if (!find_lines(a, components))
		return false;
	a->own_bytes = round * own_percent[a->n] / 100;
	a->part_bytes = round - a->own_bytes;
	find_places(a);
	for (uint32_t i = 0; i < PARTS; i++)
		if (!part_alloc(a, &a->parts[i], components))
			return false;
	begin_part(a, 0, scan->at);
	return a->parts[0].is_begun;
}

struct ahead *ahead_start(const struct component *components, uint32_t count,
			  uint32_t n, const struct bits *scan,
			  uint32_t restart_interval,
			  const struct memory *memory)
{
	struct ahead *a;

	if (memory->helper == NULL || scan->end - scan->at < SCAN_BYTES_MIN)
		return NULL;
	a = memory_alloc(memory, sizeof(*a));
	if (a == NULL)
		return NULL;
	*a = (struct ahead){
		.memory = memory,
		.n = n,
		.component_count = count,
		.restart_interval = restart_interval,
		.end = scan->end,
	};
	if (make(a, components, scan))
		return a;
	ahead_stop(a);
	return NULL;
}

void ahead_stop(struct ahead *a)
{
	if (a == NULL)
		return;
	for (uint32_t i = 0; i < PARTS; i++) {
		(void)end_part(a, i);
		memory_free(a->memory, a->parts[i].places);
	}
	memory_free(a->memory, a);
}
