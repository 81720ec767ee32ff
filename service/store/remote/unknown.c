/* SPDX-License-Identifier: MIT */
#include "service/store/remote/unknown.h"

#include "base/clock.h"

#include <string.h>

/* The place of an id, which begins with digits of a hash. */
static size_t place_of(const char *id)
{
	size_t place = 0;

	for (size_t i = 0; i < 4; i++)
		place = 16 * place +
			(size_t)(id[i] <= '9' ? id[i] - '0' : id[i] - 'a' + 10);
	return place % UNKNOWN_IDS;
}

static bool is_of(const struct unknown_id *k, const char *id)
{
	return strcmp(k->id, id) == 0;
}

bool unknown_has(const struct unknown *u, const char *id, uint64_t now_ns)
{
	const struct unknown_id *k = &u->ids[place_of(id)];

	return is_of(k, id) && now_ns < k->until_ns;
}

uint64_t unknown_begin(struct unknown *u, const char *id)
{
	struct unknown_id *k = &u->ids[place_of(id)];

	*k = (struct unknown_id){ .ticket = ++u->last_ticket };
	(void)memcpy(k->id, id, sizeof(k->id));
	return k->ticket;
}

void unknown_end(struct unknown *u, const char *id, uint64_t ticket,
		 uint64_t now_ns)
{
	struct unknown_id *k = &u->ids[place_of(id)];

	if (is_of(k, id) && k->ticket == ticket)
		k->until_ns = now_ns + UNKNOWN_MS * NS_PER_MS;
}

void unknown_forget(struct unknown *u, const char *id)
{
	struct unknown_id *k = &u->ids[place_of(id)];

	if (is_of(k, id))
		*k = (struct unknown_id){ .ticket = 0 };
}
