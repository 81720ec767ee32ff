/* SPDX-License-Identifier: MIT */
/*
 * Calibrate: how long the server takes for each file when it has nothing else
 * to do.
 *
 * Before the run, every file is sent three times over one connection, the next
 * when the last is answered.  The time of a file is the median of its three,
 * each from the first byte sent to the last byte received.
 */
#ifndef LOADGEN_CALIBRATE_H
#define LOADGEN_CALIBRATE_H

#include "loadgen/error.h"
#include "loadgen/options.h"
#include "loadgen/setup.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Fill setup->unloaded_ns, with 0 for each file that was not answered 2xx three
 * times.  False: `error` says what broke it off, `*stop` perhaps.
 */
MUST_CHECK bool calibrate(struct setup *setup, const struct options *o,
			  const volatile sig_atomic_t *stop,
			  struct error *error);

#endif
