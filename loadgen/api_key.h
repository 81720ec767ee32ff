/* SPDX-License-Identifier: MIT */
/* API keys: what a server that has them wants to see with each request. */
#ifndef LOADGEN_API_KEY_H
#define LOADGEN_API_KEY_H

#include "loadgen/error.h"

/*
 * The first key of the file, as a line of a request's head (RFC 6750), with its
 * end; the caller frees it.  NULL: `error` says what is wrong with the file.
 */
MUST_CHECK char *api_key_read(const char *path, struct error *error);

#endif
