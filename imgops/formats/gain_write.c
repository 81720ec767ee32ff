/* SPDX-License-Identifier: MIT */
#include "imgops/formats/gain.h"

#include <math.h>

static void put(uint8_t **at, uint32_t value, uint32_t bytes)
{
	while (bytes-- > 0)
		*(*at)++ = (uint8_t)(value >> 8 * bytes);
}

/* It holds every valid number, and those of usual maps exactly. */
#define DENOMINATOR 0x1000000

static void put_quotient(uint8_t **at, double value)
{
	put(at, (uint32_t)(int32_t)nearbyint(value * DENOMINATOR), 4);
	put(at, DENOMINATOR, 4);
}

size_t gain_write_iso(uint8_t out[GAIN_ISO_BYTES_MAX],
		      const struct img_gain *gain)
{
	enum { IS_MULTICHANNEL = 0x80, USES_BASE_COLOURS = 0x40 };
	uint8_t *at = out;

	put(&at, 0, 2); /* the least version that a reader must know */
	put(&at, 0, 2);
	put(&at,
	    (gain->channel_count > 1 ? IS_MULTICHANNEL : 0) |
		    (gain->uses_base_colours ? USES_BASE_COLOURS : 0),
	    1);
	put_quotient(&at, gain->base_headroom);
	put_quotient(&at, gain->other_headroom);
	for (uint32_t i = 0; i < gain->channel_count; i++) {
		put_quotient(&at, gain->channels[i].min);
		put_quotient(&at, gain->channels[i].max);
		put_quotient(&at, gain->channels[i].gamma);
		put_quotient(&at, gain->channels[i].base_offset);
		put_quotient(&at, gain->channels[i].other_offset);
	}
	return (size_t)(at - out);
}
