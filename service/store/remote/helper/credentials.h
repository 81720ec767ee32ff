/* SPDX-License-Identifier: MIT */
/*
 * Credentials: the keys of an S3 store, from a file or from the environment.
 *
 * They are looked for in this order:
 *	1. the file of --credentials-file
 *	2. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
 *	3. the file of AWS_SHARED_CREDENTIALS_FILE
 *
 * A file is an INI file as Amazon's tools use it:
 *	[default]
 *	aws_access_key_id = ...
 *	aws_secret_access_key = ...
 *	aws_session_token = ...            may be absent
 *
 * Messages name the file, the line and the key of an entry, never its value.
 */
#ifndef SERVICE_STORE_CREDENTIALS_H
#define SERVICE_STORE_CREDENTIALS_H

#include "base/error.h"

enum {
	CREDENTIALS_FILE_BYTES_MAX = 64 << 10,
	CREDENTIAL_BYTES = 256,
	CREDENTIAL_TOKEN_BYTES = 4096,
};

struct credentials {
	char access_key[CREDENTIAL_BYTES];
	char secret_key[CREDENTIAL_BYTES];
	char token[CREDENTIAL_TOKEN_BYTES]; /* "": none */
};

/*
 * Find and read the keys.  `file`: of --credentials-file, or NULL.  `profile`:
 * of --profile, or NULL for AWS_PROFILE, else "default".  The keys are then
 * overwritten in the environment, so that no copy is left there.  False:
 * `error` says what is missing or wrong.
 */
MUST_CHECK bool credentials_read(struct credentials *c, const char *file,
				 const char *profile, struct error *error);

/*
 * Keys that were kept for later: credentials_keep() writes them into an empty
 * anonymous file, which then cannot change.  credentials_read_kept() reads
 * them, and forgets those of the environment.  False: `error`.  See kept.h.
 */
MUST_CHECK bool credentials_keep(const struct credentials *c, int fd,
				 struct error *error);
MUST_CHECK bool credentials_read_kept(struct credentials *c, int fd,
				      struct error *error);

#endif
