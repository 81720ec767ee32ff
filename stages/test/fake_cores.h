/* SPDX-License-Identifier: MIT */
/*
 * As many cores as a test wants, for workers that are bound to none:
 * cores_count() and cores_bind() of a program that links fake_cores.
 */
#ifndef STAGES_TEST_FAKE_CORES_H
#define STAGES_TEST_FAKE_CORES_H

#include <stdint.h>

/* Set before a group is made; 1 at first. */
extern uint32_t fake_core_count;

#endif
