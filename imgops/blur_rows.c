/* SPDX-License-Identifier: MIT */
#include "imgops/blur_rows.h"

#define LOOP static
#include "imgops/blur_loops.h"
#include "imgops/blur_rows_avx2.h"

enum { ROUND = 1 << (BLUR_WEIGHT_BITS - 1) };

static inline int16_t multiply(int32_t value, int16_t weight)
{
	return (int16_t)((value * weight + ROUND) >> BLUR_WEIGHT_BITS);
}

static void fold(int16_t *out, const int16_t *const *in, const int16_t *weights,
		 uint32_t radius, uint32_t width)
{
	for (uint32_t x = 0; x < width; x += BLUR_ALIGN) {
		int16_t sum[BLUR_ALIGN];

		for (uint32_t l = 0; l < BLUR_ALIGN; l++)
			sum[l] = multiply(in[radius][x + l], weights[0]);
		for (uint32_t i = 1; i <= radius; i++) {
			const int16_t *a = in[radius - i] + x;
			const int16_t *b = in[radius + i] + x;

			for (uint32_t l = 0; l < BLUR_ALIGN; l++)
				sum[l] = (int16_t)(sum[l] +
						   multiply(a[l] + b[l],
							    weights[i]));
		}
		for (uint32_t l = 0; l < BLUR_ALIGN; l++)
			out[x + l] = sum[l];
	}
}

const struct blur_rows blur_rows_portable = {
	.name = "portable",
	.widen = widen,
	.narrow = narrow,
	.fold = fold,
	.smooth = smooth,
	.reduce = reduce,
	.expand = expand,
	.average = average,
};

const struct blur_rows *blur_rows_best(void)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		return &blur_rows_avx2;
#endif
	return &blur_rows_portable;
}
