/* SPDX-License-Identifier: MIT */
/*
 * Forecast: how much memory a picture will take, before its first byte is
 * there, by those that came before it.  One alone, however large, changes it by
 * little more than half.
 *
 * Threads    Any, at once; of two that learn at the same time one may be lost.
 */
#ifndef SERVICE_FORECAST_H
#define SERVICE_FORECAST_H

#include <stdatomic.h>
#include <stdint.h>

struct forecast {
	_Atomic uint64_t body_bytes_mean; /* the last ones weigh most */
	_Atomic uint64_t picture_bytes_mean;
};

void forecast_init(struct forecast *f);

void forecast_learn(struct forecast *f, uint64_t body_bytes,
		    uint64_t picture_bytes);

/* What the picture of a body of so many bytes is likely to take. */
uint64_t forecast_bytes(const struct forecast *f, uint64_t body_bytes);

#endif
