/* SPDX-License-Identifier: MIT */
#ifndef STAGES_TEST_WATCHDOG_H
#define STAGES_TEST_WATCHDOG_H

/*
 * A test that hangs has lost a wake-up: say so and abort, well before CTest
 * would kill it without a word.  Call first, from main.
 */
void watchdog_start(void);

#endif
