/* SPDX-License-Identifier: MIT */
/*
 * Signatures: HMAC-SHA256 (RFC 2104) over what a request asks for, in a form
 * that is the same however its query was encoded and ordered on the way:
 *
 *	METHOD \n
 *	path \n
 *	key=value \n       for each parameter, decoded, in the order of bytes
 *
 * Threads    Any; a struct signature_key is not changed by signing.
 */
#ifndef SERVICE_SIGNATURE_H
#define SERVICE_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nettle/hmac.h>

enum { SIGNATURE_HEX_CHARS = 2 * SHA256_DIGEST_SIZE };

/* What is left of a key: the state of the hash after it. */
struct signature_key {
	struct hmac_sha256_ctx start;
};

/* Decoded. */
struct signature_parameter {
	const char *key;
	const char *value; /* NULL: no "=", as good as "" */
};

void signature_key_set(struct signature_key *key, const char *secret,
		       size_t bytes);

/*
 * Sign; this puts `parameters` in order.  False: one has a key with "=", or a
 * line break, and could be read as another.
 */
__attribute__((warn_unused_result)) bool
signature_make(char hex[SIGNATURE_HEX_CHARS + 1],
	       const struct signature_key *key, const char *method,
	       const char *path, struct signature_parameter *parameters,
	       uint32_t count);

/* Compares in a time that does not tell where.  Hexadecimal of either case. */
bool signature_is(const char made[SIGNATURE_HEX_CHARS + 1], const char *given);

#endif
