/* SPDX-License-Identifier: MIT */
/*
 * Image meta: by what an image is known, and what is told of it.
 */
#ifndef SERVICE_IMAGE_META_H
#define SERVICE_IMAGE_META_H

#include "service/store/store.h"
#include "service/pipeline/upload.h"

#define IMAGES_PATH "/v1/images"

enum { SHA256_TEXT_BYTES = 64 + 1 };

/*
 * The id: SHA-256 of the upload's bytes and of what is asked for, as
 * hexadecimal digits.  The same of equal uploads, also of another server.
 */
void image_id(char id[STORE_ID_BYTES], const struct upload *u);

/* How the store and URLs call a variant. */
const char *image_variant_name(const struct variant *v);

/* JSON, to be free()d; of an upload with results.  NULL: no memory. */
char *image_meta(const char *id, const struct upload *u);

/* The SHA-256 of a variant, out of that.  False: there is none of it. */
MUST_CHECK bool image_meta_find(const char *meta, const char *name,
				char sha256[SHA256_TEXT_BYTES]);

#endif
