/* SPDX-License-Identifier: MIT */
/*
 * Image meta: the id of a stored image, and its meta.json.
 *
 * An image is all results of one upload.  Its id is a hash of the bytes of the
 * upload and of all parameters in the table of params.c, so that one URL always
 * stands for the same bytes.
 */
#ifndef SERVICE_IMAGE_META_H
#define SERVICE_IMAGE_META_H

#include "service/http/query.h"
#include "service/store/store.h"

#define IMAGES_PATH "/v1/images"

enum {
	SHA256_TEXT_BYTES = 64 + 1,
	OWNER_BYTES = 64 + 1, /* of [A-Za-z0-9._-] */
	IMAGE_REQUEST_BYTES = QUERY_TEXT_BYTES + OWNER_BYTES + 32,
};

/*
 * Print a request: the owner and the parameters.  It is the part of an id
 * besides the upload's bytes, and is kept in the spool:
 *
 *	darkroom 2
 *	owner=
 *	the lines of query_print()
 *	an empty line
 */
void image_request_print(char out[IMAGE_REQUEST_BYTES], const struct upload *u,
			 const char *owner);

/*
 * The inverse; `text` is modified, and the query borrows it.  False: it is no
 * such text; `detail` says why.
 */
MUST_CHECK bool image_request_read(char *text, struct query *q,
				   char owner[OWNER_BYTES],
				   char detail[PARAMS_DETAIL_BYTES]);

/*
 * The id: SHA-256, in hexadecimal digits, of a request and of the upload's
 * bytes.  Equal uploads of one owner have equal ids, on every server.
 */
void image_id(char id[STORE_ID_BYTES], const char *request, const uint8_t *jpeg,
	      size_t jpeg_bytes);

/* The files of an image in the store. */
struct image_files {
	char names[VARIANTS_MAX][VARIANT_NAME_BYTES + sizeof(".jpg")];
	struct store_file files[VARIANTS_MAX + 1];
	uint32_t count;
};

/*
 * The files of an upload with results, `meta` being its image_meta().  `f`
 * borrows from both, and files borrow names from `f`.
 */
void image_files_init(struct image_files *f, const struct upload *u,
		      const char *meta);

/* JSON of an upload with results, for free().  NULL: no memory. */
char *image_meta(const char *id, const struct upload *u);

/*
 * Is it undamaged?  It contains a checksum of itself.  A meta that an earlier
 * version wrote has none; then it must be valid JSON.
 */
MUST_CHECK bool image_meta_is_whole(const char *meta);

/* The SHA-256 of a variant, from a meta.  False: it has no such variant. */
MUST_CHECK bool image_meta_find(const char *meta, const char *name,
				char sha256[SHA256_TEXT_BYTES]);

#endif
