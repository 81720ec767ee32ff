/* SPDX-License-Identifier: MIT */
/*
 * Formulas of queueing theory, and comparing with them, for tests.
 *
 * Tolerances are about three standard errors of the simulated mean.  A wrong
 * order of service is off by much more.
 */
#ifndef STAGES_SIM_TEST_FORMULA_H
#define STAGES_SIM_TEST_FORMULA_H

#include <stdint.h>

#define ONE_STAGE(service)                                                     \
	"{\"stages\": [{\"name\": \"a\", \"service_us\": " service "}]}"

/* A mean of 100 us; the tests use 70 % load. */
#define EXPONENTIAL "{\"kind\": \"exponential\", \"mean\": 100}"
#define SERVICE_S 100e-6
#define LOAD 0.7
#define RATE (LOAD / SERVICE_S)

/* Erlang 1917: mean wait of M/M/c, `load` of each server. */
double formula_erlang_c_wait_s(uint32_t servers, double load);

/* Print both, and abort if they differ by more than `tolerance` of `exact`. */
void formula_expect(const char *what, double simulated, double exact,
		    double tolerance);

#endif
