/* SPDX-License-Identifier: MIT */
/* Unknown ids are remembered for a moment, unless this server puts them. */
#include "service/store/remote/unknown.h"

#include "base/clock.h"
#include "base/test/check.h"

#include <stdio.h>

static const uint64_t now_ns = 5 * NS_PER_S;
static struct unknown u;

static const char *id_of(unsigned number)
{
	static char ids[4][STORE_ID_BYTES];
	static unsigned next;
	char *id = ids[next++ % 4];

	/* The first digits choose the place. */
	(void)snprintf(id, STORE_ID_BYTES, "%04x%060x", number, number);
	return id;
}

static void ask(unsigned number)
{
	unknown_end(&u, id_of(number), unknown_begin(&u, id_of(number)),
		    now_ns);
}

static void test_an_unknown_id_is_remembered_for_a_moment(void)
{
	CHECK(!unknown_has(&u, id_of(1), now_ns));
	ask(1);
	CHECK(unknown_has(&u, id_of(1), now_ns));
	CHECK(unknown_has(&u, id_of(1), now_ns + UNKNOWN_MS * NS_PER_MS - 1));
	CHECK(!unknown_has(&u, id_of(1), now_ns + UNKNOWN_MS * NS_PER_MS));
	CHECK(!unknown_has(&u, id_of(2), now_ns));
}

static void test_a_put_ends_it(void)
{
	ask(3);
	unknown_forget(&u, id_of(3));
	CHECK(!unknown_has(&u, id_of(3), now_ns));
}

/* The store was asked before the put, and its answer comes after it. */
static void test_an_old_answer_does_not_count(void)
{
	uint64_t ticket = unknown_begin(&u, id_of(4));

	unknown_forget(&u, id_of(4));
	unknown_end(&u, id_of(4), ticket, now_ns);
	CHECK(!unknown_has(&u, id_of(4), now_ns));
	ticket = unknown_begin(&u, id_of(5));
	unknown_forget(&u, id_of(5));
	ask(5);
	unknown_forget(&u, id_of(5));
	unknown_end(&u, id_of(5), ticket, now_ns);
	CHECK(!unknown_has(&u, id_of(5), now_ns));
}

static void test_another_id_takes_its_place(void)
{
	ask(6);
	ask(6 + UNKNOWN_IDS);
	CHECK(!unknown_has(&u, id_of(6), now_ns));
	CHECK(unknown_has(&u, id_of(6 + UNKNOWN_IDS), now_ns));
	unknown_forget(&u, id_of(6));
	CHECK(unknown_has(&u, id_of(6 + UNKNOWN_IDS), now_ns));
}

int main(void)
{
	test_an_unknown_id_is_remembered_for_a_moment();
	test_a_put_ends_it();
	test_an_old_answer_does_not_count();
	test_another_id_takes_its_place();
	return 0;
}
