/* SPDX-License-Identifier: MIT */
/*
 * Result: what became of one request.
 *
 * The border between making load and counting it: client.c makes results,
 * record.c and save.c take them, and neither side knows the other.
 *
 *	               request start      last byte sent    last byte received
 *	                     |-------------------|-------------------|
 *	response_ns                              |<----------------->|
 *	from_first_byte_ns   |<------------------------------------->|
 */
#ifndef LOADGEN_RESULT_H
#define LOADGEN_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct result {
	uint32_t file;           /* index into the dataset */
	int status;              /* HTTP status; 0: no whole reply, see error */
	const char *error;       /* static text; NULL if there is a status */
	uint64_t uploaded_bytes; /* size of the request's body */
	uint64_t response_ns;
	uint64_t from_first_byte_ns;
	const char *
		reply; /* lent for the call; NULL unless kept; may be if empty */
	size_t reply_bytes;
};

/* Answered 2xx: the only results that count as work done. */
static inline bool result_is_ok(const struct result *r)
{
	return r->status >= 200 && r->status <= 299;
}

#endif
