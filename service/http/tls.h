/* SPDX-License-Identifier: MIT */
/*
 * TLS: a certificate and its private key, as PEM, read and checked at start.
 */
#ifndef SERVICE_TLS_H
#define SERVICE_TLS_H

#include <stdbool.h>

struct tls {
	char *certificate; /* with its chain; NULL: no TLS */
	char *key;
};

/*
 * Read both files.  False: *wrong is the path of the one that is no good, and
 * *why says why; `tls` is empty.
 */
__attribute__((warn_unused_result)) bool
tls_load(struct tls *tls, const char *certificate, const char *key,
	 const char **wrong, const char **why);

/* The private key is wiped.  An empty ({0}) one is fine. */
void tls_release(struct tls *tls);

#endif
