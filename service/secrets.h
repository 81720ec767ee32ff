/* SPDX-License-Identifier: MIT */
/*
 * Secrets: the keys and the certificate that flags name, read at start.
 */
#ifndef SERVICE_SECRETS_H
#define SERVICE_SECRETS_H

#include "service/http/auth.h"
#include "service/config/options.h"
#include "service/http/tls.h"

struct secrets {
	struct auth *auth;
	struct tls tls; /* empty: plain HTTP */
};

/*
 * Read what `o` names; a file that is no good, and an address that is open to
 * others without any key, are told on stderr.  Returns an exit status.  Either
 * way `s` is good for secrets_release().
 */
int secrets_load(struct secrets *s, const struct options *o);
void secrets_release(struct secrets *s);

#endif
