/* SPDX-License-Identifier: MIT */
/*
 * The server is "not ready" before it refuses the first upload, and ready when
 * there is room again.
 */
#include "service/http/handlers/control.c"

#include "base/test/check.h"

#include <string.h>

/* A server with room and no history; its clock shows one second. */
static struct readiness_view idle(void)
{
	return (struct readiness_view){
		.load = { .uploads_max = 100, .limit_bytes = 1000 },
		.now_ns = 1000000000,
	};
}

/* The decision, if the previous one left `was_full`. */
static enum readiness decide(bool was_full, const struct readiness_view *v)
{
	return readiness_decide(&was_full, v);
}

static void test_idle_is_ready(void)
{
	struct readiness_view v = idle();

	CHECK_NUMBER(decide(false, &v), ==, READINESS_OK);
	CHECK_NUMBER(decide(true, &v), ==, READINESS_OK);
}

static void test_stays_between_a_half_and_three_quarters(void)
{
	struct readiness_view v = idle();
	uint32_t n;

	for (n = 0; n < 75; n++) {
		v.load.in_flight_count = n;
		CHECK_NUMBER(decide(false, &v), ==, READINESS_OK);
	}
	for (n = 100; n >= 75; n--) {
		v.load.in_flight_count = n;
		CHECK_NUMBER(decide(false, &v), ==, READINESS_SLOTS_TAKEN);
	}
	for (n = 100; n >= 50; n--) {
		v.load.in_flight_count = n;
		CHECK_NUMBER(decide(true, &v), ==, READINESS_SLOTS_TAKEN);
	}
	v.load.in_flight_count = 49;
	CHECK_NUMBER(decide(true, &v), ==, READINESS_OK);
}

static void test_memory_is_as_places(void)
{
	struct readiness_view v = idle();

	v.load.used_bytes = 749;
	CHECK_NUMBER(decide(false, &v), ==, READINESS_OK);
	CHECK_NUMBER(decide(true, &v), ==, READINESS_MEMORY_TAKEN);
	v.load.used_bytes = 750;
	CHECK_NUMBER(decide(false, &v), ==, READINESS_MEMORY_TAKEN);
	v.load.used_bytes = 499;
	CHECK_NUMBER(decide(true, &v), ==, READINESS_OK);
	/* Without a limit. */
	v.load.limit_bytes = UINT64_MAX;
	v.load.used_bytes = UINT64_C(1) << 50;
	CHECK_NUMBER(decide(true, &v), ==, READINESS_OK);
}

/*
 * If there are few slots, one may still be free when the server is not ready.
 */
static void test_few_slots_are_never_all_taken_while_ready(void)
{
	struct readiness_view v = idle();

	for (v.load.uploads_max = 1; v.load.uploads_max < 9;
	     v.load.uploads_max++) {
		v.load.in_flight_count = v.load.uploads_max;
		CHECK_NUMBER(decide(false, &v), ==, READINESS_SLOTS_TAKEN);
		v.load.in_flight_count = 0;
		CHECK_NUMBER(decide(true, &v), ==, READINESS_OK);
	}
}

static void test_a_refusal_is_remembered_for_a_while(void)
{
	struct readiness_view v = idle();

	v.refused_ns = v.now_ns;
	CHECK_NUMBER(decide(false, &v), ==, READINESS_REFUSED);
	v.now_ns += (READINESS_REFUSED_MS - 1) * UINT64_C(1000000);
	CHECK_NUMBER(decide(false, &v), ==, READINESS_REFUSED);
	v.now_ns += 1000000;
	CHECK_NUMBER(decide(true, &v), ==, READINESS_OK);
}

/*
 * A refusal does not make the server count as full: the limit stays at 3/4 of
 * the slots.
 */
static void test_a_refusal_is_not_full(void)
{
	struct readiness_view v = idle();
	bool was_full = false;

	v.load.in_flight_count = 74;
	v.refused_ns = v.now_ns;
	CHECK_NUMBER(readiness_decide(&was_full, &v), ==, READINESS_REFUSED);
	v.now_ns += READINESS_REFUSED_MS * UINT64_C(1000000);
	CHECK_NUMBER(readiness_decide(&was_full, &v), ==, READINESS_OK);
	v.load.in_flight_count = 75;
	CHECK_NUMBER(readiness_decide(&was_full, &v), ==,
		     READINESS_SLOTS_TAKEN);
	v.load.in_flight_count = 50;
	CHECK_NUMBER(readiness_decide(&was_full, &v), ==,
		     READINESS_SLOTS_TAKEN);
	v.load.in_flight_count = 49;
	CHECK_NUMBER(readiness_decide(&was_full, &v), ==, READINESS_OK);
	v.load.in_flight_count = 74;
	CHECK_NUMBER(readiness_decide(&was_full, &v), ==, READINESS_OK);
}

static void test_stopping_is_for_good(void)
{
	struct readiness_view v = idle();

	v.is_stopping = true;
	CHECK_NUMBER(decide(false, &v), ==, READINESS_STOPPING);
	v.load.in_flight_count = 100;
	CHECK_NUMBER(decide(true, &v), ==, READINESS_STOPPING);
}

static void test_each_has_a_reason(void)
{
	for (int r = READINESS_STOPPING; r <= READINESS_REFUSED; r++)
		CHECK_NUMBER(strlen(readiness_reason((enum readiness)r)), >, 0);
}

int main(void)
{
	test_idle_is_ready();
	test_stays_between_a_half_and_three_quarters();
	test_memory_is_as_places();
	test_few_slots_are_never_all_taken_while_ready();
	test_a_refusal_is_remembered_for_a_while();
	test_a_refusal_is_not_full();
	test_stopping_is_for_good();
	test_each_has_a_reason();
	return 0;
}
