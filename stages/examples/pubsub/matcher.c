/* SPDX-License-Identifier: MIT */
#include "matcher.h"

#include <stdlib.h>
#include <string.h>

/*
 * The name of a predicate is a number: its comparison, attribute and value, in
 * this order.  So sorted names have the = predicates first, and the predicates
 * of one attribute and comparison together, in the order of their values.
 */
#define NAME_FREE UINT64_MAX

enum { WIDTHS = PREDICATES_MAX + 1 };

struct cluster {
	size_t offset; /* in `words`: `width` columns of predicates, then one */
	uint32_t rows; /* of subscriptions */
};

struct list {
	struct cluster by_width[WIDTHS]; /* by the number of columns */
};

struct slot {
	uint64_t name; /* or NAME_FREE */
	uint32_t number;
};

struct matcher {
	uint32_t subset_count, attribute_count;
	/* The numbers of the predicates, by name: open addressing. */
	struct slot *slots;
	size_t slot_mask, slot_used;
	/* The names by number, which are sorted. */
	uint64_t *names;
	uint32_t name_count;
	/* Of each comparison and attribute: its first number; and the end. */
	uint32_t first[COMPARISONS * ATTRIBUTES_MAX + 1];
	/* By access predicate; the last is of those without =. */
	struct list *lists;
	uint32_t list_count;
	uint32_t *words;
	size_t word_count;
};

static uint64_t name_of(enum comparison c, uint32_t attribute, int32_t value)
{
	return (uint64_t)c << 60 | (uint64_t)attribute << 32 |
	       ((uint32_t)value ^ UINT32_C(0x80000000));
}

static uint64_t predicate_name(const struct predicate *p)
{
	return name_of(p->comparison, p->attribute, p->value);
}

/* The slot of the name, or the free one where it would be. */
static struct slot *slot_find(const struct matcher *m, uint64_t name)
{
	uint64_t hash = name * UINT64_C(0x9e3779b97f4a7c15);
	size_t i = (size_t)(hash >> 32) & m->slot_mask;

	while (m->slots[i].name != name && m->slots[i].name != NAME_FREE)
		i = (i + 1) & m->slot_mask;
	return &m->slots[i];
}

static uint32_t predicate_number(const struct matcher *m, uint64_t name)
{
	const struct slot *s = slot_find(m, name);

	return s->name == name ? s->number : NO_PREDICATE;
}

/* --- Building: the predicates. --- */

static bool slots_resize(struct matcher *m, size_t count)
{
	struct slot *old = m->slots;
	size_t old_count = old == NULL ? 0 : m->slot_mask + 1;

	m->slots = malloc(count * sizeof(m->slots[0]));
	if (m->slots == NULL) {
		m->slots = old;
		return false;
	}
	m->slot_mask = count - 1;
	for (size_t i = 0; i < count; i++)
		m->slots[i].name = NAME_FREE;
	for (size_t i = 0; i < old_count; i++)
		if (old[i].name != NAME_FREE)
			slot_find(m, old[i].name)->name = old[i].name;
	free(old);
	return true;
}

static bool collect_names(struct matcher *m, const struct subscription *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		uint64_t name = predicate_name(&s->predicates[i]);
		struct slot *slot = slot_find(m, name);

		if (s->predicates[i].attribute >= m->attribute_count)
			m->attribute_count = s->predicates[i].attribute + 1u;
		if (slot->name == name)
			continue;
		slot->name = name;
		m->slot_used++;
		if (m->slot_used > m->slot_mask / 2 &&
		    !slots_resize(m, 2 * (m->slot_mask + 1)))
			return false;
	}
	return true;
}

