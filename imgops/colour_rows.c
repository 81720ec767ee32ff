/* SPDX-License-Identifier: MIT */
/*
 * Loops over plain arrays that the compiler can vectorise: no tables, fixed
 * point of 16 bits.
 */
#include "imgops/colour_rows.h"

enum {
	FIX_BITS = 16,
	FIX_HALF = 1 << (FIX_BITS - 1),
	CHROMA_ZERO = 128,
	CHROMA_BIAS = (CHROMA_ZERO << FIX_BITS) + FIX_HALF - 1,
};

#define FIX(x) ((int32_t)((x) * (1 << FIX_BITS) + 0.5))

static inline uint8_t clamp(int32_t value)
{
	return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

void colour_rgb_from_ycc(uint8_t *const rgb[3], const uint8_t *const ycc[3],
			 uint32_t width)
{
	uint8_t *restrict r = rgb[0], *restrict g = rgb[1],
			  *restrict b = rgb[2];
	const uint8_t *y = ycc[0], *cbs = ycc[1], *crs = ycc[2];

	for (uint32_t x = 0; x < width; x++) {
		int32_t cb = cbs[x] - CHROMA_ZERO, cr = crs[x] - CHROMA_ZERO;
		int32_t red = FIX(1.402) * cr + FIX_HALF;
		int32_t blue = FIX(1.772) * cb + FIX_HALF;
		int32_t green =
			FIX_HALF - FIX(0.34414) * cb - FIX(0.71414) * cr;

		r[x] = clamp(y[x] + (red >> FIX_BITS));
		g[x] = clamp(y[x] + (green >> FIX_BITS));
		b[x] = clamp(y[x] + (blue >> FIX_BITS));
	}
}

void colour_ycc_from_rgb(uint8_t *const ycc[3], const uint8_t *const rgb[3],
			 uint32_t width)
{
	uint8_t *restrict y = ycc[0], *restrict cb = ycc[1],
			  *restrict cr = ycc[2];

	/* The sums cannot leave 0..255. */
	for (uint32_t x = 0; x < width; x++) {
		int32_t r = rgb[0][x], g = rgb[1][x], b = rgb[2][x];
		int32_t luma = FIX(0.299) * r + FIX(0.587) * g + FIX(0.114) * b;
		int32_t blue =
			FIX(0.5) * b - FIX(0.168736) * r - FIX(0.331264) * g;
		int32_t red =
			FIX(0.5) * r - FIX(0.418688) * g - FIX(0.081312) * b;

		y[x] = (uint8_t)((luma + FIX_HALF) >> FIX_BITS);
		cb[x] = (uint8_t)((blue + CHROMA_BIAS) >> FIX_BITS);
		cr[x] = (uint8_t)((red + CHROMA_BIAS) >> FIX_BITS);
	}
}

void colour_rgb_from_cmyk(uint8_t *const rgb[3], const uint8_t *const cmyk[4],
			  const uint8_t flip[4], uint32_t width)
{
	for (int i = 0; i < 3; i++) {
		uint8_t *restrict out = rgb[i];

		for (uint32_t x = 0; x < width; x++) {
			int32_t light = 255 - (cmyk[i][x] ^ flip[i]);
			int32_t white = 255 - (cmyk[3][x] ^ flip[3]);

			out[x] = (uint8_t)((light * white + 127) / 255);
		}
	}
}

void colour_interleave(uint8_t *pixels, const uint8_t *const *planes,
		       const uint8_t *flip, uint32_t channels, uint32_t width)
{
	for (uint32_t c = 0; c < channels; c++)
		for (uint32_t x = 0; x < width; x++)
			pixels[x * channels + c] = planes[c][x] ^ flip[c];
}

void colour_deinterleave(uint8_t *const rgb[3], const uint8_t *pixels,
			 uint32_t width)
{
	uint8_t *restrict r = rgb[0], *restrict g = rgb[1],
			  *restrict b = rgb[2];

	for (uint32_t x = 0; x < width; x++) {
		r[x] = pixels[3 * x];
		g[x] = pixels[3 * x + 1];
		b[x] = pixels[3 * x + 2];
	}
}

void colour_halve(uint8_t *half, const uint8_t *upper, const uint8_t *lower,
		  uint32_t width)
{
	uint32_t pairs = width / 2;

	for (uint32_t x = 0; x < pairs; x++) {
		int32_t sum = upper[2 * x] + upper[2 * x + 1] + lower[2 * x] +
			      lower[2 * x + 1];

		half[x] = (uint8_t)((sum + 2) / 4);
	}
	if (width % 2 != 0)
		half[pairs] =
			(uint8_t)((upper[width - 1] + lower[width - 1] + 1) /
				  2);
}
