/* SPDX-License-Identifier: MIT */
/*
 * Chunk reader: the framing of a body with "Transfer-Encoding: chunked", as it
 * arrives (RFC 9112, 7.1).
 *
 *	5;any=thing CRLF  hello CRLF  0 CRLF  Name: value CRLF  CRLF
 *
 * It is strict, because another reader may be in front of us that is lenient in
 * another way.  A size has 1 to 16 hexadecimal digits, and nothing but CR LF or
 * ";" behind it.  Extensions and trailers are read and forgotten.  A line ends
 * with CR LF, and has no other control character but tabs.
 *
 * Threads    One at a time.
 * Limits     `bytes_max` of the body: a chunk that would exceed it is not
 *            begun.  CHUNK_LINE_BYTES of a line with a size,
 *            CHUNK_TRAILER_BYTES of all trailers.  Lines may have 16 bytes for
 *            each chunk and 2 for each byte of it, and CHUNK_EXCESS_BYTES more.
 */
#ifndef SERVICE_CHUNK_READER_H
#define SERVICE_CHUNK_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CHUNK_LINE_BYTES = 4096,
	CHUNK_TRAILER_BYTES = 8192,
	CHUNK_EXCESS_BYTES = 16384,
};

/* What is wrong with the framing; what follows cannot be read. */
enum chunk_fault {
	CHUNKS_FINE,
	CHUNKS_BAD_SIZE,
	CHUNKS_BAD_LINE,     /* with a size */
	CHUNKS_BAD_DATA_END, /* no CR LF behind the bytes of a chunk */
	CHUNKS_BAD_TRAILER,
	CHUNKS_MANY_EXTENSIONS,
	CHUNKS_MANY_TRAILERS,
	CHUNKS_TOO_LARGE, /* the body; see wanted_bytes */
	CHUNK_FAULTS
};

enum chunk_event {
	CHUNK_MORE,     /* all bytes were read; more are needed */
	CHUNK_BEGIN,    /* left_bytes of the body follow */
	CHUNK_DATA_END, /* the line's end behind them was read */
	CHUNK_END,      /* is_over: of the body */
	CHUNK_BROKEN,   /* is_over, and there is a fault */
};

/* {0} is one that is not used. */
struct chunk_reader {
	enum chunk_fault fault;
	bool is_over;
	uint64_t bytes;        /* of all chunks that have begun */
	uint64_t left_bytes;   /* of the present chunk, to be taken */
	uint64_t wanted_bytes; /* CHUNKS_TOO_LARGE: with the chunk refused */

	/* Private. */
	enum {
		CHUNK_AT_SIZE,
		CHUNK_AT_EXTENSION,
		CHUNK_AT_SIZE_LF,
		CHUNK_AT_DATA_CR,
		CHUNK_AT_DATA_LF,
		CHUNK_AT_TRAILER,
		CHUNK_AT_TRAILER_NAME,
		CHUNK_AT_TRAILER_VALUE,
		CHUNK_AT_TRAILER_LF,
		CHUNK_AT_LAST_LF,
	} state;
	uint32_t digit_count;
	uint32_t line_bytes;   /* of this line, or of all trailers */
	uint32_t excess_bytes; /* of all lines, over what is usual */
	uint64_t size;
	uint64_t bytes_max;
};

void chunk_reader_init(struct chunk_reader *c, uint64_t bytes_max);

/*
 * Read from *at on, up to the next event; *at is advanced.  Call it only if
 * left_bytes is 0 and is_over is false.
 */
enum chunk_event chunk_read(struct chunk_reader *c, const char **at,
			    const char *end);

/* Bytes of the present chunk were taken. */
void chunk_take(struct chunk_reader *c, uint64_t bytes);

/*
 * Read all of `bytes`, or up to the end of the body, and move those of the body
 * to the beginning.  Returns how many these are; *used is how many were read.
 */
size_t chunks_decode(struct chunk_reader *c, char *bytes, size_t count,
		     size_t *used);

/* A sentence; "" for CHUNKS_FINE and CHUNKS_TOO_LARGE. */
const char *chunk_fault_text(enum chunk_fault fault);

#endif
