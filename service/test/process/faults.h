/* SPDX-License-Identifier: MIT */
/*
 * Faults: failures to inject into a server that a test has started with
 * LD_PRELOAD=libfaults.so FAULTS=FILE.  Both the test and the server map FILE,
 * which contains this struct.
 */
#ifndef SERVICE_TEST_FAULTS_H
#define SERVICE_TEST_FAULTS_H

#include <stdatomic.h>
#include <stdint.h>

struct faults {
	/*
	 * How many allocations remain until one fails: 1 means that the next
	 * one fails; 0 means that none fails.
	 */
	_Atomic int64_t allocations_left;
	_Atomic int64_t threads_left; /* the same for pthread_create() */
	_Atomic int64_t clock_jump_s; /* added to the time of day */
};

#endif
