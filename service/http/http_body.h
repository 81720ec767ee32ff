/* SPDX-License-Identifier: MIT */
/*
 * Bodies: the bytes of one upload as they arrive, raw or in a form.
 *
 * A raw body is the picture.  Of multipart/form-data, the first part that is a
 * file (it has a file name, or the name file, image or media) is the picture.
 * The buffer is from the caller's memory, and as large as the caller says.
 */
#ifndef SERVICE_HTTP_BODY_H
#define SERVICE_HTTP_BODY_H

#include "service/http/problem.h"

#include "imgops/image.h"

struct MHD_Connection;
struct MHD_PostProcessor;

struct body {
	uint8_t *bytes; /* the picture */
	size_t count;
	size_t count_max;                /* the buffer's size */
	const struct img_memory *memory; /* of `bytes` */
	struct MHD_PostProcessor *form;  /* NULL: raw */
	enum { BODY_NO_FILE, BODY_IN_FILE, BODY_AFTER_FILE } place;
};

/* What a body on `connection` takes besides its buffer. */
size_t body_extra_bytes(struct MHD_Connection *connection);

/*
 * Get ready for `count_max` bytes on `connection`.  `b` must stay where it is
 * until body_release().
 */
IMG_CHECK enum problem body_init(struct body *b,
				 struct MHD_Connection *connection,
				 size_t count_max,
				 const struct img_memory *memory);

/* Go over to a larger buffer; until that is filled, both are there. */
IMG_CHECK enum problem body_grow(struct body *b, size_t count_max);

/* `count_max` is at least what all pieces so far have, with this one. */
IMG_CHECK enum problem body_append(struct body *b, const char *data,
				   size_t bytes);

/* The body is complete: is there a picture in it? */
IMG_CHECK enum problem body_finish(struct body *b);

/* Free all.  An empty ({0}) or released body is fine. */
void body_release(struct body *b);

#endif
