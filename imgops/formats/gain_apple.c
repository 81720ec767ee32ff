/* SPDX-License-Identifier: MIT */
/*
 * Apple's own kind of gain map, as "Applying Apple HDR effect to your photos"
 * describes it (developer.apple.com): a grey sample m, coded as in ITU-R
 * BT.709, means the gain 1 + (headroom - 1) * light(m).  ISO 21496-1 cannot say
 * that, so samples are replaced by those that mean the same there:
 *
 *	log2(gain) / log2(headroom)
 */
#include "imgops/formats/gain.h"

#include "imgops/formats/tiff.h"

#include <math.h>
#include <string.h>

enum {
	TAG_HEADROOM = 0x21,
	TAG_GAIN = 0x30,
	TYPE_QUOTIENT = 10, /* SRATIONAL */
	NOTE_DIRECTORY_AT = 14,
};

/* Far more than any of Apple's maps has. */
#define HEADROOM_MAX 64

/* False: the maker's note does not have this number. */
static bool note_number(double *number, const struct tiff *note, uint32_t tag)
{
	size_t entry = tiff_find(note, NOTE_DIRECTORY_AT, tag), at;
	uint32_t denominator;

	if (entry == 0 || tiff_read16(note, entry + 2) != TYPE_QUOTIENT)
		return false;
	at = tiff_read32(note, entry + 8);
	denominator = tiff_read32(note, at + 4);
	*number = (int32_t)tiff_read32(note, at) / (double)denominator;
	return denominator > 0;
}

static bool note_headroom(double *headroom, const uint8_t *bytes, size_t count)
{
	static const char name[] = "Apple iOS\0\0\1MM";
	struct tiff note = { .data = bytes, .bytes = count };
	double room, gain, stops;

	if (count < NOTE_DIRECTORY_AT ||
	    memcmp(bytes, name, NOTE_DIRECTORY_AT) != 0 ||
	    !note_number(&room, &note, TAG_HEADROOM) ||
	    !note_number(&gain, &note, TAG_GAIN))
		return false;
	if (room < 1)
		stops = gain <= 0.01 ? 1.8 - 20 * gain : 1.601 - 0.101 * gain;
	else
		stops = gain <= 0.01 ? 3 - 70 * gain : 2.303 - 0.303 * gain;
	*headroom = exp2(fmax(stops, 0));
	return true;
}

static double bt709_light(double level)
{
	return level < 0.081 ? level / 4.5 :
			       pow((level + 0.099) / 1.099, 1 / 0.45);
}

bool gain_read_apple(struct gain_found *found, const struct gain_metadata *from)
{
	double headroom;

	if ((from->apple == NULL ||
	     !gain_xmp_number(&headroom, from->apple, from->apple_bytes,
			      "HDRGainMap:HDRGainMapHeadroom")) &&
	    (from->note == NULL ||
	     !note_headroom(&headroom, from->note, from->note_bytes)))
		return false;
	if (!(headroom >= 1 && headroom <= HEADROOM_MAX))
		return false;
	found->is_empty = headroom == 1;
	found->has_levels = true;
	found->gain = (struct img_gain){
		.channel_count = 1,
		.uses_base_colours = true,
		.other_headroom = log2(headroom),
		.channels = { { .max = log2(headroom), .gamma = 1 } },
	};
	for (int i = 0; i < GAIN_LEVELS && headroom > 1; i++) {
		double gain = 1 + (headroom - 1) * bt709_light(i / 255.0);

		found->levels[i] =
			(uint8_t)lround(255 * log2(gain) / log2(headroom));
	}
	return true;
}
