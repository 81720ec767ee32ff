/* SPDX-License-Identifier: MIT */
#include "imgops/formats/jpeg/light.h"

#include "base/util.h"

#include <math.h>

/* With less, no sample changes: a block of 8 x 8 with this variance. */
enum { ENERGY_MIN = 10 * 64 };

/*
 * By how many levels.  In sRGB, the light of level s is about (s + 14)^2.4; its
 * slope is `ratio` times its curvature.  With a variance v, the mean of the
 * light of s is what the parabola of this slope and curvature has at s + d, if
 * 2 * ratio * d + d * d = v.
 */
static uint32_t brighter_by(float level, float variance)
{
	float ratio = (level + 14) / 1.4F;

	return (uint32_t)(sqrtf(ratio * ratio + variance) - ratio + 0.5F);
}

static inline __attribute__((always_inline)) void
keep_block(uint8_t *samples, size_t stride_bytes, uint32_t n, uint64_t energy)
{
	uint32_t sum = 0, more;

	for (uint32_t y = 0; y < n; y++)
		for (uint32_t x = 0; x < n; x++)
			sum += samples[y * stride_bytes + x];
	more = brighter_by((float)sum / (float)(n * n), (float)energy / 64);
	for (uint32_t y = 0; y < n; y++)
		for (uint32_t x = 0; x < n; x++) {
			uint8_t *s = &samples[y * stride_bytes + x];

			*s = (uint8_t)min_u32(*s + more, UINT8_MAX);
		}
}

void light_keep(uint8_t *samples, size_t stride_bytes, uint32_t n,
		uint64_t energy)
{
	if (energy < ENERGY_MIN)
		return;
	/* Loops of a constant length are faster. */
	switch (n) {
	case 1:
		keep_block(samples, stride_bytes, 1, energy);
		break;
	case 2:
		keep_block(samples, stride_bytes, 2, energy);
		break;
	case 3:
		keep_block(samples, stride_bytes, 3, energy);
		break;
	default:
		keep_block(samples, stride_bytes, 4, energy);
	}
}
