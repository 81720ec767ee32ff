/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: HEIC, a picture of HEVC in boxes (heif.h).
 *
 *	HEVC, ITU-T H.265; HEVC in files, ISO/IEC 14496-15
 *
 * The header is read here, in imgops.  heic_decode() is in a library of its
 * own, which only the program darkroom-heif is linked with.
 */
#ifndef IMGOPS_FORMATS_HEIC_H
#define IMGOPS_FORMATS_HEIC_H

#include "imgops/formats/heif.h"

bool heic_recognise(const uint8_t *bytes, size_t count);

enum img_err heic_probe_more(struct img_header *header, const uint8_t *bytes,
			     const struct img_limits *limits);

/*
 * The box "hvcC": how a picture is coded, where the decoder's own parameters
 * are, as arrays of NAL units, and the size of the number before each NAL unit
 * of a picture.
 */
struct heic_config {
	struct heif_coding coding;
	uint32_t length_bytes;
	uint32_t arrays;
	struct isobmff_span at; /* of the arrays */
};

/* Errors: CORRUPT, UNSUPPORTED. */
enum img_err heic_config_read(struct heic_config *c, struct isobmff_span s);

/*
 * img_decode() of a HEIC.  It needs the stack of a program, and memory that it
 * does not ask of `memory`: heic_library_bytes().  Nothing of a damaged file
 * can be shown.
 */
enum img_err heic_decode(struct image *dst, const uint8_t *bytes, size_t count,
			 const struct img_header *header,
			 const struct img_view *view,
			 const struct img_transform *transform,
			 const struct img_limits *limits,
			 const struct memory *memory);

/*
 * Call it once in a program, before heic_decode(): it makes tables that every
 * cell would otherwise make for itself, in 3 ms, and malloc() fills its blocks
 * from then on.  False: no memory.
 */
bool heic_start(void);

/* What libde265 allocates at most, for a cell. */
uint64_t heic_library_bytes(const struct img_header *header);

/*
 * The shape of a picture's own planes, of `size`: luma and, unless it is grey,
 * chroma; behind them alpha, if the header has it.
 */
void heic_shape(struct image *img, struct img_size size,
		const struct img_header *header);

/* With what libde265 and heic_decode() allocate. */
uint64_t heic_working_bytes(const struct img_header *header);

#endif
