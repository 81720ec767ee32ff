/* SPDX-License-Identifier: MIT */
/*
 * Inside formats/jpeg: how a file is read.  Decode and estimate both go by it.
 */
#ifndef IMGOPS_FORMATS_JPEG_PATH_H
#define IMGOPS_FORMATS_JPEG_PATH_H

#include "imgops/formats/jpeg/header.h"

struct path {
	bool is_ours; /* by sequential.c or progressive.c */
	/* All coefficients are kept until the whole file is read. */
	bool keeps_coefficients;
	bool drops_scans;   /* reads only the pieces of scans_pieces() */
	enum scans_set set; /* of those pieces */
	uint32_t dct_scale;
	uint64_t scan_bytes; /* bytes from the first scan on */
	uint64_t kept_bytes; /* the part of scan_bytes that is decoded */
	uint32_t scan_count; /* scans that are decoded */
};

/* At `dct_scale`/8, with or without the light of blocks (light.h). */
struct path path_of(const struct img_header *h, uint32_t dct_scale,
		    bool keeps_light);

#endif
