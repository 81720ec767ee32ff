/* SPDX-License-Identifier: MIT */
#include "service/pipeline/forecast.h"

enum {
	WEIGHT = 8, /* the last picture has an eighth */
	/* Times the mean: one giant does not outweigh all others. */
	SAMPLE_MAX = 4,
	/* Until the first: a photo that becomes a page's picture. */
	FIRST_BODY_BYTES = 1 << 20,
	FIRST_PICTURE_BYTES = 3 << 20,
};

void forecast_init(struct forecast *f)
{
	atomic_init(&f->body_bytes_mean, FIRST_BODY_BYTES);
	atomic_init(&f->picture_bytes_mean, FIRST_PICTURE_BYTES);
}

static void learn(_Atomic uint64_t *mean, uint64_t bytes)
{
	uint64_t m = atomic_load_explicit(mean, memory_order_relaxed);

	if (bytes > SAMPLE_MAX * m)
		bytes = SAMPLE_MAX * m;
	atomic_store_explicit(mean, m - m / WEIGHT + bytes / WEIGHT,
			      memory_order_relaxed);
}

void forecast_learn(struct forecast *f, uint64_t body_bytes,
		    uint64_t picture_bytes)
{
	learn(&f->body_bytes_mean, body_bytes);
	learn(&f->picture_bytes_mean, picture_bytes);
}

uint64_t forecast_bytes(const struct forecast *f, uint64_t body_bytes)
{
	uint64_t body =
		atomic_load_explicit(&f->body_bytes_mean, memory_order_relaxed);
	uint64_t picture = atomic_load_explicit(&f->picture_bytes_mean,
						memory_order_relaxed);

	return (uint64_t)((double)body_bytes * (double)picture /
			  (double)(body + 1));
}
