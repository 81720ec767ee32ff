/* SPDX-License-Identifier: MIT */
/*
 * Promise: a user-level thread that waits takes little memory, however deep its
 * calls were before, and its variables are kept; a thread between two handlers
 * takes no stack at all.
 */
#include "base/error.h"
#include "base/test/check.h"
#include "stages/stage.h"
#include "stages/policy.h"
#include "stages/test/watchdog.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 100, DEEP_BYTES = 40000, PAGES_MAX = 3, TRIES_MAX = 20000 };

struct user {
	struct event event; /* must be the first member */
	uintptr_t stack;    /* an address in its stack, where it waits */
	bool is_second;     /* it has been sent on */
};

static struct user users[EVENTS];
static struct stage *stage;
static _Atomic uint32_t waiting_count, ended_count;

__attribute__((noinline)) static uint8_t use_stack(void)
{
	volatile uint8_t bytes[DEEP_BYTES];

	for (uint32_t i = 0; i < DEEP_BYTES; i++)
		bytes[i] = (uint8_t)i;
	return bytes[DEEP_BYTES / 2];
}

static void handle(struct event *ev, void *arg)
{
	struct user *u = (struct user *)ev;
	volatile uint32_t own = (uint32_t)(u - users);

	(void)arg;
	CHECK_NUMBER(use_stack(), ==, (uint8_t)(DEEP_BYTES / 2));
	if (!u->is_second) {
		bool is_sent;

		u->is_second = true;
		is_sent = stage_send(stage, ev);
		CHECK(is_sent);
		return;
	}
	u->stack = (uintptr_t)__builtin_frame_address(0);
	atomic_fetch_add(&waiting_count, 1);
	stage_wait();
	CHECK_NUMBER(own, ==, (uint32_t)(u - users));
	CHECK_NUMBER(use_stack(), ==, (uint8_t)(DEEP_BYTES / 2));
	atomic_fetch_add(&ended_count, 1);
}

/* Resident pages of the stack below the frame that waits. */
static uint32_t count_pages(const struct user *u)
{
	uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t end = (u->stack / page_bytes + 1) * page_bytes;
	unsigned char are_resident[DEEP_BYTES / 4096 + 1];
	uintptr_t bytes = DEEP_BYTES / page_bytes * page_bytes;
	uint32_t count = 0;

	if (mincore((void *)(end - bytes), bytes, are_resident) != 0)
		return UINT32_MAX;
	for (uintptr_t i = 0; i < bytes / page_bytes; i++)
		count += are_resident[i] & 1;
	return count;
}

static void sleep_ms(void)
{
	(void)nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

/* The last one is still leaving its stack when it has been counted. */
static void expect_few_pages(const struct user *u)
{
	for (int i = 0; count_pages(u) > PAGES_MAX; i++) {
		CHECK_NUMBER(i, <, TRIES_MAX);
		sleep_ms();
	}
}

int main(void)
{
	struct error why;
	struct cores *cores = cores_new(NULL, why.text);
	struct error error;
	struct schedule schedule;
	struct stage_group *g;

	watchdog_start();
	schedule_init(&schedule);
	schedule.policy = policy_find("capriccio");
	CHECK(schedule_complete(&schedule, 1, cores_count(cores), error.text));
	g = group_new(&(struct group_config){ .schedule = &schedule,
					      .cores = cores });
	stage = group_add(g, &(struct stage_config){ .name = "wait",
						     .handler = handle,
						     .slots = EVENTS });
	CHECK(group_start(g));
	for (uint32_t i = 0; i < EVENTS; i++)
		while (!stage_send(stage, &users[i].event))
			sleep_ms();
	while (atomic_load(&waiting_count) < EVENTS)
		sleep_ms();
	for (uint32_t i = 0; i < EVENTS; i++)
		expect_few_pages(&users[i]);
	for (uint32_t i = 0; i < EVENTS; i++)
		stage_wake(&users[i].event);
	group_stop(g);
	CHECK_NUMBER(atomic_load(&ended_count), ==, EVENTS);
	group_free(g);
	cores_free(cores);
	return 0;
}
