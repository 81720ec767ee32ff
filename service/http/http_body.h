/* SPDX-License-Identifier: MIT */
/*
 * Bodies: the bytes of one upload as they arrive, raw or in a form.
 *
 * A raw body is the picture.  Of multipart/form-data, the first part that is a
 * file (it has a file name, or the name file, image or media) is the picture.
 * The buffer is as large as the announced length, allocated once, from the
 * caller's memory.
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
	size_t count_max;
	const struct img_memory *memory; /* of `bytes` */
	struct MHD_PostProcessor *form;  /* NULL: raw */
	enum { BODY_NO_FILE, BODY_IN_FILE, BODY_AFTER_FILE } place;
};

/* What a body on `connection` takes besides its buffer. */
size_t body_extra_bytes(struct MHD_Connection *connection);

/*
 * Get ready for `length` bytes on `connection`.  `b` must stay where it is
 * until body_release().
 */
IMG_CHECK enum problem body_init(struct body *b,
				 struct MHD_Connection *connection,
				 size_t length,
				 const struct img_memory *memory);

IMG_CHECK enum problem body_append(struct body *b, const char *data,
				   size_t bytes);

/* The body is complete: is there a picture in it? */
IMG_CHECK enum problem body_finish(struct body *b);

/* Free all.  An empty ({0}) or released body is fine. */
void body_release(struct body *b);

#endif
