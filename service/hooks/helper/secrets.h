/* SPDX-License-Identifier: MIT */
/*
 * Secrets: the keys of webhooks, and signatures with them, by Standard Webhooks
 * (https://www.standardwebhooks.com).  A file of keys has one in each line,
 * such as whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw; empty lines, and those that
 * begin with #, do not count.  With several keys there are several signatures,
 * so that receivers can change from one to the next.
 */
#ifndef SERVICE_HOOKS_SECRETS_H
#define SERVICE_HOOKS_SECRETS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SECRETS_MAX = 8,
	SECRET_BYTES_MIN = 24,
	SECRET_BYTES_MAX = 64,
	SECRETS_FILE_BYTES_MAX = 16 << 10,
	/* "v1," and base64 of a SHA-256 for each key, with blanks between. */
	SECRETS_SIGNATURE_BYTES = SECRETS_MAX * 48 + 1,
};

struct secrets {
	uint32_t count;
	struct secret {
		uint8_t bytes[SECRET_BYTES_MAX];
		size_t count;
	} list[SECRETS_MAX];
};

/* Read the text of a file of keys.  False: `error`, without a key in it. */
MUST_CHECK bool secrets_read(struct secrets *s, const char *text,
			     struct error *error);

/* The value of webhook-signature. */
void secrets_sign(const struct secrets *s, const char *id, uint64_t timestamp,
		  const char *body, size_t body_bytes,
		  char out[SECRETS_SIGNATURE_BYTES]);

#endif
