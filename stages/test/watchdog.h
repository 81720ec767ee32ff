/* SPDX-License-Identifier: MIT */
#ifndef STAGES_TEST_WATCHDOG_H
#define STAGES_TEST_WATCHDOG_H

/*
 * A test that uses no CPU time for two minutes hangs, because a wake-up was
 * lost: the watchdog says so and aborts, before CTest would end the test
 * without a word.  A test that is only slow, on a busy machine, goes on.  Call
 * this first, from main.
 */
void watchdog_start(void);

#endif
