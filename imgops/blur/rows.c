/* SPDX-License-Identifier: MIT */
#include "imgops/blur/rows.h"

#include "imgops/blur/rows_loops.h"

enum { ROUND = 1 << (BLUR_WEIGHT_BITS - 1) };

static inline int16_t multiply(int value, int16_t weight)
{
	return (int16_t)(((int16_t)value * weight + ROUND) >> BLUR_WEIGHT_BITS);
}

static inline void add_rows(int16_t *restrict sum, const int16_t *restrict a,
			    const int16_t *restrict b, int16_t weight,
			    size_t width)
{
	for (size_t x = 0; x < width; x++)
		sum[x] = (int16_t)(sum[x] + multiply(a[x] + b[x], weight));
}

static void fold(int16_t *out, const int16_t *const *in, const int16_t *weights,
		 uint32_t radius, uint32_t width)
{
	size_t whole =
		((size_t)width + BLUR_ALIGN - 1) / BLUR_ALIGN * BLUR_ALIGN;

	for (size_t x = 0; x < whole; x++)
		out[x] = multiply(in[radius][x], weights[0]);
	for (uint32_t i = 1; i <= radius; i++)
		add_rows(out, in[radius - i], in[radius + i], weights[i],
			 whole);
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
