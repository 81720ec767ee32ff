/* SPDX-License-Identifier: MIT */
/*
 * Auth: decides which client may send which request.  Keys are read from files:
 *
 *	an API key   is sent as "Authorization: Bearer KEY" and allows every
 *	             request
 *	a sign key   is never sent; it signs the query of an upload, which is
 *	             then allowed until the time in its parameter `expires`
 *	a metrics    is sent like an API key, and allows only to read /metrics
 *	key
 *
 * If there are no API or sign keys, a request is allowed unless it comes from a
 * page of another site (see browsers.h).
 *
 * The keys themselves are not kept, only what is needed to check requests:
 * SHA-256 of API and metrics keys, and the state of HMAC-SHA256 after each sign
 * key.
 *
 * A file has one key on each line: 16 to 512 printable characters without
 * spaces.  A name and a space may stand before the key.  Empty lines and lines
 * that begin with # are skipped.  All keys of the file are accepted, so clients
 * can change to a new key while the old one still works.
 *
 * Each key has an owner: its name, or, without a name, "#" and a short hash of
 * the key.  Keys of the same name, in either file, have the same owner.
 *
 * Threads    Any thread may check at any time, even while another thread
 *            replaces the keys: each check uses either the old or the new keys.
 * Limits     AUTH_KEYS_MAX keys of a kind; AUTH_PARAMETERS_MAX parameters of a
 *            signed query.
 */
#ifndef SERVICE_AUTH_H
#define SERVICE_AUTH_H

#include "service/http/reply/problem.h"
#include "base/util.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	AUTH_KEYS_MAX = 100,
	AUTH_PARAMETERS_MAX = 64,
	AUTH_WHY_BYTES = 128,
	AUTH_OWNER_BYTES = 64 + 1,
};

struct auth;
struct request;

/* A new struct auth has no keys.  NULL: no memory. */
struct auth *auth_new(void);
void auth_free(struct auth *a);

/* False: `why` says what is wrong with the file, without quoting it. */
MUST_CHECK bool auth_read_api_keys(struct auth *a, const char *path,
				   char why[AUTH_WHY_BYTES]);
MUST_CHECK bool auth_read_sign_keys(struct auth *a, const char *path,
				    char why[AUTH_WHY_BYTES]);
MUST_CHECK bool auth_read_metrics_keys(struct auth *a, const char *path,
				       char why[AUTH_WHY_BYTES]);

/*
 * To pass keys from one process of this program to another: auth_pack() copies
 * all keys to plain memory, of auth_packed_bytes(); auth_unpack() replaces all
 * keys by those in such memory.
 */
size_t auth_packed_bytes(void);
void auth_pack(const struct auth *a, void *to);
void auth_unpack(struct auth *a, const void *from);

/* Are there API or sign keys? */
bool auth_is_on(struct auth *a);

/*
 * Are there sign keys, and is this one of the parameters `expires` and
 * `signature`?  Such a parameter is not one of the upload.
 */
bool auth_takes_parameter(struct auth *a, const char *key);

/* May the client send this request?  Sets the owner of what is stored. */
enum problem auth_check_request(struct request *r);

#endif
