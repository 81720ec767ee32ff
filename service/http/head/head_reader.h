/* SPDX-License-Identifier: MIT */
/*
 * Head reader: splits the head of a request into its fields, as it arrives.
 *
 *	HEAD_MORE  >  HEAD_TARGET  >  HEAD_MORE ...  >  HEAD_COMPLETE
 *
 * It is lenient, so that a request is refused only after the request line, with
 * a reply that has a code: a bare LF ends a line, and a folded line belongs to
 * the header before it.  None of this is accepted, except in empty lines before
 * the request line: is_exact becomes false, and head.c refuses the request.
 * Nor does it accept the byte 1, which takes the place of a NUL, and of a colon
 * at the beginning of a line.  If it cannot go on, the head is complete, too,
 * and has a fault.
 *
 * White space before and after a value is removed (RFC 9110, 5.5).
 *
 * Ownership  The bytes are the caller's; the reader changes them.  It owns its
 *            table of fields until head_reader_release().
 * Limits     `bytes_max` of one head: the lines, and HEAD_FIELD_BYTES for each
 *            header.
 */
#ifndef SERVICE_HEAD_READER_H
#define SERVICE_HEAD_READER_H

#include "service/http/transport.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HEAD_FIELD_BYTES = 64 };

enum head_event {
	HEAD_MORE,   /* more bytes are needed */
	HEAD_TARGET, /* the request line is there; call again */
	HEAD_COMPLETE,
	HEAD_BROKEN, /* no memory: close the connection */
};

struct head_line {
	uint32_t at, bytes; /* without its end */
	uint32_t end;       /* where the next line begins */
	bool is_exact;      /* it ends with CR and LF, and has no NUL or CR */
};

struct field_place {
	uint32_t name, value; /* positions */
};

struct head_reader {
	/* Of a complete head. */
	struct request_head head;
	uint32_t begin, end; /* positions: its first byte, the first after it */
	uint64_t length_bytes;     /* of the body; 0: none, or in chunks */
	bool is_http_1_0, is_head; /* from HEAD_TARGET on; the method is HEAD */

	/* Private. */
	size_t bytes_max;
	struct head_line line; /* the next one, as far as it has been seen */
	enum {
		HEAD_AT_REQUEST_LINE,
		HEAD_AT_FIRST_FIELD,
		HEAD_AT_FIELD,
	} state;
	enum head_fault fault; /* of the request line */
	bool is_exact;
	uint32_t target, version; /* positions */
	char no_target[1];        /* the target of a head that has none */
	struct field_place *places;
	struct http_field *fields;
	uint32_t field_count, fields_max;
};

/* An empty reader. */
void head_reader_init(struct head_reader *h, size_t bytes_max);

/* Forget the last head; the next one begins. */
void head_reader_begin(struct head_reader *h);

/* The memory of its table. */
size_t head_reader_bytes(const struct head_reader *h);

/* An empty ({0}) one is fine. */
void head_reader_release(struct head_reader *h);

/*
 * Read on.  `text` has all bytes from the beginning of the head on.  In the
 * next call it may be at another place, if the bytes are as this call has left
 * them.
 */
enum head_event head_read(struct head_reader *h, char *text, size_t bytes);

/*
 * Let the head be at another place: `text` is its byte at `begin`.  It must be
 * complete.
 */
void head_move(struct head_reader *h, char *text);

/*
 * Does the client of a complete head wait for "100 Continue" before it sends
 * the body?
 */
bool head_expects_continue(const struct head_reader *h);

#endif
