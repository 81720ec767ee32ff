/* SPDX-License-Identifier: MIT */
/*
 * TLS: a certificate and its private key, as PEM, which are checked before they
 * are used, and can be replaced for new connections; and writing to a
 * connection, which only GnuTLS can do.
 *
 * Threads    tls_serve() and tls_stop(): one; the callback: any, at once.
 */
#ifndef SERVICE_TLS_H
#define SERVICE_TLS_H

#include "base/util.h"

#include <stdbool.h>

enum { TLS_FILE_BYTES_MAX = 1 << 20 };

/* The contents of the two files. */
struct tls {
	char *certificate; /* with its chain; NULL: no TLS */
	char *key;
};

/*
 * Read both files.  False: *wrong is the path of the one that cannot be used,
 * *why says why, and `tls` is empty.
 */
MUST_CHECK bool tls_load(struct tls *tls, const char *certificate,
			 const char *key, const char **wrong, const char **why);

/* Wipes the private key.  An empty ({0}) one is fine. */
void tls_release(struct tls *tls);

/*
 * From now on new connections get this certificate; open ones keep theirs.  The
 * texts are copied.  False: they cannot be used, as *why says, or there is no
 * memory; then nothing changes.
 */
MUST_CHECK bool tls_serve(const char *certificate, const char *key,
			  const char **why);

/* For MHD_OPTION_HTTPS_CERT_CALLBACK2, after the first tls_serve(). */
void *tls_callback(void);

/*
 * Write to a gnutls_session_t as much of the text as it takes at once.  By the
 * thread that reads it.
 */
void tls_send(void *session, const char *text);

/* There are no connections any more. */
void tls_stop(void);

#endif
