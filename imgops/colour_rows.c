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

/* One channel at a time: compilers give up on more arrays in a loop. */
static void to_light(uint8_t *restrict out, const uint8_t *const ycc[3],
		     int32_t of_cb, int32_t of_cr, size_t width)
{
	const uint8_t *y = ycc[0], *cb = ycc[1], *cr = ycc[2];

	for (size_t x = 0; x < width; x++) {
		int32_t colour = of_cb * (cb[x] - CHROMA_ZERO) +
				 of_cr * (cr[x] - CHROMA_ZERO) + FIX_HALF;
		int32_t light = y[x] + (colour >> FIX_BITS);

		light = light < 0 ? 0 : light;
		out[x] = (uint8_t)(light > 255 ? 255 : light);
	}
}

void colour_rgb_from_ycc(uint8_t *const rgb[3], const uint8_t *const ycc[3],
			 size_t width)
{
	to_light(rgb[0], ycc, 0, FIX(1.402), width);
	to_light(rgb[1], ycc, -FIX(0.34414), -FIX(0.71414), width);
	to_light(rgb[2], ycc, FIX(1.772), 0, width);
}

/* The sums cannot leave 0..255. */
static void mix(uint8_t *restrict out, const uint8_t *const rgb[3],
		const int32_t weights[3], int32_t bias, size_t width)
{
	const uint8_t *r = rgb[0], *g = rgb[1], *b = rgb[2];
	int32_t of_r = weights[0], of_g = weights[1], of_b = weights[2];

	for (size_t x = 0; x < width; x++) {
		int32_t sum = of_r * r[x] + of_g * g[x] + of_b * b[x] + bias;

		out[x] = (uint8_t)(sum >> FIX_BITS);
	}
}

void colour_ycc_from_rgb(uint8_t *const ycc[3], const uint8_t *const rgb[3],
			 size_t width)
{
	static const int32_t weights[][3] = {
		{ FIX(0.299), FIX(0.587), FIX(0.114) },
		{ -FIX(0.168736), -FIX(0.331264), FIX(0.5) },
		{ FIX(0.5), -FIX(0.418688), -FIX(0.081312) },
	};

	mix(ycc[0], rgb, weights[0], FIX_HALF, width);
	mix(ycc[1], rgb, weights[1], CHROMA_BIAS, width);
	mix(ycc[2], rgb, weights[2], CHROMA_BIAS, width);
}

/* The product of two shares of 255, rounded; no sum leaves 16 bits. */
static inline uint8_t share(uint8_t a, uint8_t b)
{
	uint16_t product = (uint16_t)(a * b + 128);

	return (uint8_t)((uint16_t)(product + (product >> 8)) >> 8);
}

void colour_rgb_from_cmyk(uint8_t *const rgb[3], const uint8_t *const cmyk[4],
			  const uint8_t flip[4], size_t width)
{
	const uint8_t *restrict k = cmyk[3];
	uint8_t black = flip[3] ^ 255;

	for (int i = 0; i < 3; i++) {
		uint8_t *restrict out = rgb[i];
		const uint8_t *restrict in = cmyk[i];
		uint8_t ink = flip[i] ^ 255;

		for (size_t x = 0; x < width; x++)
			out[x] = share(in[x] ^ ink, k[x] ^ black);
	}
}

void colour_interleave(uint8_t *pixels, const uint8_t *const *planes,
		       const uint8_t *flip, uint32_t channels, size_t width)
{
	for (uint32_t c = 0; c < channels; c++)
		for (size_t x = 0; x < width; x++)
			pixels[x * channels + c] = planes[c][x] ^ flip[c];
}

void colour_deinterleave(uint8_t *const rgb[3], const uint8_t *pixels,
			 size_t width)
{
	uint8_t *restrict r = rgb[0], *restrict g = rgb[1],
			  *restrict b = rgb[2];

	for (size_t x = 0; x < width; x++) {
		r[x] = pixels[3 * x];
		g[x] = pixels[3 * x + 1];
		b[x] = pixels[3 * x + 2];
	}
}

void colour_halve(uint8_t *half, const uint8_t *upper, const uint8_t *lower,
		  size_t width)
{
	size_t pairs = width / 2;

	for (size_t x = 0; x < pairs; x++) {
		int32_t sum = upper[2 * x] + upper[2 * x + 1] + lower[2 * x] +
			      lower[2 * x + 1];

		half[x] = (uint8_t)((sum + 2) / 4);
	}
	if (width % 2 != 0)
		half[pairs] =
			(uint8_t)((upper[width - 1] + lower[width - 1] + 1) /
				  2);
}
