/* SPDX-License-Identifier: MIT */
/*
 * TLS: a certificate and its private key, as PEM.  They are checked before they
 * are used, and can be replaced for new connections.  tls_send() is here
 * because only GnuTLS can write to a TLS connection.
 *
 * Threads    One thread calls tls_serve() and tls_stop(); any number may call
 *            the callback at the same time.
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
 * Read both files.  False: *wrong is the path of the file that cannot be used,
 * *why the reason, and `tls` is empty.
 */
MUST_CHECK bool tls_load(struct tls *tls, const char *certificate,
			 const char *key, const char **wrong, const char **why);

/* Wipes the private key.  An empty ({0}) one is fine. */
void tls_release(struct tls *tls);

/*
 * From now on new connections get this certificate; open ones keep theirs.  The
 * texts are copied.  False: they cannot be used, or there is no memory; *why is
 * the reason, and nothing has changed.
 */
MUST_CHECK bool tls_serve(const char *certificate, const char *key,
			  const char **why);

/* A gnutls_certificate_retrieve_function3, after the first tls_serve(). */
void *tls_callback(void);

/* TLS 1.2 and 1.3 with forward secrecy, as GnuTLS wants it. */
extern const char tls_priorities[];

/*
 * Write as much of the text to a gnutls_session_t as its socket takes at once;
 * one that blocks takes all.  Called by the thread that reads from it.
 */
void tls_send(void *session, const char *text);

/* Call it when there are no connections any more. */
void tls_stop(void);

#endif
