/* SPDX-License-Identifier: MIT */
/*
 * Markers: a walk over the marker segments of a JPEG in memory.
 *
 * ITU-T T.81, annex B.  It takes linear time for any bytes, and allocates
 * nothing.  As in libjpeg, bytes between two segments are skipped, and a
 * segment whose length is below 2 is empty.  Unlike in libjpeg, the walk ends
 * after 64 KiB without a marker outside of a scan.
 *
 *	struct markers w;
 *	struct marker m;
 *
 *	if (markers_start(&w, jpeg, jpeg_bytes))
 *		while (markers_next(&w, &m))
 *			...
 *
 * Ownership  Markers point into the caller's bytes, which must outlive them.
 */
#ifndef IMGOPS_FORMATS_JPEG_MARKERS_H
#define IMGOPS_FORMATS_JPEG_MARKERS_H

#include "base/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	MARKER_TEM = 0x01,
	/*
	 * Baseline.  Codes from SOF0 to SOF15 are frames, except DHT, JPG, DAC.
	 */
	MARKER_SOF0 = 0xc0,
	MARKER_SOF1 = 0xc1, /* extended sequential */
	MARKER_SOF2 = 0xc2, /* progressive */
	MARKER_DHT = 0xc4,
	MARKER_JPG = 0xc8,
	MARKER_SOF9 = 0xc9,  /* sequential, arithmetic coding */
	MARKER_SOF10 = 0xca, /* progressive, arithmetic coding */
	MARKER_DAC = 0xcc,
	MARKER_SOF15 = 0xcf,
	MARKER_RST0 = 0xd0,
	MARKER_RST7 = 0xd7,
	MARKER_SOI = 0xd8,
	MARKER_EOI = 0xd9,
	MARKER_SOS = 0xda,
	MARKER_DQT = 0xdb,
	MARKER_DNL = 0xdc,
	MARKER_DRI = 0xdd,
	MARKER_APP0 = 0xe0,
	MARKER_APP1 = 0xe1,
	MARKER_APP2 = 0xe2,
	MARKER_APP11 = 0xeb,
	MARKER_APP13 = 0xed,
	MARKER_APP14 = 0xee,
	MARKER_APP15 = 0xef,
	MARKER_SOF55 = 0xf7, /* JPEG-LS */
	MARKER_COM = 0xfe,
};

struct marker {
	uint8_t code;
	const uint8_t *start; /* points to the 0xff before the code */
	const uint8_t *data;  /* points after the length */
	/* Size of `data`; 0 for a marker without a length. */
	size_t bytes;
};

struct markers {
	const uint8_t *at; /* the first byte that was not read yet */
	const uint8_t *end;
	bool in_scan; /* `at` is in entropy-coded data */
	/*
	 * NULL, or memory whose pause() is called while long data are skipped.
	 */
	const struct memory *memory;
};

/*
 * Step over SOI, to the first marker after it.  There are no pauses unless
 * w->memory is set afterwards.  False: no SOI.
 */
bool markers_start(struct markers *w, const uint8_t *jpeg, size_t jpeg_bytes);

/*
 * The next marker.  After SOS, stuffed zeros and RSTn are data and are skipped.
 * False: the last marker was EOI; or the bytes end before the next segment
 * does; or the next marker is too far away.
 */
bool markers_next(struct markers *w, struct marker *m);

/* True: the data of `m` begin with the `count` bytes of `text`. */
static inline bool marker_begins(const struct marker *m, const char *text,
				 size_t count)
{
	return m->bytes >= count && memcmp(m->data, text, count) == 0;
}

#endif
