/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: what a file says about its picture, in Exif, XMP and IPTC.
 *
 *	file --format's folder--> where each of them is (metadata_found)
 *	     --metadata.c--> a copy --> what a result has (img_metadata)
 *
 * With "copyright", the fields of struct metadata_record are read from all
 * three, and written anew.  With "keep", each is copied without what is not
 * true of the result, and without pictures, which may show what it does not.
 *
 * Any bytes may be given.  What is broken, too large, or of no known form is
 * left out.
 */
#ifndef IMGOPS_METADATA_METADATA_H
#define IMGOPS_METADATA_METADATA_H

#include "imgops/imgops.h"

/* Bytes of somebody else. */
struct metadata_span {
	const uint8_t *bytes;
	size_t count;
};

/* What img_codec.metadata() finds; a span without bytes: none. */
struct metadata_found {
	struct metadata_span exif; /* a TIFF file */
	struct metadata_span xmp;  /* XML */
	struct metadata_span iptc; /* a sequence of IIM's data sets */
	bool has_manifest;         /* of C2PA */
	bool is_left_out;          /* there is some that is not read */
};

/*
 * Set *to, if it is empty, to `bytes`; a TIFF file may begin with the name that
 * a JPEG has before it.
 */
void metadata_found_set(struct metadata_span *to, const uint8_t *bytes,
			size_t count);
void metadata_found_exif(struct metadata_found *found, const uint8_t *bytes,
			 size_t count);

/* The same, after a number that says how many bytes further on it begins. */
void metadata_found_item(struct metadata_found *found, const uint8_t *bytes,
			 size_t count);

/* Do the bytes begin as an XMP packet does? */
bool metadata_is_xmp(const uint8_t *bytes, size_t count);

/* --- Text that is written into a block; what does not fit is_bad --- */

struct metadata_out {
	uint8_t *bytes;
	size_t count, room;
	bool is_bad;
};

void metadata_put(struct metadata_out *o, const void *bytes, size_t count);
void metadata_put_text(struct metadata_out *o, const char *text);

/* --- record.c --- */

enum metadata_field {
	METADATA_CREATOR,
	METADATA_RIGHTS,
	METADATA_CREDIT,
	METADATA_TERMS,     /* of usage */
	METADATA_STATEMENT, /* the address of a page */
	METADATA_OWNER,
	METADATA_MARKED, /* "True": protected; "False": public domain */
	METADATA_FIELDS,
};

enum { METADATA_FIELD_BYTES = 2048 };

/* Each is valid UTF-8 without control characters; "": not known. */
struct metadata_record {
	char text[METADATA_FIELDS][METADATA_FIELD_BYTES];
	bool is_left_out; /* something was too long */
};

/* Between two creators. */
#define METADATA_BETWEEN "; "

bool metadata_is_utf8(const uint8_t *text, size_t count);

/*
 * Add a text, which is UTF-8, or else taken for Latin-1, to a field, behind
 * what it has.
 */
void metadata_record_add(struct metadata_record *r, enum metadata_field field,
			 const uint8_t *text, size_t count);

/* Fill the fields that are empty. */
void metadata_record_complete(struct metadata_record *r,
			      const struct metadata_record *from);

/* --- tiff.c: Exif --- */

/* How a result differs from its file. */
struct metadata_result {
	struct img_size size;
	uint32_t orientation; /* 1..8 */
	bool has_profile;     /* otherwise it is sRGB */
	bool shows_all;       /* of the picture, as it was */
};

void metadata_tiff_read(struct metadata_record *r, struct metadata_span tiff);
void metadata_tiff_write(struct metadata_out *o,
			 const struct metadata_record *r);
void metadata_tiff_keep(struct metadata_out *o, struct metadata_span tiff,
			const struct metadata_result *result);

/* --- xmp.c --- */

void metadata_xmp_read(struct metadata_record *r, struct metadata_span xmp);

/* *end becomes where more descriptions may follow. */
void metadata_xmp_write(struct metadata_out *o, const struct metadata_record *r,
			size_t *end);
void metadata_xmp_keep(struct metadata_out *o, struct metadata_span xmp,
		       size_t *end);

/* --- iptc.c --- */

/*
 * The data sets in the resources of Photoshop that a JPEG's APP13 has behind
 * its name.  Without bytes: there are none.
 */
struct metadata_span metadata_iptc_find(const uint8_t *resources, size_t count);

void metadata_iptc_read(struct metadata_record *r, struct metadata_span iptc);
void metadata_iptc_keep(struct metadata_out *o, struct metadata_span iptc);

#endif
