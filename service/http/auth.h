/* SPDX-License-Identifier: MIT */
/*
 * Auth: who may have what done, by keys that lie in files.
 *
 *	an API key   sent as "Authorization: Bearer KEY": everything
 *	a sign key   never sent; signs the query of an upload until it expires
 *
 * Keys themselves are not kept, only what checks them: SHA-256 of the ones, the
 * state of HMAC-SHA256 after the others.
 *
 * A file has one key on each line, of 16 to 512 printable characters without
 * spaces; empty lines and those that begin with # do not count.  Any of its
 * keys will do, so that one can be replaced without a gap.
 *
 * Threads    Any may check at once.
 * Limits     AUTH_KEYS_MAX keys of a kind; AUTH_PARAMETERS_MAX parameters of a
 *            signed query.
 */
#ifndef SERVICE_AUTH_H
#define SERVICE_AUTH_H

#include "service/http/problem.h"
#include "service/http/signature.h"

enum {
	AUTH_KEYS_MAX = 100,
	AUTH_PARAMETERS_MAX = 64,
	AUTH_WHY_BYTES = 128,
};

struct auth;

/* Without any keys: everything is allowed.  NULL: no memory. */
struct auth *auth_new(void);
void auth_free(struct auth *a);

/* False: `why` says what is wrong with the file, without any of its text. */
IMG_CHECK bool auth_read_api_keys(struct auth *a, const char *path,
				  char why[AUTH_WHY_BYTES]);
IMG_CHECK bool auth_read_sign_keys(struct auth *a, const char *path,
				   char why[AUTH_WHY_BYTES]);

/* There are keys, of either kind. */
bool auth_is_on(const struct auth *a);

/* This query parameter belongs to a signature, not to what it signs. */
bool auth_takes_parameter(const struct auth *a, const char *key);

/*
 * By an API key, in the value of an Authorization header; NULL: there is none.
 * Takes as long for each wrong key, whatever the right ones are.
 */
IMG_CHECK enum problem auth_check_key(const struct auth *a,
				      const char *authorization);

/* As it came, with `expires` and `signature`; `parameters` are put in order. */
struct auth_request {
	const char *method;
	const char *path; /* decoded */
	struct signature_parameter *parameters;
	uint32_t count;
};

/*
 * By a signature.  `now_s` is of the real-time clock.  PROBLEM_UNAUTHORIZED:
 * there is none, or no sign key.
 */
IMG_CHECK enum problem auth_check_signature(const struct auth *a,
					    const struct auth_request *request,
					    int64_t now_s);

#endif
