/* SPDX-License-Identifier: MIT */
#include "imgops/blur/rows.h"

#ifdef __x86_64__

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))
#define LOOP AVX2 static inline
#include "imgops/blur/rows_loops.h"

AVX2 static inline __m256i load(const int16_t *from)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)from);
}

AVX2 static inline void store(int16_t *to, __m256i values)
{
	_mm256_storeu_si256((__m256i *)(void *)to, values);
}

/* `vectors` of 16 values from `x`; vpmulhrsw is what multiply() does. */
AVX2 static inline void fold_at(int16_t *out, const int16_t *const *in,
				const int16_t *weights, uint32_t radius,
				uint32_t x, uint32_t vectors)
{
	__m256i sums[4], w = _mm256_set1_epi16(weights[0]);

	for (uint32_t v = 0; v < vectors; v++)
		sums[v] = _mm256_mulhrs_epi16(
			load(in[radius] + x + v * BLUR_ALIGN), w);
	for (uint32_t i = 1; i <= radius; i++) {
		const int16_t *a = in[radius - i] + x, *b = in[radius + i] + x;

		w = _mm256_set1_epi16(weights[i]);
		for (uint32_t v = 0; v < vectors; v++) {
			__m256i both =
				_mm256_add_epi16(load(a + v * BLUR_ALIGN),
						 load(b + v * BLUR_ALIGN));

			sums[v] = _mm256_add_epi16(
				sums[v], _mm256_mulhrs_epi16(both, w));
		}
	}
	for (uint32_t v = 0; v < vectors; v++)
		store(out + x + v * BLUR_ALIGN, sums[v]);
}

AVX2 static void fold(int16_t *out, const int16_t *const *in,
		      const int16_t *weights, uint32_t radius, uint32_t width)
{
	uint32_t x = 0;

	for (; x + 4 * BLUR_ALIGN <= width; x += 4 * BLUR_ALIGN)
		fold_at(out, in, weights, radius, x, 4);
	for (; x < width; x += BLUR_ALIGN)
		fold_at(out, in, weights, radius, x, 1);
}

const struct blur_rows blur_rows_avx2 = {
	.name = "avx2",
	.widen = widen,
	.narrow = narrow,
	.fold = fold,
	.smooth = smooth,
	.reduce = reduce,
	.expand = expand,
	.average = average,
};

#else

/* An empty file is not C. */
typedef int blur_rows_avx2_is_for_x86;

#endif
