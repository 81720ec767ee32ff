/* SPDX-License-Identifier: MIT */
/*
 * Multipart: reads a form, multipart/form-data (RFC 7578), that arrives in
 * pieces of any size.
 *
 *	--boundary CRLF headers CRLF CRLF data CRLF
 *	--boundary CRLF headers CRLF CRLF data CRLF
 *	--boundary-- CRLF
 *
 * The data of a part is passed on from the piece, without a copy.  However the
 * form is divided into pieces, its parts and its fault are the same.
 *
 * Readers of forms differ: some accept lines that end with LF, or the first or
 * the last of two names.  Here, a form that they could understand in different
 * ways is refused.  What RFC 2046 (5.1.1) allows around the parts is skipped:
 * text before the first boundary and after the last, spaces and tabs after a
 * boundary.  An exact reader refuses that, too.
 *
 * Ownership  The texts and the data that a part function gets are the reader's
 *            or the caller's, and are valid during the call.
 * Threads    A reader is used by one thread at a time.
 * Limits     MULTIPART_PARTS_MAX parts, empty ones too; MULTIPART_HEADERS_MAX
 *            headers and parameters of a part, together, in
 *            MULTIPART_HEAD_BYTES; MULTIPART_BOUNDARY_BYTES_MAX of a boundary
 *            (RFC 2046, 5.1.1).
 */
#ifndef SERVICE_MULTIPART_H
#define SERVICE_MULTIPART_H

#include "base/util.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	MULTIPART_BOUNDARY_BYTES_MAX = 70,
	MULTIPART_HEAD_BYTES = 16 << 10,
	MULTIPART_PARTS_MAX = 128,
	/* Of a part; parameters of its Content-Disposition count too. */
	MULTIPART_HEADERS_MAX = 64,
	/* The memory that a reader takes, at most. */
	MULTIPART_BYTES = MULTIPART_HEAD_BYTES + 512,
};

/* What is wrong with a form. */
enum multipart_fault {
	MULTIPART_OK,
	MULTIPART_REFUSED,        /* the part function has returned false */
	MULTIPART_TYPE,           /* Content-Type has no valid boundary */
	MULTIPART_NO_BOUNDARY,    /* the form does not begin with it: exact */
	MULTIPART_LACKS_BOUNDARY, /* the form does not have it */
	MULTIPART_AFTER,          /* other bytes follow a boundary */
	MULTIPART_MANY_PARTS,     /* more than MULTIPART_PARTS_MAX */
	MULTIPART_LONG_HEAD,      /* more than MULTIPART_HEAD_BYTES */
	MULTIPART_MANY_HEADERS,   /* more than MULTIPART_HEADERS_MAX */
	MULTIPART_HEADER,         /* a header is malformed, or there twice */
	MULTIPART_DISPOSITION,    /* Content-Disposition is malformed */
	MULTIPART_ENCODING,       /* a part has a Content-Transfer-Encoding */
	MULTIPART_NESTED,         /* a part is multipart itself */
	MULTIPART_NO_EMPTY_LINE,
	MULTIPART_CUT_SHORT, /* the end is missing */
	MULTIPART_EPILOGUE,  /* bytes that are not allowed follow the end */
	MULTIPART_FAULTS
};

struct multipart;

/*
 * Data of a part, from `offset` on.  A part begins with one call with `offset`
 * 0; only this call may have no bytes, and then the part is empty.
 * `name` and `filename` are as they were sent, but without quotes and
 * backslashes before quotes and backslashes; NULL: none.  A part with a name
 * only in `filename*` (RFC 5987) has its value, not decoded, as its filename.
 * False: the form is refused.
 */
typedef bool multipart_part_fn(void *arg, const char *name,
			       const char *filename, const char *data,
			       uint64_t offset, size_t bytes);

/*
 * A reader of a form with this Content-Type, which may have a fault already.
 * NULL: no memory.
 */
struct multipart *multipart_new(const char *type, bool is_exact,
				multipart_part_fn *fn, void *arg);
void multipart_free(struct multipart *m);

/*
 * Read the next piece.  After a fault, the reader ignores what comes, and
 * returns the same fault.
 */
MUST_CHECK enum multipart_fault multipart_read(struct multipart *m,
					       const char *data, size_t bytes);

/* The form must be complete. */
MUST_CHECK enum multipart_fault multipart_finish(struct multipart *m);

/* The fault until now. */
enum multipart_fault multipart_fault(const struct multipart *m);

/* A sentence about a form with this fault, "" for MULTIPART_REFUSED. */
const char *multipart_fault_text(enum multipart_fault fault);

#endif
