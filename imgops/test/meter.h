/* SPDX-License-Identifier: MIT */
/* Meter: an allocator that counts how much is in use.  For one thread. */
#ifndef IMGOPS_TEST_METER_H
#define IMGOPS_TEST_METER_H

#include "imgops/imgops.h"

struct meter {
	struct memory memory;
	size_t live_bytes;
	size_t peak_bytes;
};

/* `m` must not move in memory afterwards. */
void meter_init(struct meter *m);

#endif
