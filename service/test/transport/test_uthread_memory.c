/* SPDX-License-Identifier: MIT */
/*
 * Promise: a thread of the asynchronous models that waits for long, for a
 * wake-up or for its socket, takes little memory, however deep its calls were
 * before; its variables are kept, and it goes on when it should, also while its
 * stack is trimmed.
 */
#include "base/error.h"
#include "service/direct/uthread.h"

#include "base/test/check.h"
#include "stages/stage.h"
#include "stages/test/watchdog.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Besides the frame's own page, fibre_trim() may leave one. */
enum { THREADS = 200, DEEP_BYTES = 40000, PAGES_MAX = 3 };

struct user {
	struct set *set;
	struct uthread *_Atomic thread;
	uintptr_t stack; /* an address in its stack, where it waits */
	int ours, theirs;
	bool is_at_socket;
};

/* A set of threads, and those of its threads. */
struct set {
	struct uthreads *threads;
	struct user users[THREADS];
	_Atomic uint32_t ended_count;
};

__attribute__((noinline)) static uint8_t use_stack(void)
{
	volatile uint8_t bytes[DEEP_BYTES];

	for (uint32_t i = 0; i < DEEP_BYTES; i++)
		bytes[i] = (uint8_t)i;
	return bytes[DEEP_BYTES / 2];
}

static enum transfer_need read_byte(void *arg, char *buffer, size_t bytes)
{
	const struct user *u = arg;

	CHECK_NUMBER(bytes, >, 0);
	return recv(u->ours, buffer, 1, 0) == 1 ? TRANSFER_DONE :
						  TRANSFER_NEEDS_INPUT;
}

static void wait_long(void *arg)
{
	struct user *u = arg;
	volatile uint32_t own = (uint32_t)(u - u->set->users);

	CHECK_NUMBER(use_stack(), ==, (uint8_t)(DEEP_BYTES / 2));
	u->stack = (uintptr_t)__builtin_frame_address(0);
	atomic_store(&u->thread, uthread_self());
	if (u->is_at_socket)
		uthread_transfer(u->ours, read_byte, u);
	else
		uthread_wait();
	CHECK_NUMBER(own, ==, (uint32_t)(u - u->set->users));
	CHECK_NUMBER(use_stack(), ==, (uint8_t)(DEEP_BYTES / 2));
	atomic_fetch_add(&u->set->ended_count, 1);
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

static void let_go_on(struct user *u)
{
	if (u->is_at_socket)
		CHECK_NUMBER(send(u->theirs, "x", 1, 0), ==, 1);
	else
		uthread_wake(u->thread);
}

static void start(struct set *s, const struct cores *cores,
		  enum thread_mapping mapping)
{
	const struct thread_model model = { .mapping = mapping,
					    .io = THREADS_IO_ASYNC };

	s->threads = uthreads_start(&(struct uthreads_config){
		.model = &model,
		.cores = cores,
		.threads_max = THREADS,
		.buffer_bytes = 1,
	});
	CHECK(s->threads != NULL);
	for (uint32_t i = 0; i < THREADS; i++) {
		struct user *u = &s->users[i];
		int fds[2];

		CHECK_NUMBER(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
					fds),
			     ==, 0);
		*u = (struct user){ .set = s,
				    .ours = fds[0],
				    .theirs = fds[1],
				    .is_at_socket = i % 2 == 0 };
		CHECK(uthread_spawn(s->threads, wait_long, u));
	}
	for (uint32_t i = 0; i < THREADS; i++)
		while (atomic_load(&s->users[i].thread) ==
		       (struct uthread *)NULL)
			sleep_ms();
}

static void stop(struct set *s)
{
	uthreads_stop(s->threads);
	CHECK_NUMBER(s->ended_count, ==, THREADS);
	for (uint32_t i = 0; i < THREADS; i++)
		CHECK(close(s->users[i].ours) == 0 &&
		      close(s->users[i].theirs) == 0);
}

/* From when the first was trimmed, so others are being trimmed. */
static void test_wake_ups_during_trim(struct set *s)
{
	while (count_pages(&s->users[0]) > PAGES_MAX)
		(void)sched_yield();
	for (uint32_t i = THREADS; i-- > 0;)
		let_go_on(&s->users[i]);
	stop(s);
}

static void test_long_waits_take_little_memory(struct set *s)
{
	for (uint32_t i = 0; i < THREADS; i++)
		while (count_pages(&s->users[i]) > PAGES_MAX)
			sleep_ms();
	CHECK_NUMBER(s->ended_count, ==, 0);
	for (uint32_t i = 0; i < THREADS; i++)
		let_go_on(&s->users[i]);
	stop(s);
}

int main(void)
{
	static struct set sets[4];
	struct error why;
	struct cores *cores = cores_new(NULL, why.text);

	CHECK(cores != NULL);
	watchdog_start();
	for (int i = 0; i < 4; i++)
		start(&sets[i], cores,
		      i % 2 == 0 ? THREADS_N_TO_1 : THREADS_N_TO_M);
	for (int i = 0; i < 2; i++)
		test_wake_ups_during_trim(&sets[i]);
	for (int i = 2; i < 4; i++)
		test_long_waits_take_little_memory(&sets[i]);
	cores_free(cores);
	return 0;
}
