/* SPDX-License-Identifier: MIT */
#include "imgops/resample/bands.h"

enum { STRIP = 256 }; /* of a row: sums stay in the first-level cache */

static inline uint8_t to_sample(int32_t sum)
{
	int32_t v = sum >> BAND_ACROSS_SHIFT;

	return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

static inline void add_samples(int32_t *restrict sum,
			       const uint8_t *restrict in, int16_t weight,
			       uint32_t width)
{
	for (uint32_t x = 0; x < width; x++)
		sum[x] += weight * (int16_t)in[x];
}

/* A strip of one row; `band` points at its first value. */
static void down(int16_t *band, const uint8_t *in, size_t stride_bytes,
		 const int16_t *weights, uint32_t count, uint32_t width)
{
	int32_t sum[STRIP];

	for (uint32_t x = 0; x < width; x++)
		sum[x] = 1 << (BAND_DOWN_SHIFT - 1);
	for (uint32_t k = 0; k < count; k++, in += stride_bytes)
		add_samples(sum, in, weights[k], width);
	for (uint32_t x = 0; x < width; x += 2, band += 2 * BAND_ROWS) {
		band[0] = (int16_t)(sum[x] >> BAND_DOWN_SHIFT);
		band[1] = (int16_t)(sum[x + 1] >> BAND_DOWN_SHIFT);
	}
}

static void portable_down(int16_t *band, const uint8_t *in, size_t stride_bytes,
			  const uint32_t *first, const int16_t *weights,
			  uint32_t count, uint32_t width)
{
	for (uint32_t x = 0; x < width; x += STRIP) {
		uint32_t n = width - x < STRIP ? width - x : STRIP;

		for (uint32_t r = 0; r < BAND_ROWS; r++)
			down(band + (size_t)x * BAND_ROWS + 2 * r,
			     in + first[r] * stride_bytes + x, stride_bytes,
			     weights + (size_t)r * count, count, n);
	}
}

static void portable_across(uint8_t *out, size_t stride_bytes, bool aside,
			    const int16_t *band, const uint32_t *first,
			    const int16_t *weights, uint32_t count,
			    uint32_t width)
{
	size_t x_step = aside ? stride_bytes : 1;
	size_t row_step = aside ? 1 : stride_bytes;

	for (uint32_t x = 0; x < width; x++, weights += count) {
		const int16_t *in = band + (size_t)first[x] * BAND_ROWS;
		int32_t sum[BAND_ROWS];

		for (uint32_t r = 0; r < BAND_ROWS; r++)
			sum[r] = 1 << (BAND_ACROSS_SHIFT - 1);
		for (uint32_t k = 0; k < count; k += 2, in += 2 * BAND_ROWS)
			for (uint32_t r = 0; r < BAND_ROWS; r++)
				sum[r] += weights[k] * in[2 * r] +
					  weights[k + 1] * in[2 * r + 1];
		for (uint32_t r = 0; r < BAND_ROWS; r++)
			out[x * x_step + r * row_step] = to_sample(sum[r]);
	}
}

const struct bands bands_portable = {
	.name = "portable",
	.down = portable_down,
	.across = portable_across,
};

const struct bands *bands_best(void)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		return &bands_avx2;
#endif
	return &bands_portable;
}
