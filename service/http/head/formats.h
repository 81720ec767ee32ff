/* SPDX-License-Identifier: MIT */
/*
 * Formats: which format a result gets if the request leaves it to the server
 * (format=auto): the one that its Accept header prefers (RFC 9110, 12.5.1).
 *
 * Clients that accept any image cannot show each one.  So only JPEG and PNG,
 * which all can show, are chosen by a range of types; any other format must be
 * named.
 *
 * Pure.
 */
#ifndef SERVICE_FORMATS_H
#define SERVICE_FORMATS_H

#include "service/http/transport.h"
#include "service/pipeline/upload.h"

/* Those that may be chosen.  Of equally good ones, the first is. */
struct formats {
	enum img_format_number list[IMG_FORMATS];
	uint32_t count; /* at least 1 */
};

enum { FORMATS_WHY_BYTES = 128 };

/*
 * Read words of the first `known` formats, IMG_RESULT_FORMATS or IMG_FORMATS,
 * with commas between them, such as "webp,jpeg".  `text` NULL: of webp, jxl,
 * avif and jpeg those that are built in.  False: `why` names the word and what
 * is wrong with it, without a full stop.
 */
MUST_CHECK bool formats_read(struct formats *f, const char *text,
			     uint32_t known, char why[FORMATS_WHY_BYTES]);

/*
 * The format that the client likes best.  If it likes none, or has not said:
 * the first that all clients can show, or, if there is none, the last.
 */
enum img_format_number formats_choose(const struct formats *f,
				      const struct request_head *head);

/* The same for any formats: the index of the one that is chosen. */
uint32_t formats_choose_of(const struct img_format *const *offered,
			   uint32_t count, const struct request_head *head);

#endif
