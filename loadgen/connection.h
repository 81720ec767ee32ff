/* SPDX-License-Identifier: MIT */
/*
 * Connection: one request at a time, by one easy handle, measured.
 *
 * The inner part of the client: how a request is made, and what is measured of
 * it.  When it is sent is client.c's matter.
 *
 * Ownership  A connection owns its easy handle, and borrows the rest.
 */
#ifndef LOADGEN_CONNECTION_H
#define LOADGEN_CONNECTION_H

#include "loadgen/client.h"
#include "loadgen/error.h"
#include "loadgen/result.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct connection {
	const struct client_config *config;
	CURL *easy;

	/* Written by client.c. */
	bool in_flight;
	struct connection *idle_next;
	uint64_t intended_ns; /* of an open loop; 0: of a closed one */
	uint64_t lag_ns;      /* as in struct result, and the next too */
	bool waited;

	/* The request in flight, or the last one. */
	uint32_t file;
	uint64_t started_ns;  /* 0: not connected yet */
	uint64_t sent_ns;     /* 0: not all sent yet */
	const char *rejected; /* why we broke it off, or NULL */

	char *reply; /* owned; NULL unless replies are kept */
	size_t reply_bytes;
	size_t reply_capacity;

	char error[CURL_ERROR_SIZE]; /* what libcurl said */
};

/*
 * Fill the zeroed `c`, which must stay where it is.  False: out of memory;
 * connection_release() is due all the same.
 */
MUST_CHECK bool connection_init(struct connection *c,
				const struct client_config *config,
				struct curl_slist *headers);

void connection_release(struct connection *c);

/* The connection that `easy` belongs to. */
struct connection *connection_of(CURL *easy);

/* Make `easy` ready to send `file`. */
void connection_prepare(struct connection *c, uint32_t file);

/* What became of the request, whose last byte was received at `now_ns`. */
struct result connection_describe(const struct connection *c, CURLcode outcome,
				  uint64_t now_ns);

#endif
