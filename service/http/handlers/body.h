/* SPDX-License-Identifier: MIT */
/*
 * Body: receives the bytes of one upload, raw or in a form, and charges the
 * upload for their memory.
 *
 * A raw body is the picture.  In multipart/form-data, the picture is the one
 * part that is a file and is not empty.  All other parts are fields.  A file
 * has a file name; or the name file, image or media, and does not begin as
 * JSON, which FilePond sends under the file's own name before it.
 *
 * While the body arrives, the upload is charged for its buffer, which grows
 * with the bytes received, and for a part of the memory that its picture will
 * need by estimate.  Without the estimate, bodies could take all memory and
 * leave none for their pictures.  A client that announces a large body but
 * sends little is charged little.  Before the last byte arrives, the whole body
 * and the whole estimate are charged, so a complete upload is hardly ever
 * refused for lack of memory.  If uploads wait for memory instead of being
 * refused, all of that is charged before the first byte arrives, because bodies
 * that have arrived in part could all wait for each other.
 *
 * If the pipeline has a stage that parses bodies, a form is kept as it arrives,
 * and read when it is complete: its picture then takes its place in the buffer.
 *
 * If the length is not known, the buffer is doubled as the body grows, and the
 * estimate is that for a body as large as the buffer.  What is missing then is
 * charged or refused, and never waited for: an upload that waits has reserved,
 * before the first byte, what a body of twice the mean needs.
 *
 * Limits     BODY_FIELDS_MAX fields, BODY_FIELD_BYTES of names and values.
 */
#ifndef SERVICE_BODY_H
#define SERVICE_BODY_H

#include "service/http/handlers/multipart.h"
#include "service/http/reply/problem.h"

#include "base/memory.h"

struct charge;
struct pipeline;

enum {
	BODY_FIELDS_MAX = 64,
	BODY_FIELD_BYTES = 16 << 10,
	BODY_DETAIL_BYTES = 320
};

struct body {
	uint8_t *bytes; /* the picture; NULL: not admitted, or freed */
	size_t count;
	size_t count_max;            /* the buffer's size */
	const struct memory *memory; /* the allocator of `bytes` */
	const char *form_type;       /* the form's Content-Type; NULL: raw */
	bool is_exact;               /* the form must be: see multipart.h */
	struct multipart *form;      /* its reader; NULL: raw, or complete */
	bool is_kept;                /* `bytes` is the form; not read yet */

	/* Of a form: the part that is being read, and those before it. */
	enum { BODY_NO_PART, BODY_FILE, BODY_FIELD } part;
	size_t part_bytes;
	bool has_file;     /* a file that is not empty came before this part */
	char *fields;      /* names and values, each ended by a NUL */
	size_t fields_end; /* end of the complete fields */
	uint32_t field_count;
	/* What is wrong with the form; `detail` explains it. */
	enum problem problem;
	char detail[BODY_DETAIL_BYTES]; /* also of a body that is refused */
	struct excess excess;           /* of a limit; {0}: none */

	/* Bytes of the picture that came before; the caller sets them. */
	uint64_t before;
	bool has_length;
	/* Bytes of the whole body, or the most that it may have. */
	uint64_t length_bytes;
	uint64_t received_bytes;
	/* As length_bytes; if the length is not known, of the first buffer. */
	uint64_t first_bytes;
	struct charge *charge; /* the charge of the upload */
	/* Additional memory for a form. */
	uint64_t extra_bytes;
	/* The body's charge when it is complete; without a length, as it is. */
	uint64_t whole_bytes;
	uint64_t
		picture_bytes; /* with a length: the estimate for its picture */
	const struct pipeline *pipeline;
};

/* How long a body will be. */
struct body_length {
	bool is_known;
	uint64_t bytes; /* if it is not known, at most this */
	/* Of these, bytes of the picture that came in earlier requests. */
	uint64_t before;
};

/*
 * A body with this Content-Type (NULL: none) is expected; if it is a form and
 * `is_exact`, an exact one.  The text must stay until body_admit(); `charge` is
 * empty.  Neither `b` nor `charge` may move in memory until body_release().
 */
void body_begin(struct body *b, const char *type, bool is_exact,
		struct body_length length, struct pipeline *p,
		struct charge *charge);

/*
 * The charge for all of the body and the estimate for its picture; without a
 * length, for the first buffer.
 */
uint64_t body_need_bytes(const struct body *b);

/*
 * Charge the body, and prepare to receive it.  If the caller has charged all of
 * body_need_bytes() already, it stays charged.
 */
MUST_CHECK enum problem body_admit(struct body *b, struct pipeline *p);

/*
 * The charge that the body will need when a piece of so many bytes is taken, if
 * the picture's bytes then move; 0: they do not.
 */
uint64_t body_move_bytes(const struct body *b, size_t bytes);

/* Take a piece. */
MUST_CHECK enum problem body_receive(struct body *b, const char *data,
				     size_t bytes);

/* Read a form that was kept (is_kept), which is complete. */
MUST_CHECK enum problem body_read_kept(struct body *b);

/* The body is complete, and was read: is there a picture in it? */
MUST_CHECK enum problem body_finish(struct body *b);

/*
 * The next field.  *at is 0 before the first one, and is advanced.  False: no
 * further field has arrived.  The body owns the texts.
 */
bool body_next_field(const struct body *b, size_t *at, const char **name,
		     const char **value);

/* The picture is not needed any more: free it, and keep the rest. */
void body_free_picture(struct body *b);

/* Free everything.  An empty ({0}) or released body is fine. */
void body_release(struct body *b);

#endif