static int compare_names(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The first number, from `low` to `high`, whose name is not before `name`. */
static uint32_t lower_bound(const struct matcher *m, uint32_t low,
			    uint32_t high, uint64_t name)
{
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (m->names[middle] < name)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool number_predicates(struct matcher *m)
{
	m->names = malloc((m->slot_used + 1) * sizeof(m->names[0]));
	if (m->names == NULL)
		return false;
	for (size_t i = 0; i <= m->slot_mask; i++)
		if (m->slots[i].name != NAME_FREE)
			m->names[m->name_count++] = m->slots[i].name;
	qsort(m->names, m->name_count, sizeof(m->names[0]), compare_names);
	for (uint32_t i = 0; i < m->name_count; i++)
		slot_find(m, m->names[i])->number = i;
	for (uint32_t i = 0; i < COMPARISONS * ATTRIBUTES_MAX; i++)
		m->first[i] =
			lower_bound(m, 0, m->name_count,
				    name_of(i / ATTRIBUTES_MAX,
					    i % ATTRIBUTES_MAX, INT32_MIN));
	m->first[COMPARISONS * ATTRIBUTES_MAX] = m->name_count;
	return true;
}

/* --- Building: the clusters. --- */

/* The numbers of a subscription's predicates, sorted: those with = first. */
static void numbers_of(const struct matcher *m, const struct subscription *s,
		       uint32_t numbers[PREDICATES_MAX])
{
	for (uint32_t i = 0; i < s->count; i++) {
		uint32_t number =
			predicate_number(m, predicate_name(&s->predicates[i]));
		uint32_t at = i;

		for (; at > 0 && numbers[at - 1] > number; at--)
			numbers[at] = numbers[at - 1];
		numbers[at] = number;
	}
}

/* Its = predicate with the fewest subscriptions so far. */
static uint32_t choose_list(const struct matcher *m, const uint32_t *numbers,
			    uint32_t count, const uint32_t *sizes)
{
	uint32_t best = m->list_count - 1;

	for (uint32_t i = 0; i < count && numbers[i] < m->list_count - 1; i++)
		if (best == m->list_count - 1 ||
		    sizes[numbers[i]] < sizes[best])
			best = numbers[i];
	return best;
}

static uint32_t width_in(const struct matcher *m, uint32_t list,
			 const struct subscription *s)
{
	return list == m->list_count - 1 ? s->count : s->count - 1;
}

/* Say where the clusters begin, whose rows are counted.  False: no memory. */
static bool place_clusters(struct matcher *m)
{
	for (uint32_t i = 0; i < m->list_count; i++) {
		for (uint32_t width = 0; width < WIDTHS; width++) {
			struct cluster *c = &m->lists[i].by_width[width];

			c->offset = m->word_count;
			m->word_count += (size_t)c->rows * (width + 1);
		}
	}
	m->words = malloc((m->word_count + 1) * sizeof(m->words[0]));
	return m->words != NULL;
}

/* `used`: the rows of the cluster that are filled. */
static void put_row(const struct matcher *m, const struct cluster *c,
		    uint32_t used, const uint32_t *numbers, uint32_t count,
		    uint32_t list, uint32_t id)
{
	uint32_t *next = m->words + c->offset + used;
	bool is_left_out = list == m->list_count - 1;

	for (uint32_t i = 0; i < count; i++) {
		if (!is_left_out && numbers[i] == list) {
			is_left_out = true; /* the access predicate */
			continue;
		}
		*next = numbers[i];
		next += c->rows;
	}
	*next = id;
}

static bool fill_clusters(struct matcher *m, const struct subscription *s,
			  uint32_t count, const uint32_t *list_of)
{
	uint32_t(*used)[WIDTHS] = calloc(m->list_count, sizeof(used[0]));

	if (used == NULL)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t numbers[PREDICATES_MAX] = { 0 };
		uint32_t list = list_of[i], width = width_in(m, list, &s[i]);

		numbers_of(m, &s[i], numbers);
		put_row(m, &m->lists[list].by_width[width], used[list][width]++,
			numbers, s[i].count, list, i);
	}
	free(used);
	return true;
}

static bool choose_lists(struct matcher *m, const struct subscription *s,
			 uint32_t count, uint32_t *list_of)
{
	uint32_t *sizes = calloc(m->list_count, sizeof(sizes[0]));

	if (sizes == NULL)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t numbers[PREDICATES_MAX] = { 0 };
		uint32_t list;

		numbers_of(m, &s[i], numbers);
		list = choose_list(m, numbers, s[i].count, sizes);
		sizes[list]++;
		list_of[i] = list;
		m->lists[list].by_width[width_in(m, list, &s[i])].rows++;
	}
	free(sizes);
	return true;
}

static bool build_clusters(struct matcher *m, const struct subscription *s,
			   uint32_t count)
{
	uint32_t *list_of = malloc((count + 1u) * sizeof(list_of[0]));
	bool ok;

	m->list_count = m->first[COMPARISON_LESS * ATTRIBUTES_MAX] + 1;
	m->lists = calloc(m->list_count, sizeof(m->lists[0]));
	ok = list_of != NULL && m->lists != NULL &&
	     choose_lists(m, s, count, list_of) && place_clusters(m) &&
	     fill_clusters(m, s, count, list_of);
	free(list_of);
	return ok;
}

struct matcher *matcher_new(const struct subscription *subscriptions,
			    uint32_t count, uint32_t subset_count)
{
	struct matcher *m = calloc(1, sizeof(*m));
	bool ok = m != NULL && slots_resize(m, 1024);

	for (uint32_t i = 0; i < count && ok; i++)
		ok = collect_names(m, &subscriptions[i]);
	if (!ok || !number_predicates(m) ||
	    !build_clusters(m, subscriptions, count)) {
		matcher_free(m);
		return NULL;
	}
	m->subset_count = subset_count;
	return m;
}

