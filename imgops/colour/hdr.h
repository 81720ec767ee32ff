/* SPDX-License-Identifier: MIT */
/*
 * High dynamic range: the light of PQ and HLG (ITU-R BT.2100), and how much of
 * it remains on a screen of standard range.
 *
 * Reference white, 203 cd/m2 (ITU-R BT.2408), becomes the white of sRGB.  What
 * is darker than 88 cd/m2 keeps its light; what is brighter is compressed by
 * the EETF of BT.2408, annex 5, so that 1,000 cd/m2 become white.  The EETF is
 * applied to the brightest of a pixel's three channels ("maxRGB"), and all
 * three are multiplied by the same number, which keeps the hue.
 */
#ifndef IMGOPS_COLOUR_HDR_H
#define IMGOPS_COLOUR_HDR_H

#include <stddef.h>
#include <stdint.h>

/* Numbers of ITU-T H.273, as files have them. */
enum hdr_curve {
	HDR_NONE = 0,
	HDR_PQ = 16,
	HDR_HLG = 18,
};

enum { HDR_ENTRIES = 512 };

struct hdr {
	enum hdr_curve curve;
	/*
	 * Of each level: with PQ the screen's light, of which 1 is reference
	 * white; with HLG the scene's, 0 to 1.
	 */
	float light[256];
	union {
		/* PQ: of a pixel whose brightest channel has this level. */
		float gains[256];
		/* HLG; see hdr_init() for both. */
		struct {
			float screen[HDR_ENTRIES];
			float mapped[HDR_ENTRIES];
		};
	};
};

void hdr_init(struct hdr *h, enum hdr_curve curve);

/*
 * What the light of each pixel of a row is multiplied by to be that of sRGB.
 */
void hdr_gains(const struct hdr *h, float *gains, const uint8_t *const rgb[3],
	       size_t width);

#endif
