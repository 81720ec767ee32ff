/* SPDX-License-Identifier: MIT */
/*
 * Promises: a thread gets the slice that is asked for, where the kernel can;
 * threads that it starts have it, too; nothing else of it changes.
 */
#include "base/slice.h"

#include "base/test/check.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The slice that the kernel says. */
static uint64_t slice_ns(void)
{
	uint64_t attributes[6] = { 0 };

	CHECK_NUMBER(syscall(SYS_sched_getattr, 0, attributes,
			     sizeof(attributes), 0),
		     ==, 0);
	return attributes[3];
}

static void *see_slice(void *arg)
{
	*(uint64_t *)arg = slice_ns();
	return NULL;
}

static uint64_t slice_of_new_thread(void)
{
	uint64_t ns = 0;
	pthread_t thread;

	CHECK_NUMBER(pthread_create(&thread, NULL, see_slice, &ns), ==, 0);
	CHECK_NUMBER(pthread_join(thread, NULL), ==, 0);
	return ns;
}

int main(void)
{
	uint64_t usual_ns = slice_ns();

	CHECK_NUMBER(setpriority(PRIO_PROCESS, 0, 3), ==, 0);
	slice_set(SLICE_SHORT_NS);
	CHECK_NUMBER(getpriority(PRIO_PROCESS, 0), ==, 3);
	if (usual_ns == 0) {
		puts("skipped: the kernel has no slices for each thread");
		return 0;
	}
	CHECK_NUMBER(slice_ns(), ==, SLICE_SHORT_NS);
	CHECK_NUMBER(slice_of_new_thread(), ==, SLICE_SHORT_NS);
	slice_set(0);
	CHECK_NUMBER(getpriority(PRIO_PROCESS, 0), ==, 3);
	CHECK_NUMBER(slice_ns(), ==, usual_ns);
	CHECK_NUMBER(slice_of_new_thread(), ==, usual_ns);
	return 0;
}