void matcher_free(struct matcher *m)
{
	if (m == NULL)
		return;
	free(m->slots);
	free(m->names);
	free(m->lists);
	free(m->words);
	free(m);
}

size_t matcher_bytes(const struct matcher *m)
{
	return m->word_count * sizeof(m->words[0]);
}

/* --- Matching. --- */

static size_t vector_bytes(const struct matcher *m)
{
	return (m->name_count / 64 + 1) * sizeof(uint64_t);
}

bool matching_init(struct matching *g, const struct matcher *m)
{
	*g = (struct matching){ .satisfied = malloc(vector_bytes(m)) };
	return g->satisfied != NULL;
}

void matching_destroy(struct matching *g)
{
	free(g->satisfied);
	free(g->found);
}

static void set(struct matching *g, uint32_t begin, uint32_t end)
{
	for (uint32_t i = begin; i < end; i++)
		g->satisfied[i / 64] |= UINT64_C(1) << i % 64;
}

void matcher_satisfy(const struct matcher *m, const struct publication *p,
		     struct matching *g)
{
	memset(g->satisfied, 0, vector_bytes(m));
	memset(g->equal, 0xff, sizeof(g->equal)); /* NO_PREDICATE */
	g->found_count = 0;
	for (uint32_t i = 0; i < p->count; i++) {
		uint32_t attribute = p->pairs[i].attribute;
		int32_t value = p->pairs[i].value;
		const uint32_t *less =
			m->first + COMPARISON_LESS * ATTRIBUTES_MAX + attribute;
		const uint32_t *greater = m->first + attribute +
					  COMPARISON_GREATER * ATTRIBUTES_MAX;
		uint32_t equal = predicate_number(
			m, name_of(COMPARISON_EQUAL, attribute, value));

		g->equal[attribute] = equal;
		if (equal != NO_PREDICATE)
			set(g, equal, equal + 1);
		/* `<` with every value above this one: */
		set(g,
		    lower_bound(m, less[0], less[1],
				name_of(COMPARISON_LESS, attribute, value) + 1),
		    less[1]);
		set(g, greater[0],
		    lower_bound(m, greater[0], greater[1],
				name_of(COMPARISON_GREATER, attribute, value)));
	}
}

static bool add_found(struct matching *g, uint32_t id)
{
	if (g->found_count == g->found_room) {
		size_t room = g->found_room == 0 ? 64 : 2 * g->found_room;
		uint32_t *larger = realloc(g->found, room * sizeof(*larger));

		if (larger == NULL)
			return false;
		g->found = larger;
		g->found_room = room;
	}
	g->found[g->found_count++] = id;
	return true;
}

static bool is_set(const uint64_t *satisfied, uint32_t number)
{
	return satisfied[number / 64] >> number % 64 & 1;
}

/* Are the predicates of a row satisfied, from column `column` on? */
static bool is_row_satisfied(const uint64_t *satisfied, const uint32_t *row,
			     size_t rows, uint32_t column, uint32_t width)
{
	for (; column < width; column++)
		if (!is_set(satisfied, row[column * rows]))
			return false;
	return true;
}

/*
 * Adds the rows whose `width` columns all have satisfied predicates.  Most rows
 * are left after the first column, so that one is read from end to end.
 */
static bool match_cluster(const uint32_t *columns, size_t rows, uint32_t width,
			  struct matching *g)
{
	const uint64_t *satisfied = g->satisfied;

	for (size_t i = 0; i < rows; i++) {
		if (width > 0 && !is_set(satisfied, columns[i]))
			continue;
		if (is_row_satisfied(satisfied, columns + i, rows, 1, width) &&
		    !add_found(g, columns[width * rows + i]))
			return false;
	}
	return true;
}

static bool match_list(const struct matcher *m, uint32_t list,
		       struct matching *g)
{
	for (uint32_t width = 0; width < WIDTHS; width++) {
		const struct cluster *c = &m->lists[list].by_width[width];

		if (!match_cluster(m->words + c->offset, c->rows, width, g))
			return false;
	}
	return true;
}

bool matcher_match(const struct matcher *m, uint32_t subset, struct matching *g)
{
	uint32_t begin = subset * m->attribute_count / m->subset_count;
	uint32_t end = (subset + 1) * m->attribute_count / m->subset_count;

	for (uint32_t i = begin; i < end; i++)
		if (g->equal[i] != NO_PREDICATE &&
		    !match_list(m, g->equal[i], g))
			return false;
	return subset > 0 || match_list(m, m->list_count - 1, g);
}
