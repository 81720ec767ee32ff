/* SPDX-License-Identifier: MIT */
/*
 * Request: what one upload puts on the wire.
 *
 * Ownership  All of it is lent, until the request has ended.
 */
#ifndef LOADGEN_REQUEST_H
#define LOADGEN_REQUEST_H

#include <stddef.h>
#include <stdint.h>

struct request {
	uint32_t file;      /* index into the dataset */
	size_t file_bytes;  /* of the upload itself, however it is wrapped */
	const char *target; /* path and query, not empty */
	const char *content_type;
	const char *fields; /* more lines of the head, with ends; NULL: none */
	const char *body;   /* NULL only if empty */
	size_t body_bytes;
};

#endif
