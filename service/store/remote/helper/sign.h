/* SPDX-License-Identifier: MIT */
/*
 * Sign: signatures of requests to S3, "AWS4-HMAC-SHA256".
 *
 * libcurl signs too, but its versions differ in what they sign: 8.14 refuses
 * paths as they are, and takes a "+" in a query for a space.
 */
#ifndef SERVICE_STORE_SIGN_H
#define SERVICE_STORE_SIGN_H

#include "service/store/remote/helper/credentials.h"

#include <stddef.h>
#include <time.h>

enum {
	SIGN_DATE_BYTES = sizeof("20260102T030405Z"),
	SIGN_HEADERS_MAX = 8,
	SIGN_REGION_BYTES = 64 + 1,
	SIGN_BYTES = 768, /* of a value of the header Authorization */
};

struct sign_header {
	const char *name; /* in lower case */
	const char *value;
};

struct sign_request {
	const char *method;
	const char *path;  /* percent-encoded, as it is sent */
	const char *query; /* the same, sorted, each name with "="; or NULL */
	/* By name, sorted, with host, x-amz-content-sha256 and x-amz-date. */
	struct sign_header headers[SIGN_HEADERS_MAX];
	size_t header_count;
};

void sign_print_date(char date[SIGN_DATE_BYTES], time_t now);

/* The header `name`; NULL: there is none. */
const char *sign_find_header(const struct sign_request *r, const char *name);

/* Print the value of the header Authorization. */
void sign_print(char out[SIGN_BYTES], const struct sign_request *r,
		const char *region, const struct credentials *keys);

#endif
